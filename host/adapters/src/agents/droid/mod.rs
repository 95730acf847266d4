//! Factory Droid. Source: the vendor's hooks page and hooks reference.

mod decode;
mod encode;
mod install;

use crate::adapter::Adapter;
use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::event::HookCall;
use crate::install::{Context, NotInstallable, Plan};
use crate::message::{Message, Unreadable};
use crate::outcome::Outcome;
use crate::reply::Reply;
use hookhost_contract::EventKind;

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct Droid;

/// `systemMessage` is shown to the user.
const TELLS: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

/// Its model reads a text, and nothing else is possible.
const CONTEXT: Abilities = Abilities { adds_context: true, ..TELLS };

/// A prompt cannot be replaced, only refused.
const PROMPT: Abilities = Abilities { rejects: true, adds_context: true, stops: true, ..TELLS };

/// `updatedInput` is documented with `allow` alone, which would waive the question to the user for a mere change.
const BEFORE_TOOL: Abilities = Abilities { asks: true, approves: true, rejects: true, stops: true, ..TELLS };

/// The agent continues when it is blocked from stopping.
const STOP: Abilities = Abilities { goes_on: true, ..TELLS };

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

impl Adapter for Droid {
    fn agent(&self) -> &'static Agent {
        &AGENT
    }

    fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable> {
        decode::decode(message)
    }

    fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply {
        encode::encode(call, outcome)
    }

    fn fail(&self, point: Option<&str>, why: &str) -> Reply {
        encode::fail(point, why)
    }

    fn neutral(&self, _point: Option<&str>) -> Reply {
        Reply::empty()
    }

    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable> {
        install::plan(context)
    }
}
