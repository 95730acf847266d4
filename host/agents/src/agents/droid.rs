//! The adapter of Factory Droid. Source: the vendor's hooks page and hooks reference.
//!
//! Droid uses the format of Claude Code. In some messages, the keys are in camel case. Droid reads its hooks from
//! `hooks.json`, whose outermost keys are the hook points.

use super::prelude::*;
use crate::claude_shape::{self, CONTEXT, Denial, MessageKeys, PROMPT, ReplyDialect, STOP, TELLS};

/// Calls cannot be changed, because `updatedInput` is documented only together with `allow`. After a reply with `allow`, Droid
/// would not ask the user.
const BEFORE_TOOL: Abilities = Abilities { asks: true, approves: true, rejects: true, stops: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "droid",
    title: "Factory Droid",
    programs: &["droid"],
    versions: ("", ""),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, TELLS),
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
    ],
    coverage: &[
        Coverage::gated("shell commands", "the tool is called `Execute`"),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", ""),
        Coverage::gated(
            "sub-agents",
            "the call that starts one is reported; it is unknown if its own calls are reported",
        ),
        Coverage::observed("results of tools", "the model gets them unchanged"),
    ],
    gaps: &[
        "if a hook crashes, is missing or takes too long, the call runs; no setting prevents this",
        "if hookhost changed a call, Droid would not ask the user about the call; so hookhost rejects it, and the reason contains the changed call",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers: |context| ServersFile::in_both(context, ".factory/mcp.json"),
    canary: Some(("PreToolUse", canary, |point, reply| claude_shape::denies(&AGENT, &DIALECT, point, reply))),
    headless: &["droid", "exec", "--auto", "low", PROMPT_WORD],
    ..Adapter::new(
        &AGENT,
        |message, fields| claude_shape::decode(message, fields, &AGENT, &KEYS),
        |call, outcome| claude_shape::encode(&AGENT, &DIALECT, call, outcome),
        |point, why| claude_shape::fail(&AGENT, &DIALECT, point, why),
        install,
    )
};

const KEYS: MessageKeys = MessageKeys {
    point: &["hook_event_name", "hookEventName"],
    session: &["session_id", "sessionId"],
    project: "FACTORY_PROJECT_DIR",
    ..MessageKeys::CLAUDE
};

const DIALECT: ReplyDialect =
    ReplyDialect { denial, change_needs_allow: false, interrupts: false, needs_reason: false };

fn denial(point: &str) -> Denial {
    match point {
        "PreToolUse" => Denial::Permission,
        _ => Denial::Block,
    }
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed =
        Err("Droid has no file for an organisation's hooks, so add `hookhost-hook droid` in Droid's web settings \
                       (Enterprise Controls, Hooks Policy), or install for a user");
    let path = context.path(".factory/hooks.json", ".factory/hooks.json", managed)?;
    let entries = groups(&AGENT, &[], Some("*"), |point| context.command_hook(&AGENT, point));
    let step = "If `settings.json` in the same directory has hooks, move them to `hooks.json`, because Droid reads only one \
                of the two files. Then restart Droid";
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]).step(step))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": directory,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Execute",
        "tool_input": { "command": command, "summary": "Proves the hook" },
    })
}
