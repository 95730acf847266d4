//! Which files of an agent have to name the hook. This is data: anyone who installs writes the files.

use crate::agent::Agent;
use crate::directories::Directories;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The name of the small hook program. An entry of an agent's file that names it is ours.
pub const PROGRAM: &str = "hookhost-hook";

/// For whom the hook is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's own files.
    User,
    /// The files of a project.
    Project,
    /// The machine's files, which users cannot change.
    Managed,
}

impl Scope {
    /// The word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Managed => "managed",
        }
    }

    /// The flag of `hookhost install`, after a space; nothing for the user's own files.
    #[must_use]
    pub const fn flag(self) -> &'static str {
        match self {
            Self::User => "",
            Self::Project => " --project",
            Self::Managed => " --managed",
        }
    }
}

/// What an agent's hook does where nobody answers it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It says no.
    #[default]
    Deny,
    /// It lets the agent continue, since the operator chose so (`on-failure = "allow"`).
    Allow,
}

/// Where and for whom the hook is installed.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// For whom.
    pub scope: Scope,
    /// The user's home directory.
    pub home: &'a Path,
    /// The project's root, for [`Scope::Project`].
    pub project: &'a Path,
    /// The hook program, an absolute path.
    pub program: &'a Path,
    /// What the hook does where nobody answers.
    pub on_failure: OnFailure,
    /// The directories that the hook's command fixes in [`Scope::User`]; absent where the environment decides. A project's file, or
    /// the machine's, is for several users.
    pub directories: Option<&'a Directories>,
    /// Reads a variable of the user's environment, such as `CODEX_HOME`.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl Context<'_> {
    /// The words of the hook's command, the program first.
    #[must_use]
    pub fn words(&self, agent: &Agent, point: &str) -> Vec<String> {
        let mut words = vec![self.program.to_string_lossy().into_owned(), agent.name.to_owned(), point.to_owned()];
        words.extend(self.flags());
        words
    }

    /// The words of the hook's command after the hook point.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let directories = self.directories.filter(|_| self.scope == Scope::User);
        let mut flags = directories.map(Directories::flags).unwrap_or_default();
        if self.on_failure == OnFailure::Allow {
            flags.push("--on-failure=allow".to_owned());
        }
        flags
    }

    /// The hook's command for a shell. A path with other characters than letters, digits and `/._-` is quoted.
    #[must_use]
    pub fn command(&self, agent: &Agent, point: &str) -> String {
        self.words(agent, point).iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The directory that a variable names, else this one in the user's home.
    #[must_use]
    pub fn directory(&self, variable: &str, in_home: &str) -> PathBuf {
        (self.variable)(variable).unwrap_or_else(|| self.home.join(in_home))
    }
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("scope", &self.scope).field("program", &self.program).finish_non_exhaustive()
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=+:@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What has to be in which files, and what a person has to do.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The files.
    pub files: Vec<FilePlan>,
    /// What only a person can do, a sentence each: restart the agent, trust the hook.
    pub steps: Vec<String>,
}

impl Plan {
    /// These files.
    #[must_use]
    pub fn new(files: Vec<FilePlan>) -> Self {
        Self { files, steps: Vec::new() }
    }

    /// And this step for a person.
    #[must_use]
    pub fn step(mut self, step: impl Into<String>) -> Self {
        self.steps.push(step.into());
        self
    }
}

/// What has to be in a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FilePlan {
    /// The whole file is ours.
    Whole {
        /// Where it is.
        path: PathBuf,
        /// What is in it.
        content: String,
        /// Whether it is a program.
        is_program: bool,
    },
    /// A JSON file of the user's, perhaps with comments, in which these entries are ours.
    Json {
        /// Where it is.
        path: PathBuf,
        /// The entries.
        entries: Vec<JsonEntry>,
    },
}

impl FilePlan {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Whole { path, .. } | Self::Json { path, .. } => path,
        }
    }
}

/// What an agent reads beyond strict JSON. A file with more than that is broken for it, and none of its hooks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonDialect {
    /// Nothing.
    #[default]
    Strict,
    /// Comments.
    Comments,
    /// Comments, and commas after the last element.
    CommentsAndCommas,
}

/// An entry of a JSON file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum JsonEntry {
    /// An element of the array at these keys, which is made where it is missing. An element that names [`PROGRAM`] is ours,
    /// and is replaced.
    Element {
        /// The keys that lead to the array, outermost first.
        at: Vec<String>,
        /// The element.
        value: Value,
    },
    /// A member that has to have this value where it is missing; one that is there stays as it is.
    Default {
        /// The keys that lead to the member, outermost first.
        at: Vec<String>,
        /// The value.
        value: Value,
    },
}

impl JsonEntry {
    /// An element of the array at these keys.
    #[must_use]
    pub fn element(at: &[&str], value: Value) -> Self {
        Self::Element { at: at.iter().map(|&key| key.to_owned()).collect(), value }
    }

    /// A member that has this value unless it is there.
    #[must_use]
    pub fn default(at: &[&str], value: Value) -> Self {
        Self::Default { at: at.iter().map(|&key| key.to_owned()).collect(), value }
    }
}

/// Why a hook cannot be installed there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotInstallable(pub String);

/// The entries of an agent whose file has groups of hooks below each hook point, as that of Claude Code:
/// `{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [HOOK]}]}}`.
#[must_use]
pub fn groups(agent: &Agent, matcher: Option<&str>, hook: impl Fn(&str) -> Value) -> Vec<JsonEntry> {
    groups_at(agent, &["hooks"], matcher, hook)
}

/// The same where the hook points are below other keys, outermost first.
#[must_use]
pub fn groups_at(agent: &Agent, at: &[&str], matcher: Option<&str>, hook: impl Fn(&str) -> Value) -> Vec<JsonEntry> {
    let installed = agent.points.iter().filter(|point| point.installed);
    let entry = |name: &str| {
        let mut group = json!({ "hooks": [hook(name)] });
        if let (Some(matcher), Some(object)) = (matcher, group.as_object_mut()) {
            object.shift_insert(0, "matcher".to_owned(), json!(matcher));
        }
        JsonEntry::element(&[at, &[name]].concat(), group)
    };
    installed.map(|point| entry(point.name)).collect()
}
