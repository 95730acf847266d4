//! Key-value state of this plugin; no other plugin sees it. Needs the grant `state`.
//!
//! Writes take effect only if the call returns. An event sees one snapshot, and its own writes.

#[cfg(target_arch = "wasm32")]
use crate::generated::hookhost::hooks::state as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::state as host;

pub use crate::generated::hookhost::hooks::state::{Error, Scope};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the value of `key`, or `None` if there is no such key.
///
/// # Errors
/// Returns an error if the host's store does not answer.
pub fn get(scope: Scope, key: &str) -> Result<Option<Vec<u8>>, Error> {
    host::get(scope, key)
}

/// Sets `key`, until the scope ends or another write.
///
/// # Errors
/// Returns an error if the grant's quota is too small, or the host's store does not answer.
pub fn set(scope: Scope, key: &str, value: &[u8]) -> Result<(), Error> {
    host::set(scope, key, value, None)
}

/// Sets `key` for this number of seconds of event time.
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

/// Adds to the number under `key` (absent: 0) and returns the sum. No count is lost between concurrent sessions. [`get`] reads the number
/// as decimal text.
///
/// # Errors
/// Returns an error if the grant's quota is too small, or the host's store does not answer.
pub fn increment(scope: Scope, key: &str, by: i64) -> Result<i64, Error> {
    host::increment(scope, key, by)
}

/// Returns the value of `key`, which [`set_json`] wrote.
///
/// # Errors
/// Returns the errors of [`get`], and an error if the bytes do not fit `T`.
pub fn get_json<T: DeserializeOwned>(scope: Scope, key: &str) -> Result<Option<T>, Error> {
    let Some(bytes) = get(scope, key)? else { return Ok(None) };
    let value = serde_json::from_slice(&bytes);
    value.map(Some).map_err(|error| Error::Unavailable(format!("the value of `{key}` does not fit: {error}")))
}

/// Sets `key` to a value of your own.
///
/// # Errors
/// Returns the errors of [`set`], and an error if `value` cannot be written as JSON.
pub fn set_json(scope: Scope, key: &str, value: &impl Serialize) -> Result<(), Error> {
    let bytes = serde_json::to_vec(value)
        .map_err(|error| Error::Unavailable(format!("the value of `{key}` cannot be written as JSON: {error}")))?;
    set(scope, key, &bytes)
}
