//! agentgateway's messages: `body.messages` of a request, `body.choices` of a response.

use crate::agents::gateway::{Piece, Spoken, call, call_of, calls_of};
use crate::event::{AgentSession, HookCall, HookEvent};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use serde_json::Value;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let (side, pieces) = pieces(fields)?;
    let mut session = AgentSession::new(None, message.directory.to_owned());
    session.interactive = false;
    Ok(call(side, session, fields, pieces))
}

/// Returns `request` or `response`, and the events of the message in order. The places are positions in the message's
/// list.
pub(super) fn pieces(fields: &Fields) -> Result<(&'static str, Vec<Piece>), Unreadable> {
    let body = fields.get("body");
    let list = |key: &str| body.and_then(|body| body.get(key)?.as_array());
    if let Some(messages) = list("messages") {
        let calls = calls_of(messages);
        let spoken = messages.iter().map(Spoken::of).enumerate();
        let pieces = spoken.filter_map(|(position, spoken)| spoken.piece(position, &calls, vec![position]));
        return Ok(("request", pieces.collect()));
    }
    let Some(choices) = list("choices") else {
        return Err(Unreadable::new("`body` has neither `messages` nor `choices`"));
    };
    let mut pieces = Vec::new();
    for (position, choice) in choices.iter().enumerate() {
        let Some(message) = choice.get("message") else { continue };
        let texts = Spoken::of(message).texts;
        if !texts.is_empty() {
            let event = HookEvent::FinalText { text: texts.join("\n") };
            pieces.push(Piece::new("response.text", event, vec![position]));
        }
        // No version up to now sends tool calls.
        for tool_call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let event = HookEvent::BeforeToolCall(call_of(tool_call)?);
            pieces.push(Piece::new("response.tool-call", event, Vec::new()));
        }
    }
    Ok(("response", pieces))
}
