//! One line of the log: a record, its number, and the hash of the line before.

use super::Record;
use crate::config::Digest;
use serde::Deserialize;

/// Of the format of the log. A log of another version is not read.
pub const FORMAT: u32 = 2;

/// The value in place of a hash in the first line.
pub(crate) const BEFORE_THE_FIRST: Digest = Digest::zero();

/// One line of the log, as it is stored and exported: a JSON object without a line break, which begins with
/// `{"seq":N,"previous":"…","kind":"…"`. The hash of a line is the SHA-256 of its bytes; `previous` is that of the
/// line before, and 64 zeros in the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    text: String,
    seq: u64,
    previous: Digest,
}

/// The text is no line of a log.
#[derive(Debug, thiserror::Error)]
#[error("not a record of an audit log: {0}")]
pub struct LineError(#[from] serde_json::Error);

#[derive(Deserialize)]
struct Head {
    seq: u64,
    previous: Digest,
}

/// The line that follows one of number `seq` and hash `previous`: `body` is the record as JSON, an object that is not
/// empty.
pub(crate) fn next(seq: u64, previous: &Digest, body: &str) -> Line {
    let seq = seq + 1;
    let rest = body.strip_prefix('{').unwrap_or(body);
    Line { text: format!(r#"{{"seq":{seq},"previous":"{previous}",{rest}"#), seq, previous: *previous }
}

impl Line {
    /// Reads one line.
    ///
    /// # Errors
    /// If it is not JSON, or has no number or hash.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let Head { seq, previous } = serde_json::from_str(text)?;
        Ok(Self { text: text.to_owned(), seq, previous })
    }

    /// The line as it is stored, without its line break.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its number, from 1.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The hash of the line before, as this one has it.
    #[must_use]
    pub fn previous(&self) -> Digest {
        self.previous
    }

    /// Its own hash.
    #[must_use]
    pub fn hash(&self) -> Digest {
        Digest::of_bytes(self.text.as_bytes())
    }

    /// The record in it.
    ///
    /// # Errors
    /// If it is not a valid record, or has a later version.
    pub fn entry(&self) -> Result<Record, LineError> {
        Ok(Record::from_json(&self.text)?)
    }
}

/// A line as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// The line's number, from 1, in the order of the file.
    pub(crate) number: u64,
    pub(crate) text: String,
    /// The number and the hash that are stored with it; an export has none.
    pub(crate) row: Option<(i64, Digest)>,
    /// True if the line ends with a line break, so that nothing of it seems to be missing.
    pub(crate) whole: bool,
}

/// The version that a log's first line names, where that is not ours.
pub(crate) fn other_version(line: &Line) -> Option<u32> {
    if line.seq() != 1 {
        return None;
    }
    match line.entry() {
        Ok(Record::Log(begins)) if begins.version != FORMAT => Some(begins.version),
        _ => None,
    }
}
