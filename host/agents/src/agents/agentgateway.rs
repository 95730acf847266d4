//! agentgateway's webhooks for prompt guards, `POST /request` and `POST /response`. Source: agentgateway/agentgateway,
//! `crates/agentgateway/src/llm/policy/webhook.rs`.
//!
//! The gateway asks before it sends a request to a model, and before it returns a response to the client. The module
//! `gateway` defines the events of both.

mod decode;
mod encode;
mod install;

use super::gateway::POINTS;
use crate::agent::{Agent, Coverage, Covered};
use crate::functions::Functions;

static AGENT: Agent = Agent {
    name: "agentgateway",
    title: "agentgateway",
    programs: &["agentgateway"],
    versions: ("", ""),
    points: POINTS,
    coverage: &[
        Coverage::new("prompts", Covered::Gated, ""),
        Coverage::new("results of tools", Covered::Gated, "told without the name of their tool"),
        Coverage::new("tool calls", Covered::Blind, "the webhook gets the texts of a response, and not its calls"),
        Coverage::new("texts of the model", Covered::Gated, ""),
        Coverage::new("calls that a client makes without its model", Covered::Blind, "no gateway sees them"),
    ],
    gaps: &[
        "a client that does not use the gateway is not seen",
        "messages name no session: plugins see all clients of the gateway in one",
        "with `failureMode: failOpen` the gateway continues without an answer",
        "with `messageFormat: raw` a reply cannot refuse anything: use the guardrail format",
    ],
};

/// The adapter.
pub(super) static ADAPTER: Functions =
    Functions::new(&AGENT, decode::decode, encode::encode, encode::fail, install::plan)
        .neutral(encode::neutral)
        .encode_all(encode::encode_all);
