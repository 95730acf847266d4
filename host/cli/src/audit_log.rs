//! Opens, checks and closes the user's audit log. One database contains the log and the state of plugins.

use crate::configuration;
use crate::exit::{CliError, Exit};
use crate::output::{self, style::WARNING, truncate::counted};
use anyhow::anyhow;
use hookhost::audit::{Flaw, Record};
use hookhost::files::{self, FileError, Guard};
use hookhost::store::{Log, LogError};
use hookhost::{Host, StoreError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file name of the database in the state directory.
const DATABASE: &str = "hookhost.db";

/// Time that observing plugins get for their last events when a command ends.
const OBSERVERS_TIMEOUT: Duration = Duration::from_secs(2);

/// Time by which the times of neighbouring records may be out of order, in milliseconds.
const CLOCK_DIFFERENCE: u64 = 60_000;

/// Returns the path of the user's own log.
pub(crate) fn path() -> Result<PathBuf, CliError> {
    Ok(configuration::places()?.state.join(DATABASE))
}

/// Returns true unless the user's own log does not exist.
pub(crate) fn is_there() -> Result<bool, CliError> {
    Ok(!path()?.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound))
}

/// Creates the directory of the user's own log, readable only by the user, and returns the log's path.
pub(crate) fn prepared() -> Result<PathBuf, CliError> {
    let path = path()?;
    if let Some(directory) = path.parent()
        && let Err(error) = files::make_own_directory(directory)
    {
        let shown = output::quoted(&directory.to_string_lossy());
        return Err(CliError::not_loaded(anyhow!(
            "the directory {shown} for the audit log cannot be made: {error}; make it, or name another one in the \
             environment variable HOOKHOST_STATE_DIR"
        )));
    }
    Ok(path)
}

/// Opens a log for reading: the log at the named path, or else the user's own log.
pub(crate) fn open(named: Option<&Path>) -> Result<Log, CliError> {
    // A log that other users can write to is read only if the user names it explicitly.
    if named.is_none()
        && let Err(FileError::Refused(refused)) = files::look_in_kept_directory(&path()?, Guard::OnlyMineToWrite)
    {
        return Err(CliError::not_loaded(refused));
    }
    let path = named.map_or_else(path, |path| Ok(path.to_owned()))?;
    Log::open(&path).map_err(|error| match error {
        LogError::Store(error @ StoreError::Missing(_)) if named.is_none() => {
            CliError::not_loaded(anyhow!("{error}, because no agent has called hookhost yet")).advise("hookhost doctor")
        }
        error => unreadable(error),
    })
}

/// Returns the number of the last record before the period. A log can be much longer than the period, so this searches by bisection. The
/// times of records ascend, except for a few seconds.
pub(crate) fn first_since(log: &Log, since: u64) -> Result<u64, CliError> {
    if log.is_export() {
        return Ok(0);
    }
    let (mut before, mut after) = (0, log.last().map_err(unreadable)? + 1);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        let line = log.lines_after(middle - 1).and_then(|mut lines| lines.next().transpose()).map_err(unreadable)?;
        let time = line.and_then(|line| line.entry().ok()).map(|record| record.time());
        // A record that cannot be read has no time, so the search continues before it.
        if time.is_some_and(|time| time.saturating_add(CLOCK_DIFFERENCE) < since) {
            before = middle;
        } else {
            after = middle;
        }
    }
    Ok(before)
}

/// Warns of objects in the database that hookhost did not create. Commands that read the log without verifying it call this function.
pub(crate) fn warn_of_foreign(log: &Log) {
    for what in log.foreign() {
        let text = output::one_line(&Flaw::Foreign(what.clone()).to_string());
        output::note(&format!("{WARNING}warning:{WARNING:#} {text}\n"));
    }
}

/// Visits the records since this time, in milliseconds since the Unix epoch, and perhaps some before it. Records that cannot be read are
/// reported and skipped.
pub(crate) fn each_since(named: Option<&Path>, since: u64, mut visit: impl FnMut(&Record)) -> Result<(), CliError> {
    let log = open(named)?;
    warn_of_foreign(&log);
    let first = first_since(&log, since)?;
    for line in log.lines_after(first).map_err(unreadable)? {
        match line {
            Ok(line) => {
                if let Ok(record) = line.entry() {
                    visit(&record);
                }
            }
            Err(error @ LogError::Line { .. }) => {
                output::note(&format!("{WARNING}warning:{WARNING:#} {}\n", output::one_line(&error.to_string())));
            }
            Err(error) => return Err(unreadable(error)),
        }
    }
    Ok(())
}

/// Turns an error of reading the log into an error of the command.
pub(crate) fn unreadable(error: LogError) -> CliError {
    match error {
        LogError::NotAsWritten { .. } | LogError::Store(StoreError::Altered { .. }) => {
            CliError::new(Exit::Differs, error)
        }
        LogError::Store(error) => unusable(&error),
        LogError::Io { .. } => {
            CliError::not_loaded(anyhow!("{error}; check that it is a file and that you may read it"))
        }
        other => CliError::not_loaded(other),
    }
}

/// Turns an error of the database into an error of the command, with the next step.
pub(crate) fn unusable(error: &StoreError) -> CliError {
    // The messages of the other errors contain the next step.
    let next = match error {
        StoreError::Full(_) => "; make room on it, and try again",
        StoreError::Io { .. } => {
            "; check the permissions and the free space of its directory, or name another one in the environment variable \
             HOOKHOST_STATE_DIR"
        }
        _ => "",
    };
    CliError::not_loaded(anyhow!("{error}{next}"))
}

/// Ends a command that has recorded something. Events that observing plugins do not get in time are dropped, and the log and a warning give
/// the number of these events. If records are lost, a command that would have succeeded fails.
pub(crate) async fn finish(host: &Host, ended: Result<Exit, CliError>) -> Result<Exit, CliError> {
    let drained = drain(host).await;
    for notice in host.take_notices() {
        output::note(&output::notice(&notice.text));
    }
    finished(drained, ended)
}

/// Waits until observing plugins have their events and the last records are stored. The sessions produce no further notices afterwards.
pub(crate) async fn drain(host: &Host) -> Result<u64, StoreError> {
    host.drain(OBSERVERS_TIMEOUT).await
}

/// The second half of [`finish`], after [`drain`].
pub(crate) fn finished(drained: Result<u64, StoreError>, ended: Result<Exit, CliError>) -> Result<Exit, CliError> {
    let warn = |text: &str| output::note(&format!("{WARNING}warning:{WARNING:#} {}\n", output::one_line(text)));
    match drained {
        Ok(0) => {}
        Ok(given_up) => {
            let events = counted(given_up, "event");
            let seconds = OBSERVERS_TIMEOUT.as_secs();
            warn(&format!("plugins that observe did not get {events} within {seconds} s; the log counts them"));
        }
        Err(error) => {
            warn(&format!("the last records of the audit log could not be written: {error}"));
            return ended.map(|exit| if exit == Exit::Done { Exit::Failed } else { exit });
        }
    }
    ended
}

/// Returns the time of the first record after this one, in milliseconds since the Unix epoch.
pub(crate) fn time_after(log: &Log, seq: u64) -> Option<u64> {
    let line = log.lines_after(seq).ok()?.next()?.ok()?;
    line.entry().ok().map(|record| record.time())
}
