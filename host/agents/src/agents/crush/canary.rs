//! Canary message of Crush: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "event": "PreToolUse",
        "session_id": SESSION,
        "cwd": directory,
        "tool_name": "bash",
        "tool_input": { "command": command },
    });
    ("PreToolUse", message)
}
