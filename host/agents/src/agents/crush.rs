//! Crush. Source: charmbracelet/crush, its page about hooks and its skill `crush-hooks`.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// Crush merges changed arguments into those of the call. `halt` ends the turn.
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
    // Older versions know only the first one, and reject a file that names another.
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
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, "the name does not tell the server from the tool"),
        Coverage::new("calls of sub-agents", Covered::Blind, "only the call that starts one is told"),
        Coverage::new("prompts and results of tools", Covered::Blind, "older versions have no hook point for them"),
    ],
    gaps: &[
        "a hook that crashes, is missing, or takes too long lets the call run: the agent has no setting against it",
        "the calls of sub-agents are not told: reject the tools `agent` and `agentic_fetch` where that counts",
        "a plugin cannot take an argument out of a call: the call is rejected, and the reason has the changed one",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies)
        .headless(&["crush", "run", TASK]);
