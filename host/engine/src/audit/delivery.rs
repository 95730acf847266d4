//! The record of a difference between an outcome and its delivery to the agent.

use super::record::Header;
use serde::{Deserialize, Serialize};

/// A difference between an outcome and its delivery to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Delivery {
    /// The identifier of the event. `None` if there was no outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Session and time of the record.
    #[serde(flatten)]
    pub header: Header,
    /// The agent's name for the hook point, such as `PreToolUse`.
    pub point: String,
    /// The kind of delivery.
    pub what: DeliveryKind,
    /// A sentence that describes the difference, without values of the event.
    pub note: String,
}

/// The kind of a [`Delivery`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DeliveryKind {
    /// The agent cannot express the outcome, so it got a stricter outcome or only a part of the outcome.
    Degraded,
    /// The agent reports that a call ran with arguments that differ from the allowed arguments.
    ChangeNotApplied,
    /// The agent got no outcome in time. Instead the agent got a denial, or no answer at all if the operator has chosen
    /// this.
    Unanswered,
    /// The agent reported the same event again, and got the same outcome as before. No plugin was asked again.
    Repeated,
}

impl DeliveryKind {
    /// Returns the name of the kind, as in JSON.
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
