//! The way to a watched path. No symbolic link is followed, except for those that were there at the start.

use hookhost_conditions::glob::{Comparison, Glob};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat, openat2, readlinkat, statat};
use rustix::io::Errno;
use std::cell::OnceCell;
use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{Permissions, metadata, set_permissions};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use crate::policy::places::is_pattern;

/// Maximum number of symbolic links on the way to one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Symbolic links with their targets.
pub(super) type Links = HashMap<PathBuf, PathBuf>;

/// What a walk does with a symbolic link that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewLinks {
    /// It follows and learns the link. Only before the program starts.
    Learned,
    /// It stops there, and returns the link.
    Found,
}

/// An entry of a directory.
#[derive(Clone, Debug)]
pub(super) struct FoundEntry {
    pub(super) directory: Rc<OpenDirectory>,
    pub(super) name: OsString,
    /// The path without symbolic links.
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
    /// The entry is an unknown link on the way to the path, and not the path itself.
    pub(super) is_on_the_way: bool,
}

impl FoundEntry {
    pub(super) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

/// What a walk finds.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) entries: Vec<FoundEntry>,
    /// The directory of the path, if the walk has got there.
    pub(super) parent: Option<Rc<OpenDirectory>>,
}

/// A directory that a walk has opened.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    pub(super) descriptor: OwnedFd,
    /// The kernel's watch of it; `None` if it needs none.
    pub(super) watch: OnceCell<Option<i32>>,
}

/// Directories by their paths, for walks that follow each other at once. Some do not exist.
pub(super) type OpenDirectories = HashMap<PathBuf, Option<Rc<OpenDirectory>>>;

/// One walk.
pub(super) struct Walk<'a> {
    pub(super) links: &'a mut Links,
    pub(super) new_links: NewLinks,
    /// Is called with each directory and the name that is looked up in it, before the name is looked up.
    pub(super) enter: &'a mut dyn FnMut(&OpenDirectory, &OsStr),
    pub(super) opened: &'a mut OpenDirectories,
}

impl Walk<'_> {
    /// Finds what exists at a path, whose names may have wildcards.
    pub(super) fn find(&mut self, path: &Path) -> Found {
        let mut found = Found::default();
        self.follow(PathBuf::from("/"), parts(path), MAX_LINKS, &mut found);
        found
    }

    fn follow(&mut self, mut real: PathBuf, mut rest: VecDeque<OsString>, links: usize, found: &mut Found) {
        while let Some(part) = rest.pop_front() {
            match Path::new(&part).components().next() {
                Some(Component::RootDir) => real = PathBuf::from("/"),
                Some(Component::ParentDir) => _ = real.pop(),
                Some(Component::Normal(_)) => {
                    let Some(directory) = self.open(&real) else { return };
                    (self.enter)(&directory, &part);
                    if rest.is_empty() {
                        found.parent = Some(Rc::clone(&directory));
                    }
                    for name in names(&directory.descriptor, &part) {
                        self.look(&directory, &real, name, &rest, links, found);
                    }
                    return;
                }
                _ => {}
            }
        }
    }

    /// Looks up one name, and walks on.
    fn look(
        &mut self,
        directory: &Rc<OpenDirectory>,
        real: &Path,
        name: OsString,
        rest: &VecDeque<OsString>,
        links: usize,
        found: &mut Found,
    ) {
        let path = real.join(&name);
        if !rest.is_empty()
            && let Some(known) = self.opened.get(&path)
        {
            if known.is_some() {
                self.follow(path, rest.clone(), links, found);
            }
            return;
        }
        let look = || statat(&directory.descriptor, &name, AtFlags::SYMLINK_NOFOLLOW);
        let looked = look().or_else(|error| {
            // A program inside can lock its own directories, which would hide what is in them.
            if error == Errno::ACCESS && open_to_owner(&directory.descriptor) { look() } else { Err(error) }
        });
        let Ok(stat) = looked else {
            self.opened.insert(path, None);
            return;
        };
        let mut is_on_the_way = false;
        if !rest.is_empty() {
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => return self.follow(path, rest.clone(), links, found),
                FileType::Symlink => {
                    let Ok(target) = readlinkat(&directory.descriptor, &name, Vec::new()) else { return };
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    if self.new_links == NewLinks::Learned {
                        self.links.insert(path.clone(), target.clone());
                    }
                    if self.links.get(&path) == Some(&target) {
                        let mut parts = parts(&target);
                        parts.extend(rest.iter().cloned());
                        let Some(links) = links.checked_sub(1) else { return };
                        return self.follow(real.to_owned(), parts, links, found);
                    }
                    is_on_the_way = true;
                }
                // Nothing can be below it.
                _ => return,
            }
        }
        found.entries.push(FoundEntry { directory: Rc::clone(directory), name, path, stat, is_on_the_way });
    }

    /// Opens a directory without following any link.
    fn open(&mut self, path: &Path) -> Option<Rc<OpenDirectory>> {
        if let Some(opened) = self.opened.get(path) {
            return opened.clone();
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok();
        let opened = opened.map(|descriptor| Rc::new(OpenDirectory { descriptor, watch: OnceCell::new() }));
        self.opened.insert(path.to_owned(), opened.clone());
        opened
    }
}

/// The path of an open directory, for calls that take no descriptor.
pub(super) fn descriptor_path(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()))
}

/// Gives the owner of a directory all permissions. Returns true if that has changed something.
pub(super) fn open_to_owner(directory: &OwnedFd) -> bool {
    let path = descriptor_path(directory);
    let Ok(mode) = metadata(&path).map(|metadata| metadata.permissions().mode() & 0o7777) else { return false };
    mode & 0o700 != 0o700 && set_permissions(&path, Permissions::from_mode(mode | 0o700)).is_ok()
}

/// The names in a directory that a part of a path stands for.
fn names(directory: &OwnedFd, part: &OsStr) -> Vec<OsString> {
    if !is_pattern(Path::new(part)) {
        return vec![part.to_owned()];
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = || openat(directory, c".", flags, Mode::empty());
    let opened = open().or_else(|error| if open_to_owner(directory) { open() } else { Err(error) });
    let entries = opened.and_then(Dir::new).into_iter().flatten().flatten();
    let names = entries.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    names.filter(|name| name != "." && name != ".." && fits(part, name)).collect()
}

/// Returns true if a name is a part of a path, or matches its wildcards.
pub(super) fn fits(part: &OsStr, name: &OsStr) -> bool {
    let matches = || {
        let glob = Glob::new(&part.to_string_lossy());
        glob.is_ok_and(|glob| glob.matches(&name.to_string_lossy(), Comparison::Path))
    };
    part == name || is_pattern(Path::new(part)) && matches()
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components().map(|part| part.as_os_str().to_owned()).collect()
}
