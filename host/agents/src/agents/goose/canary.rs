//! Canary message of goose: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "event": "PreToolUse",
        "session_id": SESSION,
        "matcher_context": "developer__shell",
        "tool_name": "developer__shell",
        "tool_input": { "command": command },
        "working_dir": directory,
    });
    ("PreToolUse", message)
}
