//! The configuration of a plugin. This module parses the host's JSON into the struct of the plugin's author, and makes
//! the values that `configure` stores available to the events.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// The configuration of a plugin without settings. An allowlist entry that has settings for such a plugin is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// Parses the `config` table that the host passes as JSON.
///
/// # Errors
/// Returns an error if the table does not fit the author's struct. The message is one sentence that names the key.
#[doc(hidden)]
#[expect(clippy::needless_pass_by_value, reason = "the text is dropped before the plugin goes on")]
pub fn parse_config<T: DeserializeOwned>(text: String) -> Result<T, String> {
    // The memory after `configure` is the image with which each event begins. So nothing is copied in the usual case, and the text is dropped
    // before the plugin goes on.
    let fit = |text: &str| serde_json::from_str::<T>(text).map_err(|error| without_place(&error));
    fit(&text).map_err(|why| {
        let value: Value = match serde_json::from_str(&text) {
            Ok(value) => value,
            Err(error) => return format!("the plugin's config is not JSON: {error}"),
        };
        // Of several wrong values, the first one counts, in the order of the table.
        let why = fit(&value.to_string()).err().unwrap_or(why);
        let fails_otherwise = |value: &Value| fit(&value.to_string()).err().is_none_or(|error| error != why);
        let mut keys = Vec::new();
        culprit(&value, &fails_otherwise, &mut keys);
        // The error for an unknown key already names the key.
        if keys.last().is_some_and(|last| why.contains(&format!("`{last}`"))) {
            keys.pop();
        }
        let place = if keys.is_empty() { String::new() } else { format!("`{}`: ", keys.join(".")) };
        format!("the plugin's config does not fit: {place}{why}")
    })
}

/// Returns the text of an error without its line and column, which are those of a text that the user has never seen.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

/// Appends the keys that lead to the wrong value, because errors of serde do not contain them. The function removes one
/// value after the other. If the config then fits, or fails in a different way, the removed value is the wrong one or
/// contains it.
fn culprit(value: &Value, fails_otherwise: &dyn Fn(&Value) -> bool, keys: &mut Vec<String>) {
    let Value::Object(table) = value else { return };
    for (key, inner) in table {
        let with = |changed: Option<&Value>| {
            let mut table = table.clone();
            match changed {
                Some(changed) => table.insert(key.clone(), changed.clone()),
                None => table.remove(key),
            };
            fails_otherwise(&Value::Object(table))
        };
        if with(None) {
            keys.push(key.clone());
            return culprit(inner, &|changed| with(Some(changed)), keys);
        }
    }
}

/// A value that [`configure`](crate::Plugin::configure) computes for the events. Put it into a `static`.
///
/// On wasm, the value is part of the plugin's initial memory image: it is computed once, and every event can read it.
/// In native tests, each thread has a separate value, so that tests with different configurations do not interfere. If
/// a program uses the plugin as a native rule, the value is available on each thread that calls the plugin.
///
/// ```
/// # use hookhost_guest::prelude::*;
/// static LIMIT: Configured<u64> = Configured::new();
///
/// LIMIT.set(5);
/// assert_eq!(*LIMIT.get(), 5);
/// ```
pub struct Configured<T> {
    /// Gives each `static` its own address, which is the key of the value. Without this field, the size of the struct
    /// would be zero, and two statics could have the same address.
    _address: u8,
    value: PhantomData<fn() -> T>,
}

/// The values of the plugin's statics, by address.
type Values = BTreeMap<usize, &'static (dyn Any + Send + Sync)>;

thread_local! {
    static VALUES: RefCell<Values> = const { RefCell::new(Values::new()) };
}

/// The values that `configure` has stored, for a program that uses the plugin as a native rule.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone, Default)]
pub struct Configuration(Values);

/// Makes `configuration` the current configuration of this thread, and returns the previous configuration.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn replace(configuration: Configuration) -> Configuration {
    Configuration(VALUES.replace(configuration.0))
}

/// Returns the current configuration of this thread.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn current() -> Configuration {
    Configuration(VALUES.with_borrow(Clone::clone))
}

#[cfg(not(target_arch = "wasm32"))]
impl std::fmt::Debug for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Configuration").field("values", &self.0.len()).finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> Configured<T> {
    /// Returns a `Configured` without a value.
    #[must_use]
    pub const fn new() -> Self {
        Self { _address: 0, value: PhantomData }
    }

    /// Stores `value` until the next `set`. Values are never freed, because a plugin or a test stores only one value.
    pub fn set(&'static self, value: T) {
        let value: &'static T = Box::leak(Box::new(value));
        VALUES.with_borrow_mut(|values| values.insert(self.key(), value));
    }

    /// Returns the value, or `None` before [`set`](Self::set).
    #[must_use]
    pub fn try_get(&'static self) -> Option<&'static T> {
        let value: &'static (dyn Any + Send + Sync) = VALUES.with_borrow(|values| values.get(&self.key()).copied())?;
        value.downcast_ref()
    }

    /// Returns the value.
    ///
    /// # Panics
    /// Panics if [`set`](Self::set) was not called before. The host always calls `configure` before an event. So this
    /// happens only if `configure` does not call `set`, or if a test does not call `configure`.
    #[must_use]
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        match self.try_get() {
            Some(value) => value,
            None => panic!("nothing is configured yet: call `configure` of the plugin first"),
        }
    }

    fn key(&'static self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<T: Send + Sync + 'static> Default for Configured<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> std::fmt::Debug for Configured<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Configured").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Configured, NoConfig, parse_config};

    #[test]
    fn two_statics_of_one_type_hold_two_values() {
        static ONE: Configured<u8> = Configured::new();
        static OTHER: Configured<u8> = Configured::new();
        ONE.set(1);
        OTHER.set(2);
        assert_eq!((ONE.get(), OTHER.get()), (&1, &2));
    }

    #[test]
    fn another_thread_sees_nothing_of_it() {
        static HERE: Configured<u8> = Configured::new();
        HERE.set(1);
        assert!(std::thread::spawn(|| HERE.try_get().is_none()).join().unwrap());
    }

    #[test]
    fn an_error_names_the_key_and_no_column() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Config {
            #[serde(rename = "limit")]
            _limit: u8,
        }
        let error = parse_config::<Config>(r#"{"limits": 3}"#.into()).unwrap_err();
        assert_eq!(error, "the plugin's config does not fit: unknown field `limits`, expected `limit`");
        assert!(parse_config::<Config>(r#"{"limit": 3}"#.into()).is_ok());
    }

    #[test]
    fn an_error_about_a_value_names_the_keys_that_lead_to_it() {
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        struct Inner {
            #[serde(rename = "depth")]
            _depth: u8,
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Config {
            #[serde(rename = "name")]
            _name: String,
            #[serde(rename = "limit")]
            _limit: u8,
            #[serde(rename = "inner", default)]
            _inner: Inner,
        }
        for (text, expected) in [
            (r#"{"limit": "two", "name": "x"}"#, "`limit`: invalid type: string \"two\", expected u8"),
            (r#"{"limit": 2, "name": 1}"#, "`name`: invalid type: integer `1`, expected a string"),
            (
                r#"{"limit": 2, "name": "x", "inner": {"depth": -1}}"#,
                "`inner.depth`: invalid value: integer `-1`, expected u8",
            ),
            (r#"{"limit": 2, "name": "x", "inner": {"deep": 1}}"#, "`inner`: unknown field `deep`, expected `depth`"),
            (r#"{"limit": 2}"#, "missing field `name`"),
        ] {
            let error = parse_config::<Config>(text.into()).unwrap_err();
            assert_eq!(error, format!("the plugin's config does not fit: {expected}"));
        }
    }

    #[test]
    fn a_plugin_without_config_takes_an_empty_table_only() {
        assert!(parse_config::<NoConfig>("{}".into()).is_ok());
        assert!(parse_config::<NoConfig>(r#"{"a": 1}"#.into()).is_err());
    }
}
