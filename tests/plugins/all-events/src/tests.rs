use super::*;
use hookhost_guest::testing::{self, prime, session, shell};

fn configure(config: serde_json::Value) {
    prime(|_| {});
    AllEvents::configure(serde_json::from_value(config).unwrap()).unwrap();
}

fn ask(config: impl serde::Serialize) -> ToolCallVerdict {
    configure(json!({ "before-tool-call": config }));
    AllEvents::before_tool_call(&session(), &shell("ls"))
}

#[test]
fn every_case_of_the_tool_call_verdict_can_be_configured() {
    let reject = json!({"verdict": "reject", "reason": "no", "code": "x.y", "retryable": true, "stop": true});
    let refusal = Refusal::new("no").code("x.y").retryable().stop();
    assert_eq!(ask(json!({"verdict": "allow"})), ToolCallVerdict::Allow);
    assert_eq!(ask(json!({"verdict": "approve", "reason": "known"})), ToolCallVerdict::approve("known"));
    assert_eq!(ask(json!({"verdict": "modify", "value": {"a": [1]}})), ToolCallVerdict::Modify(r#"{"a":[1]}"#.into()));
    assert_eq!(
        ask(
            json!({"verdict": "rewrite", "value": {"shell": {"command": "{command} -l", "cwd": "/", "dialect": "posix"}}})
        ),
        ToolCallVerdict::rewrite(ShellCommand {
            command: "ls -l".into(),
            cwd: "/".into(),
            dialect: ShellDialect::Posix
        })
    );
    assert_eq!(
        ask(json!({"verdict": "escalate", "question": "really?", "code": "q"})),
        Escalation::new("really?").code("q").into()
    );
    assert_eq!(ask(reject), refusal.into());
    assert_eq!(ask(json!({"verdict": "respond", "value": "done"})), ToolCallVerdict::respond(ToolResult::new("done")));
}

#[test]
fn every_case_of_the_other_verdicts_can_be_configured() {
    let s = &session();
    let reject = json!({"verdict": "reject", "reason": "no"});
    let escalate = json!({"verdict": "escalate", "question": "really?"});
    let no = || Refusal::new("no");
    let really = || Escalation::new("really?");

    configure(json!({"prompt-submit": reject, "stream-delta": {"verdict": "replace", "value": "{value}!"}}));
    assert_eq!(AllEvents::prompt_submit(s, "hi"), no().into());
    assert_eq!(AllEvents::stream_delta(s, "hi"), TextVerdict::replace("hi!"));
    assert_eq!(AllEvents::finalize_content(s, "hi"), TextVerdict::Keep);

    configure(json!({"before-inference": [
        {"when": {"contains": "modify"}, "verdict": "modify", "value": {"model": "small", "tools": []}},
        {"when": {"contains": "respond"}, "verdict": "respond", "value": "42"},
        escalate,
    ]}));
    let changes = InferenceChanges { model: Some("small".into()), tools: Some(vec![]), ..Default::default() };
    assert_eq!(AllEvents::before_inference(s, &testing::inference("modify", 1)), changes.into());
    assert_eq!(AllEvents::before_inference(s, &testing::inference("respond", 1)), InferenceVerdict::respond("42"));
    assert_eq!(AllEvents::before_inference(s, &testing::inference("ask", 1)), really().into());

    configure(
        json!({"token-usage": reject, "before-tools": escalate, "custom-event": {"verdict": "modify", "value": 7}}),
    );
    assert_eq!(AllEvents::token_usage(s, &testing::usage(1, 1)), no().into());
    assert_eq!(AllEvents::before_tools(s, &[shell("ls")]), really().into());
    let custom = Custom { name: "mine".into(), payload: "1".into() };
    assert_eq!(AllEvents::custom_event(s, &custom), CustomVerdict::modify(&7));

    let plan = json!({"title": "t", "tasks": [{"prompt": "p"}], "clear-existing": true});
    configure(json!({"plan-submit": {"verdict": "modify", "value": plan}, "agent-error": {"verdict": "finish"},
        "task-complete": {"verdict": "go-on", "value": [{"prompt": "more", "title": "t"}]},
        "session-start": {"value": [{"prompt": "look"}]}}));
    let plan = Plan { title: "t".into(), tasks: vec![Task::new("p")], clear_existing: true };
    assert_eq!(AllEvents::plan_submit(s, &plan), PlanVerdict::Modify(plan.clone()));
    let more = CompletionVerdict::go_on([Task::new("more").title("t")]);
    assert_eq!(AllEvents::task_complete(s, &testing::completion("success")), more);
    assert_eq!(AllEvents::agent_error(s, "no"), CompletionVerdict::Finish);
    assert_eq!(AllEvents::session_start(s), [Task::new("look")]);

    configure(json!({
        "turn-start": escalate, "request-send": {"verdict": "modify", "value": {"a": 1}},
        "response-receive": {"verdict": "replace", "value": {"text": "t"}},
        "provider-resolve": {"verdict": "modify", "value": {"provider": "p", "model": "m"}},
        "task-start": {"verdict": "modify", "value": {"prompt": "{value}"}},
        "subagent-start": {"verdict": "modify", "value": "less"},
        "before-compaction": {"verdict": "respond", "value": "short"}, "after-compaction": reject,
    }));
    assert_eq!(AllEvents::turn_start(s, &Turn { number: 1, number_in_task: 1 }), really().into());
    let (provider, model, body) = (String::from("p"), String::from("m"), String::from("{}"));
    let request = RawRequest { provider: provider.clone(), model: model.clone(), body: body.clone() };
    assert_eq!(AllEvents::request_send(s, &request), RequestVerdict::modify(&json!({"a": 1})));
    let response = RawResponse { provider: provider.clone(), model: model.clone(), body };
    assert_eq!(AllEvents::response_receive(s, &response), ResponseVerdict::replace(&json!({"text": "t"})));
    let chosen = ModelChoice { provider, model };
    let resolution = Resolution { chosen: chosen.clone(), candidates: vec![] };
    assert_eq!(AllEvents::provider_resolve(s, &resolution), ResolutionVerdict::Modify(chosen));
    let task = Task::new(r#"{"prompt":"p","title":null}"#);
    assert_eq!(AllEvents::task_start(s, &Task::new("p")), TaskVerdict::Modify(task));
    let subagent = Subagent { call_id: "1".into(), depth: 1, prompt: "p".into() };
    assert_eq!(AllEvents::subagent_start(s, &subagent), SubagentVerdict::modify("less"));
    let compaction = Compaction { messages: 1, input_tokens: 1, context_window: 1 };
    assert_eq!(AllEvents::before_compaction(s, &compaction), CompactionVerdict::respond("short"));
    assert_eq!(AllEvents::after_compaction(s, "long"), no().into());

    configure(json!({"after-tool-call": {"verdict": "replace", "value": {"text": "{tool}", "raw": {"a": 1}}}}));
    let replaced = ToolResult { text: "bash".into(), is_error: false, raw: Some(r#"{"a":1}"#.into()) };
    let result = ToolResult::new("x");
    let verdict = AllEvents::after_tool_call(s, &shell("ls"), &result, ResultSource::Tool);
    assert_eq!(verdict, ToolResultVerdict::replace(replaced));
}

#[test]
fn a_behaviour_is_used_where_its_conditions_hold_and_any_matches_the_rest() {
    configure(json!({
        "before-tool-call": [{"when": {"round": 2}, "verdict": "reject"}, {"when": {"lacks": "ls"}, "verdict": "reject"}],
        "any": {"verdict": "reject", "reason": "{value}"},
    }));
    assert_eq!(AllEvents::before_tool_call(&session(), &shell("ls")), ToolCallVerdict::Allow);
    assert!(matches!(AllEvents::before_tool_call(&session(), &shell("rm")), ToolCallVerdict::Reject(_)));
    testing::inspect(|host| host.round = 2);
    assert!(matches!(AllEvents::before_tool_call(&session(), &shell("ls")), ToolCallVerdict::Reject(_)));
    assert_eq!(AllEvents::prompt_submit(&session(), "hi"), Refusal::new("hi").into());
    AllEvents::stream_end(&session(), "observers have no verdict");
    assert_eq!(AllEvents::session_start(&session()), []);
    assert_eq!(AllEvents::agent_error(&session(), "cannot be rejected"), CompletionVerdict::Finish);
}

#[test]
fn steps_are_done_in_order_and_their_results_are_logged_and_filled_in() {
    configure(json!({"before-tool-call": {
        "do": [
            {"set": ["session", "key", "v{round}"]}, {"get": ["session", "key"]}, {"remind": "{last}"},
            {"increment": ["plugin", "n", 5]}, {"report": {"code": "c", "severity": "error", "explanation": "{last}",
            "references": [], "action": ""}}, {"transcript": [0, 9]}, {"model": ["i", "x"]}, "nonsense",
        ],
        "verdict": "reject", "reason": "{last}"
    }}));
    testing::inspect(|host| host.model_answers.push_back(Ok("yes".into())));
    let ToolCallVerdict::Reject(refusal) = AllEvents::before_tool_call(&session(), &shell("ls")) else { panic!() };
    assert!(refusal.reason.starts_with("error: no such step"), "{}", refusal.reason);
    testing::inspect(|host| {
        assert_eq!(host.reminders[0].body, "v1");
        assert_eq!(host.findings[0].explanation, "5");
        let lines: Vec<_> = host.log.iter().map(|(_, line)| line.as_str()).collect();
        assert!(lines.contains(&r#"{"get":["session","key"]} = v1"#), "{lines:?}");
        assert!(lines.contains(&r#"{"model":["i","x"]} = yes"#), "{lines:?}");
    });
}

#[test]
fn misbehaviours_that_are_answers_are_of_the_promised_kind() {
    let ToolCallVerdict::Reject(refusal) = ask(json!({"misbehave": "big-answer"})) else { panic!() };
    assert_eq!(refusal.reason.len(), misbehaviour::BIG);
    assert_eq!(ask(json!({"misbehave": "invalid-json"})), ToolCallVerdict::Modify("{".into()));
    let ToolCallVerdict::Reject(refusal) = ask(json!({"misbehave": "invalid-text"})) else { panic!() };
    assert!(std::str::from_utf8(refusal.reason.as_bytes()).is_err());
}

#[test]
fn a_configuration_that_cannot_be_meant_is_refused() {
    for (config, complaint) in [
        (json!({"before-tool-cal": {}}), "is no event"),
        (json!({"stream-delta": {"verdict": "escalate"}}), "unknown variant `escalate`"),
        (json!({"token-usage": {"verdict": "explode"}}), "explode"),
        (json!({"session-end": {"verdict": "reject"}}), "no verdict"),
        (json!({"configure": {"error": "on purpose"}}), "on purpose"),
    ] {
        let error = AllEvents::configure(serde_json::from_value(config.clone()).unwrap()).unwrap_err();
        assert!(error.contains(complaint), "{config}: {error}");
    }
    assert!(serde_json::from_value::<Config>(json!({"stream-delta": {"verdcit": "keep"}})).is_err());
}

#[test]
fn a_tool_is_listed_and_answers() {
    configure(
        json!({"tools": [{"name": "echo", "input-schema": {"type": "object"}}], "call-tool": {"value": "{value}"}}),
    );
    assert_eq!(AllEvents::tools(), [Tool::new("echo", "", json!({"type": "object"}))]);
    assert_eq!(AllEvents::call_tool(&session(), "echo", "{}"), ToolResult::new("{}"));
}
