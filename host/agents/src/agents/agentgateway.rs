//! The adapter of agentgateway's webhooks for prompt guards, `POST /request` and `POST /response`. Source:
//! agentgateway/agentgateway, `crates/agentgateway/src/llm/policy/webhook.rs`.
//!
//! The gateway calls a webhook before it sends a request to a model, and before it returns a response to the client.
//! The module [`gateway`](super::gateway) defines the events. A request has its messages in `body.messages`, and a
//! response has its messages in `body.choices`. A reply is an approval, a changed body or a denial, depending on the
//! keys of its `action`. The operator owns the gateway's configuration, so hookhost edits no file of the gateway.

use super::prelude::*;
use crate::agents::gateway::{
    ConversationMessage, MessageDecision, MessagePart, POINTS, call, call_of, calls_of, decide,
};

static AGENT: Agent = Agent {
    name: "agentgateway",
    title: "agentgateway",
    programs: &["agentgateway"],
    versions: ("", ""),
    points: POINTS,
    coverage: &[
        Coverage::gated("prompts", ""),
        Coverage::gated("results of tools", "without the name of the tool"),
        Coverage::blind("tool calls", "hookhost understands `response.tool-call`, but no known version sends it"),
        Coverage::gated("texts of the model", ""),
        Coverage::blind("calls that a client makes without a model", "no gateway sees them"),
    ],
    gaps: &[
        "the gateway sees only clients that use it",
        "messages name no session, so all clients of the gateway share one session",
        "with `failureMode: failOpen`, the gateway continues if it gets no answer",
        "with `messageFormat: raw`, a reply cannot refuse; use the guardrail format",
    ],
};

pub(super) static ADAPTER: Adapter =
    Adapter { neutral, encode_all: Some(encode_all), ..Adapter::new(&AGENT, decode, encode, fail, install) };

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let (side, parts) = parts(fields)?;
    let mut session = AgentSession::new(None, message.directory.to_owned());
    session.interactive = false;
    Ok(call(side, session, fields, parts))
}

/// Returns `request` or `response`, and the events of the message in order. The positions in the result refer to the
/// list `messages` or `choices`.
fn parts(fields: &Fields) -> Result<(&'static str, Vec<MessagePart>), Unreadable> {
    let body = fields.get("body");
    let list = |key: &str| body.and_then(|body| body.get(key)?.as_array());
    if let Some(messages) = list("messages") {
        let calls = calls_of(messages);
        let spoken = messages.iter().map(ConversationMessage::of).enumerate();
        let parts = spoken.filter_map(|(position, spoken)| spoken.part(position, &calls, vec![position]));
        return Ok(("request", parts.collect()));
    }
    let Some(choices) = list("choices") else {
        return Err(Unreadable::new("`body` has neither `messages` nor `choices`"));
    };
    let mut parts = Vec::new();
    for (position, choice) in choices.iter().enumerate() {
        let Some(message) = choice.get("message") else { continue };
        let texts = ConversationMessage::of(message).texts;
        if !texts.is_empty() {
            let event = HookEvent::FinalText { text: texts.join("\n") };
            parts.push(MessagePart::new("response.text", event, vec![position]));
        }
        // No known version of the gateway sends tool calls.
        for tool_call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let event = HookEvent::BeforeToolCall(call_of(tool_call)?);
            parts.push(MessagePart::new("response.tool-call", event, Vec::new()));
        }
    }
    Ok(("response", parts))
}

/// HTTP status that the client gets if its request or the model's response is refused.
const FORBIDDEN: u16 = 403;

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    encode_all(call, std::slice::from_ref(outcome))
}

fn encode_all(call: &HookCall, outcomes: &[Outcome]) -> Reply {
    let read = Fields::of(call.raw.as_bytes()).and_then(|fields| Ok((fields.get("body").cloned(), parts(&fields)?)));
    let Ok((Some(mut body), (side, parts))) = read else {
        return refused("hookhost cannot read its own copy of this message");
    };
    match decide(&parts, outcomes) {
        MessageDecision::Passed => neutral(None),
        MessageDecision::Refused(why) => refused(&why),
        MessageDecision::Replaced(replaced) => {
            for (place, text) in replaced {
                match content(&mut body, side, place) {
                    Some(content) => *content = json!(text),
                    None => return refused("a plugin replaced a text that the gateway did not send"),
                }
            }
            Reply::json(&json!({ "action": { "body": body, "reason": "a plugin replaced a text" } }))
        }
    }
}

/// Returns the content of a message in the body.
fn content<'a>(body: &'a mut Value, side: &str, place: usize) -> Option<&'a mut Value> {
    let message = match side {
        "request" => body.get_mut("messages")?.get_mut(place)?,
        _ => body.get_mut("choices")?.get_mut(place)?.get_mut("message")?,
    };
    message.get_mut("content")
}

fn fail(_point: Option<&str>, why: &str) -> Reply {
    refused(why)
}

fn refused(why: &str) -> Reply {
    Reply::json(&json!({ "action": { "body": why, "status_code": FORBIDDEN, "reason": why } }))
}

fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({ "action": { "reason": "no plugin objected" } }))
}

#[expect(clippy::unnecessary_wraps, reason = "the other agents' plans can fail")]
fn install(_context: &Context<'_>) -> Result<Plan, NotInstallable> {
    Ok(Plan::default()
        .step("Run `hookhost serve --http ADDRESS` at an address that the gateway can reach, and note the token.")
        .step(
            "Add a `webhook` to `request` and to `response` under `policies.ai.promptGuard` of the route. Each has the address as \
             `target`, `failureMode: failClosed`, and a header with the token. The paths are `/agentgateway/request` and \
             `/agentgateway/response`.",
        )
        .step("The gateway reloads its configuration by itself."))
}
