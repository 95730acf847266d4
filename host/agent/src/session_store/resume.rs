//! Resumes a session, even if its process was killed before the session ended.

use super::{DamagedLine, SessionStore, SessionStoreError, SessionWriter, StoredSession, repair, writer};

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

impl SessionStore {
    /// Continues a session.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, is in use by another process, has a damaged line, or cannot be
    /// read.
    pub fn resume(&self, id: &str) -> Result<ResumedSession, SessionStoreError> {
        let path = self.existing(id)?;
        let lock = writer::lock(&path, id)?;
        // This process holds the lock, so no other process adds messages while the file is read.
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
}

/// Returns a sentence about a missing message.
fn missing(id: &str, number: u64) -> String {
    format!("the session {id} has no message {number:04}: its line was removed, and the model does not know of it")
}
