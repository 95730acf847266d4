//! Canary message of Kiro: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "session_id": SESSION,
        "hook_event_name": "PreToolUse",
        "cwd": directory,
        "tool_name": "execute_bash",
        "tool_input": { "command": command },
    });
    ("PreToolUse", message)
}
