//! LiteLLM's messages: `texts` has the texts of all messages, in order; `structured_messages` has the speaker of each.

use crate::agents::gateway::{Piece, Spoken, call, call_of, calls_of};
use crate::event::{AgentSession, HookCall, HookEvent};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use serde_json::Value;

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let side = side(fields)?;
    let pieces = pieces(fields)?;
    let id = fields.id(&["litellm_trace_id", "litellm_call_id"])?;
    let mut session = AgentSession::new(id, message.directory.to_owned());
    session.interactive = false;
    Ok(call(&side, session, fields, pieces))
}

fn side(fields: &Fields) -> Result<String, Unreadable> {
    let side = fields.text("input_type")?;
    if side == "request" || side == "response" {
        return Ok(side);
    }
    Err(Unreadable::new("`input_type` is neither `request` nor `response`"))
}

/// Returns the events of the message, in order. The places are positions in `texts`.
pub(super) fn pieces(fields: &Fields) -> Result<Vec<Piece>, Unreadable> {
    let texts = texts(fields)?;
    if side(fields)? == "response" {
        let mut pieces: Vec<Piece> = (0..).zip(&texts).map(|(place, text)| final_text(place, text)).collect();
        for call in list(fields, "tool_calls")? {
            pieces.push(Piece::new("response.tool-call", HookEvent::BeforeToolCall(call_of(call)?), Vec::new()));
        }
        return Ok(pieces);
    }
    let messages = list(fields, "structured_messages")?;
    let calls = calls_of(messages);
    let spoken: Vec<Spoken<'_>> = messages.iter().map(Spoken::of).collect();
    let placed = place(&texts, &spoken);
    let mut pieces = Vec::new();
    for (position, (spoken, places)) in spoken.iter().zip(placed.as_deref().unwrap_or_default()).enumerate() {
        pieces.extend(spoken.piece(position, &calls, places.clone()));
    }
    if placed.is_none() {
        // The speaker is unknown, so the text counts as the user's.
        pieces.extend((0..).zip(&texts).map(|(place, text)| {
            let mut piece =
                Piece::new("request.prompt", HookEvent::PromptSubmit { prompt: (*text).to_owned() }, vec![place]);
            piece.further.once = Some(format!("{place}:{text}"));
            piece
        }));
    }
    Ok(pieces)
}

fn final_text(place: usize, text: &str) -> Piece {
    Piece::new("response.text", HookEvent::FinalText { text: text.to_owned() }, vec![place])
}

fn texts(fields: &Fields) -> Result<Vec<&str>, Unreadable> {
    let texts = list(fields, "texts")?.iter().map(|text| text.as_str());
    texts.collect::<Option<_>>().ok_or_else(|| Unreadable::new("`texts` has something else than texts"))
}

/// Returns a list, which may be missing or `null`.
fn list<'a>(fields: &'a Fields, key: &str) -> Result<&'a [Value], Unreadable> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(Unreadable::new(format!("`{key}` is not a list"))),
    }
}

/// Returns for each message the positions of its texts in `texts`. `None` if `texts` has another text or another order than the
/// messages, because the speakers are then unknown.
fn place(texts: &[&str], spoken: &[Spoken<'_>]) -> Option<Vec<Vec<usize>>> {
    let mut next = 0;
    let mut placed = vec![Vec::new(); spoken.len()];
    for (places, message) in placed.iter_mut().zip(spoken) {
        for text in &message.texts {
            if texts.get(next) == Some(text) {
                places.push(next);
                next += 1;
            }
        }
    }
    // A message cannot be replaced as a whole if `texts` has only some of its texts.
    for (places, message) in placed.iter_mut().zip(spoken) {
        if places.len() < message.texts.len() {
            places.clear();
        }
    }
    (next == texts.len()).then_some(placed)
}
