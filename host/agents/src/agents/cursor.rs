//! Cursor, the editor and `cursor-agent`. Sources: the vendor's hooks reference of 3.18, and reports about the messages
//! of the command-line agent.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::event::{HookCall, HookEvent};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// Only `preToolUse` accepts changed arguments. Replies never use `ask`: `preToolUse` accepts it without enforcing it,
/// `subagentStart` treats it as a denial, and at `beforeShellExecution` and `beforeMCPExecution` the command-line agent
/// decides by its own list.
const BEFORE_TOOL: Abilities = Abilities { changes: true, ..Abilities::REJECTS };

const CONTEXT: Abilities = Abilities { adds_context: true, ..Abilities::NONE };

/// Only the result of an MCP tool can be replaced.
const AFTER_MCP_TOOL: Abilities = Abilities { replaces: true, rejects: true, ..CONTEXT };

/// The agent continues with a message. It stops after it was continued five times.
const STOP: Abilities = Abilities { goes_on: true, ..Abilities::NONE };

/// Hook point of the hook in Claude Code's file, if Cursor runs it. Cursor then sends its own message, and reads Claude
/// Code's reply.
const COMPATIBLE: &str = "PreToolUse";

static AGENT: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor-agent", "cursor"],
    versions: ("3.18.2", "3.18.2"),
    points: &[
        HookPoint::new("sessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("sessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("beforeSubmitPrompt", EventKind::PromptSubmit, Abilities::REJECTS),
        HookPoint::new("preToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        // Cursor reports one call at `preToolUse` and again at one of these. Versions differ in which of them they
        // call.
        HookPoint::new("beforeShellExecution", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("beforeMCPExecution", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("beforeReadFile", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("beforeTabFileRead", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("postToolUse", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("postToolUseFailure", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("afterShellExecution", EventKind::AfterToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("afterMCPExecution", EventKind::AfterToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("afterFileEdit", EventKind::AfterToolCall, Abilities::NONE).not_installed(),
        HookPoint::new("afterTabFileEdit", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("subagentStart", EventKind::SubagentStart, Abilities::REJECTS),
        HookPoint::new("subagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("preCompact", EventKind::BeforeCompaction, Abilities { tells_user: true, ..Abilities::NONE }),
        HookPoint::new("afterAgentResponse", EventKind::FinalizeContent, Abilities::NONE),
        HookPoint::new("stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("afterAgentThought", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("workspaceOpen", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new(COMPATIBLE, EventKind::BeforeToolCall, Abilities::REJECTS).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, "writes are told at `preToolUse` alone"),
        Coverage::new("files that Tab completion reads", Covered::Gated, ""),
        Coverage::new("files that Tab completion writes", Covered::Observed, "told when they are written"),
        Coverage::new("web pages", Covered::Gated, "told at `preToolUse` alone"),
        Coverage::new("MCP tools", Covered::Gated, "the message does not name the server, only its command or address"),
        Coverage::new("sub-agents", Covered::Gated, "refused when they start"),
    ],
    gaps: &[
        "a hook that fails or is missing stops the call only where its entry has `failClosed`; entries of other people may lack it",
        "some versions were reported not to load `hooks.json` at all: prove the hook after each update",
        "cloud agents run the hooks of the project alone, and not all of them",
        "a text of the agent is told after the user has seen it",
    ],
};

/// Returns the abilities for a call. For a result, they depend on the tool.
fn abilities(call: &HookCall) -> Abilities {
    match &call.event {
        HookEvent::AfterToolCall { call: tool, .. }
            if call.point == "postToolUse" && tool.name.starts_with(decode::MCP) =>
        {
            AFTER_MCP_TOOL
        }
        _ => AGENT.abilities(&call.point),
    }
}

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .abilities(abilities)
        .canary(canary::message, encode::denies)
        .headless(&["cursor-agent", "--force", "-p", TASK]);
