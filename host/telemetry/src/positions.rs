//! The file that contains how far each sink has read the log, `telemetry.db` beside the log. The log itself is never written
//! by telemetry.

use crate::error::TelemetryError;
use hookhost::files::{self, FileError};
use hookhost::store::Position;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The layout of the file. A file with another layout is begun anew.
const LAYOUT: i64 = 1;

const TABLES: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS sink (name TEXT PRIMARY KEY, state TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, agent TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS series (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    PRAGMA user_version = 1;";

/// Time to wait for another process that writes the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Number of sessions whose agents are kept.
const MAX_SESSIONS: i64 = 10_000;

/// How far a sink has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct SinkState {
    /// The name of the sink.
    pub name: String,
    /// The last record that the sink has taken. `None` if it has never run.
    pub position: Option<Position>,
    /// Number of records that the sink has taken.
    pub sent: u64,
    /// Number of records that were given up, because the receiver refuses them or they cannot be read.
    pub skipped: u64,
    /// The number of the last record that was given up.
    pub last_skipped: Option<u64>,
    /// The problem, if the last attempt failed.
    pub error: Option<String>,
    /// Time of the first failed attempt since the last success, in milliseconds since the Unix epoch.
    pub since: Option<u64>,
    /// Time of the next attempt, in milliseconds since the Unix epoch.
    pub next_attempt: Option<u64>,
}

/// The open file.
#[derive(Debug)]
pub struct PositionFile {
    connection: Connection,
    path: PathBuf,
    /// True if an earlier file with the positions of the sinks was lost or put aside.
    pub(crate) is_after_loss: bool,
}

impl PositionFile {
    /// Returns the path of the file that belongs to a log.
    pub fn path_of(log: &Path) -> PathBuf {
        log.with_file_name("telemetry.db")
    }

    /// Opens the file of a log, and creates it if it is missing. A damaged or foreign file is renamed to `telemetry.db.unusable`, and
    /// a new one is begun.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn open(log: &Path) -> Result<Self, TelemetryError> {
        let path = Self::path_of(log);
        let problem = |problem: String| TelemetryError::Positions { path: path.clone(), problem };
        // SQLite would create a file that others can read.
        match files::open_lock(&path) {
            Ok(_) | Err(FileError::Io(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let mut is_after_loss = false;
        let connection = match Self::prepared(&path) {
            Err(error) if is_unusable(&error) => {
                is_after_loss = true;
                for end in ["-wal", "-shm"] {
                    let _ = std::fs::remove_file(path.with_file_name(format!("telemetry.db{end}")));
                }
                std::fs::rename(&path, path.with_extension("db.unusable"))
                    .map_err(|error| problem(error.to_string()))?;
                files::open_lock(&path)?;
                Self::prepared(&path)
            }
            opened => opened,
        };
        Ok(Self { connection: connection.map_err(|error| problem(error.to_string()))?, path, is_after_loss })
    }

    /// Opens the file of a log for reading. Returns `None` if there is no such file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn look(log: &Path) -> Result<Option<Self>, TelemetryError> {
        let path = Self::path_of(log);
        if !path.exists() {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags);
        let connection = connection.and_then(|connection| connection.busy_timeout(BUSY_TIMEOUT).map(|()| connection));
        match connection {
            Ok(connection) => Ok(Some(Self { connection, path, is_after_loss: false })),
            Err(error) => Err(TelemetryError::Positions { path, problem: error.to_string() }),
        }
    }

    fn prepared(path: &Path) -> rusqlite::Result<Connection> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let layout: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if ![0, LAYOUT].contains(&layout) {
            let other = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
            return Err(rusqlite::Error::SqliteFailure(other, Some("another layout".into())));
        }
        connection.execute_batch(TABLES)?;
        Ok(connection)
    }

    fn problem(&self, error: &rusqlite::Error) -> TelemetryError {
        TelemetryError::Positions { path: self.path.clone(), problem: error.to_string() }
    }

    /// Returns the state of a sink; the state of a new sink if there is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sink(&self, name: &str) -> Result<SinkState, TelemetryError> {
        let state: Option<String> = self
            .connection
            .query_row("SELECT state FROM sink WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(|error| self.problem(&error))?;
        let state = state.and_then(|state| serde_json::from_str(&state).ok());
        Ok(state.unwrap_or_else(|| SinkState { name: name.to_owned(), ..SinkState::default() }))
    }

    /// Returns the states of all sinks that have ever run.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sinks(&self) -> Result<Vec<SinkState>, TelemetryError> {
        let read = || {
            let mut statement = self.connection.prepare("SELECT state FROM sink ORDER BY name")?;
            let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let states = read().map_err(|error| self.problem(&error))?;
        Ok(states.iter().filter_map(|state| serde_json::from_str(state).ok()).collect())
    }

    /// Saves the state of a sink, and in the same transaction what `also` writes.
    ///
    /// # Errors
    /// If the file cannot be written. Then nothing is saved.
    pub fn save(
        &self,
        state: &SinkState,
        also: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), TelemetryError> {
        let json = serde_json::to_string(state).unwrap_or_default();
        let save = || {
            let transaction = self.connection.unchecked_transaction()?;
            transaction.prepare_cached("REPLACE INTO sink VALUES (?1, ?2)")?.execute(params![state.name, json])?;
            also(&transaction)?;
            transaction.commit()
        };
        save().map_err(|error| self.problem(&error))
    }

    /// Returns the agent of a session, if it was noted.
    pub(crate) fn agent(&self, session: &str) -> Option<String> {
        let mut found = self.connection.prepare_cached("SELECT agent FROM session WHERE id = ?1").ok()?;
        found.query_row([session], |row| row.get(0)).ok()
    }

    /// Notes the agent of a session. A failure only makes the agent of later records unknown, so it is not an error.
    pub(crate) fn note_agent(&self, session: &str, agent: &str) {
        let noted = self.connection.execute("INSERT OR IGNORE INTO session VALUES (?1, ?2)", [session, agent]);
        if noted.is_ok_and(|rows| rows > 0) && self.connection.last_insert_rowid() % 100 == 0 {
            let old = "DELETE FROM session WHERE rowid <= (SELECT max(rowid) FROM session) - ?1";
            let _ = self.connection.execute(old, [MAX_SESSIONS]);
        }
    }

    /// Returns all series of the counters, with their values.
    pub(crate) fn series(&self) -> Vec<(String, String)> {
        let read = || {
            let mut statement = self.connection.prepare("SELECT key, value FROM series")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().unwrap_or_default()
    }
}

/// Returns true if the file is not a database of this layout. Other errors, such as a full disk, pass.
fn is_unusable(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

#[cfg(test)]
mod tests {
    use super::{PositionFile, SinkState};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_state_is_kept_and_a_damaged_file_is_put_aside() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("hookhost.db");
        let state = SinkState { name: "otlp-logs".into(), sent: 7, ..SinkState::default() };
        let file = PositionFile::open(&log).unwrap();
        assert_eq!(file.sink("otlp-logs").unwrap().sent, 0);
        file.save(&state, |_| Ok(())).unwrap();
        drop(file);
        assert_eq!(PositionFile::look(&log).unwrap().unwrap().sink("otlp-logs").unwrap(), state);
        let path = PositionFile::path_of(&log);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(
            &path,
            "not a database, but longer than the head of one, which is a hundred bytes long, so that it is read",
        )
        .unwrap();
        let file = PositionFile::open(&log).unwrap();
        assert_eq!(file.sink("otlp-logs").unwrap().sent, 0);
        assert!(directory.path().join("telemetry.db.unusable").exists());
    }

    #[test]
    fn a_state_and_what_belongs_to_it_are_saved_together_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let file = PositionFile::open(&directory.path().join("hookhost.db")).unwrap();
        let state = SinkState { name: "metrics".into(), sent: 7, ..SinkState::default() };
        file.save(&state, |connection| connection.execute("INSERT INTO missing VALUES (1)", []).map(drop)).unwrap_err();
        assert_eq!(file.sink("metrics").unwrap().sent, 0);
    }
}
