//! The directory for what is moved away.

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fstat, mkdirat, openat, readlinkat, renameat, renameat_with,
    statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

use super::walk::{FoundEntry, descriptor_path, open_to_owner};

/// Maximum number of bytes that are copied from another file system at once.
const MAX_COPIED: u64 = 64 << 20;

/// Maximum number of bytes of an entry's name that its name in the quarantine has.
const MAX_SHOWN: usize = 120;

/// Maximum depth of a directory that is copied.
const MAX_DEPTH: usize = 32;

/// The quarantine, which only this process and its owner write.
#[derive(Clone, Debug)]
pub(super) struct Quarantine(pub(super) PathBuf);

impl Quarantine {
    /// Moves an entry of a directory here, whatever it is, and returns its new path. It opens nothing that could wait,
    /// and follows no link. On another file system it is copied. If that fails, the entry is only renamed in its
    /// directory.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] if the entry has disappeared.
    pub(super) fn take(&self, entry: &FoundEntry) -> io::Result<PathBuf> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let time = format!("{}.{:09}", now.as_secs(), now.subsec_nanos());
        // A longer name could be too long together with the time.
        let shown = entry.name.as_bytes();
        let shown = OsStr::from_bytes(shown.get(..MAX_SHOWN).unwrap_or(shown));
        let name = |start: &str| [OsStr::new(start), shown].join(OsStr::new(""));
        let kept = name(&format!("{time}-"));
        let moved = self.open().and_then(|quarantine| {
            match rename(&entry.directory.descriptor, &entry.name, &quarantine, &kept) {
                Err(Errno::ACCESS | Errno::PERM) if unlock(entry) => {
                    rename(&entry.directory.descriptor, &entry.name, &quarantine, &kept)
                }
                renamed => renamed,
            }
            .map_err(io::Error::from)
            .or_else(|error| {
                if error.kind() != io::ErrorKind::CrossesDevices {
                    return Err(error);
                }
                let mut budget = MAX_COPIED;
                copy(
                    entry.directory.descriptor.as_fd(),
                    &entry.name,
                    quarantine.as_fd(),
                    &kept,
                    &mut budget,
                    MAX_DEPTH,
                )?;
                remove(entry)
            })
        });
        match moved {
            Ok(()) => Ok(self.0.join(kept)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            // It must not stay where it is, also if the quarantine is full or cannot be made.
            Err(_) => {
                let aside = name(&format!(".hookhost-{time}-"));
                rename(&entry.directory.descriptor, &entry.name, &entry.directory.descriptor, &aside)?;
                Ok(entry.path.with_file_name(aside))
            }
        }
    }

    fn open(&self) -> io::Result<OwnedFd> {
        // The error of a missing parent would look like one of a missing entry.
        let failed = |error: io::Error| io::Error::other(error.to_string());
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0).map_err(failed)?;
        File::open(&self.0).map(OwnedFd::from).map_err(failed)
    }
}

/// Renames, and replaces nothing where the file system can promise that.
fn rename(from: &OwnedFd, name: &OsStr, to: &OwnedFd, new: &OsStr) -> Result<(), Errno> {
    match renameat_with(from, name, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => renameat(from, name, to, new),
        renamed => renamed,
    }
}

/// Lets the owner change a directory and, if it is one, the entry. A directory is only moved by whom it lets write.
fn unlock(entry: &FoundEntry) -> bool {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inner = openat(&entry.directory.descriptor, &entry.name, flags, Mode::empty());
    let is_inner_open = inner.is_ok_and(|inner| open_to_owner(&inner));
    open_to_owner(&entry.directory.descriptor) | is_inner_open
}

fn remove(entry: &FoundEntry) -> io::Result<()> {
    if entry.file_type() == FileType::Directory {
        return fs::remove_dir_all(descriptor_path(&entry.directory.descriptor).join(&entry.name));
    }
    Ok(unlinkat(&entry.directory.descriptor, &entry.name, AtFlags::empty())?)
}

/// Copies a file, a link, or a directory with its entries. Pipes, sockets and devices are left out.
fn copy(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    new: &OsStr,
    budget: &mut u64,
    depth: usize,
) -> io::Result<()> {
    let open = |flags| openat(from, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    match FileType::from_raw_mode(statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode) {
        FileType::RegularFile => {
            let source = open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
            if FileType::from_raw_mode(fstat(&source)?.st_mode) != FileType::RegularFile {
                return Ok(());
            }
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mut target = File::from(openat(to, new, flags, Mode::RUSR | Mode::WUSR)?);
            let copied = io::copy(&mut File::from(source).take(*budget), &mut target)?;
            *budget -= copied;
            if *budget == 0 { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
        }
        FileType::Symlink => Ok(symlinkat(readlinkat(from, name, Vec::new())?, to, new)?),
        FileType::Directory => {
            let depth = depth.checked_sub(1).ok_or(io::ErrorKind::FileTooLarge)?;
            let source = open(OFlags::RDONLY | OFlags::DIRECTORY)?;
            mkdirat(to, new, Mode::RWXU)?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let target = openat(to, new, flags, Mode::empty())?;
            for inner in Dir::read_from(&source)? {
                let inner: OsString = OsStr::from_bytes(inner?.file_name().to_bytes()).to_owned();
                if inner != "." && inner != ".." {
                    copy(source.as_fd(), &inner, target.as_fd(), &inner, budget, depth)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
