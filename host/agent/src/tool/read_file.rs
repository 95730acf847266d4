//! The tool `read_file`: reads lines of a text file of the workspace.

use super::workspace::{Workspace, file_error};
use super::{Tool, ToolContext, ToolDefinition, ToolError, ToolOutput};
use crate::plural::counted;
use async_trait::async_trait;
use cap_std::fs::OpenOptions;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Read as _;

/// Name of the tool.
const NAME: &str = "read_file";

/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 10 * 1024 * 1024;
/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 128 * 1024;
/// Default number of lines in an answer.
const MAX_LINES: usize = 2000;

/// Reads a text file.
#[derive(Clone, Copy, Debug)]
pub struct ReadFile;

#[derive(Deserialize)]
struct Arguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[async_trait]
impl Tool for ReadFile {
    fn definition(&self) -> ToolDefinition {
        let description = "Reads a UTF-8 text file of the workspace, at most 2000 lines at a time. `offset` is the first line (from 1), \
         `limit` the number of lines.";
        let properties = json!({
            "path": { "type": "string", "minLength": 1, "description": "Relative to the workspace, or absolute inside of it" },
            "offset": { "type": "integer", "minimum": 1, "description": "First line, from 1" },
            "limit": { "type": "integer", "minimum": 1, "description": "Number of lines" },
        });
        super::definition(NAME, description, properties, &["path"])
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Arguments { path, offset, limit } = super::parsed(NAME, arguments)?;
        super::blocking(context, move |workspace| {
            let text = read_text(workspace, &path, "read")?;
            Ok(ToolOutput::success(lines(&text, offset.unwrap_or(1).max(1), limit.unwrap_or(MAX_LINES))))
        })
        .await
    }
}

/// Reads a whole text file. `doing` is the caller's action for error messages.
pub(super) fn read_text(workspace: &Workspace, path: &str, doing: &'static str) -> Result<String, ToolError> {
    let refused = |reason: &str| ToolError::File { path: path.to_owned(), doing, reason: reason.to_owned() };
    let relative = workspace.relative(path)?;
    let file = workspace
        .open_file(&relative, OpenOptions::new().read(true))
        .map_err(|error| file_error(path, doing, &error))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| file_error(path, doing, &error))?;
    if bytes.contains(&0) {
        return Err(refused("it is a binary file"));
    }
    if u64::try_from(bytes.len()).is_ok_and(|size| size > MAX_FILE) {
        return Err(refused("it is larger than 10 MiB; look at parts of it with bash, such as with sed or tail"));
    }
    String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text"))
}

/// Returns `limit` lines from line `offset` (counted from 1). If there are more lines, a hint says how to read on.
fn lines(text: &str, offset: usize, limit: usize) -> String {
    let total = text.lines().count();
    if offset > total && total > 0 {
        return format!("[the file has only {}]", counted(total, "line"));
    }
    let mut answer = String::new();
    let mut last = offset - 1;
    for line in text.split_inclusive('\n').skip(offset - 1).take(limit) {
        if !answer.is_empty() && answer.len() + line.len() > MAX_ANSWER {
            break;
        }
        answer.push_str(line);
        last += 1;
    }
    if answer.len() > MAX_ANSWER {
        let whole = answer.len();
        answer.truncate(answer.floor_char_boundary(MAX_ANSWER));
        let cut = counted(whole - answer.len(), "byte");
        let was = if cut.starts_with("1 ") { "was" } else { "were" };
        let _ = write!(answer, "\n[{cut} of this line {was} cut]");
    }
    if last < total {
        let newline = if answer.ends_with('\n') { "" } else { "\n" };
        let _ = write!(answer, "{newline}[lines {offset} to {last} of {total}; continue with offset {}]", last + 1);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_where_to_continue() {
        let text = "one\ntwo\nthree\nfour\n";
        assert_eq!(lines(text, 1, 2000), text);
        assert_eq!(lines(text, 2, 2), "two\nthree\n[lines 2 to 3 of 4; continue with offset 4]");
        assert_eq!(lines(text, 4, 9), "four\n");
        assert_eq!(lines(text, 5, 1), "[the file has only 4 lines]");
        assert_eq!(lines("", 1, 10), "");
    }

    #[test]
    fn an_answer_is_capped_and_says_so() {
        let long = "ä".repeat(MAX_ANSWER);
        let answer = lines(&long, 1, 1);
        assert!(answer.len() < MAX_ANSWER + 100 && answer.ends_with(" bytes of this line were cut]"));
        let many = "line\n".repeat(MAX_ANSWER);
        let answer = lines(&many, 1, usize::MAX);
        assert!(answer.len() < MAX_ANSWER + 100 && answer.contains("continue with offset"));
    }
}
