//! Stores each session in a directory as it happens, one Markdown file per message. Each file is complete and synced
//! before the run continues. People read these files, and so does the program that defined the layout
//! (docs/decisions/0015-sessions.md).
//!
//! ```text
//! <id>/session.conf                   facts and end of the session
//! <id>/messages/0001-user.md          front matter and text
//! <id>/messages/0002-assistant.md     text and fenced tool calls
//! <id>/messages/0003-tool_result.md
//! <id>/reminders.json                 reminders of plugins, if there are any
//! ```
//!
//! A process may be killed at any time: its session can still be read and continued. A lock that ends with the process
//! lets only one process write to a session.

mod error;
mod front_matter;
mod markdown;
mod message_file;
mod metadata;
mod reader;
mod reminders;
mod repair;
mod timestamp;
mod writer;

pub use error::SessionStoreError;
pub use message_file::StoredMessage;
pub use reader::{Damage, StoredSession, Summary};
pub use repair::INTERRUPTED;
pub use writer::SessionWriter;

use hookhost::capability::Reminder;
use hookhost::files;
use hookhost_models::message::TokenUsage;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Prefix of directories whose session is being removed.
const REMOVED: &str = ".removed-";

/// Maximum number of ids in the message about an incomplete id.
const MAX_SIMILAR: usize = 5;

/// Facts of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Identifier of the session, and name of its directory.
    pub id: String,
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Name of the model in the configuration.
    pub model: String,
    /// Root of the agent's project.
    pub workspace: PathBuf,
    /// Identifier of the session that started this one.
    pub parent: Option<String>,
}

/// The model call that an answer came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Generation {
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Name of the model in the configuration.
    pub model: String,
    /// Reason why the answer ended: `end`, `tool_calls`, `length`, or another word.
    pub stop: String,
    /// Tokens of the call.
    pub usage: TokenUsage,
}

/// End of a session. A killed session has none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// `success`, `rejected`, `max-turns`, `max-tokens`, `max-time`, `error` or `cancelled`.
    pub status: String,
    /// Reason of a status other than success.
    pub reason: Option<String>,
    /// Number of model calls, without those of sub-agents.
    pub turns: u32,
    /// Number of model calls by sub-agents.
    pub subagent_turns: u32,
    /// Tokens used, sub-agents included.
    pub usage: TokenUsage,
}

/// A resumed session, locked against other processes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resumed {
    /// Writer for the following messages.
    pub writer: SessionWriter,
    /// The session so far. Its messages are valid for any provider, except that calls of the last answer may have no
    /// results.
    pub session: StoredSession,
    /// Reminders that plugins set for the model, each with the number of model calls before it.
    pub reminders: Vec<(u32, Reminder)>,
    /// One sentence for each fault of the files.
    pub notices: Vec<String>,
}

/// Directory of the stored sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStore {
    directory: PathBuf,
}

impl SessionStore {
    /// Creates a store in `directory`. The directory is created with its first session.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Creates a session that only the user can read, since it holds everything that the tools saw.
    ///
    /// # Errors
    /// Returns an error if the id cannot name a directory, if the directory exists, or if it cannot be written.
    pub fn create(&self, header: &Header) -> Result<SessionWriter, SessionStoreError> {
        SessionWriter::create(&self.directory, header)
    }

    /// Continues a session.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, is in use by another process, has a damaged message, or cannot
    /// be read.
    pub fn resume(&self, id: &str) -> Result<Resumed, SessionStoreError> {
        let writer = SessionWriter::resume(&self.existing(id)?, id)?;
        // The lock is held, so no other process adds messages meanwhile.
        let mut session = self.read(id)?;
        if let Some(Damage { path, reason }) = session.damaged.first().cloned() {
            return Err(SessionStoreError::Damaged { path, reason });
        }
        let mut notices: Vec<String> = session.missing.iter().map(|number| missing(id, *number)).collect();
        let messages = session.messages.iter().map(|stored| stored.message.clone()).collect();
        let (messages, repaired) = repair::repair(messages);
        notices.extend(repaired);
        session.conversation = messages;
        let reminders = reminders::read(&self.existing(id)?).unwrap_or_else(|notice| {
            notices.push(notice);
            Vec::new()
        });
        Ok(Resumed { writer, session, reminders, notices })
    }

    /// Reads a session, even while another process writes it.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or cannot be read. Damaged messages are part of the result.
    pub fn read(&self, id: &str) -> Result<StoredSession, SessionStoreError> {
        StoredSession::read(&self.existing(id)?)
    }

    /// Lists all sessions, the last used first. Other directories are skipped.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read. If it does not exist, the list is empty.
    pub fn list(&self) -> Result<Vec<Summary>, SessionStoreError> {
        let mut sessions: Vec<Summary> =
            self.ids()?.iter().filter_map(|id| Summary::read(&self.existing(id).ok()?)).collect();
        sessions.sort_by(|a, b| (b.updated, &b.header.id).cmp(&(a.updated, &a.header.id)));
        Ok(sessions)
    }

    /// Removes a session and its messages.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, is in use by another process, or cannot be removed.
    pub fn remove(&self, id: &str) -> Result<(), SessionStoreError> {
        let path = self.existing(id)?;
        let _lock = writer::lock(&path, id)?;
        // After the rename, it is no longer a session, even if the removal is interrupted.
        let removed = self.directory.join(format!("{REMOVED}{id}"));
        std::fs::rename(&path, &removed)
            .and_then(|()| std::fs::remove_dir_all(&removed))
            .map_err(SessionStoreError::io(path, "removed"))?;
        self.finish_removals();
        Ok(())
    }

    /// Completes removals that killed processes had begun.
    fn finish_removals(&self) {
        for entry in std::fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(REMOVED) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    fn existing(&self, id: &str) -> Result<PathBuf, SessionStoreError> {
        if self.is_session(id) {
            let path = self.directory.join(id);
            for directory in [&self.directory, &path, &messages_directory(&path)] {
                match files::check_kept_directory(directory) {
                    Err(error) if !error.is_missing() => return Err(SessionStoreError::directory(directory)(error)),
                    _ => {}
                }
            }
            return Ok(path);
        }
        let mut similar = if id.is_empty() { Vec::new() } else { self.ids()? };
        similar.retain(|other| other.starts_with(id));
        similar.sort();
        similar.truncate(MAX_SIMILAR);
        Err(SessionStoreError::NotFound { id: id.to_owned(), directory: self.directory.clone(), similar })
    }

    fn is_session(&self, id: &str) -> bool {
        metadata::is_id(id) && self.directory.join(id).join(metadata::FILE).is_file()
    }

    fn ids(&self) -> Result<Vec<String>, SessionStoreError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(SessionStoreError::io(&self.directory, "listed"))?,
        };
        // Other users could have added sessions, which would be resumed as the user's.
        files::check_kept_directory(&self.directory).map_err(SessionStoreError::directory(&self.directory))?;
        let id =
            |entry: std::io::Result<std::fs::DirEntry>| Some(metadata::id_of(&entry.ok()?.file_name())?.to_owned());
        // A session with refused permissions is reported when it is opened.
        Ok(entries.filter_map(id).filter(|id| self.is_session(id)).collect())
    }
}

/// Returns a sentence about a missing message.
fn missing(id: &str, number: u64) -> String {
    format!("the session {id} has no message {number:04}: its file was removed, and the model does not know of it")
}

/// Returns the time in milliseconds since the Unix epoch.
fn now() -> u64 {
    millis(SystemTime::now())
}

fn millis(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn messages_directory(session: &Path) -> PathBuf {
    session.join("messages")
}

#[cfg(test)]
mod tests;
