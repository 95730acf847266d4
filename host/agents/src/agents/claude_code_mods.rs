//! Claude Code's mods: JavaScript in the agent's process. Source: the vendor's declarations for mods, 2.1.277, and its
//! reference of them; no message was recorded.
//!
//! Settings hooks ([`claude_code`](super::claude_code)) need no mod. A mod also rewrites prompts, and it sees calls
//! that another mod has changed or makes itself. `register.js` asks the hook program and follows its reply.

mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::agents::own_plugin::{PROMPT, TELLS};
use crate::functions::{Functions, TASK};
use hookhost_contract::EventKind;

/// The agent asks its own permissions within the mods. A result in place of the tool's would need the shape of the
/// tool's results.
const BEFORE_TOOL: Abilities = Abilities { rejects: true, changes: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "claude-code-mods",
    title: "Claude Code (as a mod)",
    programs: &["claude"],
    versions: ("2.1.287", ""),
    points: &[
        HookPoint::new("session.start", EventKind::SessionStart, TELLS),
        HookPoint::new("session.end", EventKind::SessionEnd, Abilities::NONE).timeout(1),
        HookPoint::new("prompt.submit", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("tool.call", EventKind::BeforeToolCall, BEFORE_TOOL),
        // The answer of `next` for the same event.
        HookPoint::new("tool.result", EventKind::AfterToolCall, PROMPT),
        HookPoint::new("agent.spawn", EventKind::SubagentStart, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("session.compact", EventKind::BeforeCompaction, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("session.compacted", EventKind::AfterCompaction, TELLS),
        HookPoint::new("turn.complete", EventKind::QueueEmpty, Abilities { goes_on: true, ..TELLS }),
        // The final decision about a permission. A mod that does not ask the user has none to make.
        HookPoint::new("tool.check", EventKind::BeforeToolCall, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::new("shell commands", Covered::Gated, ""),
        Coverage::new("files read and written by tools", Covered::Gated, ""),
        Coverage::new("files named in a prompt with @", Covered::Blind, "the agent reads them without a tool"),
        Coverage::new("web pages", Covered::Gated, ""),
        Coverage::new("MCP tools", Covered::Gated, "but not what another mod calls with `$.mcp.call`"),
        Coverage::new("sub-agents", Covered::Gated, "their calls are told with `agentId`"),
        Coverage::new("texts of the agent", Covered::Observed, "told when the turn is over"),
    ],
    gaps: &[
        "a mod of higher standing, or one that is loaded outside of it, may answer before it is asked",
        "a mod that does not load is not missed by the agent: use the settings hooks beside it",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .headless(&["claude", "-p", TASK, "--allowedTools", "Bash"]);
