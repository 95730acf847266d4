//! Names of arguments: the names that rules read, spellings that count as the same name, and names under which an
//! unknown tool may take a command.

use super::{ActionMap, ToolShape, agents, command};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::OnceLock;

/// Names of the argument that contains a shell command.
pub const COMMAND: &[&str] = &["command", "cmd", "script", "command_line"];

/// Names of the argument that contains a command's working directory.
pub const CWD: &[&str] = &["cwd", "workdir", "working_directory", "directory", "dir_path"];

/// Names of the argument that contains the path of a file.
pub const FILE: &[&str] =
    &["path", "file_path", "filePath", "filename", "file", "target_file", "absolute_path", "notebook_path"];

/// Further names of the arguments for a command, a directory and a file, in the calls of agents that run in an editor.
pub const IN_EDITORS: [&[&str]; 3] =
    [&["commandLine", "CommandLine"], &["Cwd", "workingDirectory"], &["abs_path", "absolutePath", "TargetFile"]];

/// Names of the arguments that contain the source and the target of a move or copy.
pub const MOVED: &[&str] = &["source", "source_path", "destination", "destination_path", "from", "to"];

/// Names of the argument that contains a URL.
pub const ADDRESS: &[&str] = &["url", "uri"];

/// Further names of arguments that the bundled plugins read.
const OF_PLUGINS: &[&str] = &["args", "arguments", "dest", "dir", "patch", "diff", "target"];

/// Names under which unknown tools may take a command, in lower case and without `_` and `-`.
const SUPPOSED: &[&str] = &[
    "argv",
    "bash",
    "bashcommand",
    "chars",
    "cmd",
    "cmdline",
    "command",
    "commandline",
    "commands",
    "exec",
    "keystrokes",
    "script",
    "shell",
    "shellcommand",
    "shellscript",
    "stdin",
    "terminalcommand",
];

/// Further names under which a tool may take a command, if the tool's own name suggests a shell.
const SUPPOSED_OF_SHELLS: &[&str] = &["code", "data", "input", "keys", "line", "run", "text"];

/// Words in a tool's name that suggest a shell.
const SHELLS: &[&str] =
    &["bash", "cmd", "command", "console", "exec", "powershell", "script", "shell", "stdin", "terminal", "tmux", "zsh"];

/// Some tools take the program in one argument, and the arguments of the program in another. These are names of the
/// second one.
const WORDS: &[&str] = &["args", "arguments", "argv", "params"];

/// Folds a name, so that spellings that differ only in case become equal. This is necessary because some parsers
/// ignore case. Go's `encoding/json` is such a parser: it also treats `ſ` as `s` and the Kelvin sign as `k`.
#[must_use]
pub fn folded(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // The first conversion to lower case is for `ẞ`. The last conversion is for characters that share an upper case
    // letter, such as `ſ`, `ς` and the Kelvin sign.
    let lower = name.chars().flat_map(char::to_lowercase);
    lower.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Returns the first of these names that differs from an earlier name only in case.
pub fn twin<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(folded(name)))
}

impl ActionMap {
    /// Checks whether rules and the tool could read different arguments. This is possible if, at any depth, an argument
    /// that rules read has two spellings that differ only in case. In this case, returns the reason as the end of a
    /// sentence. Rules read three groups of names: the names in the tables of the agents, the names that the embedder
    /// adds to the action map, and the names that the bundled plugins read.
    #[must_use]
    pub fn ambiguity(&self, arguments: &Value) -> Option<String> {
        match arguments {
            Value::Object(members) => {
                self.twin_of(members).or_else(|| members.values().find_map(|value| self.ambiguity(value)))
            }
            Value::Array(values) => values.iter().find_map(|value| self.ambiguity(value)),
            _ => None,
        }
    }

    fn twin_of(&self, members: &Map<String, Value>) -> Option<String> {
        if members.len() < 2 {
            return None;
        }
        let mut seen = HashSet::with_capacity(members.len());
        let mut twins = members.keys().filter(|key| !seen.insert(folded(key)));
        let twin = twins.find(|key| self.is_read(&folded(key)))?;
        let shown: String = twin.chars().take(40).collect();
        Some(format!("has the argument {shown:?}, which differs from another one only in case"))
    }

    fn is_read(&self, folded: &str) -> bool {
        let of_embedder = self.rows.values().flat_map(ToolShape::arguments).any(|name| self::folded(name) == folded);
        of_embedder || read().contains(folded)
    }
}

/// Returns the folded names of the arguments that rules read.
fn read() -> &'static HashSet<String> {
    static READ: OnceLock<HashSet<String>> = OnceLock::new();
    READ.get_or_init(|| {
        let lists = [&[COMMAND, CWD, FILE, MOVED, ADDRESS, OF_PLUGINS, SUPPOSED], &IN_EDITORS[..]].concat().concat();
        let of_agents = agents::all().flat_map(agents::Table::shapes).flat_map(ToolShape::arguments);
        lists.into_iter().chain(of_agents).map(folded).collect()
    })
}

impl ToolShape {
    /// Returns the word for the tool's kind, which is used if the arguments of a call cannot be read.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Shell { .. } | Self::Commands { .. } => "shell",
            Self::ReadFile(_) => "read-file",
            Self::WriteFile(_) | Self::Editor { .. } | Self::Patch(_) => "write-files",
            Self::Fetch(_) => "fetch",
            Self::SpawnAgent(_) => "spawn-agent",
            Self::McpCall { .. } => "mcp",
            Self::Other(word) => word,
        }
    }

    /// Returns the names of the arguments that the shape reads.
    fn arguments(&self) -> impl Iterator<Item = &str> {
        let none: &[String] = &[];
        let (one, other) = match self {
            Self::Shell { command, cwd, .. } | Self::Commands { commands: command, cwd, .. } => {
                (command.as_slice(), cwd.as_slice())
            }
            Self::Editor { command, path } => (command.as_slice(), path.as_slice()),
            Self::McpCall { server, tool } => (server.as_slice(), tool.as_slice()),
            Self::ReadFile(names)
            | Self::WriteFile(names)
            | Self::Patch(names)
            | Self::Fetch(names)
            | Self::SpawnAgent(names) => (names.as_slice(), none),
            Self::Other(_) => (none, none),
        };
        one.iter().chain(other).map(String::as_str)
    }

    /// Returns the name of the tool's only argument, or `None` if the tool has several arguments.
    pub(super) fn only_argument(&self) -> Option<&str> {
        let (Self::Shell { command: names, .. }
        | Self::ReadFile(names)
        | Self::Patch(names)
        | Self::Fetch(names)
        | Self::SpawnAgent(names)) = self
        else {
            return None;
        };
        names.first().map(String::as_str)
    }

    /// Returns true if an argument's name differs from one of this tool's names only in case. Some tools accept such a
    /// name, and others do not.
    pub(super) fn is_misspelt_in(&self, arguments: &Value) -> bool {
        let Some(members) = arguments.as_object() else { return false };
        let is_exact = |key: &str| self.arguments().any(|name| name == key);
        let is_alike = |key: &str| {
            let key = folded(key);
            self.arguments().any(|name| folded(name) == key)
        };
        members.iter().any(|(key, value)| !value.is_null() && !is_exact(key) && is_alike(key))
    }
}

/// Returns the commands that a call of an unknown tool may run: strings and lists of words in arguments with a name
/// such as `command`, at any depth. A guard that checks shell commands should also check these texts if the action is
/// [`Action::Mcp`](crate::Action::Mcp) or [`Action::Other`](crate::Action::Other). Not every such text is a command. If
/// a text does not parse as a command, or runs no known program, the guard should ignore it.
///
/// ```
/// use hookhost_contract::action::supposed_commands;
///
/// let arguments = serde_json::json!({ "host": "a", "command": ["git", "push", "--force"] });
/// assert_eq!(supposed_commands("mcp__box__run", &arguments), ["git push --force"]);
/// assert!(supposed_commands("mcp__db__query", &serde_json::json!({ "sql": "SELECT 1" })).is_empty());
/// ```
#[must_use]
pub fn supposed_commands(tool: &str, arguments: &Value) -> Vec<String> {
    let tool = folded(tool);
    let mut commands = Vec::new();
    collect(arguments, SHELLS.iter().any(|word| tool.contains(word)), &mut commands);
    commands
}

/// Returns true if an unknown tool may take a command under this name.
#[must_use]
pub fn holds_command(argument: &str) -> bool {
    SUPPOSED.contains(&&*bare(argument))
}

/// Folds a name and removes `_`, `-` and spaces.
fn bare(name: &str) -> String {
    folded(name).chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect()
}

fn collect(value: &Value, is_of_a_shell: bool, commands: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let name = bare(key);
                if SUPPOSED.contains(&&*name) || is_of_a_shell && SUPPOSED_OF_SHELLS.contains(&&*name) {
                    commands.extend(commands_of(value, members));
                } else if WORDS.contains(&&*name) && !members.keys().any(|key| holds_command(key)) {
                    commands.extend(Some(value).filter(|value| value.is_array()).and_then(command::text));
                }
                // The string may contain arguments as JSON.
                let inner = value.as_str().filter(|text| text.trim_start().starts_with(['{', '[']));
                let inner = inner.and_then(|text| serde_json::from_str::<Value>(text).ok());
                collect(inner.as_ref().unwrap_or(value), is_of_a_shell, commands);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, is_of_a_shell, commands)),
        _ => {}
    }
}

/// Returns the commands that a member may contain. A string is combined with the arguments (such as `args`) and the
/// environment variables (`env`) of the same object. A list is returned as one command that consists of its words, and
/// each string of the list that may be a command is also returned by itself.
fn commands_of(value: &Value, members: &Map<String, Value>) -> Vec<String> {
    match value {
        Value::String(text) => {
            let words = WORDS.iter().find_map(|name| members.get(*name)?.as_array());
            let line = words.and_then(|words| command::line(text, words));
            let variables = members.get("env").and_then(Value::as_object).filter(|variables| !variables.is_empty());
            let line = line.or_else(|| variables.map(|_| text.clone()));
            let set = variables.map(command::environment).unwrap_or_default();
            line.map(|line| format!("{set}{line}")).into_iter().chain([text.clone()]).collect()
        }
        Value::Array(words) => {
            let single = words.iter().filter_map(|word| match word {
                Value::String(text) => Some(text.clone()).filter(|text| text.contains(char::is_whitespace)),
                Value::Array(_) => command::text(word),
                _ => None,
            });
            command::text(value).filter(|text| !text.is_empty()).into_iter().chain(single).collect()
        }
        _ => Vec::new(),
    }
}
