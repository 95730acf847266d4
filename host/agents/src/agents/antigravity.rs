//! Antigravity (`agy`). Sources: reports about the behaviour of versions 1.0.5 to 1.1.26, and a page of the vendor on
//! hooks.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// `force_ask` asks the user even about a call that was allowed before.
const BEFORE_TOOL: Abilities = Abilities { asks: true, ..Abilities::REJECTS };

static AGENT: Agent = Agent {
    name: "antigravity",
    title: "Antigravity",
    programs: &["agy"],
    versions: ("1.1.2", "1.1.26"),
    points: &[
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        // Some versions know these hook points and never call them. Their messages are not documented.
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

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .canary(canary::message, encode::denies)
        .headless(&["agy", "--dangerously-skip-permissions", "-p", TASK]);
