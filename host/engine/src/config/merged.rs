//! The configuration that applies. It comes from one file, or from the user's file combined with the approved files of
//! a project.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::{
    ConfigError, Enforcement, Entry, Grants, Layer, Origin, Problem, Problems, Rule, Settings, Source,
    decode::decode,
    entry_rules::check_program_entry,
    file::{self, ParsedFile, PlacedEntry},
    paths::{canonical, lexical},
    place::Place,
    rules_section::UserRules,
    settings::{Forbidden, RawSettings},
    tree::{Node, Table, Value, join},
};
use crate::contract::rule::{MAX_PROJECT_ROWS, MAX_USER_ROWS};

/// The plugins that may load, and their settings. Every part has been checked.
///
/// [`open`](Self::open) reads one file that the user named. [`discover`](Self::discover) finds the user's own file and
/// the files of a project. [`parse`](Self::parse) does no I/O.
///
/// ```
/// use hookhost::Config;
/// use hookhost::config::{Entry, Settings};
/// use hookhost::contract::{Refusal, ToolCall};
/// use hookhost::native::Rule;
/// use std::time::Duration;
///
/// let frozen = Rule::new().before_tool_call(|_, call| (call.name == "deploy").then(|| Refusal::new("frozen")));
/// let mut settings = Settings::default();
/// settings.approval_deadline = Duration::from_secs(60);
/// let config = Config::from_entries(vec![Entry::from_rule("no-deploys", frozen)], settings)?;
/// assert_eq!(config.enabled().count(), 1);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Config {
    entries: Vec<Entry>,
    rules: Vec<Rule>,
    /// The rules that `rules.off` names.
    rules_off: Vec<Rule>,
    rules_priority: Option<i32>,
    settings: Settings,
    sections: Table,
    files: Vec<PathBuf>,
    project_files: Vec<PathBuf>,
    is_paused: bool,
}

impl Config {
    /// Returns a configuration that loads nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Checks the text of one file. This function reads nothing from disk, so it treats two paths as the same file only
    /// if they are spelled the same.
    ///
    /// The further files that `rules.files` names are not part of the result.
    ///
    /// `sections` are the names of the top-level tables that the caller reads with [`section`](Self::section). Any
    /// other top-level table is reported as an unknown key.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with all mistakes in the text.
    #[cfg(feature = "config-file")]
    pub fn parse(text: &str, source: &Source, sections: &[&str]) -> Result<Self, ConfigError> {
        let parsed = file::parse(text, source, sections);
        Self::add_up(vec![parsed], lexical, false)
    }

    /// Creates a configuration from a program's own entries.
    ///
    /// # Errors
    /// - [`ConfigError::Entry`] if an entry breaks a rule for entries in files, or if two entries have the same name or file.
    /// - [`ConfigError::Settings`] if a setting is out of range.
    pub fn from_entries(entries: Vec<Entry>, settings: Settings) -> Result<Self, ConfigError> {
        settings.check_ranges().map_err(|why| ConfigError::Settings { why })?;
        Self { settings, ..Self::default() }.with_entries(entries)
    }

    /// Adds entries that a program created to the existing entries.
    ///
    /// # Errors
    /// The errors of [`Self::from_entries`].
    pub fn with_entries(mut self, entries: Vec<Entry>) -> Result<Self, ConfigError> {
        for entry in entries {
            let refused = |why: String| ConfigError::Entry { name: entry.name.clone(), why };
            check_program_entry(&entry).map_err(refused)?;
            let mut earlier = self.entries.iter();
            if earlier.clone().any(|other| other.name == entry.name) {
                return Err(refused("another entry has this name".to_owned()));
            }
            let same_file = |other: &&Entry| {
                let (one, other) = (entry.code.path(), other.code.path());
                one.zip(other).is_some_and(|(one, other)| canonical(one) == canonical(other))
            };
            if let Some(other) = earlier.find(same_file) {
                return Err(refused(format!("the entry `{}` has the same file", other.name)));
            }
            self.entries.push(entry);
        }
        Ok(self)
    }

    /// Returns this configuration without its entries and rules, so that each event continues and is recorded as
    /// [`Enforcement::Paused`]. The files and the other settings stay.
    #[must_use]
    pub fn paused(mut self) -> Self {
        self.entries.clear();
        self.rules.clear();
        self.settings.require_plugins = false;
        self.is_paused = true;
        self
    }

    /// Says whether the decisions of the rules take effect.
    #[must_use]
    pub fn enforcement(&self) -> Enforcement {
        match (self.is_paused, self.settings.observe) {
            (true, _) => Enforcement::Paused,
            (false, true) => Enforcement::Observed,
            (false, false) => Enforcement::Enforced,
        }
    }

    /// Returns all entries, including disabled entries. The user's entries come before those of a project. Within a
    /// file, entries keep their order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entries that load.
    pub fn enabled(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.enabled)
    }

    /// Returns the rules in words: those of the profile, then those of the user's file, then those of a project.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the rules of the user that `rules.off` leaves out.
    #[must_use]
    pub fn rules_off(&self) -> &[Rule] {
        &self.rules_off
    }

    /// Returns the priority of the plugin that judges the rules, if the user's file sets it.
    pub(super) fn rules_priority(&self) -> Option<i32> {
        self.rules_priority
    }

    /// Returns a configuration that has only the rules of this file.
    #[must_use]
    pub fn only_rules_of(&self, file: &Path) -> Self {
        let rules = self.rules.iter().filter(|rule| rule.origin.file == file).cloned();
        Self { rules: rules.collect(), ..Self::default() }
    }

    /// Returns the configuration without the rules for which `is_left_out` returns true. A rule about whose past another one
    /// asks stays, and is only observed. The entry that judges the rules must not be there yet.
    #[must_use]
    pub fn without_rules(mut self, is_left_out: impl Fn(&Rule) -> bool) -> Self {
        let (left_out, mut kept): (Vec<Rule>, Vec<Rule>) = self.rules.drain(..).partition(&is_left_out);
        let is_asked_about = |rule: &Rule| {
            let names = [Some(&rule.row.id), rule.row.label.as_ref()];
            kept.iter().any(|other| names.into_iter().flatten().any(|name| other.asks_about(name)))
        };
        let mut observed: Vec<Rule> = left_out.into_iter().filter(is_asked_about).collect();
        observed.iter_mut().for_each(|rule| rule.row.observe = true);
        kept.append(&mut observed);
        // The rules of the user come before those of a project.
        kept.sort_by_key(|rule| rule.origin.layer == Layer::Project);
        self.rules = kept;
        self
    }

    /// Returns the entry with this name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Returns the entry whose code is in this file. The path may be spelled in any way and may contain symbolic links.
    #[must_use]
    pub fn entry_at(&self, wasm: &Path) -> Option<&Entry> {
        let wasm = canonical(&std::path::absolute(wasm).unwrap_or_else(|_| wasm.to_owned()));
        self.entries.iter().find(|entry| entry.code.path().is_some_and(|path| canonical(path) == wasm))
    }

    /// Enables an entry, like the option `--plugin`. Returns `false` if no entry has this name. There is no method to
    /// disable an entry, except for a [replay](Self::for_replay).
    pub fn enable(&mut self, name: &str) -> bool {
        let found = self.entries.iter_mut().find(|entry| entry.name == name);
        found.is_some_and(|entry| {
            entry.enabled = true;
            true
        })
    }

    /// Returns the configuration with this entry alone, enabled.
    #[must_use]
    pub fn only(&self, name: &str) -> Self {
        let mut alone = self.clone();
        alone.entries.retain(|entry| entry.name == name);
        alone.entries.iter_mut().for_each(|entry| entry.enabled = true);
        if !alone.entries.iter().any(|entry| entry.judges_rows) {
            alone.rules.clear();
        }
        alone
    }

    /// Returns the configuration for a replay of calls that an agent has already made. It has no entry whose plugin could write a
    /// file, send data to a server or ask a model. Also returns the names of these plugins.
    #[must_use]
    pub fn for_replay(self) -> (Self, Vec<String>) {
        self.leave_out(|grants| grants.waits_for_others() || !grants.write_dirs.is_empty())
    }

    /// Returns the configuration for tests of rules by a host without a model. It has no entry whose plugin could write a file or
    /// send data to a server. Also returns the names of these plugins.
    #[must_use]
    pub fn for_tests(self) -> (Self, Vec<String>) {
        self.leave_out(|grants| !grants.http.is_empty() || !grants.write_dirs.is_empty())
    }

    fn leave_out(mut self, has_effects: impl Fn(&Grants) -> bool) -> (Self, Vec<String>) {
        let entries = std::mem::take(&mut self.entries);
        let (left_out, kept): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.enabled && has_effects(&entry.grants));
        self.entries = kept;
        (self, left_out.into_iter().map(|entry| entry.name).collect())
    }

    /// Lowers the maximum number of concurrent plugin calls to at most `most`. Use this in a process that handles only
    /// one event, because reserving resources for more calls would take longer than the event itself.
    pub fn limit_concurrent_calls(&mut self, most: NonZeroU32) {
        self.settings.concurrent_calls = self.settings.concurrent_calls.min(most);
    }

    /// Returns the engine's settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the files that apply. The user's file comes before the files of a project.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the further files with rules that apply, which the files of [`Self::files`] name.
    #[must_use]
    pub fn rule_files(&self) -> Vec<&Path> {
        let mut files: Vec<&Path> = Vec::new();
        for file in self.rules.iter().map(|rule| rule.origin.file.as_path()) {
            if !files.contains(&file) && !self.files.iter().any(|main| main == file) {
                files.push(file);
            }
        }
        files
    }

    /// Returns the files of [`Self::files`] that belong to a project. Only project files that the user has approved
    /// apply.
    #[must_use]
    pub fn project_files(&self) -> &[PathBuf] {
        &self.project_files
    }

    /// Returns the directory to which relative paths in rules are relative: the directory of the outermost project file
    /// above `workspace` that applies. If there is no such file, returns `workspace`. The user's home and the
    /// directories above it are never used, because otherwise rules would treat every file in the home as part of the
    /// project.
    pub(crate) fn root_of<'a>(&'a self, workspace: &'a Path) -> &'a Path {
        let home = std::env::home_dir();
        let holds_home = |directory: &Path| home.as_deref().is_some_and(|home| home.starts_with(directory));
        let directories = self.project_files.iter().filter_map(|file| file.parent());
        let above = directories.filter(|directory| workspace.starts_with(directory) && !holds_home(directory));
        above.min_by_key(|directory| directory.as_os_str().len()).unwrap_or(workspace)
    }

    /// Reads the caller's section into the caller's type. Returns `None` if no file has the section. As in the engine's
    /// sections, a key that the type does not have is an error. The values of the user's file and of project files are
    /// combined. No two files have the same key, because this is reported as an error when the files are read.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with the mistakes in the section.
    ///
    /// ```
    /// # use hookhost::config::{Config, ConfigError, Layer, Source};
    /// #[derive(serde::Deserialize)]
    /// struct Agent {
    ///     model: String,
    /// }
    ///
    /// let source = Source::new("hookhost.toml", Layer::Chosen);
    /// let config = Config::parse("[agent]\nmodel = 'small'", &source, &["agent"])?;
    /// assert_eq!(config.section::<Agent>("agent")?.unwrap().model, "small");
    /// # Ok::<_, ConfigError>(())
    /// ```
    pub fn section<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ConfigError> {
        let Some(node) = self.sections.get(name) else { return Ok(None) };
        let mut problems = Vec::new();
        let value = decode(name, node, &mut problems);
        Ok(Problems::none_or(problems, value)?)
    }

    /// Returns the file and line of a value in the caller's own sections. `keys` are the keys that lead to the value.
    /// Returns `None` if no file has the value. If several files contain this table, returns its position in the first
    /// of these files.
    ///
    /// ```
    /// # use hookhost::config::{Config, ConfigError, Layer, Source};
    /// let source = Source::new("/p/hookhost.toml", Layer::Project);
    /// let config = Config::parse("[agent]\nmodel = 'small'", &source, &["agent"])?;
    /// let origin = config.origin(&["agent", "model"]).unwrap();
    /// assert_eq!((origin.line, origin.layer), (2, Layer::Project));
    /// assert!(config.origin(&["agent", "provider"]).is_none());
    /// # Ok::<_, ConfigError>(())
    /// ```
    #[must_use]
    pub fn origin(&self, keys: &[&str]) -> Option<Origin> {
        let (first, rest) = keys.split_first()?;
        let node = rest.iter().try_fold(self.sections.get(first)?, |node, key| match &node.value {
            Value::Table(table) => table.get(key),
            _ => None,
        })?;
        let Place { file, .. } = &node.place;
        Some(Origin::new(&file.path, node.place.line(), file.layer))
    }

    /// Combines the files in the given order. `same` maps all paths of one file to one spelling. `has_all_rules` is true if all
    /// rules of the user are in these files.
    pub(super) fn add_up(
        files: Vec<Result<ParsedFile, Vec<Problem>>>,
        same: impl Fn(&Path) -> PathBuf,
        has_all_rules: bool,
    ) -> Result<Self, ConfigError> {
        let mut sum = Sum::default();
        let has_all_rules = has_all_rules && files.iter().all(Result::is_ok);
        for file in files {
            match file {
                Ok(parsed) => sum.add(parsed, &same),
                Err(problems) => sum.problems.extend(problems),
            }
        }
        sum.finish_rules(has_all_rules);
        let entries = sum.entries.into_iter().map(|placed| placed.entry).collect();
        Ok(Problems::none_or(sum.problems, Self { entries, ..sum.config })?)
    }
}

/// Lists in the callers' sections that are concatenated when files are combined.
const ADDED_UP: &[&str] = &["agent.hidden-variables"];

/// Sections and keys that only the user's own file may have, because they weaken the user's protection.
const USERS_ALONE: &[&str] =
    &["agent.passed-variables", "agents", "evidence", "mcp-proxy", "profile", "sandbox", "telemetry"];

/// The files combined so far.
#[derive(Default)]
struct Sum {
    /// The configuration without its entries.
    config: Config,
    entries: Vec<PlacedEntry>,
    /// The `[settings]` of the files so far. Messages about contradictory settings need their positions.
    settings_at: Vec<Node>,
    user_rules: UserRules,
    problems: Vec<Problem>,
}

impl Sum {
    fn add(&mut self, parsed: ParsedFile, same: &impl Fn(&Path) -> PathBuf) {
        for placed in parsed.entries {
            self.add_entry(placed, same);
        }
        parsed.rules.into_iter().for_each(|rule| self.add_rule(rule));
        self.user_rules.add(parsed.rules_section.of_user);
        if let Some(node) = parsed.settings {
            self.add_settings(node, parsed.layer);
        }
        let problems = &mut self.problems;
        if parsed.layer == Layer::Project {
            for (path, node) in USERS_ALONE.iter().filter_map(|path| Some((*path, parsed.sections.at(path)?))) {
                let message = format!("a project's file cannot set `{path}`: set it in your own file, or take it out");
                problems.push(Problem::new(&node.place, message).about(path));
            }
        }
        self.config.sections.add("", parsed.sections, ADDED_UP, &mut |path, theirs, mine| {
            let message = format!("`{path}` is already set at {}: keep one of them", place(&theirs.place));
            problems.push(Problem::new(&mine.place, message).about(path));
        });
        if parsed.is_rule_file {
            return;
        }
        if parsed.layer == Layer::Project {
            self.config.project_files.push(parsed.file.clone());
        }
        self.config.files.push(parsed.file);
    }

    /// Applies what the user's files say about all rules.
    fn finish_rules(&mut self, has_all_rules: bool) {
        let Self { config, user_rules, problems, .. } = self;
        config.rules_off = user_rules.take_off(&mut config.rules, has_all_rules, problems);
        user_rules.translate(&mut config.rules, problems);
        config.rules_priority = user_rules.priority;
    }

    fn add_entry(&mut self, placed: PlacedEntry, same: &impl Fn(&Path) -> PathBuf) {
        let PlacedEntry { entry, .. } = &placed;
        let path = |entry: &Entry| entry.code.path().map(same);
        let mut refuse = |key: &str, at: &Place, message: String| {
            self.problems.push(Problem::new(at, message).about(&join("plugin", key)));
        };
        if let Some(other) = self.entries.iter().find(|other| other.entry.name == entry.name) {
            let first = place(&other.name_at);
            let message = format!(
                "the name `{}` is taken: the entry at {first} has it, and no entry overrides another",
                entry.name
            );
            refuse("name", &placed.name_at, message);
        } else if let Some(other) = self.entries.iter().find(|other| path(&other.entry) == path(entry)) {
            let first = place(&other.path_at);
            let message = format!("`{}`, at {first}, is an entry of the same file: keep one of them", other.entry.name);
            refuse("path", &placed.path_at, message);
        }
        self.entries.push(placed);
    }

    fn add_rule(&mut self, rule: Rule) {
        let rules = &mut self.config.rules;
        let most = if rule.is_of_project() { MAX_PROJECT_ROWS } else { MAX_USER_ROWS };
        let before = rules.iter().filter(|other| other.is_of_project() == rule.is_of_project()).count();
        if before > most {
            return;
        }
        if before == most {
            self.problems.push(rule.is_too_many(most));
        }
        if let Some(earlier) = rules.iter().find(|other| other.row.id == rule.row.id) {
            self.problems.push(rule.repeats(earlier));
        }
        rules.push(rule);
    }

    fn add_settings(&mut self, node: Node, layer: Layer) {
        let Some(written) = decode::<RawSettings>("settings", &node, &mut self.problems) else { return };
        if layer == Layer::Project {
            for forbidden in self.config.settings.tighten(&written) {
                let problem = self.forbidden(forbidden, &node);
                self.problems.push(problem);
            }
        } else {
            self.config.settings.set(written);
        }
        self.settings_at.push(node);
    }

    /// Returns the problem to report if the `[settings]` of a project (`node`) have a key or value that only the user
    /// may set.
    fn forbidden(&self, forbidden: Forbidden, node: &Node) -> Problem {
        match forbidden {
            Forbidden::Looser(key) => {
                let mut earlier = self.settings_at.iter().rev().map(|settings| (settings, settings.nearest_to(&[key])));
                let against = match earlier.find(|(settings, value)| !std::ptr::eq(*settings, *value)) {
                    Some((_, value)) => format!("at {}", place(&value.place)),
                    None => "by default".to_owned(),
                };
                let message = format!("a project's file cannot loosen a setting, and `{key}` is tighter {against}");
                Problem::new(&node.nearest_to(&[key]).place, message).about(&join("settings", key))
            }
            Forbidden::UsersAlone(key) => {
                let path = join("settings", key);
                let message = format!("a project's file cannot set `{path}`, which decides what your own log contains");
                Problem::new(&node.nearest_to(&[key]).place, message).about(&path)
            }
        }
    }
}

/// Formats a position as `file:line`.
fn place(place: &Place) -> String {
    format!("{}:{}", place.file.path.display(), place.line())
}
