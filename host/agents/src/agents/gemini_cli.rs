//! Gemini CLI. Sources: google-gemini/gemini-cli, its reference of hooks and `packages/core/src/hooks/`, and messages recorded
//! with 0.61.0.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::claude_shape::{CONTEXT, PROMPT, STOP, TELLS};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// Gemini CLI merges changed arguments into those of the call. `allow` skips no question to the user, and a text for
/// the model is dropped. Without a user, a question ends the run.
const BEFORE_TOOL: Abilities =
    Abilities { changes: true, merges: true, asks: true, rejects: true, stops: true, ..TELLS };

/// The reason of a denial replaces the result.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// A synthetic answer replaces the model's.
const BEFORE_MODEL: Abilities = Abilities { responds: true, replaces: true, rejects: true, stops: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "gemini-cli",
    title: "Gemini CLI",
    programs: &["gemini"],
    versions: ("0.61.0", "0.61.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("BeforeAgent", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("AfterAgent", EventKind::QueueEmpty, STOP),
        HookPoint::new("BeforeModel", EventKind::BeforeInference, BEFORE_MODEL),
        // The agent calls the hook for each chunk of an answer.
        HookPoint::new("AfterModel", EventKind::AfterInference, Abilities::NONE).not_installed(),
        HookPoint::new("BeforeToolSelection", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("BeforeTool", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("AfterTool", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("PreCompress", EventKind::BeforeCompaction, TELLS),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("files named in a prompt with @", Covered::Blind, "the agent reads them without a tool"),
        Coverage::new("web pages", Covered::Gated, "`web_fetch` has the address within a text"),
        Coverage::new("MCP tools", Covered::Gated, "with the name of the server"),
        Coverage::new("requests to the model", Covered::Gated, "a rule can refuse one, or answer it"),
        Coverage::new(
            "sub-agents",
            Covered::Gated,
            "the call that starts one; whether their own calls are told is not known",
        ),
    ],
    gaps: &[
        "a hook that exits with 1, prints no JSON, or takes too long lets the call run: the agent has no setting against it",
        "a plugin cannot take an argument out of a call: the call is rejected, and the reason has the changed one",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .canary(canary::message, encode::denies)
        .headless(&["gemini", "--yolo", "-p", TASK]);
