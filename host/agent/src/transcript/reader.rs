//! Reads what a session left on disk, also where it was killed in the middle of a line.

use super::{Ending, Header, Line, TranscriptError, VERSION};
use crate::message::Message;
use std::path::Path;

/// A session as its transcript tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSession {
    /// What the session is.
    pub header: Header,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// How it ended; `None` where it was killed, or still runs.
    pub ending: Option<Ending>,
    /// Bytes of a last line that was cut, and left out here; 0 where the file is whole.
    pub cut_bytes: usize,
}

impl StoredSession {
    /// Reads a transcript.
    ///
    /// # Errors
    /// If the file cannot be read, does not begin as a transcript, or another line than its last is none of one's.
    pub fn read(path: &Path) -> Result<Self, TranscriptError> {
        let bytes = std::fs::read(path).map_err(|source| TranscriptError::Io {
            path: path.to_owned(),
            doing: "read",
            source,
        })?;
        let invalid = |line, reason| TranscriptError::Invalid { path: path.to_owned(), line, reason };
        let mut header = None;
        let mut messages = Vec::new();
        let mut ending = None;
        let mut cut_bytes = 0;
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((index, text)) = lines.next() {
            let number = index + 1;
            match (serde_json::from_slice::<Line>(text), &header) {
                (Ok(Line::Session { version: VERSION, header: first, .. }), None) => header = Some(first),
                (Ok(Line::Session { version, .. }), None) => {
                    return Err(invalid(
                        number,
                        format!("version {version}, but this program reads version {VERSION}"),
                    ));
                }
                (Ok(Line::Message { message, .. }), Some(_)) => messages.push(message),
                (Ok(Line::End { ending: last, .. }), Some(_)) => ending = Some(last),
                (Ok(_), _) => return Err(invalid(number, "it is in the wrong place".into())),
                // Only a line without its newline can have been cut.
                (Err(_), Some(_)) if lines.peek().is_none() && !text.ends_with(b"\n") => cut_bytes = text.len(),
                (Err(error), _) => return Err(invalid(number, error.to_string())),
            }
        }
        let header = header.ok_or_else(|| invalid(1, "the file is empty".into()))?;
        Ok(Self { header, messages, ending, cut_bytes })
    }
}
