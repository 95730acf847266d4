//! What has left its group: processes whose parents have ended. This process adopts them, where Linux lets it, so that
//! they can be found and killed at its end.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long processes that were killed are waited for.
const ENDED_WITHIN: Duration = Duration::from_secs(2);

/// How long it takes to look again whether they have ended.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process the parent of whatever below it loses its own, so that
/// [`kill_started`](crate::kill_started) also finds what has left its process group (`setsid`, a
/// daemon). For a program that starts processes only through tools and MCP servers: every process
/// below it is killed then. On Linux alone; elsewhere, and where this process had children before
/// it began (`server & exec hookhost …`), which are not its own to kill, nothing changes, and the
/// answer is `false`.
///
/// # Errors
/// If the system refuses it.
pub fn adopt_orphans() -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    if !ADOPTS.load(Ordering::Relaxed) && !has_children()? {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        ADOPTS.store(true, Ordering::Relaxed);
    }
    Ok(ADOPTS.load(Ordering::Relaxed))
}

/// Whether there is any child, without taking its exit status.
#[cfg(target_os = "linux")]
fn has_children() -> io::Result<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT) {
        Ok(_) => Ok(true),
        Err(rustix::io::Errno::CHILD) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Takes the exit status of adopted processes that have ended; otherwise it would be kept by the system
/// until this process ends. The runtime waits for `others` itself.
pub(super) fn reap_adopted(others: &BTreeSet<i32>) {
    if !ADOPTS.load(Ordering::Relaxed) {
        return;
    }
    for child in children().into_iter().filter(|child| !others.contains(child)) {
        // One that still runs is left alone.
        let _ = rustix::process::waitpid(Pid::from_raw(child), WaitOptions::NOHANG);
    }
}

/// What tools or MCP servers have started cannot be killed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what tools have started cannot be killed and still runs: process {}", listed(.processes))]
#[non_exhaustive]
pub struct StillRunning {
    /// The process ids; empty where the system does not tell them.
    pub processes: Vec<i32>,
}

fn listed(processes: &[i32]) -> String {
    match processes {
        [] => "unknown".to_owned(),
        known => known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Kills every process below this one, until none is left or it takes too long.
pub(super) fn kill_adopted() -> Result<(), StillRunning> {
    if !ADOPTS.load(Ordering::Relaxed) {
        return Ok(());
    }
    let until = Instant::now() + ENDED_WITHIN;
    while let Left::Something = reap_all() {
        // Only direct children, whose ids nobody else can get before they are waited for here. What
        // is killed leaves its own children to this process.
        let left = children();
        for pid in left.iter().copied().filter_map(Pid::from_raw) {
            // A process of another user cannot be killed, and is reported in the end.
            let _ = kill_process(pid, Signal::KILL);
        }
        if Instant::now() >= until {
            return Err(StillRunning { processes: left });
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

enum Left {
    Nothing,
    Something,
}

/// Takes the exit status of every child that has ended.
fn reap_all() -> Left {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Left::Something,
            Err(_) => return Left::Nothing,
        }
    }
}

/// The children of this process, of all its threads; none where the system does not tell.
fn children() -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let listed = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    listed.flat_map(|line| line.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}
