//! The open questions. Each question has a row, and any process may answer it.

use super::database::one_row;
use crate::store::{FirstAnswer, OpenQuestion, QuestionChange};
use rusqlite::{Connection, OptionalExtension as _};

pub(super) fn change(connection: &Connection, change: &QuestionChange) -> rusqlite::Result<()> {
    match change {
        QuestionChange::Ask(question) => {
            let OpenQuestion { id, session, asker, expires, answerable, request, answer } = &**question;
            let mut insert = connection.prepare_cached(
                "INSERT INTO question (id, session, asker, expires, answerable, request, answer)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            one_row(insert.execute((id, session, asker, expires.cast_signed(), answerable, request, answer))?)
        }
        QuestionChange::Settle(id) => remove(connection, id).map(drop),
        QuestionChange::Allow { id, answer, expires } => {
            let mut update = connection
                .prepare_cached("UPDATE question SET answer = ?2, expires = ?3 WHERE id = ?1 AND answer IS NULL")?;
            one_row(update.execute((id, answer, expires.cast_signed()))?)
        }
        QuestionChange::Take(id) => one_row(remove(connection, id)?),
    }
}

fn remove(connection: &Connection, id: &str) -> rusqlite::Result<usize> {
    connection.prepare_cached("DELETE FROM question WHERE id = ?1")?.execute([id])
}

/// Answers a question, unless it has an answer. Returns the first answer; `None` if there is no such question.
pub(super) fn answer(connection: &Connection, id: &str, answer: &str) -> rusqlite::Result<Option<FirstAnswer>> {
    let mut update = connection.prepare_cached("UPDATE question SET answer = ?2 WHERE id = ?1 AND answer IS NULL")?;
    let is_this = update.execute((id, answer))? == 1;
    let first = answered(connection, id)?.flatten();
    Ok(first.map(|answer| FirstAnswer { answer, is_this }))
}

/// Returns the answer to a question: `None` if there is no such question, `Some(None)` if it has no answer yet.
pub(super) fn answered(connection: &Connection, id: &str) -> rusqlite::Result<Option<Option<String>>> {
    let mut find = connection.prepare_cached("SELECT answer FROM question WHERE id = ?1")?;
    find.query_row([id], |row| row.get(0)).optional()
}

/// Returns true if there is an open question.
pub(super) fn is_one_open(connection: &Connection) -> rusqlite::Result<bool> {
    let mut find = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM question)")?;
    find.query_row([], |row| row.get(0))
}

/// Returns the open questions, ordered by expiry. Leaves out rows that another program has made invalid.
pub(super) fn list(connection: &Connection) -> rusqlite::Result<Vec<OpenQuestion>> {
    let mut all = connection.prepare_cached(
        "SELECT id, session, asker, expires, answerable, request, answer FROM question ORDER BY expires, id",
    )?;
    let question = |row: &rusqlite::Row<'_>| -> rusqlite::Result<OpenQuestion> {
        Ok(OpenQuestion {
            id: row.get(0)?,
            session: row.get(1)?,
            asker: row.get(2)?,
            expires: row.get::<_, i64>(3)?.cast_unsigned(),
            answerable: row.get(4)?,
            request: row.get(5)?,
            answer: row.get(6)?,
        })
    };
    all.query_map([], |row| Ok(question(row).ok()))?.filter_map(Result::transpose).collect()
}
