//! Maps of user and group identities.

use rustix::process::{Gid, Pid, Uid, getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities};
use std::io;

/// The identity of a process before it takes a new user namespace, where it has none until it is mapped.
pub(crate) struct Identity {
    uid: Uid,
    gid: Gid,
    may_map_all: bool,
}

impl Identity {
    pub(crate) fn current() -> io::Result<Self> {
        let may_map_all = capabilities(None)?.effective.contains(CapabilitySet::SETUID | CapabilitySet::SETGID);
        Ok(Self { uid: geteuid(), gid: getegid(), may_map_all })
    }

    /// Maps the identity of an ordinary user to itself, in this process. Returns false if there are more identities,
    /// which only a process outside of the new namespace can map.
    pub(crate) fn map(&self) -> io::Result<bool> {
        if self.may_map_all {
            return Ok(false);
        }
        std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", self.uid.as_raw()))?;
        // Otherwise a process could leave a group whose members a file excludes.
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", self.gid.as_raw()))?;
        Ok(true)
    }
}

/// Maps all identities that this process has to themselves, in the new user namespace of a child. It needs
/// `CAP_SETUID` and `CAP_SETGID`.
pub(crate) fn map_identities(child: Pid) -> io::Result<()> {
    for name in ["uid_map", "gid_map"] {
        let own = std::fs::read_to_string(format!("/proc/self/{name}"))?;
        std::fs::write(format!("/proc/{}/{name}", child.as_raw_nonzero()), identity(&own))?;
    }
    Ok(())
}

/// Maps each identity of a map to itself.
fn identity(map: &str) -> String {
    let ranges = map.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        Some((fields.next()?, fields.nth(1)?))
    });
    ranges.map(|(first, count)| format!("{first} {first} {count}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn ranges_map_to_themselves() {
        assert_eq!(identity("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(identity("0 1000 1\n1 100000 65536\n"), "0 0 1\n1 1 65536\n");
    }
}
