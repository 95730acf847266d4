//! Parses the script of a scripted provider. Errors name the file, the line and the column.

use crate::message::TokenUsage;
use hookhost::files::{self, Guard, Links};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Maximum size of a script, in bytes: 16 MiB.
const MAX_SCRIPT: u64 = 16 << 20;

/// A valid script.
#[derive(Clone, Debug)]
pub struct Script {
    file: PathBuf,
    turns: Vec<Turn>,
}

/// The answer to one request.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Option<TokenUsage>,
}

/// A tool call of a turn.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: Value,
}

/// Reasons why a script cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {} cannot be read: {reason}", .file.display())]
    Unreadable {
        /// Path of the script.
        file: PathBuf,
        /// Reason from the system.
        reason: String,
    },
    /// The file is not a valid script.
    #[error("{}:{line}:{column}: {reason}", .file.display())]
    Invalid {
        /// Path of the script.
        file: PathBuf,
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error in characters, from 1.
        column: usize,
        /// Description of the error.
        reason: String,
    },
    /// The agent sent more requests than the script has turns.
    #[error("the script {} has run out: it has {turns} turn{}, and the agent asks for turn {}; add a [[turn]]",
        .file.display(), if *.turns == 1 { "" } else { "s" }, .turns + 1)]
    RunOut {
        /// Path of the script.
        file: PathBuf,
        /// Number of turns of the script.
        turns: usize,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a script: a list of [[turn]] tables")]
struct File {
    turn: Vec<Spanned<FileTurn>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a turn with text, call and usage")]
struct FileTurn {
    #[serde(default)]
    text: String,
    #[serde(default)]
    call: Vec<FileCall>,
    usage: Option<FileUsage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a call with tool and arguments")]
struct FileCall {
    tool: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl Script {
    /// Reads a script from disk.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is not a valid script.
    pub fn open(file: &Path) -> Result<Self, ScriptError> {
        let unreadable = |reason| ScriptError::Unreadable { file: file.to_owned(), reason };
        let bytes = files::read(file, Guard::Anybodys, Links::Followed, MAX_SCRIPT);
        let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
        Self::parse(&text, file)
    }

    /// Parses a script. `file` is only used as its name in error messages.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML, has an unknown key or no turn, or if a turn has neither text nor
    /// calls.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ScriptError> {
        let invalid = |offset: usize, reason: String| {
            let (line, column) = place(text, offset);
            ScriptError::Invalid { file: file.to_owned(), line, column, reason }
        };
        let script: File = toml::from_str(text)
            .map_err(|error| invalid(error.span().map_or(0, |span| span.start), error.message().replace('\n', "; ")))?;
        if script.turn.is_empty() {
            return Err(invalid(0, "the script has no [[turn]]".into()));
        }
        let turns = script.turn.into_iter().map(|turn| {
            let start = turn.span().start;
            let FileTurn { text, call, usage } = turn.into_inner();
            if text.is_empty() && call.is_empty() {
                return Err(invalid(start, "the turn says nothing and calls nothing: give it text or call".into()));
            }
            let calls = call.into_iter().map(|call| Call { tool: call.tool, arguments: Value::Object(call.arguments) });
            let usage = usage.map(|usage| TokenUsage {
                input_tokens: usage.input_tokens,
                cached_input_tokens: usage.cached_input_tokens,
                output_tokens: usage.output_tokens,
            });
            Ok(Turn { text, calls: calls.collect(), usage })
        });
        Ok(Self { file: file.to_owned(), turns: turns.collect::<Result<_, _>>()? })
    }

    /// Returns the script's path.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns turn `number`, counted from 0.
    pub(crate) fn turn(&self, number: usize) -> Result<&Turn, ScriptError> {
        let run_out = || ScriptError::RunOut { file: self.file.clone(), turns: self.turns.len() };
        self.turns.get(number).ok_or_else(run_out)
    }
}

/// Returns the line and the column of a byte offset, both counted from 1. For an offset beyond the end, returns the position of the
/// end of the text.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    (line, String::from_utf8_lossy(&before[line_start..]).chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Script::parse(text, Path::new("demo.toml")).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_file_line_and_column() {
        assert!(
            error("[[turn]]\ntext = 'a'\n\n[[turn]]\ntxet = 'b'\n").starts_with("demo.toml:5:1: unknown field `txet`")
        );
        assert!(error("[[turn]]\ntext = 3\n").starts_with("demo.toml:2:8: invalid type: integer `3`"));
        assert!(error("[[turn]\n").starts_with("demo.toml:1:8: "));
        assert!(error("[[turn]]\ncall = [{ arguments = {} }]\n").starts_with("demo.toml:2:9: missing field `tool`"));
    }

    #[test]
    fn a_turn_that_does_nothing_and_a_script_without_turns_are_errors() {
        assert!(error("[[turn]]\ntext = 'a'\n[[turn]]\n").starts_with("demo.toml:3:1: the turn says nothing"));
        assert_eq!(error("turn = []"), "demo.toml:1:1: the script has no [[turn]]");
        assert!(error("").contains("missing field `turn`"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Script::open(Path::new("/nowhere/demo.toml")).unwrap_err().to_string();
        assert!(error.starts_with("the script /nowhere/demo.toml cannot be read"), "{error}");
    }
}
