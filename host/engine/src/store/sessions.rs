//! The rows of sessions: what a session is beside the state that plugins have of it.

use super::database::one_row;
use super::spaces::SESSION_KEPT;
use crate::state::Time;
use rusqlite::{Connection, OptionalExtension as _};

/// Larger numbers nobody reaches: they leave room to count on.
const MAX_NUMBER: i64 = i64::MAX / 2;

/// The row of no session: of its numbers each was given out to a session that is forgotten.
const FORGOTTEN: &str = "";

/// A session's row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionRow {
    /// How often it has been written; 0 where there is none yet.
    pub(crate) version: u64,
    /// How many numbers of events are given out.
    pub(crate) events: u64,
    /// The rest, as JSON; empty where there is none yet.
    pub(crate) life: String,
}

/// A handle of a session that has something to write.
pub(crate) trait KeepsSession: Send + Sync {
    /// The session.
    fn id(&self) -> &str;

    /// Which handle of it: no two handles of a process have the same number.
    fn handle(&self) -> u64;

    /// Whether there is something to write.
    fn is_changed(&self) -> bool;

    /// The row as it is to be, given the row of this moment: within the transaction, nobody else changes it.
    fn changed(&self, row: SessionRow) -> Changed;

    /// The transaction with this row is committed.
    fn note_written(&self, changed: Changed);
}

/// A row that is to be written.
pub(crate) struct Changed {
    pub(crate) row: SessionRow,
    /// How many changes are in it.
    pub(crate) changes: usize,
    /// When, in milliseconds since the Unix epoch.
    pub(crate) time: Time,
}

/// The row of a session; of version 0 where there is none: then its numbers begin behind those of sessions that are forgotten, of
/// which it may be one. What another program has put there that is no such row counts for
/// nothing: else it would keep all sessions from being written.
pub(super) fn read(connection: &Connection, id: &str) -> rusqlite::Result<SessionRow> {
    let mut find = connection.prepare_cached("SELECT version, events, life FROM session WHERE id = ?1")?;
    let row = |row: &rusqlite::Row<'_>| {
        let number = |column| row.get::<_, i64>(column).map_or(0, |number| number.clamp(0, MAX_NUMBER).cast_unsigned());
        Ok(SessionRow { version: number(0), events: number(1), life: row.get(2).unwrap_or_default() })
    };
    if let Some(row) = find.query_row([id], row).optional()? {
        return Ok(row);
    }
    let events = find.query_row([FORGOTTEN], row).optional()?.map_or(0, |row| row.events);
    Ok(SessionRow { events, ..SessionRow::default() })
}

/// Writes what a handle has changed, within a transaction.
pub(super) fn write(connection: &Connection, handle: &dyn KeepsSession) -> rusqlite::Result<Changed> {
    let before = read(connection, handle.id())?;
    let mut changed = handle.changed(before.clone());
    changed.row.version = before.version + 1;
    let SessionRow { version, events, life } = &changed.row;
    let mut put = connection.prepare_cached(
        "INSERT INTO session (id, version, events, life, touched) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (id) DO UPDATE SET version = ?2, events = ?3, life = ?4, touched = ?5",
    )?;
    let written =
        put.execute((handle.id(), version.cast_signed(), events.cast_signed(), life, changed.time.cast_signed()))?;
    one_row(written)?;
    Ok(changed)
}

/// Forgets the rows of sessions that nobody has continued for long, and keeps the highest of their numbers: no number of an
/// event is given out twice.
pub(super) fn forget_old(connection: &Connection, now: Time) -> rusqlite::Result<()> {
    let before = now.saturating_sub(SESSION_KEPT).cast_signed();
    // To delete nothing takes the lock of the file, too.
    let old = "SELECT EXISTS (SELECT 1 FROM session WHERE touched < ?1 AND id <> ?2)";
    if connection.query_row(old, (before, FORGOTTEN), |row| row.get::<_, bool>(0))? {
        let transaction = connection.unchecked_transaction()?;
        transaction.execute(
            "INSERT INTO session (id, version, events, life, touched)
             SELECT ?2, 1, max(events), '', 0 FROM session WHERE touched < ?1 OR id = ?2
             ON CONFLICT (id) DO UPDATE SET events = excluded.events",
            (before, FORGOTTEN),
        )?;
        transaction.execute("DELETE FROM session WHERE touched < ?1 AND id <> ?2", (before, FORGOTTEN))?;
        transaction.commit()?;
    }
    Ok(())
}
