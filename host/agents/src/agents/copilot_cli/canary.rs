//! Canary message of Copilot: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "sessionId": SESSION,
        "timestamp": 0,
        "cwd": directory,
        "toolName": "bash",
        "toolArgs": { "command": command, "description": "Proves the hook" },
    });
    ("preToolUse", message)
}
