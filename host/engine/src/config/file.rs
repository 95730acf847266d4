//! One file: text → checked entries. A function of its input: no I/O.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    AskRule, Code, Digest, Entry, Grants, Layer, Mode, Origin, Problem,
    ask::RawAsk,
    decode::{decode, unknown_key},
    entry::directory_of,
    paths::expand,
    raw::RawEntry,
    server::Server,
    tree::{self, Key, Node, Place, Table, Text, Value, join},
};

/// Where a text comes from, and what its paths are relative to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Source {
    /// The file: messages name it, and relative paths are relative to its directory. Absolute,
    /// where the entries' paths are to be absolute.
    pub file: PathBuf,
    /// Whose it is.
    pub layer: Layer,
    /// The directory for `~/`; without it, `~/` is an error.
    pub home: Option<PathBuf>,
}

impl Source {
    /// A source without a directory for `~/`.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>, layer: Layer) -> Self {
        Self { file: file.into(), layer, home: None }
    }

    /// The same with a directory for `~/`, if there is one.
    #[must_use]
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }
}

/// One file, checked by itself.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) file: PathBuf,
    pub(super) layer: Layer,
    pub(super) entries: Vec<Placed>,
    pub(super) asks: Vec<AskRule>,
    pub(super) settings: Option<Node>,
    /// The embedder's sections.
    pub(super) sections: Table,
}

/// An entry, and where in the file its name, path and digest are.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) entry: Entry,
    pub(super) name_at: Place,
    pub(super) path_at: Place,
    pub(super) digest_at: Place,
}

/// The sections that are the engine's.
const SECTIONS: [&str; 3] = ["plugin", "ask", "settings"];

/// Checks a file by itself; `sections` are those that the embedder claims.
#[cfg(feature = "config-file")]
pub(super) fn parse(text: &str, source: &Source, sections: &[&str]) -> Result<Parsed, Vec<Problem>> {
    let file = Arc::new(Text { path: source.file.clone(), layer: source.layer, text: text.to_owned() });
    sections_of(super::toml::parse(&file)?, source, sections)
}

fn sections_of(table: Table, source: &Source, sections: &[&str]) -> Result<Parsed, Vec<Problem>> {
    let mut parsed = Parsed {
        file: source.file.clone(),
        layer: source.layer,
        entries: Vec::new(),
        asks: Vec::new(),
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
                let nodes = array_of_tables(&key, &node, "rules", &mut problems);
                parsed.asks = nodes.iter().filter_map(|node| ask_rule(node, source, &mut problems)).collect();
            }
            "settings" => parsed.settings = Some(node),
            name if known().any(|section| section == name) => parsed.sections.push(key, node),
            _ => problems.push(unknown_key(&key, "", &known().collect::<Vec<_>>())),
        }
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

fn ask_rule(node: &Node, source: &Source, problems: &mut Vec<Problem>) -> Option<AskRule> {
    let written: RawAsk = decode("ask", node, problems)?;
    let rule = written.rule(origin(node, source));
    let before = problems.len();
    problems.extend(rule.broken().map(|(key, why)| {
        let path = key.map_or("ask".to_owned(), |key| join("ask", key));
        let place = key.map_or(node, |key| node.nearest_to(&[key])).place.clone();
        Problem::new(&place, format!("`{path}`: {why}")).about(&path)
    }));
    (problems.len() == before).then_some(rule)
}

fn origin(node: &Node, source: &Source) -> Origin {
    Origin::new(&source.file, node.place.line(), source.layer)
}

fn entry(node: &Node, source: &Source, problems: &mut Vec<Problem>) -> Option<Placed> {
    let written: RawEntry = decode("plugin", node, problems)?;
    let mut check = Check { node, source, problems, failed: false };
    let path = check.expand(&["path"], &written.path)?;
    check.rules(&written);
    let grants = check.grants(written.grants);
    let limits = written.limits;
    let deadline = limits.deadline(&grants);
    if limits.compute(&grants) > deadline {
        let why = format!("longer than `deadline`, which is {deadline:?} and holds all of the call");
        check.fail(&["limits", "compute"], &why);
    }
    if check.failed {
        return None;
    }
    let at = |key| node.nearest_to(&[key]).place.clone();
    Some(Placed {
        name_at: at("name"),
        path_at: at("path"),
        digest_at: at("sha256"),
        entry: Entry {
            name: written.name,
            code: Code::File { path, digest: written.sha256 },
            priority: written.priority.unwrap_or(Entry::DEFAULT_PRIORITY),
            enabled: written.enabled.unwrap_or(true),
            events: written.events.map(|events| events.into_iter().map(|event| event.0).collect()),
            actions: written.actions,
            tools: written.tools,
            mode: written.mode.unwrap_or(Mode::Enforce),
            on_failure: written.on_failure,
            stop: written.stop.unwrap_or_default(),
            limits,
            grants,
            config: written.config,
            origin: Some(origin(node, source)),
        },
    })
}

/// Why a name cannot be an entry's.
pub(crate) fn name_rule(name: &str) -> Result<(), String> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let odd = name.chars().any(|c| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-'));
    if starts_well && !odd && name.len() <= 64 {
        return Ok(());
    }
    Err("a name is 1 to 64 of `A–Z a–z 0–9 . _ -` and begins with a letter or digit".to_owned())
}

fn guest_dir_rule(guest: &str) -> Result<(), String> {
    if guest.starts_with('/') && !guest.contains('\0') && guest.split('/').all(|part| part != ".." && part != ".") {
        return Ok(());
    }
    Err(format!("{guest:?} is no guest directory: one begins with `/` and has neither `.` nor `..` in it"))
}

fn env_rule(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0', '*']) {
        return Err(format!("{name:?} is no environment variable: each is named in full, without `=` and `*`"));
    }
    Ok(())
}

fn http_rule(host: &str) -> Result<(), String> {
    Server::parse(host).map(drop)
}

/// Checks what serde cannot, each at its key's place.
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

    fn all<'a>(
        &mut self,
        keys: &[&str],
        values: impl IntoIterator<Item = &'a String>,
        rule: fn(&str) -> Result<(), String>,
    ) {
        for value in values {
            if let Err(why) = rule(value) {
                self.fail(keys, &why);
            }
        }
    }

    fn expand(&mut self, keys: &[&str], path: &str) -> Option<PathBuf> {
        expand(path, directory_of(&self.source.file), self.source.home.as_deref())
            .map_err(|why| self.fail(keys, &why))
            .ok()
    }

    fn rules(&mut self, written: &RawEntry) {
        self.all(&["name"], [&written.name], name_rule);
        let empty = [
            ("events", written.events.as_ref().is_some_and(BTreeSet::is_empty)),
            ("actions", written.actions.as_ref().is_some_and(BTreeSet::is_empty)),
            ("tools", written.tools.as_ref().is_some_and(Vec::is_empty)),
        ];
        for (key, _) in empty.into_iter().filter(|(_, empty)| *empty) {
            self.fail(
                &[key],
                "an empty list lets nothing through: leave the key out for all, or set `enabled = false`",
            );
        }
    }

    fn grants(&mut self, written: Grants) -> Grants {
        let grants = &written;
        self.all(&["grants", "env"], &grants.env, env_rule);
        self.all(&["grants", "http"], &grants.http, http_rule);
        self.all(&["grants", "capabilities"], &grants.capabilities, name_rule);
        if grants.model.as_ref().is_some_and(|model| model.name.is_empty()) {
            self.fail(&["grants", "model", "name"], "the name of a model must not be empty");
        }
        if let Some(twice) = grants.read_dirs.keys().find(|guest| grants.write_dirs.contains_key(*guest)) {
            self.fail(
                &["grants", "write-dirs", twice],
                "this guest directory is in `read-dirs` too: keep it in one of them",
            );
        }
        let read_dirs = self.directories("read-dirs", &grants.read_dirs);
        let write_dirs = self.directories("write-dirs", &grants.write_dirs);
        Grants { read_dirs, write_dirs, ..written }
    }

    fn directories(&mut self, key: &str, directories: &BTreeMap<String, PathBuf>) -> BTreeMap<String, PathBuf> {
        for guest in directories.keys() {
            self.all(&["grants", key, guest], [guest], guest_dir_rule);
        }
        let expanded = directories.iter().filter_map(|(guest, host)| {
            self.expand(&["grants", key, guest], &host.to_string_lossy()).map(|host| (guest.clone(), host))
        });
        expanded.collect()
    }
}

/// The checks of an entry that a program made: those of a written one, and of a native rule that it has what is granted.
pub(super) fn check_made(entry: &Entry) -> Result<(), String> {
    let written = match &entry.code {
        Code::File { .. } => RawEntry::of(entry, Path::new("")),
        Code::Bytes(_) | Code::Compiled(_) | Code::Native(_) => {
            let code = Code::File { path: "program.wasm".into(), digest: Digest::zero() };
            RawEntry::of(&Entry { code, ..entry.clone() }, Path::new(""))
        }
    };
    let written = written?.to_json()?;
    if let Some(grant) = matches!(entry.code, Code::Native(_)).then(|| entry.grants.of_sandbox()).flatten() {
        return Err(format!("it is a native rule, to which `{grant}` gives nothing: nothing keeps it from the world"));
    }
    let source = Source::new("", Layer::Chosen);
    let file = Arc::new(Text { path: PathBuf::new(), layer: Layer::Chosen, text: String::new() });
    let mut problems = Vec::new();
    match tree::of_json(&file, written) {
        Ok(table) => {
            let node = Node { place: Place { file, range: 0..0 }, value: Value::Table(table) };
            self::entry(&node, &source, &mut problems);
        }
        Err(refused) => problems = refused,
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; "))
}
