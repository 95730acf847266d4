//! Where no resident host is there: one is started, and meanwhile the call is settled by a process of its own.

use crate::connection::{ConnectionError, Deadline, receive_from};
use crate::frame::{HookRequest, Response};
use crate::place::Place;
use hookhost_adapters::directories::Directories;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Upper bound of what the resident host's log keeps when one is started, in bytes.
const MAX_LOG: u64 = 1024 * 1024;

/// The program `hookhost`, which is beside this one.
///
/// # Errors
/// If it is not there.
pub fn program() -> io::Result<PathBuf> {
    // Not by the PATH or a variable: who can change those could have another program answer.
    let program = std::env::current_exe()?.with_file_name("hookhost");
    if program.is_file() {
        return Ok(program);
    }
    let why = format!("the program {} is missing: install hookhost again", program.display());
    Err(io::Error::new(io::ErrorKind::NotFound, why))
}

/// The lock of anyone who starts the resident host, held until it is dropped; absent where another hook holds it.
///
/// # Errors
/// If there can be no lock. The call is settled nevertheless.
pub fn lock(place: &Place) -> io::Result<Option<File>> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(place.directory())?;
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(place.starting())?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Starts the resident host, which lives on after this process, with the directories that are fixed.
///
/// # Errors
/// If it cannot be started. The call is settled nevertheless.
pub fn resident_host(program: &Path, fixed: &Directories, place: &Place) -> io::Result<()> {
    // It says there what goes wrong.
    let log = log(place)?;
    keep_inherited_files();
    Command::new(program)
        .args(["serve", "--on-demand"])
        .envs(fixed.variables())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    Ok(())
}

/// Opens the resident host's log at its end. A file that has grown large begins again.
fn log(place: &Place) -> io::Result<File> {
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(place.log())?;
    if log.metadata()?.len() > MAX_LOG {
        log.set_len(0)?;
    }
    Ok(log)
}

/// Ends a silent resident host, so that the next one gets its lock. A process that is no `hookhost serve` is left alone, and so is
/// one of another user.
pub fn end_silent(process: Option<u32>, place: &Place) {
    let Some(process) = process.filter(|process| is_resident_host(*process)) else { return };
    let Ok(number) = i32::try_from(process) else { return };
    if kill(Pid::from_raw(number), Signal::SIGKILL).is_ok() {
        let why = ConnectionError::Silent { process: None };
        let _ = log(place).and_then(|mut log| writeln!(log, "the hook has ended process {process}: {why}"));
    }
}

/// Returns true if the command line of a process is that of a resident host. Its program cannot be read: `/proc/PID/exe` of a process
/// that is not dumpable is root's.
fn is_resident_host(process: u32) -> bool {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().and_then(|word| word.rsplit(|byte| *byte == b'/').next());
    program == Some(b"hookhost") && words.next() == Some(b"serve")
}

/// Files that this process has inherited are not passed on: who waits for the end of one of them must not wait for a process
/// that lives on after this one.
fn keep_inherited_files() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// The small program for plugins that are compiled already, which is beside `hookhost`.
const SMALL: &str = "hookhost-settle";

/// Settles a message in a process of its own. After its answer it lives on until observers and the log have what they get. What
/// the small program leaves unanswered, `hookhost` settles. `meanwhile` is called while the first process works.
///
/// # Errors
/// If neither process answers in time. It is ended then.
pub fn alone(
    program: &Path,
    fixed: &Directories,
    request: &HookRequest,
    deadline: Deadline<'_>,
    meanwhile: impl FnOnce(),
) -> Result<Response, ConnectionError> {
    let mut meanwhile = Some(meanwhile);
    let mut meanwhile = || meanwhile.take().into_iter().for_each(|meanwhile| meanwhile());
    match settled_by(Command::new(program.with_file_name(SMALL)), fixed, request, deadline, &mut meanwhile) {
        // It is not installed, or it leaves the message to the other one, before anything of it is settled.
        Err(ConnectionError::Closed | ConnectionError::Io(_)) => {}
        answered => return answered,
    }
    let mut command = Command::new(program);
    command.args(["hook", "--alone"]);
    settled_by(command, fixed, request, deadline, &mut meanwhile)
}

/// Settles a message in the process of this command.
fn settled_by(
    mut command: Command,
    fixed: &Directories,
    request: &HookRequest,
    mut deadline: Deadline<'_>,
    meanwhile: &mut dyn FnMut(),
) -> Result<Response, ConnectionError> {
    let HookRequest { agent, point, directory, message, .. } = request;
    command.envs(fixed.variables()).arg(agent);
    if !point.is_empty() {
        command.arg(point);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    if directory.is_dir() {
        command.current_dir(directory);
    }
    keep_inherited_files();
    let mut child = command.spawn()?;
    let (Some(mut to), Some(mut from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(ConnectionError::Closed);
    };
    let unanswered = Unanswered(child);
    deadline.write_all(&mut to, message)?;
    drop(to);
    meanwhile();
    loop {
        match receive_from(&mut from, deadline)? {
            Response::Waiting { seconds } => deadline = deadline.that_takes_long(seconds),
            response => {
                std::mem::forget(unanswered);
                return Ok(response);
            }
        }
    }
}

/// A process that has not answered. It does not outlive this value.
struct Unanswered(Child);

impl Drop for Unanswered {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
