//! An index of the words of a long log: a file beside the log that may be deleted at any time. The log itself gets no index and no write.
//!
//! The index only proposes records. Each proposal is read from the log and compared with the search, so an index that somebody changed can
//! hide a record but cannot invent one.

use super::{SearchQuery, searched_text};
use crate::log_rows::{EventRow, LogReader, Verdict};
use data_encoding::HEXLOWER;
use hookhost::audit::{Line, Record};
use hookhost::store::Log;
use hookhost_telemetry::tally::is_proof;
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Version of the table. An index of another version is built anew.
const FORMAT: i32 = 2;

/// Number of records that are added in one transaction.
const BATCH: usize = 5_000;

/// The file name of the index in the state directory.
const FILE: &str = "search.db";

/// The words of the records up to [`last`](Self::last).
pub(super) struct SearchIndex {
    connection: Connection,
}

impl SearchIndex {
    /// Returns the path of the index of a log.
    pub(super) fn path(reader: &LogReader) -> PathBuf {
        reader.path().with_file_name(FILE)
    }

    /// Opens the index. An index that is missing, damaged, or of another log is begun anew.
    pub(super) fn open(path: &Path, log: &Log) -> Result<Self, String> {
        let opened = Self::opened(path).and_then(|index| if index.is_of(log)? { Ok(Some(index)) } else { Ok(None) });
        match opened {
            Ok(Some(index)) => Ok(index),
            Ok(None) | Err(_) => {
                for end in ["", "-wal", "-shm", "-journal"] {
                    let mut file = path.as_os_str().to_owned();
                    file.push(end);
                    let _ = std::fs::remove_file(file);
                }
                Self::opened(path)
            }
        }
    }

    fn opened(path: &Path) -> Result<Self, String> {
        let made = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        made.map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
        let connection = Connection::open(path).map_err(told)?;
        let prepared = connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
             CREATE TABLE IF NOT EXISTS place (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER, hash TEXT, first TEXT);
             CREATE VIRTUAL TABLE IF NOT EXISTS text USING fts5(
                 body, facet, content = '', columnsize = 0, detail = full, tokenize = 'ascii');",
        );
        prepared.map_err(told)?;
        let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(told)?;
        if version != FORMAT {
            connection.pragma_update(None, "user_version", FORMAT).map_err(told)?;
            if version != 0 {
                return Err("the index has another format".to_owned());
            }
        }
        Ok(Self { connection })
    }

    /// Returns true if the log still contains the last record of the index, and begins with the same record.
    fn is_of(&self, log: &Log) -> Result<bool, String> {
        let Some((seq, hash, first)) = self.place()? else { return Ok(true) };
        Ok(hash_of(log, seq)? == Some(hash) && hash_of(log, 1)? == Some(first))
    }

    fn place(&self) -> Result<Option<(u64, String, String)>, String> {
        let place = self.connection.query_row("SELECT seq, hash, first FROM place", [], |row| {
            Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?, row.get(2)?))
        });
        place.optional().map_err(told)
    }

    /// Returns the number of the last record in the index.
    pub(super) fn last(&self) -> Result<u64, String> {
        Ok(self.place()?.map_or(0, |(seq, ..)| seq))
    }

    /// Adds at most one batch of further records. Returns false if there are no more.
    pub(super) fn add(&mut self, log: &Log) -> Result<bool, String> {
        let (after, first) = match self.place()? {
            Some((seq, _, first)) => (seq, Some(first)),
            None => (0, hash_of(log, 1)?),
        };
        let Some(first) = first else { return Ok(false) };
        let transaction = self.connection.transaction().map_err(told)?;
        let mut last = None;
        let mut count = 0;
        {
            let insert = "INSERT INTO text (rowid, body, facet) VALUES (?1, ?2, ?3)";
            let mut insert = transaction.prepare_cached(insert).map_err(told)?;
            for line in log.lines_after(after).map_err(told)?.take(BATCH) {
                count += 1;
                let Ok(line) = line else { continue };
                if let Some((text, facets)) = indexed(&line) {
                    insert.execute(params![line.seq().cast_signed(), text, facets]).map_err(told)?;
                }
                last = Some((line.seq(), line.hash().to_string()));
            }
        }
        if let Some((seq, hash)) = last {
            let place = "INSERT OR REPLACE INTO place (id, seq, hash, first) VALUES (1, ?1, ?2, ?3)";
            transaction.execute(place, params![seq.cast_signed(), hash, first]).map_err(told)?;
        }
        transaction.commit().map_err(told)?;
        Ok(count == BATCH)
    }

    /// Returns the numbers of records that may match, the newest first.
    pub(super) fn candidates(&self, expression: &str, before: u64, most: usize) -> Result<Vec<u64>, String> {
        let select = "SELECT rowid FROM text WHERE text MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3";
        let mut select = self.connection.prepare_cached(select).map_err(told)?;
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = select.query_map(params![expression, before, most], |row| row.get::<_, i64>(0)).map_err(told)?;
        rows.map(|row| row.map(i64::cast_unsigned).map_err(told)).collect()
    }
}

/// Returns a search as an expression of FTS5, or `None` if the index has nothing to look up. Only letters and digits of a person's text are
/// part of it, so no such text is syntax.
pub(super) fn expression(query: &SearchQuery) -> Option<String> {
    let words = query.words.iter().filter(|word| word.chars().any(char::is_alphanumeric));
    let words = words.map(|word| format!("body : \"{}\" *", in_words(word).trim()));
    let facets =
        [('a', &query.agent), ('r', &query.rule), ('e', &query.event), ('s', &query.session), ('d', &query.decision)];
    let facets = facets.iter().filter_map(|(kind, value)| {
        let value = value.as_deref()?;
        let value = if value == "denied" { "no" } else { value };
        Some(format!("facet : \"{}\"", facet(*kind, value)))
    });
    let parts: Vec<String> = words.chain(facets).collect();
    (!parts.is_empty()).then(|| parts.join(" AND "))
}

/// Returns the text and the facets of a record; `None` if searches do not find it.
fn indexed(line: &Line) -> Option<(String, String)> {
    let Ok(Record::Event(event)) = line.entry() else { return None };
    if is_proof(&event.header.session) {
        return None;
    }
    let row = EventRow::new(line.seq(), &event);
    let verdict: Verdict = row.verdict;
    let mut facets = vec![
        facet('a', &row.agent),
        facet('e', row.event),
        facet('s', &row.session),
        facet('d', verdict.word()),
        facet('d', verdict.class()),
    ];
    facets.extend(row.rules.iter().map(|rule| facet('r', rule)));
    Some((in_words(&searched_text(&row, &event)), facets.join(" ")))
}

/// Returns a text with a space in place of each character that belongs to no word. The index has the words of [`super::has_word`] then, whatever
/// the version of Unicode that SQLite knows.
fn in_words(text: &str) -> String {
    text.chars().map(|letter| if letter.is_alphanumeric() { letter } else { ' ' }).collect()
}

/// Returns the word that stands for a value of a field. It has only letters and digits, so it is one word to the index.
fn facet(kind: char, value: &str) -> String {
    let digest = Sha256::digest(value);
    format!("{kind}{}", HEXLOWER.encode(digest.get(..8).unwrap_or_default()))
}

fn hash_of(log: &Log, seq: u64) -> Result<Option<String>, String> {
    let Some(before) = seq.checked_sub(1) else { return Ok(None) };
    let line = log.lines_after(before).map_err(told)?.next();
    Ok(line.and_then(Result::ok).filter(|line| line.seq() == seq).map(|line| line.hash().to_string()))
}

fn told(error: impl std::fmt::Display) -> String {
    format!("the index of the log: {error}")
}
