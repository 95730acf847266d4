//! Asks the resident host for its status or for a link to its page, and stops it.

use crate::connection::{Connection, ConnectionError, Deadline};
use crate::frame::{FrameError, LinkPurpose, Request, Response};
use crate::paths::HostPaths;
use crate::start;
use hookhost_agents::directories::Directories;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Poll interval while this process waits for a resident host to end.
const STOP_INTERVAL: Duration = Duration::from_millis(10);

/// Returns the status of the resident host and the rules that are active in `directory`, as a JSON object.
///
/// # Errors
/// If no resident host runs, or if the host does not answer.
pub fn status(paths: &HostPaths, directory: &Path, within: Duration) -> Result<String, ConnectionError> {
    let deadline = Deadline::within(within, None);
    let mut connection = Connection::open(paths, deadline)?;
    connection.send(&Request::Status { directory: PathBuf::from(directory) }, deadline)?;
    match connection.receive(deadline)? {
        Response::Status(json) => Ok(json),
        _ => Err(FrameError::Garbage.into()),
    }
}

/// Returns a link to the page of the resident host, which the user can open once. Starts the host, which is `program`, if none runs.
/// `directory` is the directory whose rules the page shows.
///
/// # Errors
/// If no resident host can be started, or if it makes no link.
pub fn page(
    paths: &HostPaths,
    program: &Path,
    directory: &Path,
    purpose: LinkPurpose,
    within: Duration,
) -> Result<String, ConnectionError> {
    let deadline = Deadline::within(within, None);
    let mut connection = match Connection::open(paths, deadline) {
        Err(ConnectionError::NotThere(_)) => {
            start::connect(program, &Directories::default(), paths, None, deadline)?.into()
        }
        opened => opened?,
    };
    connection.send(&Request::Page { directory: PathBuf::from(directory), purpose }, deadline)?;
    match connection.receive(deadline)? {
        Response::Link(link) => Ok(link),
        Response::Refused(why) => Err(io::Error::other(why).into()),
        _ => Err(FrameError::Garbage.into()),
    }
}

/// Asks the resident host to end after it has decided on all pending events, and waits until it has ended. Also waits for a host
/// that is already ending.
///
/// # Errors
/// If no resident host runs, or if the host does not end in time.
pub fn stop(paths: &HostPaths, within: Duration) -> Result<(), ConnectionError> {
    let deadline = Deadline::within(within, None);
    let mut was_there = false;
    loop {
        match told_to_stop(paths, deadline) {
            // A host that is ending has already removed its socket, but still holds its lock.
            Err(ConnectionError::NotThere(_)) if is_locked(paths) => was_there = true,
            Err(ConnectionError::NotThere(_)) if was_there => return Ok(()),
            Err(ConnectionError::Closed) if !is_locked(paths) => return Ok(()),
            Err(ConnectionError::Closed) => was_there = true,
            told => return told,
        }
        std::thread::sleep(STOP_INTERVAL.min(deadline.left()?));
    }
}

/// Sends the request to stop, and waits until the host closes the connection. The host closes the connection when it ends.
fn told_to_stop(paths: &HostPaths, deadline: Deadline<'_>) -> Result<(), ConnectionError> {
    let mut connection = Connection::open(paths, deadline)?;
    connection.send(&Request::Stop, deadline)?;
    match connection.receive(deadline)? {
        Response::Refused(why) => Err(io::Error::other(why).into()),
        _ => Err(FrameError::Garbage.into()),
    }
}

/// Returns true if a process holds the lock of the resident host.
fn is_locked(paths: &HostPaths) -> bool {
    let lock = std::fs::File::open(paths.lock());
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}
