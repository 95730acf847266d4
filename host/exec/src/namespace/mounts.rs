//! The mounts of the keeper: pins, guards, links, and their repair.

use rustix::fs::{AtFlags, CWD, StatVfsMountFlags, StatxAttributes, StatxFlags, statvfs, statx};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, mount_remount, move_mount, open_tree, unmount,
};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::channel::{KeptPath, World};
use crate::failure::{AtStep as _, Failure, Step};
use crate::plan::{MountKind, PlannedLink, PlannedMount, Treatment};

/// A directory that every `/proc` has and that nobody needs. The keeper's own small file system covers it in the
/// keeper's namespace; the program gets another `/proc`.
pub(crate) const STAGE: &str = "/proc/fs";
const STAGE_DIRECTORY: &str = "/proc/fs/directory";
const STAGE_FILE: &str = "/proc/fs/file";
const BLANK_DIRECTORY: &str = "/proc/fs/blank-directory";
const BLANK_FILE: &str = "/proc/fs/blank-file";
const REFUSAL: &str = "/proc/fs/refusal";

/// What a program that gains privileges says instead.
const REFUSAL_TEXT: &str = "#!/bin/sh
echo \"${0##*/}: refused, because this program was started by 'hookhost exec', where nothing gains privileges: run it in a terminal of your own\" >&2
exit 126
";

/// Makes all mounts of the keeper. The mounts are private while they are made, because a mount of a shared directory
/// on itself would multiply; then each one is shared, so that a repair reaches the program.
pub(crate) fn make(world: &mut World) -> Result<(), Failure> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).step(Step::Private)?;
    let table = mount_table().step(Step::Private)?;
    let aliases = aliases(world.plan.mounts(), &table);
    world.plan.add(aliases);
    let existing: Vec<PathBuf> = table.into_iter().map(|entry| entry.point).collect();
    make_stage().step(Step::Stage)?;
    for planned in world.plan.mounts() {
        match attach(planned, &existing) {
            // A process outside has removed its socket, or the directory of it, since the plan was made.
            Err(Errno::NOENT) if matches!(planned.kind, MountKind::Pin | MountKind::Guard(Treatment::Masked)) => {}
            result => result.step_at(Step::Guard, &planned.path)?,
        }
    }
    for link in world.plan.links() {
        attach_link(link).step_at(Step::Guard, &link.path)?;
    }
    for KeptPath(path) in &world.refused_programs {
        mount_bind(REFUSAL, path).step_at(Step::Guard, path)?;
    }
    for path in existing.iter().filter(|path| path.starts_with("/sys")) {
        match make_read_only(path) {
            // Whom the directory above it locks out, it locks out inside too.
            Err(Errno::ACCESS | Errno::NOENT) => {}
            result => result.step_at(Step::Sys, path)?,
        }
    }
    mount_change("/", MountPropagationFlags::SHARED | MountPropagationFlags::REC).step(Step::Private)?;
    mount_change(STAGE, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).step(Step::Private)
}

/// Makes the mount of one path, also again after a replacement.
pub(crate) fn attach(planned: &PlannedMount, existing: &[PathBuf]) -> Result<(), Errno> {
    let path = planned.path.as_path();
    match planned.kind {
        MountKind::Pin => mount_bind_recursive(path, path),
        MountKind::Guard(Treatment::Writable) => {
            mount_bind_recursive(path, path)?;
            mount_remount(path, MountFlags::BIND | locked_flags(path)?.difference(MountFlags::RDONLY), c"")
        }
        MountKind::Guard(Treatment::Hidden | Treatment::Masked) => {
            let is_directory = fs::symlink_metadata(path).map_or(planned.is_directory, |metadata| metadata.is_dir());
            mount_bind(if is_directory { BLANK_DIRECTORY } else { BLANK_FILE }, path)
        }
        MountKind::Guard(Treatment::ReadOnly) => attach_read_only(path, existing),
    }
}

/// Attaches a read-only mount of a path on itself. It is read-only before it is attached, because a change of a mount
/// does not reach the copies of the mount.
fn attach_read_only(path: &Path, existing: &[PathBuf]) -> Result<(), Errno> {
    let is_directory = fs::metadata(path).map_err(|error| errno(&error))?.is_dir();
    let stage = Path::new(if is_directory { STAGE_DIRECTORY } else { STAGE_FILE });
    mount_bind_recursive(path, stage)?;
    let attached = (|| {
        mount_change(stage, MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        make_read_only(stage)?;
        for below in existing.iter().filter_map(|existing| existing.strip_prefix(path).ok()) {
            match if below == Path::new("") { Ok(()) } else { make_read_only(&stage.join(below)) } {
                Err(Errno::ACCESS | Errno::NOENT) => {}
                result => result?,
            }
        }
        mount_bind_recursive(stage, path)
    })();
    unmount(stage, UnmountFlags::DETACH)?;
    attached
}

/// Attaches the link onto itself, so that it can be followed, but not removed.
pub(crate) fn attach_link(link: &PlannedLink) -> Result<(), Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let copy = open_tree(CWD, &link.path, flags)?;
    move_mount(copy, c"", CWD, &link.path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Makes one mount read-only, and keeps what its owner has forbidden.
pub(crate) fn make_read_only(path: &Path) -> Result<(), Errno> {
    mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | locked_flags(path)?, c"")
}

/// Returns true if a mount has the path as its root. A path that does not exist is `None`.
pub(crate) fn is_mounted(path: &Path) -> Option<bool> {
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, StatxFlags::TYPE).ok()?;
    Some(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// The flags of a mount that a user namespace must not take away.
fn locked_flags(path: &Path) -> Result<MountFlags, Errno> {
    let flags = statvfs(path)?.f_flag;
    let pairs = [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    Ok(pairs.into_iter().filter(|(have, _)| flags.contains(*have)).map(|(_, keep)| keep).collect())
}

/// Mounts the keeper's own small file system, with what covers hidden paths.
fn make_stage() -> io::Result<()> {
    mount("hookhost-exec", STAGE, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"size=256k,mode=0755")?;
    for directory in [STAGE_DIRECTORY, BLANK_DIRECTORY] {
        fs::create_dir(directory)?;
    }
    for (file, text) in [(STAGE_FILE, ""), (BLANK_FILE, ""), (REFUSAL, REFUSAL_TEXT)] {
        fs::write(file, text)?;
    }
    for (path, mode) in [(BLANK_DIRECTORY, 0), (BLANK_FILE, 0), (REFUSAL, 0o555)] {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
        mount_bind(path, path)?;
        make_read_only(Path::new(path))?;
    }
    Ok(())
}

/// A line of the mount table.
struct MountEntry {
    device: Vec<u8>,
    /// The directory of the file system that is mounted.
    root: PathBuf,
    point: PathBuf,
}

fn mount_table() -> io::Result<Vec<MountEntry>> {
    let table = fs::read("/proc/self/mountinfo")?;
    let entry = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
        Some(MountEntry { device: device.to_owned(), root: unescape(root), point: unescape(point) })
    };
    Ok(table.split(|byte| *byte == b'\n').filter_map(entry).collect())
}

/// Finds the other paths of guarded files, where their file system is mounted twice. Pins need none: the kernel does
/// not rename a directory with a mount, whatever the path.
fn aliases(planned: &[PlannedMount], table: &[MountEntry]) -> Vec<PlannedMount> {
    let mut found: Vec<PlannedMount> = Vec::new();
    for guard in planned.iter().filter(|planned| planned.kind != MountKind::Pin) {
        let depth = |entry: &&MountEntry| entry.point.components().count();
        let above = table.iter().filter(|entry| guard.path.starts_with(&entry.point)).max_by_key(depth);
        let Some((own, below)) = above.and_then(|own| Some((own, guard.path.strip_prefix(&own.point).ok()?))) else {
            continue;
        };
        let inner = own.root.join(below);
        for other in table.iter().filter(|other| other.device == own.device) {
            let Ok(below) = inner.strip_prefix(&other.root) else { continue };
            // Through its components, because an empty path would leave a slash at the end.
            let path: PathBuf = other.point.components().chain(below.components()).collect();
            let is_known = planned.iter().chain(&found).any(|known| known.path == path);
            if !is_known && identity(&path).is_some_and(|file| Some(file) == identity(&guard.path)) {
                found.push(PlannedMount { path, ..guard.clone() });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The device and the number of a file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Reads a path of the mount table, where `\040` is a space.
fn unescape(field: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| byte == b'\\') {
            Some(escaped) => {
                path.push(escaped);
                rest = &after[3..];
            }
            None => {
                path.push(byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_mount_table_are_read() {
        assert_eq!(unescape(br"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(br"/a\04"), Path::new(r"/a\04"));
        assert!(mount_table().unwrap().iter().any(|entry| entry.point == Path::new("/")));
    }
}
