//! The tool `edit_file`: replaces a text that occurs exactly once in a file of the workspace.

use super::read_file::read_text;
use super::workspace::file_error;
use super::write_file::write;
use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use crate::plural::counted;
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

/// Name of the tool.
const NAME: &str = "edit_file";

/// Replaces a part of a file.
#[derive(Clone, Copy, Debug)]
pub struct EditFile;

#[derive(Deserialize)]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
}

#[async_trait]
impl Tool for EditFile {
    fn definition(&self) -> ToolDefinition {
        let description = "Replaces old_text by new_text in a UTF-8 text file of the workspace. old_text must occur in the file exactly \
         once, spelt the same down to the white space: give as much around it as makes it unique.";
        let properties = json!({
            "path": { "type": "string", "minLength": 1, "description": "Relative to the workspace, or absolute inside of it" },
            "old_text": { "type": "string", "minLength": 1, "description": "What is there now" },
            "new_text": { "type": "string", "description": "What is to be there" },
        });
        super::definition(NAME, description, properties, &["path", "old_text", "new_text"])
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Arguments { path, old_text, new_text } = super::parsed(NAME, arguments)?;
        super::blocking(context, move |workspace| {
            let text = read_text(workspace, &path, "edited")?;
            let edited = edited(&text, &old_text, &new_text)
                .map_err(|reason| ToolError::NoEdit { path: path.clone(), reason })?;
            write(workspace, &workspace.relative(&path)?, &edited)
                .map_err(|error| file_error(&path, "written", &error))?;
            Ok(ToolOutput::success(format!(
                "replaced {} by {} in {path}",
                counted(old_text.len(), "byte"),
                new_text.len()
            )))
        })
        .await
    }
}

/// Returns `text` with the only occurrence of `old` replaced by `new`.
fn edited(text: &str, old: &str, new: &str) -> Result<String, String> {
    if old == new {
        return Err("old_text and new_text are the same".into());
    }
    let Some(place) = text.find(old) else {
        return Err("old_text does not occur in it; read the file again and copy the text exactly".into());
    };
    // The search for a second match continues one character after the start of the first match, not after its end,
    // because two overlapping matches are ambiguous, too.
    let next = place + old.chars().next().map_or(0, char::len_utf8);
    let second = text[next..].contains(old);
    if second {
        let times = text.matches(old).count().max(2);
        return Err(format!("old_text occurs in it {times} times; give more of what is around it"));
    }
    Ok([&text[..place], new, &text[place + old.len()..]].concat())
}

#[cfg(test)]
mod tests {
    use super::edited;

    #[test]
    fn the_old_text_must_occur_exactly_once() {
        assert_eq!(edited("a b c", "b", "x").unwrap(), "a x c");
        assert_eq!(edited("ä ö ü", "ö", "").unwrap(), "ä  ü");
        assert!(edited("a b c", "d", "x").unwrap_err().contains("does not occur in it"));
        assert!(edited("a b a", "a", "x").unwrap_err().contains("2 times"));
        assert!(edited("aaa", "aa", "x").unwrap_err().contains("2 times"));
        assert!(edited("a", "a", "a").unwrap_err().contains("the same"));
    }
}
