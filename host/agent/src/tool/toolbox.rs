//! The tools of a session. Their names are unique, and calls are checked against their schemas.

use super::{Bash, EditFile, ListDir, PluginTool, ReadFile, Tool, ToolError, WriteFile};
use hookhost::Host;
use hookhost::schema::Schema;
use hookhost_models::ToolDefinition;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Tools for the model, in the order in which they were added.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<ToolEntry>,
}

#[derive(Clone)]
struct ToolEntry {
    tool: Arc<dyn Tool>,
    definition: ToolDefinition,
    schema: Schema,
}

/// Reasons why a tool cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// Two tools have the same name.
    #[error("there are two tools named `{name}`: rename one of them")]
    Duplicate {
        /// The shared name.
        name: String,
    },
    /// The input schema of a tool is unusable.
    #[error("the input schema of the tool `{name}` {reason}")]
    Schema {
        /// Name of the tool.
        name: String,
        /// Description of the fault.
        reason: String,
    },
}

impl Toolbox {
    /// Creates a toolbox without tools.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Creates a toolbox with `bash`, `read_file`, `write_file`, `edit_file` and `list_dir`.
    ///
    /// # Errors
    /// Returns an error if the schema of one of these tools is unusable. With the current tools this does not happen.
    pub fn builtin() -> Result<Self, ToolboxError> {
        Self::empty()
            .with(Arc::new(Bash::default()))?
            .with(Arc::new(ReadFile))?
            .with(Arc::new(WriteFile))?
            .with(Arc::new(EditFile))?
            .with(Arc::new(ListDir))
    }

    /// Adds the tools of the plugins of `host`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::with`].
    pub fn with_plugins(self, host: &Host) -> Result<Self, ToolboxError> {
        host.tools().into_iter().try_fold(self, |tools, tool| tools.with(Arc::new(PluginTool::new(tool))))
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// Returns an error if the name is taken, or if the tool's input schema is unusable: see [`hookhost::schema`].
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Result<Self, ToolboxError> {
        let definition = tool.definition();
        let name = definition.name.clone();
        if self.get(&name).is_some() {
            return Err(ToolboxError::Duplicate { name });
        }
        let schema = Schema::compile(&definition.input_schema);
        let schema = schema.map_err(|error| ToolboxError::Schema { name, reason: error.to_string() })?;
        self.tools.push(ToolEntry { tool, definition, schema });
        Ok(self)
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(|entry| &entry.tool)
    }

    /// Returns the tools' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|entry| entry.definition.name.as_str())
    }

    /// Returns the tools' definitions for the model.
    pub fn definitions(&self) -> impl Iterator<Item = ToolDefinition> {
        self.tools.iter().map(|entry| entry.definition.clone())
    }

    /// Returns the tool of a call, if the arguments fit its schema.
    ///
    /// # Errors
    /// Returns an error if the tool does not exist, or if the arguments do not fit its schema.
    pub fn check(&self, name: &str, arguments: &Value) -> Result<Arc<dyn Tool>, ToolError> {
        let Some(entry) = self.entry(name) else {
            let known = self.names().collect::<Vec<_>>().join(", ");
            return Err(ToolError::Unknown { name: name.to_owned(), known });
        };
        let problems = entry.schema.problems(arguments);
        if problems.is_empty() {
            return Ok(Arc::clone(&entry.tool));
        }
        Err(ToolError::Arguments { tool: name.to_owned(), problems: problems.join("; ") })
    }

    fn entry(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.iter().find(|entry| entry.definition.name == name)
    }
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_that_do_not_fit_are_told_with_their_place() {
        let tools = Toolbox::builtin().unwrap();
        let error = |name: &str, arguments: Value| tools.check(name, &arguments).unwrap_err().to_string();
        assert!(tools.check("bash", &json!({ "command": "ls" })).is_ok());
        let missing = error("bash", json!({}));
        assert!(missing.contains("`bash`") && missing.contains("\"command\" is a required property"), "{missing}");
        let wrong = error("bash", json!({ "command": 3 }));
        assert!(wrong.contains("at /command: 3 is not of type"), "{wrong}");
        let more = error("read_file", json!({ "path": "a", "file_path": "b" }));
        assert!(more.contains("file_path"), "{more}");
        assert!(error("bash", json!("ls")).contains("is not of type \"object\""));
    }

    #[test]
    fn an_unknown_tool_is_reported_with_those_that_exist() {
        let error = Toolbox::builtin().unwrap().check("rm", &json!({})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no tool `rm`; the tools are: bash, read_file, write_file, edit_file, list_dir"
        );
    }

    #[test]
    fn two_tools_of_one_name_are_an_error() {
        let error = Toolbox::builtin().unwrap().with(Arc::new(ListDir)).unwrap_err();
        assert_eq!(error, ToolboxError::Duplicate { name: "list_dir".into() });
    }
}
