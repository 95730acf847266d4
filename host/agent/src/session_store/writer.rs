//! Writes a session. Each file appears complete under its final name, or not at all.

use super::message_file::{self, StoredMessage};
use super::metadata::{self, Metadata};
use super::{Ending, Generation, Header, SessionStoreError, messages_directory, now, reader, reminders};
use hookhost::capability::Reminder;
use hookhost::files;
use hookhost_models::message::Message;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Prefix of incomplete files.
const UNFINISHED: &str = ".unfinished-";

/// Writes a session. While it exists, no other process can write the session.
#[derive(Debug)]
pub struct SessionWriter {
    directory: PathBuf,
    metadata: Metadata,
    next: u64,
    _lock: SessionLock,
}

/// Lock of a session, held while this exists. Dropping it unlocks explicitly, since a program that is just being
/// started has a copy of the file descriptor, which would keep the lock.
#[derive(Debug)]
pub(super) struct SessionLock(File);

impl Drop for SessionLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl SessionWriter {
    pub(super) fn create(store: &Path, header: &Header) -> Result<Self, SessionStoreError> {
        if !metadata::is_id(&header.id) {
            return Err(SessionStoreError::Id { id: header.id.clone() });
        }
        let directory = store.join(&header.id);
        let metadata = Metadata::new(header, now());
        let lock = make(store, &directory, &metadata).map_err(SessionStoreError::io(&directory, "created"))?;
        Ok(Self { directory, metadata, next: 1, _lock: lock })
    }

    pub(super) fn resume(directory: &Path, id: &str) -> Result<Self, SessionStoreError> {
        let lock = lock(directory, id)?;
        let last = reader::message_files(directory)?.last().map_or(0, |(number, _)| *number);
        let metadata = reader::metadata(directory)?;
        remove_unfinished(directory);
        Ok(Self { directory: directory.to_owned(), metadata, next: last.saturating_add(1), _lock: lock })
    }

    /// Returns the session's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Records the model and the workspace of a continued session.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn take_up(&mut self, header: &Header) -> Result<(), SessionStoreError> {
        self.metadata.take_up(header);
        self.write_metadata()
    }

    /// Adds a message. The message is on disk when this returns.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, or if another program has written a message with this number.
    pub fn append(&mut self, message: &Message, generation: Option<Generation>) -> Result<(), SessionStoreError> {
        let name = message_file::name(self.next, message);
        let stored = StoredMessage { number: self.next, time: Some(now()), message: message.clone(), generation };
        let path = messages_directory(&self.directory).join(name);
        let written = unfinished(&self.directory, stored.write().as_bytes())
            .and_then(|file| file.persist_noclobber(&path).map_err(|error| error.error))
            .and_then(|_| sync(&messages_directory(&self.directory)));
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => SessionStoreError::Overtaken { path },
            _ => SessionStoreError::io(&self.directory, "written")(error),
        })?;
        self.next = self.next.saturating_add(1);
        Ok(())
    }

    /// Records the end of the session.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn end(&mut self, ending: &Ending) -> Result<(), SessionStoreError> {
        self.metadata.end(ending, now());
        self.write_metadata()
    }

    /// Replaces the stored reminders of plugins.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn remind(&mut self, reminders: &[(u32, Reminder)]) -> Result<(), SessionStoreError> {
        let text = reminders::text(reminders);
        unfinished(&self.directory, text.as_bytes())
            .and_then(|file| file.persist(self.directory.join(reminders::FILE)).map_err(|error| error.error))
            .and_then(|_| sync(&self.directory))
            .map_err(SessionStoreError::io(&self.directory, "written"))
    }

    fn write_metadata(&self) -> Result<(), SessionStoreError> {
        unfinished(&self.directory, self.metadata.text().as_bytes())
            .and_then(|file| file.persist(self.directory.join(metadata::FILE)).map_err(|error| error.error))
            .and_then(|_| sync(&self.directory))
            .map_err(SessionStoreError::io(&self.directory, "written"))
    }
}

/// Creates the directory of a session in one step. Returns the session's lock.
fn make(store: &Path, directory: &Path, metadata: &Metadata) -> io::Result<SessionLock> {
    DirBuilder::new().recursive(true).mode(0o700).create(store)?;
    files::check_kept_directory(store)?;
    if directory.exists() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let private = std::fs::Permissions::from_mode(0o700);
    let new = tempfile::Builder::new().prefix(UNFINISHED).permissions(private).tempdir_in(store)?;
    DirBuilder::new().mode(0o700).create(messages_directory(new.path()))?;
    unfinished(new.path(), metadata.text().as_bytes())?.persist(new.path().join(metadata::FILE))?;
    let lock = open_lock(new.path())?;
    lock.try_lock()?;
    let lock = SessionLock(lock);
    std::fs::rename(new.path(), directory)?;
    // The directory has been renamed, so there is nothing to clean up.
    let _ = new.keep();
    sync(store)?;
    Ok(lock)
}

/// Creates a private file in `directory` with synced content and a temporary name.
fn unfinished(directory: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_data()?;
    Ok(file)
}

/// Syncs a directory, so that new names in it survive a crash.
fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Removes incomplete files of killed processes.
fn remove_unfinished(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Locks a session against other processes, until the lock is dropped or the process ends.
pub(super) fn lock(directory: &Path, id: &str) -> Result<SessionLock, SessionStoreError> {
    let file = open_lock(directory).map_err(SessionStoreError::io(directory, "locked"))?;
    match file.try_lock() {
        Ok(()) => Ok(SessionLock(file)),
        Err(TryLockError::WouldBlock) => Err(SessionStoreError::InUse { id: id.to_owned() }),
        Err(TryLockError::Error(error)) => Err(SessionStoreError::io(directory, "locked")(error)),
    }
}

fn open_lock(directory: &Path) -> io::Result<File> {
    Ok(files::open_lock(&directory.join(".lock"))?)
}
