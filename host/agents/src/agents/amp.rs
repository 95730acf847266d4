//! Amp. Source: the vendor's description of its plugin interface, which it calls experimental; no message was recorded.
//!
//! Amp has no hooks, and runs plugins in its own process: `plugin.ts` asks the hook program and follows its reply.

mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::agents::own_plugin::TELLS;
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// Amp runs tools without asking its user, unless a rule of its own says so. A plugin's approval skips no such rule.
const BEFORE_TOOL: Abilities = Abilities { rejects: true, changes: true, responds: true, ..TELLS };

const AFTER_TOOL: Abilities = Abilities { rejects: true, replaces: true, adds_context: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "amp",
    title: "Amp",
    programs: &["amp"],
    versions: ("", ""),
    points: &[
        HookPoint::new("session.start", EventKind::SessionStart, TELLS),
        HookPoint::new(
            "agent.start",
            EventKind::PromptSubmit,
            Abilities { rejects: true, adds_context: true, ..TELLS },
        ),
        HookPoint::new("tool.call", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("tool.result", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("agent.end", EventKind::QueueEmpty, Abilities { goes_on: true, ..TELLS }),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new("sub-agents", Covered::Gated, "the call that starts one, and the calls in its thread"),
        Coverage::new("texts of the agent", Covered::Blind, "no event tells them before the user sees them"),
        Coverage::new("the end of a session, and summaries", Covered::Blind, "the agent has no event for them"),
    ],
    gaps: &[
        "`amp -x` may begin before its plugins are loaded: start it with `--plugin-ready-timeout`, or its first calls are not asked about",
        "the extension for editors loads no plugins",
        "with several plugins the order in which they are asked is not defined: another one may change a call afterwards",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .headless(&["amp", "--plugin-ready-timeout", "30", "-x", TASK]);
