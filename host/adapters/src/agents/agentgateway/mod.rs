//! agentgateway's webhooks for prompt guards, `POST /request` and `POST /response`. Source: agentgateway/agentgateway,
//! `crates/agentgateway/src/llm/policy/webhook.rs`.
//!
//! The gateway asks before a request is sent to a model and before a response is handed out; [`gateway`](super::gateway) says
//! what each means.

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
pub struct Agentgateway;

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
        "messages name no session: each request is a session of its own",
        "with `failureMode: failOpen` the gateway continues without an answer",
        "with `messageFormat: raw` a reply cannot refuse anything: use the guardrail format",
    ],
};

impl Adapter for Agentgateway {
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
        encode::refused(why)
    }

    fn neutral(&self, _point: Option<&str>) -> Reply {
        encode::neutral()
    }

    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable> {
        install::plan(context)
    }
}
