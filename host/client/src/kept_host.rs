//! A resident host that is kept alive for programs that cannot start one, because they run in `hookhost exec`.

use crate::connection::{Connection, ConnectionError, Deadline};
use crate::frame::{FrameError, Request, Response};
use crate::paths::HostPaths;
use crate::start::{self, START_TIMEOUT};
use hookhost_agents::directories::Directories;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The first and the longest pause after an attempt to start a host that has failed. Each pause is twice as long as the previous one.
const RETRY_INTERVALS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Maximum number of times in a row that a host may send nothing for [`SILENCE_TIMEOUT`]. A program inside can slow the host down, and no call waits
/// for the supervisor, so it is more patient than a hook.
///
/// [`SILENCE_TIMEOUT`]: crate::connection::SILENCE_TIMEOUT
const MAX_SILENCES: u32 = 1;

/// Number of failed attempts after which somebody is told. The first ones can meet the host that is ending.
const TOLD_ATTEMPT: u32 = 5;

/// A connection that registers this process at the resident host as the supervisor of a program. The host sends a frame each second.
#[derive(Debug)]
pub struct KeptHost {
    paths: HostPaths,
    program: PathBuf,
    connection: Connection,
}

impl KeptHost {
    /// Registers this process, and starts the resident host, which is `program`, if none runs.
    ///
    /// # Errors
    /// If no host can be started, or if it does not accept the registration.
    pub fn start(paths: HostPaths, program: PathBuf) -> Result<Self, ConnectionError> {
        let connection = registered(&paths, &program, None)?;
        Ok(Self { paths, program, connection })
    }

    /// Starts the next host each time that the present one has ended or does not respond. Calls `tell` with an error once in each time in
    /// which no host can be started.
    pub fn keep(mut self, mut tell: impl FnMut(&ConnectionError)) -> ! {
        let mut silences = 0;
        loop {
            let stuck = match response(&mut self.connection) {
                Ok(()) => {
                    silences = 0;
                    continue;
                }
                Err(ConnectionError::Silent { .. }) if silences < MAX_SILENCES => {
                    silences += 1;
                    continue;
                }
                Err(ConnectionError::Silent { process }) => process,
                Err(ConnectionError::Frame(_)) => self.connection.process(),
                Err(_) => None,
            };
            silences = 0;
            start::end_stuck(stuck, &self.paths);
            let ([mut pause, longest], mut attempt) = (RETRY_INTERVALS, 0);
            self.connection = loop {
                match registered(&self.paths, &self.program, stuck) {
                    Ok(connection) => break connection,
                    Err(error) if attempt == TOLD_ATTEMPT => tell(&error),
                    Err(_) => {}
                }
                attempt += 1;
                std::thread::sleep(pause);
                pause = longest.min(pause * 2);
            };
        }
    }
}

/// Connects to a host other than the process `stuck`, and registers this process.
fn registered(paths: &HostPaths, program: &std::path::Path, stuck: Option<u32>) -> Result<Connection, ConnectionError> {
    let deadline = Deadline::within(START_TIMEOUT, None);
    let stream = start::connect(program, &Directories::default(), paths, stuck, deadline)?;
    let mut connection = Connection::from(stream);
    connection.send(&Request::Supervise, deadline)?;
    response(&mut connection)?;
    Ok(connection)
}

/// Waits for the frame that the host sends each second.
fn response(connection: &mut Connection) -> Result<(), ConnectionError> {
    match connection.receive_at_work(Deadline::within(START_TIMEOUT, None))? {
        Response::Waiting { .. } => Ok(()),
        Response::Refused(why) => Err(io::Error::other(why).into()),
        _ => Err(FrameError::Garbage.into()),
    }
}
