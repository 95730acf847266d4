//! Claude Code's message about a shell command, and its command without a person.

use crate::canary::SESSION;
use serde_json::json;
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Vec<u8>) {
    let message = json!({
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": directory,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": { "command": command },
    });
    ("PreToolUse", message.to_string().into_bytes())
}

pub(super) fn headless(prompt: &str) -> Vec<String> {
    ["claude", "-p", prompt, "--allowedTools", "Bash"].map(str::to_owned).to_vec()
}
