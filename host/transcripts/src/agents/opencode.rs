//! Transcripts of OpenCode. Version 1.18.33 writes the database `opencode.db`; version 1.1.65 wrote one JSON file for each part of a
//! message, below `storage/`. Both were recorded. The parts of a message have the same format in both.

use super::TranscriptFormat;
use crate::message::{HookMessage, arguments};
use crate::omission::OmissionKind;
use crate::places::TranscriptPlaces;
use crate::source::{Found, TranscriptFile, TranscriptSource, find_files, has_extension, read_small, transcript_file};
use hookhost_agents::json::MAX_BYTES;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, params};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of rows that are read at once.
const PAGE: u32 = 256;

/// Maximum time for these rows. A database that somebody has prepared could take forever.
const PAGE_TIMEOUT: Duration = Duration::from_secs(3);

/// Number of SQLite's instructions between two looks at the clock.
const CLOCK_INTERVAL: i32 = 10_000;

pub(super) const FORMAT: TranscriptFormat = TranscriptFormat {
    agent: "opencode",
    find,
    open: |file, _, since| {
        if has_extension(&file.path, "json") {
            return Ok(Box::new(SessionFiles::open(file)?));
        }
        Ok(Box::new(Database::open(file, since)?))
    },
};

fn find(places: &TranscriptPlaces, files: &mut Vec<TranscriptFile>, found: &mut Found) {
    let directory = places.directory("XDG_DATA_HOME", ".local/share").join("opencode");
    let database = places.file("OPENCODE_DB").unwrap_or_else(|| directory.join("opencode.db"));
    if let Some(mut file) = transcript_file(&database) {
        // The newest rows are in the log until the database takes them over.
        if let Some(log) = transcript_file(&beside(&database, "-wal")) {
            file.size += log.size;
            file.changed = file.changed.max(log.changed);
        }
        files.push(file);
    }
    // The file of a session changes when a message is added to it.
    find_files(&directory.join("storage/session"), 1, &|path| has_extension(path, "json"), files, found);
}

/// Returns the path of the file that SQLite keeps beside a database.
fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The session of a call.
struct PartSession<'a> {
    id: &'a str,
    directory: &'a str,
    worktree: Option<&'a str>,
}

/// A part of a message.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    tool: Cow<'a, str>,
    #[serde(rename = "callID", borrow, default)]
    call: Cow<'a, str>,
    #[serde(borrow)]
    state: Option<State<'a>>,
}

#[derive(Deserialize)]
struct State<'a> {
    #[serde(borrow, default)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    time: Option<PartTime>,
}

#[derive(Deserialize)]
struct PartTime {
    start: Option<f64>,
}

/// Adds the call of a part, if it is one. A `pending` call has not been reported yet, because its arguments are incomplete.
fn read_part(
    text: &str,
    session: &PartSession<'_>,
    written: Option<u64>,
    found: &mut Found,
) -> Result<(), serde_json::Error> {
    let part: Part<'_> = serde_json::from_str(text)?;
    let Some(state) = part.state.filter(|state| part.kind == "tool" && state.status != "pending") else {
        return Ok(());
    };
    let PartSession { id, directory, worktree } = session;
    let workspace = worktree.filter(|worktree| !matches!(*worktree, "" | "/")).unwrap_or(directory);
    let body = json!({
        "hookhost": { "point": "tool.execute.before", "session": id, "cwd": directory, "workspace": workspace },
        "event": {
            "input": { "tool": part.tool, "sessionID": id, "callID": part.call },
            "output": { "args": arguments(state.input) },
        },
    });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds since the Unix epoch")]
    let started = state.time.and_then(|time| time.start).map(|start| start as u64);
    let message = HookMessage::new(body, part.call, started.or(written));
    found.messages.push(HookMessage { lacks_directory: directory.is_empty(), ..message });
    Ok(())
}

/// The database of 1.18.33. It is opened so that SQLite writes nothing, not even the index of its log.
struct Database {
    connection: Connection,
    path: Arc<Path>,
    since: u64,
    last: String,
    position: u64,
    is_incomplete: bool,
}

impl Database {
    fn open(file: &TranscriptFile, since: u64) -> Result<Self, String> {
        let has = |suffix| beside(&file.path, suffix).exists();
        let has_index = has("-shm");
        // Without an index, SQLite would create one. It does not if it believes that nobody can change the database.
        let mode = if has_index { "mode=ro&readonly_shm=1" } else { "immutable=1" };
        let address = format!("file:{}?{mode}", escaped(file.path.as_os_str()));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(address, flags);
        let connection = opened.map_err(|error| format!("{}: {error}", file.path.display()))?;
        let is_incomplete = !has_index && std::fs::metadata(beside(&file.path, "-wal")).is_ok_and(|log| log.len() > 0);
        let path = Arc::clone(&file.path);
        Ok(Self { connection, path, since, last: String::new(), position: 0, is_incomplete })
    }

    /// Reads the next rows, in the order of their identifiers, which is the order of their creation.
    fn read_page(&mut self, found: &mut Found) -> rusqlite::Result<bool> {
        let began = Instant::now();
        self.connection.progress_handler(CLOCK_INTERVAL, Some(move || began.elapsed() > PAGE_TIMEOUT))?;
        let mut statement = self.connection.prepare_cached(
            "SELECT part.id, part.time_created, coalesce(length(CAST(part.data AS BLOB)), 0), \
             CASE WHEN part.data IS NULL OR part.time_updated < ?2 OR NOT instr(part.data, '\"tool\"') THEN x'' \
             WHEN length(CAST(part.data AS BLOB)) <= ?3 THEN CAST(part.data AS BLOB) END, \
             session.id, session.directory, project.worktree \
             FROM part JOIN session ON session.id = part.session_id LEFT JOIN project ON project.id = session.project_id \
             WHERE part.id > ?1 \
             ORDER BY part.id LIMIT ?4",
        )?;
        let since = i64::try_from(self.since).unwrap_or(i64::MAX);
        let most = i64::try_from(MAX_BYTES).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![self.last, since, most, PAGE])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            self.last = row.get(0)?;
            self.position += row.get::<_, i64>(2)?.unsigned_abs();
            read_row(row, &self.path, found)?;
        }
        Ok(count == PAGE)
    }
}

fn read_row(row: &Row<'_>, path: &Path, found: &mut Found) -> rusqlite::Result<()> {
    let place = |row: &Row<'_>| row.get::<_, String>(0).map(|id| format!("part {id} of {}", path.display()));
    let Some(data) = row.get_ref(3)?.as_blob_or_null()? else {
        found.omit(OmissionKind::LongLine, place(row)?);
        return Ok(());
    };
    // The row is too old, or not about a tool.
    if data.is_empty() {
        return Ok(());
    }
    let (id, directory): (String, String) = (row.get(4)?, row.get(5)?);
    let worktree: Option<String> = row.get(6)?;
    let session = PartSession { id: &id, directory: &directory, worktree: worktree.as_deref() };
    let written = row.get::<_, i64>(1).ok().and_then(|time| u64::try_from(time).ok());
    let text = std::str::from_utf8(data).map_err(drop);
    if text.and_then(|text| read_part(text, &session, written, found).map_err(drop)).is_err() {
        found.omit(OmissionKind::InvalidLine, place(row)?);
    }
    Ok(())
}

impl TranscriptSource for Database {
    fn read_next(&mut self, found: &mut Found) -> bool {
        if std::mem::take(&mut self.is_incomplete) {
            found.omit(OmissionKind::IncompleteDatabase, self.path.display().to_string());
        }
        match self.read_page(found) {
            Ok(has_more) => has_more,
            Err(error) => {
                // SQLite's code for a table or column that is not there.
                let is_other_schema = error.sqlite_error_code() == Some(ErrorCode::Unknown);
                let kind = if is_other_schema { OmissionKind::UnknownFormat } else { OmissionKind::UnreadableFile };
                found.omit(kind, format!("{}: {error}", self.path.display()));
                false
            }
        }
    }

    fn position(&self) -> u64 {
        self.position
    }
}

/// Returns a path with `%` and two digits in place of each character that has a meaning in an address.
fn escaped(path: &OsStr) -> String {
    let mut text = String::new();
    for &byte in path.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// A session of 1.1.65: `session/PROJECT/SESSION.json`, `message/SESSION/MESSAGE.json` and `part/MESSAGE/PART.json`.
struct SessionFiles {
    storage: PathBuf,
    session: String,
    directory: String,
    worktree: Option<String>,
    /// The directories of the messages that are not read yet, the last one first.
    messages: Vec<PathBuf>,
    position: u64,
}

#[derive(Deserialize)]
struct Session {
    id: String,
    #[serde(default)]
    directory: String,
    #[serde(rename = "projectID")]
    project: Option<String>,
}

#[derive(Deserialize)]
struct Project {
    worktree: Option<String>,
}

impl SessionFiles {
    fn open(file: &TranscriptFile) -> Result<Self, String> {
        let unreadable = || format!("{}: it does not describe a session", file.path.display());
        let text = read_small(&file.path).ok_or_else(unreadable)?;
        let session: Session = serde_json::from_slice(&text).map_err(|_| unreadable())?;
        let storage = file.path.ancestors().nth(3).ok_or_else(unreadable)?.to_owned();
        let is_plain = |name: &str| !name.is_empty() && !name.contains(['/', '\\']) && name != "..";
        if !is_plain(&session.id) {
            return Err(unreadable());
        }
        let project = session.project.filter(|project| is_plain(project));
        let project = project.and_then(|id| read_small(&storage.join("project").join(id + ".json")));
        let project: Option<Project> = project.and_then(|text| serde_json::from_slice(&text).ok());
        let mut messages = Vec::new();
        for entry in std::fs::read_dir(storage.join("message").join(&session.id)).into_iter().flatten().flatten() {
            if let Some(message) = entry.path().file_stem() {
                messages.push(storage.join("part").join(message));
            }
        }
        messages.sort_by(|one, other| other.cmp(one));
        let worktree = project.and_then(|project| project.worktree);
        Ok(Self { storage, session: session.id, directory: session.directory, worktree, messages, position: 0 })
    }
}

impl TranscriptSource for SessionFiles {
    fn read_next(&mut self, found: &mut Found) -> bool {
        let Some(message) = self.messages.pop() else { return false };
        debug_assert!(message.starts_with(&self.storage));
        let mut parts = Vec::new();
        find_files(&message, 0, &|path| has_extension(path, "json"), &mut parts, found);
        let session = PartSession { id: &self.session, directory: &self.directory, worktree: self.worktree.as_deref() };
        for part in parts {
            self.position += part.size;
            let Some(text) = read_small(&part.path) else {
                found.omit(OmissionKind::UnreadableFile, part.path.display().to_string());
                continue;
            };
            let text = std::str::from_utf8(&text).map_err(drop);
            if text.and_then(|text| read_part(text, &session, Some(part.changed), found).map_err(drop)).is_err() {
                found.omit(OmissionKind::InvalidLine, part.path.display().to_string());
            }
        }
        true
    }

    fn position(&self) -> u64 {
        self.position
    }
}
