//! The directory of stored sessions.

use super::{Header, SessionStoreError, SessionSummary, SessionWriter, StoredSession, writer};
use hookhost::files;
use std::path::PathBuf;

/// Extension of a session's file.
const EXTENSION: &str = "jsonl";

/// Maximum number of ids in the message about an incomplete id.
const MAX_SIMILAR: usize = 5;

/// Directory of the stored sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStore {
    pub(super) directory: PathBuf,
}

impl SessionStore {
    /// Creates a store in `directory`. The directory itself is created together with the first session.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Creates a session. Only the user can read its file, since the file contains everything that the tools saw.
    ///
    /// # Errors
    /// Returns an error if the id cannot name a file, if the session already exists, or if its file cannot be written.
    pub fn create(&self, header: &Header) -> Result<SessionWriter, SessionStoreError> {
        if !is_id(&header.id) {
            return Err(SessionStoreError::Id { id: header.id.clone() });
        }
        SessionWriter::create(&self.directory, &self.path(&header.id), header)
    }

    /// Reads a session, even while another process writes it.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or cannot be read. If lines are damaged, the result lists them.
    pub fn read(&self, id: &str) -> Result<StoredSession, SessionStoreError> {
        StoredSession::read(&self.existing(id)?)
    }

    /// Lists all sessions, beginning with the one that was used last. Other files are skipped.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read. If the directory does not exist, the list is empty.
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

    pub(super) fn path(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.{EXTENSION}"))
    }

    pub(super) fn existing(&self, id: &str) -> Result<PathBuf, SessionStoreError> {
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

    /// Checks that other users cannot add sessions to the directory. Otherwise such a session could be resumed as if it
    /// were the user's own.
    fn check_directory(&self) -> Result<(), SessionStoreError> {
        files::check_kept_directory(&self.directory).map_err(SessionStoreError::file(&self.directory))
    }
}

/// Returns true if a session can have this id.
fn is_id(id: &str) -> bool {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    !id.is_empty() && id.len() <= 128 && id.chars().all(is_allowed) && !id.starts_with('.')
}
