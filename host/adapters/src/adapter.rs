//! The trait that each agent implements.

use crate::agent::{Abilities, Agent};
use crate::event::HookCall;
use crate::install::{Context, NotInstallable, Plan};
use crate::message::{Message, Unreadable};
use crate::outcome::{Answer, Outcome};
use crate::reply::Reply;

/// An agent: how its messages are read and answered, and where its hook is named. Its directory has the same files as that of
/// each other agent: `mod.rs` (what is known of it), `decode.rs`, `encode.rs`, `install.rs`. What its tools do is in the table
/// of the contract (`hookhost_contract::action`).
pub trait Adapter: Sync {
    /// What is known of the agent.
    fn agent(&self) -> &'static Agent;

    /// Reads a message. A hook point that is unknown becomes [`Custom`](crate::HookEvent::Custom).
    ///
    /// # Errors
    /// If the message is not one of this agent, or misses what its hook point needs.
    fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable>;

    /// The reply that makes the agent do what the outcome says. The outcome holds nothing that the agent cannot do there
    /// ([`degrade`](crate::degrade)).
    fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply;

    /// The reply to a call about which nothing could be settled in time: as [`fail`](Self::fail), but in the shape of what
    /// the agent told, where it takes a no in no other.
    fn unsettled(&self, call: &HookCall, why: &str) -> Reply {
        self.fail(Some(&call.point), why)
    }

    /// What the agent can do with the reply to this call: what its hook point says, unless it depends on the call.
    fn abilities(&self, call: &HookCall) -> Abilities {
        self.agent().abilities(&call.point)
    }

    /// The reply to a message that means several events ([`HookCall::parts`]), with an outcome for each, in their order. Most
    /// agents tell one event at a time; should one of them not, one rejection rejects the whole message.
    fn encode_all(&self, call: &HookCall, outcomes: &[Outcome]) -> Reply {
        let rejected = outcomes.iter().find(|outcome| matches!(outcome.answer, Answer::Rejected(_)));
        match rejected.or(outcomes.first()) {
            Some(outcome) => self.encode(call, outcome),
            None => self.fail(Some(&call.point), "hookhost settled nothing of this message"),
        }
    }

    /// The reply to a message that could not be read: a no where the agent takes one, and otherwise the neutral reply.
    /// `point` is what is known of the hook point; at an unknown one of a message
    /// that nobody could read the strictest reply counts.
    fn fail(&self, point: Option<&str>, why: &str) -> Reply;

    /// The reply that says nothing: the agent goes on as it would without a hook.
    fn neutral(&self, point: Option<&str>) -> Reply;

    /// What has to be in which of the agent's files.
    ///
    /// # Errors
    /// If the agent has no such files in this scope.
    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable>;
}
