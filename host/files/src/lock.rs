//! The lock for changes of trusted files.

use super::{FileError, Guard, check, check_own_directory, make_own_directory, refused};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// Timeout for the lock. Each process holds the lock only while it writes one small file.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Poll interval for the lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A lock that allows one process at a time to read, change and write trusted files: configuration, approvals, keys.
/// The kernel releases the lock when this value is dropped or the process ends. A process must not take the lock a
/// second time, because it would wait for itself.
#[derive(Debug)]
pub struct Lock {
    _held: File,
}

impl Lock {
    /// Takes the lock of the user with this state directory, and creates the directory if it is missing.
    ///
    /// # Errors
    /// Fails if the directory or the lock file cannot be used, or if another process holds the lock for ten seconds.
    pub fn take(directory: &Path) -> Result<Self, FileError> {
        Self::take_within(directory, MAX_WAIT)
    }

    pub(super) fn take_within(directory: &Path, most: Duration) -> Result<Self, FileError> {
        make_own_directory(directory)?;
        close(directory)?;
        check_own_directory(directory)?;
        let path = directory.join("trust.lock");
        let file = open_lock(&path)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _held: file }),
                Err(TryLockError::Error(error)) => return Err(error.into()),
                Err(TryLockError::WouldBlock) if began.elapsed() >= most => {
                    let fault = "another hookhost holds it".to_owned();
                    return Err(refused(&path, fault, "let that one finish, and try again".to_owned()).into());
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_INTERVAL),
            }
        }
    }
}

/// Removes the access of others to the user's own directory. A directory with the sticky bit, such as `/tmp`, is left
/// unchanged, because it is shared.
#[cfg(unix)]
fn close(directory: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let metadata = std::fs::metadata(directory)?;
    let is_mine = metadata.uid() == rustix::process::geteuid().as_raw();
    if is_mine && metadata.mode() & 0o1000 == 0 && metadata.mode() & 0o077 != 0 {
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Opens a lock file, and creates it if it is missing. If the path is a pipe, this does not wait for the pipe's other
/// end.
///
/// # Errors
/// [`FileError::Io`] if the file cannot be opened; [`FileError::Refused`] if it is a link or no regular file, or others
/// can write it.
pub fn open_lock(path: &Path) -> Result<File, FileError> {
    let file = create(path)?;
    check(path, &file.metadata()?, Guard::OnlyMineToWrite)?;
    Ok(file)
}

fn create(path: &Path) -> Result<File, FileError> {
    let mut options = File::options();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    match options.open(path) {
        Err(_) if super::is_link(path) => Err(super::link(path).into()),
        opened => opened.map_err(|error| super::locked_out(path, super::Access::Write, error)),
    }
}
