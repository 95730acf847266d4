//! Grok Build. Sources: the vendor's hooks page, and reports about the behaviour of 0.2.106 and 1.0.0.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

static AGENT: Agent = Agent {
    name: "grok-build",
    title: "Grok Build",
    programs: &["grok"],
    versions: ("0.2.106", "1.0.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities::NONE),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, Abilities::NONE),
        // The only hook point that can refuse a call. The key for changed arguments is not documented.
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("PermissionDenied", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, Abilities::NONE),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, Abilities::NONE),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities::NONE),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, Abilities::NONE),
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities::NONE),
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE),
        HookPoint::new("StopCancelled", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new(
            "sub-agents",
            Covered::Gated,
            "the call that starts one; whether their own calls are told is not known",
        ),
        Coverage::new("prompts", Covered::Observed, "a prompt cannot be refused"),
        Coverage::new("results of tools", Covered::Observed, "the model gets them as they are"),
    ],
    gaps: &[
        "a hook that crashes, is missing, or takes too long lets the call run: the agent has no setting against it",
        "versions before 1.0.0 did not call hooks in every mode",
        "the agent also runs the hooks of Claude Code and Cursor, in its own language: a call that two of them report is settled once",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies)
        .headless(&["grok", "--always-approve", "-p", TASK]);
