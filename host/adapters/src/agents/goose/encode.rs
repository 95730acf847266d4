//! Replies to goose: exit code 2 is a no, and the standard error says why. Any other output than a decision counts as a hook that
//! failed, so silence is neutral.

use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::Task;
use serde_json::json;

pub(super) fn encode(point: &str, outcome: &Outcome) -> Reply {
    match (&outcome.answer, point) {
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

fn prompts(tasks: &[Task]) -> String {
    tasks.iter().map(|task| task.prompt.as_str()).collect::<Vec<_>>().join("\n\n")
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match point {
        None | Some("PreToolUse") => Reply::exit_2(why),
        Some("SessionStart") => Reply::json(&json!({ "banner": why })),
        // An agent that cannot stop would continue for ever.
        Some(_) => Reply::empty(),
    }
}
