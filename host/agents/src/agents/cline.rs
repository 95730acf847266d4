//! Cline, the command-line agent and the editor's extension. Sources: cline/cline, `sdk/packages/core/src/hooks/` and
//! `proto/cline/hooks.proto`; messages recorded with the command-line agent 3.0.65.
//!
//! Both run the same hook files and send different messages: the command-line agent names the hook point of the file
//! `PreToolUse` `tool_call`, and sends the arguments in their original form.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// `cancel` ends the whole run, so every rejection does.
const CANCELS: Abilities = Abilities { rejects: true, stops: true, adds_context: true, ..Abilities::NONE };

/// Hook timeout of the extension, in seconds.
const EXTENSION: u16 = 30;

/// Hook timeout of the command-line agent, in seconds.
const COMMAND_LINE: u16 = 120;

static AGENT: Agent = Agent {
    name: "cline",
    title: "Cline",
    programs: &["cline"],
    versions: ("3.0.65", "4.1.10"),
    points: &[
        // The names of the hook files. The extension also uses them in its messages.
        HookPoint::new("TaskStart", EventKind::SessionStart, Abilities { adds_context: true, ..Abilities::NONE }),
        HookPoint::new("TaskResume", EventKind::SessionStart, Abilities { adds_context: true, ..Abilities::NONE }),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, CANCELS).timeout(EXTENSION),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, CANCELS).timeout(EXTENSION),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, CANCELS).timeout(EXTENSION),
        HookPoint::new("TaskComplete", EventKind::QueueEmpty, Abilities::NONE),
        HookPoint::new("TaskError", EventKind::AgentError, Abilities::NONE),
        HookPoint::new("TaskCancel", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities::NONE),
        HookPoint::new("SessionShutdown", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        // The names in the command-line agent's messages. It waits for a hook only before and after a tool.
        HookPoint::new("agent_start", EventKind::SessionStart, Abilities::NONE).not_installed(),
        HookPoint::new("agent_resume", EventKind::SessionStart, Abilities::NONE).not_installed(),
        HookPoint::new("prompt_submit", EventKind::PromptSubmit, Abilities::NONE).not_installed(),
        HookPoint::new("tool_call", EventKind::BeforeToolCall, Abilities { changes: true, ..CANCELS })
            .timeout(COMMAND_LINE)
            .not_installed(),
        HookPoint::new("tool_result", EventKind::AfterToolCall, CANCELS).timeout(COMMAND_LINE).not_installed(),
        HookPoint::new("agent_end", EventKind::QueueEmpty, Abilities::NONE).not_installed(),
        HookPoint::new("agent_error", EventKind::AgentError, Abilities::NONE).not_installed(),
        HookPoint::new("agent_abort", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("session_shutdown", EventKind::SessionEnd, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, "one call may have several commands"),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new("tools that the model's provider runs", Covered::Blind, "no hook is called for them"),
        Coverage::new("sub-agents", Covered::Gated, "their calls are told with `parent_agent_id`"),
        Coverage::new(
            "prompts in the command-line agent",
            Covered::Observed,
            "it does not wait for the hook, and does not call it about the prompt of its command line",
        ),
    ],
    gaps: &[
        "a hook that crashes, takes too long or prints something else lets the call run: nothing in Cline closes this",
        "a rejection ends the run, and the model is not told why; the user is",
        "the extension may lose a rejection where several hooks of the user run at once",
        "the extension asks its user about a call before the hook does",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .unsettled(encode::unsettled)
        .canary(canary::message, encode::denies)
        .headless(&["cline", TASK]);
