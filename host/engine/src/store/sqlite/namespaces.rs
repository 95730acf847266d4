//! Stores the state of plugins in the database, with one row for each key.
//!
//! Each commit that writes to a namespace raises the namespace's version. The size of a namespace is counted once and
//! cached. Other processes may write to the namespace, too, so the cached size is used only while the database has the
//! same version.

use super::database::one_row;
use crate::state::{KEY_COST, Lineage, MAX_KEYS, Namespace, Scope, StoredValue, Time, Usage, Write, Writes};
use crate::store::{Owner, TreeValue, Unit, owner};
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashMap;

/// Time for which the state of a session or a tree is kept after its last write, in milliseconds. It is 30 days,
/// because a session may be continued after a break.
pub(super) const SESSION_RETENTION: Time = 30 * 24 * 60 * 60 * 1000;

/// The cached sizes of namespaces.
#[derive(Default)]
pub(super) struct Counts(HashMap<Owner, NamespaceSize>);

/// The size of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamespaceSize {
    version: i64,
    pub(super) usage: Usage,
    /// Time at which the first value expires. It is 0 if the size must be counted again at its next use. This is the
    /// case if an expired value is still stored, or if some rows were not counted.
    next_expiry: Option<Time>,
}

/// The new sizes after a commit; `None` for a namespace that has to be counted again.
pub(super) type ChangedSizes = Vec<(Owner, Option<NamespaceSize>)>;

impl NamespaceSize {
    fn holds(&self, version: i64, now: Time) -> bool {
        self.version == version && self.next_expiry.is_none_or(|expiry| expiry > now)
    }
}

impl Counts {
    pub(super) fn get(&self, owner: &Owner, version: i64, now: Time) -> Option<Usage> {
        self.0.get(owner).filter(|counted| counted.holds(version, now)).map(|counted| counted.usage)
    }

    /// Caches a size, unless the size of a newer version is cached.
    pub(super) fn put(&mut self, owner: Owner, counted: NamespaceSize) {
        let newer = self.0.get(&owner).is_some_and(|known| known.version > counted.version);
        if !newer {
            self.0.insert(owner, counted);
        }
    }

    /// Updates the cached sizes after a commit.
    pub(super) fn hold(&mut self, changed: ChangedSizes) {
        for (owner, counted) in changed {
            match counted {
                Some(counted) => drop(self.0.insert(owner, counted)),
                None => drop(self.0.remove(&owner)),
            }
        }
    }

    /// Removes the cached sizes of a session and of its tree.
    pub(super) fn forget(&mut self, lineage: Lineage<'_>) {
        self.0.retain(|owner, _| owner.scope == Scope::Plugin || owner.session != lineage.of(owner.scope));
    }
}

/// Returns the identifier and the version of a namespace.
pub(super) fn find(connection: &Connection, owner: &Owner) -> rusqlite::Result<Option<(i64, i64)>> {
    let mut find =
        connection.prepare_cached("SELECT id, version FROM space WHERE plugin = ?1 AND scope = ?2 AND session = ?3")?;
    find.query_row((&*owner.plugin, owner.scope.name(), &owner.session), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Returns the value at a key, even if it has expired.
pub(super) fn value(connection: &Connection, namespace: i64, key: &str) -> rusqlite::Result<Option<StoredValue>> {
    let mut value = connection.prepare_cached("SELECT value, expires FROM value WHERE space = ?1 AND key = ?2")?;
    let stored = |row: &rusqlite::Row<'_>| Ok(StoredValue { value: row.get(0)?, expires: expiry(row, 1)? });
    value.query_row((namespace, key), stored).optional()
}

/// Returns the size of the value at a key, in bytes, and the expiry. The value itself is not read.
pub(super) fn size(
    connection: &Connection,
    namespace: i64,
    key: &str,
) -> rusqlite::Result<Option<(usize, Option<Time>)>> {
    let mut size =
        connection.prepare_cached("SELECT octet_length(value), expires FROM value WHERE space = ?1 AND key = ?2")?;
    size.query_row((namespace, key), |row| Ok((number(row, 0)?, expiry(row, 1)?))).optional()
}

/// Returns the keys of a namespace that have not expired.
pub(super) fn keys(connection: &Connection, namespace: i64, now: Time) -> rusqlite::Result<Vec<String>> {
    let mut keys = connection.prepare_cached(
        "SELECT key FROM value WHERE space = ?1 AND (expires IS NULL OR expires > ?2) ORDER BY key LIMIT ?3",
    )?;
    let most = i64::try_from(MAX_KEYS).unwrap_or(i64::MAX);
    keys.query_map((namespace, signed(now), most), |row| row.get(0))?.collect()
}

/// Maximum number of rows that are counted. Expired values are removed before a value is added, so only an earlier
/// version or another program can have stored more rows.
const MAX_COUNTED: usize = 4 * MAX_KEYS;

/// Counts the values of a namespace that have not expired, up to [`MAX_COUNTED`] rows.
pub(super) fn count(
    connection: &Connection,
    namespace: i64,
    version: i64,
    now: Time,
) -> rusqlite::Result<NamespaceSize> {
    // Expired values do not belong to the size. But while expired values are stored, the size must be counted again at
    // its next use, because removing them changes the number of rows.
    let mut count = connection.prepare_cached(
        "SELECT count(*) FILTER (WHERE live), ifnull(sum(bytes) FILTER (WHERE live), 0), min(expires) FILTER (WHERE live),
           count(*) FILTER (WHERE NOT live), count(*)
         FROM (
           SELECT octet_length(key) + octet_length(value) AS bytes, expires, expires IS NULL OR expires > ?2 AS live
           FROM value WHERE space = ?1 LIMIT ?3
         )",
    )?;
    count.query_row((namespace, signed(now), i64::try_from(MAX_COUNTED).unwrap_or(i64::MAX)), |row| {
        let (keys, bytes): (usize, usize) = (number(row, 0)?, number(row, 1)?);
        let (expired, rows) = (number(row, 3)?, number(row, 4)?);
        // If some of the counted values have expired, the namespace is not treated as full, because the next write
        // removes these values. After that, the rows beyond the maximum can be counted.
        let is_full = rows == MAX_COUNTED && expired == 0;
        let keys = if is_full { keys.max(MAX_KEYS + 1) } else { keys };
        let usage = Usage { keys, bytes: bytes.saturating_add(keys.saturating_mul(KEY_COST)) };
        let is_in_part = expired > 0 || rows == MAX_COUNTED;
        let next_expiry = if is_in_part { Some(0) } else { expiry(row, 2)? };
        Ok(NamespaceSize { version, usage, next_expiry })
    })
}

/// Loads all values of a namespace.
pub(super) fn load(connection: &Connection, namespace: i64) -> rusqlite::Result<Namespace> {
    let mut values = connection.prepare_cached("SELECT key, value, expires FROM value WHERE space = ?1")?;
    let mut rows = values.query([namespace])?;
    let mut loaded = Namespace::default();
    while let Some(row) = rows.next()? {
        loaded.put(&row.get::<_, String>(0)?, StoredValue { value: row.get(1)?, expires: expiry(row, 2)? });
    }
    Ok(loaded)
}

/// Returns all values of a plugin in the scope `tree`, ordered by the session at the root of the tree and by key.
pub(super) fn tree_values(connection: &Connection, plugin: &str) -> rusqlite::Result<Vec<TreeValue>> {
    let mut values = connection.prepare_cached(
        "SELECT space.session, value.key, value.value FROM space JOIN value ON value.space = space.id
         WHERE space.plugin = ?1 AND space.scope = ?2 ORDER BY space.session, value.key",
    )?;
    let value = |row: &rusqlite::Row<'_>| Ok(TreeValue { session: row.get(0)?, key: row.get(1)?, value: row.get(2)? });
    values.query_map((plugin, Scope::Tree.name()), value)?.collect()
}

/// Applies a unit's writes, within its transaction.
pub(super) fn write(connection: &Connection, counts: &Counts, unit: &Unit) -> rusqlite::Result<ChangedSizes> {
    let mut changed = ChangedSizes::new();
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

/// Writes to one namespace. Returns the new size of the namespace, if it is known without counting.
fn write_one(
    connection: &Connection,
    owner: &Owner,
    counted: Option<&NamespaceSize>,
    writes: &Writes,
    now: Time,
) -> rusqlite::Result<Option<NamespaceSize>> {
    let mut touch = connection.prepare_cached(
        "INSERT INTO space (plugin, scope, session, version, touched) VALUES (?1, ?2, ?3, 1, ?4)
         ON CONFLICT (plugin, scope, session) DO UPDATE SET version = version + 1, touched = ?4
         RETURNING id, version",
    )?;
    let place = (&*owner.plugin, owner.scope.name(), &owner.session, signed(now));
    let (id, version): (i64, i64) = touch.query_row(place, |row| Ok((row.get(0)?, row.get(1)?)))?;
    // The size is counted again if another process has changed the namespace, or if not all of its rows were counted.
    let known = counted.copied().filter(|counted| counted.holds(version - 1, now));
    let mut counted = known.filter(|counted| counted.usage.keys <= MAX_KEYS);
    if known.is_none() {
        let mut expire = connection.prepare_cached("DELETE FROM value WHERE space = ?1 AND expires <= ?2")?;
        expire.execute((id, signed(now)))?;
    }
    for (key, write) in writes.of(owner.scope) {
        let before = size(connection, id, key)?;
        let stored = match write {
            Write::Add(_) => Namespace::after(value(connection, id, key)?.as_ref(), write, now),
            Write::Set { .. } | Write::Delete => Namespace::after(None, write, now),
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
    Ok(counted.map(|counted| NamespaceSize { version, ..counted }))
}

fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<usize> {
    Ok(usize::try_from(row.get::<_, i64>(column)?).unwrap_or(usize::MAX))
}

fn expiry(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Time>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
}

/// Converts a time to an integer of SQLite, which is signed. A time beyond the range becomes the largest integer. This
/// changes nothing, because neither time is ever reached.
pub(super) fn signed(time: Time) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// Deletes the state of sessions and trees that was last written before this time, within a transaction. The state of
/// a session that still has a row stays, because the session still has events.
pub(super) fn forget_old(connection: &Connection, before: i64) -> rusqlite::Result<()> {
    let old = "FROM space WHERE scope <> 'plugin' AND touched < ?1 AND session NOT IN (SELECT id FROM session)";
    connection.execute(&format!("DELETE FROM value WHERE space IN (SELECT id {old})"), [before])?;
    connection.execute(&format!("DELETE {old}"), [before]).map(drop)
}

#[cfg(test)]
mod tests;
