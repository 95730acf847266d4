//! The progress of taking in journals: a row of the table of sessions for each, written by the transaction that takes records in.

use super::database::one_row;
use super::journal::{Directory, JournalFile};
use rusqlite::{Connection, OptionalExtension as _};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Beginning of the identifier of such a row. That of a session has no control character.
const MARK: char = '\u{1}';

/// The first text after those that begin with [`MARK`].
pub(super) const AFTER: &str = "\u{2}";

fn row(id: &str) -> String {
    format!("{MARK}{id}")
}

/// Number of bytes of a journal that are taken in; 0 if there is no row.
pub(super) fn read(connection: &Connection, id: &str) -> rusqlite::Result<u64> {
    let mut find = connection.prepare_cached("SELECT version FROM session WHERE id = ?1")?;
    let taken: Option<i64> = find.query_row([row(id)], |row| row.get(0)).optional()?;
    Ok(taken.map_or(0, |taken| u64::try_from(taken).unwrap_or(0)))
}

/// Notes that a journal is taken in up to this byte.
fn write(connection: &Connection, directory: &Directory, id: &str, taken: u64) -> rusqlite::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let mut update = connection.prepare_cached("UPDATE session SET version = ?2, touched = ?3 WHERE id = ?1")?;
    if update.execute((row(id), taken.cast_signed(), now))? == 1 {
        return Ok(());
    }
    // A journal is new now and then. Those before it may be gone.
    forget(connection, directory)?;
    let mut insert = connection
        .prepare_cached("INSERT INTO session (id, version, events, life, touched) VALUES (?1, ?2, 0, '', ?3)")?;
    one_row(insert.execute((row(id), taken.cast_signed(), now))?)
}

/// Takes in records of another store's journal, up to this byte.
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

/// Notes that these journals are taken in, each up to a byte. Returns how far each of them was before: another process may have
/// taken in a part.
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

/// Deletes the rows of journals that are not there any more, in a transaction. A journal is removed after all of it was taken
/// in, and one that is removed is not taken in.
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
