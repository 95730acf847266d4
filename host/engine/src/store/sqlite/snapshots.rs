//! Snapshots: events read the state key by key, and all values are from one moment.
//!
//! A snapshot is a read transaction on a separate connection. It begins when the event first uses the state. Readers
//! and writers do not wait for each other. But while a read transaction is open, SQLite cannot restart the WAL. So a
//! checkpoint moves the snapshots into memory. An event that finds no free connection also moves a snapshot into
//! memory, and uses its connection.

use super::database::{self, Reader};
use super::namespaces::{self, Counts};
use super::run;
use crate::locked::locked;
use crate::state::{Found, Lineage, Namespace, Namespaces, Scope, Source, Time, Usages};
use crate::store::identity::Identity;
use crate::store::{Owner, StoreError, owner};
use rusqlite::{Connection, ErrorCode};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Maximum number of connections that stay open for reading. Each connection costs file descriptors. Further
/// connections are opened only while all of these are in use.
const MAX_READERS: usize = 32;

/// The connections for reading, and the snapshots that may use a connection.
pub(super) struct Readers {
    path: PathBuf,
    file: Option<Identity>,
    pool: Mutex<Pool>,
    pub(super) counts: Mutex<Counts>,
}

#[derive(Default)]
struct Pool {
    free: Vec<Reader>,
    /// Number of open connections, both free and in use.
    open: usize,
    /// The snapshots that may use a connection.
    snapshots: Vec<Weak<Snapshot>>,
}

/// The identifier and the version of each scope's namespace; `None` if nothing was written to it.
type Ids = [Option<(i64, i64)>; Scope::ALL.len()];

/// A snapshot of one plugin's state, for one event.
pub(super) struct Snapshot {
    readers: Arc<Readers>,
    /// The namespace of each scope.
    owners: [Owner; Scope::ALL.len()],
    now: Time,
    moment: Mutex<Moment>,
}

enum Moment {
    /// The snapshot is not used yet.
    Unread,
    /// The snapshot is the open read transaction of this connection.
    Open { connection: Reader, namespaces: Ids },
    /// The snapshot was moved into memory.
    Loaded(Namespaces),
    /// The state cannot be read, for this reason.
    Failed(String),
}

impl Readers {
    pub(super) fn new(path: PathBuf, file: Option<Identity>) -> Arc<Self> {
        Arc::new(Self { path, file, pool: Mutex::default(), counts: Mutex::default() })
    }

    /// Returns true if a connection for reading is open.
    pub(super) fn is_one_open(&self) -> bool {
        locked(&self.pool).open > 0
    }

    /// Returns a snapshot of a plugin's state. The snapshot is taken at its first use.
    pub(super) fn snapshot(self: &Arc<Self>, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<Snapshot> {
        let owners = Scope::ALL.map(|scope| owner(plugin, lineage, scope));
        let moment = Mutex::new(Moment::Unread);
        Arc::new(Snapshot { readers: Arc::clone(self), owners, now, moment })
    }

    /// Runs a query over a free connection.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let connection = self.take()?;
        let found = read(connection.ask()).map_err(|error| StoreError::of(&error, &self.path));
        self.give_back(connection);
        found
    }

    /// Takes a free connection from the pool. If there is none, opens a new connection, or moves a snapshot into memory
    /// and takes its connection.
    fn take(&self) -> Result<Reader, StoreError> {
        let snapshots = {
            let mut pool = locked(&self.pool);
            if let Some(free) = pool.free.pop() {
                return Ok(free);
            }
            if pool.open < MAX_READERS { Vec::new() } else { pool.snapshots.clone() }
        };
        // Skips a snapshot that is in use at this moment, because the task that uses it may itself be waiting for a
        // connection.
        let given_up = snapshots.iter().filter_map(Weak::upgrade).find_map(|snapshot| {
            let mut moment = snapshot.moment.try_lock().ok()?;
            snapshot.give_up(&mut moment)
        });
        match given_up {
            Some(connection) => Ok(connection),
            None => {
                let connection = database::reader(&self.path, self.file)?;
                locked(&self.pool).open += 1;
                Ok(connection)
            }
        }
    }

    fn give_back(&self, connection: Reader) {
        let mut pool = locked(&self.pool);
        if pool.free.len() < MAX_READERS {
            pool.free.push(connection);
        } else {
            pool.open -= 1;
        }
    }

    fn note(&self, snapshot: &Arc<Snapshot>) {
        let mut pool = locked(&self.pool);
        if pool.snapshots.len() >= 2 * MAX_READERS {
            pool.snapshots.retain(|snapshot| snapshot.strong_count() > 0);
        }
        pool.snapshots.push(Arc::downgrade(snapshot));
    }

    /// Moves every snapshot into memory and ends its read transaction. Returns true if there was an open read
    /// transaction.
    pub(super) fn end_transactions(&self) -> bool {
        let snapshots = std::mem::take(&mut locked(&self.pool).snapshots);
        let mut has_ended_one = false;
        for snapshot in snapshots.iter().filter_map(Weak::upgrade) {
            let connection = snapshot.give_up(&mut locked(&snapshot.moment));
            if let Some(connection) = connection {
                self.give_back(connection);
                has_ended_one = true;
            }
        }
        has_ended_one
    }
}

impl Snapshot {
    fn error(&self, error: &rusqlite::Error) -> String {
        // The query took too many steps, because nothing else interrupts a query.
        if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
            return "reading the state takes more steps than a state within its limits can need".into();
        }
        StoreError::of(error, &self.readers.path).to_string()
    }

    fn begin(&self) -> Moment {
        let connection = match self.readers.take() {
            Ok(connection) => connection,
            Err(error) => return Moment::Failed(error.to_string()),
        };
        // The snapshot begins at the first query after `BEGIN`, and contains all scopes as they are at that moment.
        let found = run(connection.ask(), "BEGIN").and_then(|()| {
            let mut found = Ids::default();
            for (namespace, owner) in found.iter_mut().zip(&self.owners) {
                *namespace = namespaces::find(connection.ask(), owner)?;
            }
            Ok(found)
        });
        match found {
            Ok(namespaces) => Moment::Open { connection, namespaces },
            Err(error) => {
                end(&connection);
                self.readers.give_back(connection);
                Moment::Failed(self.error(&error))
            }
        }
    }

    /// Moves the snapshot into memory, and returns its connection.
    fn give_up(&self, moment: &mut Moment) -> Option<Reader> {
        let Moment::Open { connection, namespaces } = moment else { return None };
        let load = |namespace: Option<(i64, i64)>| match namespace {
            Some((id, _)) => namespaces::load(connection.ask(), id).map(Arc::new),
            None => Ok(Arc::<Namespace>::default()),
        };
        let [session, tree, plugin] = *namespaces;
        let loaded = match load(session).and_then(|session| Ok([session, load(tree)?, load(plugin)?])) {
            Ok(namespaces) => Moment::Loaded(Namespaces::new(namespaces, self.now)),
            Err(error) => Moment::Failed(self.error(&error)),
        };
        let Moment::Open { connection, .. } = std::mem::replace(moment, loaded) else { return None };
        end(&connection);
        Some(connection)
    }

    /// Returns the usage of all scopes. Counts a scope if its usage is not cached.
    fn count(&self, connection: &Connection, namespaces: Ids) -> rusqlite::Result<Usages> {
        let mut usage = Usages::default();
        for ((usage, owner), namespace) in usage.iter_mut().zip(&self.owners).zip(namespaces) {
            let Some((id, version)) = namespace else { continue };
            let known = locked(&self.readers.counts).get(owner, version, self.now);
            *usage = match known {
                Some(usage) => usage,
                None => {
                    let counted = namespaces::count(connection, id, version, self.now)?;
                    locked(&self.readers.counts).put(owner.clone(), counted);
                    counted.usage
                }
            };
        }
        Ok(usage)
    }
}

/// A snapshot as the source of a view.
#[derive(Clone)]
pub(super) struct Reading(pub(super) Arc<Snapshot>);

impl Reading {
    fn with<T>(
        &self,
        open: impl FnOnce(&Connection, Ids) -> rusqlite::Result<T>,
        loaded: impl FnOnce(&Namespaces) -> Result<T, String>,
    ) -> Result<T, String> {
        let Self(snapshot) = self;
        let mut moment = locked(&snapshot.moment);
        if let Moment::Unread = *moment {
            *moment = snapshot.begin();
            snapshot.readers.note(snapshot);
        }
        match &*moment {
            Moment::Open { connection, namespaces } => {
                open(connection.ask(), *namespaces).map_err(|error| snapshot.error(&error))
            }
            Moment::Loaded(namespaces) => loaded(namespaces),
            Moment::Failed(why) => Err(why.clone()),
            Moment::Unread => Err("the state was not read".into()),
        }
    }
}

impl Source for Reading {
    fn value(&self, scope: Scope, key: &str) -> Result<Found, String> {
        let now = self.0.now;
        self.with(
            |connection, namespaces| {
                let Some((namespace, _)) = namespaces[scope as usize] else { return Ok(Found::Value(None)) };
                let stored = namespaces::value(connection, namespace, key)?;
                Ok(Found::Value(stored.filter(|stored| stored.is_live(now)).map(|stored| stored.value)))
            },
            |namespaces| namespaces.value(scope, key),
        )
    }

    fn size(&self, scope: Scope, key: &str) -> Result<Option<usize>, String> {
        let now = self.0.now;
        self.with(
            |connection, namespaces| {
                let Some((namespace, _)) = namespaces[scope as usize] else { return Ok(None) };
                let size = namespaces::size(connection, namespace, key)?;
                let live = size.filter(|(_, expires)| expires.is_none_or(|expires| expires > now));
                Ok(live.map(|(bytes, _)| key.len() + bytes))
            },
            |namespaces| namespaces.size(scope, key),
        )
    }

    fn keys(&self, scope: Scope) -> Result<Vec<String>, String> {
        let now = self.0.now;
        self.with(
            |connection, namespaces| {
                let Some((namespace, _)) = namespaces[scope as usize] else { return Ok(Vec::new()) };
                namespaces::keys(connection, namespace, now)
            },
            |namespaces| namespaces.keys(scope),
        )
    }

    fn usage(&self) -> Result<Usages, String> {
        self.with(|connection, namespaces| self.0.count(connection, namespaces), Source::usage)
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

/// Ends a read transaction. If SQLite has ended it by itself, this has no effect.
fn end(connection: &Reader) {
    let _ = run(connection.ask(), "COMMIT");
}

#[cfg(test)]
mod tests;
