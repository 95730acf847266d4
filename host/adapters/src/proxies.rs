//! What all proxies have in common: each asks the resident host like an agent, with an adapter of its own, and gets a reply of
//! this shape.

use crate::json::Fields;
use crate::message::Unreadable;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::{Question, ToolResult};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the resident host says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Settled {
    /// It may happen as it is.
    Allowed {
        /// What the user is to read.
        #[serde(default)]
        notices: Vec<String>,
    },
    /// It may happen with these arguments.
    Changed {
        /// The whole arguments object.
        arguments: Value,
    },
    /// A plugin gave the result.
    Responded {
        /// The result.
        result: ToolResult,
    },
    /// This result takes the place of the other.
    Replaced {
        /// The result.
        result: ToolResult,
    },
    /// This text takes the place of the other.
    ReplacedText {
        /// The text.
        text: String,
    },
    /// It may not happen, or must not be used.
    Rejected {
        /// What the model reads.
        why: String,
    },
    /// A person has to agree whom the proxy's client asks.
    Ask {
        /// What is asked, and by whom.
        questions: Vec<Question>,
        /// The arguments that would be used, where plugins changed them.
        #[serde(default)]
        arguments: Option<Value>,
        /// A digest of the rules that ask it.
        #[serde(default)]
        rules: String,
    },
    /// It could not be settled: nothing of it may happen.
    Failed {
        /// Why.
        why: String,
    },
}

/// An event as a proxy has written it.
///
/// # Errors
/// If it is no such event.
pub fn event<E: DeserializeOwned>(fields: &Fields) -> Result<E, Unreadable> {
    fields.deserialized().map_err(|error| Unreadable::new(format!("it is no event of the proxy: {error}")))
}

/// The reply that says an outcome.
#[must_use]
pub fn encode(outcome: &Outcome) -> Reply {
    reply(&settled(outcome))
}

/// An outcome as a proxy reads it.
#[must_use]
pub fn settled(outcome: &Outcome) -> Settled {
    match &outcome.answer {
        Answer::Neutral | Answer::Approved { .. } => Settled::Allowed { notices: outcome.notices.clone() },
        Answer::Changed { arguments, .. } => Settled::Changed { arguments: arguments.clone() },
        Answer::Responded { result, .. } => Settled::Responded { result: result.clone() },
        Answer::ReplacedResult(result) => Settled::Replaced { result: result.clone() },
        Answer::Replaced(text) => Settled::ReplacedText { text: text.clone() },
        Answer::Rejected(rejection) => Settled::Rejected { why: reason::rejected(rejection) },
        Answer::Ask { questions, arguments } => {
            Settled::Ask { questions: questions.clone(), arguments: arguments.clone(), rules: outcome.rules.clone() }
        }
        // No event of a proxy has such an outcome.
        Answer::GoOn(_) => Settled::Failed { why: "the outcome is of another event".into() },
    }
}

/// The reply to an event that could not be settled, at whatever point.
#[must_use]
pub fn fail(_: Option<&str>, why: &str) -> Reply {
    reply(&Settled::Failed { why: why.to_owned() })
}

/// The reply that says nothing.
#[must_use]
pub fn neutral(_: Option<&str>) -> Reply {
    reply(&Settled::Allowed { notices: Vec::new() })
}

/// What a proxy reads.
#[must_use]
pub fn reply(settled: &Settled) -> Reply {
    Reply::json(&serde_json::to_value(settled).unwrap_or_else(|_| json!({ "answer": "failed", "why": "no reply" })))
}
