//! Descendant processes that have left their process group and whose parent has ended. If Linux permits it, this process adopts
//! such processes. It can then find and kill them when it ends.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Timeout for the end of killed processes.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Poll interval for the end of killed processes.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process adopt its descendants when their parent ends. [`kill_started`](super::kill_started) then also finds
/// descendants that have left their process group, such as daemons. Use this function only if all child processes
/// of the program belong to tools or MCP servers, because [`kill_started`](super::kill_started) then kills every descendant.
///
/// Returns false and changes nothing on systems other than Linux. The same happens if this process had children before its program
/// was started (as with `server & exec hookhost …`), because it must not kill these children.
///
/// # Errors
/// Returns an error if the system refuses the call.
pub fn adopt_orphans() -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    if !ADOPTS.load(Ordering::Relaxed) && !has_children()? {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        ADOPTS.store(true, Ordering::Relaxed);
    }
    Ok(ADOPTS.load(Ordering::Relaxed))
}

/// Returns true if this process has a child. Does not collect the child's exit status.
#[cfg(target_os = "linux")]
fn has_children() -> io::Result<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT) {
        Ok(_) => Ok(true),
        Err(rustix::io::Errno::CHILD) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Collects the exit status of adopted processes that have ended, because the system would otherwise keep these processes as
/// zombies until this process ends. Skips `others`, because the runtime itself waits for them.
pub(super) fn reap_adopted(others: &BTreeSet<i32>) {
    if !ADOPTS.load(Ordering::Relaxed) {
        return;
    }
    for child in children().into_iter().filter(|child| !others.contains(child)) {
        // A process that still runs is not affected.
        let _ = rustix::process::waitpid(Pid::from_raw(child), WaitOptions::NOHANG);
    }
}

/// The error if processes of tools or MCP servers cannot be killed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("processes that tools have started cannot be killed and still run: {}", listed(.processes))]
#[non_exhaustive]
pub struct StillRunning {
    /// The process ids, or an empty list if the system does not list them.
    pub processes: Vec<i32>,
}

fn listed(processes: &[i32]) -> String {
    match processes {
        [] => "unknown".to_owned(),
        known => known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// Kills all descendants, repeatedly, until no descendant is left or the timeout has passed.
pub(super) fn kill_adopted() -> Result<(), StillRunning> {
    if !ADOPTS.load(Ordering::Relaxed) {
        return Ok(());
    }
    let until = Instant::now() + KILL_TIMEOUT;
    while let Children::Some = reap_all() {
        // Only direct children are killed, because their ids cannot be reused before this process waits for them. The children of a
        // killed process become children of this process.
        let left = children();
        for pid in left.iter().copied().filter_map(Pid::from_raw) {
            // A process of another user cannot be killed, and is reported at the end.
            let _ = kill_process(pid, Signal::KILL);
        }
        if Instant::now() >= until {
            return Err(StillRunning { processes: left });
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

enum Children {
    None,
    Some,
}

/// Collects the exit status of every child that has ended.
fn reap_all() -> Children {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Children::Some,
            Err(_) => return Children::None,
        }
    }
}

/// Returns the children of all threads of this process, or an empty list if the system does not list them.
fn children() -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let listed = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    listed.flat_map(|line| line.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()).collect()
}
