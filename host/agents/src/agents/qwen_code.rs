//! Qwen Code. Sources: the page about hooks of QwenLM/qwen-code, and messages recorded with 0.24.4.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::claude_shape::{CONTEXT, PROMPT, STOP, TELLS};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// Before a call, the agent ignores `updatedInput` and a text for the model, contrary to the documentation. Without a
/// user, a question counts as a denial, and the model reads the reason. `continue: false` stops the call and not the
/// run.
const BEFORE_TOOL: Abilities = Abilities { asks: true, approves: true, rejects: true, ..TELLS };

/// The hook can answer in place of the user.
const PERMISSION: Abilities = Abilities { rejects: true, approves: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "qwen-code",
    title: "Qwen Code",
    programs: &["qwen"],
    versions: ("0.24.4", "0.24.4"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("SessionDelete", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PermissionRequest", EventKind::BeforeToolCall, PERMISSION).not_installed(),
        HookPoint::new("PermissionDenied", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("PostToolBatch", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, CONTEXT),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, TELLS),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, Abilities::NONE),
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
        // The agent sends the text so far, repeatedly, and reads no reply.
        HookPoint::new("MessageDisplay", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("TodoCreated", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("TodoCompleted", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new("sub-agents", Covered::Gated, "their calls are told with `agent_id`"),
        Coverage::new("results of tools", Covered::Observed, "the model gets them as they are"),
    ],
    gaps: &[
        "a hook that crashes, is missing, or takes too long lets the call run: the agent has no setting against it",
        "a call cannot be changed: it is rejected, and the reason has the changed call",
        "`disableAllHooks` in a settings file switches all hooks off",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies)
        .headless(&["qwen", "--yolo", "-p", TASK]);
