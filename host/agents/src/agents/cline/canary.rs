//! Canary message of Cline: a shell command, as the command-line agent sends it to the file of the hook point.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "clineVersion": "",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "taskId": SESSION,
        "sessionContext": { "rootSessionId": SESSION },
        "workspaceRoots": [directory],
        "workspaceInfo": { "rootPath": directory },
        "userId": "unknown",
        "agent_id": SESSION,
        "parent_agent_id": null,
        "hookName": "tool_call",
        "iteration": 1,
        "tool_call": { "name": "run_commands", "input": { "commands": [command] } },
        "preToolUse": { "toolName": "run_commands", "parameters": { "commands": json!([command]).to_string() } },
    });
    ("PreToolUse", message)
}
