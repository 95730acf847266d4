//! The two tool calls with which guards are compared, and the message of an agent about such a call.

use serde_json::json;
use std::path::Path;

/// A call of the agent's shell.
pub(crate) struct Call {
    pub(crate) command: &'static str,
    pub(crate) is_force_push: bool,
}

/// A call that the rule allows, and a call that it denies.
pub(crate) const CALLS: [Call; 2] =
    [Call { command: "git status", is_force_push: false }, Call { command: "git push --force", is_force_push: true }];

impl Call {
    /// Returns Claude Code's message to its hook, for an agent in this directory. The message has no identifier, so that a repeated call is
    /// not taken for an earlier call.
    pub(crate) fn message(&self, directory: &Path) -> String {
        let message = json!({
            "session_id": "s", "transcript_path": "", "cwd": directory, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": self.command },
        });
        message.to_string()
    }
}
