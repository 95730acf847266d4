//! The adapter of Cursor, which is an editor and the command-line agent `cursor-agent`. Sources: the vendor's hooks reference of
//! 3.18, and reports about the messages of the command-line agent.
//!
//! A message is one object with `hook_event_name` in camel case and the other keys in snake case. A reply is JSON with
//! exit code 0. If the entry of a gate has `failClosed`, Cursor treats an empty reply as a failure. So the reply at a
//! gate is never empty. Cursor reads its hooks from `hooks.json` of the user, the project or the machine, and reloads a
//! file that changes.

use super::prelude::*;
use crate::claude_shape::prompts;
use crate::json::value;
use hookhost_contract::ToolOrigin;

/// Only `preToolUse` accepts changed arguments. Replies never use `ask`, because Cursor does not reliably ask its user.
/// `preToolUse` accepts `ask` without enforcing it, and `subagentStart` treats `ask` as a denial. At
/// `beforeShellExecution` and `beforeMCPExecution`, the command-line agent decides by its own list instead.
const BEFORE_TOOL: Abilities = Abilities { changes: true, ..Abilities::REJECTS };

const CONTEXT: Abilities = Abilities { adds_context: true, ..Abilities::NONE };

/// Only the result of an MCP tool can be replaced.
const AFTER_MCP_TOOL: Abilities = Abilities { replaces: true, rejects: true, ..CONTEXT };

/// A message in the reply makes the agent continue. After five such replies, the agent stops anyway.
const STOP: Abilities = Abilities { goes_on: true, ..Abilities::NONE };

/// Hook point of a hook in Claude Code's file, which Cursor can also run. At this hook point, Cursor sends a message in
/// its own format, but expects the reply in Claude Code's format.
const COMPATIBLE: &str = "PreToolUse";

static AGENT: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor-agent", "cursor"],
    versions: ("3.18.2", "3.18.2"),
    points: &[
        HookPoint::new("sessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("sessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("beforeSubmitPrompt", EventKind::PromptSubmit, Abilities::REJECTS),
        HookPoint::new("preToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        // Cursor reports a call at `preToolUse`, and again at one of these hook points. Which of these hook points
        // Cursor calls depends on its version.
        HookPoint::new("beforeShellExecution", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("beforeMCPExecution", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("beforeReadFile", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("beforeTabFileRead", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("postToolUse", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("postToolUseFailure", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("afterShellExecution", EventKind::AfterToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("afterMCPExecution", EventKind::AfterToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("afterFileEdit", EventKind::AfterToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("afterTabFileEdit", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("subagentStart", EventKind::SubagentStart, Abilities::REJECTS),
        HookPoint::new("subagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("preCompact", EventKind::BeforeCompaction, Abilities { tells_user: true, ..Abilities::NONE }),
        HookPoint::new("afterAgentResponse", EventKind::FinalizeContent, Abilities::NONE),
        HookPoint::new("stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("afterAgentThought", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("workspaceOpen", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new(COMPATIBLE, EventKind::BeforeToolCall, Abilities::REJECTS).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("files that Tab completion reads", ""),
        Coverage::observed("files that Tab completion writes", "reported after the write"),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", "Cursor sends the command or address of the server, not its name"),
        Coverage::gated("sub-agents", "only their start is reported"),
    ],
    gaps: &[
        "if a hook fails or is missing, Cursor stops the call only if the hook's entry has `failClosed`; by default, hookhost sets this key in its entries",
        "users have reported versions that do not load `hooks.json`: test the hook after each update",
        "cloud agents run only some of the hooks of the project",
        "Cursor reports the agent's texts after the user has seen them",
    ],
};

/// Returns the abilities for a call. For a result, the abilities depend on the tool.
fn abilities(call: &HookCall) -> Abilities {
    match &call.event {
        HookEvent::AfterToolCall { call: tool, .. } if call.point == "postToolUse" && tool.name.starts_with(MCP) => {
            AFTER_MCP_TOOL
        }
        _ => AGENT.abilities(&call.point),
    }
}

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers: |context| ServersFile::in_both(context, ".cursor/mcp.json"),
    neutral,
    abilities: Some(abilities),
    canary: Some(("preToolUse", canary, denies)),
    headless: &["cursor-agent", "--force", "-p", PROMPT_WORD],
    ..Adapter::new(&AGENT, decode, encode, fail, install)
};

/// Prefix of the names of MCP tools. Such a name does not contain the name of the server.
const MCP: &str = "MCP:";

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let named = fields.text("hook_event_name")?;
    // Cursor runs the hook in Claude Code's file. The message then has Cursor's format, but the reply must have Claude Code's
    // format.
    let is_compatible = named == "preToolUse" && message.point == Some(COMPATIBLE);
    let point = if is_compatible { COMPATIBLE.to_owned() } else { named };
    HookCall::decoded(point, |point| {
        let event = event(point, fields)?;
        Ok((session(message, fields, &event)?, event))
    })
}

/// Decodes the session. If `cwd` is missing or empty, the first root of the workspace is used.
fn session(message: &Message<'_>, fields: &Fields, event: &HookEvent) -> Result<AgentSession, Unreadable> {
    let own = fields.id(&["conversation_id"])?;
    if own.is_none() && !fields.has("cursor_version") {
        return Err(Unreadable::new("`conversation_id` is missing: is it a message of another agent?"));
    }
    let id = match event {
        HookEvent::SubagentStart { .. } => fields.id(&["parent_conversation_id"])?.or(own),
        _ => own,
    };
    let root = fields.get("workspace_roots").and_then(Value::as_array).and_then(|roots| roots.first()?.as_str());
    let root = root.filter(|root| !root.is_empty()).or_else(|| message.variable("CURSOR_PROJECT_DIR"));
    let workspace = root.map_or_else(|| message.directory.to_owned(), PathBuf::from);
    let cwd = fields.some_text("cwd").map_or_else(|| workspace.clone(), PathBuf::from);
    let mut session = AgentSession::new(id, cwd);
    session.workspace = workspace;
    session.version = fields.some_text("cursor_version");
    session.interactive = !fields.is("is_background_agent");
    Ok(session)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "sessionStart" => HookEvent::SessionStart { is_resumed: false },
        "sessionEnd" => HookEvent::SessionEnd,
        "beforeSubmitPrompt" => HookEvent::PromptSubmit { prompt: fields.text("prompt")? },
        "preToolUse" | COMPATIBLE => HookEvent::BeforeToolCall(call(fields)?),
        "beforeShellExecution" => HookEvent::BeforeToolCall(shell(fields)?),
        "beforeMCPExecution" => HookEvent::BeforeToolCall(mcp(fields)?),
        "beforeReadFile" => HookEvent::BeforeToolCall(file("Read", fields, &[])?),
        "beforeTabFileRead" => HookEvent::BeforeToolCall(file("TabRead", fields, &[])?),
        "postToolUse" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields.get("tool_output")) },
        "postToolUseFailure" => {
            let why = fields.some_text("error_message").unwrap_or_default();
            HookEvent::AfterToolCall { call: call(fields)?, result: ToolResult::error(why) }
        }
        "afterShellExecution" => {
            HookEvent::AfterToolCall { call: shell(fields)?, result: result(fields.get("output")) }
        }
        "afterMCPExecution" => {
            HookEvent::AfterToolCall { call: mcp(fields)?, result: result(fields.get("result_json")) }
        }
        "afterFileEdit" => HookEvent::AfterToolCall { call: file("Write", fields, &["edits"])?, result: result(None) },
        "afterTabFileEdit" => {
            HookEvent::AfterToolCall { call: file("TabWrite", fields, &["edits"])?, result: result(None) }
        }
        "subagentStart" => HookEvent::SubagentStart {
            id: fields.text("subagent_id")?,
            prompt: fields.first_text(&["task", "subagent_type"]).unwrap_or_default(),
        },
        "subagentStop" => HookEvent::SubagentEnd {
            id: fields.first_text(&["subagent_id", "conversation_id"]).unwrap_or_default(),
            text: fields.some_text("summary").unwrap_or_default(),
            is_continued: is_continued(fields),
        },
        "preCompact" => HookEvent::BeforeCompaction,
        "afterAgentResponse" => HookEvent::FinalText { text: fields.text("text")? },
        "stop" => match fields.some_text("status").as_deref() {
            // A message in the reply would restart an agent that the user has stopped.
            Some("aborted") => HookEvent::Custom { payload: fields.as_value() },
            Some("error") => HookEvent::AgentError {
                message: fields.some_text("error_message").unwrap_or_else(|| "the agent stopped".to_owned()),
            },
            _ => HookEvent::Stop { text: None, is_continued: is_continued(fields) },
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

/// Returns true if a hook has already made the agent continue. `loop_count` counts from 0.
fn is_continued(fields: &Fields) -> bool {
    fields.get("loop_count").and_then(Value::as_u64).is_some_and(|count| count > 0)
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let mut call =
        ToolUse::new(fields.id(&["tool_use_id"])?, fields.text("tool_name")?, fields.arguments("tool_input")?);
    if call.name.starts_with(MCP) {
        call.origin = ToolOrigin::External;
    }
    Ok(call)
}

fn shell(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let mut arguments = Map::new();
    arguments.insert("command".to_owned(), json!(fields.text("command")?));
    if let Some(cwd) = fields.some_text("cwd") {
        arguments.insert("working_directory".to_owned(), json!(cwd));
    }
    Ok(ToolUse::new(None, "Shell", Value::Object(arguments)))
}

/// Decodes an MCP call. `tool_input` is JSON in a string. The message has only the command or the address of the
/// server, not the server's name.
fn mcp(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let name = fields.text("tool_name")?;
    let name = if name.starts_with(MCP) { name } else { format!("{MCP}{name}") };
    let mut call = ToolUse::new(None, name, fields.arguments("tool_input")?);
    call.origin = ToolOrigin::External;
    Ok(call)
}

/// Decodes a call about a file. Cursor also sends the file's content, which is not an argument of the call.
fn file(tool: &str, fields: &Fields, further: &[&str]) -> Result<ToolUse, Unreadable> {
    let mut arguments = Map::new();
    arguments.insert("file_path".to_owned(), json!(fields.text("file_path")?));
    for &key in further {
        if let Some(value) = fields.get(key) {
            arguments.insert(key.to_owned(), value.clone());
        }
    }
    Ok(ToolUse::new(None, tool, Value::Object(arguments)))
}

/// Decodes a result, which is a string. For a shell command or an MCP tool, the string contains JSON.
fn result(output: Option<&Value>) -> ToolResult {
    let Some(output) = output else { return ToolResult::default() };
    let Some(text) = output.as_str() else {
        return ToolResult { text: output.to_string(), is_error: false, raw: Some(output.into()) };
    };
    let Ok(Value::Object(object)) = value(text) else { return ToolResult::text(text) };
    let part = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_error = object.get("isError") == Some(&Value::Bool(true))
        || object.get("exitCode").and_then(Value::as_i64).is_some_and(|code| code != 0);
    let shown = match (part("stdout"), part("stderr")) {
        ("", "") => text.to_owned(),
        (text, "") | ("", text) => text.to_owned(),
        (stdout, stderr) => format!("{stdout}\n{stderr}"),
    };
    ToolResult { text: shown, is_error, raw: text.parse().ok() }
}

/// The form of an approval and a denial at a hook point.
enum Gate {
    /// The key `permission`.
    Permission,
    /// The key `continue`.
    Continue,
    /// Claude Code's format, in which an empty reply is an approval.
    Compatible,
}

fn gate(point: &str) -> Option<Gate> {
    Some(match point {
        "preToolUse"
        | "beforeShellExecution"
        | "beforeMCPExecution"
        | "beforeReadFile"
        | "beforeTabFileRead"
        | "subagentStart" => Gate::Permission,
        "beforeSubmitPrompt" => Gate::Continue,
        COMPATIBLE => Gate::Compatible,
        _ => return None,
    })
}

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let point = call.point.as_str();
    match (&outcome.answer, gate(point)) {
        (Answer::Rejected(rejection), Some(gate)) => {
            rejected(&gate, &rejection.to_string(), &reason::rejected(rejection))
        }
        (Answer::Ask { questions, .. }, Some(gate)) => {
            let asked = reason::asked(questions);
            rejected(&gate, &asked, &asked)
        }
        // Cursor reads changed arguments only if the reply also has a permission.
        (Answer::Changed { arguments, .. }, Some(Gate::Permission)) if point == "preToolUse" => {
            Reply::json(&json!({ "permission": "allow", "updated_input": arguments }))
        }
        (_, Some(_)) => neutral(Some(point)),
        (answer, None) => told(answer, outcome),
    }
}

/// Encodes the reply at a hook point that is not a gate.
fn told(answer: &Answer, outcome: &Outcome) -> Reply {
    let mut top = Map::new();
    match answer {
        Answer::GoOn(tasks) if !tasks.is_empty() => {
            top.insert("followup_message".to_owned(), json!(prompts(tasks)));
        }
        Answer::Rejected(rejection) => {
            top.insert("updated_mcp_tool_output".to_owned(), content(&reason::rejected(rejection), true));
        }
        Answer::ReplacedResult(result) => {
            let raw = result.raw.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
            let raw = raw.filter(Value::is_object).unwrap_or_else(|| content(&result.text, result.is_error));
            top.insert("updated_mcp_tool_output".to_owned(), raw);
        }
        _ => {}
    }
    if !outcome.context.is_empty() {
        top.insert("additional_context".to_owned(), json!(outcome.context.join("\n\n")));
    }
    if !outcome.notices.is_empty() {
        top.insert("user_message".to_owned(), json!(outcome.notices.join("\n")));
    }
    Reply::json(&Value::Object(top))
}

/// Returns a result in the format of an MCP tool.
fn content(text: &str, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

fn rejected(gate: &Gate, for_user: &str, for_model: &str) -> Reply {
    Reply::json(&match gate {
        Gate::Permission => json!({ "permission": "deny", "user_message": for_user, "agent_message": for_model }),
        Gate::Continue => json!({ "continue": false, "user_message": for_user }),
        Gate::Compatible => json!({ "hookSpecificOutput": {
            "hookEventName": COMPATIBLE, "permissionDecision": "deny", "permissionDecisionReason": for_model,
        } }),
    })
}

fn neutral(point: Option<&str>) -> Reply {
    match point.and_then(gate) {
        Some(Gate::Permission) => Reply::json(&json!({ "permission": "allow" })),
        Some(Gate::Continue) => Reply::json(&json!({ "continue": true })),
        Some(Gate::Compatible) => Reply::empty(),
        None => Reply::json(&json!({})),
    }
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    let Some(point) = point else { return Reply::exit_2(why) };
    match gate(point) {
        Some(gate) => rejected(&gate, why, why),
        // The tool has already run. Its result could not be checked, so the reply replaces the result if possible.
        None if point == "postToolUse" => Reply::json(&json!({ "updated_mcp_tool_output": content(why, true) })),
        None => neutral(Some(point)),
    }
}

/// Returns true if the agent treats the reply as a denial. A denial has exit code 2, or the value for a denial in the
/// key that the hook point uses.
fn denies(point: &str, reply: &Reply) -> bool {
    let Some(gate) = gate(point) else { return false };
    let said = reply.json_output();
    reply.exit == 2
        || match gate {
            Gate::Permission => said["permission"] == "deny",
            Gate::Continue => said["continue"] == false,
            Gate::Compatible => said["hookSpecificOutput"]["permissionDecision"] == "deny",
        }
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = machine_path(
        "/etc/cursor/hooks.json",
        Some("/Library/Application Support/Cursor/hooks.json"),
        Some(r"C:\ProgramData\Cursor\hooks.json"),
    );
    let path = context.path(".cursor/hooks.json", ".cursor/hooks.json", Ok(managed))?;
    let mut entries = vec![JsonEntry::default(&["version"], json!(1))];
    entries.extend(elements(&AGENT, |point| {
        let mut hook = json!({ "command": context.command(&AGENT, point.name), "timeout": point.timeout });
        // Without `failClosed`, a hook that is missing or crashes lets the call run.
        let is_gate = point.abilities.rejects || point.event == EventKind::BeforeToolCall;
        if is_gate && context.on_failure == OnFailure::Deny {
            hook["failClosed"] = json!(true);
        }
        hook
    }));
    let trust = "Trust the workspace in Cursor, which runs a project's hooks only in trusted workspaces.";
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]).step_in(context, Scope::Project, trust))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "conversation_id": SESSION,
        "generation_id": SESSION,
        "model": "",
        "model_id": "",
        "cursor_version": AGENT.versions.1,
        "workspace_roots": [directory],
        "user_email": null,
        "transcript_path": null,
        "hook_event_name": "preToolUse",
        "tool_name": "Shell",
        "tool_input": { "command": command, "working_directory": directory },
        "cwd": directory,
    })
}
