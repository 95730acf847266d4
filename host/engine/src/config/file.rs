//! Parses the text of one file and checks its entries. The module does no I/O.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Code, Entry, Grants, Layer, Mode, Origin, Problem, Rule, Source,
    decode::{decode, unknown_key},
    entry::directory_of,
    entry_rules::{self, BrokenRule},
    paths::expand,
    place::{Place, Text},
    raw::RawEntry,
    rules_section::RulesSection,
    tree::{Key, Node, Table, Value, join},
};
use crate::contract::rule::MAX_USER_ROWS;

/// The content of one file, which was checked independently of other files.
#[derive(Debug)]
pub(super) struct ParsedFile {
    pub(super) file: PathBuf,
    pub(super) layer: Layer,
    pub(super) entries: Vec<PlacedEntry>,
    pub(super) rules: Vec<Rule>,
    pub(super) rules_section: RulesSection,
    /// True if the file has only rules.
    pub(super) is_rule_file: bool,
    pub(super) settings: Option<Node>,
    /// The sections that the embedding program reads.
    pub(super) sections: Table,
}

impl ParsedFile {
    /// Removes each entry that `other` has under the same name or with the same component, and each rule whose id `other`
    /// has. `same` maps all paths of one file to one spelling.
    #[cfg(feature = "config-file")]
    pub(super) fn leave_out_entries_of(&mut self, other: &Self, same: impl Fn(&Path) -> PathBuf) {
        let path = |entry: &Entry| entry.code.path().map(&same);
        let is_replaced = |entry: &Entry| {
            other
                .entries
                .iter()
                .any(|PlacedEntry { entry: own, .. }| own.name == entry.name || path(own) == path(entry))
        };
        self.entries.retain(|placed| !is_replaced(&placed.entry));
        self.rules.retain(|rule| !other.rules.iter().any(|own| own.row.id == rule.row.id));
    }
}

/// An entry with the positions of its name, path and digest in the file.
#[derive(Debug)]
pub(super) struct PlacedEntry {
    pub(super) entry: Entry,
    pub(super) name_at: Place,
    pub(super) path_at: Place,
    pub(super) digest_at: Place,
}

/// The sections of the engine.
const SECTIONS: [&str; 4] = ["plugin", "rule", "rules", "settings"];

/// Parses and checks a file, independently of other files. `sections` are the names of the embedding program's
/// sections.
#[cfg(feature = "config-file")]
pub(super) fn parse(text: &str, source: &Source, sections: &[&str]) -> Result<ParsedFile, Vec<Problem>> {
    let file = Arc::new(Text { path: source.file.clone(), layer: source.layer, text: text.to_owned() });
    sections_of(super::toml::parse(&file)?, source, sections, false)
}

/// Parses and checks a `*.rules.toml`: `[[rule]]` tables, and `[rules]`.
#[cfg(feature = "config-file")]
pub(super) fn parse_rule_file(text: &str, source: &Source) -> Result<ParsedFile, Vec<Problem>> {
    let file = Arc::new(Text { path: source.file.clone(), layer: source.layer, text: text.to_owned() });
    let table = super::toml::parse(&file)?;
    let is_other = |key: &Key| key.name != "rule" && key.name != "rules";
    let problems: Vec<Problem> =
        table.iter().filter(|(key, _)| is_other(key)).map(|(key, _)| not_a_rule(key)).collect();
    if problems.is_empty() { sections_of(table, source, &[], true) } else { Err(problems) }
}

/// Parses and checks a text that has only `[[rule]]` tables, so that it can be put at the end of another file.
#[cfg(feature = "config-file")]
pub(super) fn parse_rules(text: &str, source: &Source) -> Result<ParsedFile, Vec<Problem>> {
    let file = Arc::new(Text { path: source.file.clone(), layer: source.layer, text: text.to_owned() });
    let table = super::toml::parse(&file)?;
    let mut problems = Vec::new();
    for (key, node) in table.iter() {
        if key.name != "rule" {
            problems.push(not_a_rule(key));
        } else if !text.get(node.elements_start()..).is_some_and(|rest| rest.starts_with("[[")) {
            // At the end of another file, such an array would belong to the last table there.
            problems.push(Problem::new(&key.place, "write each rule as a `[[rule]]` table").about("rule"));
        }
    }
    if problems.is_empty() { sections_of(table, source, &[], true) } else { Err(problems) }
}

/// Returns the problem that a file that has only rules has another key.
#[cfg(feature = "config-file")]
fn not_a_rule(key: &Key) -> Problem {
    let message = format!("`{}`: only `[[rule]]` tables are possible here", key.name);
    Problem::new(&key.place, message).about(&key.name)
}

fn sections_of(
    table: Table,
    source: &Source,
    sections: &[&str],
    is_rule_file: bool,
) -> Result<ParsedFile, Vec<Problem>> {
    let mut parsed = ParsedFile {
        file: source.file.clone(),
        layer: source.layer,
        entries: Vec::new(),
        rules: Vec::new(),
        rules_section: RulesSection::default(),
        is_rule_file,
        settings: None,
        sections: Table::default(),
    };
    let mut problems = Vec::new();
    let known = || SECTIONS.iter().chain(sections).copied();
    for (key, node) in table.into_iter() {
        match key.name.as_str() {
            "plugin" => {
                let nodes = array_of_tables(&key, &node, "entries", &mut problems);
                parsed.entries = nodes.iter().filter_map(|node| entry(node, source, &mut problems)).collect();
            }
            "ask" => {
                let message = "`[[ask]]` is now `[[rule]]`: give it an `id`, write `on` for `actions` or `tools`, and `ask` for \
                               `question`; `hookhost help rules` shows the words";
                problems.push(Problem::new(&key.place, message).about("ask"));
            }
            "rule" => {
                let nodes = array_of_tables(&key, &node, "rules", &mut problems);
                // One rule too many is a mistake, so further ones need not be read.
                let nodes = nodes.iter().take(MAX_USER_ROWS + 1);
                let rules = nodes.filter_map(|node| Rule::read(node, origin(node, source), &mut problems));
                parsed.rules = rules.collect();
            }
            "rules" => parsed.rules_section = RulesSection::read(&node, source, is_rule_file, &mut problems),
            "settings" => parsed.settings = Some(node),
            name if known().any(|section| section == name) => parsed.sections.push(key, node),
            _ => problems.push(unknown_key(&key, "", &known().collect::<Vec<_>>())),
        }
    }
    if parsed.rules_section.observe {
        parsed.rules.iter_mut().for_each(|rule| rule.row.observe = true);
    }
    if problems.is_empty() { Ok(parsed) } else { Err(problems) }
}

fn array_of_tables<'a>(key: &Key, node: &'a Node, what: &str, problems: &mut Vec<Problem>) -> &'a [Node] {
    let Value::Array(nodes) = &node.value else {
        let name = &key.name;
        let message = format!("`{name}`: {what} are written `[[{name}]]`, with two brackets");
        problems.push(Problem::new(&key.place, message).about(name));
        return &[];
    };
    nodes
}

fn origin(node: &Node, source: &Source) -> Origin {
    Origin::new(&source.file, node.place.line(), source.layer)
}

fn entry(node: &Node, source: &Source, problems: &mut Vec<Problem>) -> Option<PlacedEntry> {
    let written: RawEntry = decode("plugin", node, problems)?;
    let mut check = Check { node, source, problems, failed: false };
    let path = check.expand(&["path"], &written.path)?;
    let grants = check.grants(written.grants);
    let entry = Entry {
        name: written.name,
        code: Code::File { path, digest: written.sha256 },
        priority: written.priority.unwrap_or(Entry::DEFAULT_PRIORITY),
        enabled: written.enabled.unwrap_or(true),
        events: written.events.map(|events| events.into_iter().map(|event| event.0).collect()),
        actions: written.actions,
        tools: written.tools,
        mode: written.mode.unwrap_or(Mode::Enforce),
        on_failure: written.on_failure,
        on_question: written.on_question.unwrap_or_default(),
        stop: written.stop.unwrap_or_default(),
        limits: written.limits,
        grants,
        config: written.config,
        origin: Some(origin(node, source)),
        judges_rows: false,
    };
    if entry.name == Entry::RULES {
        check.fail(&["name"], "this name belongs to the plugin that judges the `[[rule]]` tables: choose another");
    }
    for BrokenRule { keys, why } in entry_rules::broken(&entry) {
        check.fail(&keys.iter().map(String::as_str).collect::<Vec<_>>(), &why);
    }
    if check.failed {
        return None;
    }
    let at = |key| node.nearest_to(&[key]).place.clone();
    Some(PlacedEntry { name_at: at("name"), path_at: at("path"), digest_at: at("sha256"), entry })
}

/// The checks of one entry. Each problem gets the position of its key.
struct Check<'a> {
    node: &'a Node,
    source: &'a Source,
    problems: &'a mut Vec<Problem>,
    failed: bool,
}

impl Check<'_> {
    fn fail(&mut self, keys: &[&str], why: &str) {
        let key = join("plugin", &keys.join("."));
        let place = &self.node.nearest_to(keys).place;
        self.problems.push(Problem::new(place, format!("`{key}`: {why}")).about(&key));
        self.failed = true;
    }

    fn expand(&mut self, keys: &[&str], path: &str) -> Option<PathBuf> {
        expand(path, directory_of(&self.source.file), self.source.home.as_deref())
            .map_err(|why| self.fail(keys, &why))
            .ok()
    }

    fn grants(&mut self, written: Grants) -> Grants {
        let read_dirs = self.directories("read-dirs", &written.read_dirs);
        let write_dirs = self.directories("write-dirs", &written.write_dirs);
        Grants { read_dirs, write_dirs, ..written }
    }

    fn directories(&mut self, key: &str, directories: &BTreeMap<String, PathBuf>) -> BTreeMap<String, PathBuf> {
        let expanded = directories.iter().filter_map(|(guest, host)| {
            self.expand(&["grants", key, guest], &host.to_string_lossy()).map(|host| (guest.clone(), host))
        });
        expanded.collect()
    }
}
