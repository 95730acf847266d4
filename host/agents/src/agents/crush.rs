//! The adapter of Crush. Sources: charmbracelet/crush, the page about hooks, and the skill `crush-hooks`.
//!
//! Crush's messages have the format of Claude Code, with the hook point in `event`. A reply is one flat object. After a reply with
//! `allow`, Crush does not ask the user, so hookhost uses `allow` only for an approval. Crush reads its hooks from `crush.json` of
//! the user or the project.

use super::prelude::*;
use crate::claude_shape::{self, MessageKeys, StrictestReply, denies_by_decision, nonempty_reason, strictest};

/// Crush merges changed arguments into the arguments of the call. The key `halt` ends the turn.
const BEFORE_TOOL: Abilities = Abilities {
    changes: true,
    merges: true,
    approves: true,
    rejects: true,
    adds_context: true,
    stops: true,
    ..Abilities::NONE
};

static AGENT: Agent = Agent {
    name: "crush",
    title: "Crush",
    programs: &["crush"],
    versions: ("", ""),
    // Older versions know only the first of these hook points, and reject a file that names another hook point.
    points: &[
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("PermissionRequest", EventKind::BeforeToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("PermissionResult", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities::NONE).not_installed(),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE).not_installed(),
        HookPoint::new("TurnStart", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("TurnEnd", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE).not_installed(),
        HookPoint::new("Interrupt", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities::REJECTS).not_installed(),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", "the name does not separate server and tool"),
        Coverage::blind("calls of sub-agents", "only the call that starts one is reported"),
        Coverage::blind("prompts and results of tools", "older versions have no hook point for them"),
    ],
    gaps: &[
        "if a hook crashes, is missing or takes too long, the call runs; no setting prevents this",
        "Crush does not report calls of sub-agents: if this matters, reject the tools `agent` and `agentic_fetch`",
        "if a plugin removes an argument, hookhost rejects the call, and the reason contains the changed call",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    canary: Some(("PreToolUse", canary, denies)),
    headless: &["crush", "run", PROMPT_WORD],
    ..Adapter::new(
        &AGENT,
        |message, fields| claude_shape::decode(message, fields, &AGENT, &KEYS),
        encode,
        fail,
        install,
    )
};

const KEYS: MessageKeys = MessageKeys { point: &["event"], project: "CRUSH_PROJECT_DIR", ..MessageKeys::CLAUDE };

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let mut top = Map::new();
    let mut put = |key: &str, value: Value| top.insert(key.to_owned(), value);
    match &outcome.answer {
        Answer::Rejected(rejection) => {
            put("decision", json!("deny"));
            put("reason", json!(nonempty_reason(&reason::rejected(rejection))));
            if rejection.ends.is_some() && AGENT.abilities(&call.point).stops {
                put("halt", json!(true));
            }
        }
        Answer::Approved { by } => {
            put("decision", json!("allow"));
            put("reason", json!(format!("approved by {by}")));
        }
        Answer::Changed { arguments, .. } => {
            put("updated_input", arguments.clone());
        }
        _ => {}
    }
    if !outcome.context.is_empty() {
        put("context", json!(outcome.context));
    }
    if top.is_empty() { Reply::empty() } else { Reply::json(&Value::Object(top)) }
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    match strictest(&AGENT, point) {
        StrictestReply::Deny(_) => Reply::json(&json!({ "decision": "deny", "reason": nonempty_reason(why) })),
        StrictestReply::Notify(_) | StrictestReply::Nothing => Reply::empty(),
        StrictestReply::Unknown => Reply::exit_2(nonempty_reason(why)),
    }
}

fn denies(point: &str, reply: &Reply) -> bool {
    denies_by_decision(&AGENT, point, reply, "deny")
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let user = (context.variable)("CRUSH_GLOBAL_CONFIG");
    let user = user.unwrap_or_else(|| context.directory("XDG_CONFIG_HOME", ".config").join("crush"));
    let managed = Err("Crush has no hooks for a whole machine, so install them for each user or project");
    let path = context.path(user.join("crush.json"), "crush.json", managed)?;
    let entries = elements(
        &AGENT,
        |point| json!({ "name": "hookhost", "command": context.command(&AGENT, point.name), "timeout": point.timeout }),
    );
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "event": "PreToolUse",
        "session_id": SESSION,
        "cwd": directory,
        "tool_name": "bash",
        "tool_input": { "command": command },
    })
}
