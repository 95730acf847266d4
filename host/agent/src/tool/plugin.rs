//! Tools of plugins. These tools run in the sandbox, and their calls cause the same events as the calls of any other
//! tool.

use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use async_trait::async_trait;
use hookhost::contract::{ToolOrigin, ToolResult};
use hookhost::plugin;
use serde_json::Value;

/// A tool of a plugin, offered as `PLUGIN__TOOL`.
#[derive(Clone, Debug)]
pub struct PluginTool {
    tool: plugin::PluginTool,
}

impl PluginTool {
    /// Wraps a tool from [`hookhost::Host::tools`].
    #[must_use]
    pub fn new(tool: plugin::PluginTool) -> Self {
        Self { tool }
    }
}

#[async_trait]
impl Tool for PluginTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(&self.tool.full_name, &self.tool.description, self.tool.input_schema.clone())
    }

    fn origin(&self) -> ToolOrigin {
        ToolOrigin::Plugin(self.tool.plugin.clone())
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Some(tools) = &context.plugin_tools else {
            return Err(ToolError::Failed { reason: format!("the tool `{}` needs a session", self.tool.full_name) });
        };
        let called = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(ToolError::Aborted),
            called = tools.call(&self.tool.plugin, &self.tool.name, &arguments) => called,
        };
        let ToolResult { text, is_error, raw } =
            called.map_err(|error| ToolError::Failed { reason: error.to_string() })?;
        // The engine accepts only JSON as `raw`.
        Ok(ToolOutput { text, is_error, raw: raw.and_then(|raw| raw.read().ok()) })
    }
}
