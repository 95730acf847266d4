//! A child process with everything it starts: one process group, killed as a whole.

use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// The groups that run, for a program that ends without dropping them.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn running() -> MutexGuard<'static, BTreeSet<i32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills everything that tools and MCP servers of this process have started and that still runs: for a program that ends
/// at once, by [`std::process::exit`], without dropping its agents and servers.
pub fn kill_started() {
    for group in std::mem::take(&mut *running()).into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// A running process group. Dropping it kills every process of it.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    leader: Child,
    group: Option<Pid>,
}

impl ProcessGroup {
    /// Starts `command` as the leader of a group of its own.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let leader = command.process_group(0).spawn()?;
        let group = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        running().extend(group.map(|group| group.as_raw_nonzero().get()));
        Ok(Self { leader, group })
    }

    /// The leader's standard streams, as far as they are pipes that nobody has taken.
    pub(crate) fn take_pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.leader.stdin.take(), self.leader.stdout.take(), self.leader.stderr.take())
    }

    /// Waits for the leader; what it left running goes on.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader.wait().await
    }

    /// Kills all that is left of the group (SIGKILL). A process that left the group is out of reach.
    pub(super) fn kill(&mut self) {
        if let Some(group) = self.group.take()
            && running().remove(&group.as_raw_nonzero().get())
        {
            // The only failure is that nothing is left of it.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
