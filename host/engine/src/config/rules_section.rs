//! `[rules]`: what applies to all rules in words of a file, and the further files with rules.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::{
    Layer, Problem, Rule, Source,
    decode::decode,
    entry::directory_of,
    names,
    paths::expand,
    place::Place,
    tree::{Node, Value, join},
};
use crate::contract::rule::{AnswerKey, RuleRow};

/// The end of the name of a file that has only rules.
pub(super) const RULE_FILE_SUFFIX: &str = ".rules.toml";

/// Maximum number of further files with rules of one file.
const MAX_RULE_FILES: usize = 32;

/// The `[rules]` of one file.
#[derive(Debug, Default)]
pub(super) struct RulesSection {
    /// True if the rules of this file have no effect.
    pub(super) observe: bool,
    /// The further files.
    pub(super) files: Vec<RuleFile>,
    /// The keys that only the user has.
    pub(super) of_user: UserRules,
}

/// A further file with rules, as a file names it.
#[derive(Clone, Debug)]
pub(super) struct RuleFile {
    pub(super) written: String,
    pub(super) path: PathBuf,
    place: Place,
}

/// What the user's files say about all rules.
#[derive(Debug, Default)]
pub(super) struct UserRules {
    pub(super) priority: Option<i32>,
    off: Vec<(String, Place)>,
    mode: Option<(String, Place)>,
    /// The modes by name, each with its table.
    modes: BTreeMap<String, (RawMode, Node)>,
}

/// The keys of `[rules]`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct RawRules {
    observe: bool,
    off: Vec<String>,
    priority: Option<i32>,
    files: Vec<String>,
    mode: Option<String>,
    modes: BTreeMap<String, RawMode>,
}

/// `[rules.modes.NAME]`: for each answer, the answer that takes its place.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct RawMode {
    reject: Option<Sentence>,
    ask: Option<Sentence>,
    remind: Option<Sentence>,
    note: Option<Sentence>,
}

/// An answer that consists of a sentence. The strictest is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sentence {
    Note,
    Remind,
    Ask,
    Reject,
}

impl Sentence {
    fn key(self) -> AnswerKey {
        match self {
            Self::Note => AnswerKey::Note,
            Self::Remind => AnswerKey::Remind,
            Self::Ask => AnswerKey::Ask,
            Self::Reject => AnswerKey::Reject,
        }
    }

    /// Returns the text of this answer in a row.
    fn text(self, row: &mut RuleRow) -> &mut Option<String> {
        match self {
            Self::Note => &mut row.note,
            Self::Remind => &mut row.remind,
            Self::Ask => &mut row.ask,
            Self::Reject => &mut row.reject,
        }
    }
}

impl RawMode {
    /// Returns the answer of a row, and the answer that takes its place.
    fn change_of(self, row: &RuleRow) -> Option<(Sentence, Sentence)> {
        let Self { reject, ask, remind, note } = self;
        let changes = [
            (&row.reject, Sentence::Reject, reject),
            (&row.ask, Sentence::Ask, ask),
            (&row.remind, Sentence::Remind, remind),
            (&row.note, Sentence::Note, note),
        ];
        changes.into_iter().find_map(|(text, from, to)| text.as_ref().and(Some((from, to?))))
    }
}

impl RulesSection {
    /// Reads the table. A file with rules alone can only be observed, and a project's file can also name further files.
    pub(super) fn read(node: &Node, source: &Source, is_rule_file: bool, problems: &mut Vec<Problem>) -> Self {
        if let Value::Array(_) = &node.value {
            let message = "`rules`: a rule is written `[[rule]]`; `[rules]` is one table about all rules";
            problems.push(Problem::new(&node.place, message).about("rules"));
            return Self::default();
        }
        if let Value::Table(table) = &node.nearest_to(&["mode"]).value
            && node.table().is_some_and(|rules| rules.get("mode").is_some())
        {
            let name = table.iter().next().map_or("NAME", |(key, _)| &key.name);
            let message =
                format!("`rules.mode` is the name of the mode that is on: write a mode as `[rules.modes.{name}]`");
            problems.push(Problem::new(&node.nearest_to(&["mode"]).place, message).about("rules.mode"));
            return Self::default();
        }
        let Some(raw) = decode::<RawRules>("rules", node, problems) else { return Self::default() };
        if let Value::Table(table) = &node.value {
            for (key, _) in table.iter() {
                let name = join("rules", &key.name);
                let message = match key.name.as_str() {
                    "observe" => continue,
                    "files" if !is_rule_file => continue,
                    _ if is_rule_file => {
                        format!("`{name}`: a file of rules can only set `rules.observe`: set it in hookhost.toml")
                    }
                    _ if source.layer == Layer::Project => {
                        format!("a project's file cannot set `{name}`: set it in your own file, or take it out")
                    }
                    _ => continue,
                };
                problems.push(Problem::new(&key.place, message).about(&name));
            }
        }
        let place = |keys: &[&str]| node.nearest_to(keys).place.clone();
        let at = |key: &str, index: usize| place(&[key, &index.to_string()]);
        let mut files = Vec::new();
        for (index, written) in raw.files.into_iter().enumerate() {
            let place = at("files", index);
            let path = match index {
                MAX_RULE_FILES => Err(format!("a file names at most {MAX_RULE_FILES} files of rules")),
                _ => rule_file(&written, source),
            };
            match path {
                Ok(path) => files.push(RuleFile { written, path, place }),
                Err(why) => problems.push(file_problem(&place, &why)),
            }
            if index == MAX_RULE_FILES {
                break;
            }
        }
        let mode = |(name, mode): (String, RawMode)| {
            let table = node.nearest_to(&["modes", &name]).clone();
            (name, (mode, table))
        };
        let of_user = UserRules {
            priority: raw.priority,
            off: raw.off.into_iter().enumerate().map(|(index, id)| (id, at("off", index))).collect(),
            mode: raw.mode.map(|mode| (mode, place(&["mode"]))),
            modes: raw.modes.into_iter().map(mode).collect(),
        };
        Self { observe: raw.observe, files, of_user }
    }
}

impl RuleFile {
    /// Returns the problem that this file cannot be used.
    pub(super) fn problem(&self, why: &str) -> Problem {
        file_problem(&self.place, why)
    }
}

fn file_problem(place: &Place, why: &str) -> Problem {
    Problem::new(place, format!("`rules.files`: {why}")).about("rules.files")
}

/// Returns the path of a further file. A file of a project is below the directory of its hookhost.toml.
fn rule_file(written: &str, source: &Source) -> Result<PathBuf, String> {
    let is_of_rules = |name: &str| name.len() > RULE_FILE_SUFFIX.len() && name.ends_with(RULE_FILE_SUFFIX);
    if !is_of_rules(written.rsplit('/').next().unwrap_or_default()) {
        return Err(format!("the name of a file of rules ends with `{RULE_FILE_SUFFIX}`: rename it"));
    }
    let is_below =
        || Path::new(written).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if source.layer == Layer::Project && (written.starts_with("~/") || !is_below()) {
        return Err(
            "a file of rules of a project is in the directory of its hookhost.toml or below: move it there, and \
                    write its path without `..`"
                .to_owned(),
        );
    }
    expand(written, directory_of(&source.file), source.home.as_deref())
}

impl UserRules {
    /// Adds what a later file of the user says.
    pub(super) fn add(&mut self, later: Self) {
        self.priority = later.priority.or(self.priority);
        self.mode = later.mode.or(self.mode.take());
        self.off.extend(later.off);
        self.modes.extend(later.modes);
    }

    /// Takes the rules that are off out of `rules`, and returns them. `knows_all` is true if all files of the user have been
    /// read: then an unknown id is a problem.
    pub(super) fn take_off(&self, rules: &mut Vec<Rule>, knows_all: bool, problems: &mut Vec<Problem>) -> Vec<Rule> {
        let own: Vec<&str> =
            rules.iter().filter(|rule| !rule.is_of_project()).map(|rule| rule.row.id.as_str()).collect();
        let unknown = self.off.iter().filter(|(id, _)| knows_all && !own.contains(&id.as_str()));
        problems.extend(unknown.map(|(id, place)| {
            let nearest = names::nearest(id, own.iter().copied());
            let advice = nearest.map_or("take it out".to_owned(), |near| format!("did you mean `{near}`?"));
            let message = format!("`rules.off`: none of your rules has the id `{id}`: {advice}");
            Problem::new(place, message).about("rules.off").near(nearest)
        }));
        let is_off = |rule: &Rule| !rule.is_of_project() && self.off.iter().any(|(id, _)| *id == rule.row.id);
        let (off, kept) = std::mem::take(rules).into_iter().partition(is_off);
        *rules = kept;
        off
    }

    /// Gives each rule the answer that a mode puts in the place of its own: the mode that it names, or that of all rules.
    pub(super) fn translate(&self, rules: &mut [Rule], problems: &mut Vec<Problem>) {
        let of_all = self.mode.as_ref().and_then(|(name, place)| self.find("rules.mode", name, place, problems));
        for rule in rules {
            let own = rule.row.mode.clone();
            let mode = match &own {
                Some(name) => self.find("rule.mode", name, &rule.place("mode"), problems),
                None => of_all,
            };
            problems.extend(mode.and_then(|mode| mode.translate(rule, own.is_some())));
        }
    }

    /// Returns the mode of this name. If there is none, adds the problem of the key that names it.
    fn find<'a>(&'a self, key: &str, name: &str, named_at: &Place, problems: &mut Vec<Problem>) -> Option<Mode<'a>> {
        if let Some((name, (answers, table))) = self.modes.get_key_value(name) {
            return Some(Mode { name, answers: *answers, table });
        }
        let known: Vec<&str> = self.modes.keys().map(String::as_str).collect();
        let nearest = names::nearest(name, known.iter().copied());
        let message = format!("`{key}`: no mode has the name `{name}`: {}", names::advice(nearest, &known, "modes"));
        problems.push(Problem::new(named_at, message).about(key).near(nearest));
        None
    }
}

/// A mode of the user.
#[derive(Clone, Copy)]
struct Mode<'a> {
    name: &'a str,
    answers: RawMode,
    table: &'a Node,
}

impl Mode<'_> {
    /// Changes the answer of a rule. The mode of all rules can only make a project's rule stricter, and leaves it if that is not
    /// possible. `is_own` is true if the rule names the mode. Returns the mistake if there is one.
    fn translate(self, rule: &mut Rule, is_own: bool) -> Option<Problem> {
        let Self { name, answers, table } = self;
        let Some((from, to)) = answers.change_of(&rule.row) else {
            let message =
                format!("`rule.mode`: the mode `{name}` does not change the answer of this rule: take it out");
            return is_own.then(|| Problem::new(&rule.place("mode"), message).about("rule.mode"));
        };
        let unfit = rule.row.on.iter().find(|on| !on.answers().contains(&to.key()));
        let of_project = rule.is_of_project();
        if of_project && (to <= from || unfit.is_some()) {
            return None;
        }
        let answer = to.key().name();
        let key = format!("rules.modes.{name}.{}", from.key().name());
        let (id, origin) = (&rule.row.id, &rule.origin);
        let of_rule = format!("`{key}`: the rule `{id}` at {origin} would answer with `{answer}`");
        let place = &table.nearest_to(&[from.key().name()]).place;
        let problem = |why: String| Problem::new(place, format!("{of_rule}, {why}")).about(&key);
        if let Some(on) = unfit {
            return Some(problem(format!("which is not possible for `on = \"{}\"`", on.name())));
        }
        rule.written = Some(Box::new(rule.row.clone()));
        let text = from.text(&mut rule.row).take();
        *to.text(&mut rule.row) = text;
        rule.row.mode = Some(name.to_owned());
        if to < Sentence::Ask {
            rule.row.instead = None;
        }
        let lacks_examples = rule.row.stops.is_empty() || rule.row.passes.is_empty();
        if !of_project && lacks_examples && rule.row.needs_examples() {
            return Some(problem("for which it needs `stops` and `passes`".to_owned()));
        }
        None
    }
}
