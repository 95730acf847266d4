//! Reads a log from the database, or from an export in JSON Lines.

mod follow;

pub use follow::{FollowFrom, FollowedLog, Position};

use super::archive::{self, ArchiveFile, Archives, archived_with, first_kept};
use super::database;
use super::database::Steps;
use super::passkeys;
use super::take_in::{UnstoredLines, unstored};
use crate::audit::{self, BEFORE_THE_FIRST, Flaw, Heads, Line, LineError, Record, Report, Stored, other_version};
use crate::config::Digest;
use crate::passkey::Passkeys;
use crate::store::StoreError;
use rusqlite::Connection;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Number of lines that are read from a database at once. The number is small, because each line may be large.
const LINES_PER_PAGE: u32 = 32;

/// Maximum size of a line that is read from a file, in bytes. Real records are far smaller, because the size of events
/// is limited.
const MAX_LINE: u64 = 1 << 30;

/// An audit log, opened for reading. Other programs may write to the log at the same time. Reading never writes to it.
///
/// Records that are only in a journal come last. Their numbers can still change, because a host may store records of
/// other processes in the database before them. [`Self::only_stored`] leaves such records out.
///
/// ```
/// use hookhost::store::Log;
/// use hookhost::{Config, Host};
/// use std::time::Duration;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let file = directory.path().join("hookhost.db");
/// let host = Host::builder(Config::empty()).store(&file).build().await?;
/// let session = host.session("my-agent", "/work")?;
/// let _ = session.check_tool("ls", &serde_json::json!({})).await;
/// drop(session);
/// host.drain(Duration::from_secs(2)).await?;
///
/// let log = Log::open(&file)?;
/// assert!(log.verify(None)?.is_sound());
/// let mut kinds = Vec::new();
/// for line in log.lines()? {
///     kinds.push(line?.entry()?.kind());
/// }
/// assert_eq!(kinds, ["log", "session", "event", "session-ended"]);
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub struct Log {
    path: PathBuf,
    source: Source,
    foreign: Vec<String>,
    has_unstored: bool,
}

enum Source {
    Database(Connection, Steps),
    /// An export.
    File,
}

/// The reason why a log, or a line of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file cannot be read.
    #[error("{} cannot be read: {problem}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error message of the operating system.
        problem: String,
    },
    /// A line is not a valid log record.
    #[error("{}: line {number} is {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        number: u64,
        /// The problem.
        problem: LineError,
    },
    /// A record was changed, removed or moved.
    #[error("{} is not as it was written from record {from} on", path.display())]
    NotAsWritten {
        /// The file.
        path: PathBuf,
        /// The number of the first record that cannot be trusted.
        from: u64,
    },
    /// The log has the format of another version.
    #[error("{} has format {found}, and this hookhost knows format {known}: use the version that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The format of the log.
        found: u32,
        /// The format of this version.
        known: u32,
    },
}

impl Log {
    /// Opens a database or an export. The content of the file shows which of them it is.
    ///
    /// # Errors
    /// If the file is missing, or is not a log that this version can read.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        // Let SQLite open the file first. If we opened and closed the file, every lock that this process has on the
        // file would be released.
        let (source, foreign) = match database::read(path) {
            Ok(opened) => (Source::Database(opened.connection, opened.steps), opened.foreign),
            Err(StoreError::Foreign(_)) => (Source::File, Vec::new()),
            Err(error) => return Err(error.into()),
        };
        // If the schema differs from hookhost's, the database is read without journals.
        let has_unstored = matches!(source, Source::Database(..)) && foreign.is_empty();
        let log = Self { path: path.to_owned(), source, foreign, has_unstored };
        if let Source::File = log.source {
            let first = log.stored(0)?.next().transpose()?;
            // A truncated first line is accepted if it begins like a line of a log.
            if !first.is_some_and(|line| Line::parse(&line.text).is_ok() || line.text.starts_with(r#"{"seq":"#)) {
                return Err(StoreError::Foreign(path.to_owned()).into());
            }
        }
        Ok(log)
    }

    /// Leaves out the records that the database does not have yet. Each number then always refers to the same record.
    #[must_use]
    pub fn only_stored(mut self) -> Self {
        self.has_unstored = false;
        self
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true for an export rather than the database itself.
    #[must_use]
    pub fn is_export(&self) -> bool {
        matches!(self.source, Source::File)
    }

    /// Returns the differences from the schema that hookhost creates, except differences in the table of records. A
    /// difference is a trigger, a view, an index or a table, and its text completes the sentence "it holds …". Such an
    /// object could have prevented records from being stored, so a host refuses the database.
    #[must_use]
    pub fn foreign(&self) -> &[String] {
        &self.foreign
    }

    /// Returns the lines, in order.
    ///
    /// # Errors
    /// If the file cannot be read. An item of the iterator may also be an error. If a line is not a valid record, the
    /// iterator returns an error and continues with the next line. After any other error, for example because the log
    /// has another version, the iterator ends.
    pub fn lines(&self) -> Result<Lines<'_>, LogError> {
        self.lines_after(0)
    }

    /// Returns the lines with a number above `seq`, in order.
    ///
    /// # Errors
    /// As [`Log::lines`].
    pub fn lines_after(&self, seq: u64) -> Result<Lines<'_>, LogError> {
        Ok(Lines { log: self, stored: self.stored(seq)?, after: seq, ended: false })
    }

    /// Returns the lines, in order. Each line is returned only after the hash in the next line has confirmed it.
    ///
    /// # Errors
    /// If the file cannot be read, or the database [holds something foreign](Self::foreign). The first line that was
    /// changed is returned as an error, which is the last item. [`Self::verify`] describes the problem in detail.
    pub(crate) fn verified_lines(&self) -> Result<VerifiedLines<'_>, LogError> {
        if let Some(what) = self.foreign.first() {
            return Err(StoreError::Altered { path: self.path.clone(), what: what.clone() }.into());
        }
        Ok(VerifiedLines { log: self, stored: self.stored(0)?.peekable(), held: None, ended: false })
    }

    /// Reads the whole log and checks every line. `head` is the hash of a record that the log must contain.
    ///
    /// # Errors
    /// If the log cannot be read, or has another version.
    pub fn verify(&self, head: Option<Digest>) -> Result<Report, LogError> {
        self.verify_with(&Heads { noted: head, ..Heads::default() }, |_| {})
    }

    /// Like [`Self::verify`], with any number of hashes that the log must contain. Calls `progress` before each line is
    /// checked, with the number of lines so far. The lines in archives beside the log are checked, too.
    ///
    /// # Errors
    /// The errors of [`Self::verify`].
    pub fn verify_with(&self, heads: &Heads, mut progress: impl FnMut(u64)) -> Result<Report, LogError> {
        let problems = RefCell::default();
        let lines = (0..).zip(self.with_archives(&problems)?).map(|(count, line)| {
            progress(count);
            line
        });
        let verified = audit::verify(&self.foreign, lines, heads, self.logged_passkeys()?)?;
        let (path, known) = (self.path.clone(), audit::FORMAT);
        let mut report = verified.map_err(|found| LogError::Version { path, found, known })?;
        if self.passkeys()?.is_some_and(|registered| registered != report.passkeys) {
            report.flaw(Flaw::Passkeys("their table differs from the log".to_owned()));
        }
        Ok(report.with_unreadable_archives(problems.take()))
    }

    /// Visits every line, in order, also those in archives beside the log. Returns a sentence for each archive that cannot
    /// be read, and for each line that is not a record.
    ///
    /// # Errors
    /// If the log cannot be read, or has another version.
    pub fn each_line(&self, mut visit: impl FnMut(&Line)) -> Result<Vec<String>, LogError> {
        let problems = RefCell::default();
        let mut unread = Vec::new();
        for stored in self.with_archives(&problems)? {
            let stored = stored?;
            match Line::parse(&stored.text) {
                Ok(line) => {
                    if let Some(found) = other_version(&line) {
                        return Err(LogError::Version { path: self.path.clone(), found, known: audit::FORMAT });
                    }
                    visit(&line);
                }
                Err(problem) => unread.push(format!("line {} is {problem}", stored.number)),
            }
        }
        unread.extend(problems.take());
        Ok(unread)
    }

    /// Returns the lines, in order, those in archives beside the log in their places. If an archive cannot be read, the
    /// reason is added to `problems`, and the rest of its lines is missing.
    fn with_archives<'a>(&'a self, problems: &'a RefCell<Vec<String>>) -> Result<ArchivedAndStored<'a>, LogError> {
        let Source::Database(connection, steps) = &self.source else { return Ok(Box::new(self.stored(0)?)) };
        steps.begin();
        let kept = first_kept(connection).map_err(|error| StoreError::of(&error, &self.path))?;
        let Some(kept) = kept.filter(|first| *first > 2) else { return Ok(Box::new(self.stored(0)?)) };
        let archives = Archives::of(&self.path);
        let files = archives.list().map_err(|error| io(&error, &self.path))?;
        let archived = in_sequence(files, kept).into_iter().flat_map(move |file| {
            let note = |problem: String| problems.borrow_mut().push(format!("{}: {problem}", file.path.display()));
            let lines = archive::open(&file.path).map_err(|error| note(error.to_string())).ok();
            let numbered = (file.first..).zip(lines.into_iter().flatten());
            let read = numbered.map(move |(number, line)| match line {
                Ok(text) => Some(Ok(Stored { number, text, row: None, whole: true })),
                Err(error) => {
                    problems.borrow_mut().push(format!("{}: {error}", file.path.display()));
                    None
                }
            });
            read.map_while(|line| line)
        });
        Ok(Box::new(self.stored(0)?.take(1).chain(archived).chain(self.stored(1)?)))
    }

    /// Returns true if the records through this one, which has this hash, are in an archive and not in the database.
    fn is_archived(&self, through: u64, hash: Digest) -> Result<bool, LogError> {
        let Source::Database(connection, steps) = &self.source else { return Ok(false) };
        steps.begin();
        let found = archived_with(connection, through).map_err(|error| StoreError::of(&error, &self.path))?;
        Ok(found.is_some_and(|archived| archived.through == through && archived.hash == hash))
    }

    /// Returns the passkeys that are registered in the database; `None` for an export. Their table is compared with the
    /// whole log.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn passkeys(&self) -> Result<Option<Passkeys>, LogError> {
        let Source::Database(connection, steps) = &self.source else { return Ok(None) };
        let logged: Vec<_> = self.logged_passkeys()?.into_values().collect();
        steps.begin();
        let records = passkeys::list(connection).map_err(|error| StoreError::of(&error, &self.path))?;
        Ok(Some(audit::passkeys_in(&records).following(&audit::passkeys_in(&logged))))
    }

    /// Returns the lines about passkeys, by their numbers; none for an export.
    fn logged_passkeys(&self) -> Result<BTreeMap<u64, String>, LogError> {
        let Source::Database(connection, steps) = &self.source else { return Ok(BTreeMap::new()) };
        steps.begin();
        Ok(passkeys::logged(connection).map_err(|error| StoreError::of(&error, &self.path))?)
    }

    /// Returns the number of the last line; 0 if the log is empty.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn last(&self) -> Result<u64, LogError> {
        self.last_up_to(u64::MAX)
    }

    /// Returns the number of the last line up to and including `seq`; 0 if there is none. The numbers of a log can have gaps:
    /// records can be in an archive, or somebody changed a number.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn last_up_to(&self, seq: u64) -> Result<u64, LogError> {
        let unstored = self.unstored()?;
        if let Some(line) = unstored.lines.iter().rfind(|line| line.seq() <= seq) {
            return Ok(line.seq());
        }
        match &self.source {
            Source::Database(connection, steps) => {
                steps.begin();
                let most = i64::try_from(seq).unwrap_or(i64::MAX);
                let select = "SELECT ifnull(max(seq), 0) FROM audit WHERE seq BETWEEN 1 AND ?1";
                let last = connection.query_row(select, [most], |row| row.get::<_, i64>(0));
                Ok(last.map_err(|error| StoreError::of(&error, &self.path))?.cast_unsigned())
            }
            Source::File => {
                let numbers = self.lines()?.filter_map(Result::ok).map(|line| line.seq());
                Ok(numbers.filter(|number| *number <= seq).max().unwrap_or(0))
            }
        }
    }

    fn unstored(&self) -> Result<UnstoredLines, StoreError> {
        match &self.source {
            Source::Database(connection, steps) if self.has_unstored => {
                steps.begin();
                unstored(connection, &self.path)
            }
            _ => Ok(UnstoredLines::default()),
        }
    }

    fn stored(&self, after: u64) -> Result<StoredLines<'_>, LogError> {
        Ok(match &self.source {
            Source::Database(connection, steps) => {
                let unstored = self.unstored()?;
                let last = if unstored.lines.is_empty() { i64::MAX } else { unstored.stored.cast_signed() };
                StoredLines::Database {
                    connection,
                    steps,
                    path: &self.path,
                    number: after,
                    page: Vec::new().into_iter(),
                    // Begin with the first row, even if its number is negative.
                    next: if after == 0 { i64::MIN } else { after.cast_signed().saturating_add(1) },
                    last,
                    unstored: unstored.lines.into_iter(),
                    ended: false,
                }
            }
            Source::File => {
                let file = File::open(&self.path).map_err(|error| io(&error, &self.path))?;
                StoredLines::File { path: &self.path, lines: BufReader::new(file), number: 0, ended: false }
            }
        })
    }
}

type ArchivedAndStored<'a> = Box<dyn Iterator<Item = Result<Stored, LogError>> + 'a>;

/// Returns the archives that follow each other, up to the first record that the database still has. A killed process can
/// leave an archive whose records are also in a later, longer one.
fn in_sequence(files: Vec<ArchiveFile>, kept: u64) -> Vec<ArchiveFile> {
    let mut chosen: Vec<ArchiveFile> = Vec::new();
    for file in files.into_iter().filter(|file| file.last < kept) {
        match chosen.last_mut() {
            Some(last) if last.first == file.first => *last = file,
            Some(last) if last.last >= file.first => {}
            _ => chosen.push(file),
        }
    }
    chosen
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The lines of a [`Log`].
pub struct Lines<'a> {
    log: &'a Log,
    stored: StoredLines<'a>,
    after: u64,
    ended: bool,
}

impl Iterator for Lines<'_> {
    type Item = Result<Line, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.ended {
                return None;
            }
            let stored = match self.stored.next()? {
                Ok(stored) => stored,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            };
            let line = Line::parse(&stored.text).map_err(|problem| LogError::Line {
                path: self.log.path.clone(),
                number: stored.number,
                problem,
            });
            if let Ok(line) = &line {
                if line.seq() <= self.after {
                    continue;
                }
                if let Some(found) = other_version(line) {
                    self.ended = true;
                    let (path, known) = (self.log.path.clone(), audit::FORMAT);
                    return Some(Err(LogError::Version { path, found, known }));
                }
            }
            return Some(line);
        }
    }
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("log", &self.log).finish_non_exhaustive()
    }
}

/// The lines of a [`Log`], up to the first changed line.
pub(crate) struct VerifiedLines<'a> {
    log: &'a Log,
    stored: std::iter::Peekable<StoredLines<'a>>,
    /// The last line that was read. It is returned only after the next line has confirmed it.
    held: Option<Line>,
    ended: bool,
}

impl VerifiedLines<'_> {
    /// Parses the next line, and checks that it follows the held line.
    fn read(&mut self, stored: &Stored) -> Result<Option<Line>, LogError> {
        let altered = |from| LogError::NotAsWritten { path: self.log.path.clone(), from };
        let (mut last, before) = match &self.held {
            Some(held) => (held.seq(), held.hash()),
            None => (0, BEFORE_THE_FIRST),
        };
        let line = match Line::parse(&stored.text) {
            Ok(line) => line,
            // The last line of the export is incomplete, because the process that wrote it was killed.
            Err(_) if !stored.whole && self.stored.peek().is_none() => return Ok(None),
            Err(_) => return Err(altered(last + 1)),
        };
        if let Some(found) = other_version(&line) {
            return Err(LogError::Version { path: self.log.path.clone(), found, known: audit::FORMAT });
        }
        let gap = line.seq().checked_sub(1).filter(|through| last == 1 && *through > 1);
        let before = match gap {
            // Archives begin with record 2. Their lines are not read here.
            Some(through) if self.log.is_archived(through, line.previous())? => {
                last = through;
                line.previous()
            }
            _ => before,
        };
        if Some(line.seq()) != last.checked_add(1) || (last == 0 && !matches!(line.entry(), Ok(Record::Log(_)))) {
            return Err(altered(last + 1));
        }
        if line.previous() != before {
            // Either this line or the line before it was changed. Only the next line could show which of them.
            return Err(altered(last.max(1)));
        }
        let row = (i64::try_from(line.seq()).unwrap_or(i64::MAX), line.hash());
        if stored.row.is_some_and(|stored| stored != row) {
            return Err(altered(line.seq()));
        }
        Ok(Some(line))
    }
}

impl Iterator for VerifiedLines<'_> {
    type Item = Result<Line, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let Some(stored) = self.stored.next() else {
                self.ended = true;
                let empty = || LogError::NotAsWritten { path: self.log.path.clone(), from: 1 };
                return Some(self.held.take().ok_or_else(empty));
            };
            match stored.and_then(|stored| self.read(&stored)) {
                Ok(Some(line)) => {
                    if let Some(vouched_for) = self.held.replace(line) {
                        return Some(Ok(vouched_for));
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl std::fmt::Debug for VerifiedLines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VerifiedLines").field("log", &self.log).finish_non_exhaustive()
    }
}

/// The lines of a database or an export, as they are stored. They are not parsed.
enum StoredLines<'a> {
    Database {
        connection: &'a Connection,
        steps: &'a Steps,
        path: &'a Path,
        number: u64,
        page: std::vec::IntoIter<(i64, [u8; 32], String)>,
        next: i64,
        /// The number of the last line that is read from the database. The lines in `unstored` follow it.
        last: i64,
        unstored: std::vec::IntoIter<Line>,
        /// True if no further line is read from the database.
        ended: bool,
    },
    File {
        path: &'a Path,
        lines: BufReader<File>,
        number: u64,
        ended: bool,
    },
}

impl Iterator for StoredLines<'_> {
    type Item = Result<Stored, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Database { connection, steps, path, number, page, next, last, unstored, ended } => {
                if !*ended && page.len() == 0 && *next <= *last {
                    steps.begin();
                    match read_page(connection, *next) {
                        Ok(read) => *page = read.into_iter(),
                        Err(error) => {
                            (*ended, *unstored) = (true, Vec::new().into_iter());
                            return Some(Err(StoreError::of(&error, path).into()));
                        }
                    }
                }
                let row = if *ended { None } else { page.next().filter(|(seq, ..)| seq <= last) };
                let Some((seq, hash, text)) = row else {
                    *ended = true;
                    let line = unstored.next()?;
                    *number += 1;
                    return Some(Ok(Stored { number: *number, text: line.text().to_owned(), row: None, whole: true }));
                };
                // In a damaged database, the rows may be out of order. SQLite returns rows in their stored order, but
                // searches for the next page as if the rows were sorted. So after a row that is out of order, the same
                // pages could be read again and again.
                if seq < *next {
                    (*ended, *unstored) = (true, Vec::new().into_iter());
                    let problem = format!("record {seq} is out of order: its number must be at least {next}");
                    return Some(Err(StoreError::Damaged { path: path.to_path_buf(), problem }.into()));
                }
                match seq.checked_add(1) {
                    Some(after) => *next = after,
                    None => *ended = true,
                }
                // After records that are in an archive, the number of a line is still that of its record.
                *number = u64::try_from(seq).unwrap_or(*number + 1);
                Some(Ok(Stored { number: *number, text, row: Some((seq, Digest::from_bytes(hash))), whole: true }))
            }
            Self::File { path, lines, number, ended } => {
                if *ended {
                    return None;
                }
                let mut bytes = Vec::new();
                let read = lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes);
                match read {
                    Ok(0) => None,
                    Ok(_) => {
                        *number += 1;
                        let whole = bytes.pop_if(|last| *last == b'\n').is_some();
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        Some(Ok(Stored { number: *number, text, row: None, whole }))
                    }
                    Err(error) => {
                        *ended = true;
                        Some(Err(io(&error, path)))
                    }
                }
            }
        }
    }
}

pub(super) fn read_page(connection: &Connection, from: i64) -> rusqlite::Result<Vec<(i64, [u8; 32], String)>> {
    let mut page =
        connection.prepare_cached("SELECT seq, hash, line FROM audit WHERE seq >= ?1 ORDER BY seq LIMIT ?2")?;
    let rows = page.query_map((from, LINES_PER_PAGE), |row| {
        // A damaged database may contain values of any type. They are shown as well as possible, and do not end the
        // reading with an error.
        let hash = row.get::<_, Vec<u8>>(1).ok().and_then(|hash| hash.try_into().ok()).unwrap_or_default();
        let line = match row.get_ref(2)? {
            rusqlite::types::ValueRef::Text(text) | rusqlite::types::ValueRef::Blob(text) => {
                String::from_utf8_lossy(text).into_owned()
            }
            _ => String::new(),
        };
        Ok((row.get(0)?, hash, line))
    })?;
    rows.collect()
}

fn io(error: &std::io::Error, path: &Path) -> LogError {
    LogError::Io { path: path.to_owned(), problem: error.to_string() }
}

#[cfg(test)]
mod tests;
