//! The adapter of OpenAI Codex. Sources: the vendor's hooks page of 0.15x, the JSON schemas of the replies that Codex accepts, and
//! messages recorded with 0.169.0.
//!
//! Codex's messages have the format of Claude Code, and also contain `turn_id` and `model`. If a reply has an unknown
//! key or an empty reason, Codex treats the reply as a failed hook, and the call runs. Codex reads its hooks from
//! `hooks.json`, and runs only the hooks that a person has trusted.

use super::prelude::*;
use crate::claude_shape::{self, CONTEXT, Denial, MessageKeys, PROMPT, ReplyDialect, STOP, TELLS};
use crate::mcp_servers::ServersFormat;

/// Codex cannot ask its user before a call. It treats a reply with `ask`, with `continue: false` or with an `allow`
/// without a change as a failed hook, and the call runs. Codex refuses a change that removes the string `command`.
/// Older versions ignore such a change and run the original call.
const BEFORE_TOOL: Abilities =
    Abilities { changes: true, keeps_command: true, rejects: true, adds_context: true, ..TELLS };

/// At this hook point, Codex refuses a changed call and the key `interrupt`.
const PERMISSION: Abilities = Abilities { rejects: true, approves: true, ..TELLS };

/// If the reply is a block, its reason replaces the tool's result.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, adds_context: true, stops: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    versions: ("0.150.0", "0.169.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        // At this hook point and at `Interrupt`, the agent waits for the hook for at most three seconds.
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE).timeout(3),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PermissionRequest", EventKind::BeforeToolCall, PERMISSION),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, CONTEXT),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, TELLS),
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("Interrupt", EventKind::CustomEvent, Abilities::NONE).timeout(3),
        // The next three hook points are not documented. The messages of these hook points report only that the event happened.
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE).not_installed(),
        HookPoint::new("PreModelRequest", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostModelResponse", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", "calls of the shell and of unified exec are reported as `Bash`"),
        Coverage::blind("text that it types into a running command", "Codex does not report `write_stdin`"),
        Coverage::gated("file edits", "`apply_patch`, with the text of the patch"),
        Coverage::blind("web searches", "they run on the vendor's servers"),
        Coverage::gated("MCP tools", ""),
        Coverage::gated("sub-agents", "their start is a call of `spawn_agent`"),
    ],
    gaps: &[
        "if a hook crashes, is missing or takes too long, the call runs; no setting prevents this",
        "Codex skips a hook that nobody has trusted, and `codex exec` shows no message about it",
        "in some versions, Codex did not report the calls that a program in its code mode made",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers,
    canary: Some(("PreToolUse", canary, |point, reply| claude_shape::denies(&AGENT, &DIALECT, point, reply))),
    headless: &["codex", "exec", "--skip-git-repo-check", PROMPT_WORD],
    ..Adapter::new(
        &AGENT,
        |message, fields| claude_shape::decode(message, fields, &AGENT, &KEYS),
        |call, outcome| claude_shape::encode(&AGENT, &DIALECT, call, outcome),
        |point, why| claude_shape::fail(&AGENT, &DIALECT, point, why),
        install,
    )
};

const KEYS: MessageKeys = MessageKeys { project: "", ..MessageKeys::CLAUDE };

const DIALECT: ReplyDialect = ReplyDialect { denial, change_needs_allow: true, interrupts: false, needs_reason: true };

fn denial(point: &str) -> Denial {
    match point {
        "PreToolUse" => Denial::Permission,
        "PermissionRequest" => Denial::Behavior,
        "PreCompact" => Denial::Veto,
        _ => Denial::Block,
    }
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = Err("Codex reads managed hooks from its `requirements.toml`, which an administrator writes: add \
                       `hookhost-hook codex` there, or install for a user");
    let user = context.directory("CODEX_HOME", ".codex").join("hooks.json");
    let path = context.path(user, ".codex/hooks.json", managed)?;
    let entries = groups(&AGENT, &["hooks"], None, |point| context.command_hook(&AGENT, point));
    let trust = "Trust the project in Codex, which reads no hooks of untrusted projects";
    Ok(Plan::new(vec![FilePlan::Json { path, entries }])
        .step("Trust it once in Codex: /hooks. Until then Codex skips the hooks")
        .step_in(context, Scope::Project, trust))
}

fn mcp_servers(context: &Context<'_>) -> Option<ServersFile> {
    let user = context.directory("CODEX_HOME", ".codex").join("config.toml");
    let file = ServersFile::of_scope(context, user, ".codex/config.toml")?;
    Some(ServersFile { places: &[&["mcp_servers"]], format: ServersFormat::Toml, ..file })
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "session_id": SESSION,
        "turn_id": SESSION,
        "transcript_path": null,
        "cwd": directory,
        "hook_event_name": "PreToolUse",
        "model": "",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": { "command": command },
    })
}
