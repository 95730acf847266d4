//! Agents that end or hang, and editors that go.

use super::{AGENT, LONG, Proxied, line, user_with};
use hookhost_tests::User;
use serde_json::{Value, json};
use std::time::Instant;

#[test]
fn an_agent_that_ends_leaves_no_request_without_an_answer() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    editor.rewrite(&json!({ "rules": [{ "on": "session/prompt", "say": [], "exit": 7 }] }));
    let answer =
        editor.ask("session/prompt", &json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "x" }] }));
    assert!(answer["error"]["message"].as_str().unwrap().contains("the agent tester has ended"), "{answer}");
    let (code, said) = editor.end();
    assert!(code == Some(1) && said.contains("the agent tester has ended (exit status: 7)"), "{code:?} {said}");
    assert!(said.contains("what the agent tester asked about"), "{said}");
}

#[test]
fn an_editor_that_goes_takes_a_hanging_agent_with_it() {
    let user = user_with(json!({}), "");
    let pid = user.project().join("pid");
    let script = format!("echo $$ > {}; sleep 1000 & exec cat > /dev/null", pid.display());
    let mut command = user.command(["acp", "--", "sh", "-c", &script]);
    command.args(["tester"]);
    let mut editor = Proxied::of(&mut command, pid.clone(), pid.clone());
    editor.request("initialize", &json!({}));
    let since = Instant::now();
    while !std::fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) {
        assert!(since.elapsed() < LONG);
        std::thread::yield_now();
    }
    let group: i32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    assert_eq!(editor.end().0, Some(0));
    let group = rustix::process::Pid::from_raw(group).unwrap();
    let since = Instant::now();
    // What has ended is there until somebody has taken its exit code.
    while rustix::process::test_kill_process_group(group).is_ok() {
        assert!(since.elapsed() < LONG, "what the agent has started is still there");
        std::thread::yield_now();
    }
}

#[test]
fn messages_keep_their_order_in_both_directions() {
    let user = user_with(json!({}), "");
    let mut editor = Proxied::editor(&user);
    let update = |n: usize| {
        let text = json!({ "type": "text", "text": n.to_string() });
        line(
            None,
            "session/update",
            &json!({ "sessionId": "s1", "update": { "sessionUpdate": "agent_message_chunk", "content": text } }),
        )
    };
    let read = |n: usize| {
        line(Some(&format!("r{n}")), "fs/read_text_file", &json!({ "sessionId": "s1", "path": format!("/{n}") }))
    };
    let lines: Vec<String> = (0..50).flat_map(|n| [update(n), read(n)]).collect();
    editor.has_agent_say(&lines);
    let got: Vec<String> = lines.iter().map(|_| editor.next_line()).collect();
    assert_eq!(got, lines);
    for n in (0..50).rev() {
        editor.send(&json!({ "jsonrpc": "2.0", "id": format!("r{n}"), "result": { "content": n.to_string() } }));
    }
    let answered: Vec<Value> = {
        editor.ask("ping", &json!({}));
        let told = editor.told().into_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
        told.filter(|answer| answer["result"]["content"].is_string()).collect()
    };
    assert_eq!(answered.len(), 50);
    for (place, answer) in answered.iter().enumerate() {
        let n = 49 - place;
        assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(format!("r{n}")), &json!(n.to_string())));
    }
}

#[test]
fn a_request_that_the_agent_takes_back_while_it_is_asked_about_never_reaches_the_editor() {
    let user = user_with(
        json!({ "before-tool-call": { "when": { "contains": "risky" }, "verdict": "escalate", "question": "Really?" } }),
        "",
    );
    let mut editor = Proxied::editor(&user);
    let command = line(Some("q"), "terminal/create", &json!({ "sessionId": "s1", "command": "risky" }));
    let back = line(None, "$/cancel_request", &json!({ "requestId": "q" }));
    editor.has_agent_say(&[command, back.clone()]);
    let got = editor.agent_got();
    assert_eq!(got["error"]["code"], -32800);
    // One that is not asked about is the other side's.
    editor.has_agent_say(&[line(None, "$/cancel_request", &json!({ "requestId": "other" })), super::END.to_owned()]);
    editor.answer_to(&json!("p"));
    let passed: Vec<&Value> = editor.others.iter().filter(|other| other["method"] == "$/cancel_request").collect();
    assert_eq!((passed.len(), &passed[0]["params"]["requestId"]), (1, &json!("other")));
}

#[test]
fn what_is_wrong_with_the_command_is_said() {
    let user = User::new();
    user.run(["acp"]).expect(2, &["after `--`"]);
    user.run(["acp", "--name", "a b", "--", AGENT]).expect(2, &["the name of an agent"]);
    user.run(["acp", "--", "/no/such/agent"]).expect(1, &["the agent agent cannot be started"]);
}
