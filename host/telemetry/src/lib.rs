//! Reads the log and says what happened: counts of a period, telemetry for other programs, and evidence for auditors.
//!
//! Everything here is a reader of the log. Nothing is on the path of an event, and nothing writes the log.
//!
//! Data flows down this list and never back up:
//!
//! | module | purpose |
//! |---|---|
//! | [`tally`] | counts the decisions of a period, by rule and by agent |
//! | [`explained`] | finds one event, with the records that belong to it |
//! | [`last_matches`] | finds when each rule and each plugin decided last |
//! | `names` | the names of attributes, events and metrics |
//! | `error` | the errors of telemetry |
//! | [`positions`] | the file that contains how far each sink has come |
//! | `agents` | the agents of sessions |
//! | `sink` | what takes records and sends them |
//! | `reader` | reads the log for one sink |
//! | `described` | what is sent about a record |
//! | `http` | a receiver over HTTP |
//! | `ocsf` | records as events of a security schema |
//! | `lines` | a file with a JSON object for each record |
//! | `otlp` | log records and spans of OpenTelemetry |
//! | `environment` | the variables of OpenTelemetry |
//! | `webhook` | signed messages about decisions |
//! | `notices` | notices on the desktop |
//! | `counters` | counters for monitoring |
//! | `gauges` | questions that wait, and the room for the log |
//! | `meter` | the sink that counts, and OpenTelemetry's metrics |
//! | `exposition` | the text that Prometheus reads |
//! | [`settings`] | the section `[telemetry]` |
//! | `readers` | runs the sinks |
//! | [`rule_history`] | the rules that were in force, as the calls in the log prove |
//! | [`anchor`] | notes the last record of the log outside of it |
//! | [`controls`] | the controls of common frameworks for which there is evidence |
//! | [`evidence`] | evidence of a period, as JSON, CSV and a page |

#![deny(missing_docs)]
#![cfg(unix)]

mod agents;
pub mod anchor;
pub mod controls;
mod counters;
mod described;
mod environment;
mod error;
pub mod evidence;
pub mod explained;
mod exposition;
mod gauges;
mod http;
pub mod last_matches;
mod lines;
mod meter;
mod names;
mod notices;
mod ocsf;
mod otlp;
pub mod positions;
mod reader;
mod readers;
pub mod rule_history;
pub mod settings;
mod sink;
pub mod tally;
#[cfg(test)]
mod tests;
mod webhook;

pub use environment::Environment;
pub use error::TelemetryError;
pub use lines::LineFormat;
pub use notices::NoticeKind;
pub use otlp::Signal;
pub use reader::FirstRecord;
pub use readers::{Readers, flush, skip, states};
pub use settings::{Sinks, TelemetrySettings};
pub use webhook::Occasion;
