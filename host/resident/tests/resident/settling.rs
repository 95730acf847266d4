//! Tests of the replies to agents' messages, and of what is recorded.

use crate::support::{Lab, bash, decision, message, of_rule};
use hookhost::Config;
use hookhost::audit::{DeliveryKind, Record};
use hookhost::config::{Entry, Settings};
use hookhost::contract::{
    Action, AnswerKind, CompletionVerdict, Escalation, OutcomeKind, Refusal, Task, TextVerdict, ToolCall,
    ToolCallVerdict, ToolResult, ToolResultVerdict,
};
use hookhost::native::Rule;
use hookhost_agents::{Message, by_name, canary};
use hookhost_resident::{ConfigurationSource, Settler};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn command(call: &ToolCall) -> &str {
    match &call.action {
        Action::Shell(shell) => &shell.command,
        _ => "",
    }
}

/// Returns a rule that looks for a word in each call. It rejects calls with `denied`, changes calls with `original`, asks about
/// calls with `asked`, answers calls with `answered` and approves calls with `approved`.
fn rule() -> Rule {
    Rule::new()
        .before_tool_call(|_, call: &ToolCall| match command(call) {
            text if text.contains("denied") => Refusal::new("it is denied").code("test.denied").into(),
            text if text.contains("original") => {
                let mut action = call.action.clone();
                if let Action::Shell(shell) = &mut action {
                    shell.command = shell.command.replace("original", "rewritten");
                }
                ToolCallVerdict::Rewrite(action)
            }
            text if text.contains("asked") => Escalation::new("may it?").code("test.asked").into(),
            text if text.contains("answered") => ToolCallVerdict::Respond(ToolResult::text("the answer")),
            _ => ToolCallVerdict::Allow,
        })
        .after_tool_call(|_, came| {
            let text = &came.tool_result.text;
            if text.contains("secret") {
                return ToolResultVerdict::Replace(ToolResult::text(text.replace("secret", "[masked]")));
            }
            ToolResultVerdict::Keep
        })
        .prompt_submit(|_, prompt| prompt.contains("mellon").then(|| Refusal::new("it holds the password")))
}

#[tokio::test]
async fn a_no_reaches_the_agent_with_its_reason_and_the_log_has_the_agents_own_message() {
    let lab = Lab::new(rule()).await;
    let said = lab.said(&bash("PreToolUse", "1", "echo denied")).await;
    assert_eq!(decision(&said), "deny");
    let reason = said["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.starts_with("Rejected by rule: it is denied [test.denied]. This is a policy"), "{reason}");
    let [record] = lab.events("before-tool-call").try_into().unwrap();
    assert_eq!((record.outcome, record.header.session.as_str()), (OutcomeKind::Rejected, "claude-code:s"));
    let raw: Value = serde_json::from_str(record.raw.as_deref().unwrap()).unwrap();
    assert_eq!(raw, bash("PreToolUse", "1", "echo denied"), "nothing of the message is lost");
    assert_eq!(lab.said(&bash("PreToolUse", "2", "echo hello")).await, Value::Null);
}

#[tokio::test]
async fn a_call_that_is_reported_twice_is_settled_once_and_both_get_the_same_answer() {
    let lab = Lab::new(rule()).await;
    let call = bash("PreToolUse", "1", "echo denied");
    let (first, second) = tokio::join!(lab.said(&call), lab.said(&call));
    let third = lab.said(&call).await;
    assert!(first == second && second == third && decision(&first) == "deny");
    assert_eq!(lab.events("before-tool-call").len(), 1);
    // If an agent gives the same number to two calls, each call gets its own decision.
    assert_eq!(lab.said(&bash("PreToolUse", "1", "echo hello")).await, Value::Null);
    assert_eq!(lab.events("before-tool-call").len(), 2);
}

#[tokio::test]
async fn a_changed_call_is_handed_back_and_one_that_ran_otherwise_is_recorded_and_told() {
    let lab = Lab::new(rule()).await;
    let said = lab.said(&bash("PreToolUse", "1", "echo original")).await;
    assert_eq!(said["hookSpecificOutput"]["updatedInput"], json!({ "command": "echo rewritten" }));
    let mut after = bash("PostToolUse", "1", "echo rewritten");
    after["tool_response"] = json!({ "stdout": "rewritten", "stderr": "" });
    assert_eq!(lab.said(&after).await, Value::Null);
    assert!(lab.deliveries().await.is_empty());

    lab.said(&bash("PreToolUse", "2", "echo original")).await;
    let mut after = bash("PostToolUse", "2", "echo original");
    after["tool_response"] = json!({ "stdout": "original", "stderr": "" });
    let said = lab.said(&after).await;
    assert!(said["systemMessage"].as_str().unwrap().contains("with other arguments"), "{said}");
    let [delivery] = lab.deliveries().await.try_into().unwrap();
    assert_eq!(delivery.what, DeliveryKind::ChangeNotApplied);
    assert_eq!(delivery.id, Some(lab.events("after-tool-call")[1].id.clone()));
}

#[tokio::test]
async fn a_call_that_ran_otherwise_is_seen_in_another_directory_too_and_told_when_the_user_can_be_told() {
    let lab = Lab::new(rule()).await;
    let goose = |event: &str, cwd: &str, fields: Value| {
        let mut message = json!({ "event": event, "session_id": "s", "matcher_context": null, "working_dir": cwd });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    let call = |command: &str| json!({ "tool_name": "developer__shell", "tool_call_id": "1", "tool_input": { "command": command } });
    lab.reply_of("goose", &goose("PreToolUse", "/work", call("make"))).await;
    let reply = lab.reply_of("goose", &goose("PostToolUse", "/work/src", call("make install"))).await;
    assert_eq!(reply.stdout, "", "goose reads no reply here");
    let [delivery] = lab.deliveries().await.try_into().unwrap();
    assert_eq!(delivery.what, DeliveryKind::ChangeNotApplied);
    let reply = lab.reply_of("goose", &goose("SessionStart", "/work", json!({}))).await;
    assert!(reply.stdout.contains("with other arguments than those that were allowed"), "{reply:?}");
    let reply = lab.reply_of("goose", &goose("SessionStart", "/work", json!({}))).await;
    assert!(!reply.stdout.contains("with other arguments"), "it is told once: {reply:?}");
}

#[tokio::test]
async fn the_questions_of_one_event_share_the_time_that_the_agent_waits() {
    // When the rule is asked again after the first answer, it asks a different question.
    let rounds = AtomicU32::new(0);
    let asks = move |_: &_, _: &ToolCall| {
        Escalation::new(format!("may it, {}?", rounds.fetch_add(1, Ordering::Relaxed).min(1)))
    };
    let lab = Lab::new(Rule::new().before_tool_call(asks)).await;
    let told = std::sync::Mutex::new(Vec::new());
    let waits = |seconds: u32| told.lock().unwrap().push(seconds);
    let bytes = bash("PreToolUse", "1", "ls").to_string().into_bytes();
    let mut message = Message::new(&bytes, Path::new("/work"));
    message.within = Some(std::time::Duration::from_secs(40));
    let reply = lab.settler.reply(by_name("codex").unwrap(), &message, &waits);
    let answers = async {
        let host = lab.settler.host();
        for asked in ["may it, 0?", "may it, 1?"] {
            let request = loop {
                let open = host.questions().await.unwrap();
                let about = |request: &&hookhost::approval::ApprovalRequest| {
                    request.questions.iter().any(|question| question.escalation.question.contains(asked))
                };
                if let Some(request) = open.iter().find(about) {
                    break request.clone();
                }
                tokio::task::yield_now().await;
            };
            // The time that a person takes to answer reduces the time for the next question.
            tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
            host.answer(&request.id, hookhost::approval::Approval::yes()).await.unwrap();
        }
    };
    let both = async { tokio::join!(reply, answers) };
    let (reply, ()) = tokio::time::timeout(std::time::Duration::from_secs(30), both).await.unwrap();
    assert_eq!(reply.exit, 0, "{reply:?}");
    let told = told.lock().unwrap();
    let [first, second] = told.as_slice() else { panic!("{told:?}") };
    assert!(*first <= 30 && *second < *first, "30 of 40 s are for people, together: {told:?}");
}

#[tokio::test]
async fn an_agent_is_told_to_wait_where_plugins_may_take_longer_than_a_hook_waits() {
    let lab = Lab::new(rule()).await;
    let waited = async |deadline: u64| {
        let rule = Rule::new().before_tool_call(|_, _: &ToolCall| None::<Refusal>);
        let mut entry = Entry::from_rule("slow", rule);
        entry.limits.deadline = Some(std::time::Duration::from_secs(deadline));
        let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
        *lab.configuration.config.lock().unwrap() = Ok(config);
        std::fs::write(&lab.configuration.file, deadline.to_string()).unwrap();
        let told = std::sync::Mutex::new(Vec::new());
        let bytes = bash("PreToolUse", &deadline.to_string(), "ls").to_string().into_bytes();
        let message = Message::new(&bytes, Path::new("/work"));
        let waits = |seconds: u32| told.lock().unwrap().push(seconds);
        lab.settler.reply(by_name("claude-code").unwrap(), &message, &waits).await;
        told.into_inner().unwrap()
    };
    assert_eq!(waited(1).await, Vec::<u32>::new());
    assert_eq!(waited(40).await, [40]);
    let [seconds] = waited(3600).await.try_into().unwrap();
    assert!((310..=315).contains(&seconds), "no longer than the agent waits: {seconds}");
}

#[tokio::test]
async fn a_result_is_masked_before_the_model_reads_it() {
    let lab = Lab::new(rule()).await;
    let mut after = bash("PostToolUse", "1", "cat x");
    after["tool_response"] = json!({ "stdout": "the secret", "stderr": "" });
    let said = lab.said(&after).await;
    assert_eq!(said["hookSpecificOutput"]["updatedToolOutput"], json!({ "stdout": "the [masked]", "stderr": "" }));
}

#[tokio::test]
async fn what_the_agent_cannot_express_becomes_stricter_and_the_log_says_so() {
    let lab = Lab::new(rule()).await;
    let said = lab.said(&bash("PreToolUse", "1", "echo answered")).await;
    assert_eq!(decision(&said), "deny");
    let reason = said["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("the answer"), "{reason}");
    let [delivery] = lab.deliveries().await.try_into().unwrap();
    assert_eq!(delivery.what, DeliveryKind::Degraded);
    assert_eq!(delivery.id, Some(lab.events("before-tool-call")[0].id.clone()));
}

#[tokio::test]
async fn a_question_is_put_by_the_agents_own_prompt_where_that_is_dependable() {
    let lab = Lab::new(rule()).await;
    let said = lab.said(&bash("PreToolUse", "1", "echo asked")).await;
    assert_eq!(decision(&said), "ask");
    assert_eq!(said["hookSpecificOutput"]["permissionDecisionReason"], "rule asks: may it? [test.asked]");
    let answers = lab.records().into_iter().filter_map(|record| match record {
        Record::Approval(answer) => Some(answer),
        _ => None,
    });
    let [answer] = answers.collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((answer.answer.kind, answer.outcome), (AnswerKind::HandedOver, OutcomeKind::Escalated));
    assert_eq!(answer.answer.via.as_deref(), Some("claude-code"));
    assert!(answer.effects_hold);
    assert!(lab.settler.host().questions().await.unwrap().is_empty(), "nobody else is asked");
}

#[tokio::test]
async fn a_number_that_is_given_again_after_the_call_or_under_other_rules_is_another_call() {
    let lab = Lab::new(Rule::new().before_tool_call(|_, _: &ToolCall| None::<Refusal>)).await;
    let call = bash("PreToolUse", "1", "ls");
    assert_eq!((lab.said(&call).await, lab.said(&call).await), (Value::Null, Value::Null));
    assert_eq!(lab.events("before-tool-call").len(), 1);
    let mut ran = bash("PostToolUse", "1", "ls");
    ran["tool_response"] = json!({ "stdout": "a.rs" });
    lab.said(&ran).await;
    assert_eq!(lab.said(&call).await, Value::Null);
    assert_eq!(lab.events("before-tool-call").len(), 2);
    let stricter = Rule::new().before_tool_call(|_, _: &ToolCall| Some(Refusal::new("it is denied")));
    *lab.configuration.config.lock().unwrap() = Ok(of_rule(stricter));
    std::fs::write(&lab.configuration.file, "stricter").unwrap();
    assert_eq!(decision(&lab.said(&call).await), "deny");
}

#[tokio::test]
async fn a_report_that_is_repeated_is_recorded_and_one_after_a_run_with_changed_arguments_is_another_call() {
    let lab = Lab::new(rule()).await;
    let call = bash("PreToolUse", "1", "echo original");
    let first = lab.said(&call).await;
    assert_eq!(lab.said(&call).await, first);
    let [delivery] = lab.deliveries().await.try_into().unwrap();
    assert_eq!(delivery.what, DeliveryKind::Repeated);
    assert_eq!(delivery.id, Some(lab.events("before-tool-call")[0].id.clone()));
    let mut ran = bash("PostToolUse", "1", "echo rewritten");
    ran["tool_response"] = json!({ "stdout": "rewritten" });
    lab.said(&ran).await;
    lab.said(&call).await;
    assert_eq!(lab.events("before-tool-call").len(), 2);
}

/// Returns the settler of the next resident host.
async fn next_host(lab: &Lab) -> Settler {
    lab.settler.host().flush().await.unwrap();
    let configurations = Arc::clone(&lab.configuration) as Arc<dyn ConfigurationSource>;
    let settler = Settler::new(lab.settler.host().clone(), configurations);
    settler.load_outcomes().await.unwrap();
    settler
}

#[tokio::test]
async fn the_next_host_gives_an_outcome_again_but_not_under_other_rules_or_after_its_call_has_run() {
    let lab = Lab::new(rule()).await;
    let said = async |settler: &Settler, message: &Value| {
        let bytes = message.to_string().into_bytes();
        settler.reply(by_name("claude-code").unwrap(), &Message::new(&bytes, Path::new("/work")), &|_| {}).await.stdout
    };
    let call = bash("PreToolUse", "1", "echo denied");
    let denied = said(&next_host(&lab).await, &call).await;
    assert!(denied.contains("deny"), "{denied}");
    let second = next_host(&lab).await;
    assert_eq!(said(&second, &call).await, denied);
    assert_eq!(lab.events("before-tool-call").len(), 1);
    let [repeated] = lab.deliveries().await.try_into().unwrap();
    assert_eq!(repeated.what, DeliveryKind::Repeated);
    let asks = Rule::new().before_tool_call(|_, _: &ToolCall| Escalation::new("may it?"));
    // Under another name, because the digest of the rules does not contain the code of a native rule.
    let other = Config::from_entries(vec![Entry::from_rule("asks", asks)], Settings::default()).unwrap();
    *lab.configuration.config.lock().unwrap() = Ok(other);
    std::fs::write(&lab.configuration.file, "others").unwrap();
    let asked = said(&next_host(&lab).await, &call).await;
    assert!(asked.contains("ask") && !asked.contains("deny"), "{asked}");
    let mut ran = bash("PostToolUse", "1", "echo denied");
    ran["tool_response"] = json!({ "stdout": "" });
    said(&second, &ran).await;
    said(&next_host(&lab).await, &call).await;
    assert_eq!(lab.events("before-tool-call").len(), 3);
}

#[tokio::test]
async fn a_yes_is_judged_under_the_rules_of_its_moment() {
    let ask = Rule::new().before_tool_call(|_, _: &ToolCall| Escalation::new("may it?"));
    let lab = Lab::new(ask).await;
    let call = bash("PreToolUse", "1", "ls");
    let reply = lab.reply_of("codex", &call);
    let answers = async {
        let host = lab.settler.host();
        let request = loop {
            if let Some(request) = host.questions().await.unwrap().first() {
                break request.clone();
            }
            tokio::task::yield_now().await;
        };
        let denies = Rule::new().before_tool_call(|_, _: &ToolCall| Some(Refusal::new("not any more")));
        let entry = Entry::from_rule("other", denies);
        let config = Config::from_entries(vec![entry], Settings::default()).unwrap();
        *lab.configuration.config.lock().unwrap() = Ok(config);
        std::fs::write(&lab.configuration.file, "changed").unwrap();
        host.answer(&request.id, hookhost::approval::Approval::yes()).await.unwrap();
    };
    let (reply, ()) = tokio::join!(reply, answers);
    assert!(reply.stdout.contains("deny") && reply.stdout.contains("not any more"), "{reply:?}");
}

#[tokio::test]
async fn arguments_of_calls_that_never_report_an_end_take_no_room() {
    let lab = Lab::new(Rule::new()).await;
    let large = "x".repeat(4 << 20);
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).map(str::trim).map(str::to_owned);
        line.and_then(|line| line.split(' ').next()?.parse::<u64>().ok()).unwrap_or_default()
    };
    let call = |number: u32| {
        let input = json!({ "file_path": "/work/a", "content": large });
        message("PreToolUse", &json!({ "tool_name": "Write", "tool_input": input, "tool_use_id": number.to_string() }))
    };
    for number in 0..4 {
        lab.said(&call(number)).await;
    }
    let before = resident();
    for number in 4..40 {
        lab.said(&call(number)).await;
    }
    let more = resident().saturating_sub(before) / 1024;
    // The limit is not exact, because other tests of this process run at the same time.
    assert!(more < 72, "36 calls of 4 MiB took {more} MiB");
}

#[tokio::test]
async fn a_directory_that_is_no_path_is_denied_before_rules_are_looked_for() {
    let lab = Lab::new(Rule::new().before_tool_call(|_, _: &ToolCall| None::<Refusal>)).await;
    let mut call = bash("PreToolUse", "1", "ls");
    call["cwd"] = "/a".repeat(200_000).into();
    let said = lab.said(&call).await;
    assert_eq!(decision(&said), "deny", "{said}");
    assert!(said.to_string().contains("longer than 4096 bytes"), "{said}");
}

#[tokio::test]
async fn a_message_that_begins_with_the_event_of_an_earlier_one_is_settled_whole() {
    let rule = Rule::new().before_tool_call(|_, call: &ToolCall| {
        call.arguments.contains("force").then(|| Refusal::new("force-push rewrites shared history"))
    });
    let lab = Lab::new(rule).await;
    let settler = next_host(&lab).await;
    let call = |id: &str, command: &str| {
        let arguments = json!({ "command": command }).to_string();
        json!({ "id": id, "type": "function", "function": { "name": "bash", "arguments": arguments } })
    };
    let action = async |calls: &[Value]| {
        let message = json!({
            "texts": [], "tool_calls": calls, "structured_messages": [], "input_type": "response", "images": [], "tools": [],
            "request_data": {}, "litellm_call_id": "call-1", "litellm_trace_id": "trace-1",
        });
        let bytes = message.to_string().into_bytes();
        let reply =
            settler.reply(by_name("litellm").unwrap(), &Message::new(&bytes, Path::new("/work")), &|_| {}).await;
        serde_json::from_str::<Value>(&reply.stdout).unwrap()["action"].clone()
    };
    let (list, push) = (call("c0", "ls"), call("c1", "git push --force"));
    assert_eq!(action(std::slice::from_ref(&list)).await, "NONE");
    assert_eq!(action(&[list, push]).await, "BLOCKED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_begins_once_and_before_its_first_gate_however_many_reports_arrive_at_once() {
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (started, asked) = (Arc::clone(&order), Arc::clone(&order));
    let rule = Rule::new()
        .session_start(move |_, _| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            started.lock().unwrap().push("session-start");
            Vec::<Task>::new()
        })
        .before_tool_call(move |_, _: &ToolCall| {
            asked.lock().unwrap().push("before-tool-call");
            ToolCallVerdict::Allow
        });
    let lab = Lab::new(rule).await;
    let start = message("SessionStart", &json!({ "source": "startup" }));
    let mut elsewhere = bash("PreToolUse", "2", "ls");
    elsewhere["cwd"] = json!("/work/src");
    let here = bash("PreToolUse", "1", "ls");
    tokio::join!(lab.said(&start), lab.said(&start), lab.said(&here), lab.said(&elsewhere));
    assert_eq!(lab.events("session-start").len(), 1);
    assert_eq!(*order.lock().unwrap(), ["session-start", "before-tool-call", "before-tool-call"]);
}

#[tokio::test]
async fn the_session_begins_once_and_lasts_across_calls_and_processes() {
    let begun = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&begun);
    let rule = Rule::new().session_start(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Vec::<Task>::new()
    });
    let lab = Lab::new(rule).await;
    lab.said(&bash("PreToolUse", "1", "ls")).await;
    lab.said(&message("SessionStart", &json!({ "source": "startup" }))).await;
    lab.said(&message("SessionStart", &json!({ "source": "resume" }))).await;
    lab.said(&bash("PreToolUse", "2", "ls")).await;
    let mut elsewhere = bash("PreToolUse", "3", "ls");
    elsewhere["cwd"] = json!("/work/src");
    lab.said(&elsewhere).await;
    assert_eq!(begun.load(Ordering::Relaxed), 1);
    assert_eq!(lab.events("session-start").len(), 1);
    assert_eq!(lab.events("before-tool-call").len(), 3);
    assert_eq!(lab.events("custom-event").len(), 2, "what else the agent says of its start is observed");
    lab.said(&message("SessionEnd", &json!({}))).await;
    assert_eq!(lab.events("session-end").len(), 1);
    // If a session continues after its end, it is opened again.
    assert_eq!(lab.said(&bash("PreToolUse", "4", "ls")).await, Value::Null);
    assert_eq!(lab.events("session-start").len(), 1);
}

#[tokio::test]
async fn a_sub_agents_call_is_settled_in_a_session_below_that_of_its_agent() {
    let lab = Lab::new(rule()).await;
    let mut call = bash("PreToolUse", "1", "echo denied");
    call["agent_id"] = json!("agent-7");
    assert_eq!(decision(&lab.said(&call).await), "deny");
    let opened = lab.records().into_iter().find_map(|record| match record {
        Record::Session(opened) => Some(*opened),
        _ => None,
    });
    let opened = opened.unwrap();
    assert_eq!(opened.header.session, "claude-code:s:agent-7");
    assert_eq!((opened.parent.as_deref(), opened.depth), (Some("claude-code:s"), 1));
}

#[tokio::test]
async fn tasks_of_plugins_keep_the_agent_going_but_not_for_ever() {
    let rule = Rule::new()
        .queue_empty(|_, _| CompletionVerdict::GoOn(vec![Task { prompt: "run the tests".to_owned(), title: None }]));
    let lab = Lab::new(rule).await;
    let stop = || message("Stop", &json!({ "stop_hook_active": false }));
    for _ in 0..8 {
        assert_eq!(lab.said(&stop()).await, json!({ "decision": "block", "reason": "run the tests" }));
    }
    assert_eq!(lab.said(&stop()).await, Value::Null);
    lab.said(&message("UserPromptSubmit", &json!({ "prompt": "once more" }))).await;
    assert_eq!(lab.said(&stop()).await["decision"], "block");
}

#[tokio::test]
async fn a_prompt_is_refused_and_one_that_the_agent_cannot_replace_is_refused_too() {
    let lab = Lab::new(rule()).await;
    let said = lab.said(&message("UserPromptSubmit", &json!({ "prompt": "mellon" }))).await;
    assert_eq!(said["decision"], "block");
    let lab = Lab::new(Rule::new().prompt_submit(|_, _| TextVerdict::Replace("another".to_owned()))).await;
    let said = lab.said(&message("UserPromptSubmit", &json!({ "prompt": "one" }))).await;
    assert_eq!(said["decision"], "block");
    assert_eq!(lab.deliveries().await.len(), 1);
}

#[tokio::test]
async fn what_cannot_be_read_is_denied_and_recorded() {
    let lab = Lab::new(rule()).await;
    let adapter = by_name("claude-code").unwrap();
    for bytes in [
        &b""[..],
        b"{",
        b"[]",
        b"\xff\xfe",
        br#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash"}"#,
        br#"{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"a","command":"b"}}"#,
    ] {
        let mut sent = Message::new(bytes, Path::new("/work"));
        sent.point = Some("PreToolUse");
        let reply = lab.settler.reply(adapter, &sent, &|_| {}).await;
        let said: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
        assert!(decision(&said) == "deny" || reply.exit == 2, "{reply:?}");
    }
    let deliveries = lab.deliveries().await;
    assert_eq!(deliveries.len(), 6);
    assert!(deliveries.iter().all(|delivery| delivery.what == DeliveryKind::Unanswered));
    // An unknown event is recorded as a custom event, and has no effect.
    assert_eq!(lab.said(&message("SomethingNew", &json!({ "x": 1 }))).await, Value::Null);
    assert!(lab.events("custom-event")[0].original.get().contains("claude-code/SomethingNew"));
}

#[tokio::test]
async fn the_canary_is_denied_under_any_rules_and_its_neighbour_passes() {
    let lab = Lab::new(Rule::new()).await;
    assert_eq!(decision(&lab.said(&bash("PreToolUse", "1", canary::DENIED)).await), "deny");
    assert_eq!(lab.said(&bash("PreToolUse", "2", canary::PASSED)).await, Value::Null);
    assert_eq!(lab.events("before-tool-call")[0].by, ["hookhost-canary"]);
}

#[tokio::test]
async fn the_canary_of_a_session_changes_nothing_of_its_rules_and_is_denied_in_the_middle_of_it() {
    let lab = Lab::new(rule()).await;
    assert_eq!(decision(&lab.said(&bash("PreToolUse", "1", canary::DENIED)).await), "deny");
    let said = lab.said(&bash("PreToolUse", "2", "echo denied")).await;
    assert_eq!(decision(&said), "deny", "a session that begins with the canary is under the user's rules");
    let lab = Lab::new(Rule::new()).await;
    assert_eq!(lab.said(&bash("PreToolUse", "1", "echo hello")).await, Value::Null);
    assert_eq!(decision(&lab.said(&bash("PreToolUse", "2", canary::DENIED)).await), "deny");
}

#[tokio::test]
async fn the_session_of_a_canary_is_ended_and_an_agents_own_is_not() {
    let lab = Lab::new(Rule::new()).await;
    let of_doctor = |command: &str| {
        let mut call = bash("PreToolUse", "1", command);
        call["session_id"] = json!(canary::SESSION);
        call
    };
    assert_eq!(decision(&lab.said(&of_doctor(canary::DENIED)).await), "deny");
    assert_eq!(lab.said(&of_doctor(canary::PASSED)).await, Value::Null);
    assert_eq!(lab.said(&bash("PreToolUse", "2", "echo hello")).await, Value::Null);
    let ended: Vec<String> = lab.events("session-end").into_iter().map(|event| event.header.session).collect();
    assert_eq!(ended.len(), 2, "{ended:?}");
    assert!(ended.iter().all(|session| session.contains(canary::SESSION)), "{ended:?}");
}

#[tokio::test]
async fn words_of_the_canary_in_another_call_let_nothing_past_the_users_rules() {
    let lab = Lab::new(rule()).await;
    let mut call = bash("PreToolUse", "1", "echo denied");
    call["tool_input"]["description"] = json!(canary::DENIED);
    assert_eq!(decision(&lab.said(&call).await), "deny");
    let input = json!({ "file_path": "/work/x", "content": canary::DENIED });
    let write = message("PreToolUse", &json!({ "tool_name": "Write", "tool_input": input, "tool_use_id": "2" }));
    assert_eq!(decision(&lab.said(&write).await), "deny");
}
