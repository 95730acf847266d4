//! Messages by which something could get past the rules.

use super::{FIRST_USE, Proxied, text, tool, user, user_with};
use serde_json::{Value, json};

#[test]
fn a_batch_is_refused() {
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    proxied.send_line(r#"[{"jsonrpc":"2.0","id":50,"method":"tools/call","params":{"name":"say"}}]"#);
    let answer = proxied.next();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(null), &json!(-32600)));
    assert!(proxied.told_of("tools/call").is_empty());
}

#[test]
fn a_batch_of_answers_is_an_error_for_each_request_that_is_answered_in_it() {
    let user = user();
    let batch = r#"[{"jsonrpc":"2.0","id":"a","result":"first"},{"id":"b","id":"c","result":"two readers"},
        {"jsonrpc":"2.0","id":$id,"result":"last"},{"jsonrpc":"2.0","id":777,"result":{}}]"#;
    let late = r#"{"jsonrpc":"2.0","id":"b","result":"late"}"#;
    let rules = json!([{ "on": "slow", "say": [] }, { "on": "go", "say": [batch.replace('\n', ""), late] }]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    for id in ["a", "b"] {
        proxied.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "slow" }));
    }
    let last = proxied.request("go", &json!({}));
    for id in [json!("a"), last] {
        let answer = proxied.answer_to(&id);
        let why = answer["error"]["message"].as_str().unwrap();
        assert!(why.contains("the answer of the MCP server cannot be passed on: a batch"), "{answer}");
    }
    assert_eq!(proxied.answer_to(&json!("b"))["result"], "late", "nobody could tell whose answer it was");
    assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    assert!(proxied.others.is_empty(), "{:?}", proxied.others);
}

#[test]
fn the_error_in_the_place_of_an_answer_in_a_batch_is_recorded() {
    let user = user();
    let rules = json!([{ "on": "tools/call", "say": [r#"[{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}]"#] }]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    let answer = proxied.call("say", &json!({}));
    assert!(answer["error"]["message"].as_str().is_some_and(|why| why.contains("a batch")), "{answer}");
    proxied.end();
    let is_it = |record: &Value| {
        record["event"] == "after-tool-call" && record.to_string().contains("cannot be passed on: a batch")
    };
    assert!(!user.records_once(|records| records.iter().any(is_it)).is_empty());
}

#[test]
fn a_batch_of_answers_of_a_client_is_an_error_for_the_server() {
    let user = user();
    let asks = r#"{"jsonrpc":"2.0","id":"s","method":"roots/list"}"#;
    let rules = json!([{ "on": "go", "say": [asks, r#"{"jsonrpc":"2.0","id":$id,"result":{}}"#] }]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    proxied.ask("go", &json!({}));
    assert_eq!(proxied.next()["id"], "s");
    proxied.send_line(r#"[{"jsonrpc":"2.0","id":"s","result":{"roots":[]}},{"jsonrpc":"2.0","id":"t","result":{}}]"#);
    assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    assert!(proxied.others.is_empty(), "nobody waits for an answer to answers: {:?}", proxied.others);
    let told = proxied.told();
    let answers: Vec<&String> = told.iter().filter(|line| line.contains(r#""id":"s""#)).collect();
    assert!(answers.len() == 1 && answers[0].contains("the answer of the client cannot be passed on"), "{told:#?}");
    assert!(!told.iter().any(|line| line.contains(r#""id":"t""#)), "{told:#?}");
}

#[test]
fn a_yes_in_a_batch_is_a_no() {
    let guard = json!({ "before-tool-call": { "verdict": "escalate", "question": "Really?" } });
    let user = user_with(guard, FIRST_USE);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({ "elicitation": {} }));
    let id = proxied.request("tools/call", &json!({ "name": "say", "arguments": {} }));
    let question = proxied.next();
    assert_eq!(question["method"], "elicitation/create");
    let yes = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept" } });
    proxied.send(&json!([yes]));
    assert_eq!(proxied.answer_to(&id)["result"]["isError"], true);
    assert!(proxied.told_of("tools/call").is_empty());
}

#[test]
fn an_id_that_is_under_way_is_refused_and_the_first_request_keeps_its_answer() {
    let user = user();
    let rules =
        json!([{ "on": "slow", "say": [] }, { "on": "go", "say": [r#"{"jsonrpc":"2.0","id":"x","result":"first"}"#] }]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    proxied.send_line(r#"{"jsonrpc":"2.0","id":"x","method":"slow"}"#);
    proxied.send_line(r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"say"}}"#);
    let refused = proxied.next();
    assert_eq!(refused["id"], json!(null), "an answer of that id would be taken for the first request's");
    assert!(refused["error"]["message"].as_str().unwrap().contains("a pending request"), "{refused}");
    proxied.request("go", &json!({}));
    assert_eq!(proxied.answer_to(&json!("x"))["result"], "first");
    assert!(proxied.told_of("tools/call").is_empty());
}

#[test]
fn a_key_that_occurs_twice_anywhere_is_refused() {
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    for line in [
        r#"{"jsonrpc":"2.0","id":60,"method":"tools/call","params":{"name":"say","arguments":{"a":{"b":1,"b":2}}}}"#,
        r#"{"jsonrpc":"2.0","id":60,"method":"tools/call","params":{"name":"say","name":"other"}}"#,
    ] {
        proxied.send_line(line);
        let answer = proxied.answer_to(&json!(60));
        assert!(answer["error"]["message"].as_str().unwrap().contains("twice"), "{answer}");
    }
    proxied
        .send_line(r#"{"jsonrpc":"2.0","id":61,"method":"ping","m\u0065thod":"tools/call","params":{"name":"say"}}"#);
    assert!(proxied.answer_to(&json!(61))["error"]["message"].as_str().unwrap().contains("twice"));
    assert!(proxied.told_of("tools/call").is_empty());
}

#[test]
fn an_id_that_readers_take_for_another_one_is_refused() {
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    let long = format!("\"{}\"", "x".repeat(1025));
    for id in ["null", "[1]", "{}", "true", "18446744073709551616", &long] {
        proxied.send_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"say"}}}}"#));
        let answer = proxied.next();
        assert!(answer["id"].is_null() && answer["error"].is_object(), "{id}: {answer}");
    }
    assert!(proxied.told_of("tools/call").is_empty());
    // A number and a text are two.
    proxied
        .send_line(r#"{"jsonrpc":"2.0","id":"9","method":"tools/call","params":{"name":"say","arguments":{"a":1}}}"#);
    proxied.send_line(r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"say","arguments":{"a":2}}}"#);
    assert_eq!(text(&proxied.answer_to(&json!("9"))), r#"ran say {"a":1}"#);
    assert_eq!(text(&proxied.answer_to(&json!(9))), r#"ran say {"a":2}"#);
}

#[test]
fn a_line_that_readers_could_cut_or_begin_elsewhere_is_refused() {
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    let call = r#"{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":"say"}}"#;
    for line in [
        format!("\u{feff}{call}"),
        format!("{call}\0"),
        format!("\0{call}"),
        format!("{call} {call}"),
        format!("{call},"),
    ] {
        proxied.send_line(&line);
        assert!(proxied.next()["error"].is_object(), "{line:?}");
    }
    assert!(proxied.told_of("tools/call").is_empty());
    proxied.send_line(&format!(" \t{call}\r"));
    assert_eq!(text(&proxied.answer_to(&json!(70))), "ran say null");
}

#[test]
fn keys_that_differ_in_case_alone_are_refused() {
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    for line in [
        r#"{"jsonrpc":"2.0","id":60,"method":"ping","Method":"tools/call","params":{"name":"say"}}"#,
        r#"{"jsonrpc":"2.0","id":60,"method":"tools/call","params":{"name":"say","Arguments":{"text":"secret"}}}"#,
        r#"{"jsonrpc":"2.0","id":60,"method":"tools/call","params":{"name":"say","arguments":{"command":"a","COMMAND":"b"}}}"#,
        r#"{"jsonrpc":"2.0","id":60,"method":"tools/list","params":{"Cursor":"c2"}}"#,
    ] {
        proxied.send_line(line);
        let answer = proxied.answer_to(&json!(60));
        assert!(answer["error"]["message"].as_str().unwrap().contains("only in case"), "{answer}");
    }
    assert!(proxied.told_of("tools/call").is_empty() && proxied.told_of("ping").is_empty());
}

#[test]
fn a_call_that_is_hidden_behind_a_carriage_return_is_no_line_of_its_own() {
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    let hidden = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"say"}}"#;
    proxied.send_line(&format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":\r{hidden}\r}}"));
    assert_eq!(proxied.answer_to(&json!(1))["result"], json!({}));
    let told = std::fs::read(&proxied.record).unwrap();
    assert!(!told.contains(&b'\r') && proxied.told().last().unwrap().contains(hidden), "it is within a line");
}

#[test]
fn a_result_that_pretends_to_be_a_question_is_a_result() {
    let redact =
        json!({ "after-tool-call": { "when": { "contains": "sk-1" }, "verdict": "reject", "reason": "a key" } });
    let user = user_with(redact, FIRST_USE);
    let hidden = [
        json!({ "resultType": "input_required", "inputRequests": {}, "structuredContent": { "k": "sk-1" } }),
        json!({ "inputRequests": {}, "content": [{ "type": "text", "text": "sk-1" }] }),
    ];
    let lines = hidden.map(|result| format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#));
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    for line in lines {
        let rules = json!([{ "on": "tools/call", "say": [line] }]);
        proxied.rewrite(&json!({ "tools": [tool("say", "says")], "rules": rules }));
        let answer = proxied.call("say", &json!({}));
        assert!(answer["result"]["isError"] == true && text(&answer).contains("a key"), "{answer}");
        assert!(!answer.to_string().contains("sk-1"), "{answer}");
    }
}

#[test]
fn the_result_of_a_task_is_judged_in_whatever_message_it_comes() {
    let redact = json!({ "after-tool-call": { "when": { "contains": "sk-1" }, "verdict": "replace", "value": "[hidden]" },
            "before-tool-call": { "when": { "contains": "evil" }, "verdict": "reject", "reason": "not that" } });
    let user = user_with(redact, FIRST_USE);
    let secret = json!({ "content": [{ "type": "text", "text": "sk-1" }] });
    let state = json!({ "taskId": "t-1", "status": "completed", "result": secret });
    let of = |result: &Value| format!(r#"{{"jsonrpc":"2.0","id":$id,"result":{result}}}"#);
    let pushed = json!({ "jsonrpc": "2.0", "method": "notifications/tasks", "params": state }).to_string();
    let rules = json!([
        { "on": "tools/call", "say": [of(&json!({ "resultType": "task", "taskId": "t-1", "status": "working" }))] },
        { "on": "tasks/get", "say": [pushed, of(&state)] },
        { "on": "tasks/result", "say": [of(&secret)] },
    ]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    assert_eq!(proxied.call("say", &json!({}))["result"]["taskId"], "t-1");
    let got = proxied.ask("tasks/get", &json!({ "taskId": "t-1" }))["result"].clone();
    let pushed = proxied.next()["params"].clone();
    for state in [&got, &pushed] {
        assert_eq!(
            (&state["status"], &state["result"]["content"][0]["text"]),
            (&json!("completed"), &json!("[hidden]"))
        );
    }
    assert_eq!(text(&proxied.ask("tasks/result", &json!({ "taskId": "t-1" }))), "[hidden]");
    let update =
        json!({ "taskId": "t-1", "inputResponses": { "a": { "action": "accept", "content": { "x": "evil" } } } });
    let refused = proxied.ask("tasks/update", &update);
    assert!(refused["error"]["message"].as_str().unwrap().contains("not that"), "{refused}");
    assert!(proxied.told_of("tasks/update").is_empty());
    proxied.end();
    let of_the_call =
        |record: &&Value| record["event"] == "after-tool-call" && record.to_string().contains("mcp__files__say");
    drop(user.records_once(|records| records.iter().filter(of_the_call).count() >= 4));
}

#[test]
fn a_call_that_is_hidden_in_a_notification_is_not_passed_on() {
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")] }));
    proxied.begin(&json!({}));
    proxied.send_line(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"say"}}"#);
    proxied.send_line(r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"say"}}"#);
    assert!(proxied.next()["error"]["message"].as_str().unwrap().contains("neither a text nor a number"));
    assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    assert!(proxied.told_of("tools/call").is_empty());
    assert!(proxied.end().1.contains("tools/call came as a notification"));
}

#[test]
fn an_answer_that_nobody_asked_for_is_not_passed_on() {
    let user = user();
    let answer = r#"{"jsonrpc":"2.0","id":777,"result":{"content":[{"type":"text","text":"not asked"}]}}"#;
    let rules = json!([{ "on": "go", "say": [answer, r#"{"jsonrpc":"2.0","id":$id,"result":{}}"#, r#"{"jsonrpc":"2.0","id":$id,"result":"again"}"#] }]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [], "rules": rules }));
    proxied.begin(&json!({}));
    assert_eq!(proxied.ask("go", &json!({}))["result"], json!({}));
    assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    assert!(proxied.others.is_empty(), "{:?}", proxied.others);
    assert!(proxied.end().1.contains("answered 777, which is no pending request"));
}

#[test]
fn a_result_that_is_too_large_is_not_passed_on() {
    let user = user_with(json!({}), &(FIRST_USE.to_owned() + "max-result-bytes = 1000\n"));
    let line = json!({ "jsonrpc": "2.0", "id": "$id", "result": { "content": [{ "type": "text", "text": "x".repeat(2000) }] } });
    let line = line.to_string().replace("\"$id\"", "$id");
    let script = json!({ "tools": [tool("big", "much"), tool("say", "says")],
        "rules": [{ "on": "tools/call", "tool": "big", "say": [line] }] });
    let mut proxied = Proxied::start(&user, &script);
    proxied.begin(&json!({}));
    let answer = proxied.call("big", &json!({}));
    assert!(
        answer["result"]["isError"] == true && text(&answer).contains("at most 1000 bytes are passed on"),
        "{answer}"
    );
    assert!(text(&answer).contains("`max-result-bytes` of `[mcp-proxy]`"), "{answer}");
    assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}");
}

#[test]
fn an_answer_with_two_results_is_an_error_for_its_request() {
    let user = user();
    let line =
        r#"{"jsonrpc":"2.0","id":$id,"result":{"content":[]},"result":{"content":[{"type":"text","text":"unseen"}]}}"#;
    let script = json!({ "tools": [tool("say", "says")], "rules": [{ "on": "tools/call", "say": [line] }] });
    let mut proxied = Proxied::start(&user, &script);
    proxied.begin(&json!({}));
    let answer = proxied.call("say", &json!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("twice"), "{answer}");
}

#[test]
fn a_tool_whose_name_stands_for_a_method_cannot_be_called() {
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("resources/read", "x")] }));
    assert_eq!(proxied.begin(&json!({})), [""; 0]);
    let answer = proxied.call("resources/read", &json!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("Unknown tool"), "{answer}");
}
