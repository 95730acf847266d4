//! The calls that the agent has reported. It reports only what changes of one, so what is known of it is kept until it has run.

use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};

/// Upper bound of the calls that are known.
const MAX_CALLS: usize = 1000;

/// Upper bound of what is known of all of them, in bytes: 32 MiB.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Which call of which session.
type Key = (String, String);

/// What is known of the calls of a connection.
#[derive(Debug, Default)]
pub struct ToolCalls {
    calls: HashMap<Key, Known>,
    order: VecDeque<Key>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Known {
    fields: Map<String, Value>,
    bytes: usize,
    is_asked: bool,
    has_run: bool,
}

/// A call that has run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What is known of it.
    pub call: Value,
    /// Whether the agent had asked for permission.
    pub is_asked: bool,
    /// Whether it failed.
    pub is_failed: bool,
}

impl ToolCalls {
    /// Takes up what the agent says of a call; the call, where that says for the first time that it has run.
    pub fn update(&mut self, session: &str, update: &Value) -> Option<Run> {
        let known = self.merge(session, update)?;
        let is_failed = match known.fields.get("status").and_then(Value::as_str) {
            Some("completed") => false,
            Some("failed") => true,
            _ => return None,
        };
        if std::mem::replace(&mut known.has_run, true) {
            return None;
        }
        let run = Run { call: Value::Object(std::mem::take(&mut known.fields)), is_asked: known.is_asked, is_failed };
        let bytes = std::mem::take(&mut known.bytes);
        self.bytes -= bytes;
        Some(run)
    }

    /// The whole call about which the agent asks.
    pub fn ask(&mut self, session: &str, call: &Value) -> Value {
        let Some(known) = self.merge(session, call) else { return call.clone() };
        known.is_asked = true;
        Value::Object(known.fields.clone())
    }

    /// What is known of a call, with what is said now.
    fn merge(&mut self, session: &str, said: &Value) -> Option<&mut Known> {
        let id = said.get("toolCallId")?.as_str()?;
        let key = (session.to_owned(), id.to_owned());
        if !self.calls.contains_key(&key) {
            self.order.push_back(key.clone());
            self.calls.insert(key.clone(), Known::default());
        }
        let known = self.calls.get_mut(&key)?;
        for (name, value) in said.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            known.fields.insert(name.clone(), value.clone());
        }
        let bytes = Value::Object(known.fields.clone()).to_string().len();
        self.bytes = self.bytes - known.bytes + bytes;
        known.bytes = bytes;
        while self.calls.len() > MAX_CALLS || (self.bytes > MAX_BYTES && self.calls.len() > 1) {
            let Some(oldest) = self.order.pop_front() else { break };
            if oldest == key {
                self.order.push_back(oldest);
            } else if let Some(forgotten) = self.calls.remove(&oldest) {
                self.bytes -= forgotten.bytes;
            }
        }
        self.calls.get_mut(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_CALLS, Run, ToolCalls};
    use serde_json::json;

    #[test]
    fn what_the_agent_says_of_a_call_bit_by_bit_is_one_call() {
        let mut calls = ToolCalls::default();
        let first = json!({ "toolCallId": "1", "title": "Run", "kind": "execute", "status": "pending" });
        assert_eq!(calls.update("s", &first), None);
        let asked = calls.ask("s", &json!({ "toolCallId": "1", "rawInput": { "command": "ls" }, "kind": null }));
        assert_eq!((&asked["kind"], &asked["rawInput"]["command"]), (&json!("execute"), &json!("ls")));
        let run = calls.update("s", &json!({ "toolCallId": "1", "status": "completed" })).unwrap();
        assert!(run.is_asked && !run.is_failed && run.call["title"] == "Run");
        assert_eq!(calls.update("s", &json!({ "toolCallId": "1", "status": "completed" })), None, "once");
    }

    #[test]
    fn a_call_that_ran_without_a_question_is_known_as_such_and_another_session_has_others() {
        let mut calls = ToolCalls::default();
        calls.ask("other", &json!({ "toolCallId": "1" }));
        let run = calls.update("s", &json!({ "toolCallId": "1", "status": "failed" }));
        assert!(matches!(run, Some(Run { is_asked: false, is_failed: true, .. })), "{run:?}");
        assert_eq!(calls.update("s", &json!({ "status": "completed" })), None, "it is no call");
    }

    #[test]
    fn calls_that_never_end_are_forgotten() {
        let mut calls = ToolCalls::default();
        for n in 0..2 * MAX_CALLS {
            calls.update("s", &json!({ "toolCallId": n.to_string(), "title": "x".repeat(100) }));
        }
        assert!(calls.calls.len() == MAX_CALLS && calls.order.len() == MAX_CALLS);
        let mut calls = ToolCalls::default();
        for n in 0..70 {
            calls.update("s", &json!({ "toolCallId": n.to_string(), "title": "x".repeat(1024 * 1024) }));
        }
        assert!(calls.bytes <= super::MAX_BYTES && calls.calls.len() > 20, "{}", calls.bytes);
    }
}
