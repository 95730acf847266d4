//! Factory Droid. Source: the vendor's hooks page and hooks reference.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::claude_shape::{CONTEXT, PROMPT, STOP, TELLS};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// `updatedInput` is only documented together with `allow`, which would skip the question to the user for a mere
/// change.
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
        Coverage::new("shell commands", Covered::Gated, "the tool is called `Execute`"),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new(
            "sub-agents",
            Covered::Gated,
            "the call that starts one; whether their own calls are told is not known",
        ),
        Coverage::new("results of tools", Covered::Observed, "the model gets them as they are"),
    ],
    gaps: &[
        "a hook that crashes, is missing, or takes too long lets the call run: the agent has no setting against it",
        "a call cannot be changed without waiving the question to the user: it is rejected, and the reason has the changed call",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies)
        .headless(&["droid", "exec", "--auto", "low", TASK]);
