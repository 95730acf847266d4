//! Safe access to trusted files, and to files that somebody else could have created. This crate checks the owners of
//! files, opens files safely, and locks files for changes.
//!
//! Configuration, approvals, keys, the database and compiled code determine which rules run. Such a file is trusted
//! only if the user and root are the only users who can have written it, and the only users who can replace it.
//! Settings of agents and files of a project need less protection ([`Guard::Anybodys`]), but [`check_within`] refuses
//! links that lead out of a repository. All files are opened in the same way. Only regular files are opened, and
//! opening never waits for the other end of a pipe. The checks apply to the opened file and not to its path. Reading
//! stops at a maximum size.
//!
//! ```
//! use hookhost_files::{Guard, Links, read};
//!
//! let directory = tempfile::tempdir()?;
//! let file = directory.path().join("hookhost.toml");
//! std::fs::write(&file, "# mine\n")?;
//! assert_eq!(read(&file, Guard::OnlyMineToWrite, Links::Followed, 1024)?, b"# mine\n");
//! assert!(read(&file, Guard::OnlyMineToWrite, Links::Followed, 3).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test that cannot continue fails"))]

mod lock;
mod owner;
#[cfg(feature = "replace")]
mod replace;

#[cfg(all(test, unix))]
mod tests;

pub use lock::{Lock, open_lock};
#[cfg(feature = "replace")]
pub use replace::{NewFile, replace};

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The required protection of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guard {
    /// Anybody may write the file. Other data, such as a digest, decides whether the content of the file is trusted.
    Anybodys,
    /// Nobody but the user and root may be able to write the file, or to replace it.
    OnlyMineToWrite,
    /// Like `OnlyMineToWrite`, and nobody but the user and root may be able to read the file.
    OnlyMineToRead,
}

/// The treatment of a path whose last part is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Links {
    /// The link is followed. The target is checked, and so are its directory and the link's directory.
    Followed,
    /// The file is refused.
    Refused,
}

/// The reason why a file is not used: the fault, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not used, since {fault}: {remedy}", path.display())]
#[non_exhaustive]
pub struct Refused {
    /// The file, or the directory that contains it.
    pub path: PathBuf,
    /// The fault, such as "it belongs to another user (uid 1001)".
    pub fault: String,
    /// The remedy, with a command if there is one.
    pub remedy: String,
}

/// The error of an access to a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system reports an error, such as a missing file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file exists, but it is not trusted.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl FileError {
    /// Returns true if the file does not exist, or its parent is not a directory.
    pub fn is_missing(&self) -> bool {
        let missing = |kind| matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        matches!(self, Self::Io(error) if missing(error.kind()))
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => error,
            FileError::Refused(refused) => Self::other(refused),
        }
    }
}

/// Opens a regular file for reading, and checks the opened file. Does not wait for the other end of a pipe.
///
/// # Errors
/// [`FileError::Io`] if the file cannot be opened; [`FileError::Refused`] if it is not a regular file, or violates
/// `guard` or `links`.
pub fn open(path: &Path, guard: Guard, links: Links) -> Result<File, FileError> {
    let file = match open_at_once(path, links) {
        Err(_) if links == Links::Refused && is_link(path) => return Err(link(path).into()),
        opened => opened.map_err(|error| locked_out(path, Access::Read, error))?,
    };
    check(path, &file.metadata()?, guard)?;
    match links {
        Links::Followed => check_directories(path, guard)?,
        // The opened file is not a link, so only its own directory is checked.
        Links::Refused => check_named_directory(path, guard)?,
    }
    Ok(file)
}

/// Opens a file like [`open`] and reads it, up to `most` bytes.
///
/// # Errors
/// The errors of [`open`], and an error if the file is larger than `most` bytes.
pub fn read(path: &Path, guard: Guard, links: Links, most: u64) -> Result<Vec<u8>, FileError> {
    read_opened(path, &open(path, guard, links)?, most)
}

/// Size of a small file, in bytes.
const SMALL: usize = 4096;

/// Reads a file that [`open`] has returned, up to `most` bytes.
///
/// # Errors
/// Fails if the file cannot be read, or is larger than `most` bytes.
pub fn read_opened(path: &Path, file: &File, most: u64) -> Result<Vec<u8>, FileError> {
    // Most files are small, and are then read at once.
    let mut bytes = Vec::with_capacity(SMALL);
    // The file may grow while it is read.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let fault = format!("it is larger than {}", size(most));
        return Err(refused(path, fault, "check that it is the file that you mean".to_owned()).into());
    }
    Ok(bytes)
}

/// Refuses a path that leads out of the directory `root` through a symbolic link, because the author of the link
/// would then choose the file. If the path does not exist, the nearest existing directory above it is checked.
///
/// # Errors
/// [`FileError::Io`] if a directory cannot be read; [`FileError::Refused`] if the path leads out of `root`.
pub fn check_within(path: &Path, root: &Path) -> Result<(), FileError> {
    let is_missing = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let real = path.ancestors().map(Path::canonicalize).find(|real| !real.as_ref().is_err_and(is_missing));
    // For a link to a missing file, only the directory of the link is checked, because opening the link fails later.
    let real = real.unwrap_or_else(|| Path::new("/").canonicalize())?;
    if real.starts_with(root.canonicalize()?) {
        return Ok(());
    }
    let fault = format!("a symbolic link leads to {}, which is outside of {}", real.display(), root.display());
    Err(refused(path, fault, "put the file itself in the link's place".to_owned()).into())
}

/// Checks a file by its path. Use this for a file that other code opens, such as a database.
///
/// # Errors
/// The errors of [`open`].
pub fn look(path: &Path, guard: Guard) -> Result<(), FileError> {
    check(path, &std::fs::metadata(path)?, guard)?;
    check_directories(path, guard)
}

/// Checks a file like [`look`], and also its directory, because SQLite treats other files beside a database as a part
/// of the database. Therefore nobody else may be able to add a file to the directory. In `/tmp`, for example,
/// everybody can add files.
///
/// # Errors
/// The errors of [`look`], and an error if others can write the directory.
pub fn look_in_kept_directory(path: &Path, guard: Guard) -> Result<(), FileError> {
    look(path, guard)?;
    check_kept_directory(directory_of(path))?;
    check_kept_directory(directory_of(&path.canonicalize()?))
}

/// Checks a directory whose files are all trusted: nobody but the user and root may be able to add a file, even if the
/// sticky bit is set.
///
/// # Errors
/// [`FileError::Io`] if the directory cannot be read; [`FileError::Refused`] if others can write it.
pub fn check_kept_directory(directory: &Path) -> Result<(), FileError> {
    Ok(owner::check(directory, &std::fs::metadata(directory)?, Guard::OnlyMineToWrite)?)
}

/// Checks that only the user can access a directory.
///
/// # Errors
/// [`FileError::Io`] if the directory cannot be read; [`FileError::Refused`] if others can access it.
pub fn check_own_directory(directory: &Path) -> Result<(), FileError> {
    let metadata = std::fs::metadata(directory)?;
    if !metadata.is_dir() {
        let remedy = "make a directory there, or name another one".to_owned();
        return Err(refused(directory, "it is not a directory".to_owned(), remedy).into());
    }
    Ok(owner::check(directory, &metadata, Guard::OnlyMineToRead)?)
}

/// Creates a directory and the missing directories above it, with mode 0700. Existing directories stay unchanged.
///
/// # Errors
/// Fails if the directory cannot be created.
pub fn make_own_directory(directory: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory).map_err(|error| locked_out(directory, Access::Write, error).into())
}

/// The kind of access that the system has denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Explains a denied access to the user's own file, by naming the mode that denies it.
fn locked_out(path: &Path, access: Access, error: io::Error) -> FileError {
    let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
    let refused = is_denied.then(|| owner::locked_out(path, access)).flatten();
    refused.map_or(FileError::Io(error), FileError::Refused)
}

/// Creates the error for a symbolic link.
fn link(path: &Path) -> Refused {
    let remedy = "put the file itself in the link's place".to_owned();
    refused(path, "it is a symbolic link".to_owned(), remedy)
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

fn check(path: &Path, metadata: &Metadata, guard: Guard) -> Result<(), Refused> {
    if !metadata.is_file() {
        let remedy = "put a file in its place, or name another one".to_owned();
        return Err(refused(path, "it is not a regular file".to_owned(), remedy));
    }
    if guard == Guard::Anybodys { Ok(()) } else { owner::check(path, metadata, guard) }
}

/// Checks the directory of the path.
fn check_named_directory(path: &Path, guard: Guard) -> Result<(), FileError> {
    if guard == Guard::Anybodys {
        return Ok(());
    }
    let named = directory_of(path);
    Ok(owner::check_directory(named, &std::fs::metadata(named)?)?)
}

/// Checks the directory of the path, and if the path is a link, also the directory of its target.
fn check_directories(path: &Path, guard: Guard) -> Result<(), FileError> {
    check_named_directory(path, guard)?;
    if guard != Guard::Anybodys && is_link(path) {
        let real = path.canonicalize()?;
        let directory = directory_of(&real);
        owner::check_directory(directory, &std::fs::metadata(directory)?)?;
    }
    Ok(())
}

/// Returns the directory of a file.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

fn refused(path: &Path, fault: String, remedy: String) -> Refused {
    Refused { path: path.to_owned(), fault, remedy }
}

/// Formats a size for people.
fn size(bytes: u64) -> String {
    match bytes {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{} KiB", n >> 10),
        n => format!("{n} bytes"),
    }
}

#[cfg(unix)]
fn open_at_once(path: &Path, links: Links) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refused {
        flags |= OFlags::NOFOLLOW;
    }
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open_at_once(path: &Path, links: Links) -> io::Result<File> {
    if links == Links::Refused && is_link(path) {
        return Err(io::Error::other("it is a symbolic link"));
    }
    File::open(path)
}
