//! Checks that the resident host answers.

use crate::output::one_line;
use hookhost::config::UserDirectories;
use hookhost_agents::install::check::Check;
use hookhost_client::connection::{Connection, ConnectionError, Deadline};
use hookhost_client::frame::{Request, Response};
use hookhost_client::paths::HostPaths;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Time to wait for the resident host's answer.
const TIMEOUT: Duration = Duration::from_secs(3);

pub(super) fn check(status: &Result<Value, ConnectionError>) -> Check {
    match status {
        Ok(status) => {
            let version = status["version"].as_str().unwrap_or("unknown");
            if version == env!("CARGO_PKG_VERSION") {
                Check::ok("host", format!("the resident host answers, version {version}"))
            } else {
                let says = format!(
                    "the resident host is of version {}, and this is {}: the next call of an agent replaces it",
                    one_line(version),
                    env!("CARGO_PKG_VERSION")
                );
                Check::ok("host", says)
            }
        }
        // This is not a problem, because the next call of an agent starts a host.
        Err(ConnectionError::NotThere(_)) => {
            Check::ok("host", "no resident host runs: the next call of an agent starts it")
        }
        Err(error) => Check::problem(
            "host",
            format!("the resident host, hookhost's background process, does not answer: {error}"),
            "end its process `hookhost serve`, and try again",
        ),
    }
}

/// Asks the resident host for its status and for the rules in the working directory.
pub(in crate::command) fn status(directories: &UserDirectories) -> Result<Value, ConnectionError> {
    let deadline = Deadline::within(TIMEOUT, None);
    let mut connection = Connection::open(&HostPaths::below(&directories.state), deadline)?;
    let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    connection.send(&Request::Status { directory }, deadline)?;
    match connection.receive(deadline)? {
        Response::Status(status) => Ok(serde_json::from_str(&status).unwrap_or_default()),
        _ => Err(hookhost_client::frame::FrameError::Garbage.into()),
    }
}
