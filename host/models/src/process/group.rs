//! A child process with all its descendants. The child gets its own session and process group, because then all processes of the
//! group can be killed together.
//!
//! The session has no terminal, so the programs in it cannot open `/dev/tty`. They can neither write to the terminal on which a
//! person is asked, nor simulate input there. This matters because the model may have chosen the program.

use super::descendants::{self, StillRunning};
use rustix::process::{Pid, Signal, kill_process_group, setsid};
use std::collections::BTreeSet;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// The running groups. They are recorded here for programs that exit without dropping the groups.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// The group leaders that the runtime waits for. No other code may collect their exit status.
static LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn lock(groups: &'static Mutex<BTreeSet<i32>>) -> MutexGuard<'static, BTreeSet<i32>> {
    groups.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills all running processes that tools and MCP servers of this process have started. Call this function before
/// [`std::process::exit`], which does not drop agents and servers. Also call it at the end of a program that has called
/// [`adopt_orphans`](super::adopt_orphans). In such a program, it kills every other descendant as well, and waits up to two seconds
/// until they have ended.
///
/// # Errors
/// Returns an error if a process still runs afterwards, such as a process of another user. The error contains the process ids, if
/// they are known.
pub fn kill_started() -> Result<(), StillRunning> {
    for group in std::mem::take(&mut *lock(&RUNNING)).into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    descendants::kill_adopted()
}

/// A running process group. Dropping it kills all its processes.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Child,
    group: Option<Pid>,
}

impl ProcessGroup {
    /// Starts `command` as the leader of a new session and group.
    ///
    /// # Errors
    /// Returns an error if the system cannot start the process.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Self::spawned(in_a_session_of_its_own(command))
    }

    /// Like [`start`](Self::start), but on Linux, the system also kills the leader when the calling thread ends for any reason,
    /// even by SIGKILL. Call this function on a thread that lasts as long as the calling process.
    ///
    /// # Errors
    /// Returns an error if the system cannot start the process.
    pub fn start_bound(command: &mut Command) -> io::Result<Self> {
        let command = in_a_session_of_its_own(command);
        #[cfg(target_os = "linux")]
        killed_with_its_parent(command);
        Self::spawned(command)
    }

    fn spawned(command: &mut Command) -> io::Result<Self> {
        // The lock is held during the start. Otherwise, a process that ends at once would be treated as an adopted process.
        let mut leaders = lock(&LEADERS);
        let leader = command.spawn()?;
        let group = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = group.map(|group| group.as_raw_nonzero().get());
        leaders.extend(id);
        lock(&RUNNING).extend(id);
        Ok(Self { leader, group })
    }

    /// Removes and returns the standard streams of the leader that are pipes. A stream that was removed before is `None`.
    pub fn take_pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.leader.stdin.take(), self.leader.stdout.take(), self.leader.stderr.take())
    }

    /// Waits for the leader. Other processes of the group continue.
    ///
    /// # Errors
    /// Returns an error if the system does not report the exit status.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let id = self.leader.id();
        let status = self.leader.wait().await?;
        if let Some(id) = id.and_then(|id| i32::try_from(id).ok()) {
            lock(&LEADERS).remove(&id);
        }
        Ok(status)
    }

    /// Asks the remaining processes of the group to end (SIGTERM).
    pub fn terminate(&self) {
        if let Some(group) = self.group {
            // The call fails only if no process is left.
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    /// Kills the remaining processes of the group (SIGKILL). A process that has left the group runs until [`kill_started`] is
    /// called.
    pub fn kill(&mut self) {
        if let Some(group) = self.group.take()
            && lock(&RUNNING).remove(&group.as_raw_nonzero().get())
        {
            // The call fails only if no process is left.
            let _ = kill_process_group(group, Signal::KILL);
            descendants::reap_adopted(&lock(&LEADERS));
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Makes the command start a new session. The group has the id of the leader, as with `process_group(0)`. That function cannot be
/// combined with `setsid`.
fn in_a_session_of_its_own(command: &mut Command) -> &mut Command {
    let leave = || setsid().map(drop).map_err(io::Error::from);
    // `CommandExt::setsid` of the standard library is not stable yet.
    #[expect(unsafe_code, reason = "the caller must make sure that the code is safe between fork and exec")]
    // SAFETY: `leave` makes one system call, which POSIX lists as safe between fork and exec. A failure is an error
    // number, so it allocates nothing. `leave` captures nothing, takes no lock, and touches no memory that another
    // thread could have been changing.
    unsafe {
        command.pre_exec(leave)
    }
}

/// Sets the signal that the system sends to the process when the thread that started it ends.
#[cfg(target_os = "linux")]
fn killed_with_its_parent(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let bind = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent has already ended, the system would never send the signal.
        if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from(rustix::io::Errno::SRCH)) }
    };
    #[expect(unsafe_code, reason = "the caller must make sure that the code is safe between fork and exec")]
    // SAFETY: `bind` makes two system calls, takes no lock and allocates no memory; its failures are error numbers. It
    // captures only a number.
    unsafe {
        command.pre_exec(bind)
    }
}
