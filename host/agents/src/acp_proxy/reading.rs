//! Finds the readings of a tool call of the Agent Client Protocol. A reading is a possible meaning of the call, written as a tool
//! name with arguments. The protocol defines no tool names and no arguments. A call has only a kind, a title, locations, and the
//! raw input of the agent's tool. So a call can have several readings, and rules check each of them. For example, if an agent gives
//! a command the kind `read`, the call has one reading that runs the command and another reading that reads a file.
//!
//! Source: agentclientprotocol/agent-client-protocol, `schema/v1`. Each agent defines its own `rawInput`.

use hookhost_contract::action::arguments::{ADDRESS, COMMAND, CWD, FILE, IN_EDITORS, MOVED, folded};
use serde_json::{Map, Value, json};

/// Values of the argument `command` in calls of editing tools. These values are not shell commands.
const EDITOR_COMMANDS: &[&str] = &["view", "create", "str_replace", "insert", "undo_edit", "write", "read", "delete"];

/// Kinds of call that write files.
const WRITE_KINDS: &[&str] = &["edit", "delete", "move"];

/// Kinds of call that read files.
const READ_KINDS: &[&str] = &["read", "search"];

/// Kinds of call that use no file. If an agent gives a call one of these kinds, the paths in the call get no readings.
const KINDS_WITHOUT_FILES: &[&str] = &["execute", "fetch"];

/// Maximum number of readings of one call.
const MAX_READINGS: usize = 64;

/// One reading of a call, which consists of a tool name and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Name of the tool.
    pub name: String,
    /// The arguments, which are a JSON object.
    pub arguments: Value,
}

/// All readings of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Readings {
    /// The readings. There is at least one reading.
    pub all: Vec<Reading>,
    /// True if the agent's message states clearly what the call does. Otherwise, a person has to decide on the call.
    pub is_stated: bool,
}

impl Readings {
    /// Returns the readings of the tool call in `session/request_permission`. `call` also contains the data that the
    /// agent has sent about this call before.
    pub fn of_tool_call(call: &Value) -> Self {
        let call = ToolCall { call };
        let kind = call.text("kind").unwrap_or("other");
        let mut readings = Self { all: Vec::new(), is_stated: true };
        call.server_tools().into_iter().for_each(|tool| readings.all.push(tool));
        let is_of_a_server = !readings.all.is_empty();
        readings.add_commands(&call, kind);
        let writes = if WRITE_KINDS.contains(&kind) { kind } else { "edit" };
        let changed = call.changed_paths();
        let mut paths = call.paths();
        if WRITE_KINDS.contains(&kind) {
            paths.extend(changed.iter().filter(|path| !paths.contains(path)).cloned().collect::<Vec<_>>());
            paths.iter().for_each(|path| readings.add_file(writes, path, &call));
        } else {
            changed.iter().for_each(|path| readings.add_file(writes, path, &call));
            if READ_KINDS.contains(&kind) {
                // If no path is given for a search, the agent searches the working directory.
                if kind == "search" && paths.is_empty() && call.input().is_some() {
                    paths.push(".".to_owned());
                }
                paths.iter().for_each(|path| readings.add_file(kind, path, &call));
            } else if !KINDS_WITHOUT_FILES.contains(&kind) && !is_of_a_server {
                // A call of another kind can either read or write the file, so it gets both readings.
                for path in paths.iter().filter(|path| !changed.contains(path)) {
                    readings.add_file("read", path, &call);
                    readings.add_file("edit", path, &call);
                }
            }
        }
        readings.add_addresses(&call, kind);
        if readings.all.is_empty() {
            let is_readable = readings.is_stated;
            let is_known = call.input().is_some_and(|input| !input.is_empty()) || kind == "think";
            let needs_more = WRITE_KINDS.contains(&kind) || READ_KINDS.contains(&kind) || kind == "fetch";
            readings.is_stated = is_readable && is_known && !needs_more && kind != "switch_mode";
            readings.add(kind, call.arguments());
        }
        if readings.all.len() > MAX_READINGS {
            readings.all.truncate(MAX_READINGS);
            readings.is_stated = false;
        }
        readings
    }

    /// Returns the readings of a request to the editor, or `None` for a method that raises no event.
    pub fn of_request(method: &str, params: &Value) -> Option<Self> {
        let fields = params.as_object()?;
        let mut arguments = fields.clone();
        arguments.remove("sessionId");
        arguments.remove("_meta");
        let mut readings = Self { all: Vec::new(), is_stated: true };
        match method {
            "fs/read_text_file" | "fs/write_text_file" => readings.add(method, Value::Object(arguments)),
            "terminal/create" => {
                let words = arguments.remove("args").unwrap_or_default();
                let words: Vec<&str> = words.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let command = fields.get("command").and_then(Value::as_str).unwrap_or_default();
                // Some editors pass the command and its arguments to a shell as one string. Other editors start the
                // program with these arguments.
                let line = [&[command], words.as_slice()].concat().join(" ");
                let is_plain = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c));
                let is_one = words.is_empty()
                    || (is_plain(command) && words.iter().all(|word| is_plain(word) && !word.is_empty()));
                let all =
                    if words.is_empty() { json!(command) } else { json!([&[command], words.as_slice()].concat()) };
                arguments.insert("command".to_owned(), all);
                readings.add(method, Value::Object(arguments.clone()));
                // An environment variable can name a program that another program runs. In a command line, each program
                // can use the variable, and not only the first program.
                let is_line = words.is_empty() || !is_one;
                let commands = set_before(&arguments, &line, is_line);
                if !is_one {
                    arguments.insert("command".to_owned(), json!(line));
                    readings.add(method, Value::Object(arguments.clone()));
                }
                for command in commands {
                    arguments.insert("command".to_owned(), json!(command));
                    readings.add(method, Value::Object(arguments.clone()));
                }
            }
            _ => return None,
        }
        Some(readings)
    }

    fn add(&mut self, name: impl Into<String>, arguments: Value) {
        self.all.push(Reading { name: name.into(), arguments });
    }

    /// Adds a reading for each command in the call. Several keys are checked, because agents use different keys for the
    /// command.
    fn add_commands(&mut self, call: &ToolCall<'_>, kind: &str) {
        let of_an_editor = |value: &Value| value.as_str().is_some_and(|text| EDITOR_COMMANDS.contains(&text));
        let given = call
            .given(&[COMMAND, IN_EDITORS[0]].concat())
            .into_iter()
            .filter(|value| kind == "execute" || !of_an_editor(value));
        let (commands, others): (Vec<&Value>, Vec<&Value>) =
            given.partition(|value| value.is_string() || value.is_array());
        let is_of_texts = |value: &&Value| value.as_array().is_none_or(|words| words.iter().all(Value::is_string));
        let is_readable = others.is_empty() && commands.iter().all(is_of_texts);
        self.is_stated &= is_readable;
        if commands.is_empty() && kind == "execute" {
            // Only the title of the call is known. A person who is asked about the call sees this title.
            let title = json!(call.text("title").unwrap_or_default());
            self.add("execute", call.arguments_with("command", &title));
            self.is_stated = false;
        }
        if commands.is_empty() {
            return;
        }
        let directories = call.given(&[CWD, IN_EDITORS[1]].concat());
        self.is_stated &= directories.len() <= 1 && directories.iter().all(|directory| directory.is_string());
        for command in commands {
            let mut arguments = call.arguments_with("command", command);
            if let Some(cwd) = directories.iter().find(|directory| directory.is_string()) {
                set(&mut arguments, "cwd", cwd);
            }
            self.add("execute", arguments);
        }
    }

    /// Adds a reading for each address in the call.
    fn add_addresses(&mut self, call: &ToolCall<'_>, kind: &str) {
        for value in call.given(ADDRESS) {
            let Some(address) = value.as_str() else {
                self.is_stated = false;
                continue;
            };
            if kind == "fetch" || address.starts_with("http") {
                self.add("fetch", call.arguments_with("url", &json!(address)));
            }
        }
    }

    fn add_file(&mut self, name: &str, path: &str, call: &ToolCall<'_>) {
        self.add(name, call.arguments_with("path", &json!(path)));
    }
}

/// A tool call in the format of the protocol.
struct ToolCall<'a> {
    call: &'a Value,
}

impl<'a> ToolCall<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        self.call.get(key).and_then(Value::as_str)
    }

    fn list(&self, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.call.get(key).and_then(Value::as_array).into_iter().flatten()
    }

    /// Returns the input of the agent's tool, if it is an object.
    fn input(&self) -> Option<&'a Map<String, Value>> {
        self.call.get("rawInput").and_then(Value::as_object)
    }

    fn input_text(&self, key: &str) -> Option<&'a str> {
        self.input()?.get(key)?.as_str()
    }

    /// Returns the arguments that rules check. They consist of the tool's input and the protocol's data about the call.
    fn arguments(&self) -> Value {
        let mut arguments = self.input().cloned().unwrap_or_default();
        let raw = self.call.get("rawInput").filter(|input| !input.is_object() && !input.is_null());
        if let Some(raw) = raw {
            arguments.insert("rawInput".to_owned(), raw.clone());
        }
        for key in ["title", "kind", "locations", "content"] {
            if let Some(value) = self.call.get(key).filter(|value| !value.is_null()) {
                arguments.entry(key).or_insert_with(|| value.clone());
            }
        }
        Value::Object(arguments)
    }

    /// Returns the arguments with `value` at `key`.
    fn arguments_with(&self, key: &str, value: &Value) -> Value {
        let mut arguments = self.arguments();
        set(&mut arguments, key, value);
        arguments
    }

    /// Returns the MCP tools that the call may refer to, as `mcp__SERVER__TOOL`. There can be two, because the tool's input can
    /// name one tool, and the name or title of the call can name another tool.
    fn server_tools(&self) -> Vec<Reading> {
        let by_input = || {
            let (server, tool) = (self.input_text("server")?, self.input_text("tool")?);
            // If the input has other members too, the tool may get more data than `arguments`.
            let is_whole = self.input()?.keys().all(|key| ["server", "tool", "arguments"].contains(&key.as_str()));
            let arguments = self.input()?.get("arguments").filter(|arguments| is_whole && arguments.is_object());
            let arguments = arguments.cloned().unwrap_or_else(|| self.arguments());
            Some(Reading { name: format!("mcp__{server}__{tool}"), arguments })
        };
        let mut all: Vec<Reading> = by_input().into_iter().collect();
        let named = ["name", "title"].iter().find_map(|key| self.text(key).filter(|name| is_mcp_tool(name)));
        if let Some(name) = named.filter(|name| all.iter().all(|tool| tool.name != *name)) {
            all.push(Reading { name: name.to_owned(), arguments: self.arguments() });
        }
        all
    }

    /// Returns the values at these keys of the tool's input, without duplicates and empty values.
    fn given(&self, keys: &[&str]) -> Vec<&'a Value> {
        let is_empty = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => false,
        };
        let mut all: Vec<&Value> = Vec::new();
        for value in keys.iter().filter_map(|key| self.input()?.get(*key)) {
            if !is_empty(value) && !all.contains(&value) {
                all.push(value);
            }
        }
        all
    }

    /// Returns all paths in the call.
    fn paths(&self) -> Vec<String> {
        let located = self.list("locations").filter_map(|place| place.get("path")?.as_str());
        let given =
            [FILE, IN_EDITORS[2], MOVED].into_iter().flatten().filter_map(|key| self.input()?.get(*key)?.as_str());
        distinct(located.chain(given))
    }

    /// Returns the paths of files whose text would change.
    fn changed_paths(&self) -> Vec<String> {
        let changes = self.list("content").filter(|part| part.get("type").and_then(Value::as_str) == Some("diff"));
        distinct(changes.filter_map(|part| part.get("path")?.as_str()))
    }
}

/// Sets the argument `key`, and removes arguments whose keys differ from `key` only in case.
fn set(arguments: &mut Value, key: &str, value: &Value) {
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.retain(|name, _| name == key || folded(name) != key);
        arguments.insert(key.to_owned(), value.clone());
    }
}

/// Returns command lines that first set the environment variables in `arguments` and then contain `line`. The first
/// command line sets the variables for the first program of `line`. If `is_line` is true, a second command line sets
/// the variables for all programs of `line`. The list is empty if there are no variables.
fn set_before(arguments: &Map<String, Value>, line: &str, is_line: bool) -> Vec<String> {
    let list = arguments.get("env").and_then(Value::as_array).into_iter().flatten();
    let text = |variable: &Value, key: &str| variable.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let variables: Vec<(String, String)> =
        list.map(|variable| (text(variable, "name"), text(variable, "value"))).collect();
    if variables.is_empty() {
        return Vec::new();
    }
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !variables.iter().all(|(name, _)| is_name(name)) {
        // A shell cannot assign a variable with such a name, so `env` sets the variable. A variable with such a name
        // can define a shell function.
        let set = variables.iter().map(|(name, value)| quoted(&format!("{name}={value}")));
        return vec![format!("env {} {line}", set.collect::<Vec<_>>().join(" "))];
    }
    let set: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
    let of_all = is_line.then(|| format!("export {}; {line}", set.join(" ")));
    std::iter::once(format!("{} {line}", set.join(" "))).chain(of_all).collect()
}

fn is_mcp_tool(name: &str) -> bool {
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    parts.is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty() && !name.contains(char::is_whitespace))
}

fn distinct<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for path in paths.filter(|path| !path.is_empty()) {
        if !all.iter().any(|known| known == path) {
            all.push(path.to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::Readings;
    use hookhost_contract::action::ActionMap;
    use hookhost_contract::{Action, ShellCommand, ShellDialect, ToolOrigin};
    use serde_json::{Value, json};

    /// Returns the action of each reading, and true if the agent says what the call does.
    fn actions(readings: &Readings) -> (Vec<Action>, bool) {
        let map = ActionMap::default();
        let action = |reading: &super::Reading| {
            map.of(crate::acp_proxy::NAME).action(&reading.name, &reading.arguments, &ToolOrigin::Builtin, "/work")
        };
        (readings.all.iter().map(action).collect(), readings.is_stated)
    }

    fn of(call: &Value) -> (Vec<Action>, bool) {
        actions(&Readings::of_tool_call(call))
    }

    fn shell(command: &str, cwd: &str) -> Action {
        Action::Shell(ShellCommand { command: command.into(), cwd: cwd.into(), dialect: ShellDialect::Posix })
    }

    fn writes(path: &str) -> Action {
        Action::WriteFiles(vec![path.into()])
    }

    #[test]
    fn a_command_is_one_whatever_kind_the_agent_calls_it() {
        let given = json!({ "command": ["bash", "-lc", "cat /etc/hosts"], "cwd": "/srv" });
        let call = json!({ "kind": "read", "rawInput": given, "locations": [{ "path": "/etc/hosts" }] });
        let read = Action::ReadFile("/etc/hosts".into());
        assert_eq!(of(&call), (vec![shell("cat /etc/hosts", "/srv"), read], true));
        let call = json!({ "kind": "execute", "rawInput": { "command": "ls", "description": "x" } });
        assert_eq!(of(&call), (vec![shell("ls", "/work")], true));
        let call = json!({ "rawInput": { "cmd": "rm -rf ~" } });
        assert_eq!(of(&call), (vec![shell("rm -rf ~", "/work")], true));
    }

    #[test]
    fn each_command_and_each_address_that_a_call_names_is_judged() {
        let call = json!({ "kind": "other", "rawInput": { "command": null, "cmd": "rm -rf ~" } });
        assert_eq!(of(&call), (vec![shell("rm -rf ~", "/work")], true));
        let call = json!({ "rawInput": { "command": "view", "script": "rm -rf ~" } });
        assert_eq!(of(&call), (vec![shell("rm -rf ~", "/work")], true));
        let call = json!({ "kind": "execute", "rawInput": { "command": "ls", "cmd": "rm -rf ~", "script": "ls" } });
        assert_eq!(of(&call), (vec![shell("ls", "/work"), shell("rm -rf ~", "/work")], true));
        let call = json!({ "kind": "fetch", "rawInput": { "url": "http://a/", "uri": "http://b/" } });
        assert_eq!(of(&call), (vec![Action::Fetch("http://a/".into()), Action::Fetch("http://b/".into())], true));
    }

    #[test]
    fn a_command_an_address_or_a_directory_that_can_be_read_in_two_ways_is_for_a_person() {
        for given in [
            json!({ "command": { "line": "rm -rf ~" } }),
            json!({ "command": 1, "cmd": "ls" }),
            json!({ "command": ["ls", 1] }),
            json!({ "command": "ls", "cwd": "/a", "workdir": "/b" }),
            json!({ "command": "ls", "cwd": ["/a"] }),
            json!({ "url": ["http://a/"], "uri": "http://b/" }),
            json!({ "url": ["http://a/"], "x": 1 }),
        ] {
            for kind in ["execute", "other"] {
                assert!(!of(&json!({ "kind": kind, "title": "x", "rawInput": given })).1, "{kind}: {given}");
            }
        }
        let same = json!({ "command": "ls", "cwd": "/a", "workdir": "/a", "dir_path": null });
        assert_eq!(of(&json!({ "rawInput": same })), (vec![shell("ls", "/a")], true));
    }

    #[test]
    fn a_call_without_a_kind_reads_and_writes_each_file_that_it_names() {
        let call = json!({ "rawInput": { "path": "/x", "new_str": "y" }, "locations": [{ "path": "/x" }] });
        assert_eq!(of(&call), (vec![Action::ReadFile("/x".into()), writes("/x")], true));
        let call = json!({ "kind": "other", "title": "mcp__files__stat", "rawInput": { "path": "/x" } });
        assert!(matches!(&of(&call).0[..], [Action::Mcp(_)]), "what a server does with a path is its own");
    }

    /// The recorded questions of six agents are in `fixtures-acp/`.
    #[test]
    fn the_command_of_each_agent_that_was_recorded_is_read() {
        for (agent, message, is_stated) in [
            ("claude-agent-acp 0.23.1", include_str!("../../fixtures-acp/claude.json"), true),
            ("codex-acp 0.16.0", include_str!("../../fixtures-acp/codex.json"), true),
            ("copilot 1.0.102", include_str!("../../fixtures-acp/copilot.json"), true),
            ("gemini-cli 0.61.0", include_str!("../../fixtures-acp/gemini.json"), false),
            ("opencode 1.18.33", include_str!("../../fixtures-acp/opencode.json"), true),
            ("qwen-code 0.24.4", include_str!("../../fixtures-acp/qwen.json"), true),
        ] {
            let message: Value = serde_json::from_str(message).unwrap();
            let (actions, says) = of(&message["params"]["toolCall"]);
            let cwd = if agent.starts_with("codex") { "/home/me/project" } else { "/work" };
            assert_eq!((actions, says), (vec![shell("echo hello > denied.txt", cwd)], is_stated), "{agent}");
        }
    }

    #[test]
    fn a_command_that_the_agent_does_not_say_is_its_title_and_a_person_looks_at_it() {
        let call = json!({ "kind": "execute", "title": "rm -rf ~" });
        assert_eq!(of(&call), (vec![shell("rm -rf ~", "/work")], false));
        assert_eq!(of(&json!({ "kind": "edit", "title": "Edit" })), (vec![Action::Other("write-files".into())], false));
        assert_eq!(of(&json!({ "toolCallId": "1" })), (vec![Action::Other(String::new())], false));
        assert!(!of(&json!({ "kind": "switch_mode", "rawInput": { "plan": "x" } })).1, "a mode is for a person to say");
        assert!(of(&json!({ "kind": "other", "rawInput": { "query": "x" } })).1);
    }

    #[test]
    fn each_file_that_a_call_changes_is_asked_about() {
        let call = json!({
            "kind": "edit", "rawInput": { "file_path": "/a" }, "locations": [{ "path": "/b", "line": 3 }],
            "content": [{ "type": "diff", "path": "/c", "oldText": null, "newText": "x" }],
        });
        assert_eq!(of(&call), (vec![writes("/b"), writes("/a"), writes("/c")], true));
        let call = json!({ "kind": "move", "rawInput": { "source": "/a", "destination": "/b" } });
        assert_eq!(of(&call).0, [writes("/a"), writes("/b")]);
        // A call with a diff changes the file, whatever kind the call has.
        let call = json!({ "kind": "read", "content": [{ "type": "diff", "path": "/c", "newText": "x" }] });
        assert_eq!(of(&call), (vec![writes("/c")], true));
        let call = json!({ "kind": "edit", "rawInput": { "command": "create", "path": "/a", "file_text": "x" } });
        assert_eq!(of(&call).0, [writes("/a")]);
    }

    #[test]
    fn a_page_and_a_tool_of_a_server_are_known() {
        assert_eq!(
            of(&json!({ "kind": "fetch", "rawInput": { "url": "http://a/" } })).0,
            [Action::Fetch("http://a/".into())]
        );
        let by_title = of(&json!({ "title": "mcp__git__push", "rawInput": { "branch": "main" } })).0;
        let by_input = of(&json!({ "rawInput": { "server": "git", "tool": "push", "arguments": {} } })).0;
        assert_eq!(by_title, by_input);
        assert!(matches!(&by_title[..], [Action::Mcp(tool)] if tool.tool == "push"), "{by_title:?}");
    }

    #[test]
    fn arguments_within_the_input_are_those_of_a_tool_that_the_input_names() {
        let arguments = |call: Value| -> Vec<Value> {
            Readings::of_tool_call(&call).all.into_iter().map(|reading| reading.arguments).collect()
        };
        let by_title =
            arguments(json!({ "title": "mcp__db__query", "rawInput": { "sql": "DROP TABLE x", "arguments": {} } }));
        assert!(by_title.len() == 1 && by_title[0]["sql"] == "DROP TABLE x", "{by_title:?}");
        let given = json!({ "server": "db", "tool": "query", "arguments": { "sql": "SELECT 1" } });
        assert_eq!(arguments(json!({ "rawInput": given })), [given["arguments"].clone()]);
        let given = json!({ "server": "db", "tool": "query", "sql": "DROP TABLE x", "arguments": {} });
        let whole = arguments(json!({ "rawInput": given }));
        assert!(whole.len() == 1 && whole[0]["sql"] == "DROP TABLE x", "{whole:?}");
        let both = json!({ "title": "mcp__git__log", "rawInput": { "server": "git", "tool": "push" } });
        let names: Vec<String> = Readings::of_tool_call(&both).all.into_iter().map(|reading| reading.name).collect();
        assert_eq!(names, ["mcp__git__push", "mcp__git__log"]);
    }

    #[test]
    fn a_call_of_too_many_things_is_for_a_person() {
        let places: Vec<Value> = (0..100).map(|n| json!({ "path": format!("/{n}") })).collect();
        let (actions, is_stated) = of(&json!({ "kind": "edit", "locations": places }));
        assert!(actions.len() == 64 && !is_stated);
    }

    #[test]
    fn a_command_for_the_editor_is_both_what_a_shell_and_what_no_shell_would_run() {
        let of = |params: Value| actions(&Readings::of_request("terminal/create", &params).unwrap()).0;
        assert_eq!(of(json!({ "sessionId": "s", "command": "ls | wc" })), [shell("ls | wc", "/work")]);
        let params = json!({ "command": "npm", "args": ["test", "--coverage"], "cwd": "/p" });
        assert_eq!(of(params), [shell("npm test --coverage", "/p")]);
        let params = json!({ "command": "echo", "args": ["$(rm x)"] });
        assert_eq!(of(params), [shell("echo '$(rm x)'", "/work"), shell("echo $(rm x)", "/work")]);
        assert_eq!(Readings::of_request("terminal/kill", &json!({})), None);
    }

    #[test]
    fn the_variables_of_a_command_are_judged_with_it() {
        let of = |params: Value| actions(&Readings::of_request("terminal/create", &params).unwrap()).0;
        let variable = json!({ "name": "GIT_SSH_COMMAND", "value": "sh -c 'rm -rf ~'" });
        let params = json!({ "command": "git", "args": ["fetch"], "env": [variable] });
        let set = r"GIT_SSH_COMMAND='sh -c '\''rm -rf ~'\''' git fetch";
        assert_eq!(of(params), [shell("git fetch", "/work"), shell(set, "/work")]);
        assert_eq!(of(json!({ "command": "git", "env": [] })), [shell("git", "/work")]);
        let path = json!({ "name": "PATH", "value": "/tmp/evil" });
        let of_line = of(json!({ "command": "cd /p && ls", "env": [path] }));
        let set = ["PATH='/tmp/evil' cd /p && ls", "export PATH='/tmp/evil'; cd /p && ls"];
        assert_eq!(of_line[1..], set.map(|command| shell(command, "/work")));
        let function = json!({ "name": "BASH_FUNC_ls%%", "value": "() { rm x; }" });
        let of_function = of(json!({ "command": "ls", "args": ["-l"], "env": [path, function] }));
        assert_eq!(of_function[1..], [shell("env 'PATH=/tmp/evil' 'BASH_FUNC_ls%%=() { rm x; }' ls -l", "/work")]);
    }

    #[test]
    fn a_file_of_the_editor_is_read_or_written() {
        let of = |method: &str, params: Value| actions(&Readings::of_request(method, &params).unwrap()).0;
        assert_eq!(of("fs/read_text_file", json!({ "path": "/a" })), [Action::ReadFile("/a".into())]);
        assert_eq!(of("fs/write_text_file", json!({ "path": "/a", "content": "x" })), [writes("/a")]);
    }
}
