//! Payloads of events that do not consist of a single WIT type.

use crate::{Json, ResultSource, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

/// The payload of an event that has no data except the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

/// The payload of `after-tool-call`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolOutcome {
    /// The call that was made.
    pub call: ToolCall,
    /// The result of the call.
    pub tool_result: ToolResult,
    /// The source of the result: the tool or a plugin.
    pub source: ResultSource,
}

/// The payload of `audit-record`: a record of the log, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AuditEntry(pub Json);
