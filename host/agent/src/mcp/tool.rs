//! Tools of a server.

use super::server::Server;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use async_trait::async_trait;
use hookhost::contract::ToolOrigin;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A checked tool from a server's list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ListedTool {
    /// Name for the model: `mcp__SERVER__TOOL`.
    pub(super) full_name: String,
    /// Name on the server.
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Map<String, Value>,
}

/// A tool of an MCP server, offered as `mcp__SERVER__TOOL`.
#[derive(Clone, Debug)]
pub struct McpTool {
    server: Arc<Server>,
    tool: ListedTool,
}

impl McpTool {
    pub(super) fn new(server: Arc<Server>, tool: ListedTool) -> Self {
        Self { server, tool }
    }
}

#[async_trait]
impl Tool for McpTool {
    #[expect(clippy::misnamed_getters, reason = "a tool is offered under its full name")]
    fn name(&self) -> &str {
        &self.tool.full_name
    }

    fn description(&self) -> &str {
        &self.tool.description
    }

    fn input_schema(&self) -> Value {
        Value::Object(self.tool.input_schema.clone())
    }

    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Mcp(self.server.name().to_owned())
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let arguments = if let Value::Object(arguments) = arguments { arguments } else { Map::new() };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(ToolError::Aborted),
            called = self.server.call(&self.tool.name, arguments) => {
                called.map_err(|error| ToolError::Failed { reason: error.to_string() })
            }
        }
    }
}
