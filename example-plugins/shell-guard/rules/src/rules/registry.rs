//! All rules that hold, in the order in which they are asked.

use super::matching::{Matcher, Subject};
use super::programs::{Arguments, Programs};
use super::words::Pattern;
use super::{CUSTOM, Catalogue, Embedded, FLOOR, Rule};
use crate::shell::{LENGTH, Places, read};
use hookhost_guest::prelude::ShellDialect;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of rules that match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// Rewrites are made, and reported.
    #[default]
    RewriteWithAudit,
    /// Whatever a rule catches is refused.
    Deny,
    /// Nothing but reports, except for rules that deny.
    Audit,
}

/// The part of the config that is about rules.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    /// Of a catalogue or a rule, by its id.
    pub(crate) modes: BTreeMap<String, Mode>,
    /// Catalogues and rules that are left out, by their id.
    pub(crate) remove: Vec<String>,
    /// Asked before all others, whatever the stacks are.
    pub(crate) custom_rules: Vec<Rule>,
    /// Further ones; one of an embedded catalogue's id replaces it.
    pub(crate) catalogues: Vec<Catalogue>,
}

/// A rule, ready to be asked.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// Without its matches, which are in `matchers`.
    pub(crate) rule: Rule,
    pub(crate) catalogue: String,
    pub(crate) mode: Mode,
    /// Whether the config brought it, and it was not there before.
    given: bool,
    stack: Option<String>,
    pattern: Option<Pattern>,
    matchers: Vec<Matcher>,
}

impl Compiled {
    pub(crate) fn is_floor(&self) -> bool {
        self.catalogue == FLOOR
    }

    /// The stacks without which the rule is silent.
    pub(crate) fn holds_in(&self, has: &dyn Fn(&str) -> bool) -> bool {
        self.stack.as_deref().is_none_or(has)
            && (self.rule.applies_to.is_empty() || self.rule.applies_to.iter().any(|stack| has(stack_name(stack))))
    }

    /// Whether it is no matter to it that a file is written whole.
    pub(crate) fn spares_whole_files(&self) -> bool {
        self.matchers.iter().any(Matcher::spares_whole_files)
    }

    /// The stacks that it is about.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = &str> {
        self.stack.as_deref().into_iter().chain(self.rule.applies_to.iter().map(|stack| stack_name(stack)))
    }
}

/// A rule that matches.
#[derive(Debug)]
pub(crate) struct Hit<'a> {
    pub(crate) rule: &'a Compiled,
    /// The commands that it matches, by their place in the script; none where it is about the text as a whole.
    pub(crate) commands: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Registry {
    rules: Vec<Compiled>,
    programs: Programs,
    /// Rules with a pattern.
    patterns: Vec<usize>,
    /// Matchers by the programs that they name: each by its rule, and its place in the rule.
    by_program: BTreeMap<String, Vec<(usize, usize)>>,
    /// Those that may be about any program, and those about the text as a whole.
    general: Vec<(usize, usize)>,
    of_text: Vec<(usize, usize)>,
    /// What is loaded, a line each.
    listing: Vec<String>,
}

impl Registry {
    pub(crate) fn new(settings: Settings) -> Result<Self, String> {
        let Settings { mode, modes, remove, custom_rules, catalogues: mut given } = settings;
        if let Some((at, _)) =
            given.iter().enumerate().find(|(at, one)| given[..*at].iter().any(|two| two.id == one.id))
        {
            return Err(format!("two catalogues have the id `{}`: give one of them another", given[at].id));
        }
        let (programs, embedded) = Embedded::read()?;
        let mut loading = Loading { mode, modes, remove, ..Loading::default() };
        loading.take_custom(custom_rules)?;
        for catalogue in embedded {
            let catalogue = catalogue?;
            match given.iter().position(|other| other.id == catalogue.id) {
                Some(at) => loading.take(given.remove(at), true)?,
                None => loading.take(catalogue, false)?,
            }
        }
        given.into_iter().try_for_each(|catalogue| loading.take(catalogue, true))?;
        let (rules, listing) = loading.finished()?;
        Self {
            rules,
            programs,
            patterns: Vec::new(),
            by_program: BTreeMap::new(),
            general: Vec::new(),
            of_text: Vec::new(),
            listing,
        }
        .indexed()
        .checked()
    }

    fn indexed(mut self) -> Self {
        let matchers = self.rules.iter_mut().flat_map(|rule| &mut rule.matchers);
        matchers.enumerate().for_each(|(number, matcher)| matcher.number = number);
        for (at, rule) in self.rules.iter().enumerate() {
            if rule.pattern.is_some() {
                self.patterns.push(at);
            }
            for (which, matcher) in rule.matchers.iter().enumerate() {
                let place = (at, which);
                let mut names = matcher.programs();
                if matcher.is_of_text() {
                    self.of_text.push(place);
                } else if names.clone().next().is_none() || names.any(|name| name.ends_with('*')) {
                    self.general.push(place);
                } else {
                    for name in matcher.programs() {
                        self.by_program.entry(name.to_ascii_lowercase()).or_default().push(place);
                    }
                }
            }
        }
        self
    }

    /// The catalogues that are loaded, a line each.
    pub(crate) fn listing(&self) -> &[String] {
        &self.listing
    }

    /// Whether the rules that the config brought catch and leave what they say.
    fn checked(self) -> Result<Self, String> {
        for rule in self.rules.iter().filter(|rule| rule.given) {
            let id = &rule.rule.id;
            if let Some(command) = rule.rule.catches.iter().find(|command| !self.catches(id, command)) {
                return Err(format!("rule `{id}` does not catch `{command}`, which is in its `catches`"));
            }
            if let Some(command) = rule.rule.leaves.iter().find(|command| self.catches(id, command)) {
                return Err(format!("rule `{id}` catches `{command}`, which is in its `leaves`"));
            }
        }
        Ok(self)
    }

    /// Whether a rule matches `command` where its examples are: in a project, with its stacks in use.
    pub(crate) fn catches(&self, rule: &str, command: &str) -> bool {
        const FOLDER: &str = "/work/project";
        let places = Places::new(FOLDER);
        let script = read(command, ShellDialect::Posix, FOLDER, &places);
        let subject = Subject::new(command, &script, &places);
        self.matching(&subject).iter().any(|hit| hit.rule.rule.id == rule)
    }

    #[cfg(test)]
    pub(crate) fn rules(&self) -> &[Compiled] {
        &self.rules
    }

    pub(crate) fn arguments<'a>(&'a self, command: &'a crate::shell::Command) -> Arguments<'a> {
        let program = self.programs.get(&command.program);
        Arguments::new(program, &command.args, command.windows)
    }

    /// Every rule that matches, in order.
    pub(crate) fn matching(&self, subject: &Subject<'_>) -> Vec<Hit<'_>> {
        let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for at in self.patterns.iter().filter(|_| subject.text.len() <= LENGTH) {
            if self.rules[*at].pattern.as_ref().is_some_and(|pattern| pattern.is_match(subject.text)) {
                found.entry(*at).or_default();
            }
        }
        for (at, which) in &self.of_text {
            if self.rules[*at].matchers[*which].fits_text(subject) {
                found.entry(*at).or_default();
            }
        }
        for (number, command) in subject.script.commands.iter().enumerate() {
            let named = self.by_program.get(lower(&command.program).as_ref());
            let mut arguments = None;
            for (at, which) in named.into_iter().flatten().chain(&self.general) {
                let arguments = arguments.get_or_insert_with(|| self.arguments(command));
                if self.rules[*at].matchers[*which].fits(command, arguments, subject) {
                    let commands = found.entry(*at).or_default();
                    if commands.last() != Some(&number) {
                        commands.push(number);
                    }
                }
            }
        }
        found.into_iter().map(|(at, commands)| Hit { rule: &self.rules[at], commands }).collect()
    }
}

/// The rules that were taken, one catalogue after the other.
#[derive(Default)]
struct Loading {
    mode: Mode,
    modes: BTreeMap<String, Mode>,
    remove: Vec<String>,
    /// With what they are sorted by: those of the first catalogue are asked first.
    rules: Vec<(bool, i64, i64, Compiled)>,
    catalogues: Vec<String>,
    ids: BTreeSet<String>,
    /// Those of catalogues that are left out.
    removed: BTreeSet<String>,
    listing: Vec<String>,
}

impl Loading {
    fn take_custom(&mut self, rules: Vec<Rule>) -> Result<(), String> {
        let (version, source) = (String::new(), String::new());
        self.take(Catalogue { id: CUSTOM.into(), stack: None, version, source, priority: 0, rules }, true)
    }

    /// Takes a catalogue, which the config has `given` or not.
    fn take(&mut self, catalogue: Catalogue, given: bool) -> Result<(), String> {
        let line = catalogue.to_string();
        let Catalogue { id, stack, priority, rules, .. } = catalogue;
        self.catalogues.push(id.clone());
        if self.remove.contains(&id) {
            self.removed.extend(rules.into_iter().map(|rule| rule.id));
            return Ok(());
        }
        self.listing.push(line);
        for rule in rules {
            if !self.ids.insert(rule.id.clone()) {
                return Err(format!("two rules have the id `{}`: each needs one of its own", rule.id));
            }
            if self.remove.contains(&rule.id) {
                continue;
            }
            let mode = self.modes.get(&rule.id).or_else(|| self.modes.get(&id)).copied().unwrap_or(self.mode);
            let compiled = Compiled { given, ..compile(rule, &id, stack.as_deref(), mode)? };
            self.rules.push((self.catalogues.len() > 1, -compiled.rule.priority, -priority, compiled));
        }
        Ok(())
    }

    /// The rules in order, and a line for each catalogue.
    fn finished(mut self) -> Result<(Vec<Compiled>, Vec<String>), String> {
        let is_known =
            |id: &&String| self.ids.contains(*id) || self.removed.contains(*id) || self.catalogues.contains(id);
        if let Some(id) = self.remove.iter().chain(self.modes.keys()).find(|id| !is_known(id)) {
            self.catalogues.retain(|id| id != CUSTOM);
            return Err(format!(
                "there is no rule or catalogue `{id}`; the catalogues are {}",
                self.catalogues.join(", ")
            ));
        }
        self.rules.sort_by_key(|(later, priority, catalogue, _)| (*later, *priority, *catalogue));
        Ok((self.rules.into_iter().map(|(_, _, _, rule)| rule).collect(), self.listing))
    }
}

fn compile(mut rule: Rule, catalogue: &str, stack: Option<&str>, mode: Mode) -> Result<Compiled, String> {
    let id = rule.id.clone();
    let wrong = |why: String| format!("rule `{id}`: {why}");
    if rule.id.is_empty() {
        return Err("a rule has an empty `id`".into());
    }
    if rule.pattern.is_none() && rule.matches.is_empty() {
        return Err(wrong("it needs a `pattern` or a `match`".into()));
    }
    if rule.rewrite.as_ref().is_some_and(|rewrite| rewrite.replace.is_some() && rewrite.of.is_empty()) {
        return Err(wrong(
            "its `replace` needs `of`: all words after the program's name, for which it does the same".into(),
        ));
    }
    let pattern = rule.pattern.take().map(Pattern::new).transpose().map_err(wrong)?;
    let matches = std::mem::take(&mut rule.matches).into_iter();
    let matchers = matches.map(Matcher::new).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let stack = stack.map(|stack| stack_name(stack).to_owned());
    Ok(Compiled { given: false, catalogue: catalogue.to_owned(), mode, stack, pattern, matchers, rule })
}

/// In lower case, as nearly every program is anyway.
pub(crate) fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) { name.to_ascii_lowercase().into() } else { name.into() }
}

/// A stack by its one name.
pub(crate) fn stack_name(name: &str) -> &str {
    match name {
        "ts" | "javascript" | "js" | "node" => "typescript",
        "py" => "python",
        name => name,
    }
}
