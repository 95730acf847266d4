//! The words of hookhost: the events of an agent's life, what they carry, what plugins answer, and the outcomes.
//!
//! The types are the WIT's (`wit/`): one Rust type per WIT type, spelt the same, generated from it.
//! They serialise as JSON with the WIT's own names (kebab-case), so that a plugin, a payload file
//! and the audit log have the same words. A field of type [`Json`] holds JSON *text*; in serialised
//! form it is the JSON value itself.
//!
//! The crate has no runtime and knows nothing of wasmtime: a program that only hands events over can
//! afford it.
//!
//! | module | what it is |
//! |---|---|
//! | `generated` | the WIT's types, [`EventKind`] and [`VERSION`] |
//! | `json` | [`Json`]: JSON texts inside typed records |
//! | [`bytes`] | state values in JSON, and how many bytes a value takes as JSON |
//! | `types` | what the generated types can do |
//! | `event` | [`EventKind`] as text, its [`Shape`], an example payload of each event |
//! | `payload` | what events of several parameters carry |
//! | [`action`] | what a tool call does, and back into the tool's arguments; a table per agent |
//! | `failure` | [`Failure`]: a plugin gave no valid answer |
//! | `outcome` | the outcome of an event: [`GateOutcome`], [`TransformOutcome`], [`Rejection`] |
//! | `approval` | [`Question`]s to a person, and their answers |
//! | `declared` | what a session declares: [`ToolSpec`], [`ModelRef`] |

#![deny(missing_docs)]

#[rustfmt::skip]
mod generated;
pub mod action;
mod approval;
pub mod bytes;
mod declared;
mod event;
mod failure;
mod json;
mod outcome;
mod payload;
mod types;

pub use approval::{AnswerKind, Answered, Asker, Question};
pub use declared::{ModelRef, ToolSpec};
pub use event::Shape;
pub use failure::{Failure, FailureKind};
pub use generated::*;
pub use json::{Json, canonical};
pub use outcome::{Cause, GateOutcome, Never, OutcomeKind, Rejection, Stop, TransformOutcome};
pub use payload::{AuditEntry, Nothing, ToolOutcome};
