//! The code that the adapters of all gateways share. A request contains the whole conversation, and a response contains
//! the model's texts and calls. So one message has several events, and each request repeats the events of the earlier
//! requests.
//!
//! | part of a message | event | hook point |
//! |---|---|---|
//! | each prompt of the user in a request | `prompt-submit` | `request.prompt` |
//! | each tool result in a request | `after-tool-call` | `request.tool-result` |
//! | each text of a response | `finalize-content` | `response.text` |
//! | each tool call of a response | `before-tool-call` | `response.tool-call` |
//!
//! The client stores the original conversation, without the changes that plugins made. So a masked text must be masked again in
//! each later request. For this reason, rules get the earlier prompts and results again. [`FurtherEvent::once`] identifies a
//! repeated event. The host needs it to repeat its earlier answer. Rules get a text of the model only once, in the response that
//! contains the text. Rules do not get system prompts, because system prompts belong to the operator.

use super::prelude::*;
use crate::json::Arguments;
use std::collections::HashMap;

/// A text can be refused or replaced.
const TEXT: Abilities = Abilities { rejects: true, replaces: true, ..Abilities::NONE };

/// Timeout in seconds that hookhost assumes. The actual timeout is in the gateway's configuration, and the client of
/// the gateway waits for that time. A person must answer before the assumed timeout ends.
const TIMEOUT: u16 = 10;

/// The hook points of a gateway.
pub(super) const POINTS: &[HookPoint] = &[
    HookPoint::new("request.prompt", EventKind::PromptSubmit, TEXT).timeout(TIMEOUT),
    HookPoint::new("request.tool-result", EventKind::AfterToolCall, TEXT).timeout(TIMEOUT),
    HookPoint::new("response.text", EventKind::FinalizeContent, TEXT).timeout(TIMEOUT),
    // A gateway accepts no changed call. If a call is changed or refused, the whole response is refused.
    HookPoint::new("response.tool-call", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(TIMEOUT),
    // A message that has none of these parts.
    HookPoint::new("request", EventKind::CustomEvent, Abilities::NONE),
    HookPoint::new("response", EventKind::CustomEvent, Abilities::NONE),
];

/// An event of a message, and the positions of its text.
#[derive(Clone, Debug)]
pub(super) struct MessagePart {
    pub(super) further: FurtherEvent,
    /// Positions of the text in the gateway's list of replaceable texts. A replacement is put at the first position,
    /// and the texts at the other positions become empty. This list of positions is empty if the text cannot be
    /// replaced.
    pub(super) positions: Vec<usize>,
}

impl MessagePart {
    pub(super) fn new(point: &str, event: HookEvent, positions: Vec<usize>) -> Self {
        Self { further: FurtherEvent::new(point, event), positions }
    }
}

/// A message of a conversation.
#[derive(Debug)]
pub(super) struct ConversationMessage<'a> {
    pub(super) role: &'a str,
    /// The texts of the message in order, one for each part.
    pub(super) texts: Vec<&'a str>,
    message: &'a Value,
}

impl<'a> ConversationMessage<'a> {
    pub(super) fn of(message: &'a Value) -> Self {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
        let texts = match message.get("content") {
            Some(Value::String(text)) => vec![text.as_str()],
            Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
            _ => Vec::new(),
        };
        Self { role, texts, message }
    }

    /// Returns the event of the message at `position` of a request, or `None` if rules do not check this message. A
    /// message with an unknown role is treated as a message of the user.
    pub(super) fn part(&self, position: usize, calls: &CallsById, positions: Vec<usize>) -> Option<MessagePart> {
        let text = self.texts.join("\n");
        if self.texts.is_empty() || matches!(self.role, "system" | "developer" | "assistant") {
            return None;
        }
        let mut part = match self.role {
            "tool" | "function" => {
                let id = self.message.get("tool_call_id").and_then(Value::as_str).map(str::to_owned);
                let named = self.message.get("name").and_then(Value::as_str);
                let call = id.as_deref().and_then(|id| calls.get(id)).cloned();
                let call = call.unwrap_or_else(|| ToolUse::new(id, named.unwrap_or("unknown"), json!({})));
                let result = ToolResult::text(text.as_str());
                MessagePart::new("request.tool-result", HookEvent::AfterToolCall { call, result }, positions)
            }
            _ => MessagePart::new("request.prompt", HookEvent::PromptSubmit { prompt: text.clone() }, positions),
        };
        // If a message in a later request has the same text and position, it is treated as the same message.
        part.further.once = Some(format!("{position}:{text}"));
        Some(part)
    }
}

/// Calls by identifier.
pub(super) type CallsById = HashMap<String, ToolUse>;

/// Returns the tool calls in a conversation, which are needed to find the call of each result. A call that cannot be read is left
/// out.
pub(super) fn calls_of(messages: &[Value]) -> CallsById {
    let lists = messages.iter().filter_map(|message| message.get("tool_calls")?.as_array());
    let calls = lists.flatten().filter_map(|call| call_of(call).ok());
    calls.filter_map(|call| Some((call.id.clone()?, call))).collect()
}

/// Decodes a call in the format of models: `{"id", "function": {"name", "arguments": TEXT}}`.
pub(super) fn call_of(call: &Value) -> Result<ToolUse, Unreadable> {
    let function = call.get("function").unwrap_or(call);
    let name = function.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| Unreadable::new("a tool call has no `function.name`"))?;
    let arguments = match function.get("arguments") {
        None => Value::Null.into(),
        Some(Value::String(text)) => {
            Arguments::of_text(text).map_err(|why| Unreadable::new(format!("`function.arguments`: {why}")))?
        }
        Some(other) => other.clone().into(),
    };
    Ok(ToolUse::new(call.get("id").and_then(Value::as_str).map(str::to_owned), name, arguments))
}

/// Creates the hook call for a message with these parts. A message without parts becomes a custom event.
pub(super) fn call(side: &str, session: AgentSession, fields: &Fields, parts: Vec<MessagePart>) -> HookCall {
    let mut events = parts.into_iter().map(|part| part.further);
    let first =
        events.next().unwrap_or_else(|| FurtherEvent::new(side, HookEvent::Custom { payload: fields.as_value() }));
    let mut call = HookCall::new(first.point, session, first.event);
    call.once = first.once;
    call.further = events.collect();
    call
}

/// The decision about a message, combined from the outcomes of its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MessageDecision {
    /// The message passes unchanged.
    Passed,
    /// The message is refused, for this reason.
    Refused(String),
    /// The texts at these positions are replaced.
    Replaced(Vec<(usize, String)>),
}

/// Combines the outcomes. If one part is refused, the whole message is refused. A part without an outcome is treated as
/// refused.
pub(super) fn decide(parts: &[MessagePart], outcomes: &[Outcome]) -> MessageDecision {
    let mut refused = Vec::new();
    let mut replaced = Vec::new();
    if outcomes.len() < parts.len() {
        refused.push(format!("hookhost settled {} of the {} parts of this message.", outcomes.len(), parts.len()));
    }
    for (part, outcome) in parts.iter().zip(outcomes) {
        let other = match &outcome.answer {
            Answer::Rejected(rejection) => {
                refused.push(reason::rejected(rejection));
                continue;
            }
            Answer::Ask { questions, .. } => {
                refused.push(reason::asked(questions));
                continue;
            }
            Answer::Replaced(text) => text,
            Answer::ReplacedResult(result) => &result.text,
            _ => continue,
        };
        match part.positions.split_first() {
            None => {
                refused.push("A plugin replaced a text that this gateway does not allow hooks to replace.".to_owned());
            }
            Some((first, rest)) => {
                replaced.push((*first, other.clone()));
                replaced.extend(rest.iter().map(|place| (*place, String::new())));
            }
        }
    }
    // Several texts can break the same rule, so the same reason is listed only once.
    refused.dedup();
    match (refused.is_empty(), replaced.is_empty()) {
        (false, _) => MessageDecision::Refused(refused.join("\n")),
        (true, false) => MessageDecision::Replaced(replaced),
        (true, true) => MessageDecision::Passed,
    }
}
