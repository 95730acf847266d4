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

/// The model: a protocol, and how often the first event may be escalated.
#[derive(Clone, Debug)]
pub struct Sessions {
    /// What the protocol does.
    pub protocol: Protocol,
    /// Questions about the first event, at least 1: a plugin that is asked again may ask something else.
    pub questions: u8,
    /// Where the events arrive.
    pub worlds: Vec<World>,
    /// Leaves out what shows nothing new: steps that commute with all others are taken at once, and what nobody looks at any
    /// more is forgotten.
    pub is_reduced: bool,
}
