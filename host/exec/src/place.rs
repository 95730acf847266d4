//! Where the peer of a socket is: inside a run, or outside.

use nix::errno::Errno;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::{PeerCredentials, PeerPidfd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs;
use std::os::fd::AsFd;

/// The namespaces that a program inside has for itself.
const NAMESPACES: [&str; 3] = ["user", "mnt", "pid"];

/// The place of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerPlace {
    /// The peer is in other namespaces than this process, or cannot gain privileges although this process can. It must
    /// not stop, answer, trust or restore anything.
    Inside,
    /// The peer is where this process is.
    Outside,
}

/// Finds out where the process is that has connected to this end, which is the one that called `connect`. It asks the
/// kernel, so the peer cannot pretend. A peer that has ended or cannot be read counts as inside.
pub fn peer_place(stream: &impl AsFd) -> PeerPlace {
    match is_outside(stream) {
        Some(true) => PeerPlace::Outside,
        Some(false) | None => PeerPlace::Inside,
    }
}

fn is_outside(stream: &impl AsFd) -> Option<bool> {
    let number = getsockopt(stream, PeerCredentials).ok()?.pid();
    let process = match getsockopt(stream, PeerPidfd) {
        // Before Linux 6.5, a number that is given to another process in this moment would not be noticed.
        Err(Errno::ENOPROTOOPT) => pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()?,
        process => process.ok()?,
    };
    let peer = format!("/proc/{number}");
    for name in NAMESPACES {
        if fs::read_link(format!("{peer}/ns/{name}")).ok()? != fs::read_link(format!("/proc/self/ns/{name}")).ok()? {
            return Some(false);
        }
    }
    // In the fallback without namespaces, only this differs.
    if no_new_privileges(&peer)? != no_new_privileges("/proc/self")? {
        return Some(false);
    }
    // If the process has ended meanwhile, all of this may be about another one with its number.
    let mut polled = [PollFd::new(&process, PollFlags::IN)];
    let has_ended = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).ok()? > 0;
    Some(!has_ended)
}

fn no_new_privileges(process: &str) -> Option<bool> {
    let status = fs::read_to_string(format!("{process}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix("NoNewPrivs:"))?.trim() == "1")
}
