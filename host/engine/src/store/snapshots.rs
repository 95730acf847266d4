//! What events read of the state: one moment of it, key by key.
//!
//! A snapshot is a read transaction on a connection of its own, begun when the state is first used: SQLite keeps the moment,
//! no reader waits for a writer, and nobody else's lock is held. A moment that is kept for long keeps the WAL from being begun
//! anew, so whoever needs that, or needs a connection when all are in use, moves what the snapshot can still be asked for into memory.

use super::database::{self, Identity};
use super::spaces::{self, Counts};
use super::{Owner, StoreError, owner, run};
use crate::state::{Found, Lineage, Scope, Source, Space, Spaces, Time, Usages};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Connections that are open for reading at once; each costs file descriptors. More only where all others are being used at this very
/// moment.
const MAX_READERS: usize = 32;

/// The connections for reading, and who has one.
pub(super) struct Readers {
    path: PathBuf,
    file: Option<Identity>,
    pool: Mutex<Pool>,
    pub(super) counts: Mutex<Counts>,
}

#[derive(Default)]
struct Pool {
    free: Vec<Connection>,
    /// How many are open, free or not.
    open: usize,
    /// Those that may have one.
    snapshots: Vec<Weak<Snapshot>>,
}

/// The identifier and the version of each scope's space; none where nothing was written to it.
type Ids = [Option<(i64, i64)>; Scope::ALL.len()];

/// The state of one plugin for one event.
pub(super) struct Snapshot {
    readers: Arc<Readers>,
    /// Of each scope.
    owners: [Owner; Scope::ALL.len()],
    now: Time,
    moment: Mutex<Moment>,
}

enum Moment {
    /// Not used yet.
    Unread,
    /// As the transaction of this connection has it.
    Open { connection: Connection, spaces: Ids },
    /// In memory.
    Loaded(Spaces),
    /// It cannot be read; why.
    Failed(String),
}

impl Readers {
    pub(super) fn new(path: PathBuf, file: Option<Identity>) -> Arc<Self> {
        Arc::new(Self { path, file, pool: Mutex::default(), counts: Mutex::default() })
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a plugin as it is when it is first used.
    pub(super) fn snapshot(self: &Arc<Self>, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<Snapshot> {
        let owners = Scope::ALL.map(|scope| owner(plugin, lineage, scope));
        let moment = Mutex::new(Moment::Unread);
        Arc::new(Snapshot { readers: Arc::clone(self), owners, now, moment })
    }

    /// Reads something by a connection that nobody uses.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let connection = self.take()?;
        let found = read(&connection).map_err(|error| StoreError::of(&error, &self.path));
        self.give_back(connection);
        found
    }

    /// A connection that nobody uses.
    fn take(&self) -> Result<Connection, StoreError> {
        let snapshots = {
            let mut pool = self.pool();
            if let Some(free) = pool.free.pop() {
                return Ok(free);
            }
            if pool.open < MAX_READERS { Vec::new() } else { pool.snapshots.clone() }
        };
        // Not one that is being read: its reader may be looking for a connection in turn.
        let given_up = snapshots.iter().filter_map(Weak::upgrade).find_map(|snapshot| {
            let mut moment = snapshot.moment.try_lock().ok()?;
            snapshot.give_up(&mut moment)
        });
        match given_up {
            Some(connection) => Ok(connection),
            None => {
                let connection = database::reader(&self.path, self.file)?;
                self.pool().open += 1;
                Ok(connection)
            }
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut pool = self.pool();
        if pool.free.len() < MAX_READERS {
            pool.free.push(connection);
        } else {
            pool.open -= 1;
        }
    }

    fn note(&self, snapshot: &Arc<Snapshot>) {
        let mut pool = self.pool();
        if pool.snapshots.len() >= 2 * MAX_READERS {
            pool.snapshots.retain(|snapshot| snapshot.strong_count() > 0);
        }
        pool.snapshots.push(Arc::downgrade(snapshot));
    }

    /// Ends every read transaction, and says whether there was one; what is still read of them is in memory then.
    pub(super) fn end_transactions(&self) -> bool {
        let snapshots = std::mem::take(&mut self.pool().snapshots);
        let mut has_ended_one = false;
        for snapshot in snapshots.iter().filter_map(Weak::upgrade) {
            let connection = snapshot.give_up(&mut snapshot.moment());
            if let Some(connection) = connection {
                self.give_back(connection);
                has_ended_one = true;
            }
        }
        has_ended_one
    }
}

impl Snapshot {
    fn moment(&self) -> MutexGuard<'_, Moment> {
        self.moment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, error: &rusqlite::Error) -> String {
        StoreError::of(error, &self.readers.path).to_string()
    }

    fn begin(&self) -> Moment {
        let connection = match self.readers.take() {
            Ok(connection) => connection,
            Err(error) => return Moment::Failed(error.to_string()),
        };
        // The first reading fixes the moment, of all scopes.
        let found = run(&connection, "BEGIN").and_then(|()| {
            let mut found = Ids::default();
            for (space, owner) in found.iter_mut().zip(&self.owners) {
                *space = spaces::find(&connection, owner)?;
            }
            Ok(found)
        });
        match found {
            Ok(spaces) => Moment::Open { connection, spaces },
            Err(error) => {
                end(&connection);
                self.readers.give_back(connection);
                Moment::Failed(self.error(&error))
            }
        }
    }

    /// Moves what can still be asked for into memory, and gives the connection.
    fn give_up(&self, moment: &mut Moment) -> Option<Connection> {
        let Moment::Open { connection, spaces } = moment else { return None };
        let load = |space: Option<(i64, i64)>| match space {
            Some((id, _)) => spaces::load(connection, id).map(Arc::new),
            None => Ok(Arc::<Space>::default()),
        };
        let [session, tree, plugin] = *spaces;
        let loaded = match load(session).and_then(|session| Ok([session, load(tree)?, load(plugin)?])) {
            Ok(spaces) => Moment::Loaded(Spaces::new(spaces, self.now)),
            Err(error) => Moment::Failed(self.error(&error)),
        };
        let Moment::Open { connection, .. } = std::mem::replace(moment, loaded) else { return None };
        end(&connection);
        Some(connection)
    }

    /// Counts what the scopes hold, unless that is known.
    fn count(&self, connection: &Connection, spaces: Ids) -> rusqlite::Result<Usages> {
        let mut usage = Usages::default();
        for ((usage, owner), space) in usage.iter_mut().zip(&self.owners).zip(spaces) {
            let Some((id, version)) = space else { continue };
            let known = self.readers.counts().get(owner, version, self.now);
            *usage = match known {
                Some(usage) => usage,
                None => {
                    let counted = spaces::count(connection, id, version, self.now)?;
                    self.readers.counts().put(owner.clone(), counted);
                    counted.usage
                }
            };
        }
        Ok(usage)
    }
}

/// A snapshot, and that it may come to have a connection.
#[derive(Clone)]
pub(super) struct Reading(pub(super) Arc<Snapshot>);

impl Reading {
    fn with<T>(
        &self,
        open: impl FnOnce(&Connection, Ids) -> rusqlite::Result<T>,
        loaded: impl FnOnce(&Spaces) -> Result<T, String>,
    ) -> Result<T, String> {
        let Self(snapshot) = self;
        let mut moment = snapshot.moment();
        if let Moment::Unread = *moment {
            *moment = snapshot.begin();
            snapshot.readers.note(snapshot);
        }
        match &*moment {
            Moment::Open { connection, spaces } => open(connection, *spaces).map_err(|error| snapshot.error(&error)),
            Moment::Loaded(spaces) => loaded(spaces),
            Moment::Failed(why) => Err(why.clone()),
            Moment::Unread => Err("the state was not read".into()),
        }
    }
}

impl Source for Reading {
    fn value(&self, scope: Scope, key: &str) -> Result<Found, String> {
        let now = self.0.now;
        self.with(
            |connection, spaces| {
                let Some((space, _)) = spaces[scope as usize] else { return Ok(Found::Value(None)) };
                let stored = spaces::value(connection, space, key)?;
                Ok(Found::Value(stored.filter(|stored| stored.is_live(now)).map(|stored| stored.value)))
            },
            |spaces| spaces.value(scope, key),
        )
    }

    fn size(&self, scope: Scope, key: &str) -> Result<Option<usize>, String> {
        let now = self.0.now;
        self.with(
            |connection, spaces| {
                let Some((space, _)) = spaces[scope as usize] else { return Ok(None) };
                let size = spaces::size(connection, space, key)?;
                let live = size.filter(|(_, expires)| expires.is_none_or(|expires| expires > now));
                Ok(live.map(|(bytes, _)| key.len() + bytes))
            },
            |spaces| spaces.size(scope, key),
        )
    }

    fn usage(&self) -> Result<Usages, String> {
        self.with(|connection, spaces| self.0.count(connection, spaces), Source::usage)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let moment = self.moment.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Moment::Open { connection, .. } = std::mem::replace(moment, Moment::Unread) {
            end(&connection);
            self.readers.give_back(connection);
        }
    }
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("owners", &self.0.owners).finish_non_exhaustive()
    }
}

/// Ends a read transaction; where SQLite has ended it by itself there is none.
fn end(connection: &Connection) {
    let _ = run(connection, "COMMIT");
}

#[cfg(test)]
mod tests;
