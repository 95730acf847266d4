//! The tool `skill`: returns the text of a skill.

use super::Skill;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use async_trait::async_trait;
use hookhost_models::ToolDefinition;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// Gives the model the text of a skill. Calls of this tool cause the same events as calls of any other tool.
#[derive(Clone, Debug)]
pub struct SkillTool {
    skills: Arc<[Skill]>,
}

impl SkillTool {
    /// Name of the tool.
    pub const NAME: &'static str = "skill";

    /// Creates a tool for these skills.
    #[must_use]
    pub fn new(skills: impl Into<Arc<[Skill]>>) -> Self {
        Self { skills: skills.into() }
    }
}

#[async_trait]
impl Tool for SkillTool {
    fn definition(&self) -> ToolDefinition {
        let names: Vec<&str> = self.skills.iter().map(|skill| skill.name.as_str()).collect();
        let properties = json!({ "name": { "type": "string", "enum": names, "description": "The skill's name" } });
        crate::tool::definition(
            Self::NAME,
            "Reads a skill: the instructions for tasks of a kind.",
            properties,
            &["name"],
        )
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let name = arguments["name"].as_str().unwrap_or_default();
        let Some(skill) = self.skills.iter().find(|skill| skill.name == name) else {
            let problems = format!("there is no skill `{name}`");
            return Err(ToolError::Arguments { tool: Self::NAME.into(), problems });
        };
        let mut text = skill.text.clone();
        if let Some(directory) = skill.path.parent().filter(|_| !skill.files.is_empty()) {
            let _ = write!(text, "\n\n[beside it in {}: {}]", directory.display(), skill.files.join(", "));
        }
        Ok(ToolOutput::success(text))
    }
}
