//! The tools of a session: their names are unique, and what the model asks for is checked against their schemas.

use super::{Bash, EditFile, ListDir, PluginTool, ReadFile, Tool, ToolError, WriteFile};
use crate::provider::ToolDefinition;
use hookhost::Host;
use hookhost::schema::Schema;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The tools that a model is offered, in the order in which they were added.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: Vec<ToolEntry>,
}

#[derive(Clone)]
struct ToolEntry {
    tool: Arc<dyn Tool>,
    schema: Value,
    checks: Schema,
}

/// Why a tool cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolboxError {
    /// Two tools of one name.
    #[error("there are two tools named `{name}`: rename one of them")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A tool's input schema cannot be used.
    #[error("the input schema of the tool `{name}` {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Toolbox {
    /// No tools.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// `bash`, `read_file`, `write_file`, `edit_file` and `list_dir`.
    ///
    /// # Errors
    /// Never for the tools as they are; the schemas are checked like anybody's.
    pub fn builtin() -> Result<Self, ToolboxError> {
        Self::empty()
            .with(Arc::new(Bash::default()))?
            .with(Arc::new(ReadFile))?
            .with(Arc::new(WriteFile))?
            .with(Arc::new(EditFile))?
            .with(Arc::new(ListDir))
    }

    /// The tools that the plugins of `host` bring, too.
    ///
    /// # Errors
    /// If a name is taken by a tool that is not a plugin's.
    pub fn with_plugins(self, host: &Host) -> Result<Self, ToolboxError> {
        host.tools().into_iter().try_fold(self, |tools, tool| tools.with(Arc::new(PluginTool::new(tool))))
    }

    /// One tool more.
    ///
    /// # Errors
    /// If the name is taken, or the tool's input schema cannot be used: see [`hookhost::schema`].
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Result<Self, ToolboxError> {
        let name = tool.name().to_owned();
        if self.get(&name).is_some() {
            return Err(ToolboxError::Duplicate { name });
        }
        let schema = tool.input_schema();
        let checks =
            Schema::compile(&schema).map_err(|error| ToolboxError::Schema { name, reason: error.to_string() })?;
        self.tools.push(ToolEntry { tool, schema, checks });
        Ok(self)
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(|entry| &entry.tool)
    }

    /// The tools' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|entry| entry.tool.name())
    }

    /// The tools' definitions, as a model gets them.
    pub fn definitions(&self) -> impl Iterator<Item = ToolDefinition> {
        self.tools.iter().map(|entry| ToolDefinition {
            name: entry.tool.name().to_owned(),
            description: entry.tool.description().to_owned(),
            input_schema: entry.schema.clone(),
        })
    }

    /// The tool that a call names, if its arguments fit.
    ///
    /// # Errors
    /// If there is no such tool, or the arguments do not fit its schema.
    pub fn check(&self, name: &str, arguments: &Value) -> Result<Arc<dyn Tool>, ToolError> {
        let Some(entry) = self.entry(name) else {
            let known = self.names().collect::<Vec<_>>().join(", ");
            return Err(ToolError::Unknown { name: name.to_owned(), known });
        };
        let problems = entry.checks.problems(arguments);
        if problems.is_empty() {
            return Ok(Arc::clone(&entry.tool));
        }
        Err(ToolError::Arguments { tool: name.to_owned(), problems: problems.join("; ") })
    }

    fn entry(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.iter().find(|entry| entry.tool.name() == name)
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
