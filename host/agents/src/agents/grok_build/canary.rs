//! Canary message of Grok Build: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "hookEventName": "pre_tool_use",
        "sessionId": SESSION,
        "cwd": directory,
        "workspaceRoot": directory,
        "toolName": "run_terminal_command",
        "toolInput": { "command": command },
    });
    ("PreToolUse", message)
}
