//! Canary message of Windsurf: a shell command.

use crate::canary::SESSION;
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn message(command: &str, directory: &Path) -> (&'static str, Value) {
    let message = json!({
        "agent_action_name": "pre_run_command",
        "trajectory_id": SESSION,
        "execution_id": SESSION,
        "timestamp": "1970-01-01T00:00:00Z",
        "tool_info": { "command_line": command, "cwd": directory },
    });
    ("pre_run_command", message)
}
