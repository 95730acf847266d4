//! goose. Sources: aaif-goose/goose, `crates/goose/src/hooks/mod.rs`, and its hooks guide.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

static AGENT: Agent = Agent {
    name: "goose",
    title: "goose",
    programs: &["goose"],
    versions: ("1.47.0", ""),
    points: &[
        // The user sees the text that the hook prints as `banner`.
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities { tells_user: true, ..Abilities::NONE }),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, Abilities::NONE),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, Abilities::NONE),
        // A block makes the agent continue. It stops after some repetitions.
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities { goes_on: true, ..Abilities::NONE }),
        // These repeat `PreToolUse` and `PostToolUse`, and goose reads no reply.
        HookPoint::new("PreToolUseResult", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("BeforeReadFile", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("AfterFileEdit", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("BeforeShellExecution", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("AfterShellExecution", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, "all tools of an extension are told as `extension__tool`"),
        Coverage::new("sub-agents", Covered::Gated, "the call that starts one"),
        Coverage::new("prompts", Covered::Observed, ""),
    ],
    gaps: &[
        "`on_failure: \"block\"` closes the gate when the hook crashes or is missing; versions up to 1.47.0 do not know it and continue",
        "other programs that read the directory of Open Plugins run the same hooks with messages of their own",
        "hooks are run by `sh`, which Windows does not have",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies)
        .headless(&["goose", "run", "--no-session", "-t", TASK]);
