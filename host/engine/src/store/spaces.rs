//! The state of plugins in the database, and the spaces that were read from it.
//!
//! A space has a version, which each commit raises. What is in memory counts as long as the database has the same
//! version, so that what other processes write is seen by the next event.

use super::Unit;
use crate::state::{Scope, Space, Spaces, Stored, Time, Write, Writes};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashMap;
use std::sync::Arc;

/// How long the state of a session is kept after it was last written, in milliseconds: 30 days, so that a session can
/// be taken up again.
const SESSION_KEPT: Time = 30 * 24 * 60 * 60 * 1000;

/// A plugin and a session; no session: the plugin's own, in all sessions.
type Owner = (Arc<str>, String);

/// The spaces that were read.
#[derive(Default)]
pub(super) struct SpaceCache(HashMap<Owner, Cached>);

struct Cached {
    version: i64,
    space: Arc<Space>,
}

/// The versions that the spaces have once a transaction holds.
pub(super) type Changed = Vec<(Owner, i64)>;

fn owner(plugin: &Arc<str>, session: &str, scope: Scope) -> Owner {
    let session = if scope == Scope::Session { session } else { "" };
    (Arc::clone(plugin), session.to_owned())
}

impl SpaceCache {
    /// Both scopes of a plugin, as the database has them now.
    pub(super) fn read(
        &mut self,
        connection: &Connection,
        plugin: &Arc<str>,
        session: &str,
        now: Time,
    ) -> rusqlite::Result<Spaces> {
        // One read transaction: both scopes are of the same moment.
        super::run(connection, "BEGIN")?;
        let both = self
            .read_one(connection, owner(plugin, session, Scope::Session), now)
            .and_then(|session| Ok((session, self.read_one(connection, owner(plugin, "", Scope::Plugin), now)?)));
        super::run(connection, "COMMIT")?;
        let (session, plugin) = both?;
        Ok(Spaces::new(session, plugin))
    }

    fn read_one(&mut self, connection: &Connection, owner: Owner, now: Time) -> rusqlite::Result<Arc<Space>> {
        let Some((id, version)) = find(connection, &owner)? else {
            self.0.remove(&owner);
            return Ok(Arc::default());
        };
        if self.0.get(&owner).is_none_or(|cached| cached.version != version) {
            let space = Arc::new(load(connection, id)?);
            self.0.insert(owner.clone(), Cached { version, space });
        }
        let cached = self.0.entry(owner).or_insert_with(|| Cached { version, space: Arc::default() });
        if cached.space.has_expired(now) {
            Arc::make_mut(&mut cached.space).expire(now);
        }
        Ok(Arc::clone(&cached.space))
    }

    /// Writes what a unit writes, within its transaction.
    pub(super) fn write(&self, connection: &Connection, unit: &Unit) -> rusqlite::Result<Changed> {
        let mut changed = Changed::new();
        for (plugin, writes) in &unit.writes {
            for scope in [Scope::Session, Scope::Plugin] {
                if writes.of(scope).next().is_some() {
                    let owner = owner(plugin, &unit.session, scope);
                    let version = write_one(connection, &owner, writes, scope, unit.time)?;
                    changed.push((owner, version));
                }
            }
        }
        Ok(changed)
    }

    /// Makes the same hold in memory.
    pub(super) fn hold(&mut self, changed: Changed, unit: &Unit) {
        for (owner, version) in changed {
            // What another process has changed in between is read anew.
            let Some(cached) = self.0.get_mut(&owner).filter(|cached| cached.version + 1 == version) else {
                self.0.remove(&owner);
                continue;
            };
            cached.version = version;
            let scope = if owner.1.is_empty() { Scope::Plugin } else { Scope::Session };
            for (_, writes) in unit.writes.iter().filter(|(plugin, _)| *plugin == owner.0) {
                Arc::make_mut(&mut cached.space).apply(scope, writes, unit.time);
            }
        }
    }

    /// Forgets the spaces of a session.
    pub(super) fn forget(&mut self, session: &str) {
        self.0.retain(|(_, of), _| of != session);
    }
}

fn find(connection: &Connection, (plugin, session): &Owner) -> rusqlite::Result<Option<(i64, i64)>> {
    let mut find = connection.prepare_cached("SELECT id, version FROM space WHERE plugin = ?1 AND session = ?2")?;
    find.query_row((&**plugin, session), |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

fn load(connection: &Connection, id: i64) -> rusqlite::Result<Space> {
    let mut values = connection.prepare_cached("SELECT key, value, expires FROM value WHERE space = ?1")?;
    let mut rows = values.query([id])?;
    let mut space = Space::default();
    while let Some(row) = rows.next()? {
        let expires = row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned);
        space.put(&row.get::<_, String>(0)?, Stored { value: row.get(1)?, expires });
    }
    Ok(space)
}

/// Writes to one space; gives its new version.
fn write_one(
    connection: &Connection,
    owner: &Owner,
    writes: &Writes,
    scope: Scope,
    now: Time,
) -> rusqlite::Result<i64> {
    let mut touch = connection.prepare_cached(
        "INSERT INTO space (plugin, session, version, touched) VALUES (?1, ?2, 1, ?3)
         ON CONFLICT (plugin, session) DO UPDATE SET version = version + 1, touched = ?3
         RETURNING id, version",
    )?;
    let (id, version): (i64, i64) =
        touch.query_row((&*owner.0, &owner.1, signed(now)), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut expire = connection.prepare_cached("DELETE FROM value WHERE space = ?1 AND expires <= ?2")?;
    expire.execute((id, signed(now)))?;
    for (key, write) in writes.of(scope) {
        let before = if matches!(write, Write::Add(_)) { value(connection, id, key)? } else { None };
        match Space::after(before.as_ref(), write, now) {
            Some(stored) => {
                let mut put = connection.prepare_cached(
                    "INSERT OR REPLACE INTO value (space, key, value, expires) VALUES (?1, ?2, ?3, ?4)",
                )?;
                put.execute((id, key, stored.value, stored.expires.map(signed)))?;
            }
            None => {
                let mut remove = connection.prepare_cached("DELETE FROM value WHERE space = ?1 AND key = ?2")?;
                remove.execute((id, key))?;
            }
        }
    }
    Ok(version)
}

fn value(connection: &Connection, space: i64, key: &str) -> rusqlite::Result<Option<Stored>> {
    let mut value = connection.prepare_cached("SELECT value, expires FROM value WHERE space = ?1 AND key = ?2")?;
    let stored = |row: &rusqlite::Row<'_>| {
        Ok(Stored { value: row.get(0)?, expires: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned) })
    };
    value.query_row((space, key), stored).optional()
}

/// SQLite's integers have a sign; a time beyond them is never.
fn signed(time: Time) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// Forgets the state of sessions that nobody has taken up again.
pub(super) fn forget_old_sessions(connection: &Connection, now: Time) -> rusqlite::Result<()> {
    let before = signed(now.saturating_sub(SESSION_KEPT));
    let old = "SELECT id FROM space WHERE session <> '' AND touched < ?1";
    if connection.query_row(&format!("{old} LIMIT 1"), [before], |_| Ok(())).optional()?.is_none() {
        return Ok(());
    }
    super::run(connection, "BEGIN IMMEDIATE")?;
    let forgotten = connection
        .execute(&format!("DELETE FROM value WHERE space IN ({old})"), [before])
        .and_then(|_| connection.execute("DELETE FROM space WHERE session <> '' AND touched < ?1", [before]))
        .and_then(|_| super::run(connection, "COMMIT"));
    forgotten.inspect_err(|_| {
        let _ = super::run(connection, "ROLLBACK");
    })
}

#[cfg(test)]
mod tests;
