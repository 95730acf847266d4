//! What one call sees of its plugin's state: a snapshot, and its own writes.

use super::{Scope, Space, Time, number};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// What a call wrote, to be committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes(BTreeMap<(Scope, String), Write>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    Set { value: Vec<u8>, expires: Option<Time> },
    Delete,
    Add(i64),
}

/// What a call learnt of the snapshot: with it, the call can be made again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Bytes of keys and values in the session's and in the plugin's scope; absent where the state was not used.
    pub(crate) used: Option<[usize; 2]>,
    pub(crate) values: BTreeMap<(Scope, String), Read>,
    /// Bytes of the keys among them at which there was nothing.
    absent: usize,
    /// Keys at which there was nothing, and which are not among them: a guest can ask for any number of them.
    pub(crate) incomplete: bool,
}

/// What a call learnt of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Value(Option<Vec<u8>>),
    /// Only how many bytes key and value are, since they count against the quota; absent where there was no such key.
    Size(Option<usize>),
}

/// Why a write was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StateError {
    QuotaExceeded,
    Unavailable(String),
}

/// The two scopes of a plugin at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spaces {
    pub(crate) session: Arc<Space>,
    pub(crate) plugin: Arc<Space>,
    /// Bytes in the session's and in the plugin's scope.
    pub(crate) used: [usize; 2],
}

/// The state of one plugin for one event, read when it is first used, and then once.
pub(crate) struct Snapshot {
    read: Box<dyn Fn() -> Result<Spaces, String> + Send + Sync>,
    spaces: OnceLock<Result<Spaces, String>>,
}

/// What one call sees: a snapshot and its own writes.
#[derive(Clone, Debug)]
pub(crate) struct View {
    snapshot: Arc<Snapshot>,
    writes: Writes,
    reads: Reads,
    /// Bytes of keys and values, own writes included, of the session's and of the plugin's scope.
    used: [usize; 2],
    quota: usize,
    now: Time,
}

impl Writes {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Scope, &str, &Write)> {
        self.0.iter().map(|((scope, key), write)| (*scope, key.as_str(), write))
    }

    pub(crate) fn of(&self, scope: Scope) -> impl Iterator<Item = (&str, &Write)> {
        self.iter().filter(move |(of, ..)| *of == scope).map(|(_, key, write)| (key, write))
    }
}

impl Write {
    /// What it occupies: a key and its value, or the most that a number can be.
    fn bytes(&self, key: &str) -> usize {
        match self {
            Self::Set { value, .. } => key.len() + value.len(),
            Self::Add(_) => key.len() + i64::MIN.to_string().len(),
            Self::Delete => 0,
        }
    }
}

impl Spaces {
    pub(crate) fn new(session: Arc<Space>, plugin: Arc<Space>) -> Self {
        let used = [session.bytes(), plugin.bytes()];
        Self { session, plugin, used }
    }

    fn of(&self, scope: Scope) -> &Space {
        match scope {
            Scope::Session => &self.session,
            Scope::Plugin => &self.plugin,
        }
    }
}

impl Snapshot {
    pub(crate) fn new(read: impl Fn() -> Result<Spaces, String> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { read: Box::new(read), spaces: OnceLock::new() })
    }

    pub(crate) fn read_spaces(&self) -> Result<Spaces, String> {
        self.spaces.get_or_init(|| (self.read)()).clone()
    }

    fn spaces(&self) -> Result<&Spaces, StateError> {
        let spaces = self.spaces.get_or_init(|| (self.read)());
        spaces.as_ref().map_err(|why| StateError::Unavailable(why.clone()))
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("spaces", &self.spaces).finish_non_exhaustive()
    }
}

impl View {
    /// A view at `now` that may fill each scope up to `quota` bytes.
    pub(crate) fn new(snapshot: Arc<Snapshot>, quota: usize, now: Time) -> Self {
        Self { snapshot, writes: Writes::default(), reads: Reads::default(), used: [0; 2], quota, now }
    }

    pub(crate) fn get(&mut self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        match self.writes.0.get(&(scope, key.to_owned())) {
            Some(Write::Set { value, expires }) => {
                Ok(expires.is_none_or(|expires| expires > self.now).then(|| value.clone()))
            }
            Some(Write::Delete) => Ok(None),
            Some(&Write::Add(by)) => Ok(Some(self.number(scope, key)?.saturating_add(by).to_string().into_bytes())),
            None => self.read(scope, key),
        }
    }

    pub(crate) fn set(
        &mut self,
        scope: Scope,
        key: &str,
        value: Vec<u8>,
        ttl_seconds: Option<u64>,
    ) -> Result<(), StateError> {
        let expires = ttl_seconds.map(|seconds| self.now.saturating_add(seconds.saturating_mul(1000)));
        self.write(scope, key, Write::Set { value, expires })
    }

    pub(crate) fn delete(&mut self, scope: Scope, key: &str) -> Result<(), StateError> {
        if self.size(scope, key)?.is_some() {
            return self.write(scope, key, Write::Delete);
        }
        // What is not there need not be remembered: a guest could fill the host's memory with the names of it.
        if let Some(written) = self.writes.0.remove(&(scope, key.to_owned())) {
            self.used[scope as usize] = self.used[scope as usize].saturating_sub(written.bytes(key));
        }
        Ok(())
    }

    pub(crate) fn increment(&mut self, scope: Scope, key: &str, by: i64) -> Result<i64, StateError> {
        let place = (scope, key.to_owned());
        let (write, sum) = match self.writes.0.get(&place) {
            Some(Write::Add(before)) => {
                let by = before.saturating_add(by);
                (Write::Add(by), self.number(scope, key)?.saturating_add(by))
            }
            Some(Write::Set { value, expires }) if expires.is_none_or(|expires| expires > self.now) => {
                let sum = parse(value, key)?.saturating_add(by);
                (Write::Set { value: sum.to_string().into_bytes(), expires: *expires }, sum)
            }
            Some(Write::Delete | Write::Set { .. }) => {
                (Write::Set { value: by.to_string().into_bytes(), expires: None }, by)
            }
            None => (Write::Add(by), self.number(scope, key)?.saturating_add(by)),
        };
        self.write(scope, key, write)?;
        Ok(sum)
    }

    /// Bytes used in the session's and in the plugin's scope.
    pub(crate) fn used(&self) -> [usize; 2] {
        self.used
    }

    /// What it wrote, and what it learnt.
    pub(crate) fn into_parts(self) -> (Writes, Reads) {
        (self.writes, self.reads)
    }

    /// A write counts with its key and value against the quota of its scope.
    fn write(&mut self, scope: Scope, key: &str, write: Write) -> Result<(), StateError> {
        let place = (scope, key.to_owned());
        let before = match self.writes.0.get(&place) {
            Some(write) => write.bytes(key),
            None => self.size(scope, key)?.unwrap_or(0),
        };
        let used = self.used[scope as usize].saturating_sub(before).saturating_add(write.bytes(key));
        if used > self.quota && write.bytes(key) > before {
            return Err(StateError::QuotaExceeded);
        }
        self.used[scope as usize] = used;
        self.writes.0.insert(place, write);
        Ok(())
    }

    /// The snapshot; from its first use on, what is used counts.
    fn spaces(&mut self) -> Result<&Spaces, StateError> {
        let spaces = self.snapshot.spaces()?;
        if self.reads.used.is_none() {
            self.reads.used = Some(spaces.used);
            self.used = spaces.used;
        }
        Ok(spaces)
    }

    fn read(&mut self, scope: Scope, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        let now = self.now;
        let space = self.spaces()?.of(scope);
        let (value, is_unknown) = (space.live(key, now).map(<[u8]>::to_vec), space.is_unknown(key));
        self.reads.incomplete |= is_unknown;
        self.note(scope, key, Read::Value(value.clone()));
        Ok(value)
    }

    /// What a key and its value occupy, in bytes.
    pub(crate) fn size(&mut self, scope: Scope, key: &str) -> Result<Option<usize>, StateError> {
        let size = self.spaces()?.of(scope).size_of(key);
        self.note(scope, key, Read::Size(size));
        Ok(size)
    }

    /// What was learnt of a value counts for more than what was learnt of its size.
    fn note(&mut self, scope: Scope, key: &str, read: Read) {
        let place = (scope, key.to_owned());
        match self.reads.values.get_mut(&place) {
            Some(noted @ Read::Size(_)) => *noted = read,
            Some(Read::Value(_)) => {}
            None => {
                if matches!(read, Read::Value(None) | Read::Size(None)) {
                    if self.reads.absent.saturating_add(key.len()) > self.quota {
                        self.reads.incomplete = true;
                        return;
                    }
                    self.reads.absent += key.len();
                }
                self.reads.values.insert(place, read);
            }
        }
    }

    fn number(&mut self, scope: Scope, key: &str) -> Result<i64, StateError> {
        self.read(scope, key)?.map_or(Ok(0), |value| parse(&value, key))
    }
}

fn parse(value: &[u8], key: &str) -> Result<i64, StateError> {
    number(value).ok_or_else(|| StateError::Unavailable(format!("the value of `{key}` is not a decimal number")))
}
