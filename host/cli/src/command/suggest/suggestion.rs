//! The proposals: exceptions of rules that asked in vain, and rules for what was always rejected.

use super::evidence::{Answers, PastCall};
use super::subject::{Subject, example};
use crate::output::truncate::cut;
use hookhost::config::Config;
use hookhost::contract::rule::{OneOrMany, RuleExample, RuleOn, RuleRow};
use hookhost::contract::{Action, Asker};
use hookhost_imports::{CommandShape, shapes, slug};
use hookhost_telemetry::tally::RuleName;
use std::collections::{BTreeMap, BTreeSet};

/// Number of real calls that are shown and become examples.
const EXAMPLES: usize = 3;

/// Maximum number of commands in one exception. A longer list says that the rule itself is too wide.
const MAX_COMMANDS: usize = 8;

/// Maximum length of the part of an id that comes from the call, in bytes.
const MAX_SLUG: usize = 50;

/// Maximum length of a shown call, in characters.
const MAX_SHOWN: usize = 160;

/// A proposal.
#[derive(Debug, Default)]
pub(super) struct Suggestion {
    /// The answers that led to it, in one sentence.
    pub(super) why: String,
    /// Real calls.
    pub(super) examples: Vec<String>,
    /// The rule.
    pub(super) row: Option<RuleRow>,
    /// The setting of a plugin, where no row can help.
    pub(super) setting: Option<String>,
    /// Number of the recorded calls that the rule would have changed.
    pub(super) changed: Option<u64>,
    /// The reason why the rule is not proposed.
    pub(super) left_out: Option<String>,
}

impl Suggestion {
    /// Returns the lines above the rule.
    pub(super) fn evidence(&self) -> Vec<String> {
        let mut lines = vec![self.why.clone()];
        lines.extend(self.examples.iter().map(|example| format!("  {}", cut(example, MAX_SHOWN))));
        let changed = self.changed.filter(|_| self.left_out.is_none());
        lines.extend(changed.map(|changed| format!("would have changed {changed} recorded calls")));
        lines
    }
}

/// Returns the proposals for everything that got the same answer at least `times` times and never another one.
pub(super) fn suggestions(
    answers: &BTreeMap<(RuleName, Subject), Answers>,
    config: &Config,
    times: u64,
) -> Vec<Suggestion> {
    let mut found = Vec::new();
    let mut exceptions: BTreeMap<&RuleName, Vec<(&Subject, &Answers)>> = BTreeMap::new();
    for ((rule, subject), answers) in answers {
        if answers.answered.yes >= times && answers.answered.no == 0 {
            exceptions.entry(rule).or_default().push((subject, answers));
        } else if answers.answered.no >= times && answers.answered.yes == 0 {
            found.push(rejection(rule, subject, answers));
        }
    }
    found.extend(exceptions.into_iter().map(|(rule, allowed)| exception(rule, &allowed, config)));
    found
}

/// Proposes a rule that rejects what a person always rejected.
fn rejection(rule: &RuleName, subject: &Subject, answers: &Answers) -> Suggestion {
    let examples = examples(&answers.calls);
    let operands = if matches!(subject, Subject::Command { .. }) { operands(&answers.calls) } else { Vec::new() };
    let words = std::iter::once(subject.in_words()).chain(operands.iter().cloned()).collect::<Vec<_>>().join(" ");
    let why = format!("`{}` asked about {words}: {} times no, never yes", shown(rule), answers.answered.no);
    let mut row = RuleRow { id: format!("suggested.{}", slug(&words, MAX_SLUG)), ..RuleRow::default() };
    row.reject = Some(format!("people here always reject this: {}", words.replace('{', "(").replace('}', ")")));
    row.stops = texts(&examples);
    let passes: Vec<String> = match subject {
        Subject::Command { program, flags } => {
            row.on = one(RuleOn::Shell);
            row.program = one(program.clone());
            // A row has any of its flags, so the longest says most.
            let flag = flags.iter().max_by_key(|flag| flag.len());
            row.flags = OneOrMany(flag.cloned().into_iter().collect());
            // A row has any of its operands, and the last one usually says what the command changes.
            let operand = operands.last();
            row.args = OneOrMany(operand.map(|operand| literal(operand)).into_iter().collect());
            let parent = program.rsplit_once(' ').map(|(parent, _)| format!("{parent} another"));
            let bare = flag.or(operand).map(|_| program.clone());
            bare.into_iter().chain(parent).chain([format!("echo '{program}'")]).collect()
        }
        Subject::Read(path) | Subject::Write(path) => {
            row.on = one(if matches!(subject, Subject::Read(_)) { RuleOn::Read } else { RuleOn::Write });
            row.path = one(path_pattern(path));
            vec!["README.md".to_owned(), "src/main.rs".to_owned()]
        }
        Subject::Host(host) => {
            row.on = one(RuleOn::Web);
            row.host = one(host.clone());
            vec!["https://another.example/".to_owned()]
        }
        Subject::Mcp { server, tool } => {
            (row.on, row.server, row.tool) = (one(RuleOn::Mcp), one(literal(server)), one(literal(tool)));
            vec![format!("{server}/another"), format!("another/{tool}")]
        }
        Subject::Tool(tool) => {
            row.on = one(RuleOn::Tool(tool.clone()));
            // A row that is about all calls of a tool needs no examples.
            row.stops.clear();
            Vec::new()
        }
    };
    row.passes = texts(&passes);
    Suggestion { why, examples, row: Some(row), ..Suggestion::default() }
}

/// Proposes that a rule no longer asks about what a person always allowed.
fn exception(rule: &RuleName, allowed: &[(&Subject, &Answers)], config: &Config) -> Suggestion {
    let all: Vec<PastCall> = allowed.iter().flat_map(|(_, answers)| answers.calls.iter().cloned()).collect();
    let yes: u64 = allowed.iter().map(|(_, answers)| answers.answered.yes).sum();
    let words: Vec<String> = allowed.iter().map(|(subject, _)| subject.in_words()).collect();
    let why = format!("`{}` asked about {}: {yes} times yes, never no", shown(rule), words.join(", "));
    let mut suggestion = Suggestion { why, examples: examples(&all), ..Suggestion::default() };
    let code = rule.code.as_deref();
    let is_configuration = rule.by == Asker::Configuration.to_string();
    let asking = config.rules().iter().find(|asking| is_configuration && Some(asking.row.id.as_str()) == code);
    match asking {
        Some(asking) => match excepted(asking.written(), allowed, &all) {
            Ok(row) => {
                suggestion.row = Some(row);
                suggestion.why.push_str("; in place of the rule of this id");
            }
            Err(why) => suggestion.left_out = Some(why),
        },
        None if is_configuration => {
            suggestion.left_out = Some("the rule that asked is not in your files any more".to_owned());
        }
        None => suggestion.setting = Some(setting(&rule.by, code)),
    }
    suggestion
}

/// Returns the setting with which a plugin no longer asks, as a sentence or a line. A row cannot waive a plugin's question.
fn setting(plugin: &str, code: Option<&str>) -> String {
    match (plugin, code) {
        ("shell-guard", Some(code)) => {
            format!(
                "in [plugin.config] of shell-guard, for every command of this rule: answers = {{ \"rule:{code}\" = \"allow\" }}"
            )
        }
        _ => format!("no rule can answer the plugin {plugin}: see its settings in docs/plugin-settings.md"),
    }
}

/// Returns a copy of a row that does not match these calls.
fn excepted(row: &RuleRow, allowed: &[(&Subject, &Answers)], calls: &[PastCall]) -> Result<RuleRow, String> {
    let mut row = row.clone();
    let mut commands = BTreeSet::new();
    for (subject, answers) in allowed {
        match subject {
            Subject::Command { .. } => commands.extend(answers.calls.iter().filter_map(command)),
            Subject::Read(path) | Subject::Write(path) => row.path.0.push(format!("!{}", path_pattern(path))),
            Subject::Host(host) => row.host.0.push(format!("!{host}")),
            Subject::Mcp { server, tool } => {
                if row.server.as_ref() != [server.clone()] {
                    return Err(format!(
                        "the rule is about several servers: write one about {server} alone, with `tool = \"!{tool}\"`"
                    ));
                }
                row.tool.0.push(format!("!{}", literal(tool)));
            }
            Subject::Tool(tool) => row.tool.0.push(format!("!{}", literal(tool))),
        }
    }
    if commands.len() > MAX_COMMANDS {
        return Err(format!("these are {} different commands: make the rule narrower, or remove it", commands.len()));
    }
    if !commands.is_empty() {
        let list: Vec<String> = commands.iter().map(|command| serde_json::json!(command).to_string()).collect();
        let condition = format!("command in [{}]", list.join(", "));
        row.unless = Some(row.unless.map_or(condition.clone(), |before| format!("({before}) || {condition}")));
    }
    let allowed: BTreeSet<String> = calls.iter().map(example).collect();
    let is_allowed = |example: &RuleExample| matches!(example, RuleExample::Text(text) if allowed.contains(text));
    row.stops.retain(|example| !is_allowed(example));
    let new = allowed.into_iter().take(EXAMPLES).map(RuleExample::Text);
    let new: Vec<RuleExample> = new.filter(|example| !row.passes.contains(example)).collect();
    row.passes.extend(new);
    Ok(row)
}

/// Returns the command of a call, as conditions see it.
fn command(past: &PastCall) -> Option<String> {
    shape(past).map(|shape| shape.text)
}

/// Returns the operands of the commands, if all have the same.
fn operands(calls: &[PastCall]) -> Vec<String> {
    let mut all: BTreeSet<Vec<String>> =
        calls.iter().map(|past| shape(past).map(|shape| shape.operands).unwrap_or_default()).collect();
    if all.len() == 1 { all.pop_first().unwrap_or_default() } else { Vec::new() }
}

/// Returns the first simple command of a call.
fn shape(past: &PastCall) -> Option<CommandShape> {
    let Action::Shell(shell) = &past.call.action else { return None };
    shapes(&shell.command)?.into_iter().next()
}

/// Returns different real calls.
fn examples(calls: &[PastCall]) -> Vec<String> {
    let different: BTreeSet<String> = calls.iter().map(example).collect();
    different.into_iter().take(EXAMPLES).collect()
}

fn texts(examples: &[String]) -> Vec<RuleExample> {
    examples.iter().cloned().map(RuleExample::Text).collect()
}

fn one<T>(value: T) -> OneOrMany<T> {
    OneOrMany(vec![value])
}

/// Returns a pattern that matches only this text.
fn literal(text: &str) -> String {
    text.replace('[', "[[]").replace('*', "[*]").replace('?', "[?]")
}

/// Returns a pattern that matches only this path. A pattern without a slash would match in every directory.
fn path_pattern(path: &str) -> String {
    let path = literal(path);
    if path.contains('/') { path } else { format!("./{path}") }
}

fn shown(rule: &RuleName) -> String {
    match &rule.code {
        Some(code) if rule.by == Asker::Configuration.to_string() => code.clone(),
        Some(code) => format!("{} {code}", rule.by),
        None => rule.by.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::path_pattern;

    #[test]
    fn a_pattern_matches_only_its_path() {
        assert_eq!(path_pattern("notes.md"), "./notes.md");
        assert_eq!(path_pattern("a/[b]*.md"), "a/[[]b][*].md");
    }
}
