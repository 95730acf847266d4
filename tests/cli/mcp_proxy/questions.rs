//! Questions of rules: asked in the client where its user can be asked, otherwise by the queue of approvals.

use super::{FIRST_USE, LONG, Proxied, text, tool, user_with};
use hookhost_tests::User;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A rule that no call of these tests is about: with it, the rules are others.
fn other_rule(id: i64) -> String {
    format!("\n[[rule]]\nid = \"never-{id}\"\non = \"never*\"\nask = \"Sure?\"\n")
}

fn asking() -> User {
    let guard = json!({ "before-tool-call": { "when": { "contains": "risky" }, "verdict": "escalate", "question": "Really?" } });
    user_with(guard, FIRST_USE)
}

fn script() -> Value {
    json!({ "tools": [tool("say", "says")] })
}

#[test]
fn a_client_whose_user_can_be_asked_is_asked_about_exactly_what_would_run() {
    let user = asking();
    let mut proxied = Proxied::start(&user, &script());
    proxied.begin(&json!({ "elicitation": {} }));
    for (action, runs) in [("accept", true), ("decline", false), ("cancel", false)] {
        let id = proxied.request("tools/call", &json!({ "name": "say", "arguments": { "text": "risky" } }));
        let question = proxied.next();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.contains("guard asks: Really?") && message.contains("\"text\": \"risky\""), "{message}");
        // Others run meanwhile.
        assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}");
        proxied.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": action } }));
        let answer = proxied.answer_to(&id);
        assert_eq!(answer["result"]["isError"] == true, !runs, "{action}: {answer}");
    }
    let calls = proxied.told_of("tools/call");
    assert_eq!(calls.iter().filter(|call| call.to_string().contains("risky")).count(), 1);
    assert!(proxied.told().iter().all(|line| !line.contains("\"accept\"")), "the server does not learn of it");
}

fn stateless(id: i64, more: &Value) -> Value {
    let mut params = json!({ "name": "say", "arguments": { "text": "risky" }, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    } });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

#[test]
fn a_stateless_client_is_asked_by_the_answer_and_its_yes_counts_once_for_that_call() {
    let user = asking();
    let mut proxied = Proxied::start(&user, &script());
    proxied.begin(&json!({}));
    proxied.send(&stateless(20, &json!({})));
    let asked = proxied.answer_to(&json!(20))["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["hookhost"]["method"], "elicitation/create");
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let with = |state: &str, action: &str| json!({ "requestState": state, "inputResponses": { "hookhost": { "action": action } } });
    // A yes of the client's own making.
    let mut forged = state.clone();
    forged.insert(forged.len() - 50, 'A');
    proxied.send(&stateless(21, &with(&forged, "accept")));
    assert!(proxied.answer_to(&json!(21))["error"]["message"].as_str().unwrap().contains("changed"));
    let mut other = stateless(22, &with(&state, "accept"));
    other["params"]["arguments"]["text"] = json!("risky and more");
    proxied.send(&other);
    assert!(proxied.answer_to(&json!(22))["error"]["message"].as_str().unwrap().contains("another request"));
    proxied.send(&stateless(23, &json!({ "inputResponses": { "hookhost": { "action": "accept" } } })));
    assert_eq!(
        proxied.answer_to(&json!(23))["result"]["resultType"],
        "input_required",
        "without a state it is asked again"
    );
    assert!(proxied.told_of("tools/call").is_empty());
    proxied.send(&stateless(24, &with(&state, "accept")));
    assert_eq!(text(&proxied.answer_to(&json!(24))), r#"ran say {"text":"risky"}"#);
    let told = &proxied.told_of("tools/call")[0]["params"];
    assert!(told["requestState"].is_null() && told["inputResponses"].is_null(), "{told}");
    proxied.send(&stateless(25, &with(&state, "accept")));
    assert!(proxied.answer_to(&json!(25))["error"]["message"].as_str().unwrap().contains("used before"));
    assert_eq!(proxied.told_of("tools/call").len(), 1);
}

#[test]
fn a_yes_under_other_rules_is_no_yes() {
    let user = asking();
    let mut proxied = Proxied::start(&user, &script());
    proxied.begin(&json!({}));
    proxied.send(&stateless(30, &json!({})));
    let state = proxied.answer_to(&json!(30))["result"]["requestState"].clone();
    let file = user.path("config/hookhost.toml");
    let rules = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, rules + &other_rule(30)).unwrap();
    let yes = json!({ "requestState": state, "inputResponses": { "hookhost": { "action": "accept" } } });
    proxied.send(&stateless(31, &yes));
    let answer = proxied.answer_to(&json!(31));
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert!(proxied.told_of("tools/call").is_empty());
}

#[test]
fn what_the_user_answered_is_recorded_and_what_the_client_brought_for_the_server_reaches_it() {
    let user = asking();
    let mut proxied = Proxied::start(&user, &script());
    proxied.begin(&json!({}));
    let own = json!({ "requestState": "the server's own", "inputResponses": { "a": { "action": "accept" } } });
    let mut answers = own.clone();
    // The rules change between the rounds: the question is put again.
    let file = user.path("config/hookhost.toml");
    for (id, action) in [(40, "accept"), (41, "accept"), (42, "accept")] {
        proxied.send(&stateless(id, &answers));
        let answer = proxied.answer_to(&json!(id))["result"].clone();
        if answer["resultType"] != "input_required" {
            let why = answer["content"][0]["text"].as_str().unwrap();
            assert!(id == 42 && why.contains("cannot be asked"), "a third round is not put: {answer}");
            break;
        }
        assert!(id < 42, "{answer}");
        answers =
            json!({ "requestState": answer["requestState"], "inputResponses": { "hookhost": { "action": action } } });
        let rules = std::fs::read_to_string(&file).unwrap();
        if id == 40 || id == 41 {
            std::fs::write(&file, rules + &other_rule(id)).unwrap();
        }
    }
    // Two rounds, and the server gets what is its own.
    let mut answers = own;
    for id in [50, 51] {
        proxied.send(&stateless(id, &answers));
        let answer = proxied.answer_to(&json!(id))["result"].clone();
        assert_eq!(answer["resultType"], "input_required", "{answer}");
        answers =
            json!({ "requestState": answer["requestState"], "inputResponses": { "hookhost": { "action": "accept" } } });
        if id == 50 {
            let rules = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, rules + &other_rule(id)).unwrap();
        }
    }
    proxied.send(&stateless(52, &answers));
    assert_eq!(text(&proxied.answer_to(&json!(52))), r#"ran say {"text":"risky"}"#);
    let told = &proxied.told_of("tools/call")[0]["params"];
    assert_eq!(
        (&told["requestState"], &told["inputResponses"]["a"]["action"]),
        (&json!("the server's own"), &json!("accept"))
    );
    proxied.end();
    let is_yes = |record: &&Value| record.to_string().contains(r#""answer":"yes""#);
    // Also one that came too late.
    drop(user.records_once(|records| records.iter().filter(is_yes).count() == 4));
}

#[test]
fn a_question_that_no_client_can_be_asked_waits_for_an_approval() {
    let user = asking();
    let mut proxied = Proxied::start(&user, &script());
    proxied.begin(&json!({}));
    let id = proxied.request("tools/call", &json!({ "name": "say", "arguments": { "text": "risky" } }));
    let since = Instant::now();
    let question = loop {
        let list: Value = serde_json::from_str(&user.run(["approvals", "--json"]).stdout).unwrap_or_default();
        if let Some(question) = list.as_array().and_then(|list| list.first()).or(list["questions"].get(0)) {
            break question["code"].as_str().unwrap().to_owned();
        }
        assert!(since.elapsed() < LONG, "no question waits: {list}");
        std::thread::sleep(Duration::from_millis(20));
    };
    // Who waits for a person keeps nobody else waiting.
    assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}");
    user.run(["approvals", "yes", &question]).expect(0, &[]);
    assert_eq!(text(&proxied.answer_to(&id)), r#"ran say {"text":"risky"}"#);
}
