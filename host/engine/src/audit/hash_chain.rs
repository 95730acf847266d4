//! One line of the log: a record, its number, and the hash of the previous line.

use super::Record;
use crate::config::Digest;
use serde::Deserialize;

/// Version of the log's format. A log with a different version is not read.
pub const FORMAT: u32 = 2;

/// The value of `previous` in the first line, in place of a hash.
pub(crate) const BEFORE_THE_FIRST: Digest = Digest::zero();

/// One line of the log, as stored and exported: a JSON object without a line break, which begins with
/// `{"seq":N,"previous":"…","kind":"…"`. The hash of a line is the SHA-256 of its bytes. `previous` is the hash of the
/// previous line. In the first line, it is 64 zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    text: String,
    seq: u64,
    previous: Digest,
}

/// The text is not a line of a log.
#[derive(Debug, thiserror::Error)]
#[error("not a record of an audit log: {0}")]
pub struct LineError(#[from] serde_json::Error);

#[derive(Deserialize)]
struct Head {
    seq: u64,
    previous: Digest,
}

/// Returns the line that follows the line with the number `seq` and the hash `previous`. `body` is the record, as a
/// JSON object that is not empty.
pub(crate) fn next(seq: u64, previous: &Digest, body: &str) -> Line {
    let seq = seq + 1;
    let rest = body.strip_prefix('{').unwrap_or(body);
    Line { text: format!(r#"{{"seq":{seq},"previous":"{previous}",{rest}"#), seq, previous: *previous }
}

impl Line {
    /// Reads one line.
    ///
    /// # Errors
    /// If the text is not JSON, or has no number or hash.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let Head { seq, previous } = serde_json::from_str(text)?;
        Ok(Self { text: text.to_owned(), seq, previous })
    }

    /// The stored line without its line break.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of the line, from 1.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns the value of `previous` in this line, which should be the hash of the previous line.
    #[must_use]
    pub fn previous(&self) -> Digest {
        self.previous
    }

    /// Returns the hash of this line.
    #[must_use]
    pub fn hash(&self) -> Digest {
        Digest::of_bytes(self.text.as_bytes())
    }

    /// Returns the record in the line.
    ///
    /// # Errors
    /// If the line does not contain a valid record, or if the record has a later version.
    pub fn entry(&self) -> Result<Record, LineError> {
        Ok(Record::from_json(&self.text)?)
    }
}

/// A stored line.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// The line's position in the file or database, from 1.
    pub(crate) number: u64,
    pub(crate) text: String,
    /// The number and the hash in the line's row of the database. `None` in an export, which has no rows.
    pub(crate) row: Option<(i64, Digest)>,
    /// True if the line ends with a line break. It is then probably complete.
    pub(crate) whole: bool,
}

/// Returns the version in the first line of a log, if it differs from [`FORMAT`].
pub(crate) fn other_version(line: &Line) -> Option<u32> {
    if line.seq() != 1 {
        return None;
    }
    match line.entry() {
        Ok(Record::Log(begins)) if begins.version != FORMAT => Some(begins.version),
        _ => None,
    }
}
