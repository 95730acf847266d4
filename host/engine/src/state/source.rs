//! Where a view reads: the state of one plugin at one moment.

use super::{Read, Scope, Space, Time, Usages};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// The scopes of a plugin at one moment. What has expired by then is not there.
pub(crate) trait Source: Debug + Send + Sync {
    /// The value at a key.
    ///
    /// # Errors
    /// If it cannot be read; one sentence on why.
    fn value(&self, scope: Scope, key: &str) -> Result<Found, String>;

    /// Bytes of a key and its value; none where there is no such key.
    ///
    /// # Errors
    /// If it cannot be read; one sentence on why.
    fn size(&self, scope: Scope, key: &str) -> Result<Option<usize>, String>;

    /// What each scope holds.
    ///
    /// # Errors
    /// If it cannot be read; one sentence on why.
    fn usage(&self) -> Result<Usages, String>;
}

/// What is at a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The value; none where there is no such key.
    Value(Option<Vec<u8>>),
    /// There is a value, of which a replay knows no more than its size.
    SizeAlone,
}

/// All scopes in memory.
#[derive(Debug)]
pub(crate) struct Spaces {
    /// In the order of [`Scope::ALL`].
    spaces: [Arc<Space>; Scope::ALL.len()],
    now: Time,
}

/// What recorded calls of an event learnt of the state, over a state that knows the rest.
#[derive(Debug)]
pub(crate) struct Learnt {
    /// What was learnt, by key; a value counts for more than its size.
    pub(crate) values: BTreeMap<(Scope, String), Read>,
    /// What the scopes held, where the calls learnt it.
    pub(crate) usage: Option<Usages>,
    /// All else.
    pub(crate) rest: Arc<dyn Source>,
}

impl Spaces {
    /// The spaces in the order of [`Scope::ALL`].
    pub(crate) fn new(spaces: [Arc<Space>; Scope::ALL.len()], now: Time) -> Self {
        Self { spaces, now }
    }

    fn live(&self, scope: Scope, key: &str) -> Option<&[u8]> {
        self.spaces[scope as usize].live(key, self.now)
    }
}

impl Source for Spaces {
    fn value(&self, scope: Scope, key: &str) -> Result<Found, String> {
        Ok(Found::Value(self.live(scope, key).map(<[u8]>::to_vec)))
    }

    fn size(&self, scope: Scope, key: &str) -> Result<Option<usize>, String> {
        Ok(self.live(scope, key).map(|value| key.len() + value.len()))
    }

    fn usage(&self) -> Result<Usages, String> {
        Ok(self.spaces.each_ref().map(|space| space.usage(self.now)))
    }
}

impl Source for Learnt {
    fn value(&self, scope: Scope, key: &str) -> Result<Found, String> {
        match self.values.get(&(scope, key.to_owned())) {
            Some(Read::Value(value)) => Ok(Found::Value(value.clone())),
            Some(Read::Size(None)) => Ok(Found::Value(None)),
            Some(Read::Size(Some(_))) => Ok(Found::SizeAlone),
            None => self.rest.value(scope, key),
        }
    }

    fn size(&self, scope: Scope, key: &str) -> Result<Option<usize>, String> {
        match self.values.get(&(scope, key.to_owned())) {
            Some(Read::Value(value)) => Ok(value.as_ref().map(|value| key.len() + value.len())),
            Some(Read::Size(size)) => Ok(*size),
            None => self.rest.size(scope, key),
        }
    }

    fn usage(&self) -> Result<Usages, String> {
        self.usage.map_or_else(|| self.rest.usage(), Ok)
    }
}
