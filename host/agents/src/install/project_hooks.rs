//! Lists the hooks in a project's files, whoever wrote them, and compares two lists. Anyone who can commit to a project can
//! add a hook, and an agent then runs the hook's command.

use crate::install::doctor::switches;
use crate::install::error::FileRefusal;
use crate::install::settings_file::{digest, read_text};
use crate::install::{json, ours};
use crate::plan::{Context, FilePlan, JsonEntry, OnFailure, PROGRAM, Scope};
use crate::{Adapter, all};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Names of directories all of whose files are hooks.
const HOOK_DIRECTORIES: [&str; 3] = ["hooks", "plugins", "extensions"];

/// Maximum depth of files below such a directory, and maximum number of files.
const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 1_000;

/// A hook in a project's file, or a setting that concerns hooks.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectHook {
    /// Titles of the agents that read the file.
    pub agents: Vec<&'static str>,
    /// Path of the file, relative to the project.
    pub file: PathBuf,
    /// The keys that lead to the hook, joined by dots. Empty if the whole file is the hook.
    pub at: String,
    /// The hook with the scalar members of its group, such as the matcher. For a whole file, the text `sha256 DIGEST`.
    pub value: Value,
    /// True if the hook calls hookhost.
    pub is_ours: bool,
    /// True for a setting that disables all hooks.
    pub disables: bool,
}

impl ProjectHook {
    /// Returns the hook's command if there is one, and otherwise the hook as JSON.
    pub fn shown(&self) -> String {
        let text = |key: &str| self.value.get(key).and_then(Value::as_str);
        let Some(command) = text("command").or_else(|| text("bash")).or_else(|| self.value.as_str()) else {
            return self.value.to_string();
        };
        let arguments = self.value.get("args").and_then(Value::as_array).into_iter().flatten();
        let words = [command].into_iter().chain(arguments.filter_map(Value::as_str)).collect::<Vec<_>>().join(" ");
        match text("matcher").filter(|matcher| !matches!(*matcher, "" | "*")) {
            Some(matcher) => format!("{words} (matcher {matcher})"),
            None => words,
        }
    }
}

/// The hooks in a project's files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectHooks {
    /// The hooks, sorted by file.
    pub hooks: Vec<ProjectHook>,
    /// Files that cannot be read.
    pub unreadable: Vec<FileRefusal>,
}

/// A difference between two lists of hooks.
#[derive(Clone, Debug, PartialEq)]
pub enum HookChange {
    /// Only the second list has the hook.
    Added(ProjectHook),
    /// Only the first list has the hook.
    Removed(ProjectHook),
    /// The second list has another hook at the same place.
    Changed {
        /// The hook in the first list.
        before: ProjectHook,
        /// The hook in the second list.
        after: ProjectHook,
    },
}

/// The parts of a file that are read.
#[derive(Default)]
struct ReadParts {
    agents: BTreeSet<&'static str>,
    /// Keys of the file's object whose values contain hooks.
    keys: BTreeSet<String>,
    /// True if all keys of the file's object contain hooks.
    all: bool,
    /// The settings that can disable hooks, as keys and value.
    switches: Vec<(&'static [&'static str], bool)>,
}

/// Returns the hooks in the files of `root` that agents read. These are the files into which hookhost can install its own
/// hook, the other files in their directories of hooks, and the files that can disable hooks.
pub fn project_hooks(root: &Path) -> ProjectHooks {
    let context = Context {
        scope: Scope::Project,
        home: Path::new("/"),
        project: root,
        program: Path::new(PROGRAM),
        on_failure: OnFailure::Deny,
        directories: None,
        variable: &|_| None,
    };
    let mut files: BTreeMap<PathBuf, ReadParts> = BTreeMap::new();
    let mut found = ProjectHooks::default();
    for adapter in all() {
        let agent = adapter.agent();
        let Ok(plan) = adapter.install(&context) else { continue };
        let keys: BTreeSet<String> = plan.files.iter().flat_map(top_keys).chain(["hooks".to_owned()]).collect();
        // Two adapters can be for the same program.
        let is_same = |other: &&&Adapter| !agent.programs.is_empty() && other.agent().programs == agent.programs;
        let title = all().iter().find(is_same).map_or(agent.title, |first| first.agent().title);
        let mut add = |path: PathBuf, keys: &BTreeSet<String>, is_whole: bool| {
            let parts = files.entry(path).or_default();
            parts.agents.insert(title);
            parts.keys.extend(keys.iter().cloned());
            parts.all |= is_whole;
            parts.switches.extend(switches::of(agent.name));
        };
        for file in &plan.files {
            let path = file.path();
            match file {
                FilePlan::Json { .. } => {
                    let is_of_hooks = path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains("hooks"));
                    add(path.to_owned(), &keys, is_of_hooks);
                }
                FilePlan::Whole { .. } => {
                    for path in files_beside(path, root) {
                        add(path, &keys, true);
                    }
                }
            }
        }
        for (scope, path) in switches::more_files(agent.name, &context) {
            if scope == Scope::Project {
                add(path, &keys, false);
            }
        }
    }
    for (path, parts) in files {
        match read_text(&path, Some(root)) {
            Ok(None) => {}
            Ok(Some(text)) => parts.read(&path, root, &text, &mut found),
            Err(refusal) => found.unreadable.push(refusal),
        }
    }
    found
}

/// Returns the first key of each entry of a plan.
fn top_keys(file: &FilePlan) -> Vec<String> {
    let FilePlan::Json { entries, .. } = file else { return Vec::new() };
    let first = |entry: &JsonEntry| match entry {
        JsonEntry::Element { at, .. } | JsonEntry::Default { at, .. } => at.first().cloned(),
    };
    entries.iter().filter_map(first).collect()
}

/// Returns the files in the agent's directory of hooks that would contain this file of hookhost. Without such a directory,
/// returns only the file.
fn files_beside(path: &Path, root: &Path) -> Vec<PathBuf> {
    let below = path.strip_prefix(root).unwrap_or(path);
    let names: Vec<_> = below.iter().collect();
    let at = names.iter().position(|name| HOOK_DIRECTORIES.iter().any(|directory| name == directory));
    let Some(at) = at else { return vec![path.to_owned()] };
    let mut files = Vec::new();
    walk(&root.join(names[..=at].iter().collect::<PathBuf>()), MAX_DEPTH, &mut files);
    files.sort();
    files
}

fn walk(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        // Links are listed as files and read only if they stay in the project.
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && depth > 0 {
            walk(&entry.path(), depth - 1, files);
        } else if !is_directory && files.len() < MAX_FILES {
            files.push(entry.path());
        }
    }
}

impl ReadParts {
    fn read(&self, path: &Path, root: &Path, text: &str, found: &mut ProjectHooks) {
        let hook = |at: String, value: Value, is_ours: bool| ProjectHook {
            agents: self.agents.iter().copied().collect(),
            file: path.strip_prefix(root).unwrap_or(path).to_owned(),
            disables: self.switches.iter().any(|(keys, off)| keys.join(".") == at && value == Value::Bool(*off)),
            at,
            value,
            is_ours,
        };
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let value = if is_json { json::value(text) } else { Ok(Value::Null) };
        let members = match value {
            Ok(Value::Object(members)) => members,
            // A program, or a module of a plugin.
            Ok(_) => {
                let digest = Value::String(format!("sha256 {}", digest(text.as_bytes())));
                let is_named = path.to_string_lossy().contains("hookhost");
                let is_ours = is_named || ours::names_program(text);
                return found.hooks.push(hook(String::new(), digest, is_ours));
            }
            Err(why) => return found.unreadable.push(why.refused(path)),
        };
        let mut leaves = Vec::new();
        for (key, value) in &members {
            if self.all || self.keys.contains(key) {
                collect(value, key, &Map::new(), &mut leaves);
            }
        }
        for (keys, _) in &self.switches {
            let value = keys.iter().skip(1).try_fold(members.get(keys[0]), |value, key| Some(value?.get(key)));
            if let Some(Some(value)) = value
                && !leaves.iter().any(|(at, _)| *at == keys.join("."))
            {
                leaves.push((keys.join("."), value.clone()));
            }
        }
        found.hooks.extend(leaves.into_iter().map(|(at, value)| {
            let is_ours = ours::names_program(&value.to_string());
            hook(at, value, is_ours)
        }));
    }
}

/// Collects the hooks in a value. An element of an array that has its own array `hooks` is a group: its scalar members, such
/// as the matcher, apply to each of these hooks.
fn collect(value: &Value, at: &str, group: &Map<String, Value>, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Object(members) if members.get("hooks").is_some_and(Value::is_array) => {
                        let scalars = members.iter().filter(|(_, value)| !value.is_array() && !value.is_object());
                        let scalars = scalars.map(|(key, value)| (key.clone(), value.clone())).collect();
                        collect(&members["hooks"], at, &scalars, leaves);
                    }
                    Value::Object(members) => {
                        let all = group.iter().chain(members).map(|(key, value)| (key.clone(), value.clone()));
                        leaves.push((at.to_owned(), all.collect()));
                    }
                    other => leaves.push((at.to_owned(), other.clone())),
                }
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                collect(value, &format!("{at}.{key}"), group, leaves);
            }
        }
        scalar => leaves.push((at.to_owned(), scalar.clone())),
    }
}

/// The hooks at one place of a file, before and after a change.
#[derive(Default)]
struct HooksAtPlace<'a> {
    before: Vec<&'a ProjectHook>,
    after: Vec<&'a ProjectHook>,
}

/// Compares two lists of hooks. The order of hooks does not matter, because agents run the hooks of one place concurrently.
pub fn changes(before: &[ProjectHook], after: &[ProjectHook]) -> Vec<HookChange> {
    let mut places: BTreeMap<(&Path, &str), HooksAtPlace<'_>> = BTreeMap::new();
    for hook in before {
        places.entry((&hook.file, &hook.at)).or_default().before.push(hook);
    }
    for hook in after {
        let HooksAtPlace { before, after } = places.entry((&hook.file, &hook.at)).or_default();
        match before.iter().position(|other| other.value == hook.value) {
            Some(same) => drop(before.remove(same)),
            None => after.push(hook),
        }
    }
    let mut changes = Vec::new();
    for HooksAtPlace { before, after } in places.into_values() {
        let mut after = after.into_iter().cloned();
        for before in before {
            changes.push(match after.next() {
                Some(after) => HookChange::Changed { before: before.clone(), after },
                None => HookChange::Removed(before.clone()),
            });
        }
        changes.extend(after.map(HookChange::Added));
    }
    changes
}
