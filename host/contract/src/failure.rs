//! Failures of one plugin call. A failure is not a verdict; the setting `on-failure` determines the result.

use serde::{Deserialize, Serialize};

/// The failure of a plugin to give a valid answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// A description that completes the sentence "it …". It names the limit, the trap or the invalid value.
    pub detail: String,
}

/// The kinds of [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The plugin trapped: a panic, a division by zero, a stack overflow, a memory access out of bounds.
    Trap,
    /// The plugin is a native rule, and panicked.
    Panic,
    /// The plugin used up `limits.fuel`.
    OutOfFuel,
    /// The plugin computed for longer than `limits.compute`.
    Compute,
    /// The call, waiting included, took longer than `limits.deadline`.
    Deadline,
    /// The plugin asked for more than `limits.memory`, `limits.table-elements` or `limits.handles`, and trapped because
    /// of that.
    OutOfMemory,
    /// The plugin called capabilities more often than `limits.capability-calls`, or gave more effects than one event
    /// may have.
    CapabilityCalls,
    /// Either the event is larger than `limits.input`, or the plugin exceeded its fuel, compute, memory or output
    /// limit. The second case needs an event of at least 8 KiB, or a gate with `on-failure = "ask"`. The failure is not
    /// the plugin's fault and does not count towards [`Tripped`](Self::Tripped).
    #[serde(alias = "input-too-large")]
    Oversized,
    /// The answer is larger than `limits.output`.
    AnswerTooLarge,
    /// The answer, or a value for a capability, violates the contract. Examples are invalid UTF-8, arguments that are
    /// not a JSON object or do not match the tool's schema, and an action that does not fit the tool.
    InvalidAnswer,
    /// The plugin could not be instantiated.
    NotInstantiated,
    /// The plugin failed several times in a row, so it is not called until the host tries it again.
    Tripped,
    /// The machine had no instance slot or no processor for the plugin in time. The failure is not the plugin's fault
    /// and does not count towards [`Tripped`](Self::Tripped). The event can be sent again.
    Overloaded,
}

impl FailureKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: &[Self] = &[
        Self::Trap,
        Self::Panic,
        Self::OutOfFuel,
        Self::Compute,
        Self::Deadline,
        Self::OutOfMemory,
        Self::CapabilityCalls,
        Self::Oversized,
        Self::AnswerTooLarge,
        Self::InvalidAnswer,
        Self::NotInstantiated,
        Self::Tripped,
        Self::Overloaded,
    ];

    /// Returns true if the failure depends on the clock. A replay cannot repeat such a failure.
    #[must_use]
    pub fn is_wall_time(self) -> bool {
        matches!(self, Self::Compute | Self::Deadline | Self::Overloaded)
    }

    /// Returns true if the plugin ran out of time or fuel.
    #[must_use]
    pub fn is_timeout(self) -> bool {
        matches!(self, Self::Compute | Self::Deadline | Self::OutOfFuel)
    }

    /// Returns the text between the plugin's name and [`Failure::detail`] in a sentence. If the failure is not the
    /// plugin's fault, this text is empty, and the detail follows the name directly.
    #[must_use]
    pub fn opening(self) -> &'static str {
        match self {
            Self::Overloaded | Self::Oversized => "",
            kind if kind.is_timeout() => "timed out: it ",
            _ => "failed: it ",
        }
    }
}

impl Failure {
    /// Creates a failure of this kind. `detail` completes the sentence "it …".
    #[must_use]
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// Creates a failure for an answer that violates the contract.
    #[must_use]
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidAnswer, detail)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::FailureKind;

    #[test]
    fn no_kind_is_left_out() {
        for (place, kind) in FailureKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, place);
        }
        // The last one of the declaration.
        assert_eq!(FailureKind::ALL.len(), FailureKind::Overloaded as usize + 1);
    }
}
