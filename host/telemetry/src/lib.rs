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

#![deny(missing_docs)]

pub mod explained;
pub mod tally;
