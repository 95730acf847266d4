//! Builds a reply with keys at the top and keys below `hookSpecificOutput`.

use super::{No, has_shape_of, shaped};
use crate::agent::Agent;
use crate::event::{HookCall, HookEvent};
use crate::reply::Reply;
use hookhost_contract::{Rejection, ToolResult};
use serde_json::{Map, Value, json};

/// Returns a reason that is not empty. Several agents treat an empty reason as a failed hook, and let the call run.
pub(crate) fn filled(why: &str) -> &str {
    if why.trim().is_empty() { "hookhost could not settle this" } else { why }
}

/// Returns a replacement text that is not empty. An empty text would count as no reason.
pub(crate) fn in_place(text: &str) -> &str {
    if text.trim().is_empty() { "(empty)" } else { text }
}

/// Returns a denial both as `decision` and as exit code 2, because some agents read the one and some the other.
pub(crate) fn deny_twice(reason: &str) -> Reply {
    let reason = filled(reason);
    Reply { exit: 2, stderr: reason.to_owned(), ..Reply::json(&json!({ "decision": "deny", "reason": reason })) }
}

/// Returns true if such an agent treats the reply as a denial; `word` is its decision.
pub(crate) fn denies_by_decision(agent: &Agent, point: &str, reply: &Reply, word: &str) -> bool {
    agent.abilities(point).rejects && (reply.exit == 2 || reply.said()["decision"] == word)
}

/// A reply under construction.
pub(crate) struct Draft<'a> {
    point: &'a str,
    top: Map<String, Value>,
    specific: Map<String, Value>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(point: &'a str) -> Self {
        Self { point, top: Map::new(), specific: Map::new() }
    }

    pub(crate) fn top(&mut self, key: &str, value: Value) {
        self.top.insert(key.to_owned(), value);
    }

    pub(crate) fn specific(&mut self, key: &str, value: Value) {
        self.specific.insert(key.to_owned(), value);
    }

    pub(crate) fn decide(&mut self, decision: &str, reason: &str) {
        self.specific("permissionDecision", json!(decision));
        self.specific("permissionDecisionReason", json!(filled(reason)));
    }

    pub(crate) fn block(&mut self, reason: &str) {
        self.top("decision", json!("block"));
        self.top("reason", json!(filled(reason)));
    }

    /// Adds a denial with this reason. Returns false if there was no place for the reason.
    pub(crate) fn refuse(&mut self, no: No, reason: &str, call: Option<&HookCall>, is_interrupted: bool) -> bool {
        match no {
            No::Permission => self.decide("deny", reason),
            No::Behavior => {
                let mut decision = json!({ "behavior": "deny", "message": filled(reason) });
                if is_interrupted {
                    decision["interrupt"] = json!(true);
                }
                self.specific("decision", decision);
            }
            No::Instead(key) => self.specific(key, json!(filled(reason))),
            No::Result => match call.and_then(response) {
                Some(original) => {
                    let (value, has_place) = shaped(&original, filled(reason));
                    self.specific("updatedToolOutput", value);
                    return has_place;
                }
                None => {
                    // If the shape is unknown, the agent may drop the replacement. Then the model at least reads why it
                    // should not use the result. The run continues, because the author of what a tool reads could
                    // otherwise end it.
                    self.specific("updatedToolOutput", json!(filled(reason)));
                    self.specific("additionalContext", json!(filled(reason)));
                }
            },
            No::Block => self.block(reason),
            No::Veto => {
                self.top("continue", json!(false));
                self.top("stopReason", json!(filled(reason)));
            }
        }
        true
    }

    pub(crate) fn approve(&mut self, no: No, by: &str) {
        match no {
            No::Permission => self.decide("allow", &format!("approved by {by}")),
            No::Behavior => self.specific("decision", json!({ "behavior": "allow" })),
            _ => {}
        }
    }

    /// Replaces a text.
    pub(crate) fn replace(&mut self, no: No, text: &str) {
        match no {
            No::Instead(key) => self.specific(key, json!(text)),
            No::Block => self.block(in_place(text)),
            _ => {}
        }
    }

    /// Replaces the tool's result: by the whole new result if it has the same shape, otherwise by its text.
    pub(crate) fn replace_result(&mut self, no: No, result: &ToolResult, call: &HookCall) {
        if no != No::Result {
            return self.replace(no, &result.text);
        }
        let original = response(call).unwrap_or(Value::Null);
        let whole: Option<Value> = result.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
        let whole = whole.filter(|whole| has_shape_of(&original, whole));
        let value = whole.unwrap_or_else(|| shaped(&original, in_place(&result.text)).0);
        self.specific("updatedToolOutput", value);
    }

    /// Ends the run. `continue: false` alone would let the tool run first, so it needs a denial beside it.
    pub(crate) fn end(&mut self, rejection: &Rejection) {
        if rejection.ends.is_some() {
            self.top("continue", json!(false));
            self.top("stopReason", json!(rejection.to_string()));
        }
    }

    pub(crate) fn finish(self) -> Reply {
        let object = self.object();
        if object.is_empty() { Reply::empty() } else { Reply::json(&Value::Object(object)) }
    }

    /// Returns the reply as an object; empty if nothing was added.
    pub(crate) fn object(mut self) -> Map<String, Value> {
        if !self.specific.is_empty() {
            self.specific.shift_insert(0, "hookEventName".to_owned(), json!(self.point));
            self.top.insert("hookSpecificOutput".to_owned(), Value::Object(self.specific));
        }
        self.top
    }
}

/// Returns the tool's own result, as the agent sent it.
fn response(call: &HookCall) -> Option<Value> {
    let HookEvent::AfterToolCall { result, .. } = &call.event else { return None };
    serde_json::from_str(result.raw.as_deref()?).ok()
}
