//! The database file: one SQLite database per user, in which the audit log and the state are committed together.
//!
//! The database is in WAL mode. A commit only appends to a second file, the write-ahead log. Readers and writers do not
//! wait for each other, and the unfinished transaction of a killed process has no effect. With `synchronous = NORMAL`,
//! a commit has reached the operating system when it returns, but it is certain to be on the disk only after the next
//! checkpoint. So a power cut may lose the last records, but never changes the order of records.
//! <https://sqlite.org/wal.html>

use super::journal::Directory;
use crate::audit::{self, BEFORE_THE_FIRST, LogBegins, ToRecord as _};
use crate::config::AuditSettings;
use crate::config::Digest;
use crate::files::{self, Guard};
use crate::store::StoreError;
use crate::store::identity::{Identity, identity};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef::Null;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The application id that marks the file as a database of hookhost: "hkhs" in ASCII.
/// <https://sqlite.org/pragma.html#pragma_application_id>
const APPLICATION: i64 = 0x686b_6873;

/// Timeout for opening the file while another process creates or closes it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The tables: their names, and the statements that create them. SQLite stores each statement verbatim, and a
/// database is accepted only if it contains exactly these statements. So if a single character changes, even in a
/// comment, [`audit::FORMAT`] has to be raised.
pub(super) const TABLES: [(&str, &str); 7] = [
    (
        "audit",
        "CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  -- Before the line, so that it can be read without what a long line overflows into.
  hash BLOB NOT NULL,
  line TEXT NOT NULL
)",
    ),
    (
        "space",
        "CREATE TABLE space (
  id INTEGER PRIMARY KEY,
  plugin TEXT NOT NULL,
  -- `session`, `tree` or `plugin`.
  scope TEXT NOT NULL,
  -- Of the scope `tree` the session at its root; of the scope `plugin` empty.
  session TEXT NOT NULL,
  version INTEGER NOT NULL,
  -- When it was last written, in milliseconds since the Unix epoch.
  touched INTEGER NOT NULL,
  UNIQUE (plugin, scope, session)
)",
    ),
    (
        "value",
        "CREATE TABLE value (
  space INTEGER NOT NULL REFERENCES space,
  key TEXT NOT NULL,
  value BLOB NOT NULL,
  -- In milliseconds since the Unix epoch.
  expires INTEGER,
  PRIMARY KEY (space, key)
) WITHOUT ROWID",
    ),
    (
        "session",
        "CREATE TABLE session (
  id TEXT PRIMARY KEY,
  -- Raised by each write.
  version INTEGER NOT NULL,
  -- How many numbers of events are given out.
  events INTEGER NOT NULL,
  -- Failures in a row, reminders, notices and calls of models, as JSON.
  life TEXT NOT NULL,
  -- When it was last written, in milliseconds since the Unix epoch.
  touched INTEGER NOT NULL
) WITHOUT ROWID",
    ),
    (
        "question",
        "CREATE TABLE question (
  -- The event that is escalated.
  id TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  -- The process that waits for the answer.
  asker INTEGER NOT NULL,
  -- In milliseconds since the Unix epoch.
  expires INTEGER NOT NULL,
  -- Whether that process takes an answer from here.
  answerable INTEGER NOT NULL,
  -- What is asked, as JSON.
  request TEXT NOT NULL,
  -- As JSON, once there is one.
  answer TEXT
) WITHOUT ROWID",
    ),
    (
        OUTCOMES,
        "CREATE TABLE outcome (
  -- Digest of the session and of the number of the call.
  call BLOB PRIMARY KEY,
  -- Digest of its content, its directory and the rules.
  terms BLOB NOT NULL,
  -- The event that was settled.
  event TEXT,
  -- In milliseconds since the Unix epoch.
  settled INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  -- As JSON.
  outcome TEXT NOT NULL
) WITHOUT ROWID",
    ),
    (
        PASSKEYS,
        "CREATE TABLE passkey (
  -- The number of the record in the log.
  seq INTEGER PRIMARY KEY,
  -- The record that registers or removes a passkey, as JSON.
  record TEXT NOT NULL
)",
    ),
];

/// The name of the table of passkeys. A database has this table from the first registration on, so earlier versions of
/// hookhost, which would not ask for a passkey, refuse such a database.
const PASSKEYS: &str = "passkey";

/// The name of the table of stored outcomes, which databases of earlier versions do not have.
const OUTCOMES: &str = "outcome";

/// The index that SQLite creates for the `UNIQUE` in [`TABLES`], and its table.
const INDEX: (&str, &str) = ("sqlite_autoindex_space_1", "space");

/// A database that was opened for writing.
pub(super) struct WritableDatabase {
    pub(super) connection: Connection,
    /// The identity of the file.
    pub(super) file: Option<Identity>,
    /// SQLite's schema version. It was read before the check that the schema is hookhost's.
    pub(super) schema: i64,
}

/// Opens the database for writing, and creates it if it is missing.
pub(super) fn create(path: &Path, now: u64) -> Result<WritableDatabase, StoreError> {
    let began = Instant::now();
    loop {
        // When several processes create the database at the same time, SQLite does not always wait by itself, so this
        // retries.
        match try_to_create(path, now) {
            Err(error) if error.is_transient() && began.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(5));
            }
            ended => return ended,
        }
    }
}

fn try_to_create(path: &Path, now: u64) -> Result<WritableDatabase, StoreError> {
    check_name(path)?;
    make_private(path)?;
    check_owner(path)?;
    let file = identity(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    Steps::of(&mut connection, path).map_err(of)?;
    harden(&connection).map_err(of)?;
    connection.busy_timeout(Duration::from_millis(100)).map_err(of)?;
    if !is_begun(&connection, path)? {
        begin(&mut connection, now).map_err(of)?;
        is_begun(&connection, path)?;
    }
    add_outcomes(&mut connection).map_err(of)?;
    // This is read before the check. So if the schema changes in between, the next write notices the change.
    let schema = schema_version(&connection).map_err(of)?;
    check_schema(&connection, path)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(of)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(of)?;
    // SQLite runs no checkpoints here, because events would wait for them. The flusher runs checkpoints instead.
    connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(of)?;
    // The limit on steps is only for reading the schema and the last record. It is removed here, because nothing resets
    // the count of steps later.
    connection.progress_handler(0, None::<fn() -> bool>).map_err(of)?;
    // From here on the callers retry when the file is locked, without blocking a thread.
    connection.busy_timeout(Duration::ZERO).map_err(of)?;
    if identity(path) != file {
        return Err(StoreError::Gone(path.to_owned()));
    }
    Ok(WritableDatabase { connection, file, schema })
}

/// Opens another connection to the database, for reading the state of plugins. Fails if the path no longer leads to
/// `file`.
pub(super) fn reader(path: &Path, file: Option<Identity>) -> Result<Reader, StoreError> {
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    let steps = Steps::at_most(&mut connection, || MAX_STATE_STEPS).map_err(of)?;
    harden(&connection).map_err(of)?;
    connection.busy_timeout(Duration::ZERO).map_err(of)?;
    connection.pragma_update(None, "query_only", true).map_err(of)?;
    if identity(path) == file { Ok(Reader { connection, steps }) } else { Err(StoreError::Gone(path.to_owned())) }
}

/// A connection over which events read the state.
pub(super) struct Reader {
    connection: Connection,
    steps: Steps,
}

impl Reader {
    /// Returns the connection for one query, which may take at most [`MAX_STATE_STEPS`] steps.
    pub(super) fn ask(&self) -> &Connection {
        self.steps.begin();
        &self.connection
    }
}

/// Number of SQLite's steps between two checks of the count.
const STEPS_AT_A_TIME: u16 = 10_000;

/// Number of steps that each query may take regardless of the file's size. This many steps take some tenths of a
/// second.
const FREE_STEPS: u64 = 10_000_000;

/// Number of further steps that a query may take for each byte of the file. To read a row of `n` bytes, a query takes
/// at most a few times `n` steps.
const STEPS_PER_BYTE: u64 = 16;

/// Number of steps that a query of the state may take. This many steps take some tens of milliseconds. The longest
/// query, which counts a full scope, takes a quarter of this number.
const MAX_STATE_STEPS: u64 = 2_000_000;

/// Counts the steps of a connection's queries, and interrupts a query that takes far more steps than a query of this
/// file can need. In a damaged file, pages may refer to each other in a cycle. A query, or SQLite's own reading of the
/// schema, would then read the same rows forever. <https://sqlite.org/c3ref/progress_handler.html>
#[derive(Clone, Default)]
pub(crate) struct Steps(Arc<AtomicU64>);

impl Steps {
    fn of(connection: &mut Connection, path: &Path) -> rusqlite::Result<Self> {
        let (path, beside) = (path.to_owned(), wal(path));
        let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        Self::at_most(connection, move || {
            FREE_STEPS.saturating_add(STEPS_PER_BYTE.saturating_mul(bytes(&path) + bytes(&beside)))
        })
    }

    fn at_most(connection: &mut Connection, most: impl Fn() -> u64 + Send + 'static) -> rusqlite::Result<Self> {
        let steps = Self::default();
        let taken = Arc::clone(&steps.0);
        let is_too_much = move || {
            let one = u64::from(STEPS_AT_A_TIME);
            taken.fetch_add(one, Ordering::Relaxed).saturating_add(one) > most()
        };
        connection.progress_handler(STEPS_AT_A_TIME.into(), Some(is_too_much))?;
        Ok(steps)
    }

    /// Resets the count.
    pub(crate) fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A database that was opened to read its log.
pub(crate) struct ReadableDatabase {
    pub(crate) connection: Connection,
    /// Counts the steps of all queries since the last reset.
    pub(crate) steps: Steps,
    /// Differences from the schema that hookhost creates. None of them affects the table of records.
    pub(crate) foreign: Vec<String>,
}

/// Opens an existing database to read its log. The table of records must be exactly as hookhost creates it. Other
/// differences from hookhost's schema are only reported.
pub(crate) fn read(path: &Path) -> Result<ReadableDatabase, StoreError> {
    check_name(path)?;
    if !path.exists() {
        return Err(StoreError::Missing(path.to_owned()));
    }
    check_journal(path)?;
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    // The file is not opened read-only, because the first process that opens a WAL has to create the index that all
    // readers share.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    let steps = Steps::of(&mut connection, path).map_err(of)?;
    harden(&connection).map_err(of)?;
    connection.busy_timeout(LOCK_TIMEOUT).map_err(of)?;
    connection.pragma_update(None, "query_only", true).map_err(of)?;
    // If the file is empty, the process that created it was killed before it wrote anything.
    if !is_begun(&connection, path)? {
        return Err(StoreError::Missing(path.to_owned()));
    }
    let mut foreign = foreign(&connection).map_err(of)?;
    // The first host of this version that opens the database adds this table.
    foreign.retain(|object| object.says != format!("no table `{OUTCOMES}`"));
    let (records, foreign): (Vec<_>, Vec<_>) = foreign.into_iter().partition(|object| object.is_the_log);
    match records.into_iter().next() {
        Some(object) => Err(StoreError::Altered { path: path.to_owned(), what: object.says }),
        None => {
            Ok(ReadableDatabase { connection, steps, foreign: foreign.into_iter().map(|object| object.says).collect() })
        }
    }
}

/// Protects against a hostile file: no trigger, view or function of its schema runs when the file is opened or read.
/// Our own statements cannot write to the schema table. A misspelt column name in quotation marks is an error and not a
/// string. <https://sqlite.org/security.html#untrusted_sqlite_database_files>
fn harden(connection: &Connection) -> rusqlite::Result<()> {
    for (setting, value) in [
        // Closing a connection must not write to the file, which may turn out not to be ours.
        (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        connection.set_db_config(setting, value)?;
    }
    connection.pragma_update(None, "cell_size_check", true)
}

/// Refuses names for which SQLite would write nothing to the disk, or write to another file.
fn check_name(path: &Path) -> Result<(), StoreError> {
    let name = path.as_os_str().as_encoded_bytes();
    let problem = match name {
        b"" => "it is empty",
        b":memory:" => "SQLite would keep it in memory alone",
        _ if name.starts_with(b"file:") => "it is a URI",
        _ => return Ok(()),
    };
    Err(StoreError::Name { path: path.to_owned(), problem })
}

/// A difference from the schema that hookhost creates.
struct Foreign {
    /// The difference, worded as the end of "the database holds …".
    says: String,
    /// True if the difference concerns the table of records.
    is_the_log: bool,
}

/// Returns all differences from the schema that [`TABLES`] creates.
fn foreign(connection: &Connection) -> rusqlite::Result<Vec<Foreign>> {
    let mut objects = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")?;
    let mut rows = objects.query([])?;
    let (mut foreign, mut missing) = (Vec::new(), Vec::from(TABLES));
    while let Some(row) = rows.next()? {
        // A damaged or forged schema may contain values of any type. They are reported as differences, and do not end
        // the check with an error.
        let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
        let (kind, name, table, statement) = (text(0), text(1).unwrap_or_default(), text(2), text(3));
        let of_this_name = TABLES.iter().find(|(ours, _)| name.eq_ignore_ascii_case(ours));
        let is_ours = match (kind, of_this_name) {
            (Some("table"), Some((ours, makes))) => {
                missing.retain(|(missing, _)| missing != ours);
                name == *ours && table == Some(*ours) && statement == Some(*makes)
            }
            (Some("index"), None) => (name, table) == (INDEX.0, Some(INDEX.1)) && matches!(row.get_ref(3)?, Null),
            _ => false,
        };
        if !is_ours {
            let kind = kind.filter(|kind| ["table", "index", "view", "trigger"].contains(kind)).unwrap_or("object");
            let shown: String = name.chars().take(100).flat_map(char::escape_debug).collect();
            let says = match of_this_name {
                Some((ours, _)) if kind == "table" => format!("a table `{ours}` that is not as hookhost makes it"),
                _ => format!("the {kind} `{shown}`, which hookhost did not make"),
            };
            foreign.push(Foreign { says, is_the_log: of_this_name.is_some_and(|(ours, _)| *ours == TABLES[0].0) });
        }
    }
    foreign.extend(
        missing
            .into_iter()
            .filter(|(name, _)| *name != PASSKEYS)
            .map(|(name, _)| Foreign { says: format!("no table `{name}`"), is_the_log: name == TABLES[0].0 }),
    );
    // A change of the table of records is the most important difference, so it comes first.
    foreign.sort_by_key(|object| !object.is_the_log);
    Ok(foreign)
}

/// Fails unless the schema is exactly hookhost's. The error names the first difference.
pub(super) fn check_schema(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let foreign = foreign(connection).map_err(|error| StoreError::of(&error, path))?;
    match foreign.into_iter().next() {
        None => Ok(()),
        Some(object) => Err(StoreError::Altered { path: path.to_owned(), what: object.says }),
    }
}

/// Returns SQLite's schema version, a number that increases with each change of the schema.
/// <https://sqlite.org/pragma.html#pragma_schema_version>
pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
}

/// Returns the number and the hash of the last line; 0 and [`BEFORE_THE_FIRST`] if there is none.
pub(super) fn head(connection: &Connection) -> rusqlite::Result<(u64, Digest)> {
    let mut last = connection.prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?;
    let last = last.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, [u8; 32]>(1)?))).optional()?;
    match last {
        None => Ok((0, BEFORE_THE_FIRST)),
        // hookhost never writes such a number. After `i64::MAX`, there would be no next number.
        Some((seq, _)) if !(1..i64::MAX).contains(&seq) => Err(rusqlite::Error::IntegralValueOutOfRange(0, seq)),
        Some((seq, hash)) => Ok((seq.cast_unsigned(), Digest::from_bytes(hash))),
    }
}

/// Returns the hash of the first line, which identifies the log; [`BEFORE_THE_FIRST`] if there is none. hookhost never writes a number
/// below 1.
pub(super) fn first_hash(connection: &Connection) -> rusqlite::Result<Digest> {
    let first = connection
        .query_row("SELECT hash FROM audit WHERE seq > 0 ORDER BY seq LIMIT 1", [], |row| row.get::<_, [u8; 32]>(0));
    Ok(first.optional()?.map_or(BEFORE_THE_FIRST, Digest::from_bytes))
}

/// Appends one record after the line with this number and hash. Returns the number and the hash of the new line.
pub(super) fn append(
    connection: &Connection,
    (seq, hash): (u64, Digest),
    body: &str,
) -> rusqlite::Result<(u64, Digest)> {
    let line = audit::next(seq, &hash, body);
    let hash = line.hash();
    let mut insert = connection.prepare_cached("INSERT INTO audit (seq, hash, line) VALUES (?1, ?2, ?3)")?;
    let inserted = insert.execute((line.seq().cast_signed(), hash.as_bytes(), line.text()))?;
    one_row(inserted)?;
    Ok((line.seq(), hash))
}

/// Fails unless a statement changed exactly one row.
pub(super) fn one_row(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(changed)) }
}

/// Returns true if the file has hookhost's schema, and false if the file is empty. Any other file is an error.
fn is_begun(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    // SQLite treats a file of one byte as empty, and would overwrite it.
    if std::fs::metadata(path).is_ok_and(|file| file.len() == 1) {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    // Read in one transaction, because another process may be creating the schema.
    let _reading = connection.unchecked_transaction().map_err(of)?;
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(of);
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let has_tables = has_tables(connection).map_err(of)?;
    match (application, version) {
        (0, 0) if !has_tables => Ok(false),
        (APPLICATION, version) if version == i64::from(audit::FORMAT) => {
            // Damage to the last record is reported now instead of at the first commit.
            if foreign(connection).map_err(of)?.iter().all(|object| !object.is_the_log) {
                head(connection).map_err(of)?;
            }
            Ok(true)
        }
        (APPLICATION, found) => Err(StoreError::Version { path: path.to_owned(), found, known: audit::FORMAT }),
        _ => Err(StoreError::Foreign(path.to_owned())),
    }
}

/// Returns true if the schema contains anything. The query uses `EXISTS`, because SQLite computes `count(*)` over all
/// pages in a single step that nothing can interrupt.
fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// Creates the schema and the first record, unless another process has done so meanwhile.
fn begin(connection: &mut Connection, now: u64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if !has_tables(&transaction)? {
        make_tables(&transaction)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", audit::FORMAT)?;
        let first = LogBegins { version: audit::FORMAT, time: now };
        append(&transaction, (0, BEFORE_THE_FIRST), &first.body(&AuditSettings::default()))?;
    }
    transaction.commit()
}

fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let find = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    connection.prepare_cached(find)?.query_row([name], |row| row.get(0))
}

/// Creates the table of kept outcomes in a database of an earlier version.
fn add_outcomes(connection: &mut Connection) -> rusqlite::Result<()> {
    if has_table(connection, OUTCOMES)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if let Some((_, makes)) = TABLES.iter().find(|(name, _)| *name == OUTCOMES)
        && !has_table(&transaction, OUTCOMES)?
    {
        transaction.execute(makes, [])?;
    }
    transaction.commit()
}

fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    let mut tables = TABLES.iter().filter(|(name, _)| *name != PASSKEYS);
    tables.try_for_each(|(_, makes)| connection.execute(makes, []).map(drop))
}

/// Returns true if the database has the table of passkeys.
pub(super) fn has_passkeys(connection: &Connection) -> rusqlite::Result<bool> {
    has_table(connection, PASSKEYS)
}

/// Creates the table of passkeys, within the transaction of the first registration.
pub(super) fn add_passkeys(connection: &Connection) -> rusqlite::Result<()> {
    let makes = TABLES.iter().find(|(name, _)| *name == PASSKEYS);
    makes.map_or(Ok(()), |(_, makes)| connection.execute(makes, []).map(drop))
}

/// Creates the file if it is missing. Only the current user can read the file, because it contains data that agents
/// have seen. SQLite gives the files beside it the same permissions.
fn make_private(path: &Path) -> Result<(), StoreError> {
    let of = |error: std::io::Error| StoreError::io(&error, path);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(of)?;
    }
    let mut options = std::fs::OpenOptions::new();
    // An existing file is not opened, because closing it would release every lock that SQLite holds on it in this
    // process.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop).map_err(of),
    }
}

/// Refuses a database if other users can write the file, its WAL, its index, its rollback journal or its directory. The
/// files are checked by their paths and not opened, because opening and closing a file would release SQLite's locks on
/// it. Other users cannot replace a file between the check and its use, because they cannot write the directory.
fn check_owner(path: &Path) -> Result<(), StoreError> {
    files::look_in_kept_directory(path, Guard::OnlyMineToWrite).map_err(|error| StoreError::file(error, path))?;
    for ending in ["-wal", "-shm"] {
        look_beside(path, ending)?;
    }
    check_journal(path)
}

/// Refuses a rollback journal beside a database in WAL mode. When SQLite opens the database, it would copy the pages of
/// the journal into the database, so a forged journal could replace the log. hookhost itself has a rollback journal
/// only while it creates a database, before the database is in WAL mode.
fn check_journal(path: &Path) -> Result<(), StoreError> {
    // Checked before the journal, because a process that is creating the database removes the journal before it
    // creates the WAL.
    let is_in_wal_mode = std::fs::symlink_metadata(wal(path)).is_ok();
    if look_beside(path, "-journal")? && is_in_wal_mode {
        let what =
            "a rollback journal beside it (its name ends with `-journal`), which hookhost did not leave".to_owned();
        return Err(StoreError::Altered { path: path.to_owned(), what });
    }
    Ok(())
}

/// Returns true if a file with this ending lies beside the database. Fails if other users can write that file.
fn look_beside(path: &Path, ending: &str) -> Result<bool, StoreError> {
    let beside = beside(path, ending);
    match files::look(&beside, Guard::OnlyMineToWrite) {
        Ok(()) => Ok(true),
        Err(error) if error.is_missing() => Ok(false),
        Err(error) => Err(StoreError::file(error, &beside)),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Returns the path of the lock file beside the database. Its locks decide which process has its turn. All processes
/// use the same file, even if they have opened the database by different names.
pub(super) fn turns(path: &Path) -> Result<PathBuf, StoreError> {
    let of = |error: std::io::Error| StoreError::io(&error, path);
    Ok(beside(&path.canonicalize().map_err(of)?, "-turns"))
}

/// Returns the directory of the database's journals. All processes use the same directory, even if they have opened
/// the database by different names.
pub(super) fn journals(path: &Path) -> Result<Directory, StoreError> {
    Ok(Directory::of(&path.canonicalize().map_err(|error| StoreError::io(&error, path))?))
}

/// Returns the path of the WAL, the file beside the database to which commits are appended.
pub(super) fn wal(path: &Path) -> PathBuf {
    beside(path, "-wal")
}
