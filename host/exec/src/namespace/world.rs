//! What the program sees of `/proc`, `/dev` and the directory of the user's sockets.

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, move_mount, open_tree, unmount,
};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::mounts::make_read_only;
use crate::channel::KeptPath;
use crate::failure::{AtStep as _, Failure, Step};
use crate::machine::{DEVICES, MACHINE_WIDE, is_graphics_processor};

/// Mounts a `/proc` of the new process namespace.
pub(super) fn mount_proc() -> Result<(), Failure> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).step(Step::Proc)?;
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for path in MACHINE_WIDE.map(Path::new).into_iter().filter(|path| path.exists()) {
        mount_bind(path, path).and_then(|()| make_read_only(path)).step_at(Step::Sys, path)?;
    }
    Ok(())
}

/// Replaces `/dev` by one with few devices and terminals of its own.
pub(super) fn mount_devices() -> Result<(), Failure> {
    let dev = Path::new("/dev");
    // The new directory is made at another place, because the devices come from the old one.
    let stage = Path::new("/proc/tty");
    mount("hookhost-exec", stage, "tmpfs", MountFlags::NOSUID, c"size=64k,mode=0755").step_at(Step::Devices, dev)?;
    // Otherwise the end of this mount would end its copy's mounts too.
    mount_change(stage, MountPropagationFlags::PRIVATE).step_at(Step::Devices, dev)?;
    let mut names: Vec<String> = DEVICES.map(str::to_owned).into();
    let entries = fs::read_dir(dev).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.extend(found.filter(|name| is_graphics_processor(name)));
    for name in names {
        let from = dev.join(&name);
        let Ok(metadata) = fs::metadata(&from) else { continue };
        let to = stage.join(&name);
        let bound = (|| {
            if metadata.is_dir() {
                fs::create_dir(&to)?;
            } else {
                fs::write(&to, "")?;
            }
            mount_bind_recursive(&from, &to)?;
            io::Result::Ok(())
        })();
        bound.step_at(Step::Devices, &from)?;
    }
    let links = [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ];
    for (name, target) in links {
        symlink(target, stage.join(name)).step_at(Step::Devices, &stage.join(name))?;
    }
    let made = (|| {
        fs::create_dir(stage.join("pts"))?;
        fs::create_dir(stage.join("mqueue"))?;
        mount_bind_recursive(stage, dev)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        mount("devpts", "/dev/pts", "devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=0620"))?;
        // Message queues belong to the namespace, so the program gets the view of its own.
        mount("mqueue", "/dev/mqueue", "mqueue", flags | MountFlags::NODEV, None)?;
        unmount(stage, UnmountFlags::DETACH)?;
        Result::<(), io::Error>::Ok(())
    })();
    made.step_at(Step::Devices, dev)
}

/// Covers the directory of the user's sockets by an empty one with the kept paths only.
pub(super) fn replace_runtime(runtime: &Path, kept: &[KeptPath]) -> Result<(), Failure> {
    let opened: Vec<_> = kept.iter().filter_map(|KeptPath(path)| open_kept(runtime, path)).collect();
    mount("hookhost-exec", runtime, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"size=64m,mode=0700")
        .step_at(Step::Runtime, runtime)?;
    for (path, is_directory, copy) in opened {
        let made = (|| {
            let below = path.parent().unwrap_or(runtime);
            fs::create_dir_all(below)?;
            if is_directory {
                fs::create_dir_all(path)?;
            } else {
                fs::write(path, "")?;
            }
            move_mount(copy?, c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            io::Result::Ok(())
        })();
        made.step_at(Step::Runtime, path)?;
    }
    Ok(())
}

/// A kept path, whether it is a directory, and a copy of its mount. `None` if it is elsewhere or does not exist.
type KeptMount<'a> = (&'a Path, bool, Result<OwnedFd, Errno>);

fn open_kept<'a>(runtime: &Path, path: &'a Path) -> Option<KeptMount<'a>> {
    let is_directory = fs::metadata(path).ok()?.is_dir();
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    path.starts_with(runtime).then(|| (path, is_directory, open_tree(CWD, path, flags)))
}
