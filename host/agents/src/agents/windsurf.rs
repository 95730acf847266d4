//! Windsurf. Source: the vendor's page on Cascade hooks.

mod canary;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::Functions;
use hookhost_contract::EventKind;

/// Timeout in seconds. The agent's own timeout is not documented. A person has less time than this to answer.
const UNKNOWN: u16 = 30;

static AGENT: Agent = Agent {
    name: "windsurf",
    title: "Windsurf",
    programs: &["windsurf"],
    versions: ("", ""),
    points: &[
        HookPoint::new("pre_user_prompt", EventKind::PromptSubmit, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("pre_read_code", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("pre_write_code", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("pre_run_command", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("pre_mcp_tool_use", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(UNKNOWN),
        HookPoint::new("post_read_code", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("post_write_code", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("post_run_command", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("post_mcp_tool_use", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("post_cascade_response", EventKind::FinalizeContent, Abilities::NONE),
        HookPoint::new("post_cascade_response_with_transcript", EventKind::CustomEvent, Abilities::NONE)
            .not_installed(),
        HookPoint::new("post_setup_worktree", EventKind::CustomEvent, Abilities::NONE),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("web pages", Covered::Blind, "no hook is called for them"),
        Coverage::new("MCP tools", Covered::Gated, ""),
        Coverage::new("prompts", Covered::Gated, ""),
        Coverage::new("texts of the agent", Covered::Observed, "told after the user has seen them"),
    ],
    gaps: &[
        "a hook that crashes, is missing or takes too long lets the call run: nothing in Windsurf closes this",
        "the results of tools are told without their text, but those of MCP tools",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .canary(canary::message, encode::denies);
