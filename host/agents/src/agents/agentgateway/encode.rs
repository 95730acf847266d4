//! Replies to agentgateway. The keys of `action` distinguish an approval, a changed body and a denial.

use super::decode::pieces;
use crate::agents::gateway::{Decided, decide};
use crate::event::HookCall;
use crate::json::Fields;
use crate::outcome::Outcome;
use crate::reply::Reply;
use serde_json::{Value, json};

/// Status of the client's response if its request, or the model's response, is refused.
const FORBIDDEN: u16 = 403;

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    encode_all(call, std::slice::from_ref(outcome))
}

pub(super) fn encode_all(call: &HookCall, outcomes: &[Outcome]) -> Reply {
    let read = Fields::of(call.raw.as_bytes()).and_then(|fields| Ok((fields.get("body").cloned(), pieces(&fields)?)));
    let Ok((Some(mut body), (side, pieces))) = read else {
        return refused("hookhost cannot read its own copy of this message");
    };
    match decide(&pieces, outcomes) {
        Decided::Passed => neutral(None),
        Decided::Refused(why) => refused(&why),
        Decided::Replaced(replaced) => {
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

pub(super) fn fail(_point: Option<&str>, why: &str) -> Reply {
    refused(why)
}

fn refused(why: &str) -> Reply {
    Reply::json(&json!({ "action": { "body": why, "status_code": FORBIDDEN, "reason": why } }))
}

pub(super) fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({ "action": { "reason": "no plugin objected" } }))
}
