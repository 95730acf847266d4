//! The state of plugins in the database, key by key.
//!
//! A space has a version, which each commit raises. How much a space holds is counted once and kept in memory as long as the
//! database has the same version: what other processes write is seen by the next event.

use super::database::one_row;
use super::{Owner, Unit, owner};
use crate::state::{KEY_COST, Lineage, MAX_KEYS, Scope, Space, Stored, Time, Usage, Write, Writes};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashMap;

/// How long the state of a session, or of a tree, is kept after it was last written, in milliseconds: 30 days, so that a session can
/// be taken up again.
pub(super) const SESSION_KEPT: Time = 30 * 24 * 60 * 60 * 1000;

/// What is known of how much spaces hold.
#[derive(Default)]
pub(super) struct Counts(HashMap<Owner, Counted>);

/// How much a space holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    version: i64,
    pub(super) usage: Usage,
    /// When the first of its values expires; 0 where one has that is still there.
    next_expiry: Option<Time>,
}

/// What becomes of the counts once a transaction holds; none: it has to be counted anew.
pub(super) type Changed = Vec<(Owner, Option<Counted>)>;

impl Counted {
    fn holds(&self, version: i64, now: Time) -> bool {
        self.version == version && self.next_expiry.is_none_or(|expiry| expiry > now)
    }
}

impl Counts {
    pub(super) fn get(&self, owner: &Owner, version: i64, now: Time) -> Option<Usage> {
        self.0.get(owner).filter(|counted| counted.holds(version, now)).map(|counted| counted.usage)
    }

    /// Keeps what was counted, unless something newer is known.
    pub(super) fn put(&mut self, owner: Owner, counted: Counted) {
        let newer = self.0.get(&owner).is_some_and(|known| known.version > counted.version);
        if !newer {
            self.0.insert(owner, counted);
        }
    }

    /// Makes hold what was committed.
    pub(super) fn hold(&mut self, changed: Changed) {
        for (owner, counted) in changed {
            match counted {
                Some(counted) => drop(self.0.insert(owner, counted)),
                None => drop(self.0.remove(&owner)),
            }
        }
    }

    /// Forgets the spaces of a session and of its tree.
    pub(super) fn forget(&mut self, lineage: Lineage<'_>) {
        self.0.retain(|owner, _| owner.scope == Scope::Plugin || owner.session != lineage.of(owner.scope));
    }
}

/// The identifier and the version of a space.
pub(super) fn find(connection: &Connection, owner: &Owner) -> rusqlite::Result<Option<(i64, i64)>> {
    let mut find =
        connection.prepare_cached("SELECT id, version FROM space WHERE plugin = ?1 AND scope = ?2 AND session = ?3")?;
    find.query_row((&*owner.plugin, owner.scope.name(), &owner.session), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// What is at a key, also where it has expired.
pub(super) fn value(connection: &Connection, space: i64, key: &str) -> rusqlite::Result<Option<Stored>> {
    let mut value = connection.prepare_cached("SELECT value, expires FROM value WHERE space = ?1 AND key = ?2")?;
    let stored = |row: &rusqlite::Row<'_>| Ok(Stored { value: row.get(0)?, expires: expiry(row, 1)? });
    value.query_row((space, key), stored).optional()
}

/// Bytes of the value at a key, which is not read, and when it expires.
pub(super) fn size(connection: &Connection, space: i64, key: &str) -> rusqlite::Result<Option<(usize, Option<Time>)>> {
    let mut size =
        connection.prepare_cached("SELECT octet_length(value), expires FROM value WHERE space = ?1 AND key = ?2")?;
    size.query_row((space, key), |row| Ok((number(row, 0)?, expiry(row, 1)?))).optional()
}

/// Counts what a space holds and has not expired, up to the first key too many.
pub(super) fn count(connection: &Connection, space: i64, version: i64, now: Time) -> rusqlite::Result<Counted> {
    // What has expired does not count, but for that a count beside it is no longer right once it is removed.
    let mut count = connection.prepare_cached(
        "SELECT count(*), ifnull(sum(bytes), 0), min(expires),
           EXISTS (SELECT 1 FROM value WHERE space = ?1 AND expires <= ?2)
         FROM (
           SELECT octet_length(key) + octet_length(value) AS bytes, expires FROM value
           WHERE space = ?1 AND (expires IS NULL OR expires > ?2) LIMIT ?3
         )",
    )?;
    count.query_row((space, signed(now), i64::try_from(MAX_KEYS).unwrap_or(i64::MAX - 1) + 1), |row| {
        let (keys, bytes): (usize, usize) = (number(row, 0)?, number(row, 1)?);
        let usage = Usage { keys, bytes: bytes.saturating_add(keys.saturating_mul(KEY_COST)) };
        let next_expiry = if row.get(3)? { Some(0) } else { expiry(row, 2)? };
        Ok(Counted { version, usage, next_expiry })
    })
}

/// All of a space.
pub(super) fn load(connection: &Connection, space: i64) -> rusqlite::Result<Space> {
    let mut values = connection.prepare_cached("SELECT key, value, expires FROM value WHERE space = ?1")?;
    let mut rows = values.query([space])?;
    let mut loaded = Space::default();
    while let Some(row) = rows.next()? {
        loaded.put(&row.get::<_, String>(0)?, Stored { value: row.get(1)?, expires: expiry(row, 2)? });
    }
    Ok(loaded)
}

/// Writes what a unit writes, within its transaction.
pub(super) fn write(connection: &Connection, counts: &Counts, unit: &Unit) -> rusqlite::Result<Changed> {
    let mut changed = Changed::new();
    for (plugin, writes) in &unit.writes {
        for scope in Scope::ALL {
            if writes.of(scope).next().is_some() {
                let owner = owner(plugin, unit.lineage(), scope);
                let counted = write_one(connection, &owner, counts.0.get(&owner), writes, unit.time)?;
                changed.push((owner, counted));
            }
        }
    }
    Ok(changed)
}

/// Writes to one space; gives what it then holds, where that is known without counting.
fn write_one(
    connection: &Connection,
    owner: &Owner,
    counted: Option<&Counted>,
    writes: &Writes,
    now: Time,
) -> rusqlite::Result<Option<Counted>> {
    let mut touch = connection.prepare_cached(
        "INSERT INTO space (plugin, scope, session, version, touched) VALUES (?1, ?2, ?3, 1, ?4)
         ON CONFLICT (plugin, scope, session) DO UPDATE SET version = version + 1, touched = ?4
         RETURNING id, version",
    )?;
    let place = (&*owner.plugin, owner.scope.name(), &owner.session, signed(now));
    let (id, version): (i64, i64) = touch.query_row(place, |row| Ok((row.get(0)?, row.get(1)?)))?;
    // What another process has changed in between has to be counted anew, and so has what was not counted to the end.
    let known = counted.copied().filter(|counted| counted.holds(version - 1, now));
    let mut counted = known.filter(|counted| counted.usage.keys <= MAX_KEYS);
    if known.is_none() {
        let mut expire = connection.prepare_cached("DELETE FROM value WHERE space = ?1 AND expires <= ?2")?;
        expire.execute((id, signed(now)))?;
    }
    for (key, write) in writes.of(owner.scope) {
        let before = size(connection, id, key)?;
        let stored = match write {
            Write::Add(_) => Space::after(value(connection, id, key)?.as_ref(), write, now),
            Write::Set { .. } | Write::Delete => Space::after(None, write, now),
        };
        if let Some(counted) = &mut counted {
            let after = stored.as_ref().map(|stored| stored.value.len());
            counted.usage = counted.usage.replacing(key, before.map(|(bytes, _)| bytes), after);
            let expires = stored.as_ref().and_then(|stored| stored.expires);
            counted.next_expiry = counted.next_expiry.into_iter().chain(expires).min();
        }
        match stored {
            Some(stored) => {
                let mut put = connection.prepare_cached(
                    "INSERT OR REPLACE INTO value (space, key, value, expires) VALUES (?1, ?2, ?3, ?4)",
                )?;
                one_row(put.execute((id, key, stored.value, stored.expires.map(signed)))?)?;
            }
            None => {
                let mut remove = connection.prepare_cached("DELETE FROM value WHERE space = ?1 AND key = ?2")?;
                let removed = remove.execute((id, key))?;
                if before.is_some() {
                    one_row(removed)?;
                }
            }
        }
    }
    Ok(counted.map(|counted| Counted { version, ..counted }))
}

fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(usize::MAX))
}

fn expiry(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
}

/// SQLite's integers have a sign; a time beyond them is never.
fn signed(time: Time) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// Forgets the state of sessions and of trees that nobody has taken up again.
pub(super) fn forget_old_sessions(connection: &Connection, now: Time) -> rusqlite::Result<()> {
    let before = signed(now.saturating_sub(SESSION_KEPT));
    let old = "SELECT id FROM space WHERE scope <> 'plugin' AND touched < ?1";
    if connection.query_row(&format!("{old} LIMIT 1"), [before], |_| Ok(())).optional()?.is_none() {
        return Ok(());
    }
    super::run(connection, "BEGIN IMMEDIATE")?;
    let forgotten = connection
        .execute(&format!("DELETE FROM value WHERE space IN ({old})"), [before])
        .and_then(|_| connection.execute("DELETE FROM space WHERE scope <> 'plugin' AND touched < ?1", [before]))
        .and_then(|_| super::run(connection, "COMMIT"));
    forgotten.inspect_err(|_| {
        let _ = super::run(connection, "ROLLBACK");
    })
}

#[cfg(test)]
mod tests;
