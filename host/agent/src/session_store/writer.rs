//! Writes a session. Each record is one line, and a line is added completely or not at all.

use super::reader::MAX_LINE;
use super::record::{Record, SessionStart, StoredReminder};
use super::{Ending, Generation, Header, SessionStoreError, StoredMessage, StoredSession, now};
use hookhost::capability::Reminder;
use hookhost::files;
use hookhost_models::message::Message;
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Writes a session. While the writer exists, no other process can write the session.
#[derive(Debug)]
pub struct SessionWriter {
    path: PathBuf,
    file: LockedFile,
    /// Length of the file, in bytes.
    length: u64,
    /// Number of the next message.
    next: u64,
}

/// The file of a session, which is locked while this value exists. Dropping this value unlocks the file explicitly.
/// Closing the file would not be enough, because a child process that is just being started has a copy of the file
/// descriptor, and this copy would keep the lock.
#[derive(Debug)]
pub(super) struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl SessionWriter {
    pub(super) fn create(store: &Path, path: &Path, header: &Header) -> Result<Self, SessionStoreError> {
        let line = session_line(header).and_then(|line| {
            files::make_own_directory(store)?;
            files::check_kept_directory(store)?;
            // The file gets its name only after its first line is written and its lock is taken.
            let mut new = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(store)?;
            new.write_all(&line)?;
            new.as_file().sync_data()?;
            new.as_file().try_lock()?;
            let file = LockedFile(new.persist_noclobber(path).map_err(|error| error.error)?);
            File::open(store)?.sync_all()?;
            Ok((file, line.len() as u64))
        });
        let (file, length) = line.map_err(SessionStoreError::io(path, "created"))?;
        Ok(Self { path: path.to_owned(), file, length, next: 1 })
    }

    /// Continues a session that was read while `file` was locked.
    pub(super) fn resume(path: PathBuf, file: LockedFile, session: &StoredSession) -> Result<Self, SessionStoreError> {
        let last = session.messages.iter().map(|message| message.number).max().unwrap_or(0);
        let mut writer = Self { path, file, length: session.length, next: last.saturating_add(1) };
        // Removes an incomplete line that a killed process left, and adds a missing line break after a complete last
        // line.
        writer.file.0.set_len(session.length).map_err(SessionStoreError::io(&writer.path, "written"))?;
        if session.is_unterminated {
            writer.add(b"\n")?;
        }
        Ok(writer)
    }

    /// Returns the path of the session's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records the model and the workspace of a continued session.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn continue_with(&mut self, header: &Header) -> Result<(), SessionStoreError> {
        let line = session_line(header).map_err(SessionStoreError::io(&self.path, "written"))?;
        self.add(&line)
    }

    /// Adds a message. The message is on disk when this returns.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or if another program has changed it.
    pub fn append(&mut self, message: &Message, generation: Option<Generation>) -> Result<(), SessionStoreError> {
        let (number, time, message) = (self.next, Some(now()), message.clone());
        self.record(&Record::Message(StoredMessage { number, time, message, generation }))?;
        self.next = self.next.saturating_add(1);
        Ok(())
    }

    /// Records the end of the session.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or if another program has changed it.
    pub fn end(&mut self, ending: &Ending) -> Result<(), SessionStoreError> {
        self.record(&Record::End(ending.clone()))
    }

    /// Replaces the stored reminders of plugins.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or if another program has changed it.
    pub fn remind(&mut self, reminders: &[(u32, Reminder)]) -> Result<(), SessionStoreError> {
        let stored = |(turn, reminder): &(u32, Reminder)| StoredReminder { turn: *turn, reminder: reminder.clone() };
        self.record(&Record::Reminders(reminders.iter().map(stored).collect()))
    }

    fn record(&mut self, record: &Record) -> Result<(), SessionStoreError> {
        let written = || SessionStoreError::io(&self.path, "written");
        let line = line(record).map_err(written())?;
        // The session reader would refuse a line of this length.
        if line.len() as u64 >= MAX_LINE {
            return Err(written()(io::ErrorKind::FileTooLarge.into()));
        }
        self.add(&line)
    }

    /// Adds bytes at the end of the file. If the disk is full, none of these bytes stays in the file.
    fn add(&mut self, bytes: &[u8]) -> Result<(), SessionStoreError> {
        let same = |own: &Metadata, named: &Metadata| {
            (own.dev(), own.ino(), own.len()) == (named.dev(), named.ino(), self.length)
        };
        let written = || SessionStoreError::io(&self.path, "written");
        let (own, named) =
            (self.file.0.metadata().map_err(written())?, std::fs::metadata(&self.path).map_err(written())?);
        if !same(&own, &named) {
            return Err(SessionStoreError::Overtaken { path: self.path.clone() });
        }
        let file = &self.file.0;
        if let Err(error) = file.write_all_at(bytes, self.length).and_then(|()| file.sync_data()) {
            let _ = file.set_len(self.length);
            return Err(written()(error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

fn session_line(header: &Header) -> io::Result<Vec<u8>> {
    line(&Record::Session(SessionStart { time: Some(now()), header: header.clone() }))
}

fn line(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

/// Locks a session against other processes, until the lock is dropped or the process ends.
pub(super) fn lock(path: &Path, id: &str) -> Result<LockedFile, SessionStoreError> {
    let file = files::open_lock(path).map_err(SessionStoreError::file(path))?;
    match file.try_lock() {
        Ok(()) => Ok(LockedFile(file)),
        Err(TryLockError::WouldBlock) => Err(SessionStoreError::InUse { id: id.to_owned() }),
        Err(TryLockError::Error(error)) => Err(SessionStoreError::io(path, "locked")(error)),
    }
}
