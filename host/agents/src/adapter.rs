//! The trait that each agent's adapter implements.

use crate::agent::{Abilities, Agent};
use crate::event::HookCall;
use crate::message::{Message, Unreadable};
use crate::outcome::Outcome;
use crate::plan::{Context, JsonDialect, NotInstallable, Plan};
use crate::reply::Reply;
use std::path::Path;

/// The adapter of one agent: decodes its messages, encodes its replies, and plans the installation of its hook.
///
/// Each agent's directory has the same files: `mod.rs` (the [`Agent`] data), `decode.rs`, `encode.rs`, `install.rs`,
/// and `canary.rs` if the hook is a command. The contract's table (`hookhost_contract::action`) maps the agent's tools
/// to actions.
pub trait Adapter: Sync {
    /// Returns the static data of the agent.
    fn agent(&self) -> &'static Agent;

    /// Decodes a message. An unknown hook point becomes [`Custom`](crate::HookEvent::Custom).
    ///
    /// # Errors
    /// If the message is not one of this agent, or lacks a field that its hook point needs.
    fn decode(&self, message: &Message<'_>) -> Result<HookCall, Unreadable>;

    /// Encodes the reply that makes the agent carry out `outcome`. [`degrade`](crate::degrade()) has already replaced
    /// what the agent cannot express.
    fn encode(&self, call: &HookCall, outcome: &Outcome) -> Reply;

    /// Encodes the reply to a call that could not be settled in time. Like [`fail`](Self::fail), but in the format of
    /// this call's hook point, for agents that accept a denial only there.
    fn unsettled(&self, call: &HookCall, why: &str) -> Reply;

    /// Returns the abilities of the agent for this call. By default, these are the abilities of its hook point.
    fn abilities(&self, call: &HookCall) -> Abilities;

    /// Encodes one reply to a message with several events ([`HookCall::parts`]). `outcomes` has one outcome per event,
    /// in order.
    fn encode_all(&self, call: &HookCall, outcomes: &[Outcome]) -> Reply;

    /// Encodes the reply to a message that could not be read: a denial if the agent accepts one, otherwise the neutral
    /// reply. `point` is the hook point if it is known. The strictest reply is used if an unreadable message has an
    /// unknown hook point.
    fn fail(&self, point: Option<&str>, why: &str) -> Reply;

    /// Encodes the neutral reply: the agent continues as if it had no hook.
    fn neutral(&self, point: Option<&str>) -> Reply;

    /// Returns the files that the agent needs, and their contents.
    ///
    /// # Errors
    /// If the agent has no such files in this scope.
    fn install(&self, context: &Context<'_>) -> Result<Plan, NotInstallable>;

    /// Returns the JSON dialect of the agent's files.
    fn json_dialect(&self) -> JsonDialect {
        JsonDialect::Strict
    }

    /// Returns the hook point before a tool call, and a message such as the agent sends there if its model wants to run
    /// this shell command in this directory. `hookhost doctor --prove` passes the message to the hook that the agent's
    /// file names. The message names the session [`canary::SESSION`](crate::canary::SESSION). `None` if the agent
    /// starts no process for its hook: then only a run of the agent itself proves that it calls the hook.
    fn canary(&self, command: &str, directory: &Path) -> Option<(&'static str, Vec<u8>)>;

    /// Returns true if the agent treats this reply as a denial, so that the call does not run, and not as a failed
    /// hook. Only called for agents that have a [`canary`](Self::canary).
    fn denies(&self, point: &str, reply: &Reply) -> bool;

    /// Returns the command line, program first, by which the agent carries out `prompt` unattended with permission to
    /// use its shell tool. `None` if no such command is known.
    fn headless(&self, prompt: &str) -> Option<Vec<String>>;
}
