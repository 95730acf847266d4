//! Agent Control Standard v0.1.0 (OWASP): an Observed Agent's message to a Guardian, without its envelope, and the
//! Guardian's decision. Source: GenAI-Security-Project/agent-control-standard, `docs/spec/instrument/`.
//!
//! The server handles the envelope (JSON-RPC, handshake, signatures, replays, the chain of hashes). A message here is
//! the `params` of a request, and its hook point is the method. It is an adapter like the others, so the same rules
//! apply.

mod content;
mod decode;
mod encode;
mod install;

use crate::agent::{Abilities, Agent, Coverage, Covered, HookPoint};
use crate::functions::Functions;
use hookhost_contract::EventKind;

/// Timeout of an Observed Agent for a decision, in seconds. The handshake announces it.
const TIMEOUT: u16 = 30;

/// The agent only reports the event. The user reads the reasoning.
const TOLD: Abilities = Abilities { tells_user: true, ..Abilities::NONE };
const REJECTS: Abilities = Abilities { rejects: true, ..TOLD };
const TEXT: Abilities = Abilities { replaces: true, ..REJECTS };

/// `parameter_overrides` replace arguments and cannot remove any.
const CALL: Abilities = Abilities { changes: true, merges: true, ..REJECTS };

/// Compaction has happened: a decision can rewrite the summary, and cannot refuse it.
const SUMMARY: Abilities = Abilities { replaces: true, ..TOLD };

const fn point(name: &'static str, event: EventKind, abilities: Abilities) -> HookPoint {
    HookPoint::new(name, event, abilities).timeout(TIMEOUT)
}

static AGENT: Agent = Agent {
    name: "acs",
    title: "Agent Control Standard",
    programs: &[],
    versions: ("0.1.0", "0.1.0"),
    points: &[
        point("steps/sessionStart", EventKind::SessionStart, TOLD),
        point("steps/agentTrigger", EventKind::CustomEvent, REJECTS),
        point("steps/turnStart", EventKind::CustomEvent, REJECTS),
        point("steps/userMessage", EventKind::PromptSubmit, TEXT),
        point("steps/agentResponse", EventKind::FinalizeContent, TEXT),
        point("steps/knowledgeRetrieval", EventKind::CustomEvent, REJECTS),
        point("steps/memoryContextRetrieval", EventKind::CustomEvent, REJECTS),
        point("steps/memoryStore", EventKind::CustomEvent, REJECTS),
        point("steps/toolCallRequest", EventKind::BeforeToolCall, CALL),
        point("steps/toolCallResult", EventKind::AfterToolCall, TEXT),
        point("steps/preCompact", EventKind::BeforeCompaction, REJECTS),
        point("steps/postCompact", EventKind::AfterCompaction, SUMMARY),
        point("steps/subagentStart", EventKind::SubagentStart, REJECTS),
        point("steps/subagentStop", EventKind::SubagentEnd, TOLD),
        point("steps/skillRegister", EventKind::CustomEvent, REJECTS),
        point("steps/skillLoad", EventKind::CustomEvent, REJECTS),
        point("steps/skillUnload", EventKind::CustomEvent, TOLD),
        point("steps/turnEnd", EventKind::CustomEvent, TOLD),
        point("steps/sessionEnd", EventKind::SessionEnd, TOLD),
    ],
    coverage: &[
        Coverage::new("tool calls", Covered::Gated, "and the shell command that a call names as `raw_command`"),
        Coverage::new("results of tools", Covered::Gated, ""),
        Coverage::new("prompts, and texts of the agent", Covered::Gated, ""),
        Coverage::new("sub-agents, compaction, skills", Covered::Gated, ""),
        Coverage::new(
            "knowledge and memory",
            Covered::Gated,
            "as the custom events `acs/steps/…`: rules for prompts and results are not asked about them",
        ),
        Coverage::new("wrapped MCP messages, and the inventory", Covered::Blind, "`protocols/*` and `agbom/*`"),
    ],
    gaps: &[
        "the standard's default is to proceed where a Guardian does not answer: hookhost says `deny` in the handshake, and the agent has to follow it",
        "an agent that starts while nobody answers applies its own startup posture, by default `proceed`",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .unsettled(encode::unsettled)
        .encode_all(encode::encode_all);
