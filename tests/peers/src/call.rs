//! The two calls that everything is asked about, and the message that an agent sends about one.

use serde_json::json;
use std::path::Path;

/// A call of the agent's shell.
pub(crate) struct Call {
    pub(crate) command: &'static str,
    pub(crate) is_force_push: bool,
}

/// One that runs, and one that the rule is there to refuse.
pub(crate) const CALLS: [Call; 2] =
    [Call { command: "git status", is_force_push: false }, Call { command: "git push --force", is_force_push: true }];

impl Call {
    /// What Claude Code writes to its hook, for an agent that works in this directory. It has no identifier: a call that was asked
    /// about before would be known again.
    pub(crate) fn message(&self, directory: &Path) -> String {
        let message = json!({
            "session_id": "s", "transcript_path": "", "cwd": directory, "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": self.command },
        });
        message.to_string()
    }
}
