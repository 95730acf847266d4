//! Sessions on disk, a directory each, as they happen: one Markdown file a message, each whole and synced before the run
//! continues. People read them, and so does the program whose layout it is (docs/decisions/0015-sessions.md).
//!
//! ```text
//! <id>/session.conf                   what the session is, and how it ended
//! <id>/messages/0001-user.md          front matter and text
//! <id>/messages/0002-assistant.md     text and fenced tool calls
//! <id>/messages/0003-tool_result.md
//! <id>/reminders.json                 what plugins want the model to be reminded of, where they do
//! ```
//!
//! A process that is killed at any time leaves a session that can be read and continued. Only one process at a time
//! writes to one, held by a lock that ends with it.

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

use crate::message::TokenUsage;
use hookhost::capability::Reminder;
use hookhost::files;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// How the names of directories begin whose session is being removed.
const REMOVED: &str = ".removed-";

/// Maximum ids that are proposed for one that is the beginning of others.
const MAX_SIMILAR: usize = 5;

/// The facts of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The session's id, also the directory's name.
    pub id: String,
    /// The provider's name as configured.
    pub provider: String,
    /// The model's name as configured.
    pub model: String,
    /// Root of the project that the agent works on.
    pub workspace: PathBuf,
    /// The session that started this one.
    pub parent: Option<String>,
}

/// Where an answer came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Generation {
    /// The provider's name as configured.
    pub provider: String,
    /// The model's name as configured.
    pub model: String,
    /// Why it ended: `end`, `tool_calls`, `length`, or another word.
    pub stop: String,
    /// What it used.
    pub usage: TokenUsage,
}

/// How a session ended. One that was killed has none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ending {
    /// `success`, `rejected`, `max-turns`, `error` or `cancelled`.
    pub status: String,
    /// Why, where it is no success.
    pub reason: Option<String>,
    /// Model calls of the session, without those of its sub-agents.
    pub turns: u32,
    /// Model calls of its sub-agents.
    pub subagent_turns: u32,
    /// What the session used, its sub-agents included.
    pub usage: TokenUsage,
}

/// A resumed session, locked against other processes.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resumed {
    /// Writes what follows.
    pub writer: SessionWriter,
    /// What it is so far. Its messages are valid for any provider, except the calls of the last answer, which may be
    /// without results.
    pub session: StoredSession,
    /// What plugins wanted the model to be reminded of, each with the model calls before which that was.
    pub reminders: Vec<(u32, Reminder)>,
    /// A sentence for each thing that its files lacked.
    pub notices: Vec<String>,
}

/// The directory in which sessions are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStore {
    directory: PathBuf,
}

impl SessionStore {
    /// Sessions in `directory`, which is made when the first one is.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Begins a session. Only the user can read it: it holds everything that the tools saw.
    ///
    /// # Errors
    /// If the id cannot name a directory, there is one already, or it cannot be written.
    pub fn create(&self, header: &Header) -> Result<SessionWriter, SessionStoreError> {
        SessionWriter::create(&self.directory, header)
    }

    /// Continues a session.
    ///
    /// # Errors
    /// If there is no session of this id, another process writes it, a message of it is damaged, or it cannot be read.
    pub fn resume(&self, id: &str) -> Result<Resumed, SessionStoreError> {
        let writer = SessionWriter::resume(&self.existing(id)?, id)?;
        // Under the lock: nobody adds to it meanwhile.
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

    /// Reads a session, also one that another process writes.
    ///
    /// # Errors
    /// If there is no session of this id, or it cannot be read. A damaged message is reported beside the others.
    pub fn read(&self, id: &str) -> Result<StoredSession, SessionStoreError> {
        StoredSession::read(&self.existing(id)?)
    }

    /// All sessions, the last used first. Other directories are skipped.
    ///
    /// # Errors
    /// If the directory cannot be read. One that is not there has none.
    pub fn list(&self) -> Result<Vec<Summary>, SessionStoreError> {
        let mut sessions: Vec<Summary> =
            self.ids()?.iter().filter_map(|id| Summary::read(&self.existing(id).ok()?)).collect();
        sessions.sort_by(|a, b| (b.updated, &b.header.id).cmp(&(a.updated, &a.header.id)));
        Ok(sessions)
    }

    /// Removes a session and its messages.
    ///
    /// # Errors
    /// If there is no session of this id, another process writes it, or it cannot be removed.
    pub fn remove(&self, id: &str) -> Result<(), SessionStoreError> {
        let path = self.existing(id)?;
        let _lock = writer::lock(&path, id)?;
        // Under another name it is no session any more, however far the removal gets.
        let removed = self.directory.join(format!("{REMOVED}{id}"));
        std::fs::rename(&path, &removed)
            .and_then(|()| std::fs::remove_dir_all(&removed))
            .map_err(SessionStoreError::io(path, "removed"))?;
        self.finish_removals();
        Ok(())
    }

    /// Removes what a process left that was killed while it removed a session.
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
        // Others could have put sessions in it, which would be resumed as the user's.
        files::check_kept_directory(&self.directory).map_err(SessionStoreError::directory(&self.directory))?;
        let id =
            |entry: std::io::Result<std::fs::DirEntry>| Some(metadata::id_of(&entry.ok()?.file_name())?.to_owned());
        // A refused one is reported when it is named.
        Ok(entries.filter_map(id).filter(|id| self.is_session(id)).collect())
    }
}

/// A sentence about a message that is not there.
fn missing(id: &str, number: u64) -> String {
    format!("the session {id} has no message {number:04}: its file was removed, and the model does not know of it")
}

/// Milliseconds since the Unix epoch.
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
