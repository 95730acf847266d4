//! Checks that the paths of a database still lead to the open files. Otherwise, no other process would read what this
//! process writes.

use crate::store::StoreError;
use crate::store::identity::{Identity, identity};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Minimum age of a directory's last change at which the directory's modification time is reliable: every later change
/// then sets a different time. For a more recent change, two things could hide a later change: the clock of a file
/// system advances in steps of up to 10 ms, and a name may disappear a moment after the time was set. The files are on
/// this machine, because SQLite's WAL requires this.
const SETTLED: Duration = Duration::from_millis(20);

/// Like [`SETTLED`], for file systems that may store only whole seconds. FAT has steps of two seconds.
const SETTLED_SECONDS: Duration = Duration::from_secs(2);

/// The files of an open database.
#[derive(Clone, Debug)]
pub(super) struct Files {
    path: PathBuf,
    /// The identity of the open database file.
    file: Option<Identity>,
    /// The identity of the WAL file, once something was written to it.
    wal: Option<Identity>,
    wal_path: PathBuf,
    /// The path of the file of turns, and the identity of the file when it was opened.
    turns: Option<(PathBuf, Option<Identity>)>,
    /// The directory of all these files; `None` if a link leads from one directory to another.
    directory: Option<PathBuf>,
    /// The identity of the directory, and the time of its last change, when all files were last found in it.
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

    /// Fails if a path no longer leads to its open file. Other processes would then not read what this process writes.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        let (file, wal) = (identity(&self.path), identity(&self.wal_path));
        if file.is_none() || file != self.file || (self.wal.is_some() && wal != self.wal) {
            return Err(StoreError::Gone(self.path.clone()));
        }
        self.wal = wal;
        // If another process opened a different file of turns, it would not wait for the turns of this process, and
        // would believe that this process has ended.
        match &self.turns {
            Some((turns, opened)) if identity(turns) != *opened => Err(StoreError::Gone(turns.clone())),
            _ => Ok(()),
        }
    }

    /// Like [`Self::check`], but if nothing in the directory was created, removed or replaced since the last check,
    /// only the directory itself is checked.
    pub(super) fn check_before_record(&mut self) -> Result<(), StoreError> {
        let now = self.directory.as_deref().and_then(changed);
        self.is_unchanged = now.is_some() && now == self.seen;
        if self.is_unchanged {
            return Ok(());
        }
        // Read the clock first, then the directory, then the files. In this order, a change in between counts as a
        // later change.
        let time = SystemTime::now();
        let now = self.directory.as_deref().and_then(changed);
        self.check()?;
        self.seen = now.filter(|(_, changed)| is_settled(*changed, time));
        Ok(())
    }

    /// Returns true if the last check read only the directory and not each file.
    pub(super) fn is_unchanged(&self) -> bool {
        self.is_unchanged
    }
}

/// Returns true if any change of the directory after `time` is certain to set a modification time other than `changed`.
fn is_settled(changed: SystemTime, time: SystemTime) -> bool {
    let is_whole = changed.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since.subsec_nanos() == 0);
    let age = if is_whole { SETTLED_SECONDS } else { SETTLED };
    time.duration_since(changed).is_ok_and(|since| since > age)
}

/// Returns the identity of the directory, and the time of the last change of a name in it.
fn changed(directory: &Path) -> Option<(Identity, SystemTime)> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = std::fs::metadata(directory).ok()?;
    Some(((metadata.dev(), metadata.ino()), metadata.modified().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::identity::identity;
    use std::fs::File;

    /// A directory with a database, the path of the database, and the object that checks its files.
    fn watched() -> (tempfile::TempDir, PathBuf, Files) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("database");
        File::create(&path).unwrap();
        let files = Files::new(&path, identity(&path), path.with_extension("wal"), None);
        (directory, path, files)
    }

    fn set(directory: &Path, changed: SystemTime) {
        File::open(directory).unwrap().set_modified(changed).unwrap();
    }

    #[test]
    fn a_directory_that_may_keep_its_time_is_looked_through() {
        let now = SystemTime::UNIX_EPOCH + Duration::new(1_000_000, 500_000_000);
        let ago = |age| is_settled(now - Duration::from_millis(age), now);
        assert!(!ago(0) && !ago(20) && ago(21));
        assert!(!is_settled(now + Duration::from_secs(1), now));
        // These times are whole seconds, so the file system may not store fractions of a second.
        assert!(!ago(500) && !ago(1500) && ago(2500));
    }

    #[test]
    fn a_settled_directory_is_looked_at_once() {
        let (directory, _, mut files) = watched();
        let hour = SystemTime::now() - Duration::from_secs(3600);
        set(directory.path(), hour);
        files.check_before_record().unwrap();
        assert!(!files.is_unchanged());
        files.check_before_record().unwrap();
        assert!(files.is_unchanged());
    }

    #[test]
    fn what_is_removed_while_the_time_stays_the_same_is_noticed() {
        let (directory, path, mut files) = watched();
        let ahead = SystemTime::now() + Duration::from_secs(3600);
        set(directory.path(), ahead);
        files.check_before_record().unwrap();
        std::fs::remove_file(path).unwrap();
        set(directory.path(), ahead);
        assert!(matches!(files.check_before_record(), Err(StoreError::Gone(_))));
    }
}
