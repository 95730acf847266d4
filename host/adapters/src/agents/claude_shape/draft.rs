//! A reply with keys at the top and keys below `hookSpecificOutput`.

use super::No;
use crate::outcome::Outcome;
use crate::reply::Reply;
use hookhost_contract::Rejection;
use serde_json::{Map, Value, json};

/// A reason that is not empty: several agents read an empty one as a hook that failed, and let the call run.
pub(in crate::agents) fn filled(why: &str) -> &str {
    if why.trim().is_empty() { "hookhost could not settle this" } else { why }
}

/// A text that takes the place of another one: an empty one would count as no reason.
pub(in crate::agents) fn in_place(text: &str) -> &str {
    if text.trim().is_empty() { "(empty)" } else { text }
}

/// A reply that is being put together.
pub(in crate::agents) struct Draft<'a> {
    point: &'a str,
    top: Map<String, Value>,
    specific: Map<String, Value>,
}

impl<'a> Draft<'a> {
    pub(in crate::agents) fn new(point: &'a str) -> Self {
        Self { point, top: Map::new(), specific: Map::new() }
    }

    pub(in crate::agents) fn top(&mut self, key: &str, value: Value) {
        self.top.insert(key.to_owned(), value);
    }

    pub(in crate::agents) fn specific(&mut self, key: &str, value: Value) {
        self.specific.insert(key.to_owned(), value);
    }

    pub(in crate::agents) fn decide(&mut self, decision: &str, reason: &str) {
        self.specific("permissionDecision", json!(decision));
        self.specific("permissionDecisionReason", json!(filled(reason)));
    }

    pub(in crate::agents) fn block(&mut self, reason: &str) {
        self.top("decision", json!("block"));
        self.top("reason", json!(filled(reason)));
    }

    pub(in crate::agents) fn refuse(&mut self, no: No, reason: &str, is_interrupted: bool) {
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
            No::Block => self.block(reason),
            No::Veto => {
                self.top("continue", json!(false));
                self.top("stopReason", json!(filled(reason)));
            }
        }
    }

    pub(in crate::agents) fn approve(&mut self, no: No, by: &str) {
        match no {
            No::Permission => self.decide("allow", &format!("approved by {by}")),
            No::Behavior => self.specific("decision", json!({ "behavior": "allow" })),
            _ => {}
        }
    }

    pub(in crate::agents) fn replace(&mut self, no: No, value: Value, text: &str) {
        match no {
            No::Instead(key) => self.specific(key, value),
            No::Block => self.block(in_place(text)),
            _ => {}
        }
    }

    /// `continue: false` alone lets the tool run and then ends the session, so it comes beside a no.
    pub(in crate::agents) fn end(&mut self, rejection: &Rejection) {
        if rejection.ends.is_some() {
            self.top("continue", json!(false));
            self.top("stopReason", json!(rejection.to_string()));
        }
    }

    /// What the model and the user read beside the answer.
    pub(in crate::agents) fn beside(&mut self, outcome: &Outcome) {
        if !outcome.context.is_empty() {
            self.specific("additionalContext", json!(outcome.context.join("\n\n")));
        }
        if !outcome.notices.is_empty() {
            self.top("systemMessage", json!(outcome.notices.join("\n")));
        }
    }

    pub(in crate::agents) fn finish(self) -> Reply {
        let object = self.object();
        if object.is_empty() { Reply::empty() } else { Reply::json(&Value::Object(object)) }
    }

    /// The reply as an object; an empty one where there is nothing to say.
    pub(in crate::agents) fn object(mut self) -> Map<String, Value> {
        if !self.specific.is_empty() {
            self.specific.shift_insert(0, "hookEventName".to_owned(), json!(self.point));
            self.top.insert("hookSpecificOutput".to_owned(), Value::Object(self.specific));
        }
        self.top
    }
}
