//! The adapter of Windsurf. Source: the vendor's page on Cascade hooks.
//!
//! A message names its hook point in `agent_action_name` and has its data in `tool_info`. The reply is an exit code.
//! Exit code 2 is a denial, with the reason on the standard error. Windsurf reads its hooks from `hooks.json` of the
//! machine, the user and the workspace, and runs all of these hooks in this order.

use super::prelude::*;

/// Timeout in seconds that hookhost assumes, because the agent's timeout is not documented. A person must answer before
/// the assumed timeout ends.
const UNKNOWN: u16 = 30;

static AGENT: Agent = Agent {
    name: "windsurf",
    title: "Windsurf",
    programs: &["windsurf"],
    versions: ("", ""),
    points: &[
        HookPoint::new("pre_user_prompt", EventKind::PromptSubmit, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("pre_read_code", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("pre_write_code", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("pre_run_command", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("pre_mcp_tool_use", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("post_read_code", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("post_write_code", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("post_run_command", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("post_mcp_tool_use", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("post_cascade_response", EventKind::FinalizeContent, Abilities::NONE),
        HookPoint::new("post_cascade_response_with_transcript", EventKind::CustomEvent, Abilities::NONE)
            .not_installed(),
        HookPoint::new("post_setup_worktree", EventKind::CustomEvent, Abilities::NONE),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::blind("web pages", "no hook is called for them"),
        Coverage::gated("MCP tools", ""),
        Coverage::gated("prompts", ""),
        Coverage::observed("texts of the agent", "reported after the user has seen them"),
    ],
    gaps: &[
        "if a hook crashes, is missing or takes too long, the call runs; no setting prevents this",
        "messages about results contain no text, except for MCP tools",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers: |context| ServersFile::of_user(context, ".codeium/windsurf/mcp_config.json"),
    canary: Some(("pre_run_command", canary, denies)),
    ..Adapter::new(&AGENT, decode, encode, fail, install)
};

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    // Every message of Windsurf has this field.
    HookCall::decoded(fields.text("agent_action_name")?, |point| {
        let cwd = fields.within("tool_info").some_text("cwd");
        let cwd = cwd.map_or_else(|| message.directory.to_owned(), PathBuf::from);
        let mut session = AgentSession::new(fields.id(&["trajectory_id"])?, cwd);
        session.workspace = message.directory.to_owned();
        Ok((session, event(point, fields)?))
    })
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    let info = fields.within("tool_info");
    Ok(match point {
        "pre_user_prompt" => HookEvent::PromptSubmit { prompt: info.text("user_prompt")? },
        "pre_read_code" | "pre_write_code" | "pre_run_command" | "pre_mcp_tool_use" => {
            HookEvent::BeforeToolCall(call(point, fields)?)
        }
        "post_read_code" | "post_write_code" | "post_run_command" | "post_mcp_tool_use" => {
            HookEvent::AfterToolCall { call: call(point, fields)?, result: result(&info) }
        }
        "post_cascade_response" => HookEvent::FinalText { text: info.text("response")? },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

/// Decodes a call. Windsurf names only the kind of call, so the tool's name is the hook point without `pre_` or
/// `post_`.
fn call(point: &str, fields: &Fields) -> Result<ToolUse, Unreadable> {
    let tool = point.trim_start_matches("pre_").trim_start_matches("post_");
    let mut arguments = fields.arguments("tool_info")?;
    let told = arguments.value.as_object_mut().ok_or_else(|| Unreadable::new("`tool_info` is not an object"))?;
    told.shift_remove("mcp_result");
    let call = ToolUse::new(None, tool, arguments);
    Ok(match fields.within("tool_info").some_text("mcp_server_name") {
        Some(server) => call.of_server(server),
        None => call,
    })
}

fn result(info: &Fields) -> ToolResult {
    match info.get("mcp_result") {
        None | Some(Value::Null) => ToolResult::default(),
        Some(Value::String(text)) => ToolResult::text(text.as_str()),
        Some(other) => ToolResult { text: other.to_string(), is_error: false, raw: Some(other.into()) },
    }
}

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let point = call.point.as_str();
    match &outcome.answer {
        Answer::Rejected(rejection) if is_gate(point) => Reply::exit_2(&reason::rejected(rejection)),
        Answer::Ask { questions, .. } if is_gate(point) => Reply::exit_2(&reason::asked(questions)),
        _ => Reply::empty(),
    }
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    if point.is_none_or(is_gate) { Reply::exit_2(why) } else { Reply::empty() }
}

fn denies(point: &str, reply: &Reply) -> bool {
    is_gate(point) && reply.exit == 2
}

fn is_gate(point: &str) -> bool {
    AGENT.abilities(point).rejects
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = machine_path(
        "/etc/windsurf/hooks.json",
        Some("/Library/Application Support/Windsurf/hooks.json"),
        Some(r"C:\ProgramData\Windsurf\hooks.json"),
    );
    let path = context.path(".codeium/windsurf/hooks.json", ".windsurf/hooks.json", Ok(managed))?;
    // The user should see why a call was blocked.
    let hook = |point: &HookPoint| json!({ "command": context.command(&AGENT, point.name), "show_output": true });
    Ok(Plan::new(vec![FilePlan::Json { path, entries: elements(&AGENT, hook) }]))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "agent_action_name": "pre_run_command",
        "trajectory_id": SESSION,
        "execution_id": SESSION,
        "timestamp": "1970-01-01T00:00:00Z",
        "tool_info": { "command_line": command, "cwd": directory },
    })
}
