//! What a session declares of its agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool and what its arguments must fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolSpec {
    /// The tool's name.
    pub name: String,
    /// A JSON Schema of the arguments object.
    pub input_schema: Value,
}

/// A configured model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ModelRef {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
}
