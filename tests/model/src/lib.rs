//! The protocol of shared sessions as a model, small enough that all of its states can be visited.
//!
//! Three events of one session, of which the first may be escalated, arrive in two processes. Any process may be killed
//! at any step, the rules may change, and the question may be answered, time out or be dropped at any moment. One step is
//! one kernel lock, one read, one call of the plugins or one transaction. `docs/decisions/0025-shared-sessions.md` has the
//! protocol in words.

mod actions;
mod forget;
mod properties;
mod protocol;
mod state;
mod steps;

pub use properties::Rule;
pub use protocol::Protocol;
pub use state::{Action, State, Verdict, World};

/// The model of a protocol, with the number of escalations and the arrangements of processes that are explored.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// The choices of the protocol.
    pub protocol: Protocol,
    /// Maximum number of questions about the first event, at least 1. There may be several, because a plugin that is asked again after a
    /// yes can escalate again.
    pub questions: u8,
    /// The arrangements of events, hosts and processes to explore.
    pub worlds: Vec<World>,
    /// If true, the model has fewer states but the same properties: a step whose order makes no difference is taken at once, and data
    /// that no later step reads is cleared.
    pub is_reduced: bool,
}
