//! Replies to Crush: one flat object. `allow` skips the question to the user, so only an approval uses it.

use super::AGENT;
use crate::claude_shape::{Strictest, denies_by_decision, filled, strictest};
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::{Map, Value, json};

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let mut top = Map::new();
    let mut put = |key: &str, value: Value| top.insert(key.to_owned(), value);
    match &outcome.answer {
        Answer::Rejected(rejection) => {
            put("decision", json!("deny"));
            put("reason", json!(filled(&reason::rejected(rejection))));
            if rejection.ends.is_some() && AGENT.abilities(&call.point).stops {
                put("halt", json!(true));
            }
        }
        Answer::Approved { by } => {
            put("decision", json!("allow"));
            put("reason", json!(format!("approved by {by}")));
        }
        Answer::Changed { arguments, .. } => {
            put("updated_input", arguments.clone());
        }
        _ => {}
    }
    if !outcome.context.is_empty() {
        put("context", json!(outcome.context));
    }
    if top.is_empty() { Reply::empty() } else { Reply::json(&Value::Object(top)) }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match strictest(&AGENT, point) {
        Strictest::Refuse(_) => Reply::json(&json!({ "decision": "deny", "reason": filled(why) })),
        Strictest::Tell(_) | Strictest::Nothing => Reply::empty(),
        Strictest::Unknown => Reply::exit_2(filled(why)),
    }
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    denies_by_decision(&AGENT, point, reply, "deny")
}
