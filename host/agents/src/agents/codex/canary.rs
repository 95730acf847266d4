//! Canary message of Codex: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "session_id": SESSION,
        "turn_id": SESSION,
        "transcript_path": null,
        "cwd": directory,
        "hook_event_name": "PreToolUse",
        "model": "",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": { "command": command },
    });
    ("PreToolUse", message)
}
