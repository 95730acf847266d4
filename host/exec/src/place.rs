//! Where the peer of a socket is: inside a run, or outside.

use nix::errno::Errno;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs;
use std::os::fd::AsFd;
use std::sync::OnceLock;

/// The place of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerPlace {
    /// The peer is in another process namespace than this process, or is confined in a way in which this process is not.
    /// It must not stop, answer, trust or restore anything.
    Inside,
    /// The peer is where this process is.
    Outside,
}

/// Finds out where the process is that has connected to this end, which is the one that called `connect`. It asks the
/// kernel, so the peer cannot pretend. A peer that has ended or cannot be looked at counts as inside.
pub fn peer_place(stream: &impl AsFd) -> PeerPlace {
    match is_outside(stream) {
        Some(true) => PeerPlace::Outside,
        Some(false) | None => PeerPlace::Inside,
    }
}

fn is_outside(stream: &impl AsFd) -> Option<bool> {
    static OWN: OnceLock<Option<Confinement>> = OnceLock::new();
    let number = getsockopt(stream, PeerCredentials).ok()?.pid();
    let process = match getsockopt(stream, PeerPidfd) {
        // Before Linux 6.5, a number that is given to another process in this moment would not be noticed.
        Err(Errno::ENOPROTOOPT) => pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?,
        process => process.ok()?,
    };
    let peer = Confinement::of(&number.to_string())?;
    let own = OWN.get_or_init(|| Confinement::of("self")).as_ref()?;
    // If the process has ended meanwhile, all of this may be about another one with its number.
    let mut polled = [PollFd::new(&process, PollFlags::IN)];
    let has_ended = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).ok()? > 0;
    Some(!has_ended && !peer.is_within(own))
}

/// What confines a process, and never becomes less. It can be read of each process of the user, while namespaces cannot
/// be read of a process that is not dumpable, such as `hookhost` itself.
#[derive(Debug)]
struct Confinement {
    /// Number of process namespaces that contain the process, as this process sees it.
    process_namespaces: usize,
    gains_no_privileges: bool,
    /// Number of filters of system calls.
    filters: u64,
}

impl Confinement {
    fn of(process: &str) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Some(Self {
            process_namespaces: field("NSpid")?.split_whitespace().count(),
            gains_no_privileges: field("NoNewPrivs")?.trim() == "1",
            // Absent before Linux 5.9.
            filters: field("Seccomp_filters").and_then(|count| count.trim().parse().ok()).unwrap_or_default(),
        })
    }

    /// Returns true if a run confines this process and not the other one. A process inside cannot gain privileges, and
    /// is in a process namespace of its own or, in the fallback, has one more filter.
    fn is_within(&self, other: &Self) -> bool {
        self.process_namespaces > other.process_namespaces
            || self.gains_no_privileges && (!other.gains_no_privileges || self.filters > other.filters)
    }
}
