//! The rows of sessions. A row contains the host's data about a session, but not the state of plugins.

use super::database::one_row;
use super::namespaces::{self, SESSION_RETENTION, signed};
use super::progress::AFTER;
use crate::state::Time;
use crate::store::{Changed, SessionChanges, SessionRow};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};

/// Maximum value of a number that is read from a row. No session reaches this number, and it can still be increased
/// without an overflow.
const MAX_NUMBER: i64 = i64::MAX / 2;

/// Interval at which old sessions are deleted, in milliseconds: one day.
const FORGETTING_INTERVAL: Time = 24 * 60 * 60 * 1000;

/// Identifier of a row that belongs to no session. The row contains the highest event number of all deleted sessions,
/// and the time of the last deletion.
const FORGOTTEN: &str = "";

/// Reads a session's row. A session without a row has version 0. Its event numbers begin after the numbers of all
/// deleted sessions, because the session may be a deleted session. An invalid value in the row is replaced by the
/// default. An error instead would prevent every session from being written.
pub(super) fn read(connection: &Connection, id: &str) -> rusqlite::Result<SessionRow> {
    let mut find = connection.prepare_cached("SELECT version, events, life FROM session WHERE id = ?1")?;
    let row = |row: &rusqlite::Row<'_>| {
        let number = |column| row.get::<_, i64>(column).map_or(0, |number| number.clamp(0, MAX_NUMBER).cast_unsigned());
        Ok(SessionRow { version: number(0), events: number(1), state: row.get(2).unwrap_or_default() })
    };
    if let Some(row) = find.query_row([id], row).optional()? {
        return Ok(row);
    }
    let events = find.query_row([FORGOTTEN], row).optional()?.map_or(0, |row| row.events);
    Ok(SessionRow { events, ..SessionRow::default() })
}

/// Writes a handle's changes, within a transaction.
pub(super) fn write(connection: &Connection, handle: &dyn SessionChanges) -> rusqlite::Result<Changed> {
    let before = read(connection, handle.id())?;
    let mut changed = handle.changed(before.clone());
    changed.row.version = before.version + 1;
    let SessionRow { version, events, state } = &changed.row;
    let mut put = connection.prepare_cached(
        "INSERT INTO session (id, version, events, life, touched) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (id) DO UPDATE SET version = ?2, events = ?3, life = ?4, touched = ?5",
    )?;
    let written =
        put.execute((handle.id(), version.cast_signed(), events.cast_signed(), state, changed.time.cast_signed()))?;
    one_row(written)?;
    Ok(changed)
}

/// Deletes the rows of sessions, and the state of sessions and trees, if both were last written more than
/// [`SESSION_RETENTION`] ago. Stores the highest event number of the deleted rows, because no number may be used twice.
/// This function does so once in [`FORGETTING_INTERVAL`], because it reads all rows.
pub(super) fn forget_old(connection: &Connection, now: Time) -> rusqlite::Result<()> {
    let last = "SELECT touched FROM session WHERE id = ?1";
    // The deletion is also due if this time is invalid or in the future, for example because the clock was set back.
    let last = connection.query_row(last, [FORGOTTEN], |row| Ok(row.get::<_, i64>(0).unwrap_or(-1))).optional()?;
    let is_recent = |last: Time| last <= now && now - last < FORGETTING_INTERVAL;
    if last.is_some_and(|last| u64::try_from(last).is_ok_and(is_recent)) {
        return Ok(());
    }
    let before = signed(now.saturating_sub(SESSION_RETENTION));
    // This is read before the transaction begins, because other writers have to wait until the transaction ends.
    let is_any_old = connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM session WHERE touched < ?1 AND id >= ?2)
             OR EXISTS (SELECT 1 FROM space WHERE scope <> 'plugin' AND touched < ?1 AND session NOT IN (SELECT id FROM session))",
        (before, AFTER),
        |row| row.get::<_, bool>(0),
    )?;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute(
        "INSERT INTO session (id, version, events, life, touched) VALUES (?1, 1, 0, '', ?2)
         ON CONFLICT (id) DO UPDATE SET touched = excluded.touched",
        (FORGOTTEN, signed(now)),
    )?;
    if is_any_old {
        transaction.execute(
            "UPDATE session SET events = (SELECT max(events) FROM session WHERE (touched < ?1 AND id >= ?2) OR id = ?3)
             WHERE id = ?3",
            (before, AFTER, FORGOTTEN),
        )?;
        transaction.execute("DELETE FROM session WHERE touched < ?1 AND id >= ?2", (before, AFTER))?;
        namespaces::forget_old(&transaction, before)?;
    }
    transaction.commit()
}
