//! Claude Code. Sources: the vendor's hooks reference of 2.1.236, and messages recorded with 2.1.330.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::claude_shape::{CONTEXT, PROMPT, STOP, TELLS};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// Abilities before a tool call. A result in place of the tool's is not possible. Without a user, a question counts as
/// a denial, and the model reads the reason; so it is in the mode `bypassPermissions`, too, as tested with 2.1.330.
const BEFORE_TOOL: Abilities =
    Abilities { changes: true, asks: true, approves: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// `updatedToolOutput` replaces a result, also for a refusal, if it has the shape of the result. Claude Code drops any
/// other.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// The hook can answer in place of the user.
const PERMISSION: Abilities = Abilities { rejects: true, approves: true, changes: true, stops: true, ..TELLS };

/// The hook can replace the text that the user sees, and not the text that the model reads later.
const DISPLAY: Abilities = Abilities { replaces: true, rejects: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    versions: ("2.1.295", "2.1.330"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("Setup", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE).timeout(1),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, PROMPT),
        // A slash command is a prompt, too: the agent sends the text of its file to the model.
        HookPoint::new("UserPromptExpansion", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("PermissionRequest", EventKind::BeforeToolCall, PERMISSION).not_installed(),
        HookPoint::new("PermissionDenied", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, CONTEXT),
        HookPoint::new("PostToolBatch", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("SubagentStart", EventKind::SubagentStart, CONTEXT),
        HookPoint::new("SubagentStop", EventKind::SubagentEnd, STOP),
        HookPoint::new("TaskCreated", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("TaskCompleted", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("TeammateIdle", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("PostCompact", EventKind::AfterCompaction, TELLS),
        // The agent stops after it was continued eight times.
        HookPoint::new("Stop", EventKind::QueueEmpty, STOP),
        HookPoint::new("StopFailure", EventKind::AgentError, Abilities::NONE),
        // The agent calls the hook for each chunk of a text.
        HookPoint::new("MessageDisplay", EventKind::FinalizeContent, DISPLAY).not_installed(),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("Elicitation", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("ElicitationResult", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("ConfigChange", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("InstructionsLoaded", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("CwdChanged", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("DirectoryAdded", EventKind::CustomEvent, Abilities::NONE),
        // The matcher of this hook determines the files that the agent watches.
        HookPoint::new("FileChanged", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        // A hook at this point creates the worktree in place of the agent.
        HookPoint::new("WorktreeCreate", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("WorktreeRemove", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        // The vendor's documents that were read do not mention these two, and one unknown name could disable the file.
        HookPoint::new("PreModelSwitch", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("PostModelSwitch", EventKind::CustomEvent, Abilities::NONE).not_installed(),
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
        "`onFailure: \"block\"` closes the gate when the hook crashes or is missing, from 2.1.295 on; an older version lets the call run",
        "where it is installed, `MessageDisplay` shows each chunk of a text alone: a rule sees no text that spans two chunks",
        "the result of a tool that failed cannot be replaced: the model gets it as it is",
        "a settings file that is not strict JSON, or has a key of its own with a value of another type, is not read at all",
        "a mod can answer `tool.check` after the hook; only hooks of the managed settings come before mods",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .unsettled(encode::unsettled)
        .canary(canary::message, encode::denies)
        .headless(&["claude", "-p", TASK, "--allowedTools", "Bash"]);
