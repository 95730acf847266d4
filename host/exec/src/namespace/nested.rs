//! Processes inside that could still change a guarded path after a replacement from outside.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Ends processes inside that are in a mount namespace of their own, because they could unmount what was mounted
/// again, and processes that have opened the file for writing. Returns their number.
pub(super) fn end_processes_with_access(init: Pid, path: &Path) -> io::Result<usize> {
    let file = fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let own_mounts = fs::read_link(format!("/proc/{}/ns/mnt", init.as_raw_nonzero()))?;
    let mut ended = 0;
    for pid in descendants(init)? {
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let directory = format!("/proc/{}", pid.as_raw_nonzero());
        let mounts = fs::read_link(format!("{directory}/ns/mnt"));
        let is_elsewhere = mounts.is_ok_and(|mounts| mounts != own_mounts);
        if is_elsewhere || has_access(&directory, file) {
            match pidfd_send_signal(process, Signal::KILL) {
                Ok(()) => ended += 1,
                Err(Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(ended)
}

/// Returns true if a process has opened or mapped the file for writing, or holds a mount namespace.
fn has_access(directory: &str, file: Option<(u64, u64)>) -> bool {
    // A mapped file is written without a descriptor.
    let maps = fs::read_to_string(format!("{directory}/maps")).unwrap_or_default();
    let is_mapped = |line: &str| {
        let mut fields = line.split_whitespace();
        let is_shared = fields.nth(1).is_some_and(|mode| mode.contains('w') && mode.ends_with('s'));
        is_shared && fields.nth(2).and_then(|inode| inode.parse().ok()) == file.map(|(_, inode)| inode)
    };
    if maps.lines().any(is_mapped) {
        return true;
    }
    let entries = fs::read_dir(format!("{directory}/fd")).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        if fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"mnt:[")) {
            return true;
        }
        let opened = fs::metadata(entry.path()).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        let name = entry.file_name();
        opened.is_some() && opened == file && is_writable(&format!("{directory}/fdinfo/{}", name.display()))
    })
}

/// Reads the flags of an open file: the last octal digit is the access mode, and 0 is reading alone.
fn is_writable(fdinfo: &str) -> bool {
    let info = fs::read_to_string(fdinfo).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| i64::from_str_radix(flags.trim(), 8).ok()).is_none_or(|flags| flags & 3 != 0)
}

/// All processes below a process.
fn descendants(ancestor: Pid) -> io::Result<Vec<Pid>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in parentheses may contain anything. The state and the parent follow.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut pending = vec![ancestor.as_raw_nonzero().get()];
    let mut found = Vec::new();
    while let Some(parent) = pending.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            pending.push(pid);
            found.extend(Pid::from_raw(pid));
        }
    }
    Ok(found)
}
