//! Windsurf's messages: `agent_action_name` is the hook point, `tool_info` has its data.

use crate::event::{AgentSession, HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::ToolResult;
use serde_json::Value;
use std::path::PathBuf;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    // Every message of Windsurf has this field.
    let point = fields.text("agent_action_name")?;
    let event = event(&point, fields).map_err(|error| error.at(&point))?;
    let id = fields.id(&["trajectory_id"]).map_err(|error| error.at(&point))?;
    let cwd = fields.within("tool_info").some_text("cwd");
    let cwd = cwd.map_or_else(|| message.directory.to_owned(), PathBuf::from);
    let mut session = AgentSession::new(id, cwd);
    session.workspace = message.directory.to_owned();
    let raw = fields.to_json();
    Ok(HookCall::new(point, session, event, raw))
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    let info = fields.within("tool_info");
    Ok(match point {
        "pre_user_prompt" => HookEvent::PromptSubmit { prompt: info.text("user_prompt")? },
        "pre_read_code" | "pre_write_code" | "pre_run_command" | "pre_mcp_tool_use" => {
            HookEvent::BeforeToolCall(call(point, fields)?)
        }
        "post_read_code" | "post_write_code" | "post_run_command" | "post_mcp_tool_use" => {
            HookEvent::AfterToolCall { call: call(point, fields)?, result: result(&info) }
        }
        "post_cascade_response" => HookEvent::FinalText { text: info.text("response")? },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

/// Decodes a call. Windsurf names only the kind of call, so the tool's name is the hook point without `pre_` or
/// `post_`.
fn call(point: &str, fields: &Fields) -> Result<ToolUse, Unreadable> {
    let tool = point.trim_start_matches("pre_").trim_start_matches("post_");
    let mut arguments = fields.arguments("tool_info")?;
    let told = arguments.value.as_object_mut().ok_or_else(|| Unreadable::new("`tool_info` is not an object"))?;
    told.shift_remove("mcp_result");
    let call = ToolUse::new(None, tool, arguments);
    Ok(match fields.within("tool_info").some_text("mcp_server_name") {
        Some(server) => call.of_server(server),
        None => call,
    })
}

fn result(info: &Fields) -> ToolResult {
    match info.get("mcp_result") {
        None | Some(Value::Null) => ToolResult::default(),
        Some(Value::String(text)) => ToolResult::text(text.as_str()),
        Some(other) => ToolResult { text: other.to_string(), is_error: false, raw: Some(other.into()) },
    }
}
