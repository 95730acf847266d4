//! What can go wrong with one call of a plugin. A failure is not a verdict: `on-failure` says what becomes of it.

use super::guest::HANDLES;
use serde::{Deserialize, Serialize};
use wasmtime::Trap;
use wasmtime::component::ResourceTableError;

/// A plugin gave no valid answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// The same for a person, as the end of "the plugin … ": which limit, which trap, what was invalid.
    pub detail: String,
}

/// The kinds of [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// It trapped: a panic, a division by zero, a stack overflow, a memory access out of bounds.
    Trap,
    /// It used up `limits.fuel`.
    OutOfFuel,
    /// It computed for longer than `limits.compute`.
    Compute,
    /// The call, waiting included, took longer than `limits.deadline`.
    Deadline,
    /// It asked for more than `limits.memory`, and trapped over it.
    OutOfMemory,
    /// It called capabilities more often than `limits.capability-calls`, gave more effects than one event may have, or held
    /// more of the host's handles (open files, streams, requests) than one call may.
    CapabilityCalls,
    /// The event is larger than `limits.input`.
    InputTooLarge,
    /// The answer is larger than `limits.output`.
    AnswerTooLarge,
    /// The answer is not what the contract permits: invalid UTF-8, arguments that are not a JSON object or miss the
    /// tool's schema, an action that does not fit the tool.
    InvalidAnswer,
    /// No instance could be made of it.
    NotInstantiated,
    /// It failed [`crate::session::FAILURES_TO_TRIP`] times in a row and is not called again in this session.
    Tripped,
}

impl FailureKind {
    /// Whether it ran out of time on the clock, which no replay can repeat.
    #[must_use]
    pub(crate) fn is_wall_time(self) -> bool {
        matches!(self, Self::Compute | Self::Deadline)
    }

    /// Whether it ran out of time.
    #[must_use]
    pub fn is_timeout(self) -> bool {
        matches!(self, Self::Compute | Self::Deadline | Self::OutOfFuel)
    }
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidAnswer, detail)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

/// Raised inside a call by the host's own limits, and recognised again when the call returns.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Limit(pub(crate) Failure);

/// What an error of wasmtime, out of a call, means. `memory_denied` tells whether the guest had been refused memory.
pub(crate) fn classify(error: &wasmtime::Error, memory_denied: bool, limits: &crate::allowlist::Limits) -> Failure {
    if let Some(limit) = error.downcast_ref::<Limit>() {
        return limit.0.clone();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            Failure::new(FailureKind::OutOfFuel, format!("used up its fuel of {} (limits.fuel)", limits.fuel))
        }
        Some(_) if memory_denied => Failure::new(
            FailureKind::OutOfMemory,
            format!("asked for more than its {} bytes of memory (limits.memory)", limits.memory),
        ),
        Some(trap) => Failure::new(FailureKind::Trap, format!("trapped: {trap}")),
        None if error.root_cause().to_string().contains("fuel allocated for hostcalls has been exhausted") => {
            // wasmtime keeps the type of this error to itself; a test holds us to its text.
            let detail = format!("handed the host more than {} bytes at once (limits.output)", limits.output);
            Failure::new(FailureKind::AnswerTooLarge, detail)
        }
        None if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) => Failure::new(
            FailureKind::CapabilityCalls,
            format!("held more than {HANDLES} files, streams and requests at once"),
        ),
        None if error.is::<wasmtime_wasi::I32Exit>() => Failure::new(FailureKind::Trap, "exited instead of answering"),
        None => Failure::invalid(format!("answered something invalid: {}", error.root_cause())),
    }
}
