//! The adapter of LiteLLM's guardrail interface, `POST /beta/litellm_basic_guardrail_api`. Sources: the vendor's page on this
//! interface, and the directory `litellm/proxy/guardrails/guardrail_hooks/generic_guardrail_api/` of BerriAI/litellm. The
//! vendor's page says that the interface is a beta.
//!
//! The LiteLLM proxy calls the guardrail before it sends a request to a model, and before it returns a response to the
//! client. The module [`gateway`](super::gateway) defines the events. In a call of the guardrail, `texts` contains the
//! texts of all messages of the conversation, in order, and `structured_messages` contains the speaker of each message.
//! A reply names one of three actions. The operator owns the proxy's configuration, a YAML file, so hookhost edits no
//! file of the proxy.

use super::prelude::*;
use crate::agents::gateway::{
    ConversationMessage, MessageDecision, MessagePart, POINTS, call, call_of, calls_of, decide,
};

static AGENT: Agent = Agent {
    name: "litellm",
    title: "LiteLLM",
    programs: &["litellm"],
    versions: ("", ""),
    points: POINTS,
    coverage: &[
        Coverage::gated("prompts", ""),
        Coverage::gated("results of tools", "when the client sends them to the model"),
        Coverage::gated(
            "tool calls",
            "if a rule rejects a call, the client gets an error in place of the whole response",
        ),
        Coverage::gated("texts of the model", ""),
        Coverage::blind("images and system prompts", "the guardrail does not get them"),
        Coverage::blind("calls that a client makes without a model", "no gateway sees them"),
    ],
    gaps: &[
        "the proxy sees only clients that use it",
        "with `unreachable_fallback: fail_open` or `fail_on_error: false` in its configuration, the proxy continues if it gets no answer",
        "in mode `logging_only` the guardrail gets no request; without `default_on` it gets only requests that name the guardrail",
        "the proxy's settings for streams decide how a streamed response is checked",
    ],
};

pub(super) static ADAPTER: Adapter =
    Adapter { neutral, encode_all: Some(encode_all), ..Adapter::new(&AGENT, decode, encode, fail, install) };

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let side = side(fields)?;
    let parts = parts(fields)?;
    let id = fields.id(&["litellm_trace_id", "litellm_call_id"])?;
    let mut session = AgentSession::new(id, message.directory.to_owned());
    session.interactive = false;
    Ok(call(&side, session, fields, parts))
}

fn side(fields: &Fields) -> Result<String, Unreadable> {
    let side = fields.text("input_type")?;
    if side == "request" || side == "response" {
        return Ok(side);
    }
    Err(Unreadable::new("`input_type` is neither `request` nor `response`"))
}

/// Returns the events of the message, in order. The positions in the result refer to `texts`.
fn parts(fields: &Fields) -> Result<Vec<MessagePart>, Unreadable> {
    let texts = texts(fields)?;
    if side(fields)? == "response" {
        let mut parts: Vec<MessagePart> = (0..).zip(&texts).map(|(place, text)| final_text(place, text)).collect();
        for call in list(fields, "tool_calls")? {
            parts.push(MessagePart::new("response.tool-call", HookEvent::BeforeToolCall(call_of(call)?), Vec::new()));
        }
        return Ok(parts);
    }
    let messages = list(fields, "structured_messages")?;
    let calls = calls_of(messages);
    let spoken: Vec<ConversationMessage<'_>> = messages.iter().map(ConversationMessage::of).collect();
    let placed = place(&texts, &spoken);
    let mut parts = Vec::new();
    for (position, (spoken, positions)) in spoken.iter().zip(placed.as_deref().unwrap_or_default()).enumerate() {
        parts.extend(spoken.part(position, &calls, positions.clone()));
    }
    if placed.is_none() {
        // The speakers of the texts are unknown, so each text is treated as a text of the user.
        parts.extend((0..).zip(&texts).map(|(place, text)| {
            let mut part =
                MessagePart::new("request.prompt", HookEvent::PromptSubmit { prompt: (*text).to_owned() }, vec![place]);
            part.further.once = Some(format!("{place}:{text}"));
            part
        }));
    }
    Ok(parts)
}

fn final_text(place: usize, text: &str) -> MessagePart {
    MessagePart::new("response.text", HookEvent::FinalText { text: text.to_owned() }, vec![place])
}

fn texts(fields: &Fields) -> Result<Vec<&str>, Unreadable> {
    let texts = list(fields, "texts")?.iter().map(|text| text.as_str());
    texts.collect::<Option<_>>().ok_or_else(|| Unreadable::new("`texts` contains an element that is not a string"))
}

/// Returns the list in a field, or an empty list if the field is missing or `null`.
fn list<'a>(fields: &'a Fields, key: &str) -> Result<&'a [Value], Unreadable> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(Unreadable::new(format!("`{key}` is not a list"))),
    }
}

/// Returns the positions in `texts` that belong to each message. Returns `None` if `texts` contains a text that no
/// message contains, or if the order in `texts` differs from the order of the messages. In both cases, the speakers are
/// unknown.
fn place(texts: &[&str], spoken: &[ConversationMessage<'_>]) -> Option<Vec<Vec<usize>>> {
    let mut next = 0;
    let mut placed = vec![Vec::new(); spoken.len()];
    for (positions, message) in placed.iter_mut().zip(spoken) {
        for text in &message.texts {
            if texts.get(next) == Some(text) {
                positions.push(next);
                next += 1;
            }
        }
    }
    // If `texts` contains only some of a message's texts, the message cannot be replaced.
    for (positions, message) in placed.iter_mut().zip(spoken) {
        if positions.len() < message.texts.len() {
            positions.clear();
        }
    }
    (next == texts.len()).then_some(placed)
}

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    encode_all(call, std::slice::from_ref(outcome))
}

fn encode_all(call: &HookCall, outcomes: &[Outcome]) -> Reply {
    let Ok((fields, parts)) = Fields::of(call.raw.as_bytes()).and_then(|fields| Ok((fields.clone(), parts(&fields)?)))
    else {
        return blocked("hookhost cannot read its own copy of this message");
    };
    match decide(&parts, outcomes) {
        MessageDecision::Passed => neutral(None),
        MessageDecision::Refused(why) => blocked(&why),
        MessageDecision::Replaced(replaced) => {
            let mut texts = fields.get("texts").and_then(Value::as_array).cloned().unwrap_or_default();
            for (place, text) in replaced {
                match texts.get_mut(place) {
                    Some(place) => *place = json!(text),
                    None => return blocked("a plugin replaced a text that the proxy did not send"),
                }
            }
            Reply::json(&json!({ "action": "GUARDRAIL_INTERVENED", "texts": texts }))
        }
    }
}

fn fail(_point: Option<&str>, why: &str) -> Reply {
    blocked(why)
}

fn blocked(why: &str) -> Reply {
    Reply::json(&json!({ "action": "BLOCKED", "blocked_reason": why }))
}

fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({ "action": "NONE" }))
}

#[expect(clippy::unnecessary_wraps, reason = "the other agents' plans can fail")]
fn install(_context: &Context<'_>) -> Result<Plan, NotInstallable> {
    Ok(Plan::default()
        .step("Run `hookhost serve --http ADDRESS` at an address that the proxy can reach, and note the token.")
        .step(
            "Add this entry to the list `guardrails` in the proxy's config.yaml: `{guardrail_name: hookhost, litellm_params: \
             {guardrail: generic_guardrail_api, mode: [pre_call, post_call], default_on: true, unreachable_fallback: \
             fail_closed, api_base: \"http://ADDRESS/litellm\", api_key: TOKEN}}`.",
        )
        .step("Restart the proxy."))
}
