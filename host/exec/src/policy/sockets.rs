//! Sockets of processes outside. A program that connects to one can have its work done there.

use super::draft::{Draft, Origin};
use super::{NetworkAccess, SandboxSettings};
use crate::plan::Treatment;
use std::fs;
use std::path::{Path, PathBuf};

/// Sockets that lead to containers with any directory in them.
const OF_CONTAINERS: &[&str] = &[
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/buildkit/buildkitd.sock",
    "/var/snap/docker/common/run/docker.sock",
];
/// As [`OF_CONTAINERS`], in the home, and in the directory of the session.
const OF_OWN_CONTAINERS: &[&str] =
    &[".docker/run/docker.sock", ".docker/desktop/docker.sock", ".colima/default/docker.sock"];
const OF_SESSION_CONTAINERS: &[&str] = &["docker.sock", "podman/podman.sock", "containerd-rootless/api.sock"];

/// Sockets that stay reachable, or the directory of such. They answer questions, or write into a log.
const KEPT: &[&str] = &[
    "/run/systemd/userdb",
    "/run/systemd/journal/stdout",
    "/run/systemd/journal/socket",
    "/run/systemd/journal/dev-log",
    "/var/lib/sss/pipes",
];

/// Sockets that look up names of hosts. They stay if the network does: each lookup tells its name to a server of the one who owns it.
const RESOLVER_SOCKETS: &[&str] = &["/run/nscd", "/var/run/nscd", "/run/systemd/resolve", "/run/avahi-daemon/socket"];

/// Directories of sockets that lead out. The socket of each program that starts later lies in them, too.
const OF_TERMINALS: &[&str] = &["/run/screen", "/run/screens", "/var/run/screen", "/tmp/.X11-unix", "/tmp/.ICE-unix"];

/// The flag of a socket that listens (`SO_ACCEPTCON`, `include/linux/net.h`).
const LISTENS: u32 = 0x1_0000;

pub(super) fn add(draft: &mut Draft<'_>, settings: &SandboxSettings) {
    let (places, docker) = (draft.places, settings.docker);
    let has_network = settings.network == NetworkAccess::All;
    let in_session = |name: &&str| Some(places.runtime.as_ref()?.join(name));
    let mut of_containers: Vec<PathBuf> = OF_CONTAINERS.iter().map(|path| places.of_machine(path)).collect();
    of_containers.extend(OF_OWN_CONTAINERS.iter().map(|path| places.home.join(path)));
    of_containers.extend(OF_SESSION_CONTAINERS.iter().filter_map(in_session));
    let named = (places.variable)("DOCKER_HOST")
        .and_then(|address| Some(PathBuf::from(address.to_str()?.strip_prefix("unix://")?)));
    of_containers.extend(named.filter(|path| path.is_absolute()));
    let is_of_containers = |path: &Path| of_containers.iter().any(|other| is_same(other, path));
    for path in &of_containers {
        if !docker {
            draft.add(path, Treatment::Masked, Origin::Socket, "starts containers");
        } else if path.exists() {
            let sentence = format!(
                "{} leads out: a container has any directory that it asks for (take `docker = true` out of [sandbox] to close it)",
                places.shown(path)
            );
            draft.gap(path, sentence);
        }
    }
    let of_resolvers = RESOLVER_SOCKETS.iter().filter(|_| has_network);
    let mut kept: Vec<PathBuf> = KEPT.iter().chain(of_resolvers).map(|path| places.of_machine(path)).collect();
    kept.extend(places.runtime.iter().map(|runtime| runtime.join("hookhost")));
    kept.push(places.state.clone());
    for path in OF_TERMINALS {
        draft.add(&places.of_machine(path), Treatment::Hidden, Origin::Socket, "sockets of terminals and displays");
    }
    let tmux = places
        .path_of("TMUX_TMPDIR")
        .unwrap_or_else(|| places.of_machine("/tmp"))
        .join(format!("tmux-{}", places.user));
    draft.add(&tmux, Treatment::Hidden, Origin::Socket, "sockets of tmux");
    // A key of gpg-agent stays usable only outside, as its private keys are hidden.
    let of_ssh = places.path_of("SSH_AUTH_SOCK");
    let is_of_ssh = |path: &Path| of_ssh.as_deref().is_some_and(|kept| is_same(kept, path));
    draft.add_unless(
        &places.home.join(".gnupg/S.*"),
        &is_of_ssh,
        Treatment::Masked,
        Origin::Socket,
        "socket of gpg-agent",
    );
    kept.extend(of_ssh.clone());
    let table = places.of_machine("/proc/net/unix");
    let table = fs::read_to_string(&table).unwrap_or_else(|error| {
        let sentence = format!(
            "{} cannot be read ({error}), so only known sockets are masked: mount /proc completely",
            table.display()
        );
        draft.gap(&table, sentence);
        String::new()
    });
    for path in listening(&table) {
        let path = places.root.join(path.trim_start_matches('/'));
        let is_kept = kept.iter().any(|kept| path.starts_with(kept) || is_same(kept, &path));
        let is_open = docker && is_of_containers(&path);
        if !is_kept && !is_open && is_socket(&path) {
            draft.add_existing(&path, Treatment::Masked, Origin::Socket, "socket of a process outside");
        }
    }
    let sentence = if has_network {
        "a socket that a process outside makes later stays reachable, and so do services on ports of this machine: start such services \
         before, or set `network` in [sandbox]"
    } else {
        "a socket that a process outside makes later stays reachable: start such services before"
    };
    draft.gap(&places.of_machine("/proc/net/unix"), sentence.to_owned());
}

/// Returns true if two paths lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn is_socket(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        path.metadata().is_ok_and(|metadata| metadata.file_type().is_socket())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Returns the absolute paths of the sockets that listen, from the text of `/proc/net/unix`: number, references, protocol, flags, type,
/// state, inode and path. Source: `net/unix/af_unix.c` of Linux.
fn listening(table: &str) -> Vec<&str> {
    let path = |line: &'_ str| -> Option<usize> {
        // A path can contain spaces. The columns before it cannot.
        let mut at = 0;
        for column in 0..7 {
            let rest = line.get(at..)?;
            let begin = at + rest.find(|c: char| c != ' ')?;
            let end = begin + line.get(begin..)?.find(' ')?;
            if column == 3 && u32::from_str_radix(line.get(begin..end)?, 16).ok()? & LISTENS == 0 {
                return None;
            }
            at = end;
        }
        line.get(at + 1..)?.starts_with('/').then_some(at + 1)
    };
    let mut found: Vec<&str> = table.lines().skip(1).filter_map(|line| line.get(path(line)?..)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::listening;

    #[test]
    fn only_sockets_that_listen_at_a_path_are_found() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01 20371 /run/user/1000/bus\n\
                     0000000000000000: 00000003 00000000 00000000 0001 03 20372 /run/user/1000/bus\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01 20373 @/tmp/.X11-unix/X0\n\
                     0000000000000000: 00000002 00000000 00010000 0005 01     7 /tmp/a b/c\n\
                     0000000000000000: 00000002 00000000 00000000 0002 01 20375 /dev/log\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01 20376\n\
                     0000000000000000: 00000002 00000000 00010000 0001 01 20377 relative\n\
                     0000000000000000: 00000002 00000000 zz 0001 01 20377 /x\nshort\n";
        assert_eq!(listening(table), ["/run/user/1000/bus", "/tmp/a b/c"]);
        assert!(listening("").is_empty());
    }
}
