//! Refuses `git push --force`. This is about the smallest plugin that is useful.

use hookhost_guest::prelude::*;

/// The plugin.
#[derive(Debug)]
pub struct NoForcePush;

#[plugin]
impl Plugin for NoForcePush {
    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        match call.action.shell() {
            Some(shell) if shell.command.contains("push --force") => {
                Refusal::new("force-push rewrites shared history").code("git.force-push").into()
            }
            _ => ToolCallVerdict::allow(),
        }
    }
}
