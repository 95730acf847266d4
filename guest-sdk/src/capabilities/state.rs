//! Key-value state of this plugin. No other plugin can read it. This capability needs the grant `state`.
//!
//! Writes take effect only if the call returns. A call sees one snapshot of the state, and in addition the writes that
//! it has made itself.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_1::state as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::state as host;

pub use crate::generated::v0_1::state::{Error, Scope};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the value of `key`, or `None` if there is no such key.
///
/// # Errors
/// Returns an error if the host's store does not answer.
pub fn get(scope: Scope, key: &str) -> Result<Option<Vec<u8>>, Error> {
    host::get(scope, key)
}

/// Sets `key`. The value stays until the scope ends or until the next write.
///
/// # Errors
/// Returns an error if the grant's quota is too small, or the host's store does not answer.
pub fn set(scope: Scope, key: &str, value: &[u8]) -> Result<(), Error> {
    host::set(scope, key, value, None)
}

/// Sets `key`. The value expires after this number of seconds of event time.
///
/// # Errors
/// Returns an error if the grant's quota is too small, or the host's store does not answer.
pub fn set_for(scope: Scope, key: &str, value: &[u8], seconds: u64) -> Result<(), Error> {
    host::set(scope, key, value, Some(seconds))
}

/// Removes `key`. Does nothing if there is no such key.
///
/// # Errors
/// Returns an error if the host's store does not answer.
pub fn delete(scope: Scope, key: &str) -> Result<(), Error> {
    host::delete(scope, key)
}

/// Adds `by` to the number under `key` and returns the sum. A missing key is treated as 0. If several sessions
/// increment a number at the same time, no increment is lost. [`get`] returns the number as decimal text.
///
/// # Errors
/// Returns an error if the grant's quota is too small, or the host's store does not answer.
pub fn increment(scope: Scope, key: &str, by: i64) -> Result<i64, Error> {
    host::increment(scope, key, by)
}

/// Returns the value of `key` that [`set_json`] wrote.
///
/// # Errors
/// Returns the errors of [`get`], and an error if the value does not fit `T`.
pub fn get_json<T: DeserializeOwned>(scope: Scope, key: &str) -> Result<Option<T>, Error> {
    let Some(bytes) = get(scope, key)? else { return Ok(None) };
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|error| Error::Unavailable(format!("the value of `{key}` does not fit: {error}")))
}

/// Sets `key` to a value of your own type, written as JSON.
///
/// # Errors
/// Returns the errors of [`set`], and an error if `value` cannot be written as JSON.
pub fn set_json(scope: Scope, key: &str, value: &impl Serialize) -> Result<(), Error> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| Error::Unavailable(format!("the value of `{key}` cannot be written as JSON: {error}")))?;
    set(scope, key, &bytes)
}
