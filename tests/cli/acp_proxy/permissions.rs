//! Questions for permission, and who answers them.

use super::{Proxied, line, options, selected, shell, user_with};
use hookhost_tests::{Entry, User, plugin};
use serde_json::{Value, json};

fn rejecting() -> User {
    let guard = json!({ "before-tool-call": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "not {command}" } });
    user_with(guard, "")
}

#[test]
fn a_question_to_which_no_rule_objects_is_answered_with_a_yes_for_once() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    assert_eq!(editor.permission(&shell("ls"))["result"], json!({ "outcome": selected("a") }));
    editor.end();
    let records = user.records();
    let before = records.iter().find(|record| record["event"] == "before-tool-call").unwrap();
    assert_eq!(before["original"]["action"]["shell"]["command"], "ls");
    assert!(before["session"].as_str().unwrap().starts_with("acp-proxy:"), "{before}");
}

#[test]
fn a_rejected_call_is_answered_with_a_no_for_once_and_the_user_reads_why() {
    let user = rejecting();
    let mut editor = Proxied::editor(&user);
    let answer = editor.permission(&shell("cat secret"));
    assert_eq!(answer["result"]["outcome"], selected("r"));
    let reason = answer["result"]["_meta"]["hookhost"]["reason"].as_str().unwrap();
    assert!(reason.contains("Rejected by guard: not cat secret"), "{reason}");
    assert_eq!(editor.permission(&shell("ls"))["result"]["outcome"], selected("a"));
    let (_, said) = editor.end();
    assert!(said.contains("the call \"Run\" was rejected: Rejected by guard: not cat secret"), "{said}");
}

#[test]
fn a_call_that_was_reported_as_another_one_is_judged_as_both() {
    let user = rejecting();
    let mut editor = Proxied::editor(&user);
    let mut reported = shell("cat secret");
    reported["sessionUpdate"] = json!("tool_call");
    let report = line(None, "session/update", &json!({ "sessionId": "s1", "update": reported }));
    let question = json!({ "sessionId": "s1", "toolCall": shell("ls"), "options": options() });
    editor.has_agent_say(&[report, line(Some("q"), "session/request_permission", &question)]);
    let answer = editor.agent_got();
    assert_eq!(answer["result"]["outcome"], selected("r"), "{answer}");
    let reason = answer["result"]["_meta"]["hookhost"]["reason"].as_str().unwrap();
    assert!(
        reason.contains("the agent has reported it as \"Run\" before: Rejected by guard: not cat secret"),
        "{reason}"
    );
}

#[test]
fn the_rules_of_a_real_plugin_are_those_of_the_question() {
    let user = User::new();
    user.configure(&Entry::new("shell-guard", &plugin("shell-guard")).to_toml());
    user.run(["hooks"]).expect(0, &[]);
    let mut editor = Proxied::editor(&user);
    assert_eq!(editor.permission(&shell("rm -rf /"))["result"]["outcome"], selected("r"));
    // A command is one whatever kind of call the agent says that it is.
    let hidden = json!({ "toolCallId": "c2", "title": "Read", "kind": "read", "rawInput": { "command": ["bash", "-lc", "rm -rf /"] } });
    assert_eq!(editor.permission(&hidden)["result"]["outcome"], selected("r"));
    assert_eq!(editor.permission(&shell("ls"))["result"]["outcome"], selected("a"));
}

#[test]
fn without_an_answer_for_once_a_no_is_a_cancellation_and_a_yes_is_the_users() {
    let user = rejecting();
    let mut editor = Proxied::editor(&user);
    let always = json!([options()[0], options()[2]]);
    editor.has_agent_ask("session/request_permission", &json!({ "toolCall": shell("cat secret"), "options": always }));
    assert_eq!(editor.agent_got()["result"]["outcome"], json!({ "outcome": "cancelled" }));
    editor.has_agent_ask("session/request_permission", &json!({ "toolCall": shell("ls"), "options": always }));
    let asked = editor.next();
    assert_eq!((&asked["method"], &asked["id"]), (&json!("session/request_permission"), &json!("q")));
    editor.send(&json!({ "jsonrpc": "2.0", "id": "q", "result": { "outcome": selected("aa") } }));
    assert_eq!(editor.agent_got()["result"]["outcome"], selected("aa"));
}

#[test]
fn a_call_that_a_rule_changes_is_rejected_with_the_call_that_may_be_made() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "npm" }, "verdict": "modify", "value": { "command": "timeout 60 npm test" } } });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    let answer = editor.permission(&shell("npm test"));
    let reason = answer["result"]["_meta"]["hookhost"]["reason"].as_str().unwrap();
    assert_eq!(answer["result"]["outcome"], selected("r"));
    assert!(reason.contains("Make exactly this call instead") && reason.contains("timeout 60 npm test"), "{reason}");
}

#[test]
fn a_question_of_a_rule_reaches_the_editor_as_it_came_and_its_users_answer_is_recorded() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "risky" }, "verdict": "escalate", "question": "Really?" } });
    let user = user_with(guard, "");
    let mut editor = Proxied::editor(&user);
    for option in ["a", "r"] {
        let params = json!({ "sessionId": "s1", "toolCall": shell("risky"), "options": options(), "own": 1.50 });
        let asked = line(Some("q"), "session/request_permission", &params).replace("1.5", "1.50");
        editor.has_agent_say(std::slice::from_ref(&asked));
        assert_eq!(editor.next_line(), asked);
        let answer = format!(r#"{{ "id":"q", "jsonrpc":"2.0","result":{{"outcome":{}}}}}"#, selected(option));
        editor.send_line(&answer);
        editor.agent_got();
        assert!(editor.told().contains(&answer), "the answer of a person passes as it came");
    }
    let (_, said) = editor.end();
    assert!(said.contains("guard asks: Really?"), "{said}");
    let answered = |record: &&Value| record["original"]["name"] == "acp-proxy/answered";
    let records = user.records_once(|records| records.iter().filter(answered).count() >= 2);
    let kinds: Vec<&Value> =
        records.iter().filter(answered).map(|record| &record["original"]["payload"]["said"]["answer"]).collect();
    assert_eq!(kinds, ["allow_once", "reject_once"]);
}

#[test]
fn a_call_of_which_the_agent_says_nothing_is_for_the_user() {
    let user = rejecting();
    let mut editor = Proxied::editor(&user);
    let unknown = json!({ "toolCallId": "c9", "title": "Do something", "kind": "execute" });
    editor.has_agent_ask_for(&unknown);
    assert_eq!(editor.next()["params"]["toolCall"], unknown);
    editor.send(&json!({ "jsonrpc": "2.0", "id": "q", "result": { "outcome": selected("r") } }));
    assert_eq!(editor.agent_got()["result"]["outcome"], selected("r"));
    // What a person would read of it counts for rules nevertheless.
    let titled = json!({ "toolCallId": "c10", "title": "cat secret", "kind": "execute" });
    assert_eq!(editor.permission(&titled)["result"]["outcome"], selected("r"));
}

#[test]
fn what_the_agent_has_reported_of_a_call_before_is_part_of_the_question() {
    let user = rejecting();
    let mut editor = Proxied::editor(&user);
    let mut reported = shell("cat secret");
    reported["sessionUpdate"] = json!("tool_call");
    let update = line(None, "session/update", &json!({ "sessionId": "s1", "update": reported }));
    let question = json!({ "sessionId": "s1", "toolCall": { "toolCallId": "c1" }, "options": options() });
    editor.has_agent_say(&[update.clone(), line(Some("q"), "session/request_permission", &question)]);
    assert_eq!(editor.next_line(), update);
    assert_eq!(editor.agent_got()["result"]["outcome"], selected("r"));
}

#[test]
fn each_file_of_a_call_has_to_be_allowed() {
    let user = rejecting();
    let mut editor = Proxied::editor(&user);
    let change = |path: &str| json!({ "type": "diff", "path": path, "oldText": "a", "newText": "b" });
    let call = |paths: [&str; 2]| json!({ "toolCallId": "c1", "title": "Edit", "kind": "edit", "content": [change(paths[0]), change(paths[1])] });
    assert_eq!(editor.permission(&call(["/p/a", "/p/b"]))["result"]["outcome"], selected("a"));
    assert_eq!(editor.permission(&call(["/p/a", "/p/secret"]))["result"]["outcome"], selected("r"));
}

#[test]
fn where_no_rule_can_be_asked_the_answer_is_no() {
    let user = rejecting();
    // A file in the place of the directory: no resident host can be there.
    let _ = std::fs::remove_dir_all(user.path("state/run"));
    std::fs::create_dir_all(user.path("state")).unwrap();
    std::fs::write(user.path("state/run"), "").unwrap();
    let mut editor = Proxied::editor(&user);
    let prompt = json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "hi" }] });
    let refused = editor.ask("session/prompt", &prompt);
    assert!(refused["error"]["message"].as_str().unwrap().contains("nothing of it happens"), "{refused}");
    // The agent asks by itself.
    let question = json!({ "sessionId": "s1", "toolCall": shell("ls"), "options": options() });
    let question = line(Some("q"), "session/request_permission", &question);
    editor.rewrite(&json!({ "rules": [{ "on": "go", "say": [question] }, { "on": "answer", "say": [r#"{"jsonrpc":"2.0","id":"p","result":{}}"#] }] }));
    editor.send(&json!({ "jsonrpc": "2.0", "id": "p", "method": "go" }));
    assert_eq!(editor.agent_got()["result"]["outcome"], selected("r"));
}

#[test]
fn a_cancelled_prompt_answers_a_question_that_is_still_asked_about() {
    let user = User::new();
    let guard = Entry::all_events("guard", json!({ "before-tool-call": { "misbehave": "sleep" } }));
    user.configure(&guard.to_toml());
    user.run(["hooks"]).expect(0, &[]);
    let mut editor = Proxied::editor(&user);
    let question = json!({ "sessionId": "s1", "toolCall": shell("ls"), "options": options() });
    let plan = line(
        None,
        "session/update",
        &json!({ "sessionId": "s1", "update": { "sessionUpdate": "plan", "entries": [] } }),
    );
    editor.has_agent_say(&[line(Some("q"), "session/request_permission", &question), plan.clone()]);
    // What follows the question comes before it, since a plugin takes long: so the question has come.
    assert_eq!(editor.next_line(), plan);
    editor.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "s1" } }));
    let got = editor.agent_got();
    assert!(got["result"]["outcome"] == json!({ "outcome": "cancelled" }), "{got}");
    let (_, told) = editor.end_and_told();
    let cancelled = told.iter().filter(|line| line.contains("session/cancel")).count();
    assert_eq!(cancelled, 1, "the agent knows of it too: {told:?}");
}
