//! Canary message of Cursor: a shell command.

use super::AGENT;
use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "conversation_id": SESSION,
        "generation_id": SESSION,
        "model": "",
        "model_id": "",
        "cursor_version": AGENT.versions.1,
        "workspace_roots": [directory],
        "user_email": null,
        "transcript_path": null,
        "hook_event_name": "preToolUse",
        "tool_name": "Shell",
        "tool_input": { "command": command, "working_directory": directory },
        "cwd": directory,
    });
    ("preToolUse", message)
}
