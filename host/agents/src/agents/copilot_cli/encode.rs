//! Replies to Copilot. An empty reply is neutral. A denial is JSON and exit code 2: the exit code alone denies, and the
//! model reads the reason in the JSON.

use crate::claude_shape::prompts;
use crate::event::{HookCall, HookEvent};
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::{Map, Value, json};

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let point = call.point.as_str();
    match (&outcome.answer, point) {
        (Answer::Rejected(no), "preToolUse" | "PreToolUse") => denied(point, &reason::rejected(no), &no.to_string()),
        (Answer::Approved { by }, "preToolUse" | "PreToolUse") => {
            decided(point, Some(("allow", &format!("approved by {by}"))), None)
        }
        // Without a decision, the agent's own permissions apply to the changed call.
        (Answer::Changed { arguments, .. }, "preToolUse" | "PreToolUse") => decided(point, None, Some(arguments)),
        (Answer::Ask { questions, arguments }, "preToolUse" | "PreToolUse") => {
            decided(point, Some(("ask", &reason::asked(questions))), arguments.as_ref())
        }
        (Answer::Rejected(no), "permissionRequest" | "PermissionRequest") => {
            let mut reply = json!({ "behavior": "deny", "message": reason::rejected(no) });
            if no.ends.is_some() {
                reply["interrupt"] = json!(true);
            }
            Reply::json(&reply)
        }
        (Answer::Approved { .. }, "permissionRequest" | "PermissionRequest") => {
            Reply::json(&json!({ "behavior": "allow" }))
        }
        (_, "userPromptTransformed") => prompt(&call.event, outcome),
        (_, "postToolUse" | "PostToolUse") => after_tool(outcome),
        // Exit code 2 makes the agent show the standard output to the model at this hook point.
        (_, "postToolUseFailure" | "PostToolUseFailure") if !outcome.context.is_empty() => {
            let mut reply = Reply::empty();
            (reply.exit, reply.stdout) = (2, outcome.context.join("\n\n"));
            reply
        }
        (Answer::GoOn(tasks), "agentStop" | "subagentStop" | "Stop" | "SubagentStop") if !tasks.is_empty() => {
            Reply::json(&json!({ "decision": "block", "reason": prompts(tasks) }))
        }
        _ if !outcome.context.is_empty() => Reply::json(&json!({ "additionalContext": outcome.context.join("\n\n") })),
        _ => Reply::empty(),
    }
}

/// Encodes the text that the model reads in place of the prompt, if it changes.
fn prompt(event: &HookEvent, outcome: &Outcome) -> Reply {
    let own = if let HookEvent::PromptSubmit { prompt } = event { prompt.as_str() } else { "" };
    let mut text = match &outcome.answer {
        Answer::Rejected(no) => withheld(&reason::rejected(no)),
        Answer::Replaced(text) => text.clone(),
        _ if outcome.context.is_empty() => return Reply::empty(),
        _ => own.to_owned(),
    };
    for context in &outcome.context {
        text.push_str("\n\n");
        text.push_str(context);
    }
    Reply::json(&json!({ "modifiedTransformedPrompt": text }))
}

/// Returns the model's text in place of a withheld prompt.
fn withheld(why: &str) -> String {
    format!("The prompt of the user was withheld. Do nothing but tell the user so, and why: {why}")
}

fn after_tool(outcome: &Outcome) -> Reply {
    let mut top = Map::new();
    let text = match &outcome.answer {
        Answer::Rejected(no) => Some(reason::rejected(no)),
        Answer::ReplacedResult(result) => Some(result.text.clone()),
        _ => None,
    };
    if let Some(text) = text {
        // The agent passes a result with another `resultType` to the hooks of failed calls.
        top.insert("modifiedResult".to_owned(), json!({ "resultType": "success", "textResultForLlm": text }));
    }
    if !outcome.context.is_empty() {
        top.insert("additionalContext".to_owned(), json!(outcome.context.join("\n\n")));
    }
    if top.is_empty() { Reply::empty() } else { Reply::json(&Value::Object(top)) }
}

/// Encodes a decision about a call in the dialect of its hook point. Each dialect ignores the other's key for changed
/// arguments.
fn decided(point: &str, decision: Option<(&str, &str)>, arguments: Option<&Value>) -> Reply {
    let is_pascal = point == "PreToolUse";
    let mut said = Map::new();
    if is_pascal {
        said.insert("hookEventName".to_owned(), json!(point));
    }
    if let Some((decision, reason)) = decision {
        said.insert("permissionDecision".to_owned(), json!(decision));
        said.insert("permissionDecisionReason".to_owned(), json!(reason));
    }
    if let Some(arguments) = arguments {
        said.insert(if is_pascal { "updatedInput" } else { "modifiedArgs" }.to_owned(), arguments.clone());
    }
    Reply::json(&if is_pascal { json!({ "hookSpecificOutput": said }) } else { Value::Object(said) })
}

fn denied(point: &str, for_model: &str, for_user: &str) -> Reply {
    let mut reply = decided(point, Some(("deny", for_model)), None);
    (reply.exit, reply.stderr) = (2, for_user.to_owned());
    reply
}

/// Returns true if the agent treats the reply as a denial.
pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    let said = reply.said();
    match point {
        "preToolUse" => reply.exit == 2 || said["permissionDecision"] == "deny",
        "PreToolUse" => reply.exit == 2 || said["hookSpecificOutput"]["permissionDecision"] == "deny",
        "permissionRequest" | "PermissionRequest" => said["behavior"] == "deny",
        _ => false,
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    match point {
        Some(point @ ("preToolUse" | "PreToolUse")) => denied(point, why, why),
        Some("permissionRequest" | "PermissionRequest") => Reply::json(&json!({ "behavior": "deny", "message": why })),
        // The result could not be checked, so the model does not get it.
        Some("postToolUse" | "PostToolUse") => {
            Reply::json(&json!({ "modifiedResult": { "resultType": "success", "textResultForLlm": why } }))
        }
        Some("userPromptTransformed") => Reply::json(&json!({ "modifiedTransformedPrompt": withheld(why) })),
        // An agent that cannot stop would continue for ever.
        Some(_) => Reply::empty(),
        None => denied("preToolUse", why, why),
    }
}
