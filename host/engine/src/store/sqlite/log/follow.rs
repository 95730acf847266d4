//! Follows a log while hosts write to it.

use super::{Log, LogError, Source};
use crate::audit::{self, BEFORE_THE_FIRST, Line, Stored, other_version};
use crate::config::Digest;
use crate::store::StoreError;
use crate::store::identity::{Identity, identity};
use crate::store::sqlite::database::{first_hash, head};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::Path;

/// A place in a log: the last record that was read, and the log that contains it. A reader that goes on after a restart stores
/// it, for example as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Position {
    /// The hash of the log's first record, which identifies the log.
    pub log: Digest,
    /// The number of the record, from 1; 0 before the first record.
    pub seq: u64,
    /// The hash of the record.
    pub hash: Digest,
}

/// Where a [`FollowedLog`] begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FollowFrom {
    /// With the first record.
    Beginning,
    /// With the next record that is written.
    End,
    /// With the record after this one. If the log does not contain this record, for example because another log took its
    /// place, it begins with the first.
    After(Position),
}

/// Number of places to which a reader can return if records that it has read are removed.
const KEPT_PLACES: usize = 64;

/// The records of a database, read once each, as soon as they are stored. If somebody removes records that were read, the reader says so
/// and returns to a place before them, so it may read records before this place again.
///
/// A reader keeps the [position](Self::position) and goes on there after a restart, so it misses no record. Reading never
/// writes to the database, and no event waits for it. Records that are only in a journal are read when a host has stored
/// them, which takes some tens of milliseconds.
///
/// ```
/// use hookhost::store::{FollowFrom, FollowedLog};
/// use hookhost::{Config, Host};
/// use std::time::Duration;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let file = directory.path().join("hookhost.db");
/// let host = Host::builder(Config::empty()).store(&file).build().await?;
/// let (mut log, _) = FollowedLog::open(&file, FollowFrom::End)?;
/// drop(host.session("my-agent", "/work")?);
/// host.drain(Duration::from_secs(2)).await?;
///
/// let mut kinds = Vec::new();
/// for line in log.next_records(100)? {
///     kinds.push(line.entry()?.kind());
/// }
/// assert_eq!(kinds, ["session", "session-ended"]);
/// // After a restart, the reader goes on where it stopped.
/// let (mut log, is_other) = FollowedLog::open(&file, FollowFrom::After(log.position()))?;
/// assert!(!is_other && log.next_records(100)?.is_empty());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct FollowedLog {
    log: Log,
    position: Position,
    /// Earlier places, the last one at the end.
    kept: VecDeque<Position>,
    /// The number of the last record that was named as missing or changed. If it is after the position, nothing is known about the
    /// record before the next one.
    named: u64,
    /// True if a row was named whose number hookhost never writes.
    has_named_foreign: bool,
    /// SQLite's number of the last change that was read completely.
    change: Option<i64>,
    file: Option<Identity>,
}

impl FollowedLog {
    /// Opens the database. Returns the log, and true if it does not contain the record of [`FollowFrom::After`].
    ///
    /// # Errors
    /// The errors of [`Log::open`]; also if the file is an export, which does not grow.
    pub fn open(path: &Path, from: FollowFrom) -> Result<(Self, bool), LogError> {
        let file = identity(path);
        let log = Log::open(path)?.only_stored();
        let Source::Database(connection, steps) = &log.source else {
            return Err(StoreError::Foreign(path.to_owned()).into());
        };
        steps.begin();
        let of = |error: rusqlite::Error| StoreError::of(&error, path);
        let beginning = beginning(connection).map_err(of)?;
        let position = match from {
            FollowFrom::Beginning => Some(beginning),
            FollowFrom::End => {
                let (seq, hash) = head(connection).map_err(of)?;
                Some(Position { seq, hash, ..beginning })
            }
            FollowFrom::After(after) => contains(connection, &after).map_err(of)?.then_some(after),
        };
        let is_other = position.is_none();
        let position = position.unwrap_or(beginning);
        let named = position.seq;
        let kept = VecDeque::new();
        Ok((Self { log, position, kept, named, has_named_foreign: false, change: None, file }, is_other))
    }

    /// Returns the place of the last record that was read.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }

    /// Returns the place of a record that this log has returned.
    #[must_use]
    pub fn position_of(&self, line: &Line) -> Position {
        Position { seq: line.seq(), hash: line.hash(), ..self.position }
    }

    /// Returns the number of stored records after the [position](Self::position).
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn behind(&self) -> Result<u64, LogError> {
        Ok(self.log.last()?.saturating_sub(self.position.seq))
    }

    /// Returns at most `most` further records; none if nothing was stored since the last call.
    ///
    /// # Errors
    /// If the log cannot be read. [`LogError::NotAsWritten`] names a record that does not follow the one before it, or the
    /// first of several missing records; the next call continues after them. It also names the first of the records that were
    /// removed after they were read; the next call continues with what is there now.
    pub fn next_records(&mut self, most: usize) -> Result<Vec<Line>, LogError> {
        let change = self.change()?;
        if self.change == Some(change) {
            return Ok(Vec::new());
        }
        if let Some(from) = self.removed()? {
            return Err(self.not_as_written(from));
        }
        let mut lines = Vec::new();
        let mut rows = self.log.stored(self.position.seq.max(self.named))?;
        while lines.len() < most {
            let Some(stored) = rows.next().transpose()? else {
                self.change = Some(change);
                break;
            };
            let Some((seq, hash)) = stored.row else { continue };
            let expected = self.position.seq.max(self.named) + 1;
            if !(1..i64::MAX).contains(&seq) {
                match (self.has_named_foreign, lines.is_empty()) {
                    (true, _) => continue,
                    // The next call names it.
                    (false, false) => break,
                    (false, true) => {
                        self.has_named_foreign = true;
                        return Err(self.not_as_written(expected));
                    }
                }
            }
            let seq = seq.cast_unsigned();
            let mut expected = expected;
            if (self.position.seq, expected) == (1, 2)
                && seq > 2
                && let Ok(line) = Line::parse(&stored.text)
                && self.log.is_archived(seq - 1, line.previous())?
            {
                // The reader begins after the records that are in archives.
                self.position = Position { seq: seq - 1, hash: line.previous(), ..self.position };
                expected = seq;
            }
            let line = if seq == expected { self.checked(&stored, seq, hash)? } else { None };
            match line {
                Some(line) => {
                    self.position = Position { seq, hash, ..self.position };
                    lines.push(line);
                }
                // The next call names it.
                None if !lines.is_empty() => break,
                None => {
                    self.named = if seq == expected { seq } else { seq - 1 };
                    return Err(self.not_as_written(expected));
                }
            }
        }
        if !lines.is_empty() {
            self.kept.push_back(self.position);
            self.kept.drain(..self.kept.len().saturating_sub(KEPT_PLACES));
        }
        Ok(lines)
    }

    /// If the last record that was read is no longer there, goes back to a place that the log still contains. Returns the number of the
    /// record after this place.
    fn removed(&mut self) -> Result<Option<u64>, LogError> {
        let Source::Database(connection, steps) = &self.log.source else { return Ok(None) };
        steps.begin();
        let of = |error: rusqlite::Error| StoreError::of(&error, &self.log.path);
        let is_there = contains(connection, &self.position).map_err(of)?;
        // An idle reader has read everything that an archive has.
        if is_there || self.log.is_archived(self.position.seq, self.position.hash)? {
            return Ok(None);
        }
        while let Some(place) = self.kept.pop_back() {
            if contains(connection, &place).map_err(of)? {
                (self.position, self.named) = (place, place.seq);
                return Ok(Some(place.seq + 1));
            }
        }
        (self.position, self.named) = (beginning(connection).map_err(of)?, 0);
        Ok(Some(1))
    }

    fn not_as_written(&self, from: u64) -> LogError {
        LogError::NotAsWritten { path: self.log.path.clone(), from }
    }

    /// Returns true if another file is at the path of the database. The records in it are not those of this log.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        identity(&self.log.path) != self.file
    }

    /// Returns a number that differs after each commit of another connection, whichever process it belongs to.
    /// <https://sqlite.org/pragma.html#pragma_data_version>
    fn change(&self) -> Result<i64, LogError> {
        let Source::Database(connection, steps) = &self.log.source else { return Ok(0) };
        steps.begin();
        let read = connection.pragma_query_value(None, "data_version", |row| row.get(0));
        Ok(read.map_err(|error| StoreError::of(&error, &self.log.path))?)
    }

    /// Returns the record of a row, or `None` if it is not as it was written or does not follow the last one.
    fn checked(&self, stored: &Stored, seq: u64, hash: Digest) -> Result<Option<Line>, LogError> {
        let Ok(line) = Line::parse(&stored.text) else { return Ok(None) };
        if let Some(found) = other_version(&line) {
            return Err(LogError::Version { path: self.log.path.clone(), found, known: audit::FORMAT });
        }
        let follows = self.named > self.position.seq || line.previous() == self.position.hash;
        Ok((follows && line.seq() == seq && line.hash() == hash).then_some(line))
    }
}

fn beginning(connection: &Connection) -> rusqlite::Result<Position> {
    Ok(Position { log: first_hash(connection)?, seq: 0, hash: BEFORE_THE_FIRST })
}

/// Returns true if the log contains the record of a position.
fn contains(connection: &Connection, position: &Position) -> rusqlite::Result<bool> {
    if position.log != first_hash(connection)? {
        return Ok(false);
    }
    if position.seq == 0 {
        return Ok(true);
    }
    let mut row = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM audit WHERE seq = ?1 AND hash = ?2)")?;
    row.query_row((position.seq.cast_signed(), position.hash.as_bytes()), |row| row.get(0))
}
