//! The tool `list_dir`: lists a directory of the workspace.

use super::workspace::file_error;
use super::{Tool, ToolContext, ToolError, ToolOutput};
use crate::plural::counted;
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

/// Maximum number of entries in an answer.
const MAX_ENTRIES: usize = 1000;

/// Lists a directory.
#[derive(Clone, Copy, Debug)]
pub struct ListDir;

#[derive(Deserialize)]
struct Arguments {
    path: String,
}

#[async_trait]
impl Tool for ListDir {
    fn name(&self) -> &'static str {
        "list_dir"
    }

    fn description(&self) -> &'static str {
        "Lists a directory of the workspace, one entry a line, sorted: `name/` is a directory, `name -> target` a symbolic \
         link, and a file comes with its size in bytes."
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "minLength": 1, "description": "Relative to the workspace (`.` is all of it), or absolute inside of it" },
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Arguments { path } = super::parsed(self.name(), arguments)?;
        super::blocking(context, move |workspace| {
            let relative = workspace.relative(&path)?;
            let error = |error| file_error(&path, "listed", &error);
            let mut lines = Vec::new();
            for entry in workspace.directory().read_dir(&relative).map_err(error)? {
                let entry = entry.map_err(error)?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let kind = entry.file_type().map_err(error)?;
                lines.push(if kind.is_dir() {
                    format!("{name}/")
                } else if kind.is_symlink() {
                    let target = workspace.directory().read_link_contents(relative.join(entry.file_name()));
                    target.map_or_else(|_| format!("{name} ->"), |target| format!("{name} -> {}", target.display()))
                } else {
                    entry
                        .metadata()
                        .map_or_else(|_| name.clone(), |data| format!("{name} ({})", counted(data.len(), "byte")))
                });
            }
            Ok(ToolOutput::success(listing(lines)))
        })
        .await
    }
}

fn listing(mut lines: Vec<String>) -> String {
    if lines.is_empty() {
        return "[the directory is empty]".into();
    }
    lines.sort();
    let more = lines.len().saturating_sub(MAX_ENTRIES);
    lines.truncate(MAX_ENTRIES);
    if more > 0 {
        lines.push(format!("[{more} more entries]"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{MAX_ENTRIES, listing};

    #[test]
    fn a_long_listing_says_how_much_is_missing() {
        let listing = listing((0..MAX_ENTRIES + 3).map(|n| n.to_string()).collect());
        assert_eq!(listing.lines().count(), MAX_ENTRIES + 1);
        assert!(listing.ends_with("[3 more entries]"));
    }
}
