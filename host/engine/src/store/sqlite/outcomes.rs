//! The outcomes of calls that an agent may report again. Each outcome has a row until its call has run, or until the
//! outcome expires.

use crate::state::Time;
use crate::store::{KeptOutcome, OutcomeChange};
use rusqlite::Connection;

pub(super) fn change(connection: &Connection, change: &OutcomeChange) -> rusqlite::Result<()> {
    match change {
        OutcomeChange::Keep(kept) => {
            let KeptOutcome { call, terms, event, settled, expires, outcome } = kept;
            let (settled, expires) = (settled.cast_signed(), expires.cast_signed());
            connection.prepare_cached("DELETE FROM outcome WHERE expires < ?1")?.execute([settled])?;
            let mut insert = connection.prepare_cached(
                "INSERT OR REPLACE INTO outcome (call, terms, event, settled, expires, outcome)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            insert.execute((call, terms, event, settled, expires, outcome)).map(drop)
        }
        OutcomeChange::Forget(call) => {
            connection.prepare_cached("DELETE FROM outcome WHERE call = ?1")?.execute([call]).map(drop)
        }
    }
}

/// Returns the outcomes that are valid now. Leaves out rows that another program has made invalid. Also leaves out rows
/// with a time in the future, which exist if the clock was set back.
pub(super) fn list(connection: &Connection, now: Time) -> rusqlite::Result<Vec<KeptOutcome>> {
    let mut all = connection.prepare_cached(
        "SELECT call, terms, event, settled, expires, outcome FROM outcome WHERE settled <= ?1 AND expires > ?1",
    )?;
    let kept = |row: &rusqlite::Row<'_>| -> rusqlite::Result<KeptOutcome> {
        Ok(KeptOutcome {
            call: row.get(0)?,
            terms: row.get(1)?,
            event: row.get(2)?,
            settled: row.get::<_, i64>(3)?.cast_unsigned(),
            expires: row.get::<_, i64>(4)?.cast_unsigned(),
            outcome: row.get(5)?,
        })
    };
    all.query_map([now.cast_signed()], |row| Ok(kept(row).ok()))?.filter_map(Result::transpose).collect()
}
