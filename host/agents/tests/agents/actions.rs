//! Tests that the same call becomes the same action in every agent. The table contains each call in the format of each agent, or the reason
//! why an agent has no such call.

use hookhost_agents::{HookEvent, Message, ToolUse, by_name};
use hookhost_contract::action::ActionMap;
use hookhost_contract::{Action, McpTool, ShellCommand, ShellDialect};
use serde_json::{Value, json};
use std::path::Path;

const COMMAND: &str = "git push --force";
const FILE: &str = "/project/a.rs";
const URL: &str = "https://example.com/";
const TASK: &str = "look for the parser";

/// Six calls in the format of an agent, in this order: a shell command, writing a file, reading a file, fetching a page, a tool of an MCP
/// server, and a sub-agent. `Err` contains the reason why the agent has no such call.
pub(crate) type Spelt = [Result<(&'static str, Value), &'static str>; 6];

/// Returns a message of the agent that contains a call, and the hook point on the command line.
pub(crate) type Wrap = fn(&str, &Value) -> (Option<&'static str>, Value);

pub(crate) fn agents() -> Vec<(&'static str, Wrap, Spelt)> {
    let own: Wrap = |tool, arguments| {
        (None, json!({ "type": "tool_call", "toolName": tool, "toolCallId": "c", "input": arguments }))
    };
    vec![
        (
            "cursor",
            |tool, arguments| {
                (
                    None,
                    json!({ "hook_event_name": "preToolUse", "conversation_id": "c", "cursor_version": "3", "workspace_roots": ["/project"], "tool_name": tool, "tool_input": arguments }),
                )
            },
            [
                Ok(("Shell", json!({ "command": COMMAND }))),
                Ok(("Write", json!({ "file_path": FILE, "content": "x" }))),
                Ok(("Read", json!({ "file_path": FILE }))),
                Ok(("WebFetch", json!({ "url": URL }))),
                Err("the name of an MCP tool does not say its server"),
                Ok(("Task", json!({ "prompt": TASK, "description": "look" }))),
            ],
        ),
        (
            "copilot-cli",
            |tool, arguments| {
                (
                    Some("preToolUse"),
                    json!({ "sessionId": "s", "cwd": "/project", "toolName": tool, "toolArgs": arguments.to_string() }),
                )
            },
            [
                Ok(("bash", json!({ "command": COMMAND }))),
                Ok(("create", json!({ "path": FILE, "file_text": "x" }))),
                Ok(("view", json!({ "path": FILE }))),
                Ok(("web_fetch", json!({ "url": URL }))),
                Err("an MCP tool was not recorded: whether the name says its server is not known"),
                Ok(("task", json!({ "prompt": TASK, "description": "look" }))),
            ],
        ),
        (
            "copilot-cli",
            |tool, arguments| {
                (
                    None,
                    json!({ "hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/project", "tool_name": tool, "tool_input": arguments }),
                )
            },
            [
                Ok(("Bash", json!({ "command": COMMAND }))),
                Ok(("Write", json!({ "path": FILE, "file_text": "x" }))),
                Ok(("Read", json!({ "path": FILE }))),
                Ok(("WebFetch", json!({ "url": URL }))),
                Err("an MCP tool was not recorded: whether the name says its server is not known"),
                Ok(("Agent", json!({ "prompt": TASK, "description": "look" }))),
            ],
        ),
        (
            "cline",
            |tool, arguments| {
                (
                    None,
                    json!({ "hookName": "tool_call", "taskId": "t", "workspaceRoots": ["/project"], "tool_call": { "id": "c", "name": tool, "input": arguments } }),
                )
            },
            [
                Ok(("run_commands", json!({ "commands": [COMMAND] }))),
                Ok(("editor", json!({ "path": FILE, "new_text": "x" }))),
                Err("it reads several files at once: the kind is known, the files are not"),
                Err("it fetches several pages at once: the kind is known, the pages are not"),
                Ok(("use_mcp_tool", json!({ "server_name": "github", "tool_name": "create_issue" }))),
                Ok(("spawn_agent", json!({ "task": TASK }))),
            ],
        ),
        (
            "cline",
            |tool, arguments| {
                (
                    None,
                    json!({ "hookName": "PreToolUse", "taskId": "t", "workspaceRoots": ["/project"], "preToolUse": { "toolName": tool, "parameters": arguments } }),
                )
            },
            [
                Ok(("execute_command", json!({ "command": COMMAND }))),
                Ok(("write_to_file", json!({ "path": FILE, "content": "x" }))),
                Ok(("read_file", json!({ "path": FILE }))),
                Ok(("web_fetch", json!({ "url": URL }))),
                Ok((
                    "use_mcp_tool",
                    json!({ "server_name": "github", "tool_name": "create_issue", "arguments": "{}" }),
                )),
                Ok(("new_task", json!({ "context": TASK }))),
            ],
        ),
        (
            "windsurf",
            |tool, arguments| {
                (
                    None,
                    json!({ "agent_action_name": format!("pre_{tool}"), "trajectory_id": "t", "tool_info": arguments }),
                )
            },
            [
                Ok(("run_command", json!({ "command_line": COMMAND, "cwd": "/project" }))),
                Ok(("write_code", json!({ "file_path": FILE, "edits": [] }))),
                Ok(("read_code", json!({ "file_path": FILE }))),
                Err("no hook is called for web pages"),
                Ok(("mcp_tool_use", json!({ "mcp_server_name": "github", "mcp_tool_name": "create_issue" }))),
                Err("it has no sub-agents"),
            ],
        ),
        (
            "goose",
            |tool, arguments| {
                (
                    None,
                    json!({ "event": "PreToolUse", "matcher_context": tool, "session_id": "s", "working_dir": "/project", "tool_name": tool, "tool_input": arguments }),
                )
            },
            [
                Ok(("developer__shell", json!({ "command": COMMAND }))),
                Ok(("developer__write", json!({ "path": FILE, "content": "x" }))),
                Ok(("developer__text_editor", json!({ "command": "view", "path": FILE }))),
                Ok(("developer__web_fetch", json!({ "url": URL }))),
                Ok(("github__create_issue", json!({}))),
                Ok(("summon__delegate", json!({ "instructions": TASK }))),
            ],
        ),
        (
            "opencode",
            |tool, arguments| {
                (
                    Some("tool.execute.before"),
                    json!({ "input": { "tool": tool, "sessionID": "s", "callID": "c" }, "output": { "args": arguments } }),
                )
            },
            [
                Ok(("bash", json!({ "command": COMMAND }))),
                Ok(("write", json!({ "filePath": FILE, "content": "x" }))),
                Ok(("read", json!({ "filePath": FILE }))),
                Ok(("webfetch", json!({ "url": URL }))),
                Err("the name of an MCP tool does not tell the server and the tool apart"),
                Ok(("task", json!({ "prompt": TASK, "description": "look", "subagent_type": "explore" }))),
            ],
        ),
        (
            "pi",
            own,
            [
                Ok(("bash", json!({ "command": COMMAND }))),
                Ok(("write", json!({ "path": FILE, "content": "x" }))),
                Ok(("read", json!({ "path": FILE }))),
                Err("it has no tool for web pages"),
                Err("it has no MCP tools"),
                Err("it has no sub-agents"),
            ],
        ),
        (
            "amp",
            |tool, arguments| {
                (None, json!({ "type": "tool.call", "toolUseID": "t", "tool": tool, "input": arguments }))
            },
            [
                Ok(("Bash", json!({ "cmd": COMMAND }))),
                Ok(("create_file", json!({ "path": FILE, "content": "x" }))),
                Ok(("Read", json!({ "path": FILE }))),
                Ok(("read_web_page", json!({ "url": URL }))),
                Ok(("mcp__github__create_issue", json!({}))),
                Ok(("Task", json!({ "prompt": TASK, "description": "look" }))),
            ],
        ),
        (
            "claude-code-mods",
            |tool, arguments| (Some("tool.call"), json!({ "tool": tool, "tool_use_id": "t", "input": arguments })),
            [
                Ok(("Bash", json!({ "command": COMMAND }))),
                Ok(("Write", json!({ "file_path": FILE, "content": "x" }))),
                Ok(("Read", json!({ "file_path": FILE }))),
                Ok(("WebFetch", json!({ "url": URL, "prompt": "what is it" }))),
                Ok(("mcp__github__create_issue", json!({}))),
                Ok(("Task", json!({ "prompt": TASK, "description": "look" }))),
            ],
        ),
        (
            "acs",
            |tool, arguments| {
                let arguments =
                    arguments.as_object().unwrap().iter().map(|(name, value)| (name, json!({ "value": value })));
                let arguments: serde_json::Map<_, _> = arguments.map(|(name, value)| (name.clone(), value)).collect();
                let payload = json!({ "tool": { "name": tool }, "arguments": arguments });
                let message = json!({ "request_id": "r", "metadata": { "session_id": "s" }, "payload": payload });
                (Some("steps/toolCallRequest"), message)
            },
            [
                Ok(("bash", json!({ "command": COMMAND }))),
                Ok(("write_file", json!({ "path": FILE, "content": "x" }))),
                Ok(("read_file", json!({ "path": FILE }))),
                Ok(("fetch", json!({ "url": URL }))),
                Ok(("mcp__github__create_issue", json!({}))),
                Ok(("task", json!({ "prompt": TASK }))),
            ],
        ),
        (
            "litellm",
            |tool, arguments| {
                (
                    None,
                    json!({ "input_type": "response", "texts": [], "tool_calls": [{ "id": "c", "function": { "name": tool, "arguments": arguments.to_string() } }] }),
                )
            },
            [
                Ok(("bash", json!({ "command": COMMAND }))),
                Ok(("write_file", json!({ "path": FILE, "content": "x" }))),
                Ok(("read_file", json!({ "path": FILE }))),
                Ok(("fetch", json!({ "url": URL }))),
                Ok(("mcp__github__create_issue", json!({}))),
                Ok(("task", json!({ "prompt": TASK }))),
            ],
        ),
    ]
}

fn expected() -> [Action; 6] {
    [
        Action::Shell(ShellCommand { command: COMMAND.into(), cwd: "/project".into(), dialect: ShellDialect::Posix }),
        Action::WriteFiles(vec![FILE.into()]),
        Action::ReadFile(FILE.into()),
        Action::Fetch(URL.into()),
        Action::Mcp(McpTool { server: Some("github".into()), tool: "create_issue".into() }),
        Action::SpawnAgent(TASK.into()),
    ]
}

fn action(agent: &str, call: &ToolUse) -> Action {
    ActionMap::default().of(agent).action(&call.name, &call.arguments, &call.origin, "/project")
}

fn call(agent: &str, point: Option<&str>, message: &Value) -> ToolUse {
    let bytes = serde_json::to_vec(message).unwrap();
    let mut told = Message::new(&bytes, Path::new("/project"));
    told.point = point;
    let call = by_name(agent).unwrap().decode(&told).unwrap_or_else(|error| panic!("{agent}: {error}: {message}"));
    let HookEvent::BeforeToolCall(call) = call.event else { panic!("{agent}: {message} is no call") };
    call
}

#[test]
fn the_same_call_is_the_same_action_in_every_agent() {
    for (agent, wrap, spelt) in agents() {
        for (spelt, expected) in spelt.iter().zip(expected()) {
            match spelt {
                Ok((tool, arguments)) => {
                    let (point, message) = wrap(tool, arguments);
                    let call = call(agent, point, &message);
                    assert_eq!(action(agent, &call), expected, "{agent}: {tool} {arguments}");
                    assert_eq!(&call.arguments, arguments, "{agent}: {tool}: the arguments are others");
                }
                Err(why) => assert!(!why.is_empty(), "{agent}: why not?"),
            }
        }
    }
}

#[test]
fn where_the_call_cannot_be_read_its_kind_is_known_or_its_server_is_not() {
    let wrap = |agent: &str| agents().into_iter().find(|(name, ..)| *name == agent).unwrap().1;
    let table = [
        ("cursor", "MCP:create_issue", json!({}), Action::Mcp(McpTool { server: None, tool: "create_issue".into() })),
        ("cline", "read_files", json!({ "files": [{ "path": FILE }] }), Action::Other("read-file".into())),
        ("cline", "fetch_web_content", json!({ "requests": [{ "url": URL }] }), Action::Other("fetch".into())),
    ];
    for (agent, tool, arguments, expected) in table {
        let (point, message) = wrap(agent)(tool, &arguments);
        assert_eq!(action(agent, &call(agent, point, &message)), expected, "{agent}: {tool}");
    }
}

#[test]
fn the_hook_points_of_cursor_that_name_no_tool_mean_the_same_actions() {
    let message = |point: &str, rest: Value| {
        let mut message = json!({ "hook_event_name": point, "conversation_id": "c", "workspace_roots": ["/project"] });
        message.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        action("cursor", &call("cursor", None, &message))
    };
    let [shell, _, read, ..] = expected();
    assert_eq!(message("beforeShellExecution", json!({ "command": COMMAND, "cwd": "/project" })), shell);
    assert_eq!(message("beforeShellExecution", json!({ "command": COMMAND, "cwd": "" })), shell);
    assert_eq!(message("beforeReadFile", json!({ "file_path": FILE, "content": "x" })), read);
    assert_eq!(message("beforeTabFileRead", json!({ "file_path": FILE, "content": "x" })), read);
    let mcp = Action::Mcp(McpTool { server: None, tool: "create_issue".into() });
    assert_eq!(
        message("beforeMCPExecution", json!({ "tool_name": "create_issue", "tool_input": "{\"a\":1}", "url": URL })),
        mcp
    );
}
