//! What gateways share: a request has the whole conversation in it, a response the model's texts and calls. So one message means
//! several events, and what was asked about once comes again with each later request.
//!
//! | of a message | event | hook point |
//! |---|---|---|
//! | each prompt of the user in a request | `prompt-submit` | `request.prompt` |
//! | each tool result in a request | `after-tool-call` | `request.tool-result` |
//! | each text of a response | `finalize-content` | `response.text` |
//! | each tool call of a response | `before-tool-call` | `response.tool-call` |
//!
//! The client keeps the conversation as it was, not as a plugin changed it. So a text that was masked has to be masked again in
//! each later request, and earlier prompts and results are asked about, too; [`FurtherEvent::once`] lets the host answer them as
//! before. What the model said is asked about in its response alone, and system prompts are the operator's.

use crate::agent::{Abilities, HookPoint};
use crate::event::{AgentSession, FurtherEvent, HookCall, HookEvent, ToolUse};
use crate::json::{Arguments, Fields};
use crate::message::Unreadable;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use hookhost_contract::{EventKind, ToolResult};
use serde_json::{Value, json};
use std::collections::HashMap;

/// A text is refused, or another one takes its place.
const TEXT: Abilities = Abilities { rejects: true, replaces: true, ..Abilities::NONE };

/// How long a gateway waits for an answer is set in its configuration, and its client waits with it: a person has less than this
/// to answer, in seconds.
const TIMEOUT: u16 = 10;

/// The hook points of a gateway.
pub(super) const POINTS: &[HookPoint] = &[
    HookPoint::new("request.prompt", EventKind::PromptSubmit, TEXT).timeout(TIMEOUT),
    HookPoint::new("request.tool-result", EventKind::AfterToolCall, TEXT).timeout(TIMEOUT),
    HookPoint::new("response.text", EventKind::FinalizeContent, TEXT).timeout(TIMEOUT),
    // A gateway takes no other call: the whole response is refused.
    HookPoint::new("response.tool-call", EventKind::BeforeToolCall, Abilities::REJECTS).timeout(TIMEOUT),
    // Messages with none of these.
    HookPoint::new("request", EventKind::CustomEvent, Abilities::NONE),
    HookPoint::new("response", EventKind::CustomEvent, Abilities::NONE),
];

/// An event of a message, and where its text is.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) further: FurtherEvent,
    /// The places of its text: positions in whatever list the gateway replaces texts in. The first gets another text, the others
    /// none. Empty where its text cannot be replaced.
    pub(super) places: Vec<usize>,
}

impl Piece {
    pub(super) fn new(point: &str, event: HookEvent, places: Vec<usize>) -> Self {
        Self { further: FurtherEvent::new(point, event), places }
    }
}

/// A message of a conversation.
#[derive(Debug)]
pub(super) struct Spoken<'a> {
    pub(super) role: &'a str,
    /// Its texts, in order; there are several where it has several parts.
    pub(super) texts: Vec<&'a str>,
    message: &'a Value,
}

impl<'a> Spoken<'a> {
    pub(super) fn of(message: &'a Value) -> Self {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
        let texts = match message.get("content") {
            Some(Value::String(text)) => vec![text.as_str()],
            Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
            _ => Vec::new(),
        };
        Self { role, texts, message }
    }

    /// What it means at `position` of a request, if it is asked about: anyone who has an unknown role speaks as the user.
    pub(super) fn piece(&self, position: usize, calls: &Calls, places: Vec<usize>) -> Option<Piece> {
        let text = self.texts.join("\n");
        if self.texts.is_empty() || matches!(self.role, "system" | "developer" | "assistant") {
            return None;
        }
        let mut piece = match self.role {
            "tool" | "function" => {
                let id = self.message.get("tool_call_id").and_then(Value::as_str).map(str::to_owned);
                let named = self.message.get("name").and_then(Value::as_str);
                let call = id.as_deref().and_then(|id| calls.get(id)).cloned();
                let call = call.unwrap_or_else(|| ToolUse::new(id, named.unwrap_or("unknown"), json!({})));
                let result = ToolResult::text(text.as_str());
                Piece::new("request.tool-result", HookEvent::AfterToolCall { call, result }, places)
            }
            _ => Piece::new("request.prompt", HookEvent::PromptSubmit { prompt: text.clone() }, places),
        };
        // The same text at the same place of the same conversation is the same message.
        piece.further.once = Some(format!("{position}:{text}"));
        Some(piece)
    }
}

/// Calls by their identifiers.
pub(super) type Calls = HashMap<String, ToolUse>;

/// The calls that a conversation has in it, for the results that name them. One that cannot be read is left out.
pub(super) fn calls_of(messages: &[Value]) -> Calls {
    let lists = messages.iter().filter_map(|message| message.get("tool_calls")?.as_array());
    let calls = lists.flatten().filter_map(|call| call_of(call).ok());
    calls.filter_map(|call| Some((call.id.clone()?, call))).collect()
}

/// A call as models make it: `{"id", "function": {"name", "arguments": TEXT}}`.
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

/// The call that these pieces make; where there are none, a message that is observed only.
pub(super) fn call(side: &str, session: AgentSession, fields: &Fields, pieces: Vec<Piece>) -> HookCall {
    let mut events = pieces.into_iter().map(|piece| piece.further);
    let first =
        events.next().unwrap_or_else(|| FurtherEvent::new(side, HookEvent::Custom { payload: fields.as_value() }));
    let mut call = HookCall::new(first.point, session, first.event, fields.to_json());
    call.once = first.once;
    call.further = events.collect();
    call
}

/// What has to be done with a message, from the outcomes of its pieces.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decided {
    /// Nothing.
    Passed,
    /// It is refused.
    Refused(String),
    /// These places have these texts.
    Replaced(Vec<(usize, String)>),
}

/// Puts the outcomes together: one refusal refuses the message. A piece without an outcome was not settled, and is refused.
pub(super) fn decide(pieces: &[Piece], outcomes: &[Outcome]) -> Decided {
    let mut refused = Vec::new();
    let mut replaced = Vec::new();
    if outcomes.len() < pieces.len() {
        refused.push(format!("hookhost settled {} of the {} parts of this message.", outcomes.len(), pieces.len()));
    }
    for (piece, outcome) in pieces.iter().zip(outcomes) {
        let other = match &outcome.answer {
            Answer::Rejected(no) => {
                refused.push(reason::rejected(no));
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
        match piece.places.split_first() {
            None => {
                refused.push("A plugin replaced a text, and this gateway cannot take another one there.".to_owned());
            }
            Some((first, rest)) => {
                replaced.push((*first, other.clone()));
                replaced.extend(rest.iter().map(|place| (*place, String::new())));
            }
        }
    }
    // One sentence of a rule that several texts break.
    refused.dedup();
    match (refused.is_empty(), replaced.is_empty()) {
        (false, _) => Decided::Refused(refused.join("\n")),
        (true, false) => Decided::Replaced(replaced),
        (true, true) => Decided::Passed,
    }
}
