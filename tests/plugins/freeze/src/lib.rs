//! Refuses all commands while the file `/policy/freeze` exists. This is the guide's example of a plugin that reads files.

use hookhost_guest::prelude::*;

/// The plugin.
#[derive(Debug)]
pub struct Freeze;

#[plugin]
impl Plugin for Freeze {
    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        if call.action.shell().is_none() {
            return Verdict::allow();
        }
        match std::fs::read_to_string("/policy/freeze") {
            Ok(why) => Refusal::new(format!("nothing may run: {}", why.trim())).code("freeze").into(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Verdict::allow(),
            Err(error) => Refusal::new(format!("/policy/freeze cannot be read: {error}")).into(),
        }
    }
}
