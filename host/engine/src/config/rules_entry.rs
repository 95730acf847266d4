//! The entry of the plugin `rules`, which is made from all `[[rule]]` tables.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use serde_json::{Map, Value};

use super::{
    ActionKind, Code, Config, ConfigError, Entry, Grants, Layer, OnFailure, Problem, Problems, Rule, StateGrant,
};
use crate::contract::rule::{LayeredRow, Mistake, RuleOn, RuleRow, RulesConfig};
use crate::contract::{EventKind, FactName};

/// Maximum size of what the plugin remembers of a run: when each of a thousand rules last matched, and two thousand files.
const QUOTA: NonZeroUsize = NonZeroUsize::new(16 << 20).unwrap();

impl Entry {
    /// Name of the entry that judges the `[[rule]]` tables. No entry of a file has this name.
    pub const RULES: &str = "rules";

    /// Usual priority of the entry that judges the `[[rule]]` tables. It is asked before the plugins with usual priorities, so
    /// that a user's own sentence is the one that the model reads.
    const RULES_PRIORITY: i32 = 50;

    /// Returns the entry that judges these rules.
    fn of_rules(code: Code, rules: &[Rule], priority: Option<i32>) -> Self {
        let first = rules.iter().min_by_key(|rule| rule.is_of_project());
        Self {
            priority: priority.unwrap_or(Self::RULES_PRIORITY),
            events: Some(events(rules)),
            actions: actions(rules),
            on_failure: Some(OnFailure::Ask),
            grants: grants(rules),
            config: config(rules),
            origin: first.map(|rule| rule.origin.clone()),
            judges_rows: true,
            ..Self::of(Self::RULES, code)
        }
    }

    /// Returns the configuration of the plugin that judges the `[[rule]]` tables, without the examples. Returns `None` for other plugins.
    pub(crate) fn config_without_examples(&self) -> Option<String> {
        if !self.judges_rows {
            return None;
        }
        let mut config: RulesConfig = serde_json::from_value(Value::Object(self.config.clone())).ok()?;
        for LayeredRow { row, .. } in &mut config.rule {
            (row.stops, row.passes) = (Vec::new(), Vec::new());
        }
        serde_json::to_string(&config).ok()
    }
}

impl Config {
    /// Adds the plugin that judges the `[[rule]]` tables. Without tables, the configuration stays as it is. A configuration
    /// with tables and without the plugin does not load.
    ///
    /// # Errors
    /// [`ConfigError::Entry`] if the configuration has an entry of the name `rules`.
    pub fn with_rules_plugin(self, code: Code) -> Result<Self, ConfigError> {
        if self.rules().is_empty() {
            return Ok(self);
        }
        let entry = Entry::of_rules(code, self.rules(), self.rules_priority());
        self.with_entries(vec![entry])
    }

    /// Returns true if there are `[[rule]]` tables, and no plugin judges them.
    pub(crate) fn lacks_rules_plugin(&self) -> bool {
        !self.rules().is_empty() && !self.enabled().any(|entry| entry.judges_rows)
    }

    /// Returns the mistakes that the plugin `rules` has named in the error of its `configure`, with their positions.
    /// Returns `None` if the message names none.
    pub(crate) fn rule_problems(&self, message: &str) -> Option<Problems> {
        let mistakes = message.lines().filter_map(Mistake::parse);
        let problem = |mistake: Mistake| Some(self.rules().get(mistake.row)?.problem_of(&mistake));
        let problems: Vec<Problem> = mistakes.filter_map(problem).collect();
        Problems::none_or(problems, ()).err()
    }

    /// Returns the layer of the rule of this id.
    pub(crate) fn layer_of_rule(&self, id: &str) -> Option<Layer> {
        self.rules().iter().find(|rule| rule.row.id == id).map(|rule| rule.origin.layer)
    }
}

/// Returns the events at which the rules are judged, and those at which the plugin sees which files the calls write.
fn events(rules: &[Rule]) -> BTreeSet<EventKind> {
    let of_files = [EventKind::BeforeToolCall, EventKind::AfterToolCall].into_iter().filter(|_| ask_about_files(rules));
    words(rules).map(RuleOn::event).chain(of_files).collect()
}

fn words(rules: &[Rule]) -> impl Iterator<Item = &RuleOn> {
    rules.iter().flat_map(|rule| rule.row.on.iter())
}

/// Returns the actions of the tool calls that the rules are about, or `None` for all calls.
fn actions(rules: &[Rule]) -> Option<BTreeSet<ActionKind>> {
    // Any tool may write a file.
    if ask_about_files(rules) {
        return None;
    }
    let mut actions = BTreeSet::new();
    for on in words(rules) {
        actions.extend(match on {
            // The plugin is also called for unknown tools with a command among their arguments.
            RuleOn::Shell => &[ActionKind::Shell][..],
            RuleOn::Read => &[ActionKind::Shell, ActionKind::ReadFile, ActionKind::Mcp, ActionKind::Other],
            RuleOn::Web => &[ActionKind::Shell, ActionKind::Fetch, ActionKind::Mcp, ActionKind::Other],
            RuleOn::Mcp => &[ActionKind::Mcp],
            RuleOn::Spawn => &[ActionKind::SpawnAgent, ActionKind::Other],
            RuleOn::Prompt | RuleOn::Text | RuleOn::Session | RuleOn::TaskComplete => &[],
            // A patch may be in any argument, and the name of any tool may say that it deletes.
            RuleOn::Write | RuleOn::Delete | RuleOn::Tool(_) | RuleOn::Result => return None,
        });
    }
    (!actions.is_empty()).then_some(actions)
}

/// Returns the capabilities of the plugin. Of the facts, it gets those that the rules name.
fn grants(rules: &[Rule]) -> Grants {
    let mut grants = Grants { labels: true, state: Some(StateGrant::new(QUOTA)), ..Grants::default() };
    if ask_about_files(rules) {
        grants.facts.insert(FactName::PathExists);
    }
    // For `time.hour`, which is in local time.
    grants.facts.insert(FactName::TimeOffset);
    let names = rules.iter().flat_map(|rule| names(&rule.row));
    grants.facts.extend(names.filter_map(|name| FactName::from_name(&name)));
    // `git checkout x` changes the branch, unless `x` is a file.
    if grants.facts.contains(&FactName::GitBranch) {
        grants.facts.insert(FactName::PathExists);
    }
    grants
}

/// Returns the names and functions that the conditions of a row use, each function with its first argument. The plugin reports
/// a condition that cannot be read.
#[cfg(feature = "config-file")]
fn uses(row: &RuleRow) -> Vec<(String, Option<String>)> {
    let conditions = [&row.when, &row.unless].into_iter().flatten();
    let compiled = conditions.filter_map(|condition| hookhost_conditions::Condition::compile(condition).ok());
    let uses = compiled.flat_map(|condition| condition.names().cloned().collect::<Vec<_>>());
    uses.map(|used| match used {
        hookhost_conditions::Use::Function(function, word) => (function.name.to_owned(), word),
        used => (used.name().to_owned(), None),
    })
    .collect()
}

/// Without configuration files, there are no rules.
#[cfg(not(feature = "config-file"))]
fn uses(_row: &RuleRow) -> Vec<(String, Option<String>)> {
    Vec::new()
}

/// Returns true if a rule asks which files the agent has written.
fn ask_about_files(rules: &[Rule]) -> bool {
    let is_of_files = |name: &str| matches!(name, "written_by_agent" | "created_by_agent");
    rules.iter().any(|rule| uses(&rule.row).iter().any(|(name, _)| is_of_files(name)))
}

impl Rule {
    /// Returns true if the rule asks when or how often the rule with this id matched, or whether the session has this label.
    #[must_use]
    pub fn asks_about(&self, id: &str) -> bool {
        let in_sequence = self.row.after.iter().any(|name| name.strip_prefix('!').unwrap_or(name) == id);
        in_sequence || uses(&self.row).iter().any(|(_, word)| word.as_deref() == Some(id))
    }
}

/// Returns the names that the conditions and the texts of a row use.
fn names(row: &RuleRow) -> Vec<String> {
    let mut names: Vec<String> = uses(row).into_iter().map(|(name, _)| name).collect();
    for (_, text) in row.texts() {
        let in_braces = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
        names.extend(in_braces.map(|(name, _)| name.to_owned()));
    }
    names
}

/// Returns the configuration of the plugin.
fn config(rules: &[Rule]) -> Map<String, Value> {
    let layered = |rule: &Rule| LayeredRow { of_project: rule.is_of_project(), row: Box::new(rule.row.clone()) };
    let config = RulesConfig { rule: rules.iter().map(layered).collect() };
    match serde_json::to_value(config) {
        Ok(Value::Object(config)) => config,
        // A row consists of texts, so it can always be written as JSON.
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Digest, Source};

    fn parsed(text: &str) -> Config {
        Config::parse(text, &Source::new("/h.toml", Layer::User), &[]).unwrap()
    }

    fn code() -> Code {
        Code::File { path: "/rules.wasm".into(), digest: Digest::of_bytes(b"rules") }
    }

    #[test]
    fn the_entry_hears_only_what_the_rules_are_about() {
        let config = parsed("[[rule]]\nid = 'a'\non = 'shell'\nnote = 'n'\n[[rule]]\nid = 'b'\non = 'mcp'\nnote = 'n'");
        assert!(config.lacks_rules_plugin());
        let config = config.with_rules_plugin(code()).unwrap();
        assert!(!config.lacks_rules_plugin());
        let entry = config.entry(Entry::RULES).unwrap();
        assert_eq!(entry.events, Some([EventKind::BeforeToolCall].into()));
        assert_eq!(entry.actions, Some([ActionKind::Shell, ActionKind::Mcp].into()));
        let of_all =
            parsed("[[rule]]\nid = 'a'\non = ['mcp__*', 'prompt']\nnote = 'n'").with_rules_plugin(code()).unwrap();
        let entry = of_all.entry(Entry::RULES).unwrap();
        assert_eq!(entry.events, Some([EventKind::BeforeToolCall, EventKind::PromptSubmit].into()));
        assert_eq!(entry.actions, None);
    }

    #[test]
    fn a_rule_about_files_that_the_agent_wrote_hears_each_call_and_its_result() {
        let text = "[[rule]]\nid = 'a'\non = 'prompt'\nwhen = 'created_by_agent(\"/x\")'\nnote = 'n'";
        let config = parsed(text).with_rules_plugin(code()).unwrap();
        let entry = config.entry(Entry::RULES).unwrap();
        let events = [EventKind::PromptSubmit, EventKind::BeforeToolCall, EventKind::AfterToolCall];
        assert_eq!((entry.events.clone(), entry.actions.clone()), (Some(events.into()), None));
        assert!(entry.grants.facts.contains(&FactName::PathExists));
    }

    #[test]
    fn a_rule_about_whose_past_another_one_asks_is_only_observed_while_it_is_off() {
        let config = parsed(
            "[[rule]]\nid = 'a'\non = 'shell'\nlabel = 'x'\n[[rule]]\nid = 'b'\non = 'shell'\nnote = 'n'
            [[rule]]\nid = 'c'\non = 'shell'\nafter = '!a'\nreject = 'no'\nstops = ['x']\npasses = [{ command = 'x', after = 'a' }]",
        );
        let config = config.without_rules(|rule| rule.row.id != "c");
        let left: Vec<_> = config.rules().iter().map(|rule| (rule.row.id.as_str(), rule.row.observe)).collect();
        assert_eq!(left, [("c", false), ("a", true)]);
    }

    #[test]
    fn the_plugin_may_read_the_facts_and_variables_that_the_rules_name() {
        let text = "[[rule]]\nid = 'a'\non = 'shell'\nwhen = 'git.branch == env.BASE && env.CI == null'\nnote = 'in {aws.profile}'
            [[rule]]\nid = 'b'\non = 'shell'\nchange = { command = 'x --in {kube.context}' }";
        let config = parsed(text).with_rules_plugin(code()).unwrap();
        let Grants { facts, .. } = &config.entry(Entry::RULES).unwrap().grants;
        assert_eq!(
            *facts,
            [
                FactName::TimeOffset,
                FactName::GitBranch,
                FactName::PathExists,
                FactName::AwsProfile,
                FactName::KubeContext,
                FactName::Variable("BASE".into()),
                FactName::Variable("CI".into()),
            ]
            .into()
        );
    }

    #[test]
    fn the_image_of_the_plugin_is_made_without_the_examples() {
        let text = "[[rule]]\nid = 'a'\non = 'shell'\nprogram = 'x'\nreject = 'no'\nstops = ['x']\npasses = ['y']";
        let config = parsed(text).with_rules_plugin(code()).unwrap();
        let config = config.entry(Entry::RULES).unwrap().config_without_examples().unwrap();
        assert_eq!(config, r#"{"rule":[{"row":{"id":"a","on":["shell"],"program":["x"],"reject":"no"}}]}"#);
        assert_eq!(Entry::of("other", code()).config_without_examples(), None);
    }

    #[test]
    fn a_mistake_of_the_plugin_has_its_position_in_the_file() {
        let config = parsed(
            "[[rule]]\nid = 'a'\non = 'shell'\nreject = 'no'\nprogram = 'x'\nstops = ['x', 'y']\npasses = ['z']",
        );
        let problems = config.rule_problems("`0.stops.1`: it runs `y`\n`0.reject@1..2`: odd\nsomething else").unwrap();
        let found: Vec<_> =
            problems.iter().map(|problem| (problem.line, problem.column, problem.message.as_str())).collect();
        assert_eq!(found, [(4, 12, "odd"), (6, 15, "it runs `y`")]);
        assert!(config.rule_problems("no mistakes").is_none());
    }
}
