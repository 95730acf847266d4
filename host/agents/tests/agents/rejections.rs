//! Tests that decoding never panics, whatever the message is. Also tests that each agent treats the reply to a rejected
//! event as a denial.

use crate::goldens::fixtures;
use crate::model::{continues, denies};
use hookhost_agents::{Adapter, Answer, HookCall, HookEvent, Message, Outcome, all, by_name, degrade};
use hookhost_contract::{EventKind, Refusal, Rejection, Stop};
use proptest::prelude::*;
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(Value::from("{\"a\":1}")),
        Just(Value::from("[1]")),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[a-z_]{0,6}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Collects the JSON pointers to all values within a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut into = |key: &str, value: &Value| {
        let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        found.push(at.clone());
        places(value, &at, found);
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| into(key, value)),
        Value::Array(list) => (0..).zip(list).for_each(|(index, value): (u32, _)| into(&index.to_string(), value)),
        _ => {}
    }
}

fn told(event: &HookEvent) -> &str {
    match event {
        HookEvent::PromptSubmit { prompt: text } | HookEvent::FinalText { text } => text,
        HookEvent::AfterToolCall { result, .. } => &result.text,
        _ => "\u{0}",
    }
}

fn rejected(call: &HookCall, adapter: &Adapter) -> Outcome {
    let no = Rejection::verdict("guard", Refusal::new("not here").code("guard.no"), Stop::Run);
    degrade(call, Outcome::new(Answer::Rejected(no)), adapter.abilities(call)).0
}

/// Checks that the reply is a denial if only one part of a call is rejected, for each part that can be rejected.
fn is_denied_where_it_can_be(adapter: &Adapter, call: &HookCall) {
    let parts = call.parts();
    for (index, part) in parts.iter().enumerate() {
        if !adapter.abilities(part).rejects {
            continue;
        }
        let reply = if parts.len() == 1 {
            adapter.encode(call, &rejected(part, adapter))
        } else {
            let mut outcomes = vec![Outcome::new(Answer::Neutral); parts.len()];
            outcomes[index] = rejected(part, adapter);
            adapter.encode_all(call, &outcomes)
        };
        let name = adapter.agent().name;
        // An empty text is contained in every text, so it is replaced by a character that does not occur.
        let told = Some(told(&part.event)).filter(|text| !text.trim().is_empty()).unwrap_or("\u{0}");
        let is_denied = denies(name, &part.point, &reply, told);
        assert_ne!(is_denied, Some(false), "{name} at {}: {reply:?}", part.point);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_json_makes_an_adapter_panic(value in any_json(), point in prop::option::of("[a-zA-Z.]{0,20}")) {
        let bytes = serde_json::to_vec(&value).unwrap();
        for adapter in all() {
            let mut message = Message::new(&bytes, Path::new("/project"));
            message.point = point.as_deref();
            if let Ok(call) = adapter.decode(&message) {
                is_denied_where_it_can_be(adapter, &call);
            }
        }
    }

    #[test]
    fn no_bytes_make_an_adapter_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for adapter in all() {
            let _ = adapter.decode(&Message::new(&bytes, Path::new("/project")));
        }
    }

    #[test]
    fn a_message_with_one_thing_wrong_is_read_or_refused_and_a_rejection_of_it_denies(
        pick in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), other in prop::option::of(any_json()),
    ) {
        let known = fixtures();
        let (agent, name, file) = &known[pick.index(known.len())];
        let fixture: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let mut input = fixture["input"].clone();
        let mut found = Vec::new();
        places(&input, "", &mut found);
        let at = &found[place.index(found.len())];
        match (other, at.rsplit_once('/')) {
            (Some(other), _) => *input.pointer_mut(at).unwrap() = other,
            (None, Some((parent, key))) => {
                if let Some(Value::Object(object)) = input.pointer_mut(parent) {
                    object.remove(&key.replace("~1", "/").replace("~0", "~"));
                }
            }
            (None, None) => {}
        }
        let adapter = by_name(agent).unwrap_or_else(|| panic!("{name}: no adapter"));
        let bytes = serde_json::to_vec(&input).unwrap();
        let mut message = Message::new(&bytes, Path::new("/project"));
        message.point = fixture["point"].as_str();
        if let Ok(call) = adapter.decode(&message) {
            is_denied_where_it_can_be(adapter, &call);
        }
    }
}

#[test]
fn a_rejection_of_each_fixture_is_denied_by_the_model_of_its_agent() {
    for (agent, name, file) in fixtures() {
        let fixture: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let adapter = by_name(&agent).unwrap();
        let bytes = serde_json::to_vec(&fixture["input"]).unwrap();
        let mut message = Message::new(&bytes, Path::new("/project"));
        message.point = fixture["point"].as_str();
        let call = adapter.decode(&message).unwrap_or_else(|error| panic!("{agent}/{name}: {error}"));
        is_denied_where_it_can_be(adapter, &call);
    }
}

#[test]
fn an_agent_that_nobody_answers_is_told_no_at_its_gates_and_can_stop() {
    let why = "hookhost could not settle this call: nobody answered";
    for adapter in all() {
        let agent = adapter.agent();
        let unknown = adapter.fail(None, why);
        if let Some(first) =
            agent.points.iter().find(|point| point.abilities.rejects && point.event == EventKind::BeforeToolCall)
        {
            assert_ne!(denies(agent.name, first.name, &unknown, "\u{0}"), Some(false), "{}: {unknown:?}", agent.name);
        }
        for point in agent.points {
            let reply = adapter.fail(Some(point.name), why);
            assert_ne!(reply.exit, 1, "{} at {}", agent.name, point.name);
            // If a message about a result cannot be read, the run continues, even if the agent cannot withhold the
            // result.
            let is_kept = point.event == EventKind::AfterToolCall && !point.abilities.replaces;
            if point.abilities.rejects && !is_kept {
                let is_denied = denies(agent.name, point.name, &reply, "\u{0}");
                assert_ne!(is_denied, Some(false), "{} at {}: {reply:?}", agent.name, point.name);
            }
            if denies(agent.name, point.name, &reply, "\u{0}").is_some()
                && matches!(point.event, EventKind::QueueEmpty | EventKind::SubagentEnd | EventKind::SessionStart)
            {
                assert!(!continues(agent.name, &reply), "{} at {}: {reply:?}", agent.name, point.name);
            }
        }
    }
}
