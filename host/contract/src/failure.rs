//! What can go wrong with one call of a plugin. A failure is not a verdict: `on-failure` says what it results in.

use serde::{Deserialize, Serialize};

/// A plugin gave no valid answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// The same for a person, as the end of "it … ": which limit, which trap, what was invalid.
    pub detail: String,
}

/// The kinds of [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureKind {
    /// It trapped: a panic, a division by zero, a stack overflow, a memory access out of bounds.
    Trap,
    /// It is a native rule, and panicked.
    Panic,
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
    /// The event is larger than `limits.input`, or has 8 KiB and more and used up what the plugin may compute, hold and answer. Not the
    /// plugin's fault: it counts towards no tripping.
    #[serde(alias = "input-too-large")]
    Oversized,
    /// The answer is larger than `limits.output`.
    AnswerTooLarge,
    /// The answer, or what it gave a capability, is not what the contract permits: invalid UTF-8, arguments that are not a
    /// JSON object or miss the tool's schema, an action that does not fit the tool.
    InvalidAnswer,
    /// No instance could be made of it.
    NotInstantiated,
    /// It failed several times in a row and is not called until it is tried again.
    Tripped,
    /// The machine had no place or no processor for it in time. Not the plugin's fault: it counts towards no tripping, and the
    /// event can be sent again.
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

    /// Whether it ran out of time on the clock, which no replay can repeat.
    #[must_use]
    pub fn is_wall_time(self) -> bool {
        matches!(self, Self::Compute | Self::Deadline | Self::Overloaded)
    }

    /// Whether it ran out of time.
    #[must_use]
    pub fn is_timeout(self) -> bool {
        matches!(self, Self::Compute | Self::Deadline | Self::OutOfFuel)
    }

    /// Joins the plugin's name and [`Failure::detail`] in a sentence. Empty where the plugin did nothing wrong: the detail
    /// then says it all.
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
    /// A failure of this kind, with the end of the sentence "the plugin … ".
    #[must_use]
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }

    /// The plugin answered something that the contract does not permit.
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
