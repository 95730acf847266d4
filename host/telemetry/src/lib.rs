//! Reads the log and says what happened: counts of a period, telemetry for other programs, and evidence for auditors.
//!
//! Everything here is a reader of the log. Nothing is on the path of an event, and nothing writes the log.
//!
//! Data flows down this list and never back up:
//!
//! | module | purpose |
//! |---|---|
//! | [`tally`] | counts the decisions of a period, by rule and by agent |
//! | [`rule_history`] | the rules that were in force, as the calls in the log prove |
//! | [`anchor`] | notes the last record of the log outside of it |
//! | [`controls`] | the controls of common frameworks for which there is evidence |
//! | [`evidence`] | evidence of a period, as JSON, CSV and a page |

#![deny(missing_docs)]

pub mod anchor;
pub mod controls;
pub mod evidence;
pub mod rule_history;
pub mod tally;
