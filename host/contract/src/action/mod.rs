//! The action map: from a tool's name and arguments to what the call does, and back.
//!
//! Agents call the same thing `bash {command}`, `exec_command {cmd}` or `run_command {CommandLine, Cwd}`, and one name
//! can mean different things in two agents. The map has a table of [`ToolShape`]s for each agent, and an embedder adds
//! its own rows. Plugins see the [`Action`] only, and a plugin's `rewrite` is written back into the tool's own
//! argument, under its own name.

mod agents;
mod command;
mod patch;

pub use patch::paths_of_patch;

use crate::{Action, McpTool, ShellCommand, ShellDialect, ToolCall, ToolOrigin};
use agents::Table;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// What a tool's arguments mean. Each list names the argument's spellings, the preferred one first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolShape {
    /// Runs a command: a string, or an argv list.
    Shell {
        /// The argument that holds the command.
        command: Vec<String>,
        /// The argument that holds the working directory, where there is one.
        cwd: Vec<String>,
        /// The command's language.
        dialect: ShellDialect,
    },
    /// Runs several commands, one after the other: a list of strings, or of programs with their arguments.
    Commands {
        /// The argument that holds the list.
        commands: Vec<String>,
        /// The argument that holds the working directory, where there is one.
        cwd: Vec<String>,
        /// The commands' language.
        dialect: ShellDialect,
    },
    /// Reads a file or a directory.
    ReadFile(Vec<String>),
    /// Writes the file that an argument names.
    WriteFile(Vec<String>),
    /// Reads the file that `path` names if `command` is `view`, else writes it.
    Editor {
        /// The argument that says which of both.
        command: Vec<String>,
        /// The argument that names the file.
        path: Vec<String>,
    },
    /// Applies a patch: every file that its text names is written.
    Patch(Vec<String>),
    /// Fetches a URL.
    Fetch(Vec<String>),
    /// Starts a sub-agent.
    SpawnAgent(Vec<String>),
    /// Calls a tool of an MCP server that the arguments name.
    McpCall {
        /// The argument that names the server.
        server: Vec<String>,
        /// The argument that names the server's tool.
        tool: Vec<String>,
    },
    /// None of these; the word is what plugins see.
    Other(String),
}

/// From a tool's name to its [`ToolShape`], for each agent: the rows of the embedder, then the agent's own table, then
/// names that mean the same in every agent. An agent without a table gets the strictest reading of ambiguous names, too.
///
/// Names of tools compare without case, `_` and `-`. Where the arguments of a known tool cannot be read, the action is
/// `other` with the kind's name, such as `other("shell")`.
///
/// ```
/// use hookhost_contract::action::{ActionMap, ToolShape};
/// use hookhost_contract::{Action, ShellDialect, ToolOrigin};
///
/// let mut map = ActionMap::default();
/// map.insert("run_in_vm", ToolShape::Shell { command: vec!["line".into()], cwd: vec![], dialect: ShellDialect::Posix });
/// let actions = map.of("my-agent");
///
/// let arguments = serde_json::json!({ "line": "ls", "vm": 3 });
/// let Action::Shell(mut shell) = actions.action("run_in_vm", &arguments, &ToolOrigin::Builtin, "/work") else { panic!() };
/// shell.command = "timeout 60 ls".into();
/// let back = actions.write_back("run_in_vm", &arguments, &ToolOrigin::Builtin, "/work", &Action::Shell(shell)).unwrap();
/// assert_eq!(back, serde_json::json!({ "line": "timeout 60 ls", "vm": 3 }));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ActionMap {
    rows: HashMap<String, ToolShape>,
}

/// An [`ActionMap`] as it is for one agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentActions<'a> {
    rows: &'a HashMap<String, ToolShape>,
    table: &'static Table,
}

/// Why an action could not be written back into a tool's arguments.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteBackError {
    /// The action is of another kind than the tool.
    #[error(
        "the tool `{tool}` cannot do what the rewritten action asks for: answer with an action of the same kind, or with `modify`"
    )]
    OtherKind {
        /// The tool's name.
        tool: String,
    },
    /// The tool has no argument that could carry the change.
    #[error("the tool `{tool}` has no argument that could carry {what}: answer with `modify` instead")]
    NoArgument {
        /// The tool's name.
        tool: String,
        /// What could not be carried.
        what: &'static str,
    },
}

impl ActionMap {
    /// Adds a row for every agent; it wins over earlier ones for the same tool.
    pub fn insert(&mut self, tool: &str, shape: ToolShape) -> &mut Self {
        self.rows.insert(folded(tool), shape);
        self
    }

    /// The map for the agent of that name, such as `claude-code`.
    #[must_use]
    pub fn of(&self, agent: &str) -> AgentActions<'_> {
        AgentActions { rows: &self.rows, table: agents::of(agent) }
    }
}

impl AgentActions<'_> {
    /// What a call does. `cwd` is the session's working directory, for commands that name none.
    #[must_use]
    pub fn action(self, tool: &str, arguments: &Value, origin: &ToolOrigin, cwd: &str) -> Action {
        let Some(shape) = self.shape(tool) else {
            return self.mcp_tool(tool, origin).map_or_else(|| Action::Other(String::new()), Action::Mcp);
        };
        // One text, however it is spelt. Where there are several or none, the kind's name stands
        // for what cannot be told.
        let text = |keys: &[String]| {
            let mut texts: Vec<&Value> = spellings(arguments, keys).collect();
            texts.dedup();
            if let [Value::String(text)] = texts.as_slice() { Some(text.clone()) } else { None }
        };
        let shell = |commands: Option<Vec<String>>, directory: &[String], dialect| {
            let is_named = spellings(arguments, directory).next().is_some();
            let cwd = if is_named { text(directory) } else { Some(cwd.into()) };
            match (cwd, commands) {
                (Some(cwd), Some(commands)) if !commands.is_empty() => {
                    Action::Shell(ShellCommand { command: commands.join("\n"), cwd, dialect })
                }
                _ => Action::Other("shell".into()),
            }
        };
        let read = |path: &[String]| text(path).map_or_else(|| Action::Other("read-file".into()), Action::ReadFile);
        let written = |path: &[String]| {
            let paths: Option<Vec<String>> =
                spellings(arguments, path).map(|path| path.as_str().map(str::to_owned)).collect();
            match paths {
                Some(paths) if !paths.is_empty() => Action::WriteFiles(paths),
                _ => Action::Other("write-files".into()),
            }
        };
        match shape {
            ToolShape::Shell { command, cwd, dialect } => {
                shell(spellings(arguments, command).map(command::text).collect(), cwd, *dialect)
            }
            ToolShape::Commands { commands, cwd, dialect } => {
                let lists: Option<Vec<_>> = spellings(arguments, commands).map(command::texts).collect();
                shell(lists.map(|lists| lists.concat()), cwd, *dialect)
            }
            ToolShape::ReadFile(path) => read(path),
            ToolShape::WriteFile(path) => written(path),
            ToolShape::Editor { command, path } if text(command).as_deref() == Some("view") => read(path),
            ToolShape::Editor { path, .. } => written(path),
            ToolShape::Patch(patch) => match text(patch).map(|text| paths_of_patch(&text)) {
                Some(paths) if !paths.is_empty() => Action::WriteFiles(paths),
                _ => Action::Other("write-files".into()),
            },
            ToolShape::Fetch(url) => text(url).map_or_else(|| Action::Other("fetch".into()), Action::Fetch),
            ToolShape::SpawnAgent(task) => {
                text(task).map_or_else(|| Action::Other("spawn-agent".into()), Action::SpawnAgent)
            }
            ToolShape::McpCall { server, tool } => text(tool).map_or_else(
                || Action::Other("mcp".into()),
                |tool| Action::Mcp(McpTool { server: text(server), tool }),
            ),
            ToolShape::Other(word) => Action::Other(word.clone()),
        }
    }

    /// The call with its action worked out.
    #[must_use]
    pub fn call(self, id: String, name: String, arguments: &Value, origin: ToolOrigin, cwd: &str) -> ToolCall {
        let action = self.action(&name, arguments, &origin, cwd);
        ToolCall { id, name, arguments: arguments.into(), action, origin }
    }

    /// The arguments with `action` in place of what they did.
    ///
    /// # Errors
    /// If the action is of another kind than the tool, or the tool has no argument that could carry the change.
    pub fn write_back(
        self,
        tool: &str,
        arguments: &Value,
        origin: &ToolOrigin,
        cwd: &str,
        action: &Action,
    ) -> Result<Value, WriteBackError> {
        let other_kind = || WriteBackError::OtherKind { tool: tool.to_owned() };
        let before = self.action(tool, arguments, origin, cwd);
        let Some(mut arguments) = arguments.as_object().cloned() else { return Err(other_kind()) };
        let shape = self.shape(tool).ok_or_else(other_kind)?;
        match (shape, &before, action) {
            (
                ToolShape::Shell { command, cwd: directory, .. }
                | ToolShape::Commands { commands: command, cwd: directory, .. },
                Action::Shell(old),
                Action::Shell(new),
            ) => {
                if old.dialect != new.dialect {
                    return Err(WriteBackError::NoArgument { tool: tool.to_owned(), what: "another shell dialect" });
                }
                if old.command != new.command {
                    let place = argument_name(&arguments, command);
                    let value = match shape {
                        ToolShape::Commands { .. } => Value::Array(vec![Value::String(new.command.clone())]),
                        _ => command::replaced(arguments.get(&place), &new.command),
                    };
                    arguments.insert(place, value);
                }
                if old.cwd != new.cwd {
                    if directory.is_empty() {
                        return Err(WriteBackError::NoArgument {
                            tool: tool.to_owned(),
                            what: "another working directory",
                        });
                    }
                    let place = argument_name(&arguments, directory);
                    arguments.insert(place, Value::String(new.cwd.clone()));
                }
            }
            (
                ToolShape::ReadFile(keys) | ToolShape::Editor { path: keys, .. },
                Action::ReadFile(_),
                Action::ReadFile(text),
            )
            | (ToolShape::Fetch(keys), Action::Fetch(_), Action::Fetch(text))
            | (ToolShape::SpawnAgent(keys), Action::SpawnAgent(_), Action::SpawnAgent(text)) => {
                let place = argument_name(&arguments, keys);
                arguments.insert(place, Value::String(text.clone()));
            }
            (
                ToolShape::WriteFile(keys) | ToolShape::Editor { path: keys, .. },
                Action::WriteFiles(_),
                Action::WriteFiles(paths),
            ) => {
                let [path] = paths.as_slice() else {
                    return Err(WriteBackError::NoArgument { tool: tool.to_owned(), what: "several paths" });
                };
                let place = argument_name(&arguments, keys);
                arguments.insert(place, Value::String(path.clone()));
            }
            (ToolShape::Patch(_), Action::WriteFiles(old), Action::WriteFiles(new)) if old != new => {
                return Err(WriteBackError::NoArgument {
                    tool: tool.to_owned(),
                    what: "other paths than its patch names",
                });
            }
            _ if before == *action => {}
            _ => return Err(other_kind()),
        }
        let written = Value::Object(arguments);
        // What runs must be what was answered: an argument spelt twice, or a list, may not carry it.
        if self.action(tool, &written, origin, cwd) == *action {
            Ok(written)
        } else {
            Err(WriteBackError::NoArgument {
                tool: tool.to_owned(),
                what: "the change, as the call spells its arguments",
            })
        }
    }

    fn shape(&self, tool: &str) -> Option<&ToolShape> {
        let tool = folded(tool);
        self.rows.get(&tool).or_else(|| self.table.shape(&tool))
    }

    fn mcp_tool(&self, tool: &str, origin: &ToolOrigin) -> Option<McpTool> {
        let ToolOrigin::Mcp(server) = origin else { return self.table.mcp_tool(tool) };
        let bare = tool.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(server.as_str())?.strip_prefix("__"));
        let bare = bare.or_else(|| self.table.tool_of_server(tool, server)).unwrap_or(tool);
        Some(McpTool { server: Some(server.clone()), tool: bare.to_owned() })
    }
}

fn folded(tool: &str) -> String {
    tool.chars().filter(|character| !matches!(character, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// The values of an argument that is there, in the order of its spellings. Usually there is one; where a call carries
/// several, a guard is shown all of them, since only the tool knows which it takes.
fn spellings<'a>(arguments: &'a Value, keys: &'a [String]) -> impl Iterator<Item = &'a Value> {
    keys.iter().filter_map(|key| arguments.get(key)).filter(|value| !value.is_null())
}

/// The spelling that the arguments use, or the preferred one.
fn argument_name(arguments: &Map<String, Value>, keys: &[String]) -> String {
    keys.iter().find(|key| arguments.contains_key(*key)).or(keys.first()).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests;
