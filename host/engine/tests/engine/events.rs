//! Every verdict of every event, given by a real component, has its effect.

use crate::support::{plugin, session, texts};
use hookhost::contract::{Decision, EventKind, Json, Stop, ToolOrigin, Turn};
use hookhost::session::DispatchOptions;
use serde_json::{Value, json};

fn call(command: &str) -> Value {
    json!({"id": "1", "name": "bash", "arguments": {"command": command}, "origin": "builtin",
           "action": {"shell": {"command": command, "cwd": "/work", "dialect": "posix"}}})
}

fn usage() -> Value {
    json!({"provider": "p", "model": "m", "input-tokens": 1, "cached-input-tokens": 0, "output-tokens": 2,
           "session-input-tokens": 3, "session-output-tokens": 4,
           "run-input-tokens": 5, "run-output-tokens": 6})
}

fn inference() -> Value {
    json!({"provider": "p", "model": "m", "system-prompt": "s", "prompt": "hello", "tools": ["a", "b"], "input-tokens": 9,
           "used": {"session-input-tokens": 1, "session-output-tokens": 2, "run-input-tokens": 3, "run-output-tokens": 4, "run-requests": 5}})
}

fn plan() -> Value {
    json!({"title": "t", "tasks": [{"prompt": "one", "title": null}], "clear-existing": false})
}

fn completion() -> Value {
    json!({"status": "success", "turns": 1, "input-tokens": 1, "output-tokens": 1})
}

fn resolution(chosen: &str) -> Value {
    let choice = |model: &str| json!({"provider": "p", "model": model});
    json!({"chosen": choice(chosen), "candidates": [choice("m"), choice("n")]})
}

fn raw_body(body: &Value) -> Value {
    json!({"provider": "p", "model": "m", "body": body})
}

/// What `handle` of each event takes, `session` left out.
pub(crate) fn payload(event: EventKind) -> Value {
    match event {
        EventKind::SessionStart => json!({}),
        EventKind::SessionEnd | EventKind::TokenUsage => json!({ "usage": usage() }),
        EventKind::PromptSubmit => json!({"prompt": "text"}),
        EventKind::BeforeInference => json!({ "request": inference() }),
        EventKind::TurnStart => json!({"turn": {"number": 2, "number-in-task": 1}}),
        EventKind::TurnEnd => {
            json!({"turn": {"number": 2, "number-in-task": 1, "tool-calls": 0, "input-tokens": 1,
                            "cached-input-tokens": 0, "output-tokens": 2}})
        }
        EventKind::ProviderResolve => json!({ "resolution": resolution("m") }),
        EventKind::RequestSend => json!({ "request": raw_body(&json!({"model": "m"})) }),
        EventKind::ResponseReceive => json!({ "response": raw_body(&json!({"text": "t"})) }),
        EventKind::SubagentStart => json!({"subagent": {"call-id": "1", "depth": 1, "prompt": "look"}}),
        EventKind::SubagentEnd => {
            json!({"subagent": {"session": "s", "call-id": "1", "status": "success", "text": "t", "turns": 1,
                                "input-tokens": 1, "output-tokens": 1}})
        }
        EventKind::BeforeCompaction => {
            json!({"compaction": {"messages": 3, "input-tokens": 90, "context-window": 100}})
        }
        EventKind::AfterCompaction => json!({"summary": "text"}),
        EventKind::TaskStart => json!({"task": {"prompt": "one", "title": null}}),
        EventKind::PlanComplete => json!({"plan": {"title": "t", "tasks": 1, "completed": 1}}),
        EventKind::QueueEmpty => json!({"progress": {"tasks": 1, "turns": 1, "input-tokens": 1, "output-tokens": 1}}),
        EventKind::StreamDelta => json!({"delta": "text"}),
        EventKind::StreamEnd => json!({"text": "text"}),
        EventKind::AfterInference => {
            json!({"response": {"text": "t", "tool-calls": [call("ls")], "stop-reason": "end"}})
        }
        EventKind::FinalizeContent => json!({"content": "text"}),
        EventKind::BeforeTools => json!({"calls": [call("ls")]}),
        EventKind::BeforeToolCall => json!({"call": call("ls")}),
        EventKind::AfterToolCall => {
            json!({"call": call("ls"), "tool-result": {"text": "out", "is-error": false}, "source": "tool"})
        }
        EventKind::PlanSubmit => json!({ "plan": plan() }),
        EventKind::TaskComplete => json!({ "completion": completion() }),
        EventKind::AgentError => json!({"message": "text"}),
        EventKind::CustomEvent => json!({"event": {"name": "n", "payload": {"a": 1}}}),
        EventKind::AuditRecord => json!({"entry": {"a": 1}}),
        _ => panic!("{event} was added: say here what it carries"),
    }
}

/// The outcome of `event` before one plugin that answers so.
async fn outcome(event: EventKind, behaviour: &Value) -> Value {
    let session = session(vec![plugin("p", json!({ event.name(): behaviour }))]).await;
    let options = DispatchOptions::awaiting_observers();
    let settled = session.dispatch_event(event, payload(event), options).await;
    let settled = settled.unwrap_or_else(|error| panic!("{event}: {error}"));
    assert_eq!(
        settled.record.calls.len(),
        settled.record.calls.last().map_or(0, |call| call.round as usize),
        "{event}"
    );
    let failures: Vec<_> = settled.record.calls.iter().filter_map(|call| call.failure.as_ref()).collect();
    assert!(failures.is_empty(), "{event} {behaviour}: {failures:?}");
    settled.outcome
}

fn rejected(word: &str) -> Value {
    json!({"kind": word, "by": ["p"], "cause": "verdict",
           "refusal": {"reason": "no", "code": "c", "retryable": true, "stop": true},
           "ends": "run"})
}

const REJECT: &str = r#"{"verdict": "reject", "reason": "no", "code": "c", "retryable": true, "stop": true}"#;

fn reject() -> Value {
    serde_json::from_str(REJECT).unwrap()
}

#[tokio::test]
async fn every_event_reaches_a_plugin_that_has_no_objection() {
    for &event in EventKind::ALL {
        let expected = match event.name() {
            "session-start" | "task-complete" | "queue-empty" | "agent-error" => json!([]),
            "session-end" | "turn-end" | "stream-end" | "after-inference" | "subagent-end" | "plan-complete"
            | "audit-record" => json!(null),
            "prompt-submit" | "stream-delta" | "finalize-content" | "after-compaction" => {
                json!({"kind": "passed", "value": "text"})
            }
            "response-receive" => json!({"kind": "passed", "value": payload(event)["response"]}),
            "after-tool-call" => json!({"kind": "passed", "value": {"text": "out", "is-error": false}}),
            _ => {
                let payload = payload(event);
                let value = payload.as_object().and_then(|payload| payload.values().next()).cloned();
                json!({"kind": "allowed", "value": value})
            }
        };
        assert_eq!(outcome(event, &json!({})).await, expected, "{event}");
    }
}

#[tokio::test]
async fn a_gate_rejects_with_the_whole_refusal() {
    use EventKind::*;
    for event in [
        TurnStart,
        ProviderResolve,
        BeforeInference,
        RequestSend,
        TokenUsage,
        BeforeTools,
        BeforeToolCall,
        SubagentStart,
        BeforeCompaction,
        TaskStart,
        PlanSubmit,
        CustomEvent,
    ] {
        assert_eq!(outcome(event, &reject()).await, rejected("rejected"), "{event}");
    }
}

#[tokio::test]
async fn what_a_stop_ends_is_what_the_entry_says_and_without_a_stop_it_is_nothing() {
    for (stop, says, expected) in
        [(Stop::Run, true, Some(Stop::Run)), (Stop::Session, true, Some(Stop::Session)), (Stop::Session, false, None)]
    {
        let mut entry = plugin("p", json!({"turn-start": {"verdict": "reject", "reason": "no", "stop": says}}));
        entry.stop = stop;
        let session = session(vec![entry]).await;
        let settled = session.turn_start(Turn { number: 1, number_in_task: 1 }).await;
        let Decision::Rejected(rejection) = settled.outcome else { panic!("not refused") };
        assert_eq!((rejection.refusal.stop, rejection.ends), (says, expected));
    }
}

#[tokio::test]
async fn a_transform_withholds_with_the_whole_refusal() {
    use EventKind::*;
    for event in [PromptSubmit, ResponseReceive, StreamDelta, FinalizeContent, AfterToolCall, AfterCompaction] {
        assert_eq!(outcome(event, &reject()).await, rejected("withheld"), "{event}");
    }
}

#[tokio::test]
async fn an_escalation_that_nobody_can_answer_is_rejected() {
    use EventKind::*;
    for event in [
        TurnStart,
        BeforeInference,
        RequestSend,
        BeforeTools,
        BeforeToolCall,
        SubagentStart,
        TaskStart,
        PlanSubmit,
        CustomEvent,
    ] {
        let outcome = outcome(event, &json!({"verdict": "escalate", "question": "sure?"})).await;
        assert_eq!((&outcome["kind"], &outcome["cause"]), (&json!("rejected"), &json!("not-approved")), "{event}");
        assert_eq!(outcome["refusal"]["reason"], "sure? (nobody is there to answer)", "{event}");
    }
}

#[tokio::test]
async fn a_text_is_replaced() {
    use EventKind::*;
    for event in [PromptSubmit, StreamDelta, FinalizeContent, AfterCompaction] {
        let replaced = outcome(event, &json!({"verdict": "replace", "value": "{value}!"})).await;
        assert_eq!(replaced, json!({"kind": "passed", "value": "text!"}), "{event}");
    }
}

#[tokio::test]
async fn a_tool_result_is_replaced_with_its_raw_value() {
    let result = json!({"text": "masked", "is-error": true, "raw": {"a": [1]}});
    let replaced = outcome(EventKind::AfterToolCall, &json!({"verdict": "replace", "value": result})).await;
    assert_eq!(replaced, json!({"kind": "passed", "value": result}));
}

#[tokio::test]
async fn a_plugin_can_read_the_message_in_which_an_agent_told_of_a_call() {
    let behaviour = json!({ "before-tool-call": { "do": ["raw"] } });
    let session = session(vec![plugin("p", behaviour)]).await;
    let call = || session.tool_call("1", "bash", &json!({ "command": "ls" }), ToolOrigin::Builtin);
    let message = Json::from(json!({ "a": 1 }));
    for (call, shown) in [(call(), "nothing"), (call().raw(message), r#"{"a":1}"#)] {
        let record = session.before_tool_call(call).await.record;
        assert_eq!(record.calls[0].log[0].message, format!("\"raw\" = {shown}"));
    }
}

#[tokio::test]
async fn tasks_are_added() {
    let tasks = json!([{"prompt": "more", "title": "m"}]);
    let added = outcome(EventKind::SessionStart, &json!({ "value": tasks })).await;
    assert_eq!(added, tasks);
    for event in [EventKind::TaskComplete, EventKind::AgentError] {
        assert_eq!(outcome(event, &json!({"verdict": "go-on", "value": tasks})).await, tasks, "{event}");
    }
}

#[tokio::test]
async fn a_tool_call_is_approved_modified_rewritten_or_answered() {
    let event = EventKind::BeforeToolCall;
    let allowed = |call| json!({"kind": "allowed", "value": call});
    assert_eq!(outcome(event, &json!({"verdict": "approve", "reason": "known"})).await, allowed(call("ls")));
    let modified = json!({"when": {"lacks": "-l"}, "verdict": "modify", "value": {"command": "ls -l"}});
    assert_eq!(outcome(event, &modified).await, allowed(call("ls -l")));
    let rewritten = json!({"when": {"lacks": "-a"}, "verdict": "rewrite",
                           "value": {"shell": {"command": "ls -a", "cwd": "/work", "dialect": "posix"}}});
    assert_eq!(outcome(event, &rewritten).await, allowed(call("ls -a")));
    let answered = outcome(event, &json!({"verdict": "respond", "value": "instead"})).await;
    let response = json!({"text": "instead", "is-error": false});
    assert_eq!(answered, json!({"kind": "responded", "value": call("ls"), "response": response, "by": "p"}));
}

#[tokio::test]
async fn a_request_is_modified_or_answered() {
    let event = EventKind::BeforeInference;
    let changes = json!({"system-prompt": "other", "tools": ["b"]});
    let mut expected = inference();
    expected["system-prompt"] = json!("other");
    expected["tools"] = json!(["b"]);
    let modified = outcome(event, &json!({"verdict": "modify", "value": changes})).await;
    assert_eq!(modified, json!({"kind": "allowed", "value": expected}));
    let answered = outcome(event, &json!({"verdict": "respond", "value": "cached"})).await;
    assert_eq!(answered, json!({"kind": "responded", "value": inference(), "response": "cached", "by": "p"}));
}

#[tokio::test]
async fn a_request_gets_no_more_tools_and_no_model_that_is_not_configured() {
    for (field, value, why) in [
        ("tools", json!(["a", "new"]), "a plugin can only remove tools"),
        ("model", json!("other"), "which is not configured"),
        ("provider", json!("other"), "which is not configured"),
    ] {
        let changes = json!({ field: value });
        let behaviour = json!({"before-inference": {"verdict": "modify", "value": changes}});
        let session = session(vec![plugin("p", behaviour)]).await;
        let event = EventKind::BeforeInference;
        let settled = session.dispatch_event(event, payload(event), DispatchOptions::default()).await.unwrap();
        assert_eq!(settled.outcome["cause"], json!({"failed": "invalid-answer"}), "{field}");
        assert!(settled.outcome["refusal"]["reason"].as_str().unwrap().contains(why), "{field}: {}", settled.outcome);
    }
}

#[tokio::test]
async fn a_plan_and_a_custom_payload_are_modified() {
    let new = json!({"title": "u", "tasks": [], "clear-existing": true});
    let modified = outcome(EventKind::PlanSubmit, &json!({"verdict": "modify", "value": new})).await;
    assert_eq!(modified, json!({"kind": "allowed", "value": new}));
    let modified = outcome(EventKind::CustomEvent, &json!({"verdict": "modify", "value": {"b": 2}})).await;
    assert_eq!(modified, json!({"kind": "allowed", "value": {"name": "n", "payload": {"b": 2}}}));
}

#[tokio::test]
async fn a_task_a_sub_agents_prompt_and_the_model_are_modified() {
    let modify = |value: Value| json!({"verdict": "modify", "value": value});
    let modified = outcome(EventKind::TaskStart, &modify(json!({"prompt": "two", "title": "T"}))).await;
    assert_eq!(modified, json!({"kind": "allowed", "value": {"prompt": "two", "title": "T"}}));
    let modified = outcome(EventKind::SubagentStart, &modify(json!("less"))).await;
    assert_eq!(modified, json!({"kind": "allowed", "value": {"call-id": "1", "depth": 1, "prompt": "less"}}));
    let modified = outcome(EventKind::ProviderResolve, &modify(json!({"provider": "p", "model": "n"}))).await;
    assert_eq!(modified, json!({"kind": "allowed", "value": resolution("n")}));
}

#[tokio::test]
async fn the_body_of_a_request_and_an_answer_are_changed() {
    let modified =
        outcome(EventKind::RequestSend, &json!({"verdict": "modify", "value": {"model": "m", "x": 1}})).await;
    assert_eq!(modified, json!({"kind": "allowed", "value": raw_body(&json!({"model": "m", "x": 1}))}));
    let replaced = outcome(EventKind::ResponseReceive, &json!({"verdict": "replace", "value": {"text": "u"}})).await;
    assert_eq!(replaced, json!({"kind": "passed", "value": raw_body(&json!({"text": "u"}))}));
}

#[tokio::test]
async fn a_summary_is_given_by_a_plugin() {
    let event = EventKind::BeforeCompaction;
    let answered = outcome(event, &json!({"verdict": "respond", "value": "short"})).await;
    let value = payload(event)["compaction"].clone();
    assert_eq!(answered, json!({"kind": "responded", "value": value, "response": "short", "by": "p"}));
}

#[tokio::test]
async fn a_change_that_leads_out_of_what_is_configured_is_a_failure() {
    let change = |verdict: &str, value: Value| json!({"verdict": verdict, "value": value});
    for (event, behaviour, why) in [
        (EventKind::ProviderResolve, change("modify", json!({"provider": "p", "model": "x"})), "is not a candidate"),
        (EventKind::RequestSend, change("modify", json!({"model": "x"})), "which is not configured"),
        (EventKind::RequestSend, change("modify", json!({})), "which is not configured"),
        (EventKind::RequestSend, change("modify", json!([1])), "not a JSON object"),
        (EventKind::RequestSend, json!({"misbehave": "invalid-json"}), "not JSON"),
        (EventKind::ResponseReceive, change("replace", json!("text")), "not a JSON object"),
        (EventKind::ResponseReceive, json!({"misbehave": "invalid-json"}), "not JSON"),
    ] {
        let session = session(vec![plugin("p", json!({ event.name(): behaviour }))]).await;
        let settled = session.dispatch_event(event, payload(event), DispatchOptions::default()).await.unwrap();
        assert_eq!(settled.outcome["cause"], json!({"failed": "invalid-answer"}), "{event}: {}", settled.outcome);
        assert!(settled.outcome["refusal"]["reason"].as_str().unwrap().contains(why), "{event}: {}", settled.outcome);
    }
}

#[tokio::test]
async fn a_payload_of_another_shape_is_an_error_that_names_the_field() {
    let session = session(vec![]).await;
    for (event, payload, names) in [
        (EventKind::PromptSubmit, json!({}), "prompt"),
        (EventKind::BeforeToolCall, json!({"call": {"id": "1"}}), "name"),
        (
            EventKind::BeforeToolCall,
            json!({"call": {"id": "1", "name": "bash", "arguments": {}, "origin": {"mpc": "x"}}}),
            "mpc",
        ),
    ] {
        let error = session.dispatch_event(event, payload, DispatchOptions::default()).await.unwrap_err().to_string();
        assert!(error.contains(names), "{error}");
    }
}

/// With one more field beside the parameters, and in each record that is one or in a list that is one.
fn with_newer_fields(event: EventKind, mut payload: Value) -> (Value, usize) {
    let mut added = 0;
    let mut add = |value: &mut Value| {
        if let Some(fields) = value.as_object_mut() {
            fields.insert("newer".into(), json!({"since": 2}));
            added += 1;
        }
    };
    // What `audit-record` carries is JSON, of any fields.
    let parameters = payload.as_object_mut().into_iter().flat_map(|object| object.values_mut());
    for parameter in parameters.filter(|_| event != EventKind::AuditRecord) {
        add(parameter);
        parameter.as_array_mut().into_iter().flatten().for_each(&mut add);
    }
    add(&mut payload);
    (payload, added)
}

#[tokio::test]
async fn a_newer_field_is_read_past_in_the_payload_of_every_event() {
    let session = session(vec![]).await;
    for &event in EventKind::ALL {
        let (newer, added) = with_newer_fields(event, payload(event));
        assert!(added > 0, "{event}");
        let settled = session.dispatch_event(event, newer.clone(), DispatchOptions::default()).await;
        let settled = settled.unwrap_or_else(|error| panic!("{event}: {error}"));
        let same = session.dispatch_event(event, payload(event), DispatchOptions::default()).await.unwrap();
        assert_eq!(settled.record.original.get(), same.record.original.get());
        assert_eq!(settled.outcome, same.outcome);

        let mut strict = DispatchOptions::default();
        strict.refuse_unknown_fields = true;
        let refused = session.dispatch_event(event, newer, strict.clone()).await.unwrap_err().to_string();
        assert!(refused.starts_with("unknown field `") && refused.contains("newer`: "), "{event}: {refused}");
        let known = session.dispatch_event(event, payload(event), strict).await;
        assert_eq!(known.unwrap_or_else(|error| panic!("{event}: {error}")).outcome, same.outcome);
    }
}

#[tokio::test]
async fn a_misspelt_field_is_named_with_the_one_that_is_meant_where_unknown_fields_are_refused() {
    let session = session(vec![]).await;
    let mut strict = DispatchOptions::default();
    strict.refuse_unknown_fields = true;
    let call = |more: Value| {
        let mut call = json!({"id": "1", "name": "bash", "arguments": {"any": {"field": 1}}});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    for (event, payload, says) in [
        (
            EventKind::BeforeToolCall,
            json!({"call": call(json!({"orgin": "builtin"}))}),
            "`call.orgin`: did you mean `origin`?",
        ),
        (
            EventKind::BeforeTools,
            json!({"calls": [call(json!({"x": 1}))]}),
            "`calls.0.x`: before-tools has no such field",
        ),
        (EventKind::PromptSubmit, json!({"prompt": "x", "promt": "y"}), "`promt`: did you mean `prompt`?"),
        (
            EventKind::AfterToolCall,
            json!({"call": call(json!({})), "tool-result": {"text": "", "is-error": false, "iserror": true}, "source": "tool"}),
            "`tool-result.iserror`: did you mean `is-error`?",
        ),
    ] {
        let error = session.dispatch_event(event, payload, strict.clone()).await.unwrap_err();
        assert_eq!(error.to_string(), format!("unknown field {says}"));
    }
}

#[test]
fn the_table_has_the_events_of_the_contract_and_no_other() {
    let wit = include_str!("../../wit/0.1/events.wit");
    let events: Vec<&str> = wit
        .split("\ninterface ")
        .skip(1)
        .filter(|interface| interface.contains("handle: func("))
        .filter_map(|interface| interface.split(' ').next())
        .collect();
    let mut table: Vec<&str> = EventKind::ALL.iter().map(|event| event.name()).collect();
    let mut wit_events = events.clone();
    table.sort_unstable();
    wit_events.sort_unstable();
    assert_eq!(table, wit_events);
    assert!(events.iter().all(|event| EventKind::from_name(event).is_some_and(|kind| kind.name() == *event)));
}

#[tokio::test]
async fn tasks_beyond_what_plugins_may_add_at_once_are_left_out_and_the_user_is_told() {
    let tasks = |count: usize| {
        let task = json!({"prompt": "more", "title": "m"});
        plugin("p", json!({"session-start": {"value": vec![task; count]}}))
    };
    for (count, told) in [(64, 0), (64 + 3, 1)] {
        let session = session(vec![tasks(count)]).await;
        assert_eq!(session.session_start().await.outcome.len(), 64);
        let notices = texts(session.take_notices());
        assert_eq!(notices.len(), told, "{notices:?}");
        assert!(notices.iter().all(|notice| notice.ends_with("3 were left out")), "{notices:?}");
    }
}
