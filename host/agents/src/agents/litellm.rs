//! LiteLLM's guardrail interface, `POST /beta/litellm_basic_guardrail_api`. Source: the vendor's page on it, which calls it a beta,
//! and BerriAI/litellm, `litellm/proxy/guardrails/guardrail_hooks/generic_guardrail_api/`.
//!
//! The proxy asks before it sends a request to a model, and before it returns a response to the client. The module
//! `gateway` defines the events of both.

mod decode;
mod encode;
mod install;

use super::gateway::POINTS;
use crate::agent::{Agent, Coverage, Covered};
use crate::functions::Functions;

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

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .encode_all(encode::encode_all);
