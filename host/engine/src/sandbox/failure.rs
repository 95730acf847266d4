//! What can go wrong with one call of a plugin. A failure is not a verdict: `on-failure` says what becomes of it.

use super::guest::Refused;
use crate::allowlist::Limits;
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
    /// It asked for more than `limits.memory`, `limits.table-elements` or `limits.handles`, and trapped over it.
    OutOfMemory,
    /// It called capabilities more often than `limits.capability-calls`, or gave more effects than one event may have.
    CapabilityCalls,
    /// The event is larger than `limits.input`.
    InputTooLarge,
    /// The answer is larger than `limits.output`.
    AnswerTooLarge,
    /// The answer, or what it gave a capability, is not what the contract permits: invalid UTF-8, arguments that are not a JSON object or miss the
    /// tool's schema, an action that does not fit the tool.
    InvalidAnswer,
    /// No instance could be made of it.
    NotInstantiated,
    /// It failed [`crate::session::FAILURES_TO_TRIP`] times in a row and is not called until it is tried again.
    Tripped,
    /// The machine had no place or no processor for it in time. Not the plugin's fault: it counts towards no tripping, and the
    /// event can be sent again.
    Overloaded,
}

impl FailureKind {
    /// Whether it ran out of time on the clock, which no replay can repeat.
    #[must_use]
    pub(crate) fn is_wall_time(self) -> bool {
        matches!(self, Self::Compute | Self::Deadline | Self::Overloaded)
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

/// What an error of wasmtime, out of a call, means. `denied` tells what the guest had been refused before.
pub(super) fn classify(error: &wasmtime::Error, denied: Option<Refused>, limits: &Limits) -> Failure {
    if let Some(limit) = error.downcast_ref::<Limit>() {
        return limit.0.clone();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            Failure::new(FailureKind::OutOfFuel, format!("used up its fuel of {} (limits.fuel)", limits.fuel))
        }
        Some(trap) => {
            refused(denied, limits).unwrap_or_else(|| Failure::new(FailureKind::Trap, format!("trapped: {trap}")))
        }
        None if is_out_of_handles(error) => Failure::new(
            FailureKind::OutOfMemory,
            format!("held more than {} handles at once (limits.handles)", limits.handles),
        ),
        None if says(error, "fuel allocated for hostcalls has been exhausted") => {
            let detail = format!("handed the host more than {} bytes at once (limits.output)", limits.output);
            Failure::new(FailureKind::AnswerTooLarge, detail)
        }
        None if error.is::<wasmtime_wasi::I32Exit>() => Failure::new(FailureKind::Trap, "exited instead of answering"),
        None => Failure::invalid(format!("gave the host something invalid: {}", error.root_cause())),
    }
}

/// What an error of wasmtime means that came up while an instance was made.
pub(super) fn not_instantiated(error: &wasmtime::Error, denied: Option<Refused>, limits: &Limits) -> Failure {
    if error.is::<Limit>() || error.is::<Trap>() || is_out_of_handles(error) {
        return classify(error, denied, limits);
    }
    if let Some(refused) = refused(denied, limits) {
        return refused;
    }
    let made_of = |count, of, key| {
        Failure::new(FailureKind::NotInstantiated, format!("is made of more than its {count} {of} (limits.{key})"))
    };
    match () {
        () if says(error, "instance count too high") => made_of(limits.instances, "core instances", "instances"),
        () if says(error, "table count too high") => made_of(limits.tables, "tables", "tables"),
        () => Failure::new(FailureKind::NotInstantiated, format!("could not be instantiated: {}", error.root_cause())),
    }
}

/// That it had asked for more room than it has.
fn refused(denied: Option<Refused>, limits: &Limits) -> Option<Failure> {
    let detail = match denied? {
        Refused::Memory => format!("asked for more than its {} bytes of memory (limits.memory)", limits.memory),
        Refused::Tables => {
            format!("asked for more than its {} elements of tables (limits.table-elements)", limits.table_elements)
        }
    };
    Some(Failure::new(FailureKind::OutOfMemory, detail))
}

/// The host's own table is full, or wasmtime's of the guest's handles.
fn is_out_of_handles(error: &wasmtime::Error) -> bool {
    matches!(error.downcast_ref(), Some(ResourceTableError::Full)) || says(error, "store handle limit exceeded")
}

/// wasmtime keeps the types of some errors to itself; a test for each holds us to its text.
fn says(error: &wasmtime::Error, text: &str) -> bool {
    error.root_cause().to_string().contains(text)
}
