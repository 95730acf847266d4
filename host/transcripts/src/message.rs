//! A message of an agent's hook, made from a transcript.

use serde_json::Value;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};

/// A call in a transcript, as the message that the agent's hook would have sent before the call.
#[derive(Debug)]
pub(crate) struct HookMessage {
    /// The message.
    pub(crate) body: Value,
    /// The hook point, if the message does not contain it.
    pub(crate) point: Option<&'static str>,
    /// The agent's identifier of the call. The messages of some agents do not contain it.
    pub(crate) call: String,
    /// Time of the call, in milliseconds since the Unix epoch. `None` if the transcript does not contain it.
    pub(crate) time: Option<u64>,
    /// True if the transcript does not name the directory of the call.
    pub(crate) lacks_directory: bool,
}

impl HookMessage {
    /// Creates a message about the call with this identifier.
    pub(crate) fn new(body: Value, call: impl Into<String>, time: Option<u64>) -> Self {
        Self { body, point: None, call: call.into(), time, lacks_directory: false }
    }
}

/// Parses a time such as `2026-11-29T08:52:00.300Z`, and returns it in milliseconds since the Unix epoch.
pub(crate) fn time(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

/// Returns the arguments of a call. Missing or invalid arguments are `null`, and the adapter then decides whether the tool needs them.
pub(crate) fn arguments(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// Returns the absolute path of a file that a model names.
pub(crate) fn absolute(file: &str, directory: &Path, home: &Path) -> PathBuf {
    match file.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => directory.join(file),
    }
}
