//! Claude Code. Sources: the vendor's hooks reference of 2.1.236, and messages recorded with 2.1.330.

mod canary;
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
use std::path::Path;

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

/// A reply with `systemMessage` is shown to the user at every hook point.
const TELLS: Abilities = Abilities { tells_user: true, ..Abilities::NONE };

/// A prompt cannot be replaced, only refused.
const PROMPT: Abilities = Abilities { rejects: true, adds_context: true, stops: true, ..TELLS };

/// What counts before a tool call. An answer in place of the tool is not possible. Without anybody there, a question counts
/// as no, and the model is told why.
const BEFORE_TOOL: Abilities =
    Abilities { changes: true, asks: true, approves: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// `updatedToolOutput` replaces a result, also by a refusal.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// The agent goes on when it is blocked from stopping; it gives up after eight times.
const STOP: Abilities = Abilities { goes_on: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    versions: ("2.1.295", "2.1.330"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities { adds_context: true, ..TELLS }),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE).timeout(1),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new(
            "PermissionRequest",
            EventKind::BeforeToolCall,
            Abilities { rejects: true, approves: true, changes: true, stops: true, ..TELLS },
        )
        .not_installed(),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, Abilities { adds_context: true, ..TELLS }),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, Abilities { adds_context: true, ..TELLS }),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, TELLS),
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE),
        HookPoint::new(
            "MessageDisplay",
            EventKind::FinalizeContent,
            Abilities { replaces: true, rejects: true, ..TELLS },
        )
        .not_installed(),
        HookPoint::new("UserPromptExpansion", EventKind::CustomEvent, TELLS),
        HookPoint::new("PermissionDenied", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("TaskCreated", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("TaskCompleted", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("ConfigChange", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("InstructionsLoaded", EventKind::CustomEvent, Abilities::NONE),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("files named in a prompt with @", Covered::Blind, "the agent reads them without a tool"),
        Coverage::new(
            "web pages",
            Covered::Gated,
            "searches that the vendor's servers make are told as `WebSearch` calls",
        ),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new("sub-agents", Covered::Gated, "their calls are told with `agent_id`"),
    ],
    gaps: &[
        "`onFailure: \"block\"` closes the gate when the hook crashes or is missing, from 2.1.295 on; an older version goes on",
        "a settings file that is not strict JSON, or has a key of its own with a value of another type, is not read at all",
        "a mod can answer `tool.check` after the hook; only hooks of the managed settings come before mods",
    ],
};

impl Adapter for ClaudeCode {
    fn agent(&self) -> &'static Agent {
        &AGENT
    }

    fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable> {
        decode::decode(message)
    }

    fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply {
        encode::encode(&call.point, outcome)
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

    fn canary(&self, command: &str, directory: &Path) -> Option<(&'static str, Vec<u8>)> {
        Some(canary::message(command, directory))
    }

    fn denies(&self, point: &str, reply: &Reply) -> bool {
        encode::denies(point, reply)
    }

    fn headless(&self, prompt: &str) -> Option<Vec<String>> {
        Some(canary::headless(prompt))
    }
}
