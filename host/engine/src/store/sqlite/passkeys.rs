//! The records about passkeys. They are also in the log, but a process that asks a person must not search the whole log
//! for them.

use super::database::{self, one_row};
use crate::audit::{Line, Record};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Adds the last record of the log to the table, which is created if it is missing. `before` is the number of rows that
/// the writer has seen. Fails if there are more by now, because the proofs in the record cover only those.
pub(super) fn add(connection: &Connection, record: &str, before: u32) -> rusqlite::Result<()> {
    if !database::has_passkeys(connection)? {
        database::add_passkeys(connection)?;
    }
    let (seq, _) = database::head(connection)?;
    let mut insert = connection
        .prepare_cached("INSERT INTO passkey (seq, record) SELECT ?1, ?2 WHERE (SELECT count(*) FROM passkey) = ?3")?;
    one_row(insert.execute((seq.cast_signed(), record, before))?)
}

/// Returns the records, in order. A row that another program has made invalid is an empty string, which is no record.
pub(super) fn list(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    if !database::has_passkeys(connection)? {
        return Ok(Vec::new());
    }
    let mut all = connection.prepare_cached("SELECT record FROM passkey ORDER BY seq")?;
    all.query_map([], |row| Ok(row.get(0).unwrap_or_default()))?.collect()
}

/// Returns the lines of the log about passkeys, by their numbers, also those that were archived. This reads the whole
/// log.
pub(super) fn logged(connection: &Connection) -> rusqlite::Result<BTreeMap<u64, String>> {
    let mut about_passkeys =
        connection.prepare_cached("SELECT line FROM audit WHERE instr(line, '\"passkey') > 0 ORDER BY seq")?;
    let mut rows = about_passkeys.query([])?;
    let mut logged = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let Ok(line) = Line::parse(row.get_ref(0)?.as_str().unwrap_or_default()) else { continue };
        match line.entry() {
            Ok(Record::Operator(action)) if action.passkey.is_some() => {
                logged.insert(line.seq(), line.text().to_owned());
            }
            Ok(Record::Archived(archived)) => {
                let lines = archived.passkeys.iter().filter_map(|line| Line::parse(line).ok());
                logged.extend(lines.map(|line| (line.seq(), line.text().to_owned())));
            }
            _ => {}
        }
    }
    Ok(logged)
}
