//! Replies to Cursor: JSON with exit code 0. A gate whose entry has `failClosed` treats an empty reply as a failure, so
//! its reply is never empty.

use super::COMPATIBLE;
use crate::claude_shape::prompts;
use crate::event::HookCall;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use serde_json::{Map, Value, json};

/// The form of an approval and a denial at a hook point.
enum Gate {
    /// The key `permission`.
    Permission,
    /// The key `continue`.
    Continue,
    /// Claude Code's shape, in which an empty reply approves.
    Compatible,
}

fn gate(point: &str) -> Option<Gate> {
    Some(match point {
        "preToolUse"
        | "beforeShellExecution"
        | "beforeMCPExecution"
        | "beforeReadFile"
        | "beforeTabFileRead"
        | "subagentStart" => Gate::Permission,
        "beforeSubmitPrompt" => Gate::Continue,
        COMPATIBLE => Gate::Compatible,
        _ => return None,
    })
}

pub(super) fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let point = call.point.as_str();
    match (&outcome.answer, gate(point)) {
        (Answer::Rejected(no), Some(gate)) => rejected(&gate, &no.to_string(), &reason::rejected(no)),
        (Answer::Ask { questions, .. }, Some(gate)) => {
            let asked = reason::asked(questions);
            rejected(&gate, &asked, &asked)
        }
        // Cursor reads the arguments only beside a permission.
        (Answer::Changed { arguments, .. }, Some(Gate::Permission)) if point == "preToolUse" => {
            Reply::json(&json!({ "permission": "allow", "updated_input": arguments }))
        }
        (_, Some(_)) => neutral(Some(point)),
        (answer, None) => told(answer, outcome),
    }
}

/// Encodes the reply at a hook point that cannot stop anything.
fn told(answer: &Answer, outcome: &Outcome) -> Reply {
    let mut top = Map::new();
    match answer {
        Answer::GoOn(tasks) if !tasks.is_empty() => {
            top.insert("followup_message".to_owned(), json!(prompts(tasks)));
        }
        Answer::Rejected(no) => {
            top.insert("updated_mcp_tool_output".to_owned(), content(&reason::rejected(no), true));
        }
        Answer::ReplacedResult(result) => {
            let raw = result.raw.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
            let raw = raw.filter(Value::is_object).unwrap_or_else(|| content(&result.text, result.is_error));
            top.insert("updated_mcp_tool_output".to_owned(), raw);
        }
        _ => {}
    }
    if !outcome.context.is_empty() {
        top.insert("additional_context".to_owned(), json!(outcome.context.join("\n\n")));
    }
    if !outcome.notices.is_empty() {
        top.insert("user_message".to_owned(), json!(outcome.notices.join("\n")));
    }
    Reply::json(&Value::Object(top))
}

/// Returns a result in the format of an MCP tool.
fn content(text: &str, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

fn rejected(gate: &Gate, for_user: &str, for_model: &str) -> Reply {
    Reply::json(&match gate {
        Gate::Permission => json!({ "permission": "deny", "user_message": for_user, "agent_message": for_model }),
        Gate::Continue => json!({ "continue": false, "user_message": for_user }),
        Gate::Compatible => json!({ "hookSpecificOutput": {
            "hookEventName": COMPATIBLE, "permissionDecision": "deny", "permissionDecisionReason": for_model,
        } }),
    })
}

pub(super) fn neutral(point: Option<&str>) -> Reply {
    match point.and_then(gate) {
        Some(Gate::Permission) => Reply::json(&json!({ "permission": "allow" })),
        Some(Gate::Continue) => Reply::json(&json!({ "continue": true })),
        Some(Gate::Compatible) => Reply::empty(),
        None => Reply::json(&json!({})),
    }
}

pub(super) fn fail(point: Option<&str>, why: &str) -> Reply {
    let Some(point) = point else { return Reply::exit_2(why) };
    match gate(point) {
        Some(gate) => rejected(&gate, why, why),
        // The tool has run. The result that could not be checked is replaced if possible.
        None if point == "postToolUse" => Reply::json(&json!({ "updated_mcp_tool_output": content(why, true) })),
        None => neutral(Some(point)),
    }
}

/// Returns true if the agent treats the reply as a denial: exit code 2, or the hook point's key for a denial.
pub(super) fn denies(point: &str, reply: &Reply) -> bool {
    let Some(gate) = gate(point) else { return false };
    let said = reply.said();
    reply.exit == 2
        || match gate {
            Gate::Permission => said["permission"] == "deny",
            Gate::Continue => said["continue"] == false,
            Gate::Compatible => said["hookSpecificOutput"]["permissionDecision"] == "deny",
        }
}
