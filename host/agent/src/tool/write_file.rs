//! The tool `write_file`: creates or replaces a file of the workspace, with missing parent directories.

use super::workspace::{Workspace, file_error};
use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use crate::plural::counted;
use async_trait::async_trait;
use cap_std::fs::OpenOptions;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// Name of the tool.
const NAME: &str = "write_file";

/// Writes a whole file.
#[derive(Clone, Copy, Debug)]
pub struct WriteFile;

#[derive(Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for WriteFile {
    fn definition(&self) -> ToolDefinition {
        let description = "Writes a file of the workspace: creates it, with the directories that lead to it, or replaces all of it. To change \
         a part of a file use edit_file.";
        let properties = json!({
            "path": { "type": "string", "minLength": 1, "description": "Relative to the workspace, or absolute inside of it" },
            "content": { "type": "string", "description": "The whole new content" },
        });
        super::definition(NAME, description, properties, &["path", "content"])
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Arguments { path, content } = super::parsed(NAME, arguments)?;
        super::blocking(context, move |workspace| {
            let relative = workspace.relative(&path)?;
            let mut written = write(workspace, &relative, &content);
            if let (Err(error), Some(parent)) = (&written, relative.parent()) {
                // Directories are created only if the first write fails because they are missing. If the path leads out
                // of the workspace, the write fails with another error, and nothing is created.
                if error.kind() == ErrorKind::NotFound {
                    written = workspace
                        .directory()
                        .create_dir_all(parent)
                        .and_then(|()| write(workspace, &relative, &content));
                }
            }
            written.map_err(|error| file_error(&path, "written", &error))?;
            Ok(ToolOutput::success(format!("wrote {} to {path}", counted(content.len(), "byte"))))
        })
        .await
    }
}

/// Replaces a file's content and keeps its permissions.
pub(super) fn write(workspace: &Workspace, relative: &Path, content: &str) -> std::io::Result<()> {
    let mut file = workspace.open_file(relative, OpenOptions::new().write(true).create(true).truncate(true))?;
    file.write_all(content.as_bytes())
}
