//! The tool calls that the agent has reported. Later reports about a call contain only changes, so the proxy stores the fields of
//! the call until the call has run.
//!
//! The memory is limited. If a call exceeds the limit, the proxy remembers only that the call exists and whether the agent has
//! asked for permission. Later requests for permission for such a call are rejected, because rules would see less than the agent
//! has reported.

use crate::acp::memory_size::memory_size;
use hookhost_agents::acp_proxy::reading::{Reading, Readings};
use serde_json::{Map, Value, json};
use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher as _;

/// Maximum number of calls. If necessary, calls that have run are dropped.
pub const MAX_CALLS: usize = 10_000;

/// Maximum memory of one call, in bytes: 16 MiB. This is also the maximum length of a message.
pub const MAX_CALL_BYTES: usize = 16 * 1024 * 1024;

/// Maximum memory of all calls, in bytes: 32 MiB. If the maximum is exceeded, the fields of the oldest calls are dropped.
pub const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Maximum number of earlier versions of one call.
const MAX_EARLIER: usize = 8;

/// A hash of the session and the identifier of a call. The identifier itself is not stored, because an agent can make it
/// arbitrarily long.
type CallKey = u64;

/// The reported tool calls of a connection.
#[derive(Debug, Default)]
pub struct ToolCalls {
    calls: HashMap<CallKey, CallRecord>,
    /// The calls whose fields are stored, the oldest first.
    order: VecDeque<CallKey>,
    /// The calls that have run, the oldest first.
    ended: VecDeque<CallKey>,
    bytes: usize,
    /// A hasher with a random key, so that no agent can choose two identifiers with equal hashes.
    hasher: RandomState,
}

#[derive(Debug)]
struct CallRecord {
    session: CallKey,
    fields: Map<String, Value>,
    /// Earlier versions of the call that the agent reported without asking for permission.
    earlier: Vec<Value>,
    /// True if the agent has asked for permission for the current version.
    is_answered: bool,
    bytes: usize,
    is_asked: bool,
    has_run: bool,
    /// True if the agent reported more than the proxy kept.
    is_cut: bool,
}

/// A call that has run.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedCall {
    /// The parts of the call that the proxy knows.
    pub call: Value,
    /// True if the agent asked for permission.
    pub is_asked: bool,
    /// True if the call failed.
    pub is_failed: bool,
    /// True if the agent reported more than the proxy kept.
    pub is_cut: bool,
}

/// A call for which the agent asks permission.
#[derive(Clone, Debug, PartialEq)]
pub struct CallQuestion {
    /// The whole call.
    pub call: Value,
    /// Earlier versions of the call that the agent has reported. Rules must check these versions too.
    pub earlier: Vec<Value>,
}

/// The error if the agent has reported more about a call, or about all calls together, than the proxy stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTooLarge;

impl ToolCalls {
    /// Merges a report into the known call. Returns the call if this is the first report which says that the call has run.
    pub fn update(&mut self, session: &str, update: &Value) -> Option<FinishedCall> {
        let status = update.get("status").and_then(Value::as_str).map(str::to_owned);
        let key = match self.merge(session, update)? {
            Ok(key) => key,
            // The call is not stored, so only the content of this report is known.
            Err(CallTooLarge) => {
                let is_failed = is_end(status.as_deref())?;
                return Some(FinishedCall { call: update.clone(), is_asked: false, is_failed, is_cut: true });
            }
        };
        let known = self.calls.get_mut(&key)?;
        let kept = known.fields.get("status").and_then(Value::as_str);
        let is_failed = is_end(kept.or(status.as_deref()))?;
        if std::mem::replace(&mut known.has_run, true) {
            return None;
        }
        let (fields, bytes) = (std::mem::take(&mut known.fields), std::mem::take(&mut known.bytes));
        known.earlier = Vec::new();
        let (is_asked, is_cut) = (known.is_asked, known.is_cut);
        self.bytes -= bytes;
        self.ended.push_back(key);
        let call = if is_cut { update.clone() } else { Value::Object(fields) };
        Some(FinishedCall { call, is_asked, is_failed, is_cut })
    }

    /// Returns the call for which the agent asks permission.
    ///
    /// # Errors
    /// If the proxy has not stored the whole call.
    pub fn ask(&mut self, session: &str, call: &Value) -> Result<CallQuestion, CallTooLarge> {
        let Some(key) = self.merge(session, call) else {
            return Ok(CallQuestion { call: call.clone(), earlier: Vec::new() });
        };
        let known = self.calls.get_mut(&key?).ok_or(CallTooLarge)?;
        if known.is_cut {
            return Err(CallTooLarge);
        }
        (known.is_asked, known.is_answered) = (true, true);
        let call = Value::Object(known.fields.clone());
        let judged = known.judged();
        let earlier = known.earlier.iter().filter(|earlier| !is_within(earlier, &judged)).cloned().collect();
        Ok(CallQuestion { call, earlier })
    }

    /// Removes the calls of a session that has ended.
    pub fn close(&mut self, session: &str) {
        let session = self.hasher.hash_one(session);
        self.calls.retain(|_, known| known.session != session);
        self.bytes = self.calls.values().map(|known| known.bytes).sum();
        let calls = &self.calls;
        self.order.retain(|key| calls.contains_key(key));
        self.ended.retain(|key| calls.contains_key(key));
    }

    /// Merges a report into the known call. Returns `None` if the report names no call.
    fn merge(&mut self, session: &str, said: &Value) -> Option<Result<CallKey, CallTooLarge>> {
        let id = said.get("toolCallId")?.as_str()?;
        let key = self.hasher.hash_one((session, id));
        if !self.calls.contains_key(&key) && !self.has_room() {
            return Some(Err(CallTooLarge));
        }
        let session = self.hasher.hash_one(session);
        let known = match self.calls.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(CallRecord::new(session)),
        };
        if known.is_cut {
            return Some(Ok(key));
        }
        if known.fields.is_empty() {
            self.order.push_back(key);
        }
        let before = known.bytes;
        let before_this =
            JUDGED_KEYS.iter().any(|key| said.get(*key).is_some_and(|value| !value.is_null())).then(|| known.judged());
        for (name, value) in said.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            known.bytes += name.len() + memory_size(value);
            if let Some(earlier) = known.fields.insert(name.clone(), value.clone()) {
                known.bytes -= name.len() + memory_size(&earlier);
            }
        }
        let mut is_too_much = false;
        if let Some(earlier) = before_this {
            is_too_much = known.change_from(earlier);
        }
        self.bytes = self.bytes - before + known.bytes;
        if known.bytes > MAX_CALL_BYTES || known.earlier.len() > MAX_EARLIER || is_too_much {
            self.cut(key);
        }
        self.shrink(key);
        Some(Ok(key))
    }

    /// Returns true if one more call can be stored. Drops calls that have run if necessary.
    fn has_room(&mut self) -> bool {
        if self.order.len() >= 2 * MAX_CALLS {
            let calls = &self.calls;
            self.order.retain(|key| calls.get(key).is_some_and(|known| !known.fields.is_empty()));
        }
        while self.calls.len() >= MAX_CALLS {
            let Some(oldest) = self.ended.pop_front() else { return false };
            if let Some(forgotten) = self.calls.remove(&oldest) {
                self.bytes -= forgotten.bytes;
            }
        }
        true
    }

    /// Drops the fields of the oldest calls until all calls are within the memory limit. Does not drop the fields of the call
    /// `key`.
    fn shrink(&mut self, key: CallKey) {
        let mut kept = false;
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            if oldest == key {
                kept = true;
            } else {
                self.cut(oldest);
            }
        }
        if kept {
            self.order.push_front(key);
        }
    }

    /// Drops the fields of a call, but remembers that the call exists.
    fn cut(&mut self, key: CallKey) {
        let Some(known) = self.calls.get_mut(&key).filter(|known| !known.fields.is_empty()) else { return };
        (known.fields, known.earlier) = (Map::new(), Vec::new());
        known.is_cut = !known.has_run;
        self.bytes -= std::mem::take(&mut known.bytes);
    }
}

impl CallRecord {
    fn new(session: CallKey) -> Self {
        let (fields, earlier) = Default::default();
        Self { session, fields, earlier, is_answered: false, bytes: 0, is_asked: false, has_run: false, is_cut: false }
    }

    /// Returns the members of the call that rules check.
    fn judged(&self) -> Value {
        let member = |key: &&str| Some(((*key).to_owned(), self.fields.get(*key)?.clone()));
        let mut judged: Map<String, Value> =
            ["title", "kind", "rawInput", "locations"].iter().filter_map(member).collect();
        // Content other than diffs is left out, because it can be large and can grow with each report.
        let parts = self.fields.get("content").and_then(Value::as_array).into_iter().flatten();
        let diffs = parts.filter(|part| part.get("type").and_then(Value::as_str) == Some("diff"));
        let diffs: Vec<Value> = diffs.map(|diff| json!({ "type": "diff", "path": diff.get("path") })).collect();
        judged.insert("content".to_owned(), Value::Array(diffs));
        Value::Object(judged)
    }

    /// Processes a change of the call, whose previous version was `earlier`. Returns true if the two versions are too large to be
    /// compared.
    fn change_from(&mut self, earlier: Value) -> bool {
        let now = self.judged();
        if earlier == now {
            return false;
        }
        if is_costly(&earlier) || is_costly(&now) {
            return true;
        }
        let was_answered = std::mem::take(&mut self.is_answered);
        if was_answered && Readings::of_tool_call(&earlier).is_stated && !is_within(&now, &earlier) {
            // The agent has asked for permission for the previous version of the call, but not for this version.
            self.is_asked = false;
        }
        if !was_answered && !is_within(&earlier, &now) {
            self.bytes += memory_size(&earlier);
            self.earlier.push(earlier);
        }
        false
    }
}

/// Returns true if interpreting the call would take too much memory. The members of the call are copied for each location and each
/// content block.
fn is_costly(judged: &Value) -> bool {
    let places = ["locations", "content"].iter().filter_map(|key| judged.get(*key)?.as_array()).map(Vec::len);
    memory_size(judged).saturating_mul(1 + places.sum::<usize>()) > MAX_BYTES
}

/// The members of a call that describe what the call does.
const JUDGED_KEYS: &[&str] = &["kind", "rawInput", "locations", "content"];

/// The arguments of a call on which rules decide.
const DECISIVE_KEYS: &[&str] = &["command", "cwd", "path", "url"];

/// Returns true if the call states everything that an earlier version of it states. This is always so if the earlier version states
/// nothing about the effect of the call.
fn is_within(earlier: &Value, call: &Value) -> bool {
    let (earlier, now) = (Readings::of_tool_call(earlier), Readings::of_tool_call(call));
    !earlier.is_stated || earlier.all.iter().all(|one| now.all.iter().any(|other| is_part_of(one, other)))
}

/// Returns true if two interpretations are equal, or if the first interpretation is an incomplete form of the second. Agents report
/// incomplete calls while the model is still writing the arguments.
fn is_part_of(one: &Reading, other: &Reading) -> bool {
    let begins = |key: &str| match (one.arguments.get(key), other.arguments.get(key)) {
        (None, _) => true,
        (Some(Value::String(one)), Some(Value::String(other))) => other.starts_with(one.as_str()),
        (one, other) => one == other,
    };
    let is_decisive = DECISIVE_KEYS.iter().any(|key| one.arguments.get(*key).is_some());
    let is_same = is_decisive || !one.name.starts_with("mcp__") || one.arguments == other.arguments;
    one.name == other.name && DECISIVE_KEYS.iter().all(|key| begins(key)) && is_same
}

/// Returns `Some(true)` if a call with this status has failed, `Some(false)` if it has succeeded, and `None` if it has not run yet.
fn is_end(status: Option<&str>) -> Option<bool> {
    match status {
        Some("completed") => Some(false),
        Some("failed") => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{CallTooLarge, FinishedCall, MAX_BYTES, MAX_CALL_BYTES, MAX_CALLS, ToolCalls};
    use serde_json::{Value, json};

    const MIB: usize = 1024 * 1024;

    fn large(id: &str, key: &str, bytes: usize) -> Value {
        json!({ "toolCallId": id, key: "x".repeat(bytes) })
    }

    #[test]
    fn what_the_agent_says_of_a_call_bit_by_bit_is_one_call() {
        let mut calls = ToolCalls::default();
        let first = json!({ "toolCallId": "1", "title": "Run", "kind": "execute", "status": "pending" });
        assert_eq!(calls.update("s", &first), None);
        let asked =
            calls.ask("s", &json!({ "toolCallId": "1", "rawInput": { "command": "ls" }, "kind": null })).unwrap();
        assert_eq!((&asked.call["kind"], &asked.call["rawInput"]["command"]), (&json!("execute"), &json!("ls")));
        assert!(asked.earlier.is_empty());
        let run = calls.update("s", &json!({ "toolCallId": "1", "status": "completed" })).unwrap();
        assert!(run.is_asked && !run.is_failed && !run.is_cut && run.call["title"] == "Run");
        assert_eq!(calls.bytes, 0, "it is not needed any more");
        assert_eq!(calls.update("s", &json!({ "toolCallId": "1", "status": "completed" })), None, "once");
    }

    #[test]
    fn a_call_that_ran_without_a_question_is_known_as_such_and_another_session_has_others() {
        let mut calls = ToolCalls::default();
        calls.ask("other", &json!({ "toolCallId": "1" })).unwrap();
        let run = calls.update("s", &json!({ "toolCallId": "1", "status": "failed" }));
        assert!(matches!(run, Some(FinishedCall { is_asked: false, is_failed: true, .. })), "{run:?}");
        assert_eq!(calls.update("s", &json!({ "status": "completed" })), None, "it is no call");
    }

    #[test]
    fn what_a_call_was_reported_as_before_is_asked_about_with_it() {
        let command =
            |command: &str| json!({ "toolCallId": "1", "kind": "execute", "rawInput": { "command": command } });
        let earlier = |reported: &[Value], asked: &Value| {
            let mut calls = ToolCalls::default();
            reported.iter().for_each(|call| drop(calls.update("s", call)));
            let asked = calls.ask("s", asked).unwrap();
            asked.earlier.iter().map(|call| call["rawInput"].to_string()).collect::<Vec<_>>()
        };
        let rm = command("rm -rf /");
        assert_eq!(earlier(std::slice::from_ref(&rm), &command("ls")), [r#"{"command":"rm -rf /"}"#]);
        let turned = [command("ls"), rm.clone(), command("ls")];
        assert_eq!(earlier(&turned, &command("ls")), [r#"{"command":"rm -rf /"}"#]);
        assert!(earlier(&[command(""), command("rm"), rm.clone()], &rm).is_empty(), "a model was writing it");
        assert!(earlier(&[json!({ "toolCallId": "1", "kind": "execute", "rawInput": {} })], &rm).is_empty());
        let edit = |path: &str| json!({ "toolCallId": "1", "kind": "edit", "locations": [{ "path": path }] });
        assert_eq!(earlier(&[edit("/etc/passwd")], &edit("/tmp/x")).len(), 1);
        let mcp = |value: u32| json!({ "toolCallId": "1", "title": "mcp__db__run", "kind": "other", "rawInput": { "q": value } });
        assert_eq!(earlier(&[mcp(1)], &mcp(2)), [r#"{"q":1}"#]);
        let with_output = json!({ "toolCallId": "1", "content": [{ "type": "content", "content": { "type": "text", "text": "b" } }] });
        assert!(earlier(&[rm.clone(), with_output.clone()], &rm).is_empty());
        let mut calls = ToolCalls::default();
        calls.ask("s", &rm).unwrap();
        assert!(calls.ask("s", &command("ls")).unwrap().earlier.is_empty(), "it was asked about, and has its answer");
        calls.update("s", &rm);
        assert_eq!(calls.ask("s", &command("ls")).unwrap().earlier.len(), 1, "it was reported once more");
        let many: Vec<Value> = (0..20).map(|n| command(&format!("{n} x"))).collect();
        let mut calls = ToolCalls::default();
        many.iter().for_each(|call| drop(calls.update("s", call)));
        assert_eq!(calls.ask("s", &command("ls")), Err(CallTooLarge));
        assert!(calls.bytes < 1000, "{}", calls.bytes);
        let places: Vec<Value> = (0..10_000).map(|n| json!({ "path": n.to_string() })).collect();
        let mut calls = ToolCalls::default();
        calls.update(
            "s",
            &json!({ "toolCallId": "1", "kind": "edit", "locations": places, "rawInput": { "text": "x" } }),
        );
        calls.update("s", &json!({ "toolCallId": "1", "rawInput": { "text": "x".repeat(MIB) } }));
        assert_eq!(calls.ask("s", &edit("/tmp/x")), Err(CallTooLarge), "it is too much to be compared");
    }

    #[test]
    fn a_call_that_runs_as_another_one_than_was_asked_about_was_not_asked_about() {
        let command =
            |command: &str| json!({ "toolCallId": "1", "kind": "execute", "rawInput": { "command": command } });
        let is_asked = |reported: &Value| {
            let mut calls = ToolCalls::default();
            calls.ask("s", &command("ls")).unwrap();
            calls.update("s", reported);
            calls.update("s", &json!({ "toolCallId": "1", "status": "completed" })).unwrap().is_asked
        };
        assert!(!is_asked(&command("rm -rf /")));
        assert!(is_asked(&command("ls")) && is_asked(&json!({ "toolCallId": "1", "title": "List" })));
    }

    #[test]
    fn a_call_that_says_too_much_cannot_be_asked_about_and_its_end_is_known_in_part() {
        let mut calls = ToolCalls::default();
        // Each of these updates alone is below the limit for a call.
        for key in ["title", "rawInput"] {
            calls.update("s", &large("1", key, MAX_CALL_BYTES / 2));
        }
        assert!(calls.bytes < MIB, "{}", calls.bytes);
        assert_eq!(calls.ask("s", &json!({ "toolCallId": "1", "kind": "read" })), Err(CallTooLarge));
        let run = calls.update("s", &json!({ "toolCallId": "1", "status": "completed" })).unwrap();
        assert!(run.is_cut && !run.is_asked, "{run:?}");
        assert!(calls.ask("s", &json!({ "toolCallId": "2", "kind": "read" })).is_ok(), "another one");
    }

    #[test]
    fn the_oldest_call_is_cut_where_all_say_too_much_and_a_question_about_it_is_refused() {
        let mut calls = ToolCalls::default();
        for n in 0..40 {
            calls.update("s", &large(&n.to_string(), "rawInput", MIB));
        }
        assert!(calls.bytes <= MAX_BYTES, "{}", calls.bytes);
        assert_eq!(calls.ask("s", &json!({ "toolCallId": "0", "kind": "read" })), Err(CallTooLarge));
        let last = calls.ask("s", &json!({ "toolCallId": "39" })).unwrap();
        assert_eq!(last.call["rawInput"].as_str().map(str::len), Some(MIB));
    }

    #[test]
    fn a_call_that_has_run_makes_room_and_one_that_has_not_is_never_forgotten() {
        let mut calls = ToolCalls::default();
        for n in 0..MAX_CALLS {
            calls.ask("s", &json!({ "toolCallId": n.to_string() })).unwrap();
        }
        assert_eq!(calls.ask("s", &json!({ "toolCallId": "more" })), Err(CallTooLarge));
        let run = calls.update("s", &json!({ "toolCallId": "more", "status": "completed" })).unwrap();
        assert!(run.is_cut && !run.is_asked, "it is recorded nevertheless: {run:?}");
        assert!(
            calls.update("s", &json!({ "toolCallId": "7", "status": "completed" })).is_some_and(|run| run.is_asked)
        );
        assert!(calls.ask("s", &json!({ "toolCallId": "more" })).is_ok());
        assert!(
            calls.update("s", &json!({ "toolCallId": "0", "status": "completed" })).is_some_and(|run| run.is_asked)
        );
        for n in 0..3 * MAX_CALLS {
            calls.update("s", &json!({ "toolCallId": format!("run-{n}"), "status": "completed" }));
        }
        assert!(calls.calls.len() <= MAX_CALLS && calls.order.len() <= 2 * MAX_CALLS && calls.ended.len() <= MAX_CALLS);
    }

    #[test]
    fn the_calls_of_a_session_end_with_it() {
        let mut calls = ToolCalls::default();
        calls.update("s", &large("1", "title", MIB));
        calls.update("other", &large("1", "title", 5));
        calls.close("s");
        assert!(calls.calls.len() == 1 && calls.order.len() == 1 && calls.bytes < 1000, "{}", calls.bytes);
    }
}
