//! OpenAI Codex. Sources: the vendor's hooks page of 0.15x, the JSON schemas of its replies, and messages recorded with 0.169.0.

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
pub struct Codex;

/// `systemMessage` is shown to the user wherever a reply is read.
const TELLS: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

/// Its model reads a text, and nothing else is possible.
const CONTEXT: Abilities = Abilities { adds_context: true, ..TELLS };

/// A prompt cannot be replaced, only refused.
const PROMPT: Abilities = Abilities { rejects: true, adds_context: true, stops: true, ..TELLS };

/// There is no question before a call: `ask` and an `allow` without a change count as a hook that failed, and the call runs.
/// `continue: false` counts so, too.
const BEFORE_TOOL: Abilities = Abilities { changes: true, rejects: true, adds_context: true, ..TELLS };

/// A changed call is refused here, as is `interrupt`.
const PERMISSION: Abilities = Abilities { rejects: true, approves: true, ..TELLS };

/// The reason of a block takes the place of the result.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// The reason of a block is the agent's next prompt.
const STOP: Abilities = Abilities { goes_on: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    programs: &["codex"],
    versions: ("0.150.0", "0.169.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        // At this one and at an interruption it waits for three seconds at most.
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
        // These three are in no document. Their messages say nothing but that the event is there.
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

impl Adapter for Codex {
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
