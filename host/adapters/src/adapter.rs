//! The trait that each agent implements.

use crate::agent::{Abilities, Agent};
use crate::event::HookCall;
use crate::install::{Context, JsonDialect, NotInstallable, Plan};
use crate::message::{Message, Unreadable};
use crate::outcome::Outcome;
use crate::reply::Reply;
use std::path::Path;

/// An agent: how its messages are read and answered, and where its hook is named. Its directory has the same files as that of
/// each other agent: `mod.rs` (what is known of it), `decode.rs`, `encode.rs`, `install.rs`, and `canary.rs` where its hook is a
/// command. What its tools do is in the table of the contract (`hookhost_contract::action`).
pub trait Adapter: Sync {
    /// What is known of the agent.
    fn agent(&self) -> &'static Agent;

    /// Reads a message. A hook point that is unknown becomes [`Custom`](crate::HookEvent::Custom).
    ///
    /// # Errors
    /// If the message is not one of this agent, or misses what its hook point needs.
    fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable>;

    /// The reply that makes the agent do what the outcome says. The outcome holds nothing that the agent cannot do there
    /// ([`degrade`](crate::degrade())).
    fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply;

    /// The reply to a call about which nothing could be settled in time: as [`fail`](Self::fail), but in the shape of what
    /// the agent told, where it takes a no in no other.
    fn unsettled(&self, call: &HookCall, why: &str) -> Reply;

    /// What the agent can do with the reply to this call: what its hook point says, unless it depends on the call.
    fn abilities(&self, call: &HookCall) -> Abilities;

    /// The reply to a message that means several events ([`HookCall::parts`]), with an outcome for each, in their order.
    fn encode_all(&self, call: &HookCall, outcomes: &[Outcome]) -> Reply;

    /// The reply to a message that could not be read: a no where the agent takes one, and otherwise the neutral reply.
    /// `point` is what is known of the hook point; at an unknown one of a message
    /// that nobody could read the strictest reply counts.
    fn fail(&self, point: Option<&str>, why: &str) -> Reply;

    /// The reply that says nothing: the agent continues as it would without a hook.
    fn neutral(&self, point: Option<&str>) -> Reply;

    /// What has to be in which of the agent's files.
    ///
    /// # Errors
    /// If the agent has no such files in this scope.
    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable>;

    /// What the agent reads in its JSON files.
    fn json_dialect(&self) -> JsonDialect {
        JsonDialect::Strict
    }

    /// The hook point before a tool runs, and the message with which the agent would tell there that its model wants to run
    /// this shell command in this directory; `hookhost doctor --prove` hands it to the hook that the agent's file names. The
    /// session that it names is [`canary::SESSION`](crate::canary::SESSION). Absent where no process is called: then only the
    /// agent itself can prove that it asks.
    fn canary(&self, command: &str, directory: &Path) -> Option<(&'static str, Vec<u8>)>;

    /// Whether the agent takes a reply at a hook point for a no: the call does not run, and the agent has not merely met a hook
    /// that failed. It is asked only of agents that have a [`canary`](Self::canary).
    fn denies(&self, point: &str, reply: &Reply) -> bool;

    /// The words of a command, the program first, by which the agent does what `prompt` says without a person, and may use
    /// its shell tool for that. Absent where no such command is known.
    fn headless(&self, prompt: &str) -> Option<Vec<String>>;
}
