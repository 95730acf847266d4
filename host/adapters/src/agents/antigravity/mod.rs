//! Antigravity (`agy`). Sources: reports of what its versions 1.0.5 to 1.1.26 do, and a page of the vendor on hooks.

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
pub struct Antigravity;

/// `force_ask` puts a question to the user whatever was allowed before.
const BEFORE_TOOL: Abilities = Abilities { asks: true, ..Abilities::REJECTS };

static AGENT: Agent = Agent {
    name: "antigravity",
    title: "Antigravity",
    programs: &["agy"],
    versions: ("1.1.2", "1.1.26"),
    points: &[
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        // Some versions know these and never call them, and what they say is in no document.
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities::NONE).not_installed(),
        HookPoint::new("PreInvocation", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostInvocation", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, "as calls of `call_mcp_tool`"),
        Coverage::new("sub-agents", Covered::Gated, "the call that starts one"),
        Coverage::new("results of tools", Covered::Observed, "only whether the tool failed is told"),
        Coverage::new("prompts", Covered::Blind, "there is no hook point"),
    ],
    gaps: &[
        "there is no reply that says nothing: where no rule objects, the hook says `allow`, which 1.1.2 does not take as a \
         permission; a version that does would not ask its user any more",
        "one invalid hook of anybody makes the agent ignore the whole file, without a word",
        "some versions read `.agents/hooks.json` of a project only from installed plugins",
    ],
};

impl Adapter for Antigravity {
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

    fn neutral(&self, point: Option<&str>) -> Reply {
        encode::neutral(point)
    }

    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable> {
        install::plan(context)
    }
}
