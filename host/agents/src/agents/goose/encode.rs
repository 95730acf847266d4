//! Replies to goose. Exit code 2 denies, with the reason on the standard error. goose treats output other than a
//! decision as a failed hook, so the neutral reply is empty.

use super::AGENT;
use crate::claude_shape::{denies_by_decision, prompts};
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::json;

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    match (&outcome.answer, call.point.as_str()) {
        (Answer::Rejected(no), "PreToolUse") => Reply::exit_2(&reason::rejected(no)),
        (Answer::Ask { questions, .. }, "PreToolUse") => Reply::exit_2(&reason::asked(questions)),
        (Answer::GoOn(tasks), "Stop") if !tasks.is_empty() => {
            Reply::json(&json!({ "decision": "block", "reason": prompts(tasks) }))
        }
        (_, "SessionStart") if !outcome.notices.is_empty() => {
            Reply::json(&json!({ "banner": outcome.notices.join("\n") }))
        }
        _ => Reply::empty(),
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match point {
        None | Some("PreToolUse") => Reply::exit_2(why),
        Some("SessionStart") => Reply::json(&json!({ "banner": why })),
        // An agent that cannot stop would continue for ever.
        Some(_) => Reply::empty(),
    }
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    denies_by_decision(&AGENT, point, reply, "block")
}
