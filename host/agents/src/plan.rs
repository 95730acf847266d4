//! Describes the files of an agent that must name the hook, and the contents of these files. The installer writes the files.

use crate::agent::{Agent, HookPoint};
use crate::directories::Directories;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Name of the hook program. An entry in an agent's file belongs to hookhost if it names this program.
pub const PROGRAM: &str = "hookhost-hook";

/// Scope of an installation.
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
    /// Returns the name of the scope.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Managed => "managed",
        }
    }

    /// Returns the name of the scope for people.
    pub const fn whose(self) -> &'static str {
        match self {
            Self::User => "your settings",
            Self::Project => "this project",
            Self::Managed => "this machine",
        }
    }

    /// Returns the flag of `hookhost install` with a leading space. The flag is empty for the user's own files.
    pub const fn flag(self) -> &'static str {
        match self {
            Self::User => "",
            Self::Project => " --project",
            Self::Managed => " --managed",
        }
    }
}

/// Reply of an agent's hook if no resident host answers the hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The hook denies the call.
    #[default]
    Deny,
    /// The hook lets the agent continue, because the operator chose it (`on-failure = "allow"`).
    Allow,
}

/// The scope and the paths of an installation.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The scope.
    pub scope: Scope,
    /// The user's home directory.
    pub home: &'a Path,
    /// The project's root, for [`Scope::Project`].
    pub project: &'a Path,
    /// Absolute path of the hook program. The files of a project name the program without its directory, because other
    /// people use the same files.
    pub program: &'a Path,
    /// Reply of the hook if no resident host answers.
    pub on_failure: OnFailure,
    /// Directories that the hook's command names in [`Scope::User`], or `None` if the environment of the hook determines the
    /// directories. The field has no effect in other scopes, because several users share the files of those scopes.
    pub directories: Option<&'a Directories>,
    /// Reads a variable of the user's environment, such as `CODEX_HOME`.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl Context<'_> {
    /// Returns the name of the hook program in the agent's files. This is its path, except in the files of a project.
    pub(crate) fn program_word(&self) -> String {
        match self.scope {
            Scope::Project => PROGRAM.to_owned(),
            Scope::User | Scope::Managed => self.program.to_string_lossy().into_owned(),
        }
    }

    /// Returns the words of the hook's command line. The first word is the program.
    pub fn words(&self, agent: &Agent, point: &str) -> Vec<String> {
        let mut words = vec![self.program_word(), agent.name.to_owned(), point.to_owned()];
        words.extend(self.flags());
        words
    }

    /// Returns the flags of the hook's command line, which follow the hook point.
    pub fn flags(&self) -> Vec<String> {
        let directories = self.directories.filter(|_| self.scope == Scope::User);
        let mut flags = directories.map(Directories::flags).unwrap_or_default();
        if self.on_failure == OnFailure::Allow {
            flags.push("--on-failure=allow".to_owned());
        }
        flags
    }

    /// Returns the hook's command line as one string, quoted for a shell.
    pub fn command(&self, agent: &Agent, point: &str) -> String {
        self.words(agent, point).iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the hook as the JSON object that most agents accept in their files. The object contains the command and
    /// the timeout in seconds.
    pub(crate) fn command_hook(&self, agent: &Agent, point: &HookPoint) -> Value {
        json!({ "type": "command", "command": self.command(agent, point.name), "timeout": point.timeout })
    }

    /// Returns the path for this scope. `user` is relative to the user's home directory or absolute, `project` is
    /// relative to the project's root, and `managed` is the path on this machine.
    ///
    /// # Errors
    /// For [`Scope::Managed`], the reason in `managed` if there is no such path.
    pub(crate) fn path(
        &self,
        user: impl AsRef<Path>,
        project: &str,
        managed: Result<PathBuf, &str>,
    ) -> Result<PathBuf, NotInstallable> {
        match self.scope {
            Scope::User => Ok(self.home.join(user)),
            Scope::Project => Ok(self.project.join(project)),
            Scope::Managed => managed.map_err(|why| NotInstallable(why.to_owned())),
        }
    }

    /// Returns the directory that an environment variable names. If the variable is not set, returns `in_home` in the
    /// user's home directory.
    pub fn directory(&self, variable: &str, in_home: &str) -> PathBuf {
        (self.variable)(variable).unwrap_or_else(|| self.home.join(in_home))
    }
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("scope", &self.scope).field("program", &self.program).finish_non_exhaustive()
    }
}

/// Quotes a word for a shell. A word of ASCII letters, digits and `/._-=+:@` needs no quotes and is returned unchanged.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=+:@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The required contents of an agent's files, and the steps that a person has to take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The files.
    pub files: Vec<FilePlan>,
    /// Steps that a person has to take, one sentence each. For example, a person may have to restart the agent or trust
    /// the hook.
    pub steps: Vec<String>,
}

impl Plan {
    /// Creates a plan with these files.
    pub fn new(files: Vec<FilePlan>) -> Self {
        Self { files, steps: Vec::new() }
    }

    /// Adds a step for a person.
    #[must_use]
    pub fn step(mut self, step: impl Into<String>) -> Self {
        self.steps.push(step.into());
        self
    }

    /// Adds a step for a person if the installation has the given scope.
    pub(crate) fn step_in(self, context: &Context<'_>, scope: Scope, step: &str) -> Self {
        if context.scope == scope { self.step(step) } else { self }
    }
}

/// The required contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FilePlan {
    /// A file whose entire content belongs to hookhost.
    Whole {
        /// Path of the file.
        path: PathBuf,
        /// Content of the file.
        content: String,
        /// True if the file is a program.
        is_program: bool,
    },
    /// A JSON file of the user, in which only these entries belong to hookhost. The file may contain comments.
    Json {
        /// Path of the file.
        path: PathBuf,
        /// The entries.
        entries: Vec<JsonEntry>,
    },
}

impl FilePlan {
    /// Creates the plan of a file whose entire content belongs to hookhost, and which is not a program.
    pub(crate) fn whole(path: PathBuf, content: String) -> Self {
        Self::Whole { path, content, is_program: false }
    }

    /// Creates the plan of a JSON file whose entire content belongs to hookhost.
    pub(crate) fn whole_json(path: PathBuf, content: &Value) -> Self {
        Self::whole(path, format!("{content:#}\n"))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Whole { path, .. } | Self::Json { path, .. } => path,
        }
    }
}

/// The JSON dialect that an agent accepts. If a file uses other syntax, the agent cannot read the file, and runs none of the hooks
/// in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonDialect {
    /// Strict JSON.
    #[default]
    Strict,
    /// JSON with comments.
    Comments,
    /// JSON with comments and trailing commas.
    CommentsAndCommas,
}

/// An entry of a JSON file.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonEntry {
    /// An element of the array at these keys. A missing array is created. An existing element that names [`PROGRAM`]
    /// belongs to hookhost and is replaced.
    Element {
        /// The keys that lead to the array, outermost first.
        at: Vec<String>,
        /// The element.
        value: Value,
    },
    /// A member that is added with this value if it is missing. An existing member stays unchanged.
    Default {
        /// The keys that lead to the member, outermost first.
        at: Vec<String>,
        /// The value.
        value: Value,
    },
}

impl JsonEntry {
    /// Creates an element of the array at these keys.
    pub fn element(at: &[&str], value: Value) -> Self {
        Self::Element { at: at.iter().map(|&key| key.to_owned()).collect(), value }
    }

    /// Creates an entry that adds a member with this value if the member is missing.
    pub fn default(at: &[&str], value: Value) -> Self {
        Self::Default { at: at.iter().map(|&key| key.to_owned()).collect(), value }
    }
}

/// The reason why a hook cannot be installed in this scope.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotInstallable(pub String);

/// Returns the path for the current system. If no path is given for this system, returns the path for Linux.
pub(crate) fn machine_path(linux: &str, macos: Option<&str>, windows: Option<&str>) -> PathBuf {
    let own = match () {
        () if cfg!(target_os = "macos") => macos,
        () if cfg!(windows) => windows,
        () => None,
    };
    own.unwrap_or(linux).into()
}

/// Returns the entries of an agent whose file has a list of hooks for each hook point: `{"hooks": {"stop": [HOOK]}}`.
pub(crate) fn elements(agent: &Agent, hook: impl Fn(&HookPoint) -> Value) -> Vec<JsonEntry> {
    agent.installed().map(|point| JsonEntry::element(&["hooks", point.name], hook(point))).collect()
}

/// Returns the entries of an agent whose file has groups of hooks for each hook point, like the file of Claude Code:
/// `{"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [HOOK]}]}}`. The keys `at` lead to the hook points. The
/// outermost key comes first.
pub(crate) fn groups(
    agent: &Agent,
    at: &[&str],
    matcher: Option<&str>,
    hook: impl Fn(&HookPoint) -> Value,
) -> Vec<JsonEntry> {
    let entry = |point: &HookPoint| {
        let mut group = json!({ "hooks": [hook(point)] });
        if let (Some(matcher), Some(object)) = (matcher, group.as_object_mut()) {
            object.shift_insert(0, "matcher".to_owned(), json!(matcher));
        }
        JsonEntry::element(&[at, &[point.name]].concat(), group)
    };
    agent.installed().map(entry).collect()
}

/// Returns the hook points of an agent with their hooks, for a file whose entire content belongs to hookhost:
/// `{"PreToolUse": [HOOK]}`.
pub(crate) fn hook_lists(agent: &Agent, hook: impl Fn(&HookPoint) -> Value) -> Value {
    agent.installed().map(|point| (point.name.to_owned(), json!([hook(point)]))).collect()
}

/// Converts a name such as `PreToolUse` into `pre_tool_use`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
