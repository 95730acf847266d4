//! Replies to Windsurf, which reads exit codes: 2 denies, with the reason on the standard error.

use super::AGENT;
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let point = call.point.as_str();
    match &outcome.answer {
        Answer::Rejected(no) if is_gate(point) => Reply::exit_2(&reason::rejected(no)),
        Answer::Ask { questions, .. } if is_gate(point) => Reply::exit_2(&reason::asked(questions)),
        _ => Reply::empty(),
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    if point.is_none_or(is_gate) { Reply::exit_2(why) } else { Reply::empty() }
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    is_gate(point) && reply.exit == 2
}

fn is_gate(point: &str) -> bool {
    AGENT.abilities(point).rejects
}
