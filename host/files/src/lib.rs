//! Files that hookhost believes, and files that somebody else could have placed: who may have written one, how it is opened,
//! and the lock under which it is changed.
//!
//! Configuration, approvals, keys, the database and compiled code decide what runs. Such a file
//! counts only where nobody but the user and root can have written it, and nobody else can put
//! another file in its place. Settings of agents and files of a project count for less
//! ([`Guard::Anybodys`]); [`check_within`] keeps a link of a repository from leading out of it.
//! All of them are opened in one way: regular files alone, without waiting for the other end of a
//! pipe, by a look at what was opened rather than at the path, and read up to a bound.
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

/// Who may be able to write or read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guard {
    /// Anybody: something else, such as a digest, says whether its content counts.
    Anybodys,
    /// Nobody but the user and root may be able to write it, or to put another one in its place.
    OnlyMineToWrite,
    /// The same, and nobody else may be able to read it.
    OnlyMineToRead,
}

/// How a path is treated whose last part is a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Links {
    /// The file is the one that the link leads to. It is checked, and so are its directory and the link's.
    Followed,
    /// The file is refused.
    Refused,
}

/// Why a file is not used: what is wrong with it, and how to fix that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not used, since {fault}: {remedy}", path.display())]
#[non_exhaustive]
pub struct Refused {
    /// The file, or the directory that holds it.
    pub path: PathBuf,
    /// What is wrong, such as "it belongs to another user (uid 1001)".
    pub fault: String,
    /// What to do, with the command where there is one.
    pub remedy: String,
}

/// Why a file cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system says no: it is not there, for one.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is there, and does not count.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl FileError {
    /// Whether there is no such file; also if its parent is not a directory.
    #[must_use]
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

/// Opens a regular file to read it, and looks at what was opened. No pipe is waited for.
///
/// # Errors
/// [`FileError::Io`] where it cannot be opened; [`FileError::Refused`] where it is not a regular
/// file, or breaks the rule of `guard` or `links`.
pub fn open(path: &Path, guard: Guard, links: Links) -> Result<File, FileError> {
    let file = match open_at_once(path, links) {
        Err(_) if links == Links::Refused && is_link(path) => return Err(link(path).into()),
        opened => opened.map_err(|error| locked_out(path, Access::Read, error))?,
    };
    check(path, &file.metadata()?, guard)?;
    match links {
        Links::Followed => check_directories(path, guard)?,
        // What was opened is no link.
        Links::Refused => check_named_directory(path, guard)?,
    }
    Ok(file)
}

/// All of a file that [`open`] gives, of at most `most` bytes.
///
/// # Errors
/// As [`open`], and where the file is larger.
pub fn read(path: &Path, guard: Guard, links: Links, most: u64) -> Result<Vec<u8>, FileError> {
    read_opened(path, &open(path, guard, links)?, most)
}

/// All of a file that [`open`] gave, of at most `most` bytes.
///
/// # Errors
/// If it cannot be read, or is larger.
pub fn read_opened(path: &Path, file: &File, most: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    // It may grow while it is read.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let fault = format!("it is larger than {}", size(most));
        return Err(refused(path, fault, "check that it is the file that you mean".to_owned()).into());
    }
    Ok(bytes)
}

/// Refuses a path that leads out of the directory `root` by a symbolic link: somebody else, who
/// wrote what is in `root`, would choose the file. Of a path that is not there, the nearest
/// directory above it that is there counts.
///
/// # Errors
/// [`FileError::Io`] where a directory cannot be looked at; [`FileError::Refused`] where the path leads out.
pub fn check_within(path: &Path, root: &Path) -> Result<(), FileError> {
    let is_missing = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let real = path.ancestors().map(Path::canonicalize).find(|real| !real.as_ref().is_err_and(is_missing));
    // A link to nothing is looked at by its directory alone, and whatever opens it finds that nothing is there.
    let real = real.unwrap_or_else(|| Path::new("/").canonicalize())?;
    if real.starts_with(root.canonicalize()?) {
        return Ok(());
    }
    let fault = format!("a symbolic link leads to {}, which is outside of {}", real.display(), root.display());
    Err(refused(path, fault, "put the file itself in the link's place".to_owned()).into())
}

/// Looks at a file by its path, for one that others open: a database.
///
/// # Errors
/// As [`open`].
pub fn look(path: &Path, guard: Guard) -> Result<(), FileError> {
    check(path, &std::fs::metadata(path)?, guard)?;
    check_directories(path, guard)
}

/// Looks at a file as [`look`] does, whose name is not all that is believed: SQLite takes other
/// files beside a database for a part of it. So nobody else may add a file to its directory, as
/// they can to `/tmp`.
///
/// # Errors
/// As [`look`], and where others can write the directory.
pub fn look_in_kept_directory(path: &Path, guard: Guard) -> Result<(), FileError> {
    look(path, guard)?;
    check_kept_directory(directory_of(path))?;
    check_kept_directory(directory_of(&path.canonicalize()?))
}

/// Checks a directory of which every file counts: nobody but the user and root can add a file to
/// it, with the sticky bit or without.
///
/// # Errors
/// [`FileError::Io`] where it cannot be looked at; [`FileError::Refused`] where others can write it.
pub fn check_kept_directory(directory: &Path) -> Result<(), FileError> {
    Ok(owner::check(directory, &std::fs::metadata(directory)?, Guard::OnlyMineToWrite)?)
}

/// Checks a directory that only the user can use: its content is trusted.
///
/// # Errors
/// [`FileError::Io`] where it cannot be looked at; [`FileError::Refused`] where others can reach it.
pub fn check_own_directory(directory: &Path) -> Result<(), FileError> {
    let metadata = std::fs::metadata(directory)?;
    if !metadata.is_dir() {
        let remedy = "make a directory there, or name another one".to_owned();
        return Err(refused(directory, "it is not a directory".to_owned(), remedy).into());
    }
    Ok(owner::check(directory, &metadata, Guard::OnlyMineToRead)?)
}

/// Makes a directory with mode 0700, with those above it, where it is not there.
///
/// # Errors
/// Where that cannot be done.
pub fn make_own_directory(directory: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(directory).map_err(|error| locked_out(directory, Access::Write, error).into())
}

/// The use of a file that the system has denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Names what keeps its own owner from a file, where the system has denied the way to it.
fn locked_out(path: &Path, access: Access, error: io::Error) -> FileError {
    let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
    let refused = is_denied.then(|| owner::locked_out(path, access)).flatten();
    refused.map_or(FileError::Io(error), FileError::Refused)
}

/// The file that a symbolic link in the way is refused with.
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

/// Checks the directory that has the file's name.
fn check_named_directory(path: &Path, guard: Guard) -> Result<(), FileError> {
    if guard == Guard::Anybodys {
        return Ok(());
    }
    let named = directory_of(path);
    Ok(owner::check_directory(named, &std::fs::metadata(named)?)?)
}

/// Checks the directory that holds the file, and where a link leads to it, the directory that holds the link.
fn check_directories(path: &Path, guard: Guard) -> Result<(), FileError> {
    check_named_directory(path, guard)?;
    if guard != Guard::Anybodys && is_link(path) {
        let real = path.canonicalize()?;
        let directory = directory_of(&real);
        owner::check_directory(directory, &std::fs::metadata(directory)?)?;
    }
    Ok(())
}

/// The directory that holds a file.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

fn refused(path: &Path, fault: String, remedy: String) -> Refused {
    Refused { path: path.to_owned(), fault, remedy }
}

/// A size as people write it.
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
