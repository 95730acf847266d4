//! OpenAI Codex. Sources: the vendor's hooks page of 0.15x, the JSON schemas of its replies, and messages recorded with 0.169.0.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::claude_shape::{CONTEXT, PROMPT, STOP, TELLS};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// Codex cannot ask before a call: it treats `ask`, `continue: false` and an `allow` without a change as a failed hook,
/// and the call runs. It refuses a change that removes the string `command`; older versions let the unchanged call run.
const BEFORE_TOOL: Abilities =
    Abilities { changes: true, keeps_command: true, rejects: true, adds_context: true, ..TELLS };

/// Codex refuses a changed call and `interrupt` here.
const PERMISSION: Abilities = Abilities { rejects: true, approves: true, ..TELLS };

/// The reason of a block replaces the result.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, adds_context: true, stops: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    versions: ("0.150.0", "0.169.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        // At this hook point and at an interruption the agent waits for at most three seconds.
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
        // These three are not documented. Their messages say only that the event happened.
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE).not_installed(),
        HookPoint::new("PreModelRequest", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostModelResponse", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, "the shell and unified exec are told as `Bash`"),
        Coverage::new("text typed into a running command", Covered::Blind, "`write_stdin` is not told"),
        Coverage::new("files written by tools", Covered::Gated, "`apply_patch`, with the text of the patch"),
        Coverage::new("web pages", Covered::Blind, "searches run on the vendor's servers"),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new("sub-agents", Covered::Gated, "their start is a call of `spawn_agent`"),
    ],
    gaps: &[
        "a hook that crashes, is missing, or takes too long lets the call run: the agent has no setting against it",
        "a hook that nobody trusted yet is skipped, by `codex exec` without a word",
        "the calls within a program of code mode were not told in some versions",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies)
        .headless(&["codex", "exec", "--skip-git-repo-check", TASK]);
