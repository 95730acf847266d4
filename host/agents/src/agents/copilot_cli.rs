//! GitHub Copilot CLI. Sources: the vendor's hooks reference, and messages recorded with 1.0.102.
//!
//! Copilot has two dialects, selected by the spelling of the hook point in the hooks file. In camel case, all keys are
//! in camel case. In Pascal case, they are in snake case, and some tools have Claude Code's names. `hookhost install`
//! uses camel case.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

const CONTEXT: Abilities = Abilities { adds_context: true, ..Abilities::NONE };

/// The model reads another text in place of the prompt; in place of a refused prompt, it reads the refusal. The user
/// sees the original.
const PROMPT: Abilities = Abilities { replaces: true, rejects: true, ..CONTEXT };

/// The agent shows a question to the user. Without a user, and in the cloud agent, it counts as a denial, and the model
/// reads the reason.
const BEFORE_TOOL: Abilities = Abilities { changes: true, asks: true, approves: true, ..Abilities::REJECTS };

const PERMISSION: Abilities = Abilities { approves: true, stops: true, ..Abilities::REJECTS };

/// `modifiedResult` replaces a result, also for a refusal.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, ..CONTEXT };

/// The agent continues if its stop is blocked. It stops after it was continued eight times.
const STOP: Abilities = Abilities { goes_on: true, ..Abilities::NONE };

static AGENT: Agent = Agent {
    name: "copilot-cli",
    title: "GitHub Copilot CLI",
    programs: &["copilot"],
    versions: ("1.0.71", "1.0.102"),
    points: &[
        HookPoint::new("sessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("sessionEnd", EventKind::SessionEnd, Abilities::NONE),
        // The agent reads no reply at this hook point; it does at the next one.
        HookPoint::new("userPromptSubmitted", EventKind::PromptSubmit, Abilities::NONE).not_installed(),
        HookPoint::new("userPromptTransformed", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("preToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("permissionRequest", EventKind::BeforeToolCall, PERMISSION).not_installed(),
        HookPoint::new("postToolUse", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("postToolUseFailure", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("subagentStart", EventKind::SubagentStart, CONTEXT),
        HookPoint::new("subagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("preCompact", EventKind::BeforeCompaction, Abilities::NONE),
        HookPoint::new("agentStop", EventKind::QueueEmpty, STOP),
        HookPoint::new("errorOccurred", EventKind::AgentError, Abilities::NONE),
        HookPoint::new("notification", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT).not_installed(),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE).not_installed(),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, Abilities::NONE).not_installed(),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL).not_installed(),
        HookPoint::new("PermissionRequest", EventKind::BeforeToolCall, PERMISSION).not_installed(),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, AFTER_TOOL).not_installed(),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, CONTEXT).not_installed(),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, CONTEXT).not_installed(),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP).not_installed(),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities::NONE).not_installed(),
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP).not_installed(),
        HookPoint::new("ErrorOccurred", EventKind::AgentError, Abilities::NONE).not_installed(),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, "what is typed into a running command is a call of its own"),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("prompts", Covered::Gated, "the turn begins; the model reads the refusal in place of the prompt"),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, "told as calls of the server's tool"),
        Coverage::new(
            "sub-agents",
            Covered::Gated,
            "the call that starts one; the built-in `general-purpose` does not tell when it starts and ends",
        ),
    ],
    gaps: &[
        "a hook that takes longer than its `timeoutSec` lets the call run, and so does an HTTP hook that is not reached",
        "an HTTP hook before a call is skipped, with a line in the agent's log alone, unless its address is https or \
         `COPILOT_HOOK_ALLOW_LOCALHOST=1` is set for one on this machine",
        "a hook in a trusted project's settings with `disableAllHooks` turns off all hooks but those of the machine",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies)
        .headless(&["copilot", "--allow-all-tools", "-p", TASK]);
