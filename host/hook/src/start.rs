//! Where no resident host is there: one is started, and meanwhile the call is settled by a process of its own.

use crate::connection::{ConnectionError, Deadline, receive_from};
use crate::frame::{HookRequest, Response};
use crate::place::Place;
use std::fs::{self, File, OpenOptions};
use std::io;
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

/// Starts the resident host, unless another hook is starting it. It lives on after this process. The lock is held until what is
/// returned is dropped.
///
/// # Errors
/// If it cannot be started. The call is settled nevertheless.
pub fn resident_host(program: &Path, place: &Place) -> io::Result<Option<File>> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(place.directory())?;
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(place.starting())?;
    if lock.try_lock().is_err() {
        return Ok(None);
    }
    // It says there what goes wrong; a file that has grown large begins again.
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(place.log())?;
    if log.metadata()?.len() > MAX_LOG {
        log.set_len(0)?;
    }
    keep_inherited_files();
    Command::new(program)
        .args(["serve", "--on-demand"])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    Ok(Some(lock))
}

/// Files that this process has inherited are not passed on: who waits for the end of one of them must not wait for a process
/// that lives on after this one.
fn keep_inherited_files() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// Settles a message in a process of its own. After its answer it lives on until observers and the log have what they get.
///
/// # Errors
/// If that process does not answer in time. It is ended then.
pub fn alone(program: &Path, request: &HookRequest, mut deadline: Deadline<'_>) -> Result<Response, ConnectionError> {
    let HookRequest { agent, point, directory, message, .. } = request;
    let mut command = Command::new(program);
    command.args(["hook", "--alone", agent.as_str()]);
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
