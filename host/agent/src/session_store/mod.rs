//! Stores each session as it happens, in one file of JSON Lines. Each line is a record, and it is on disk before the run
//! continues. People read and edit the file with any editor, and `hookhost session show` shows it as text
//! (docs/decisions/0015-sessions.md).
//!
//! ```text
//! {"session":{"time":…,"provider":"…","model":"…","workspace":"/…"}}    once, and again when the session is resumed
//! {"message":{"number":1,"time":…,"role":"user","text":"…"}}            a line for each message
//! {"reminders":[{"turn":1,"body":"…",…}]}                               the reminders of plugins, when they change
//! {"end":{"status":"success","turns":1,…}}                              the end, unless the process was killed
//! ```
//!
//! A process may be killed at any time: its session can still be read and continued. A lock that ends with the process
//! lets only one process write to a session.

mod error;
mod reader;
mod record;
mod repair;
mod writer;

pub use error::SessionStoreError;
pub use reader::{DamagedLine, SessionSummary, StoredSession};
pub use record::{Ending, Generation, Header, StoredMessage};
pub use repair::INTERRUPTED;
pub use writer::SessionWriter;

use hookhost::files;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Extension of a session's file.
const EXTENSION: &str = "jsonl";

/// Maximum number of ids in the message about an incomplete id.
const MAX_SIMILAR: usize = 5;

/// A resumed session, locked against other processes.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResumedSession {
    /// Writer for the following messages.
    pub writer: SessionWriter,
    /// The session so far. Its messages are valid for any provider, except that calls of the last answer may have no
    /// results.
    pub session: StoredSession,
    /// One sentence for each fault of the file.
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
    /// Returns an error if the id cannot name a file, if the session exists, or if it cannot be written.
    pub fn create(&self, header: &Header) -> Result<SessionWriter, SessionStoreError> {
        if !is_id(&header.id) {
            return Err(SessionStoreError::Id { id: header.id.clone() });
        }
        SessionWriter::create(&self.directory, &self.path(&header.id), header)
    }

    /// Continues a session.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, is in use by another process, has a damaged line, or cannot be
    /// read.
    pub fn resume(&self, id: &str) -> Result<ResumedSession, SessionStoreError> {
        let path = self.existing(id)?;
        let lock = writer::lock(&path, id)?;
        // The lock is held, so no other process adds messages meanwhile.
        let mut session = StoredSession::read(&path)?;
        if let Some(DamagedLine { line, reason }) = session.damaged.first().cloned() {
            return Err(SessionStoreError::Damaged { path, line, reason });
        }
        let mut notices: Vec<String> = session.missing.iter().map(|number| missing(id, *number)).collect();
        let (conversation, repaired) = repair::repair(std::mem::take(&mut session.conversation));
        notices.extend(repaired);
        session.conversation = conversation;
        let writer = SessionWriter::resume(path, lock, &session)?;
        Ok(ResumedSession { writer, session, notices })
    }

    /// Reads a session, even while another process writes it.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or cannot be read. Damaged lines are part of the result.
    pub fn read(&self, id: &str) -> Result<StoredSession, SessionStoreError> {
        StoredSession::read(&self.existing(id)?)
    }

    /// Lists all sessions, the last used first. Other files are skipped.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read. If it does not exist, the list is empty.
    pub fn list(&self) -> Result<Vec<SessionSummary>, SessionStoreError> {
        let ids = self.ids()?;
        let mut sessions: Vec<_> = ids.iter().filter_map(|id| SessionSummary::read(&self.path(id))).collect();
        sessions.sort_by(|a, b| (b.updated, &b.header.id).cmp(&(a.updated, &a.header.id)));
        Ok(sessions)
    }

    /// Removes a session.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, is in use by another process, or cannot be removed.
    pub fn remove(&self, id: &str) -> Result<(), SessionStoreError> {
        let path = self.existing(id)?;
        let _lock = writer::lock(&path, id)?;
        std::fs::remove_file(&path).map_err(SessionStoreError::io(path, "removed"))
    }

    fn path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.{EXTENSION}"))
    }

    fn existing(&self, id: &str) -> Result<PathBuf, SessionStoreError> {
        if self.is_session(id) {
            self.check_directory()?;
            return Ok(self.path(id));
        }
        let mut similar = if id.is_empty() { Vec::new() } else { self.ids()? };
        similar.retain(|other| other.starts_with(id));
        similar.sort();
        similar.truncate(MAX_SIMILAR);
        Err(SessionStoreError::NotFound { id: id.to_owned(), directory: self.directory.clone(), similar })
    }

    fn is_session(&self, id: &str) -> bool {
        is_id(id) && self.path(id).is_file()
    }

    fn ids(&self) -> Result<Vec<String>, SessionStoreError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(SessionStoreError::io(&self.directory, "listed"))?,
        };
        self.check_directory()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let id = |name: String| Some(name.strip_suffix(EXTENSION)?.strip_suffix('.')?.to_owned());
        Ok(names.filter_map(id).filter(|id| self.is_session(id)).collect())
    }

    /// Checks that other users cannot add sessions, which would be resumed as the user's.
    fn check_directory(&self) -> Result<(), SessionStoreError> {
        files::check_kept_directory(&self.directory).map_err(SessionStoreError::file(&self.directory))
    }
}

/// Returns true if a session can have this id.
fn is_id(id: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    !id.is_empty() && id.len() <= 128 && id.chars().all(is_allowed) && !id.starts_with('.')
}

/// Returns a sentence about a missing message.
fn missing(id: &str, number: u64) -> String {
    format!("the session {id} has no message {number:04}: its line was removed, and the model does not know of it")
}

/// Returns the time in milliseconds since the Unix epoch.
fn now() -> u64 {
    millis(SystemTime::now())
}

fn millis(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
