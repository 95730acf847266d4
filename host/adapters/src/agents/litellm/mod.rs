//! LiteLLM's guardrail interface, `POST /beta/litellm_basic_guardrail_api`. Source: the vendor's page on it, which calls it a beta,
//! and BerriAI/litellm, `litellm/proxy/guardrails/guardrail_hooks/generic_guardrail_api/`.
//!
//! The proxy asks before a request is sent to a model and before a response is handed out; [`gateway`](super::gateway) says what
//! each means.

mod decode;
mod encode;
mod install;

use super::gateway::POINTS;
use crate::adapter::Adapter;
use crate::agent::{Agent, Coverage, Covered};
use crate::event::HookCall;
use crate::install::{Context, NotInstallable, Plan};
use crate::message::{Message, Unreadable};
use crate::outcome::Outcome;
use crate::reply::Reply;

/// The adapter.
#[derive(Clone, Copy, Debug)]
pub struct LiteLlm;

static AGENT: Agent = Agent {
    name: "litellm",
    title: "LiteLLM",
    programs: &["litellm"],
    versions: ("", ""),
    points: POINTS,
    coverage: &[
        Coverage::new("prompts", Covered::Gated, ""),
        Coverage::new("results of tools", Covered::Gated, "when the client sends them to the model"),
        Coverage::new(
            "tool calls",
            Covered::Gated,
            "the response that has one is refused as a whole, and the client gets an error",
        ),
        Coverage::new("texts of the model", Covered::Gated, ""),
        Coverage::new("images, and system prompts", Covered::Blind, "they are not asked about"),
        Coverage::new("calls that a client makes without its model", Covered::Blind, "no gateway sees them"),
    ],
    gaps: &[
        "a client that does not use the proxy is not seen",
        "with `unreachable_fallback: fail_open` or `fail_on_error: false` in its configuration, the proxy continues without an answer",
        "mode `logging_only` and a guardrail without `default_on` ask about nothing, or only where a request names the guardrail",
        "a response that streams is checked as the proxy's own settings for streams say",
    ],
};

impl Adapter for LiteLlm {
    fn agent(&self) -> &'static Agent {
        &AGENT
    }

    fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable> {
        decode::decode(message)
    }

    fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply {
        encode::encode_all(call, std::slice::from_ref(outcome))
    }

    fn encode_all(&self, call: &HookCall, outcomes: &[Outcome]) -> Reply {
        encode::encode_all(call, outcomes)
    }

    fn fail(&self, _point: Option<&str>, why: &str) -> Reply {
        encode::blocked(why)
    }

    fn neutral(&self, _point: Option<&str>) -> Reply {
        encode::neutral()
    }

    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable> {
        install::plan(context)
    }
}
