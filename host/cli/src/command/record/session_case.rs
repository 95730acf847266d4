//! A case with the events of one recorded session.

use super::mask::Masked;
use crate::command::test::{CaseOutcome, StateValue, States, TIME};
use crate::output::time;
use hookhost::audit::{CallRecord, EventRecord, Scope, SessionOpened, StateWrite, WrittenValue};
use hookhost::contract::action::ActionMap;
use hookhost::contract::{EventKind, Fact, FactName, ToolCall, ToolOrigin};
use hookhost_agents::ToolUse;
use hookhost_telemetry::tally::{RuleName, deciding_rules};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use toml_edit::{Array, InlineTable};

/// The name by which a question of the configuration is recorded. It is no plugin.
const CONFIGURATION: &str = "the configuration";

/// A case that is being made.
pub(super) struct SessionCase {
    opened: SessionOpened,
    /// Time of the first event, in milliseconds since the Unix epoch.
    began: u64,
    events: Vec<String>,
    /// The state that the case has after its events so far. `None` is a key that is not there.
    state: HashMap<(String, Scope, String), Option<Vec<u8>>>,
    /// The labels that the case has after its events so far.
    labels: BTreeSet<String>,
}

impl SessionCase {
    pub(super) fn new(opened: SessionOpened, began: u64) -> Self {
        Self { opened, began, events: Vec::new(), state: HashMap::new(), labels: BTreeSet::new() }
    }

    pub(super) fn is_of(&self, opened: &SessionOpened) -> bool {
        self.opened.header.session == opened.header.session
    }

    pub(super) fn events(&self) -> usize {
        self.events.len()
    }

    /// Adds an event with its outcome, the facts that the plugins read, and the state and labels that they read and that earlier events of
    /// the case did not leave.
    pub(super) fn add(&mut self, event: &EventRecord, masked: &mut Masked) {
        let mut text = String::from("\n[[case.event]]\n");
        for (key, mut value) in self.event_keys(event) {
            masked.mask(&mut value);
            line(&mut text, key, &value);
        }
        let before = [
            ("state", json!(self.state_before(event))),
            ("labels", json!(self.labels_before(event))),
            ("facts", facts(event)),
        ];
        for (key, mut value) in before {
            masked.mask(&mut value);
            if value != json!({}) && value != json!([]) {
                line(&mut text, key, &value);
            }
        }
        for (key, mut value) in outcome_keys(event) {
            masked.mask(&mut value);
            line(&mut text, key, &value);
        }
        event.calls.iter().for_each(|call| self.note_writes(event, call));
        self.events.push(text);
    }

    /// Returns the keys that describe the event.
    fn event_keys(&self, event: &EventRecord) -> Vec<(&'static str, Value)> {
        let value = parsed(&event.original);
        if event.event == EventKind::PromptSubmit {
            return vec![("prompt", value)];
        }
        let (name, arguments) = (value["name"].clone(), value["arguments"].clone());
        if self.is_derived(&value) {
            return vec![("tool", name), ("arguments", arguments)];
        }
        vec![("event", json!(event.event)), ("payload", json!({ "call": value }))]
    }

    /// Returns true if a call's action and origin are those that the host derives from its name and its arguments.
    fn is_derived(&self, call: &Value) -> bool {
        let (Some(name), arguments) = (call["name"].as_str(), &call["arguments"]) else { return false };
        let origin: ToolOrigin = ToolUse::new(None, name, arguments.clone()).origin;
        let map = ActionMap::default();
        let actions = map.of(&self.opened.agent);
        let derived: ToolCall = actions.call(String::new(), name.to_owned(), arguments, origin, &self.opened.cwd);
        json!(derived.origin) == call["origin"] && json!(derived.action) == call["action"]
    }

    /// Returns the state that the plugins read and that the case would not have.
    fn state_before(&mut self, event: &EventRecord) -> States {
        let mut before = States::new();
        for call in &event.calls {
            for read in call.inputs.state.iter().flat_map(|used| &used.read) {
                let place = (call.plugin.clone(), read.scope, read.key.clone());
                let value = read.value.as_ref().map(|value| value.0.clone());
                // If only the size was read, the value is not known.
                if (value.is_none() && read.size.is_some()) || self.state.get(&place) == Some(&value) {
                    continue;
                }
                if let Some(value) = &value {
                    let of_scope = before.entry(call.plugin.clone()).or_default().entry(read.scope).or_default();
                    of_scope.entry(read.key.clone()).or_insert_with(|| StateValue::of(value));
                }
                self.state.entry(place).or_insert(value);
            }
        }
        before
    }

    /// Returns the labels that the plugins read and that the case would not have.
    fn labels_before(&mut self, event: &EventRecord) -> BTreeSet<String> {
        let read = event.calls.iter().filter_map(|call| call.inputs.labels.as_ref()).flat_map(BTreeMap::keys);
        let missing: BTreeSet<String> = read.filter(|label| !self.labels.contains(*label)).cloned().collect();
        self.labels.extend(missing.iter().cloned());
        self.labels.extend(event.calls.iter().flat_map(|call| call.labels.iter().cloned()));
        missing
    }

    /// Notes what a plugin wrote. If a person had to answer first, what was written is not known, and the next event says it.
    fn note_writes(&mut self, event: &EventRecord, call: &CallRecord) {
        for StateWrite { scope, key, write, .. } in &call.wrote {
            let place = (call.plugin.clone(), *scope, key.clone());
            let before = self.state.get(&place).cloned().flatten();
            match write {
                _ if CaseOutcome::of(event) == CaseOutcome::Asked => drop(self.state.remove(&place)),
                WrittenValue::Set { value, .. } => drop(self.state.insert(place, Some(value.0.clone()))),
                WrittenValue::Delete {} => drop(self.state.insert(place, None)),
                WrittenValue::Add { by } => {
                    let number: i64 =
                        before.and_then(|before| std::str::from_utf8(&before).ok()?.parse().ok()).unwrap_or(0);
                    self.state.insert(place, Some(number.saturating_add(*by).to_string().into_bytes()));
                }
                _ => drop(self.state.remove(&place)),
            }
        }
    }

    /// Returns the case as TOML.
    pub(super) fn to_toml(&self) -> String {
        let SessionOpened { header, agent, cwd, workspace, depth, interactive, .. } = &self.opened;
        let mut text = String::from("\n[[case]]\n");
        line(&mut text, "name", &json!(format!("{}, {}", header.session, time::minute(self.began))));
        line(&mut text, "agent", &json!(agent));
        line(&mut text, "cwd", &json!(cwd));
        if workspace != cwd {
            line(&mut text, "workspace", &json!(workspace));
        }
        if *depth > 0 {
            line(&mut text, "depth", &json!(depth));
        }
        if !interactive {
            line(&mut text, "interactive", &json!(false));
        }
        text + &self.events.concat()
    }
}

/// Returns the keys of the outcome. A question that a person had already answered for the session is asked in a new session.
fn outcome_keys(event: &EventRecord) -> Vec<(&'static str, Value)> {
    let mut keys = Vec::new();
    let (outcome, rule) = match event.kept.first() {
        Some(kept) => {
            let (by, code) = (kept.question.by.to_string(), kept.question.escalation.code.clone());
            (CaseOutcome::Asked, Some(RuleName { by, code }))
        }
        None => (CaseOutcome::of(event), deciding_rules(event).into_iter().next()),
    };
    keys.push(("outcome", json!(outcome)));
    if let Some(RuleName { by, code }) = rule {
        keys.extend(code.map(|code| ("code", json!(code))));
        if by != CONFIGURATION {
            keys.push(("plugin", json!(by)));
        }
    }
    if let (CaseOutcome::Changed, Some(last)) = (outcome, &event.last) {
        let last = parsed(last);
        let value = if event.event == EventKind::BeforeToolCall { last["arguments"].clone() } else { last };
        keys.push(("becomes", value));
    }
    keys
}

/// Returns the facts that the plugins read, and the time if it may matter: stored values can contain earlier times. A fact that is absent is
/// left out, because a case has no other ones. Of a fact about several directories, the first value is taken.
fn facts(event: &EventRecord) -> Value {
    let mut facts = Map::new();
    let needs_time = |call: &CallRecord| {
        call.inputs.state.is_some() || call.inputs.facts.iter().any(|read| read.name == FactName::TimeOffset)
    };
    if event.calls.iter().any(needs_time) {
        facts.insert(TIME.to_owned(), json!(event.header.time));
    }
    for read in event.calls.iter().flat_map(|call| &call.inputs.facts) {
        let value = match &read.value {
            Fact::Absent => continue,
            Fact::Text(text) => json!(text),
            Fact::Number(number) => json!(number),
            Fact::Flag(flag) => json!(flag),
            Fact::Unreadable(why) => json!({ "unreadable": why }),
        };
        facts.entry(read.name.name()).or_insert(value);
    }
    Value::Object(facts)
}

/// Adds a line `key = value`. A value that TOML cannot express is written as the text of its JSON.
fn line(text: &mut String, key: &str, value: &Value) {
    let value = toml_value(value).unwrap_or_else(|| value.to_string().into());
    let _ = writeln!(text, "{key} = {value}");
}

/// Converts a value to TOML. Returns `None` if TOML cannot express it: TOML has no `null`, and its numbers have 64 bits.
pub(in crate::command) fn toml_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) if !number.is_nan() && !value.is_u64() => number.into(),
            _ => return None,
        },
        Value::String(text) => text.into(),
        Value::Array(items) => items.iter().map(toml_value).collect::<Option<Array>>()?.into(),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| Some((key, toml_value(value)?)));
            members.collect::<Option<InlineTable>>()?.into()
        }
    })
}

fn parsed(value: &RawValue) -> Value {
    serde_json::from_str(value.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::toml_value;
    use serde_json::json;

    #[test]
    fn a_value_that_toml_cannot_express_is_not_written_as_another_one() {
        let value = json!({ "a b": ["x\ny", 1, -2.5, true], "c": {} });
        let written = toml_value(&value).unwrap();
        let read: serde_json::Value =
            toml::from_str::<toml::Table>(&format!("value = {written}")).unwrap()["value"].clone().try_into().unwrap();
        assert_eq!(read, value);
        for other in [json!(null), json!([null]), json!({ "a": null }), json!(u64::MAX)] {
            assert!(toml_value(&other).is_none(), "{other}");
        }
    }
}
