//! Data that a session declares about its agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool with the schema of its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ToolSpec {
    /// The tool's name.
    pub name: String,
    /// A JSON Schema of the arguments object.
    pub input_schema: Value,
}

impl ToolSpec {
    /// Creates a tool with this name and this JSON Schema of its arguments object.
    #[must_use]
    pub fn new(name: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), input_schema }
    }
}

/// A configured model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModelRef {
    /// Name of the provider.
    pub provider: String,
    /// Name of the model.
    pub model: String,
}

impl ModelRef {
    /// Creates a reference to this model of this provider.
    #[must_use]
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }
}
