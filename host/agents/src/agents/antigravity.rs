//! The adapter of Antigravity (`agy`). Sources: reports about the behaviour of versions 1.0.5 to 1.1.26, and the vendor's page on
//! hooks.
//!
//! The hook point is in the command line of the hook, because a message does not contain it. A reply is one object with `decision`.
//! After a reply without `decision`, Antigravity asks its user about the call. The outermost keys of its `hooks.json` are names of
//! hooks. The file is strict JSON, and each timeout is an integer.

use super::prelude::*;
use crate::checks::{has_call, misplaced_call};
use crate::claude_shape::{
    StrictestReply, absolute, deny_twice, first, nonempty_reason, point_of, result, strictest, text,
};

/// `force_ask` asks the user even about a call that was allowed before.
const BEFORE_TOOL: Abilities = Abilities { asks: true, ..Abilities::REJECTS };

static AGENT: Agent = Agent {
    name: "antigravity",
    title: "Antigravity",
    programs: &["agy"],
    versions: ("1.1.2", "1.1.26"),
    points: &[
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        // Some versions accept these hook points in the file but never call them. The messages of these hook points are
        // not documented.
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities::NONE).not_installed(),
        HookPoint::new("PreInvocation", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostInvocation", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", "as calls of `call_mcp_tool`"),
        Coverage::gated("sub-agents", "the call that starts one"),
        Coverage::observed("results of tools", "the message says only whether the tool failed"),
        Coverage::blind("prompts", "there is no hook point"),
    ],
    gaps: &[
        "there is no neutral reply, so the hook replies `allow` if no rule objects; version 1.1.2 still asks its user, but another \
         version may take `allow` as the user's permission",
        "one invalid hook in the file makes the agent ignore the whole file, without a message",
        "some versions ignore a project's `.agents/hooks.json`, and read such a file only in installed plugins",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    neutral,
    canary: Some(("PreToolUse", canary, denies)),
    headless: &["agy", "--dangerously-skip-permissions", "-p", PROMPT_WORD],
    ..Adapter::new(&AGENT, decode, encode, fail, install)
};

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let named = text(fields, &["hookEventName"])?;
    let name = named.as_deref().or(message.point);
    let name = name.ok_or_else(|| Unreadable::new("the command line has to name the hook point"))?;
    let tool = call(fields).map_err(|error| error.at(name))?;
    let known = point_of(&AGENT, name).map(|point| point.event);
    let event = match (known, tool) {
        (Some(EventKind::BeforeToolCall), Some(call)) => HookEvent::BeforeToolCall(call),
        (Some(EventKind::BeforeToolCall), None) => return Err(Unreadable::new("`toolCall` is missing").at(name)),
        (Some(EventKind::AfterToolCall), Some(call)) => HookEvent::AfterToolCall { call, result: outcome(fields) },
        (_, Some(_)) => return Err(misplaced_call(&AGENT, name)),
        (_, None) if has_call(fields) => return Err(misplaced_call(&AGENT, name)),
        (Some(EventKind::SessionStart), None) => HookEvent::SessionStart { is_resumed: false },
        (Some(EventKind::QueueEmpty), None) => HookEvent::Stop { text: None, is_continued: false },
        // The message reports the result of a step without a call, or an event that has no counterpart in hookhost.
        (_, None) => HookEvent::Custom { payload: fields.as_value() },
    };
    let point = point_of(&AGENT, name).map_or(name, |point| point.name);
    let session = session(message, fields).map_err(|error| error.at(point))?;
    Ok(HookCall::new(point, session, event))
}

fn session(message: &Message<'_>, fields: &Fields) -> Result<AgentSession, Unreadable> {
    let here = message.directory;
    let workspace = fields.get("workspacePaths").and_then(|paths| paths.get(0)).and_then(Value::as_str);
    let cwd = text(fields, &["cwd"])?.or_else(|| workspace.map(str::to_owned));
    let cwd = cwd.map_or_else(|| here.to_owned(), |cwd| absolute(cwd, here));
    let mut session = AgentSession::new(fields.id(&["conversationId", "sessionId"])?, cwd);
    if let Some(workspace) = workspace {
        session.workspace = absolute(workspace.to_owned(), here);
    }
    Ok(session)
}

/// Returns the call. The message has the call in `toolCall`, or has the parts of the call in its own fields. Returns
/// `None` if the message reports a step without a call. `stepIdx` is not used as the call's identifier, because two
/// calls of a step share it.
fn call(fields: &Fields) -> Result<Option<ToolUse>, Unreadable> {
    if let Some(call) = first(fields, &["toolCall"]) {
        let name = call.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let arguments = call.get("args").filter(|arguments| arguments.is_object());
        let (Some(name), Some(arguments)) = (name, arguments) else {
            return Err(Unreadable::new("`toolCall` is not an object with a text `name` and an object `args`"));
        };
        return Ok(Some(ToolUse::new(None, name, arguments.clone())));
    }
    match text(fields, &["toolName"])? {
        Some(name) => Ok(Some(ToolUse::new(None, name, fields.arguments("toolInput")?))),
        None if first(fields, &["toolInput"]).is_some() => Err(Unreadable::new("`toolName` is missing")),
        None => Ok(None),
    }
}

fn outcome(fields: &Fields) -> ToolResult {
    match (text(fields, &["error"]), first(fields, &["toolResponse", "toolResult", "output"])) {
        (Ok(Some(error)), _) => ToolResult::error(error),
        (Err(_), _) => ToolResult::error(first(fields, &["error"]).unwrap_or(&Value::Null).to_string()),
        (_, Some(response)) => result(response),
        (Ok(None), None) => ToolResult::text(""),
    }
}

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => decide("deny", &reason::rejected(rejection)),
        Answer::Ask { questions, .. } => decide("force_ask", &reason::asked(questions)),
        _ => neutral(Some(&call.point)),
    }
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    match strictest(&AGENT, point) {
        StrictestReply::Deny(_) => decide("deny", nonempty_reason(why)),
        StrictestReply::Notify(_) | StrictestReply::Nothing => Reply::empty(),
        // The message may be about a call, so the reply contains both forms of a denial that Antigravity understands.
        StrictestReply::Unknown => deny_twice(why),
    }
}

fn neutral(point: Option<&str>) -> Reply {
    match point.and_then(|name| point_of(&AGENT, name)) {
        Some(known) if known.abilities.rejects => Reply::json(&json!({ "decision": "allow" })),
        _ => Reply::empty(),
    }
}

fn denies(point: &str, reply: &Reply) -> bool {
    AGENT.abilities(point).rejects && reply.json_output()["decision"] == "deny"
}

fn decide(decision: &str, reason: &str) -> Reply {
    Reply::json(&json!({ "decision": decision, "reason": reason }))
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = Err("Antigravity has no hooks for a whole machine, so install them for each user");
    let path = context.path(".gemini/config/hooks.json", ".agents/hooks.json", managed)?;
    let entries = groups(&AGENT, &["hookhost"], Some("*"), |point| context.command_hook(&AGENT, point));
    let plan = Plan::new(vec![FilePlan::Json { path, entries }]);
    Ok(plan.step("Restart Antigravity, then check the hook: Antigravity does not report a file that it cannot load"))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "conversationId": SESSION,
        "stepIdx": 0,
        "transcriptPath": "",
        "workspacePaths": [directory],
        "artifactDirectoryPath": "",
        "toolCall": { "name": "run_command", "args": { "CommandLine": command, "Cwd": directory } },
    })
}
