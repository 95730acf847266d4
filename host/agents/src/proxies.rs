//! The format in which the resident host replies to the proxies. The resident host treats each proxy like an agent, so
//! each proxy has its own adapter.

use crate::json::Fields;
use crate::message::Unreadable;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::{Question, ToolResult};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The reply of the resident host to a proxy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum ProxyReply {
    /// The action may happen unchanged.
    Allowed {
        /// Texts for the user.
        #[serde(default)]
        notices: Vec<String>,
    },
    /// The action may happen with these arguments.
    Changed {
        /// The whole arguments object.
        arguments: Value,
    },
    /// A plugin gave a result, so the tool must not be called.
    Responded {
        /// The result.
        result: ToolResult,
    },
    /// This result replaces the tool's result.
    Replaced {
        /// The result.
        result: ToolResult,
    },
    /// This text replaces the text of the event.
    ReplacedText {
        /// The text.
        text: String,
    },
    /// The action must not happen, or the value must not be used.
    Rejected {
        /// Reason for the model.
        why: String,
    },
    /// The proxy has to ask its client's user.
    Ask {
        /// The questions, each with the plugin that asks it.
        questions: Vec<Question>,
        /// The arguments that are used if the user agrees, or `None` if no plugin changed the arguments.
        #[serde(default)]
        arguments: Option<Value>,
        /// Digest of the rules under which the questions are asked.
        #[serde(default)]
        rules: String,
    },
    /// No decision was made, so the action must not happen.
    Failed {
        /// Reason.
        why: String,
    },
}

/// Deserializes an event of a proxy.
///
/// # Errors
/// If the message is not an event of a proxy.
pub fn event<E: DeserializeOwned>(fields: &Fields) -> Result<E, Unreadable> {
    fields.deserialized().map_err(|error| Unreadable::new(format!("the message is not an event of the proxy: {error}")))
}

/// Encodes an outcome as a reply to a proxy.
pub fn encode(outcome: &Outcome) -> Reply {
    reply(&settled(outcome))
}

/// Converts an outcome into the form that a proxy reads.
pub fn settled(outcome: &Outcome) -> ProxyReply {
    match &outcome.answer {
        Answer::Neutral | Answer::Approved { .. } => ProxyReply::Allowed { notices: outcome.notices.clone() },
        Answer::Changed { arguments, .. } => ProxyReply::Changed { arguments: arguments.clone() },
        Answer::Responded { result, .. } => ProxyReply::Responded { result: result.clone() },
        Answer::ReplacedResult(result) => ProxyReply::Replaced { result: result.clone() },
        Answer::Replaced(text) => ProxyReply::ReplacedText { text: text.clone() },
        Answer::Rejected(rejection) => ProxyReply::Rejected { why: reason::rejected(rejection) },
        Answer::Ask { questions, arguments } => {
            ProxyReply::Ask { questions: questions.clone(), arguments: arguments.clone(), rules: outcome.rules.clone() }
        }
        // No event of a proxy can have this outcome.
        Answer::GoOn(_) => ProxyReply::Failed { why: "the outcome is of another event".into() },
    }
}

/// Encodes the reply to an event on which no decision was made. The reply is the same at every hook point.
pub fn fail(_: Option<&str>, why: &str) -> Reply {
    reply(&ProxyReply::Failed { why: why.to_owned() })
}

/// Encodes the neutral reply.
pub fn neutral(_: Option<&str>) -> Reply {
    reply(&ProxyReply::Allowed { notices: Vec::new() })
}

/// Encodes a reply to a proxy.
pub fn reply(settled: &ProxyReply) -> Reply {
    Reply::json(&serde_json::to_value(settled).unwrap_or_else(|_| json!({ "answer": "failed", "why": "no reply" })))
}
