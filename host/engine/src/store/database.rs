//! The file: one SQLite database per user, in which audit log and state are committed together.
//!
//! WAL: a commit is one append to a second file, readers and writers do not wait for each other, and what a killed process
//! had begun is as if it had never been. `synchronous = NORMAL`: a commit has reached the operating system when it
//! returns, and the disk at the next checkpoint, so that a power cut may cost the last records, never the order of those
//! before. <https://sqlite.org/wal.html>

use super::StoreError;
use crate::audit::{self, BEFORE_THE_FIRST, LogBegins, ToRecord as _};
use crate::config::AuditSettings;
use crate::config::Digest;
use crate::files::{self, Guard};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef::Null;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// "hkhs": marks the file as ours. <https://sqlite.org/pragma.html#pragma_application_id>
const APPLICATION: i64 = 0x686b_6873;

/// How long opening waits for another process that opens or closes the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// The tables, each by its name and by the statement that makes it. SQLite keeps the statements word for word, and a database is
/// ours only if it has exactly these: whoever changes a character, be it of a comment, raises [`audit::VERSION`].
pub(super) const TABLES: [(&str, &str); 5] = [
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
];

/// The index that SQLite makes by itself for a `UNIQUE` of [`TABLES`], and its table.
const INDEX: (&str, &str) = ("sqlite_autoindex_space_1", "space");

/// A database that was opened for writing.
pub(super) struct Created {
    pub(super) connection: Connection,
    /// Which file it is.
    pub(super) file: Option<Identity>,
    /// The version of its schema, which was found to be ours.
    pub(super) schema: i64,
}

/// Opens the database for writing, and makes it where there is none.
pub(super) fn create(path: &Path, now: u64) -> Result<Created, StoreError> {
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

fn try_to_create(path: &Path, now: u64) -> Result<Created, StoreError> {
    check_name(path)?;
    make_private(path)?;
    check_owner(path)?;
    let file = identity(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    Steps::of(&mut connection, path).map_err(of)?;
    defend(&connection).map_err(of)?;
    connection.busy_timeout(Duration::from_millis(100)).map_err(of)?;
    if !is_begun(&connection, path)? {
        begin(&mut connection, now).map_err(of)?;
        is_begun(&connection, path)?;
    }
    // Before, so that a change in between is noticed when something is written.
    let schema = schema_version(&connection).map_err(of)?;
    check_schema(&connection, path)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(of)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(of)?;
    // The keeper does it, off the path of events.
    connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(of)?;
    // The schema and the way to the last record were read within bounds. From here on nobody begins the count again.
    connection.progress_handler(0, None::<fn() -> bool>).map_err(of)?;
    // From here on whoever finds it locked waits without holding up a thread.
    connection.busy_timeout(Duration::ZERO).map_err(of)?;
    if identity(path) != file {
        return Err(StoreError::Gone(path.to_owned()));
    }
    Ok(Created { connection, file, schema })
}

/// Opens a database that this process has open, to read the state of plugins: which file it is has to be known.
pub(super) fn reader(path: &Path, file: Option<Identity>) -> Result<Reader, StoreError> {
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    let steps = Steps::at_most(&mut connection, || MAX_STATE_STEPS).map_err(of)?;
    defend(&connection).map_err(of)?;
    connection.busy_timeout(Duration::ZERO).map_err(of)?;
    connection.pragma_update(None, "query_only", true).map_err(of)?;
    if identity(path) == file { Ok(Reader { connection, steps }) } else { Err(StoreError::Gone(path.to_owned())) }
}

/// A connection that events read the state by.
pub(super) struct Reader {
    connection: Connection,
    steps: Steps,
}

impl Reader {
    /// For one question of an event, which may take [`MAX_STATE_STEPS`].
    pub(super) fn ask(&self) -> &Connection {
        self.steps.begin();
        &self.connection
    }
}

/// Steps of SQLite between two looks at how many there were.
const STEPS_AT_A_TIME: u16 = 10_000;

/// Steps that each query may take whatever the size of the file: some tenths of a second.
const FREE_STEPS: u64 = 10_000_000;

/// Steps that a query may take for each byte of the file. A row takes more bytes than steps, or not many times fewer.
const STEPS_PER_BYTE: u64 = 16;

/// Steps that a question about the state may take: some tens of milliseconds. The longest, counting a full scope, takes a quarter.
const MAX_STATE_STEPS: u64 = 2_000_000;

/// Counts the steps of a connection's queries, and has SQLite give up one that takes far more than a file of its size can
/// need: in a damaged file pages may refer to each other so that a query, or SQLite's own reading of the schema, meets the
/// same rows over and over. <https://sqlite.org/c3ref/progress_handler.html>
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

    /// Counts from here on.
    pub(crate) fn begin(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A database that is there, opened to read its log.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    /// What the connection's queries take, all together until the count is begun again.
    pub(crate) steps: Steps,
    /// What it holds, or lacks, that hookhost did not make so. None of it has a part in what is read.
    pub(crate) foreign: Vec<String>,
}

/// Opens a database that is there, to read its log: the table of records has to be ours, all else is told.
pub(crate) fn read(path: &Path) -> Result<Opened, StoreError> {
    check_name(path)?;
    if !path.exists() {
        return Err(StoreError::Missing(path.to_owned()));
    }
    check_journal(path)?;
    let of = |error: rusqlite::Error| StoreError::of(&error, path);
    // Not read-only: what readers of a WAL share between processes has to be made where nobody else has it open.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(of)?;
    let steps = Steps::of(&mut connection, path).map_err(of)?;
    defend(&connection).map_err(of)?;
    connection.busy_timeout(PATIENCE).map_err(of)?;
    connection.pragma_update(None, "query_only", true).map_err(of)?;
    // Whoever began it was cut off before there was anything in it.
    if !is_begun(&connection, path)? {
        return Err(StoreError::Missing(path.to_owned()));
    }
    let (records, foreign): (Vec<_>, Vec<_>) =
        foreign(&connection).map_err(of)?.into_iter().partition(|object| object.is_the_log);
    match records.into_iter().next() {
        Some(object) => Err(StoreError::Altered { path: path.to_owned(), what: object.says }),
        None => Ok(Opened { connection, steps, foreign: foreign.into_iter().map(|object| object.says).collect() }),
    }
}

/// Whatever is in the file, opening and reading it runs nothing that stands there: no trigger, no view, no function in the
/// schema. Nor can a statement of ours reach the schema's own table, and a name that is misspelt is no text.
/// <https://sqlite.org/security.html#untrusted_sqlite_database_files>
fn defend(connection: &Connection) -> rusqlite::Result<()> {
    for (setting, value) in [
        // To close a connection is no reason to write to the file, least of all to one that turns out not to be ours.
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

/// Names under which SQLite keeps nothing on the disk, or something else than the file of that name.
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

/// Something in a database that hookhost did not make so.
struct Foreign {
    /// As the end of "the database holds …".
    says: String,
    /// Whether it stands in place of the table of records.
    is_the_log: bool,
}

/// What differs from the schema that [`TABLES`] make.
fn foreign(connection: &Connection) -> rusqlite::Result<Vec<Foreign>> {
    let mut objects = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")?;
    let mut rows = objects.query([])?;
    let (mut foreign, mut missing) = (Vec::new(), Vec::from(TABLES));
    while let Some(row) = rows.next()? {
        // Whatever somebody has put there is told, not stumbled over.
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
            .map(|(name, _)| Foreign { says: format!("no table `{name}`"), is_the_log: name == TABLES[0].0 }),
    );
    // What stands in the place of the log says most.
    foreign.sort_by_key(|object| !object.is_the_log);
    Ok(foreign)
}

/// Whether the schema is exactly ours; else the error names what is not.
pub(super) fn check_schema(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let foreign = foreign(connection).map_err(|error| StoreError::of(&error, path))?;
    match foreign.into_iter().next() {
        None => Ok(()),
        Some(object) => Err(StoreError::Altered { path: path.to_owned(), what: object.says }),
    }
}

/// A number that each change of the schema raises. <https://sqlite.org/pragma.html#pragma_schema_version>
pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
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
    let inserted = insert.execute((line.seq().cast_signed(), hash.as_bytes(), line.text()))?;
    one_row(inserted)?;
    Ok((line.seq(), hash))
}

/// What SQLite has not written has not happened.
pub(super) fn one_row(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(changed)) }
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
    let has_tables = has_tables(connection).map_err(of)?;
    match (application, version) {
        (0, 0) if !has_tables => Ok(false),
        (APPLICATION, version) if version == i64::from(audit::VERSION) => {
            // Damage that one would meet later is better met before anything runs.
            if foreign(connection).map_err(of)?.iter().all(|object| !object.is_the_log) {
                head(connection).map_err(of)?;
            }
            Ok(true)
        }
        (APPLICATION, found) => Err(StoreError::Version { path: path.to_owned(), found, known: audit::VERSION }),
        _ => Err(StoreError::Foreign(path.to_owned())),
    }
}

/// Not `count(*)`, which SQLite does in a single step, through all pages, where nothing can stop it.
fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// Makes the schema and the first record, unless another process has done so meanwhile.
fn begin(connection: &mut Connection, now: u64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if !has_tables(&transaction)? {
        make_tables(&transaction)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", audit::VERSION)?;
        let first = LogBegins { version: audit::VERSION, time: now };
        append(&transaction, (0, BEFORE_THE_FIRST), &first.body(&AuditSettings::default()))?;
    }
    transaction.commit()
}

fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    TABLES.iter().try_for_each(|(_, makes)| connection.execute(makes, []).map(drop))
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
    files::look_in_kept_directory(path, Guard::OnlyMineToWrite).map_err(|error| StoreError::file(error, path))?;
    for ending in ["-wal", "-shm"] {
        look_beside(path, ending)?;
    }
    check_journal(path)
}

/// Refuses a rollback journal that does not count. SQLite puts its pages in place of the database's when it opens that, so
/// whoever can write the journal writes the log. hookhost has one only until a new database is in WAL mode.
fn check_journal(path: &Path) -> Result<(), StoreError> {
    // First, since a process that has just begun the database takes the journal away before it makes the WAL.
    let is_in_wal_mode = std::fs::symlink_metadata(wal(path)).is_ok();
    if look_beside(path, "-journal")? && is_in_wal_mode {
        let what =
            "a rollback journal beside it (its name ends with `-journal`), which hookhost did not leave".to_owned();
        return Err(StoreError::Altered { path: path.to_owned(), what });
    }
    Ok(())
}

/// Whether there is a file of this ending beside the database; an error where others can write it.
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

/// The file beside the database in which processes take turns: one, by whatever name each has opened the database.
pub(super) fn turns(path: &Path) -> Result<PathBuf, StoreError> {
    let of = |error: std::io::Error| StoreError::io(&error, path);
    Ok(beside(&path.canonicalize().map_err(of)?, "-turns"))
}

/// The file beside the database to which commits are appended.
pub(super) fn wal(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// Which file stands at a path.
#[cfg(unix)]
pub(super) type Identity = (u64, u64);

/// Which file stands at a path; none where there is none.
#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Which file an open one is.
#[cfg(unix)]
pub(super) fn identity_of(file: &std::fs::File) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().ok().map(|file| (file.dev(), file.ino()))
}

/// A file that is open cannot be removed or replaced there.
#[cfg(not(unix))]
pub(super) type Identity = ();

#[cfg(not(unix))]
pub(super) fn identity_of(_: &std::fs::File) -> Option<Identity> {
    Some(())
}

#[cfg(not(unix))]
pub(super) fn identity(_: &Path) -> Option<Identity> {
    Some(())
}
