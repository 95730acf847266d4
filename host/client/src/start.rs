//! Starts the resident host and connects to it. Ends a resident host that is stuck.

use crate::connection::{self, CONNECT_TIMEOUT, ConnectionError, Deadline, SILENCE_TIMEOUT};
use crate::paths::HostPaths;
use hookhost_agents::ancestry::is_inside;
use hookhost_agents::directories::Directories;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Maximum time until a resident host listens, after a hook or a proxy has started the host. This time does not count towards the event's
/// deadline.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(5);

/// The first and the longest poll interval while a resident host starts. Each interval is twice as long as the previous interval.
const START_INTERVALS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];

/// Maximum size of the resident host's log at a start, in bytes. A larger log is emptied.
const MAX_LOG: u64 = 1024 * 1024;

/// Returns the path of the program `hookhost`, which is in the same directory as this program.
///
/// # Errors
/// If the program does not exist.
pub fn program() -> io::Result<PathBuf> {
    // Does not use PATH or another variable, because a program that can change variables could then choose the program that
    // answers.
    let program = std::env::current_exe()?.with_file_name("hookhost");
    if program.is_file() {
        return Ok(program);
    }
    let why = format!("the program {} is missing: install hookhost again", program.display());
    Err(io::Error::new(io::ErrorKind::NotFound, why))
}

/// Connects to a resident host that this process or another process starts, and returns the non-blocking socket. Ignores the process
/// `stuck`, which does not respond. Blocks the thread.
///
/// A process in `hookhost exec` starts no host, because its host would be inside, too. The supervisor outside starts one.
///
/// # Errors
/// If no host can be started, or if no host listens before the deadline.
pub(crate) fn connect(
    program: &Path,
    fixed: &Directories,
    paths: &HostPaths,
    stuck: Option<u32>,
    deadline: Deadline<'_>,
) -> Result<UnixStream, ConnectionError> {
    let [mut interval, longest] = START_INTERVALS;
    let mut host: Option<StartingHost> = None;
    loop {
        match connection::open(paths, deadline.at_most(CONNECT_TIMEOUT)) {
            Ok(stream) if stuck.is_none() || connection::peer_process(&stream) != stuck => return Ok(stream),
            Ok(_) | Err(ConnectionError::NotThere(_) | ConnectionError::TooLate(_)) => {}
            Err(error) => return Err(error),
        }
        match host.take() {
            None if is_inside() => {}
            None => host = StartingHost::spawn(program, fixed, paths)?,
            Some(mut starting) => host = if starting.has_yielded()? { None } else { Some(starting) },
        }
        let left = deadline.left().map_err(|error| match error {
            ConnectionError::TooLate(within) => {
                ConnectionError::NotStarted(format!("it does not listen after {} seconds", within.as_secs()))
            }
            other => other,
        })?;
        std::thread::sleep(interval.min(left));
        interval = longest.min(interval * 2);
    }
}

/// A resident host that this process is starting. While this value exists, no other process starts a host.
#[derive(Debug)]
struct StartingHost {
    process: Child,
    log: PathBuf,
    /// Length of the log before the start, in bytes.
    log_length: u64,
    _lock: File,
}

impl StartingHost {
    /// Starts the resident host with the fixed directories. The host outlives this process. Returns `None` if another process is
    /// already starting a host.
    ///
    /// # Errors
    /// If the host cannot be started.
    fn spawn(program: &Path, fixed: &Directories, paths: &HostPaths) -> io::Result<Option<Self>> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(paths.directory())?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(paths.starting())?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) if error.raw_os_error() == Some(Errno::ENOLCK as i32) => {
                let why = "lies on a file system without locks: name a directory on another file system in HOOKHOST_STATE_DIR";
                return Err(io::Error::other(format!("{} {why}", paths.directory().display())));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let log = log(paths)?;
        let log_length = log.metadata()?.len();
        keep_inherited_files();
        let process = Command::new(program)
            .args(["serve", "--on-demand"])
            .envs(fixed.variables())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        Ok(Some(Self { process, log: paths.log(), log_length, _lock: lock }))
    }

    /// Returns true if the started process has ended because another process is the resident host.
    ///
    /// # Errors
    /// [`ConnectionError::NotStarted`] if the process has ended for another reason. The error contains the text that the process
    /// printed, or the exit status of the process.
    fn has_yielded(&mut self) -> Result<bool, ConnectionError> {
        match self.process.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => Err(ConnectionError::NotStarted(
                last_error(&self.log, self.log_length).unwrap_or_else(|| status.to_string()),
            )),
        }
    }
}

/// Returns the length of the resident host's log, in bytes. It is 0 if there is no log.
pub(crate) fn log_length(paths: &HostPaths) -> u64 {
    paths.log().metadata().map_or(0, |log| log.len())
}

/// Returns the last error that resident hosts have printed to their log after this length.
pub(crate) fn last_error(log: &Path, log_length: u64) -> Option<String> {
    let mut log = File::open(log).ok()?;
    log.seek(SeekFrom::Start(log_length)).ok()?;
    let mut printed = Vec::new();
    log.take(MAX_LOG).read_to_end(&mut printed).ok()?;
    let printed = String::from_utf8_lossy(&printed);
    printed.lines().rev().find_map(|line| line.strip_prefix("error: ")).map(str::to_owned)
}

/// Opens the resident host's log for appending. Empties the log if it is larger than [`MAX_LOG`].
fn log(paths: &HostPaths) -> io::Result<File> {
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(paths.log())?;
    if log.metadata()?.len() > MAX_LOG {
        log.set_len(0)?;
    }
    Ok(log)
}

/// Ends a resident host that sends nothing or uses another version of the protocol, because the next host needs its lock. Does
/// nothing if the process is not `hookhost serve`, or belongs to another user.
pub(crate) fn end_stuck(process: Option<u32>, paths: &HostPaths) {
    let Some(process) = process.filter(|process| is_resident_host(*process)) else { return };
    let Ok(number) = i32::try_from(process) else { return };
    if kill(Pid::from_raw(number), Signal::SIGKILL).is_ok() {
        let silence = SILENCE_TIMEOUT.as_secs();
        let why = format!("it sent nothing for {silence} seconds, or it uses another version of the protocol");
        let _ = log(paths).and_then(|mut log| writeln!(log, "a client has ended process {process}: {why}"));
    }
}

/// Returns true if a process has the command line of a resident host. The program file is not checked, because only root can read
/// `/proc/PID/exe` of a process that is not dumpable.
fn is_resident_host(process: u32) -> bool {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().and_then(|word| word.rsplit(|byte| *byte == b'/').next());
    program == Some(b"hookhost") && words.next() == Some(b"serve")
}

/// Prevents the resident host from inheriting open files. For example, another process may wait until all copies of a pipe are closed. If
/// the host inherited the pipe, that process would wait for the host, which outlives this process.
fn keep_inherited_files() {
    close_fds::set_fds_cloexec(3, &[]);
}
