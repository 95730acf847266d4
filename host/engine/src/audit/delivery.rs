//! The record of an outcome that did not reach its agent unchanged.

use super::record::Header;
use serde::{Deserialize, Serialize};

/// An outcome did not reach its agent unchanged: the agent cannot express it, did otherwise, or got no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Delivery {
    /// The identifier of the event whose outcome it is; absent if there was no outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The session, and when this was recorded.
    #[serde(flatten)]
    pub header: Header,
    /// The hook point, by the agent's own name: `PreToolUse`.
    pub point: String,
    /// The kind of delivery.
    pub what: DeliveryKind,
    /// The same in one sentence, without values of the event.
    pub note: String,
}

/// The fate of an outcome on its way to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DeliveryKind {
    /// The agent cannot express the outcome: it got a stricter one, or only a part.
    Degraded,
    /// The agent reports that a call ran with other arguments than those that were allowed.
    ChangeNotApplied,
    /// The agent got no outcome in time. The agent got a denial, or, where the operator chose so, nothing.
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
