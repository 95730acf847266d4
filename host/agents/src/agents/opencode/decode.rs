//! OpenCode's events: the `input` and `output` that it passes to a plugin.

use crate::agents::own_plugin::OwnMessage;
use crate::event::{HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::ToolResult;
use serde_json::Value;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut told = OwnMessage::of(message, fields)?;
    let input = told.event.within("input");
    if told.session.id.is_none() {
        told.session.id = input.id(&["sessionID"])?;
    }
    let info = told.event.within("info");
    // The session of a sub-agent begins and ends within its parent session.
    if let Some(parent) = info.some_text("parentID") {
        told.session.id = Some(parent);
    }
    let event = event(&told.point, &told.event, &input, &info);
    told.call(event)
}

fn event(point: &str, fields: &Fields, input: &Fields, info: &Fields) -> Result<HookEvent, Unreadable> {
    let output = fields.within("output");
    let subagent = info.some_text("parentID").and_then(|_| info.some_text("id"));
    Ok(match (point, subagent) {
        ("session.created", Some(id)) => {
            HookEvent::SubagentStart { id, prompt: info.some_text("title").unwrap_or_default() }
        }
        ("session.created", None) => HookEvent::SessionStart { is_resumed: false },
        ("session.deleted", Some(id)) => HookEvent::SubagentEnd { id, text: String::new(), is_continued: false },
        ("session.deleted", None) => HookEvent::SessionEnd,
        ("chat.message", _) => HookEvent::PromptSubmit { prompt: fields.text("prompt")? },
        ("tool.execute.before", _) => HookEvent::BeforeToolCall(ToolUse::new(
            input.id(&["callID"])?,
            input.text("tool")?,
            output.arguments("args")?,
        )),
        ("tool.execute.after", _) => {
            let call = ToolUse::new(input.id(&["callID"])?, input.text("tool")?, input.arguments("args")?);
            HookEvent::AfterToolCall { call, result: ToolResult::text(output.text("output")?) }
        }
        ("permission.ask", _) => {
            let call = ToolUse::new(input.id(&["callID"])?, input.text("type")?, Value::Object(serde_json::Map::new()));
            HookEvent::PermissionRequest(call)
        }
        ("experimental.session.compacting", _) => HookEvent::BeforeCompaction,
        ("session.compacted", _) => HookEvent::AfterCompaction { summary: String::new() },
        ("experimental.text.complete", _) => HookEvent::FinalText { text: output.text("text")? },
        ("session.idle", _) => HookEvent::Stop { text: None, is_continued: false },
        ("session.error", _) => {
            let error = fields.within("error");
            let text = error.within("data").some_text("message").or_else(|| error.first_text(&["message", "name"]));
            HookEvent::AgentError { message: text.unwrap_or_else(|| "the agent stopped".to_owned()) }
        }
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}
