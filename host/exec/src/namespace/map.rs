//! Maps of user and group identities.

use rustix::process::{Pid, getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities};
use std::io;

/// Maps the identities of the new user namespace of a child to themselves. A process with `CAP_SETUID` maps all that
/// it has; an ordinary user can map only its own.
pub(crate) fn map_identities(child: Pid) -> io::Result<()> {
    let directory = format!("/proc/{}", child.as_raw_nonzero());
    let may_map_all = capabilities(None)?.effective.contains(CapabilitySet::SETUID | CapabilitySet::SETGID);
    if may_map_all {
        for name in ["uid_map", "gid_map"] {
            std::fs::write(
                format!("{directory}/{name}"),
                identity(&std::fs::read_to_string(format!("/proc/self/{name}"))?),
            )?;
        }
        return Ok(());
    }
    std::fs::write(format!("{directory}/uid_map"), format!("{0} {0} 1", geteuid().as_raw()))?;
    // Otherwise a process could leave a group whose members a file excludes.
    std::fs::write(format!("{directory}/setgroups"), "deny")?;
    std::fs::write(format!("{directory}/gid_map"), format!("{0} {0} 1", getegid().as_raw()))
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
