//! Canary message of OpenHands: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "event_type": "PreToolUse",
        "tool_name": "terminal",
        "tool_input": { "command": command, "is_input": false },
        "tool_response": null,
        "message": null,
        "session_id": SESSION,
        "working_dir": directory,
        "metadata": {},
    });
    ("PreToolUse", message)
}
