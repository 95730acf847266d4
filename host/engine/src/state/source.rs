//! The source of a view: the state of one plugin at one moment.

use super::{Namespace, Read, Scope, Time, Usages};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// The state of one plugin in all scopes at one moment, without the values that had expired at that moment.
pub(crate) trait Source: Debug + Send + Sync {
    /// Returns the value at a key.
    ///
    /// # Errors
    /// Returns one sentence with the reason if the state cannot be read.
    fn value(&self, scope: Scope, key: &str) -> Result<Found, String>;

    /// Returns the size of a key and its value in bytes; `None` if there is no such key.
    ///
    /// # Errors
    /// Returns one sentence with the reason if the state cannot be read.
    fn size(&self, scope: Scope, key: &str) -> Result<Option<usize>, String>;

    /// Returns all keys of a scope.
    ///
    /// # Errors
    /// Returns one sentence with the reason if the state cannot be read.
    fn keys(&self, scope: Scope) -> Result<Vec<String>, String>;

    /// Returns the usage of each scope.
    ///
    /// # Errors
    /// Returns one sentence with the reason if the state cannot be read.
    fn usage(&self) -> Result<Usages, String>;
}

/// The result of reading a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The value; `None` if there is no such key.
    Value(Option<Vec<u8>>),
    /// There is a value, but a replay knows only its size.
    SizeAlone,
}

/// All scopes, in memory.
#[derive(Debug)]
pub(crate) struct Namespaces {
    /// In the order of [`Scope::ALL`].
    namespaces: [Arc<Namespace>; Scope::ALL.len()],
    now: Time,
}

/// A source for a replay: the recorded reads of an event's calls, and another source for all other reads.
#[derive(Debug)]
pub(crate) struct RecordedReads {
    /// The reads, by key. A value has precedence over a size.
    pub(crate) values: BTreeMap<(Scope, String), Read>,
    /// The usage of the scopes, if a call has read it.
    pub(crate) usage: Option<Usages>,
    /// The source of all other reads.
    pub(crate) rest: Arc<dyn Source>,
}

impl Namespaces {
    /// Creates the source. The namespaces are in the order of [`Scope::ALL`].
    pub(crate) fn new(namespaces: [Arc<Namespace>; Scope::ALL.len()], now: Time) -> Self {
        Self { namespaces, now }
    }

    fn live(&self, scope: Scope, key: &str) -> Option<&[u8]> {
        self.namespaces[scope as usize].live(key, self.now)
    }
}

impl Source for Namespaces {
    fn value(&self, scope: Scope, key: &str) -> Result<Found, String> {
        Ok(Found::Value(self.live(scope, key).map(<[u8]>::to_vec)))
    }

    fn size(&self, scope: Scope, key: &str) -> Result<Option<usize>, String> {
        Ok(self.live(scope, key).map(|value| key.len() + value.len()))
    }

    fn keys(&self, scope: Scope) -> Result<Vec<String>, String> {
        Ok(self.namespaces[scope as usize].keys(self.now).cloned().collect())
    }

    fn usage(&self) -> Result<Usages, String> {
        Ok(self.namespaces.each_ref().map(|namespace| namespace.usage(self.now)))
    }
}

impl Source for RecordedReads {
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

    fn keys(&self, scope: Scope) -> Result<Vec<String>, String> {
        self.rest.keys(scope)
    }

    fn usage(&self) -> Result<Usages, String> {
        self.usage.map_or_else(|| self.rest.usage(), Ok)
    }
}
