//! The file: one SQLite database per user, in which audit log and state are committed together.
//!
//! WAL: a commit is one append to a second file, readers and writers do not wait for each other, and what a killed process
//! had begun is as if it had never been. `synchronous = NORMAL`: a commit has reached the operating system when it
//! returns, and the disk at the next checkpoint, so that a power cut may cost the last records, never the order of those
//! before. <https://sqlite.org/wal.html>

use super::StoreError;
use crate::allowlist::AuditSettings;
use crate::allowlist::Digest;
use crate::audit::{self, BEFORE_THE_FIRST, LogBegins, Loggable as _};
use crate::files::{self, Guard};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// "hkhs": marks the file as ours. <https://sqlite.org/pragma.html#pragma_application_id>
const APPLICATION: i64 = 0x686b_6873;

/// How long opening waits for another process that opens or closes the file.
const PATIENCE: Duration = Duration::from_secs(5);

const SCHEMA: &str = "
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  -- Before the line, so that it can be read without what a long line overflows into.
  hash BLOB NOT NULL,
  line TEXT NOT NULL
);
CREATE TABLE space (
  id INTEGER PRIMARY KEY,
  plugin TEXT NOT NULL,
  -- Empty: the plugin's, in all sessions.
  session TEXT NOT NULL,
  version INTEGER NOT NULL,
  -- When it was last written, in milliseconds since the Unix epoch.
  touched INTEGER NOT NULL,
  UNIQUE (plugin, session)
);
CREATE TABLE value (
  space INTEGER NOT NULL REFERENCES space,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  -- In milliseconds since the Unix epoch.
  expires INTEGER,
  PRIMARY KEY (space, key)
) WITHOUT ROWID;
";

/// Opens the database for writing, and makes it where there is none.
pub(super) fn create(path: &Path, now: u64) -> Result<Connection, StoreError> {
    let began = Instant::now();
    loop {
        // Where several begin it at once, SQLite does not always wait by itself.
        match try_to_create(path, now) {
            Err(error) if error.is_passing() && began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            ended => return ended,
        }
    }
}

fn try_to_create(path: &Path, now: u64) -> Result<Connection, StoreError> {
    make_private(path)?;
    check_owner(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    // To close a connection is no reason to write to the file, least of all to one that turns out not to be ours.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(of)?;
    connection.busy_timeout(Duration::from_millis(100)).map_err(of)?;
    if !is_begun(&connection, path)? {
        begin(&mut connection, now).map_err(of)?;
        is_begun(&connection, path)?;
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(of)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(of)?;
    // The keeper does it, off the path of events.
    connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(of)?;
    // From here on whoever finds it locked waits without holding up a thread.
    connection.busy_timeout(Duration::ZERO).map_err(of)?;
    Ok(connection)
}

/// A database in memory, for state that lives as long as the host.
pub(super) fn in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// Opens a database that is there, to read it.
pub(crate) fn read(path: &Path) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing(path.to_owned()));
    }
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    // Not read-only: what readers of a WAL share between processes has to be made where nobody else has it open.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(of)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(of)?;
    connection.busy_timeout(PATIENCE).map_err(of)?;
    connection.pragma_update(None, "query_only", true).map_err(of)?;
    // Whoever began it was cut off before there was anything in it.
    if is_begun(&connection, path)? { Ok(connection) } else { Err(StoreError::Missing(path.to_owned())) }
}

/// The number and the hash of the last line.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<(u64, Digest)> {
    let mut last = connection.prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?;
    let last = last.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?))).optional()?;
    match last {
        None => Ok((0, BEFORE_THE_FIRST)),
        // What somebody has numbered so cannot be continued.
        Some((seq, _)) if !(1..i64::MAX).contains(&seq) => Err(rusqlite::Error::IntegralValueOutOfRange(0, seq)),
        Some((seq, hash)) => Ok((seq.cast_unsigned(), Digest::from_bytes(hash))),
    }
}

/// Appends one record behind the line `head`; gives the new head.
pub(super) fn append(
    connection: &Connection,
    (seq, hash): (u64, Digest),
    body: &str,
) -> rusqlite::Result<(u64, Digest)> {
    let line = audit::next(seq, &hash, body);
    let hash = line.hash();
    let mut insert = connection.prepare_cached("INSERT INTO audit (seq, hash, line) VALUES (?1, ?2, ?3)")?;
    insert.execute((line.seq().cast_signed(), hash.as_bytes(), line.text()))?;
    Ok((line.seq(), hash))
}

/// Whether the schema is there; an empty file has none. Anything else that is not ours is an error.
fn is_begun(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    // To SQLite a file of one byte is an empty one, which it would overwrite.
    if std::fs::metadata(path).is_ok_and(|file| file.len() == 1) {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    // All of it of one moment: another process may be beginning it.
    let _reading = connection.unchecked_transaction().map_err(of)?;
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(of);
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(of)?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(false),
        (APPLICATION, version) if version == i64::from(audit::VERSION) => {
            // Damage that one would meet later is better met before anything runs.
            head(connection).map_err(of)?;
            for table in ["audit", "space", "value"] {
                connection.prepare(&format!("SELECT * FROM {table}")).map(drop).map_err(of)?;
            }
            Ok(true)
        }
        (APPLICATION, found) => Err(StoreError::Version { path: path.to_owned(), found, known: audit::VERSION }),
        _ => Err(StoreError::Foreign(path.to_owned())),
    }
}

/// Makes the schema and the first record, unless another process has done so meanwhile.
fn begin(connection: &mut Connection, now: u64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", audit::VERSION)?;
        let first = LogBegins { version: audit::VERSION, time: now };
        append(&transaction, (0, BEFORE_THE_FIRST), &first.body(&AuditSettings::default()))?;
    }
    transaction.commit()
}

/// Makes the file, where there is none, so that only its user can read it: it holds what agents have seen. SQLite gives
/// its second files the same permissions.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let of = |error: std::io::Error| StoreError::io(&error, path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(of)?;
    }
    let mut options = std::fs::OpenOptions::new();
    // One that is there is left alone: to close it, too, would end every lock that SQLite has on it in this process.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop).map_err(of),
    }
}

/// Refuses a database that others can write, with what SQLite keeps beside it. They are looked at by path, as to close one
/// of them would end SQLite's locks, too; nobody else can put another file in their folder.
fn check_owner(path: &Path) -> Result<(), StoreError> {
    files::look(path, Guard::OnlyMineToWrite).map_err(|error| StoreError::file(error, path))?;
    let mut shared = path.as_os_str().to_owned();
    shared.push("-shm");
    for beside in [wal(path), shared.into()] {
        match files::look(&beside, Guard::OnlyMineToWrite) {
            Err(error) if !error.is_missing() => return Err(StoreError::file(error, &beside)),
            _ => {}
        }
    }
    Ok(())
}

/// The file beside the database to which commits are appended.
pub(super) fn wal(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}
