//! The audit log: one record per event, and for what came of it later, each carrying the hash of the one before.
//!
//! A record is one line of JSON. It is written in the transaction that makes the event's effects hold (`store` does
//! that), so that log and state cannot disagree. [`Log`] reads a log back, from the database or exported as JSON Lines, and
//! [`verify`] finds what somebody changed, removed or moved in it.

mod line;
mod log;
mod loggable;
mod mask;
mod record;
mod state;
mod value;
mod verify;
mod withholding;

pub use line::{Line, LineError, VERSION};
pub use log::{Filter, Lines, Log, LogError, VerifiedLines};
pub use mask::Withheld;
pub use record::{
    Answer, AskedAgain, CallRecord, Dropped, Entry, Inputs, KeptAnswer, LoadedPlugin, LogBegins, ModelAnswer,
    ModelReply, Observed, Record, RulesChanged, SessionEnded, SessionOpened, StateRead, StateUse, StateWrite, ToolRun,
    TranscriptRead, WrittenValue,
};
pub use value::Bytes;

pub use crate::state::Scope;
pub use verify::{Flaw, Report, verify};

pub(crate) use line::{BEFORE_THE_FIRST, next};
pub(crate) use loggable::Loggable;
pub(crate) use record::raw;
pub(crate) use value::{bytes_size, written_size};
