//! A sink takes records and sends them somewhere.

use hookhost::audit::{Line, Record};
use hookhost::config::Digest;
use hookhost::store::Position;
use rusqlite::Connection;
use std::future::Future;
use std::time::Duration;

/// A record for a sink.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The line of the log.
    pub(crate) line: Line,
    /// The record in the line.
    pub(crate) record: Record,
    /// The agent of the record's session.
    pub(crate) agent: String,
    /// The log, by the hash of its first record.
    pub(crate) log: Digest,
}

/// The result of an attempt to send records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The receiver has all records.
    All,
    /// The receiver has the records except some, which it refuses for ever and does not name.
    AllBut { refused: u64, because: String },
    /// The receiver refuses these records for ever. If there are several, the fault may be in only one of them.
    Refused { because: String },
    /// The receiver may take the same records later.
    Later { because: String, after: Option<Duration> },
    /// The receiver takes no record until a person changes a setting, such as the token.
    Misconfigured { because: String },
}

impl Sent {
    /// Returns the reason why a test was not taken.
    pub(crate) fn tested(self) -> Result<(), String> {
        match self {
            Self::All => Ok(()),
            Self::AllBut { because, .. }
            | Self::Refused { because }
            | Self::Later { because, .. }
            | Self::Misconfigured { because } => Err(because),
        }
    }
}

/// A receiver of records. It gets the records in order, and gets some again if the process ended before the position was saved.
pub(crate) trait Sink {
    /// Returns the name of the sink in messages and in the file of positions.
    fn name(&self) -> &str;

    /// Prepares for the records after this position. It is `None` if the log is another one than before.
    fn begin(&mut self, _: Option<&Position>) {}

    /// Sends records, at least one.
    fn send(&mut self, entries: &[Entry]) -> impl Future<Output = Sent>;

    /// Does what is due, about ten times a second.
    fn tick(&mut self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Writes what must be saved in the same transaction as the position.
    fn save(&mut self, _: &Connection) -> rusqlite::Result<()> {
        Ok(())
    }

    /// Notes that the transaction of [`save`](Self::save) was committed.
    fn saved(&mut self) {}
}
