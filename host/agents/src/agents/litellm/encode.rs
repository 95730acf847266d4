//! Replies to LiteLLM: the body names one of three actions.

use super::decode::pieces;
use crate::agents::gateway::{Decided, decide};
use crate::event::HookCall;
use crate::json::Fields;
use crate::outcome::Outcome;
use crate::reply::Reply;
use serde_json::{Value, json};

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    encode_all(call, std::slice::from_ref(outcome))
}

pub(super) fn encode_all(call: &HookCall, outcomes: &[Outcome]) -> Reply {
    let Ok((fields, pieces)) =
        Fields::of(call.raw.as_bytes()).and_then(|fields| Ok((fields.clone(), pieces(&fields)?)))
    else {
        return blocked("hookhost cannot read its own copy of this message");
    };
    match decide(&pieces, outcomes) {
        Decided::Passed => neutral(None),
        Decided::Refused(why) => blocked(&why),
        Decided::Replaced(replaced) => {
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

pub(super) fn fail(_point: Option<&str>, why: &str) -> Reply {
    blocked(why)
}

fn blocked(why: &str) -> Reply {
    Reply::json(&json!({ "action": "BLOCKED", "blocked_reason": why }))
}

pub(super) fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({ "action": "NONE" }))
}
