//! Replies to Claude Code. A no is JSON with exit code 0: with exit code 2 the model would read the path of the hook.

use super::AGENT;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::Rejection;
use serde_json::{Map, Value, json};

pub(super) fn encode(point: &str, outcome: &Outcome) -> Reply {
    let mut specific = Map::new();
    let mut top = Map::new();
    match (&outcome.answer, point) {
        (Answer::Rejected(no), "PreToolUse") => {
            decide(&mut specific, "deny", &reason::rejected(no));
            ends(&mut top, no);
        }
        (Answer::Approved { by }, "PreToolUse") => decide(&mut specific, "allow", &format!("approved by {by}")),
        // Without a decision the agent's own rules about permissions count for the changed call as for any.
        (Answer::Changed { arguments, .. }, "PreToolUse") => {
            specific.insert("updatedInput".to_owned(), arguments.clone());
        }
        (Answer::Ask { questions, arguments }, "PreToolUse") => {
            decide(&mut specific, "ask", &reason::asked(questions));
            if let Some(arguments) = arguments {
                specific.insert("updatedInput".to_owned(), arguments.clone());
            }
        }
        (Answer::Rejected(no), "PermissionRequest") => {
            let interrupt = no.ends.is_some();
            let decision = json!({ "behavior": "deny", "message": reason::rejected(no), "interrupt": interrupt });
            specific.insert("decision".to_owned(), decision);
        }
        (Answer::Approved { .. }, "PermissionRequest") => {
            specific.insert("decision".to_owned(), json!({ "behavior": "allow" }));
        }
        (Answer::Changed { arguments, .. }, "PermissionRequest") => {
            specific.insert("decision".to_owned(), json!({ "behavior": "allow", "updatedInput": arguments }));
        }
        (Answer::Rejected(no), "PostToolUse") => {
            specific.insert("updatedToolOutput".to_owned(), json!(reason::rejected(no)));
            ends(&mut top, no);
        }
        (Answer::ReplacedResult(result), "PostToolUse") => {
            let raw = result.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
            specific.insert("updatedToolOutput".to_owned(), raw.unwrap_or_else(|| json!(result.text)));
        }
        (Answer::Replaced(text), "MessageDisplay") => {
            specific.insert("displayContent".to_owned(), json!(text));
        }
        (Answer::Rejected(no), "MessageDisplay") => {
            specific.insert("displayContent".to_owned(), json!(no.to_string()));
        }
        (Answer::Rejected(no), _) => {
            top.insert("decision".to_owned(), json!("block"));
            top.insert("reason".to_owned(), json!(reason::rejected(no)));
            ends(&mut top, no);
        }
        (Answer::GoOn(tasks), "Stop" | "SubagentStop") if !tasks.is_empty() => {
            let prompts: Vec<&str> = tasks.iter().map(|task| task.prompt.as_str()).collect();
            top.insert("decision".to_owned(), json!("block"));
            top.insert("reason".to_owned(), json!(prompts.join("\n\n")));
        }
        (Answer::GoOn(tasks), "SessionStart") if !tasks.is_empty() => {
            let prompts: Vec<&str> = tasks.iter().map(|task| task.prompt.as_str()).collect();
            specific.insert("initialUserMessage".to_owned(), json!(prompts.join("\n\n")));
        }
        _ => {}
    }
    if !outcome.context.is_empty() {
        specific.insert("additionalContext".to_owned(), json!(outcome.context.join("\n\n")));
    }
    if !outcome.notices.is_empty() {
        top.insert("systemMessage".to_owned(), json!(outcome.notices.join("\n")));
    }
    if !specific.is_empty() {
        specific.shift_insert(0, "hookEventName".to_owned(), json!(point));
        top.insert("hookSpecificOutput".to_owned(), Value::Object(specific));
    }
    if top.is_empty() { Reply::empty() } else { Reply::json(&Value::Object(top)) }
}

fn decide(specific: &mut Map<String, Value>, decision: &str, reason: &str) {
    specific.insert("permissionDecision".to_owned(), json!(decision));
    specific.insert("permissionDecisionReason".to_owned(), json!(reason));
}

/// `continue: false` alone lets the tool run and then ends the session, so it comes beside a no.
fn ends(top: &mut Map<String, Value>, rejection: &Rejection) {
    if rejection.ends.is_some() {
        top.insert("continue".to_owned(), json!(false));
        top.insert("stopReason".to_owned(), json!(rejection.to_string()));
    }
}

/// Whether the agent takes a reply for a no. With exit code 2 it reads nothing else; a JSON object counts with any other exit
/// code, and its part for the hook point only under the hook point's own name.
pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    if reply.exit == 2 {
        return AGENT.abilities(point).rejects;
    }
    let Ok(value) = serde_json::from_str::<Value>(reply.stdout.trim()) else { return false };
    let specific = value.get("hookSpecificOutput").filter(|part| part["hookEventName"] == point);
    match point {
        "PreToolUse" => specific.is_some_and(|part| part["permissionDecision"] == "deny"),
        "PermissionRequest" => specific.is_some_and(|part| part["decision"]["behavior"] == "deny"),
        _ => value["decision"] == "block" && AGENT.abilities(point).rejects,
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    let specific = |key: &str, value: Value| {
        let point = point.unwrap_or_default();
        Reply::json(&json!({ "hookSpecificOutput": { "hookEventName": point, key: value } }))
    };
    match point {
        Some("PreToolUse") => Reply::json(&json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": why,
        } })),
        Some("PermissionRequest") => specific("decision", json!({ "behavior": "deny", "message": why })),
        // The result could not be looked at, so the model does not get it.
        Some("PostToolUse") => specific("updatedToolOutput", json!(why)),
        Some("UserPromptSubmit" | "PreCompact") => Reply::json(&json!({ "decision": "block", "reason": why })),
        Some("MessageDisplay") => specific("displayContent", json!(why)),
        // An agent that cannot stop would go on for ever.
        Some(_) => Reply::json(&json!({ "systemMessage": why })),
        None => Reply::exit_2(why),
    }
}
