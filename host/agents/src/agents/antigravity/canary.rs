//! Canary message of Antigravity: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "conversationId": SESSION,
        "stepIdx": 0,
        "transcriptPath": "",
        "workspacePaths": [directory],
        "artifactDirectoryPath": "",
        "toolCall": { "name": "run_command", "args": { "CommandLine": command, "Cwd": directory } },
    });
    ("PreToolUse", message)
}
