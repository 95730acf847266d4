//! The capability `state`: values that the plugin stores.

use super::{Guest, of_the_contract, wit};
use crate::sandbox::processor_time;
use crate::state::{Scope, StateError, View};
use wit::state as interface;

type StateResult<T> = wasmtime::Result<Result<T, interface::Error>>;

impl From<interface::Scope> for Scope {
    fn from(scope: interface::Scope) -> Self {
        match scope {
            interface::Scope::Session => Self::Session,
            interface::Scope::Tree => Self::Tree,
            interface::Scope::Plugin => Self::Plugin,
        }
    }
}

impl From<StateError> for interface::Error {
    fn from(error: StateError) -> Self {
        match error {
            StateError::QuotaExceeded => Self::QuotaExceeded,
            StateError::Unavailable(why) => Self::Unavailable(why),
        }
    }
}

impl Guest {
    fn with_state<T>(&mut self, use_it: impl FnOnce(&mut View) -> Result<T, StateError>) -> StateResult<T> {
        self.count_call()?;
        let answer = match &mut self.given.state {
            Some(view) => use_it(view).map_err(Into::into),
            None => Err(interface::Error::Unavailable("`configure` has no state".into())),
        };
        // Check the time again, because the access may have waited for a disk.
        processor_time::check(self.compute())?;
        Ok(answer)
    }

    /// Like `with_state`, but for writes: fails if the event has no record, because the writes would not be stored.
    fn with_kept_state<T>(&mut self, use_it: impl FnOnce(&mut View) -> Result<T, StateError>) -> StateResult<T> {
        if !self.given.is_recorded {
            self.count_call()?;
            let why = "`audit-record` has no record, so writes to the state are not stored";
            return Ok(Err(interface::Error::Unavailable(why.into())));
        }
        self.with_state(use_it)
    }
}

/// The capability `state`.
pub(super) struct Values;

of_the_contract!(Values = state, "state", Some(r#"state = { quota = "1MiB" }"#), |grants| grants.state.is_some());

impl interface::Host for Guest {
    fn get(&mut self, scope: interface::Scope, key: String) -> StateResult<Option<Vec<u8>>> {
        self.with_state(|view| view.get(scope.into(), &key))
    }

    fn set(
        &mut self,
        scope: interface::Scope,
        key: String,
        value: Vec<u8>,
        ttl_seconds: Option<u64>,
    ) -> StateResult<()> {
        self.with_kept_state(|view| view.set(scope.into(), &key, value, ttl_seconds))
    }

    fn delete(&mut self, scope: interface::Scope, key: String) -> StateResult<()> {
        self.with_kept_state(|view| view.delete(scope.into(), &key))
    }

    fn increment(&mut self, scope: interface::Scope, key: String, by: i64) -> StateResult<i64> {
        self.with_kept_state(|view| view.increment(scope.into(), &key, by))
    }
}
