//! Replies to Cline: always an object with `cancel`, and exit code 0. Cline ignores exit codes.

use super::AGENT;
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::{Map, Value, json};

pub(super) fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    let mut reply = Map::new();
    match &outcome.answer {
        Answer::Rejected(no) => return cancelled(&reason::rejected(no)),
        Answer::Ask { questions, .. } => return cancelled(&reason::asked(questions)),
        Answer::Changed { arguments, .. } => {
            reply.insert("overrideInput".to_owned(), arguments.clone());
        }
        _ => {}
    }
    if !outcome.context.is_empty() {
        reply.insert("contextModification".to_owned(), json!(outcome.context.join("\n\n")));
    }
    reply.shift_insert(0, "cancel".to_owned(), json!(false));
    Reply::json(&Value::Object(reply))
}

fn cancelled(why: &str) -> Reply {
    Reply::json(&json!({ "cancel": true, "errorMessage": why }))
}

pub(super) fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({ "cancel": false }))
}

/// Refuses a call that was not settled, and also a result, although that ends the run.
pub(super) fn unsettled(call: &HookCall, why: &str) -> Reply {
    match call.point.as_str() {
        "PostToolUse" | "tool_result" => cancelled(why),
        point => fail(Some(point), why),
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match point {
        None | Some("PreToolUse" | "tool_call" | "UserPromptSubmit") => cancelled(why),
        // An unreadable message about a result must not end the run, because the author of what a tool reads could then
        // end it.
        Some("PostToolUse" | "tool_result") => Reply::json(&json!({ "cancel": false, "contextModification": why })),
        // The model would read an `errorMessage` without `cancel`.
        Some(_) => neutral(point),
    }
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    AGENT.abilities(point).rejects && reply.said()["cancel"] == true
}
