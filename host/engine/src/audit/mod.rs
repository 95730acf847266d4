//! The audit log. It has a record for each event and for each later outcome. Each record contains the hash of the
//! previous record.
//!
//! A record is one line of JSON. The module `store` writes the record in the same transaction as the event's effects,
//! so the log and the plugins' state always agree. This module, `audit`, defines the content of records and the chain
//! of lines, and does no I/O. [`crate::store::Log`] reads a log from the database, or from an export in JSON Lines, and
//! verifies it.

mod delivery;
mod filter;
mod hash_chain;
mod memory_log;
mod record;
mod redaction;
mod sink;
mod state;
mod to_record;
mod verify;

pub use delivery::{Delivery, DeliveryKind};
pub use filter::Filter;
pub use hash_chain::{FORMAT, Line, LineError};
pub use memory_log::MemoryLog;
pub use record::{
    AnswerRefused, ApprovalRecord, Archived, AskedAgain, CallRecord, Dropped, EventRecord, Header, KeptAnswer,
    LoadedPlugin, LogBegins, Observed, OperatorAction, OperatorActionKind, Record, RulesChanged, SessionEnded,
    SessionLabel, SessionOpened, StateWrite, ToolRun, WrittenValue,
};
pub use redaction::Redacted;
pub use sink::AuditSink;
pub use verify::{Flaw, Heads, Report};

pub use crate::config::CodeId;
pub use crate::contract::bytes::Bytes;
pub use crate::sandbox::{
    FactRead, Inputs, ModelAnswer, ModelReply, SecretsUse, StateRead, StateUse, TextWithSecrets, TranscriptRead,
};
pub use crate::secrets::{FoundSecret, UncoveredSecret};
pub use crate::state::Scope;

pub(crate) use hash_chain::{BEFORE_THE_FIRST, Stored, next, other_version};
pub(crate) use record::{MAX_TOOLS_WRITTEN, passkeys_in, raw};
pub(crate) use redaction::Masking;
pub(crate) use to_record::ToRecord;
pub(crate) use verify::verify;
