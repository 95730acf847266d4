//! pi. Sources: the types of its package `@earendil-works/pi-coding-agent` 0.87.1, its page on extensions, and messages recorded
//! with 0.87.1.
//!
//! pi has no hooks, and runs extensions in its own process: `plugin.ts` asks the hook program and follows its reply.

mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::agents::own_plugin::{PROMPT, TELLS};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// pi has no permissions, and asks nobody if no user is present. So hookhost never leaves a question to it.
const BEFORE_TOOL: Abilities = Abilities { rejects: true, changes: true, stops: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "pi",
    title: "pi",
    programs: &["pi"],
    versions: ("0.87.1", "0.87.1"),
    points: &[
        HookPoint::new("session_start", EventKind::SessionStart, Abilities { adds_context: true, ..TELLS }),
        HookPoint::new("session_shutdown", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("input", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("tool_call", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("tool_result", EventKind::AfterToolCall, Abilities { stops: true, ..PROMPT }),
        HookPoint::new("session_before_compact", EventKind::BeforeCompaction, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("session_compact", EventKind::AfterCompaction, TELLS),
        HookPoint::new("message_end", EventKind::FinalizeContent, Abilities { rejects: true, replaces: true, ..TELLS }),
        HookPoint::new("agent_before_settle", EventKind::QueueEmpty, Abilities { goes_on: true, ..TELLS }),
        // A command that the user runs with `!`.
        HookPoint::new("user_bash", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("shell commands that the user runs with !", Covered::Blind, "they are the user's own"),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new(
            "tools of other extensions",
            Covered::Gated,
            "an extension itself may do anything without a tool",
        ),
        Coverage::new("texts of the agent", Covered::Gated, "the user sees a text while it streams in"),
        Coverage::new("sub-agents", Covered::Blind, "pi has none; an extension that starts another pi tells nothing"),
    ],
    gaps: &[
        "`pi --no-extensions` and an extension that was removed from its directory run the agent without any hook",
        "an extension that is loaded later may change a call after it was asked about",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .headless(&["pi", "-p", TASK]);
