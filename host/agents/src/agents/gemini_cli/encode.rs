//! Replies to Gemini CLI. Exit code 2 without a text would let the call run, so every reply but one is JSON with exit
//! code 0: the denial at an unknown hook point.

use super::AGENT;
use crate::claude_shape::{Draft, Strictest, filled, in_place, prompts, strictest};
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::{Value, json};

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let mut draft = Draft::new(&call.point);
    match &outcome.answer {
        Answer::Rejected(rejection) => {
            deny(&mut draft, &call.point, &reason::rejected(rejection));
            if AGENT.abilities(&call.point).stops {
                draft.end(rejection);
            }
        }
        Answer::Changed { arguments, .. } => {
            draft.top("decision", json!("allow"));
            draft.specific("tool_input", arguments.clone());
        }
        Answer::Ask { questions, arguments } => {
            draft.top("decision", json!("ask"));
            draft.top("reason", json!(reason::asked(questions)));
            if let Some(arguments) = arguments {
                draft.specific("tool_input", arguments.clone());
            }
        }
        Answer::Responded { result, .. } => deny(&mut draft, &call.point, in_place(&result.text)),
        // The agent reads no other text beside a replaced result.
        Answer::ReplacedResult(result) => {
            let texts: Vec<&str> =
                std::iter::once(in_place(&result.text)).chain(outcome.context.iter().map(String::as_str)).collect();
            deny(&mut draft, &call.point, &texts.join("\n\n"));
        }
        Answer::Replaced(text) => deny(&mut draft, &call.point, in_place(text)),
        Answer::GoOn(tasks) if !tasks.is_empty() => deny(&mut draft, &call.point, &prompts(tasks)),
        Answer::GoOn(_) | Answer::Approved { .. } | Answer::Neutral => {}
    }
    if !outcome.context.is_empty() {
        draft.specific("additionalContext", json!(outcome.context.join("\n\n")));
    }
    if !outcome.notices.is_empty() {
        draft.top("systemMessage", json!(outcome.notices.join("\n")));
    }
    finish(draft)
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    let why = filled(why);
    match strictest(&AGENT, point) {
        Strictest::Refuse(point) => {
            let mut draft = Draft::new(point.name);
            deny(&mut draft, point.name, why);
            finish(draft)
        }
        Strictest::Tell(_) => Reply::json(&json!({ "systemMessage": why })),
        Strictest::Nothing => neutral(point),
        Strictest::Unknown => Reply::exit_2(why),
    }
}

pub(super) fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({}))
}

/// Returns true if the agent treats the reply as a denial. Exit code 2 without a text on the standard error is none.
pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    let said = reply.said();
    let is_exit_2 = reply.exit == 2 && !reply.stderr.trim().is_empty();
    let is_no = is_exit_2 || said["decision"] == "deny" || said["decision"] == "block";
    is_no && AGENT.abilities(point).rejects
}

/// Adds a denial with this reason. The reason replaces a result, a prompt or a text; a request to the model gets it as
/// the answer.
fn deny(draft: &mut Draft<'_>, point: &str, reason: &str) {
    let reason = filled(reason);
    draft.top("decision", json!("deny"));
    draft.top("reason", json!(reason));
    if point == "BeforeModel" {
        let content = json!({ "role": "model", "parts": [reason] });
        draft.specific("llm_response", json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] }));
    }
}

fn finish(draft: Draft<'_>) -> Reply {
    Reply::json(&Value::Object(draft.object()))
}
