//! Whether a path still leads to the open files. What is written into others, nobody reads.

use crate::store::StoreError;
use crate::store::identity::{Identity, identity};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The files of an open database.
#[derive(Clone, Debug)]
pub(super) struct Files {
    path: PathBuf,
    /// The identity of the open database file.
    file: Option<Identity>,
    /// The identity of the WAL file, once something was written to it.
    wal: Option<Identity>,
    wal_path: PathBuf,
    /// The file of turns, and which file it was when it was opened.
    turns: Option<(PathBuf, Option<Identity>)>,
    /// The directory of all of them; `None` if a link leads from one directory to another.
    directory: Option<PathBuf>,
    /// Which directory it was, and when it was last changed before all files were last found there.
    seen: Option<(Identity, SystemTime)>,
    is_unchanged: bool,
}

impl Files {
    pub(super) fn new(
        path: &Path,
        file: Option<Identity>,
        wal_path: PathBuf,
        turns: Option<(PathBuf, Option<Identity>)>,
    ) -> Self {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = match (parent, path.canonicalize()) {
            (Some(parent), Ok(real)) if real == path => Some(parent.to_owned()),
            _ => None,
        };
        let path = path.to_owned();
        Self { path, file, wal: None, wal_path, turns, directory, seen: None, is_unchanged: false }
    }

    /// Fails if the path no longer leads to the open files: then other processes would not read what is written.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        let (file, wal) = (identity(&self.path), identity(&self.wal_path));
        if file.is_none() || file != self.file || (self.wal.is_some() && wal != self.wal) {
            return Err(StoreError::Gone(self.path.clone()));
        }
        self.wal = wal;
        // A process that opens another file of turns does not wait for those of this one, and takes them for dead.
        match &self.turns {
            Some((turns, opened)) if identity(turns) != *opened => Err(StoreError::Gone(turns.clone())),
            _ => Ok(()),
        }
    }

    /// The same by one look at the directory, where nothing in it was made, removed or replaced since the last check.
    pub(super) fn check_before_record(&mut self) -> Result<(), StoreError> {
        let now = self.directory.as_deref().and_then(changed);
        self.is_unchanged = now.is_some() && now == self.seen;
        if self.is_unchanged {
            return Ok(());
        }
        // In this order: what changes after the look at the directory gives it this time, or a later one.
        let time = time_of_files();
        let now = self.directory.as_deref().and_then(changed);
        self.check()?;
        self.seen = now.filter(|(_, changed)| time.is_some_and(|time| *changed < time));
        Ok(())
    }

    /// Whether the last check was by the directory alone.
    pub(super) fn is_unchanged(&self) -> bool {
        self.is_unchanged
    }
}

/// The earliest time that a file which changes from now on can get. The kernel gives files the time of its last tick.
/// <https://man7.org/linux/man-pages/man2/clock_gettime.2.html>
#[cfg(target_os = "linux")]
fn time_of_files() -> Option<SystemTime> {
    let tick = nix::time::clock_gettime(nix::time::ClockId::CLOCK_REALTIME_COARSE).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from(tick))
}

/// The same, where nobody says how far the clocks of files tick apart: a few milliseconds.
#[cfg(not(target_os = "linux"))]
fn time_of_files() -> Option<SystemTime> {
    SystemTime::now().checked_sub(Duration::from_millis(50))
}

/// Which directory this is, and when a name in it was last changed.
#[cfg(unix)]
fn changed(directory: &Path) -> Option<(Identity, SystemTime)> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = std::fs::metadata(directory).ok()?;
    Some(((metadata.dev(), metadata.ino()), metadata.modified().ok()?))
}

/// An open file cannot be removed or replaced on this system.
#[cfg(not(unix))]
fn changed(_: &Path) -> Option<(Identity, SystemTime)> {
    None
}
