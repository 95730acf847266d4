//! The record of an outcome that did not come to its agent as it was settled.

use super::record::Header;
use serde::{Deserialize, Serialize};

/// An outcome did not come to its agent as it was settled: the agent cannot express it, did otherwise, or got no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Delivery {
    /// The identifier of the event whose outcome it is; absent if no event was settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
    /// Event of the agent, by the agent's own name: `PreToolUse`.
    pub point: String,
    /// The kind of difference.
    pub what: DeliveryKind,
    /// The same in one sentence, without values of the event.
    pub note: String,
}

/// Difference between a settled outcome and its delivery to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DeliveryKind {
    /// The agent cannot express the outcome: it was told a stricter one, or only a part.
    Degraded,
    /// The agent reports that a call ran with other arguments than those that were allowed.
    ChangeNotApplied,
    /// The agent got no outcome in time. It was told no, or, where the operator chose so, nothing.
    Unanswered,
    /// The agent reported the event once more, and got the same outcome. No plugin was asked again.
    Repeated,
}

impl DeliveryKind {
    /// The word, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Degraded => "degraded",
            Self::ChangeNotApplied => "change-not-applied",
            Self::Unanswered => "unanswered",
            Self::Repeated => "repeated",
        }
    }
}
