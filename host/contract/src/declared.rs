//! What a session declares of its agent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool and what its arguments must fit.
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
    /// The tool of this name, with the JSON Schema of its arguments object.
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
    /// The model of this name, of the provider of that name.
    #[must_use]
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }
}
