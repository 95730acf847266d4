//! The action map: it converts a tool's name and arguments into an action, and a changed action back into arguments.
//!
//! Agents use different names for the same action: `bash {command}`, `exec_command {cmd}` or
//! `run_command {CommandLine, Cwd}`. One name can also have different meanings in two agents. The map therefore has a
//! table of [`ToolShape`]s for each agent, and an embedder can add its own rows. Plugins see only the [`Action`]. If a
//! plugin answers `rewrite`, the change is written back into the tool's arguments, under the names that the tool uses.

mod agents;
pub mod arguments;
mod command;
mod patch;

pub use arguments::{holds_command, supposed_commands};
pub use patch::paths_of_patch;

use crate::{Action, McpTool, ShellCommand, ShellDialect, ToolCall, ToolOrigin};
use agents::Table;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The meaning of a tool's arguments. Each list contains the spellings of one argument, with the preferred spelling
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolShape {
    /// Runs a command, which is a string or an argv list.
    Shell {
        /// The argument that holds the command.
        command: Vec<String>,
        /// The argument that holds the working directory; empty if there is none.
        cwd: Vec<String>,
        /// The command's language.
        dialect: ShellDialect,
    },
    /// Runs several commands in order. The argument is a list of strings, or of programs with their arguments.
    Commands {
        /// The argument that holds the list.
        commands: Vec<String>,
        /// The argument that holds the working directory; empty if there is none.
        cwd: Vec<String>,
        /// The commands' language.
        dialect: ShellDialect,
    },
    /// Reads a file or a directory.
    ReadFile(Vec<String>),
    /// Writes the file at the path in the argument.
    WriteFile(Vec<String>),
    /// Reads the file at `path` if `command` is `view`, otherwise writes it.
    Editor {
        /// The argument that selects the operation.
        command: Vec<String>,
        /// The argument that contains the path of the file.
        path: Vec<String>,
    },
    /// Applies a patch, and writes every file that the patch names.
    Patch(Vec<String>),
    /// Fetches a URL.
    Fetch(Vec<String>),
    /// Starts a sub-agent.
    SpawnAgent(Vec<String>),
    /// Calls a tool of an MCP server. The names of the server and the tool are arguments.
    McpCall {
        /// The argument that contains the server's name.
        server: Vec<String>,
        /// The argument that contains the name of the server's tool.
        tool: Vec<String>,
    },
    /// Any other action. Plugins see it as `other` with this word.
    Other(String),
}

/// Maps a tool's name to its [`ToolShape`], for each agent. The map searches first in the rows of the embedder, then
/// in the agent's own table, and then among the names that mean the same in every agent. For an agent without a
/// table, ambiguous names have their strictest meaning.
///
/// The comparison of tool names ignores case, `_` and `-`. If the arguments of a known tool cannot be read, the
/// action is `other` with the name of the kind, such as `other("shell")`. This also applies if the name of an
/// argument differs only in case from a name in the row, because some tools would read such an argument and others
/// would not.
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

/// The part of an [`ActionMap`] for one agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentActions<'a> {
    rows: &'a HashMap<String, ToolShape>,
    table: &'static Table,
}

/// The reason why an action could not be written back into a tool's arguments.
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
    /// The tool has no argument that can contain the change.
    #[error("the tool `{tool}` has no argument that could carry {what}: answer with `modify` instead")]
    NoArgument {
        /// The tool's name.
        tool: String,
        /// The change that no argument can contain.
        what: &'static str,
    },
}

impl ActionMap {
    /// Adds a row for every agent. The row replaces an earlier row for the same tool.
    pub fn insert(&mut self, tool: &str, shape: ToolShape) -> &mut Self {
        self.rows.insert(folded(tool), shape);
        self
    }

    /// Returns the map for the agent of this name, such as `claude-code`.
    #[must_use]
    pub fn of(&self, agent: &str) -> AgentActions<'_> {
        AgentActions { rows: &self.rows, table: agents::of(agent) }
    }
}

impl AgentActions<'_> {
    /// Returns the action of a call. `cwd` is the session's working directory, which applies to commands without
    /// their own directory.
    #[must_use]
    pub fn action(self, tool: &str, arguments: &Value, origin: &ToolOrigin, cwd: &str) -> Action {
        let Some(shape) = self.shape(tool) else {
            return self.mcp_tool(tool, origin).map_or_else(|| Action::Other(String::new()), Action::Mcp);
        };
        let unreadable = || Action::Other(shape.kind().into());
        // If an argument has several spellings, all must contain the same string. Otherwise the action is `other`
        // with the name of the kind.
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
                _ => unreadable(),
            }
        };
        let read = |path: &[String]| text(path).map_or_else(unreadable, Action::ReadFile);
        let written = |path: &[String]| {
            let paths: Option<Vec<String>> =
                spellings(arguments, path).map(|path| path.as_str().map(str::to_owned)).collect();
            match paths {
                Some(paths) if !paths.is_empty() => Action::WriteFiles(paths),
                _ => unreadable(),
            }
        };
        match shape {
            ToolShape::Other(word) => Action::Other(word.clone()),
            _ if shape.is_misspelt_in(arguments) => unreadable(),
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
                _ => unreadable(),
            },
            ToolShape::Fetch(url) => text(url).map_or_else(unreadable, Action::Fetch),
            ToolShape::SpawnAgent(task) => text(task).map_or_else(unreadable, Action::SpawnAgent),
            ToolShape::McpCall { server, tool } => {
                let tool = text(tool).map(|tool| Action::Mcp(McpTool { server: text(server), tool }));
                tool.unwrap_or_else(unreadable)
            }
        }
    }

    /// Returns the arguments object for a call that consists only of a string. The tool must take one string, such as
    /// a command or a patch. Returns `None` if the tool has several arguments.
    #[must_use]
    pub fn arguments_of_text(self, tool: &str, text: &str) -> Option<Value> {
        let name = self.shape(tool)?.only_argument()?;
        Some(Value::Object(Map::from_iter([(name.to_owned(), Value::String(text.to_owned()))])))
    }

    /// Returns true if the tool does nothing without arguments.
    #[must_use]
    pub fn needs_arguments(self, tool: &str) -> bool {
        self.shape(tool).is_some_and(|shape| !matches!(shape, ToolShape::Other(_)))
    }

    /// Returns the call with its action.
    #[must_use]
    pub fn call(self, id: String, name: String, arguments: &Value, origin: ToolOrigin, cwd: &str) -> ToolCall {
        let action = self.action(&name, arguments, &origin, cwd);
        ToolCall { id, name, arguments: arguments.into(), action, origin }
    }

    /// Returns the arguments, changed so that the call does `action`.
    ///
    /// # Errors
    /// Fails if the action is of another kind than the tool, or if the tool has no argument that can contain the
    /// change.
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
        // The call must do exactly what the plugin answered. This may be impossible if an argument has two spellings,
        // or is a list.
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

/// Returns true if an agent has a tool of this name of its own.
#[must_use]
pub fn is_known_tool(tool: &str) -> bool {
    let tool = folded(tool);
    agents::all().any(|table| table.shape(&tool).is_some())
}

fn folded(tool: &str) -> String {
    tool.chars().filter(|character| !matches!(character, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Returns the values of an argument, in the order of its spellings. There is usually one value. If there are
/// several, a guard must see all of them, because only the tool knows which value it uses.
fn spellings<'a>(arguments: &'a Value, keys: &'a [String]) -> impl Iterator<Item = &'a Value> {
    keys.iter().filter_map(|key| arguments.get(key)).filter(|value| !value.is_null())
}

/// Returns the spelling that the arguments use, or the preferred spelling.
fn argument_name(arguments: &Map<String, Value>, keys: &[String]) -> String {
    keys.iter().find(|key| arguments.contains_key(*key)).or(keys.first()).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests;
