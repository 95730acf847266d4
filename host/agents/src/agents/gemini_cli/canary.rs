//! Canary message of Gemini CLI: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": directory,
        "hook_event_name": "BeforeTool",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "tool_name": "run_shell_command",
        "tool_input": { "command": command },
    });
    ("BeforeTool", message)
}
