//! The vocabulary of hookhost: the events of an agent, their payloads, the verdicts of plugins, and the outcomes.
//!
//! The types are generated from the WIT (`wit/`): one Rust type per WIT type, with the same name. Their JSON form uses
//! the WIT's names (kebab-case), so that plugins, payload files and the audit log use the same words. A field of type
//! [`Json`] contains JSON *text*; its serialised form is the JSON value itself.
//!
//! The crate has no runtime and does not depend on wasmtime, so a program that only passes events on can use it.
//!
//! | module | purpose |
//! |---|---|
//! | `generated` | the WIT's types, [`EventKind`] and [`VERSION`] |
//! | `json` | [`Json`]: JSON texts inside typed records |
//! | [`bytes`] | state values in JSON, and the size of values as JSON |
//! | `types` | constructors and conversions of the generated types |
//! | `event` | the names of events, their [`Shape`], and an example payload of each event |
//! | `payload` | payloads of events with several parameters |
//! | [`action`] | converts a tool call to its action, and a changed action back to the tool's arguments; has a table per agent |
//! | `failure` | [`Failure`]: a plugin gave no valid answer |
//! | `outcome` | the outcome of an event: [`Decision`], [`TransformOutcome`], [`Rejection`] |
//! | `approval` | [`Question`]s to a person, and the answers |
//! | `declared` | declarations of a session: [`ToolSpec`], [`ModelRef`] |
//! | `fact` | facts that the host reads for plugins: [`FactName`], [`Fact`] |
//! | [`rule`] | the shape of a rule in words |

#![deny(missing_docs)]

#[rustfmt::skip]
mod generated;
pub mod action;
mod approval;
pub mod bytes;
mod declared;
mod event;
mod fact;
mod failure;
mod json;
mod outcome;
mod payload;
pub mod rule;
mod types;

pub use approval::{AnswerKind, Answered, Asker, PasskeyProof, Question};
pub use declared::{ModelRef, ToolSpec};
pub use event::Shape;
pub use fact::{Fact, FactName, SessionMode, ToolHints};
pub use failure::{Failure, FailureKind};
pub use generated::*;
pub use json::{Json, canonical};
pub use outcome::{Cause, Decision, Never, OutcomeKind, Rejection, Stop, TransformOutcome};
pub use payload::{AuditEntry, Nothing, ToolOutcome};
