//! The adapter of Qwen Code. Sources: the page about hooks of QwenLM/qwen-code, and messages recorded with 0.24.4.
//!
//! Qwen Code uses the format of Claude Code. Its messages also contain `timestamp` and `tool_call_id`. Qwen Code reads
//! its hooks from `settings.json` of the user, the project or the machine.

use super::prelude::*;
use crate::agents::gemini_cli::hook;
use crate::claude_shape::{self, CONTEXT, Denial, MessageKeys, PROMPT, ReplyDialect, STOP, TELLS};

/// Before a call, the agent ignores `updatedInput` and a text for the model, contrary to the documentation. If no user
/// is present, the agent treats a question as a denial, and the model reads the reason. `continue: false` stops the
/// call, but not the run.
const BEFORE_TOOL: Abilities = Abilities { asks: true, approves: true, rejects: true, ..TELLS };

/// The hook can answer in place of the user.
const PERMISSION: Abilities = Abilities { rejects: true, approves: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "qwen-code",
    title: "Qwen Code",
    programs: &["qwen"],
    versions: ("0.24.4", "0.24.4"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("SessionDelete", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PermissionRequest", EventKind::BeforeToolCall, PERMISSION).not_installed(),
        HookPoint::new("PermissionDenied", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("PostToolBatch", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, CONTEXT),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, TELLS),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, Abilities::NONE),
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
        // While the model writes a text, the agent repeatedly sends the part that is already written. The agent ignores
        // the replies.
        HookPoint::new("MessageDisplay", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("TodoCreated", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("TodoCompleted", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", ""),
        Coverage::gated("sub-agents", "including their calls, which contain `agent_id`"),
        Coverage::observed("results of tools", "the model gets them unchanged"),
    ],
    gaps: &[
        "if a hook crashes, is missing or takes too long, the call runs; no setting prevents this",
        "if a plugin changes a call, hookhost rejects the call, and the reason contains the changed call",
        "`disableAllHooks` in a settings file turns off all hooks",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers: |context| ServersFile::in_both(context, ".qwen/settings.json"),
    canary: Some(("PreToolUse", canary, |point, reply| claude_shape::denies(&AGENT, &DIALECT, point, reply))),
    headless: &["qwen", "--yolo", "-p", PROMPT_WORD],
    ..Adapter::new(
        &AGENT,
        decode,
        |call, outcome| claude_shape::encode(&AGENT, &DIALECT, call, outcome),
        |point, why| claude_shape::fail(&AGENT, &DIALECT, point, why),
        install,
    )
};

const KEYS: MessageKeys = MessageKeys { project: "QWEN_PROJECT_DIR", ..MessageKeys::CLAUDE };

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut call = claude_shape::decode(message, fields, &AGENT, &KEYS)?;
    if matches!(&call.event, HookEvent::PromptSubmit { prompt } if prompt.is_empty()) {
        // The agent also sends this message when it passes tool results to the model, although tool results are not a prompt of the
        // user.
        call.event = HookEvent::Custom { payload: fields.as_value() };
    }
    Ok(call)
}

const DIALECT: ReplyDialect =
    ReplyDialect { denial, change_needs_allow: false, interrupts: false, needs_reason: false };

fn denial(point: &str) -> Denial {
    match point {
        "PreToolUse" => Denial::Permission,
        "PermissionRequest" => Denial::Behavior,
        _ => Denial::Block,
    }
}

/// Newer versions treat a timeout below 1000 as seconds and any other timeout as milliseconds. Older versions treat
/// every timeout as milliseconds.
fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed =
        machine_path("/etc/qwen-code/settings.json", Some("/Library/Application Support/QwenCode/settings.json"), None);
    let path = context.path(".qwen/settings.json", ".qwen/settings.json", Ok(managed))?;
    let entries = groups(&AGENT, &["hooks"], None, |point| hook(context, &AGENT, point));
    let trust = "Trust the directory in Qwen Code, which runs no hooks of untrusted projects";
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]).step_in(context, Scope::Project, trust))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": directory,
        "hook_event_name": "PreToolUse",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "permission_mode": "default",
        "prompt_id": SESSION,
        "tool_name": "run_shell_command",
        "tool_input": { "command": command },
    })
}
