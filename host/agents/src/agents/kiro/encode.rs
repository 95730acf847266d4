//! Replies to Kiro. A denial is exit code 2 with the reason on the standard error. At some hook points the model reads
//! what the hook prints with exit code 0.

use super::AGENT;
use crate::claude_shape::{Strictest, filled, strictest};
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;

pub(super) fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    match &outcome.answer {
        Answer::Rejected(rejection) => Reply::exit_2(&reason::rejected(rejection)),
        _ => Reply { stdout: outcome.context.join("\n\n"), ..Reply::empty() },
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match strictest(&AGENT, point) {
        Strictest::Refuse(_) | Strictest::Unknown => Reply::exit_2(filled(why)),
        Strictest::Tell(_) | Strictest::Nothing => Reply::empty(),
    }
}

pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    AGENT.abilities(point).rejects && reply.exit == 2
}
