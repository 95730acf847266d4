//! Encodes decisions: the result of a response, without its envelope.

use super::content::{Text, texts};
use crate::event::{HookCall, HookEvent};
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::{Cause, Rejection, ToolResult};
use serde_json::{Map, Value, json};

/// Reason code of an event that could not be settled.
const NOT_SETTLED: &str = "evaluation_failed";

/// Hook points at which nothing can be refused.
const TOLD_ONLY: &[&str] =
    &["steps/postCompact", "steps/subagentStop", "steps/skillUnload", "steps/turnEnd", "steps/sessionEnd"];

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    Reply::json(&decision(call, outcome))
}

/// Encodes the outcomes of a call and its shell command. Both have to be allowed, and only the arguments can be
/// changed.
pub(super) fn encode_all(call: &HookCall, outcomes: &[Outcome]) -> Reply {
    if outcomes.len() < call.parts().len() {
        return fail(Some(&call.point), "hookhost settled a part of this message only");
    }
    let decisions = call.parts().into_iter().zip(outcomes).map(|(part, outcome)| decision(&part, outcome));
    let decisions: Vec<Value> = decisions.collect();
    if let Some(denied) = decisions.iter().find(|decision| decision["decision"] == "deny") {
        return Reply::json(denied);
    }
    let mut decisions = decisions.into_iter();
    let first = decisions.next().unwrap_or_default();
    if decisions.any(|decision| decision["decision"] == "modify") {
        let why = "A plugin changed the command of `raw_command`, and no modification reaches it.";
        return Reply::json(&deny(why, "modify_unsupported", &[]));
    }
    Reply::json(&first)
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    Reply::json(&match point {
        Some(point) if TOLD_ONLY.contains(&point) => {
            json!({ "decision": "allow", "reasoning": why, "reason_codes": [NOT_SETTLED] })
        }
        _ => deny(why, NOT_SETTLED, &[]),
    })
}

/// A summary that no plugin has checked is replaced, because it can no longer be refused.
pub(super) fn unsettled(call: &HookCall, why: &str) -> Reply {
    match call.event {
        HookEvent::AfterCompaction { .. } => Reply::json(&replaced(call, why)),
        _ => fail(Some(&call.point), why),
    }
}

pub(super) fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({ "decision": "allow" }))
}

fn decision(call: &HookCall, outcome: &Outcome) -> Value {
    match &outcome.answer {
        Answer::Rejected(rejection) => rejected(rejection),
        Answer::Changed { arguments, by } if has_raw_command(call) => {
            // The agent may run `raw_command`, which no modification reaches.
            deny(&reason::make_this_call(by, arguments), "modify_unsupported", by)
        }
        Answer::Changed { arguments, by } => match overrides(call, arguments) {
            Some(overrides) => modify(by, &json!({ "parameter_overrides": overrides })),
            None => deny("A plugin changed more than the arguments.", "modify_unsupported", by),
        },
        Answer::Replaced(text) => replaced(call, text),
        Answer::ReplacedResult(result) if is_text_kept(call, result) => {
            deny("A plugin changed what the outputs hold beside their texts.", "modify_unsupported", &[])
        }
        Answer::ReplacedResult(result) => replaced(call, &result.text),
        // These hook points have neither ability.
        Answer::Ask { questions, .. } => deny(&reason::asked(questions), "approver_unavailable", &[]),
        Answer::Responded { result, by } => {
            deny(&reason::use_this_result(result), "rejected", std::slice::from_ref(by))
        }
        Answer::Neutral | Answer::Approved { .. } | Answer::GoOn(_) if outcome.notices.is_empty() => {
            json!({ "decision": "allow" })
        }
        Answer::Neutral | Answer::Approved { .. } | Answer::GoOn(_) => {
            json!({ "decision": "allow", "reasoning": outcome.notices.join("\n") })
        }
    }
}

fn rejected(rejection: &Rejection) -> Value {
    let code = match (&rejection.refusal.code, rejection.cause) {
        (Some(code), _) => code.as_str(),
        (None, Cause::Verdict | Cause::Disagreement) => "rejected",
        (None, Cause::NotApproved | Cause::TooManyQuestions) => "not_approved",
        _ => NOT_SETTLED,
    };
    deny(&reason::rejected(rejection), code, &rejection.by)
}

fn deny(why: &str, code: &str, by: &[String]) -> Value {
    let why = if why.trim().is_empty() { "rejected by policy" } else { why };
    let policies: Vec<Value> = by.iter().map(|plugin| json!({ "policy_id": plugin, "rule_id": code })).collect();
    json!({ "decision": "deny", "reasoning": why, "reason_codes": [code], "policy_references": policies })
}

fn modify(by: &[String], modifications: &Value) -> Value {
    let policies: Vec<Value> = by.iter().map(|plugin| json!({ "policy_id": plugin })).collect();
    let by = if by.is_empty() { "A plugin".to_owned() } else { by.join(", ") };
    json!({
        "decision": "modify",
        "reasoning": format!("{by} changed this."),
        "policy_references": policies,
        "modifications": modifications,
    })
}

fn has_raw_command(call: &HookCall) -> bool {
    let raw: Value = serde_json::from_str(&call.raw).unwrap_or_default();
    raw["payload"].get("raw_command").is_some()
}

fn is_text_kept(call: &HookCall, result: &ToolResult) -> bool {
    matches!(&call.event, HookEvent::AfterToolCall { result: before, .. } if before.text == result.text)
}

/// Returns the changed arguments.
fn overrides(call: &HookCall, arguments: &Value) -> Option<Map<String, Value>> {
    let (HookEvent::BeforeToolCall(tool), Value::Object(after)) = (&call.event, arguments) else { return None };
    let differs = |(name, value): &(&String, &Value)| tool.arguments.get(name) != Some(value);
    Some(after.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Replaces all texts of the payload: the first by `text`, the others by empty texts.
fn replaced(call: &HookCall, text: &str) -> Value {
    let raw: Value = serde_json::from_str(&call.raw).unwrap_or_default();
    let key = match call.event {
        HookEvent::AfterToolCall { .. } => "outputs",
        HookEvent::AfterCompaction { .. } => "summary",
        _ => "content",
    };
    let texts = texts(&raw["payload"], key);
    if texts.is_empty() {
        return deny("A plugin gave a text where the payload has none.", "modify_unsupported", &[]);
    }
    let texts = texts.iter().enumerate();
    let redactions: Vec<Value> = texts
        .map(|(at, Text { pointer, .. })| json!({ "path": pointer, "replacement": if at == 0 { text } else { "" } }))
        .collect();
    modify(&[], &json!({ "redactions": redactions }))
}
