//! A child process with everything it starts: a session and a process group of its own, killed as a whole.
//!
//! The session has no terminal. A program that the model chose, or that brings tools, opens no `/dev/tty`: it neither
//! writes on the terminal at which a person is asked nor types there.

use crate::descendants::{self, StillRunning};
use rustix::process::{Pid, Signal, kill_process_group, setsid};
use std::collections::BTreeSet;
use std::io;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// The groups that run, for a program that ends without dropping them.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// The leaders that the runtime waits for; nobody else may take their exit status.
static LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn lock(groups: &'static Mutex<BTreeSet<i32>>) -> MutexGuard<'static, BTreeSet<i32>> {
    groups.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills everything that tools and MCP servers of this process have started and that still runs:
/// for a program that ends at once, by [`std::process::exit`], without dropping its agents and
/// servers, and for the end of one that has called [`adopt_orphans`](crate::adopt_orphans). Then
/// every other process below this one is killed as well, and waited for, up to two seconds.
///
/// # Errors
/// If something still runs then, such as a program of another user: its process ids, where they can be told.
pub fn kill_started() -> Result<(), StillRunning> {
    for group in std::mem::take(&mut *lock(&RUNNING)).into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    descendants::kill_adopted()
}

/// A running process group. Dropping it kills every process of it.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Child,
    group: Option<Pid>,
}

impl ProcessGroup {
    /// Starts `command` as the leader of a session, and so of a group, of its own.
    ///
    /// # Errors
    /// If the system does not start it.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        Self::spawned(in_a_session_of_its_own(command))
    }

    /// The same, and on Linux the system kills the leader when this thread ends, however it ends (SIGKILL included). To be called on a
    /// thread that lasts as long as the process.
    ///
    /// # Errors
    /// If the system does not start it.
    pub fn start_bound(command: &mut Command) -> io::Result<Self> {
        let command = in_a_session_of_its_own(command);
        #[cfg(target_os = "linux")]
        killed_with_its_parent(command);
        Self::spawned(command)
    }

    fn spawned(command: &mut Command) -> io::Result<Self> {
        // Held while it starts: one that ends at once must not be taken for one that was adopted.
        let mut leaders = lock(&LEADERS);
        let leader = command.spawn()?;
        let group = leader.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = group.map(|group| group.as_raw_nonzero().get());
        leaders.extend(id);
        lock(&RUNNING).extend(id);
        Ok(Self { leader, group })
    }

    /// The leader's standard streams, as far as they are pipes that nobody has taken.
    pub fn take_pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        (self.leader.stdin.take(), self.leader.stdout.take(), self.leader.stderr.take())
    }

    /// Waits for the leader; processes that it left running continue.
    ///
    /// # Errors
    /// If the system does not tell.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let id = self.leader.id();
        let status = self.leader.wait().await?;
        if let Some(id) = id.and_then(|id| i32::try_from(id).ok()) {
            lock(&LEADERS).remove(&id);
        }
        Ok(status)
    }

    /// Asks all that is left of the group to end (SIGTERM).
    pub fn terminate(&self) {
        if let Some(group) = self.group {
            // The only failure is that nothing is left of it.
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    /// Kills all that is left of the group (SIGKILL). A process that has left the group continues until
    /// [`kill_started`].
    pub fn kill(&mut self) {
        if let Some(group) = self.group.take()
            && lock(&RUNNING).remove(&group.as_raw_nonzero().get())
        {
            // The only failure is that nothing is left of it.
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

/// The group's id is the leader's, as with `process_group(0)`, which a leader of a session cannot have beside it.
fn in_a_session_of_its_own(command: &mut Command) -> &mut Command {
    let leave = || setsid().map(drop).map_err(io::Error::from);
    // `CommandExt::setsid` of the standard library is not stable yet.
    #[expect(unsafe_code, reason = "what runs between fork and exec is the caller's duty")]
    // SAFETY: `leave` makes one system call, which POSIX lists as safe there, and a failure
    // allocates nothing: it is an error number. It captures nothing, takes no lock and touches no
    // memory that another thread could have been changing.
    unsafe {
        command.pre_exec(leave)
    }
}

/// Sets the signal that the system sends to the process at the end of the thread that has started it.
#[cfg(target_os = "linux")]
fn killed_with_its_parent(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let bind = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // It has ended meanwhile, and nobody would tell.
        if rustix::process::getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from(rustix::io::Errno::SRCH)) }
    };
    #[expect(unsafe_code, reason = "what runs between fork and exec is the caller's duty")]
    // SAFETY: `bind` makes two system calls without a lock and without memory of its own; its failures are error numbers, which
    // allocate nothing. What it captures is a number.
    unsafe {
        command.pre_exec(bind)
    }
}
