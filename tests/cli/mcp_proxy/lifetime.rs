//! Servers that end or hang, clients that go, and a resident host that cannot be there.

use super::{FIRST_USE, LONG, Proxied, SERVER, text, tool, user, user_with};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::time::Instant;

#[test]
fn a_hundred_calls_at_once_each_get_their_own_answer() {
    let user = user_with(json!({}), FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    let ids: Vec<Value> =
        (0..100).map(|n| proxied.request("tools/call", &json!({ "name": "say", "arguments": { "n": n } }))).collect();
    let order: Vec<i64> = (0..100)
        .map(|_| {
            let answer = proxied.next();
            let n = ids.iter().position(|id| *id == answer["id"]).unwrap();
            assert_eq!(text(&answer), format!(r#"ran say {{"n":{n}}}"#));
            i64::try_from(n).unwrap()
        })
        .collect();
    assert_eq!(order.iter().collect::<HashSet<_>>().len(), 100);
    let sent: Vec<i64> =
        proxied.told_of("tools/call").iter().map(|call| call["params"]["arguments"]["n"].as_i64().unwrap()).collect();
    assert!(sent.is_sorted() && order.is_sorted(), "nothing is reordered: {sent:?} {order:?}");
}

#[test]
fn a_server_that_ends_leaves_no_request_without_an_answer() {
    let user = user();
    let script = json!({ "tools": [tool("say", "says")], "rules": [{ "on": "hang", "say": [] }, { "on": "tools/call", "say": [], "exit": 7 }] });
    let mut proxied = Proxied::start(&user, &script);
    proxied.begin(&json!({}));
    let hanging = proxied.request("hang", &json!({}));
    let call = proxied.call("say", &json!({}));
    assert!(call["error"]["message"].as_str().unwrap().contains("files has ended before it answered"), "{call}");
    assert!(proxied.answer_to(&hanging)["error"].is_object());
    let (code, said) = proxied.end();
    assert!(code == Some(1) && said.contains("the MCP server files has ended (exit status: 7)"), "{code:?} {said}");
}

#[test]
fn a_client_that_goes_takes_a_hanging_server_with_it() {
    let user = user();
    let pid = user.project().join("pid");
    let script = format!("echo $$ > {}; sleep 1000 & exec cat > /dev/null", pid.display());
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", &script]);
    let mut proxied = Proxied::of(&mut command, pid.clone(), pid.clone());
    let id = proxied.request("ping", &json!({}));
    let group = group_in(&pid);
    assert_eq!(id, 1);
    assert_eq!(proxied.end().0, Some(0));
    gone(group);
}

#[test]
fn a_server_that_continues_although_nobody_waits_for_it_ends_soon_after_its_client() {
    let user = user();
    let pid = user.project().join("pid");
    let script = format!("trap '' TERM; echo $$ > {}; sleep 1000 & exec sleep 1000", pid.display());
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", &script]);
    let proxied = Proxied::of(&mut command, pid.clone(), pid.clone());
    let group = group_in(&pid);
    let since = Instant::now();
    assert_eq!(proxied.end().0, Some(0));
    assert!(since.elapsed().as_secs() < 8, "{:?}", since.elapsed());
    gone(group);
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_that_ignores_the_end_of_its_input_ends_with_a_proxy_that_is_killed() {
    let user = user();
    let pid = user.project().join("pid");
    let script = format!("trap '' TERM HUP; echo $$ > {}; while :; do read -r line; done", pid.display());
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", &script]);
    let mut proxied = Proxied::of(&mut command, pid.clone(), pid.clone());
    let group = group_in(&pid);
    proxied.child.kill().unwrap();
    gone(group);
}

/// Waits until nothing of a process group is left.
fn gone(group: rustix::process::Pid) {
    let since = Instant::now();
    // What has ended is there until somebody has taken its exit code.
    while rustix::process::test_kill_process_group(group).is_ok() {
        assert!(since.elapsed() < LONG, "what the server has started is still there");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// The process group of a server that writes its number into a file.
fn group_in(file: &std::path::Path) -> rustix::process::Pid {
    let since = Instant::now();
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') {
            return rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap();
        }
        assert!(since.elapsed() < LONG);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_client_that_says_nothing_more_gets_each_answer_of_a_server_that_waits_until_it_is_read() {
    let user = user_with(json!({}), FIRST_USE);
    let said = json!({ "content": [{ "type": "text", "text": "x".repeat(64 * 1024) }] });
    let line = format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{said}}}"#);
    let script = json!({ "tools": [tool("say", "says")], "rules": [{ "on": "tools/call", "say": [line] }] });
    let mut proxied = Proxied::start(&user, &script);
    proxied.begin(&json!({}));
    // More than a pipe holds, in both directions.
    let arguments = json!({ "text": "y".repeat(2048) });
    for _ in 0..100 {
        proxied.request("tools/call", &json!({ "name": "say", "arguments": arguments }));
    }
    drop(proxied.input.take());
    for _ in 0..100 {
        let answer = proxied.next();
        assert_eq!(text(&answer).len(), 64 * 1024);
    }
    assert_eq!(proxied.end().0, Some(0));
}

#[test]
fn a_server_that_logs_where_it_should_answer_is_not_answered() {
    let user = user();
    let record = user.project().join("told");
    let script =
        format!(r#"while read -r line; do echo "$line" >> {}; echo "log: got a line"; done"#, record.display());
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", &script]);
    let mut proxied = Proxied::of(&mut command, record.clone(), record);
    for _ in 0..3 {
        proxied.request("ping", &json!({}));
    }
    let (code, said) = proxied.end_and_told();
    assert_eq!((code.0, said.len()), (Some(0), 3), "{said:?}");
    assert!(code.1.contains("the MCP server: a message is not a JSON object"), "{code:?}");
}

#[test]
fn a_signal_lets_the_server_end_by_itself() {
    let user = user_with(json!({}), FIRST_USE);
    let ended = user.project().join("ended");
    let script = format!(
        "read line; echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}'; cat > /dev/null; echo yes > {}",
        ended.display()
    );
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", &script]);
    let mut proxied = Proxied::of(&mut command, ended.clone(), ended.clone());
    proxied.ask("ping", &json!({}));
    let pid = rustix::process::Pid::from_raw(i32::try_from(proxied.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(super::wait(&mut proxied.child), Some(130));
    assert_eq!(std::fs::read_to_string(&ended).unwrap(), "yes\n");
}

#[test]
fn a_signal_ends_a_hanging_server_before_a_client_kills_the_proxy() {
    let user = user();
    let pid = user.project().join("pid");
    let script = format!("trap '' TERM HUP; echo $$ > {}; while :; do sleep 1000; done", pid.display());
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", &script]);
    let mut proxied = Proxied::of(&mut command, pid.clone(), pid.clone());
    let group = group_in(&pid);
    let proxy = rustix::process::Pid::from_raw(i32::try_from(proxied.child.id()).unwrap()).unwrap();
    let since = Instant::now();
    rustix::process::kill_process(proxy, rustix::process::Signal::TERM).unwrap();
    super::wait(&mut proxied.child);
    // Clients wait two seconds, and kill the proxy then.
    assert!(since.elapsed().as_millis() < 2000, "{:?}", since.elapsed());
    gone(group);
}

#[test]
fn an_answer_that_is_too_long_is_an_error_for_its_request() {
    let user = user();
    let script = r#"read line; printf '{"jsonrpc":"2.0","id":1,"result":"'; head -c 17000000 /dev/zero | tr '\0' x; printf '"}\n'; cat > /dev/null"#;
    let nothing = user.project().join("nothing");
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", script]);
    let mut proxied = Proxied::of(&mut command, nothing.clone(), nothing);
    let answer = proxied.ask("ping", &json!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("more than 16777216 bytes"), "{answer}");
}

#[test]
fn an_answer_that_is_not_utf_8_is_an_error_for_its_request() {
    let user = user();
    let script = r#"read line; printf '{"jsonrpc":"2.0","id":1,"result":{"text":"caf\351"}}\n'; cat > /dev/null"#;
    let mut command = user.command(["mcp", "--name", "files", "--", "sh", "-c", script]);
    let nothing = user.project().join("nothing");
    let mut proxied = Proxied::of(&mut command, nothing.clone(), nothing);
    let answer = proxied.ask("own/thing", &json!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("not UTF-8"), "{answer}");
}

#[test]
fn an_answer_to_a_cancelled_request_is_recorded_and_not_passed_on() {
    let user = user();
    let late = r#"{"jsonrpc":"2.0","id":90,"result":{"content":[{"type":"text","text":"late"}]}}"#;
    let rules = json!([{ "on": "tools/call", "say": [] }, { "on": "go", "say": [late, r#"{"jsonrpc":"2.0","id":$id,"result":{}}"#] }]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    let call = json!({ "name": "say", "arguments": {} });
    proxied.send(&json!({ "jsonrpc": "2.0", "id": 90, "method": "tools/call", "params": call }));
    let since = Instant::now();
    while proxied.told_of("tools/call").is_empty() {
        assert!(since.elapsed() < LONG, "the call is not passed on");
    }
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 90 } }));
    proxied.ask("go", &json!({}));
    proxied.ask("ping", &json!({}));
    assert!(proxied.others.is_empty(), "{:?}", proxied.others);
    let (_, said) = proxied.end();
    assert!(!said.contains("no pending request"), "{said}");
    let is_late = |record: &Value| record["event"] == "after-tool-call" && record.to_string().contains("late");
    drop(user.records_once(|records| records.iter().any(is_late)));
}

#[test]
fn a_question_whose_request_is_cancelled_waits_for_nobody_any_more() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "risky" }, "verdict": "escalate", "question": "Really?" } });
    let user = user_with(guard, FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    let id = proxied.request("tools/call", &json!({ "name": "say", "arguments": { "text": "risky" } }));
    let waits_for = |are_there: bool| {
        let since = Instant::now();
        while user.run(["approvals", "--json"]).stdout.contains("Really?") != are_there {
            assert!(since.elapsed() < LONG, "there: {are_there}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    waits_for(true);
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    waits_for(false);
    assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}");
}

#[test]
fn a_request_that_is_cancelled_while_a_person_is_asked_is_never_sent() {
    let guard = json!({ "before-tool-call": { "when": { "contains": "risky" }, "verdict": "escalate", "question": "Really?" } });
    let user = user_with(guard, FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({ "elicitation": {} }));
    let id = proxied.request("tools/call", &json!({ "name": "say", "arguments": { "text": "risky" } }));
    let question = proxied.next();
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    proxied.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } }));
    assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    assert!(proxied.told_of("tools/call").is_empty() && proxied.told_of("notifications/cancelled").is_empty());
    // Of one that was sent the server is told.
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 999 } }));
    assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    assert_eq!(proxied.told_of("notifications/cancelled").len(), 1);
}

#[test]
fn without_a_resident_host_nothing_runs_and_the_model_reads_why() {
    let user = user();
    // A file in the place of the directory: no resident host can be there.
    std::fs::create_dir_all(user.path("state")).unwrap();
    std::fs::write(user.path("state/run"), "").unwrap();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    let answer = proxied.call("say", &json!({}));
    assert!(answer["result"]["isError"] == true && text(&answer).contains("so it is not passed on"), "{answer}");
    assert!(proxied.told_of("tools/call").is_empty());
}

#[test]
fn a_resident_host_that_ends_is_started_again() {
    let user = user_with(json!({}), FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}");
    user.run(["serve", "--stop"]).expect(0, &[]);
    assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}");
}

#[test]
fn what_is_wrong_with_the_command_is_said() {
    let user = user();
    user.run(["mcp"]).expect(2, &["after `--`"]);
    user.run(["mcp", "--name", "a__b", "--", SERVER]).expect(2, &["a__b"]);
    user.run(["mcp", "--", "/no/such/server"]).expect(1, &["the MCP server server cannot be started"]);
    user.configure("[mcp-proxy]\nmodus = \"audit\"\n");
    user.run(["mcp", "--", SERVER]).expect(5, &["modus"]);
}
