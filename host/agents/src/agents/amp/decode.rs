//! Amp's events: one object each. The hookhost plugin adds `type`.

use crate::agents::own_plugin::OwnMessage;
use crate::event::{HookCall, HookEvent, ToolUse};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::ToolResult;
use serde_json::Value;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut told = OwnMessage::of(message, fields)?;
    if told.session.id.is_none() {
        told.session.id = told.event.within("thread").id(&["id"])?;
    }
    let event = event(&told.point, &told.event);
    told.call(event)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "session.start" => HookEvent::SessionStart { is_resumed: false },
        "agent.start" => HookEvent::PromptSubmit { prompt: fields.text("message")? },
        "tool.call" => HookEvent::BeforeToolCall(call(fields)?),
        "tool.result" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields) },
        "agent.end" => match fields.some_text("status").as_deref() {
            Some("error") => HookEvent::AgentError { message: "the agent stopped".to_owned() },
            // A prompt would restart an agent that the user has stopped.
            Some("cancelled") => HookEvent::Custom { payload: fields.as_value() },
            _ => HookEvent::Stop { text: fields.some_text("text"), is_continued: fields.is("continued") },
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    Ok(ToolUse::new(fields.id(&["toolUseID"])?, fields.text("tool")?, fields.arguments("input")?))
}

fn result(fields: &Fields) -> ToolResult {
    let output = fields.get("output").cloned().unwrap_or_default();
    let text = match (&output, fields.some_text("error")) {
        (_, Some(error)) => error,
        (Value::Null, None) => String::new(),
        (Value::String(text), None) => text.clone(),
        (other, None) => other.to_string(),
    };
    let is_error = fields.some_text("status").is_some_and(|status| status != "done");
    ToolResult { text, is_error, raw: Some(output.into()) }
}
