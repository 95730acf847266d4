//! The progress of the import of journals. Each journal has a row in the table of sessions. The row is written in the
//! same transaction as the journal's records.

use super::database::one_row;
use super::journal::{Directory, JournalFile};
use rusqlite::{Connection, OptionalExtension as _};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// First character of the identifier of a journal's row. The identifier of a session contains no control character, so
/// it never begins like this.
const MARK: char = '\u{1}';

/// The first string in sort order after all strings that begin with [`MARK`].
pub(super) const AFTER: &str = "\u{2}";

fn row(id: &str) -> String {
    format!("{MARK}{id}")
}

/// Returns the number of bytes of a journal that are imported; 0 if there is no row.
pub(super) fn read(connection: &Connection, id: &str) -> rusqlite::Result<u64> {
    let mut find = connection.prepare_cached("SELECT version FROM session WHERE id = ?1")?;
    let taken: Option<i64> = find.query_row([row(id)], |row| row.get(0)).optional()?;
    Ok(taken.map_or(0, |taken| u64::try_from(taken).unwrap_or(0)))
}

/// Stores the fact that a journal has been imported up to this byte.
fn write(connection: &Connection, directory: &Directory, id: &str, taken: u64) -> rusqlite::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let mut update = connection.prepare_cached("UPDATE session SET version = ?2, touched = ?3 WHERE id = ?1")?;
    if update.execute((row(id), taken.cast_signed(), now))? == 1 {
        return Ok(());
    }
    // New journals are rare, so this is a good time to delete the rows of journals that are gone.
    forget(connection, directory)?;
    let mut insert = connection
        .prepare_cached("INSERT INTO session (id, version, events, life, touched) VALUES (?1, ?2, 0, '', ?3)")?;
    one_row(insert.execute((row(id), taken.cast_signed(), now))?)
}

/// Imports records of another store's journal. `end` is the end of the last of these records in the journal.
pub(super) fn take_in(
    connection: &Connection,
    directory: &Directory,
    id: &str,
    records: &[&str],
    end: u64,
) -> rusqlite::Result<()> {
    super::append(connection, records.iter().copied())?;
    write(connection, directory, id, end)
}

/// Records that each of these journals is imported up to the given byte. Returns the byte up to which each journal was
/// imported before, because another process may already have imported a part of it.
pub(super) fn claim(
    connection: &Connection,
    directory: &Directory,
    journals: &[(Arc<JournalFile>, u64)],
) -> rusqlite::Result<Vec<u64>> {
    let mut before = Vec::with_capacity(journals.len());
    for (file, end) in journals {
        let taken = read(connection, file.id())?.max(file.taken());
        if *end > taken {
            write(connection, directory, file.id(), *end)?;
        }
        before.push(taken);
    }
    Ok(before)
}

/// Deletes the rows of journals that no longer exist, within a transaction of the caller. This is safe, because a
/// journal is removed only after all of it was imported, and a removed journal is never imported.
pub(super) fn forget(connection: &Connection, directory: &Directory) -> rusqlite::Result<()> {
    let mut rows = connection.prepare_cached("SELECT id FROM session WHERE id >= ?1 AND id < ?2")?;
    let ids: Vec<String> = rows.query_map([row(""), AFTER.into()], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for id in ids {
        let is_gone =
            |id| directory.file(id).symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if id.strip_prefix(MARK).is_some_and(is_gone) {
            connection.prepare_cached("DELETE FROM session WHERE id = ?1")?.execute([id])?;
        }
    }
    Ok(())
}
