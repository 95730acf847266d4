//! A session on disk as it happens: one JSON Lines file, a line for each message, each synced before the run goes on.
//!
//! A kill at any time leaves whole lines, or whole lines and one cut one; [`StoredSession::read`] says which.
//!
//! ```text
//! {"type":"session","version":1,"id":"…","time":1760000000000,"provider":"anthropic","model":"…","workspace":"/…"}
//! {"type":"message","time":1760000000010,"role":"user","text":"…"}
//! {"type":"end","time":1760000004000,"status":"success","usage":{…}}
//! ```

mod reader;

pub use reader::StoredSession;

use crate::message::{Message, TokenUsage};
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The version of the format that is written.
const VERSION: u32 = 1;

/// What a session is; the first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Header {
    /// The session's id, also the file's name.
    pub id: String,
    /// The provider's name as configured.
    pub provider: String,
    /// The model's name as configured.
    pub model: String,
    /// Root of the project that the agent works on.
    pub workspace: PathBuf,
}

/// How a session ended; the last line. A session that was killed has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Ending {
    /// `success`, `rejected`, `max-turns`, `error` or `cancelled`.
    pub status: String,
    /// Why, where it is no success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the session used.
    pub usage: TokenUsage,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line {
    Session {
        version: u32,
        time: u64,
        #[serde(flatten)]
        header: Header,
    },
    Message {
        time: u64,
        #[serde(flatten)]
        message: Message,
    },
    End {
        time: u64,
        #[serde(flatten)]
        ending: Ending,
    },
}

/// Why a transcript cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The session's id cannot be a file's name.
    #[error("the session id `{id}` cannot name a transcript: use letters, digits, `-`, `_` and `.`, at most 128")]
    Id {
        /// The id.
        id: String,
    },
    /// The system says no.
    #[error("the transcript {} cannot be {doing}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// "created", "written", "read".
        doing: &'static str,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A line, not the last one, is none of a transcript's.
    #[error("{}:{line}: not a line of a transcript: {reason}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Writes a session's transcript.
#[derive(Debug)]
pub struct TranscriptWriter {
    path: PathBuf,
    file: File,
}

impl TranscriptWriter {
    /// Creates `<id>.jsonl` in `folder`, which is made if need be, with its first line. Only the user can read either:
    /// a transcript holds whatever the tools saw.
    ///
    /// # Errors
    /// If the id cannot name a file, the file is there already, or it cannot be written.
    pub fn create(folder: &Path, header: Header) -> Result<Self, TranscriptError> {
        let named = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        if header.id.is_empty() || header.id.len() > 128 || !header.id.chars().all(named) || header.id.starts_with('.')
        {
            return Err(TranscriptError::Id { id: header.id });
        }
        let path = folder.join(format!("{}.jsonl", header.id));
        let error = |path: &Path, source| TranscriptError::Io { path: path.to_owned(), doing: "created", source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|source| error(folder, source))?;
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|source| error(&path, source))?;
        let mut writer = Self { path, file };
        writer.write(&Line::Session { version: VERSION, time: now(), header })?;
        Ok(writer)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a message. It is on disk when this returns.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&mut self, message: &Message) -> Result<(), TranscriptError> {
        self.write(&Line::Message { time: now(), message: message.clone() })
    }

    /// Adds the last line.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end(&mut self, ending: Ending) -> Result<(), TranscriptError> {
        self.write(&Line::End { time: now(), ending })
    }

    fn write(&mut self, line: &Line) -> Result<(), TranscriptError> {
        let error = |source| TranscriptError::Io { path: self.path.clone(), doing: "written", source };
        let mut bytes = serde_json::to_vec(line).map_err(|problem| error(problem.into()))?;
        bytes.push(b'\n');
        // One write for the whole line, newline included: a kill between two system calls cannot cut it.
        self.file.write_all(&bytes).map_err(error)?;
        self.file.sync_data().map_err(error)
    }
}

/// Milliseconds since the Unix epoch.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
