//! Checks of the owner of a file, and of the access that others have.

use super::{Access, Guard, Refused};
use std::fs::Metadata;
use std::path::Path;

/// Checks owner and mode of a file or directory.
#[cfg(unix)]
pub(super) fn check(path: &Path, metadata: &Metadata, guard: Guard) -> Result<(), Refused> {
    let found = unix::Found::of(path, metadata);
    match found.fault(&unix::Me::now(), guard) {
        None => Ok(()),
        Some(fault) => Err(fault.refused(path, guard, metadata.is_dir())),
    }
}

/// Checks that nobody else can replace a file in this directory. A directory with the sticky bit, such as `/tmp`, is
/// allowed: others can add files there, but they can remove or rename only their own files.
#[cfg(unix)]
pub(super) fn check_directory(directory: &Path, metadata: &Metadata) -> Result<(), Refused> {
    const STICKY: u32 = 0o1000;
    let mut found = unix::Found::of(directory, metadata);
    if found.mode & STICKY != 0 {
        found.mode &= !0o022;
    }
    match found.fault(&unix::Me::now(), Guard::OnlyMineToWrite) {
        None => Ok(()),
        Some(fault) => Err(fault.refused(directory, Guard::OnlyMineToWrite, true)),
    }
}

/// Returns the refusal for the first part of a path that the user owns but cannot access. A umask such as 0777 creates
/// such files.
#[cfg(unix)]
pub(super) fn locked_out(path: &Path, access: Access) -> Option<Refused> {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::geteuid().as_raw();
    let directory = path.ancestors().skip(1).find(|part| part.is_dir())?;
    let mut way: Vec<&Path> = path.ancestors().collect();
    way.reverse();
    way.into_iter().find_map(|part| {
        let metadata = std::fs::metadata(part).ok().filter(|metadata| metadata.uid() == me)?;
        let write = if access == Access::Write { 0o200 } else { 0 };
        // Directories above the last one are only traversed; no file is created in them.
        let needed = if !metadata.is_dir() { 0o400 | write } else if part == directory { 0o100 | write } else { 0o100 };
        let mode = metadata.mode() & 0o7777;
        let shown = part.display().to_string().replace('\'', r"'\''");
        (mode & needed != needed).then(|| Refused {
            path: part.to_owned(),
            fault: format!("its mode {mode:03o} denies access even to you, its owner"),
            remedy: format!("run `chmod u+rwX '{shown}'`, and set another umask, such as 077, because a umask that denies rights to you creates such files"),
        })
    })
}

#[cfg(not(unix))]
pub(super) fn locked_out(_: &Path, _: Access) -> Option<Refused> {
    None
}

/// On Windows, a user's directories are private by default, so nothing is checked.
#[cfg(not(unix))]
pub(super) fn check(_: &Path, _: &Metadata, _: Guard) -> Result<(), Refused> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn check_directory(_: &Path, _: &Metadata) -> Result<(), Refused> {
    Ok(())
}

#[cfg(unix)]
pub(super) mod unix {
    use super::super::{Guard, Refused, refused};
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    /// The user of this process.
    #[derive(Clone, Debug)]
    pub(in super::super) struct Me {
        pub(in super::super) uid: u32,
        /// Returns true if the only member of a group is the user with the same number.
        pub(in super::super) is_private: fn(u32) -> bool,
    }

    /// Owner and mode of a file.
    #[derive(Clone, Copy, Debug)]
    pub(in super::super) struct Found {
        pub(in super::super) uid: u32,
        pub(in super::super) gid: u32,
        pub(in super::super) mode: u32,
        /// True if the file has an access control list. The mode then shows the list's rights as rights of the group.
        pub(in super::super) has_list: bool,
    }

    /// The fault of a file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(in super::super) enum Fault {
        /// The file belongs to this other user.
        Owner { uid: u32, me: u32 },
        /// Others can write the file.
        Writable { mode: u32 },
        /// Others can read the file.
        Readable { mode: u32 },
    }

    impl Me {
        pub(super) fn now() -> Self {
            Self { uid: rustix::process::geteuid().as_raw(), is_private }
        }
    }

    impl Found {
        pub(super) fn of(path: &Path, metadata: &Metadata) -> Self {
            let mode = metadata.mode() & 0o7777;
            // The list only matters if the group can write.
            let has_list = mode & 0o020 != 0 && has_list(path);
            Self { uid: metadata.uid(), gid: metadata.gid(), mode, has_list }
        }

        pub(in super::super) fn fault(&self, me: &Me, guard: Guard) -> Option<Fault> {
            let mode = self.mode & 0o777;
            if guard == Guard::Anybodys {
                return None;
            }
            if self.uid != me.uid && self.uid != 0 {
                return Some(Fault::Owner { uid: self.uid, me: me.uid });
            }
            if guard == Guard::OnlyMineToRead {
                return match mode & 0o077 {
                    0 => None,
                    others if others & 0o022 != 0 => Some(Fault::Writable { mode }),
                    _ => Some(Fault::Readable { mode }),
                };
            }
            let of_group = mode & 0o020 != 0 && !self.group_is_the_users(me);
            (mode & 0o002 != 0 || of_group).then_some(Fault::Writable { mode })
        }

        /// Returns true if the group's rights belong to the user or root alone.
        fn group_is_the_users(&self, me: &Me) -> bool {
            (self.gid == me.uid || self.gid == 0) && !self.has_list && (me.is_private)(self.gid)
        }
    }

    impl Fault {
        pub(super) fn refused(self, path: &Path, guard: Guard, is_directory: bool) -> Refused {
            // Quote the path so that the command can be pasted.
            let shown = path.display().to_string().replace('\'', r"'\''");
            let (fault, remedy) = match self {
                Self::Owner { uid, me } => (
                    format!("it belongs to another user (uid {uid})"),
                    format!(
                        "check its content, and if hookhost is to use it, make it yours with `sudo chown {me} '{shown}'`"
                    ),
                ),
                Self::Writable { mode } | Self::Readable { mode } => {
                    let can = if matches!(self, Self::Writable { .. }) { "write" } else { "read" };
                    let first = match guard {
                        Guard::OnlyMineToRead => "check if its content is still secret",
                        _ => "check its content",
                    };
                    let bits = match (guard, is_directory) {
                        (Guard::OnlyMineToRead, true) => "700",
                        (Guard::OnlyMineToRead, false) => "600",
                        _ => "go-w",
                    };
                    (
                        format!("other users can {can} it (mode {mode:o})"),
                        format!("{first}, and make it yours alone with `chmod {bits} '{shown}'`"),
                    )
                }
            };
            refused(path, fault, remedy)
        }
    }

    /// Returns true if a group is the private group of the user with the same number. On systems where every user has a
    /// private group, files have mode 0664, but this gives nobody else access.
    fn is_private(gid: u32) -> bool {
        use nix::unistd::{Gid, Group, Uid, User};
        let (Ok(Some(group)), Ok(Some(user))) =
            (Group::from_gid(Gid::from_raw(gid)), User::from_uid(Uid::from_raw(gid)))
        else {
            return false;
        };
        group.name == user.name && group.mem.iter().all(|member| *member == user.name)
    }

    /// Returns true if the file has an access control list. The mode then shows the list's mask for the group.
    #[cfg(target_os = "linux")]
    fn has_list(path: &Path) -> bool {
        let mut none: [u8; 0] = [];
        rustix::fs::getxattr(path, "system.posix_acl_access", &mut none).is_ok_and(|size| size > 0)
    }

    #[cfg(not(target_os = "linux"))]
    fn has_list(_: &Path) -> bool {
        false
    }
}
