//! What events carry that are not about one value of the WIT.

use crate::{Json, ResultSource, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

/// The payload of an event that carries nothing beside the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

/// What `after-tool-call` carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolOutcome {
    /// The call that was made.
    pub call: ToolCall,
    /// Its outcome.
    pub tool_result: ToolResult,
    /// Whether the tool ran.
    pub source: ResultSource,
}

/// What `audit-record` carries: a record of the log, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AuditEntry(pub Json);
