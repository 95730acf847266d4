//! Canary message of Droid: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": directory,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Execute",
        "tool_input": { "command": command, "summary": "Proves the hook" },
    });
    ("PreToolUse", message)
}
