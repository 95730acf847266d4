//! Tests a chain of plugins as an interceptor of MCP, and replays the fixtures that the working group has published.

use crate::support::of_rule;
use hookhost::audit::{MemoryLog, Record};
use hookhost::config::{Entry, Settings};
use hookhost::contract::{
    Escalation, Json, Refusal, ToolCall, ToolCallVerdict, ToolOutcome, ToolResult, ToolResultVerdict,
};
use hookhost::native::Rule;
use hookhost::{Config, Host};
use hookhost_standards::interceptor::Interceptors;
use hookhost_standards::interceptor::named::{InterceptorKind, NamedInterceptor, Phase};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// The variable that names the directory of the published fixtures. This is `conformance/fixtures` of
/// modelcontextprotocol/experimental-ext-interceptors.
const VARIABLE: &str = "HOOKHOST_MCP_INTERCEPTORS";

async fn host(rule: Rule) -> (Host, MemoryLog) {
    let log = MemoryLog::new();
    (Host::builder(of_rule(rule)).audit(log.clone()).build().await.unwrap(), log)
}

/// Returns a rule that refuses calls with the word `denied`, replaces `original` in calls, and masks `secret` in results.
fn rule() -> Rule {
    Rule::new()
        .before_tool_call(|_, call: &ToolCall| {
            if call.arguments.contains("denied") {
                return ToolCallVerdict::Reject(Refusal::new("it is denied").code("test.denied"));
            }
            match call.arguments.contains("original") {
                true => ToolCallVerdict::Modify(call.arguments.replace("original", "changed").parse().unwrap()),
                false => ToolCallVerdict::Allow,
            }
        })
        .after_tool_call(|_, ToolOutcome { tool_result: result, .. }: &ToolOutcome| {
            match result.text.contains("secret") {
                true => ToolResultVerdict::Replace(ToolResult::text(result.text.replace("secret", "***"))),
                false => ToolResultVerdict::Keep,
            }
        })
}

async fn served(rule: Rule) -> (Interceptors, MemoryLog) {
    let (host, log) = host(rule).await;
    (Interceptors::new(host, "/work", "files"), log)
}

async fn ask(interceptors: &Interceptors, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let answer = interceptors.answer(&request).await.unwrap();
    assert_eq!(answer["id"], 7);
    answer
}

async fn invoke(interceptors: &Interceptors, name: &str, phase: &str, payload: Value) -> Value {
    let params = json!({ "name": name, "event": "tools/call", "phase": phase, "payload": payload });
    ask(interceptors, "interceptor/invoke", params).await
}

fn call(path: &str) -> Value {
    json!({ "name": "read_file", "arguments": { "path": path } })
}

fn asked(log: &MemoryLog) -> usize {
    log.records().iter().filter(|record| matches!(record, Record::Event(_))).count()
}

#[tokio::test]
async fn a_chain_has_a_name_that_changes_and_one_that_checks() {
    let (interceptors, _) = served(rule()).await;
    let listed = ask(&interceptors, "interceptors/list", json!({})).await;
    let hooks = json!([{ "events": ["*"], "phase": "request" }, { "events": ["*"], "phase": "response" }]);
    let expected = json!([
        { "name": "hookhost/change", "type": "mutation", "hooks": hooks },
        { "name": "hookhost/check", "type": "validation", "hooks": hooks },
    ]);
    assert_eq!(listed["result"]["interceptors"], expected);
    let unknown = invoke(&interceptors, "nobody", "request", call("a")).await;
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(ask(&interceptors, "tools/list", json!({})).await["error"]["code"], -32601);
    assert_eq!(interceptors.answer(&json!({ "method": "notifications/initialized" })).await, None);
}

#[tokio::test]
async fn what_was_changed_is_checked_without_asking_plugins_twice() {
    let (interceptors, log) = served(rule()).await;
    let changed = invoke(&interceptors, "hookhost/change", "request", call("original")).await;
    assert_eq!(changed["result"]["modified"], true);
    assert_eq!(changed["result"]["payload"], call("changed"));
    let checked = invoke(&interceptors, "hookhost/check", "request", call("changed")).await;
    assert_eq!((&checked["result"]["valid"], asked(&log)), (&json!(true), 1));
    // The payload is different, because another interceptor has changed it or because it belongs to another call.
    for _ in 0..2 {
        let checked = invoke(&interceptors, "hookhost/check", "request", call("denied")).await;
        assert_eq!(checked["result"]["valid"], false);
        assert_eq!(checked["result"]["messages"], json!([{ "message": "it is denied", "severity": "error" }]));
        assert_eq!(checked["result"]["info"], json!({ "by": ["rule"], "code": "test.denied" }));
    }
    let Record::Event(event) = &log.records()[1] else { panic!("{:?}", log.records()) };
    let original: Value = serde_json::from_str(event.original.get()).unwrap();
    assert_eq!(original["action"], json!({ "mcp": { "server": "files", "tool": "read_file" } }));
}

#[tokio::test]
async fn rules_about_a_tool_of_a_server_hold_as_in_the_proxy_and_keys_in_two_cases_are_refused() {
    let rule = Rule::new().before_tool_call(|_, call: &ToolCall| {
        (call.name == "mcp__files__read_file").then(|| Refusal::new("not this one"))
    });
    let (interceptors, _) = served(rule).await;
    assert_eq!(invoke(&interceptors, "hookhost/check", "request", call("a")).await["result"]["valid"], false);
    let other = json!({ "name": "list", "arguments": {} });
    assert_eq!(invoke(&interceptors, "hookhost/check", "request", other.clone()).await["result"]["valid"], true);
    for key in ["Arguments", "NAME", "nam\u{65}\u{0}", "Method"] {
        let mut twin = other.clone();
        twin[key] = json!({ "path": "a" });
        let checked = invoke(&interceptors, "hookhost/check", "request", twin).await;
        assert_eq!(checked["result"]["valid"] == true, key.ends_with('\0'), "{key:?} {checked}");
    }
}

#[tokio::test]
async fn a_message_that_is_sent_twice_is_asked_about_twice() {
    let (interceptors, log) = served(rule()).await;
    for times in 1..=2 {
        let checked = invoke(&interceptors, "hookhost/check", "request", call("ls")).await;
        assert_eq!((&checked["result"]["valid"], asked(&log)), (&json!(true), times));
    }
}

#[tokio::test]
async fn a_change_that_was_not_made_and_a_denied_change_are_a_no() {
    let (interceptors, _) = served(rule()).await;
    let unchanged = invoke(&interceptors, "hookhost/check", "request", call("original")).await;
    assert_eq!((&unchanged["result"]["valid"], &unchanged["result"]["severity"]), (&json!(false), &json!("error")));
    let denied = invoke(&interceptors, "hookhost/change", "request", call("denied")).await;
    assert_eq!((&denied["error"]["code"], &denied["error"]["message"]), (&json!(-32603), &json!("it is denied")));
    let unread = invoke(&interceptors, "hookhost/check", "request", json!({ "arguments": {} })).await;
    assert_eq!(unread["error"]["code"], -32603);
}

#[tokio::test]
async fn an_error_says_whose_it_is_and_why() {
    let (host, _) = host(rule()).await;
    let only_requests =
        NamedInterceptor { phases: vec![Phase::Request], ..NamedInterceptor::new("only", InterceptorKind::Mutation) };
    let interceptors = Interceptors::of(host, "/work", "files", vec![only_requests]);
    let denied = invoke(&interceptors, "only", "request", call("denied")).await;
    let data = json!({ "interceptor": "only", "reason": "it is denied", "by": ["rule"], "code": "test.denied" });
    assert_eq!(denied["error"]["data"], data);
    let other = invoke(&interceptors, "only", "response", json!({ "content": [] })).await;
    let hooks = json!([{ "events": ["*"], "phase": "request" }]);
    assert_eq!(other["error"]["code"], -32602);
    let data = &other["error"]["data"];
    let says = ["interceptor", "name", "event", "phase"].map(|key| data[key].as_str().unwrap());
    assert_eq!(says, ["only", "only", "tools/call", "response"]);
    assert_eq!((&data["advertisedHooks"], &data["reason"]), (&hooks, &other["error"]["message"]));
    let unknown = invoke(&interceptors, "nobody", "request", call("a")).await;
    assert_eq!(unknown["error"]["data"], json!({ "name": "nobody" }));
    let any = ask(&interceptors, "interceptors/list", json!({ "event": "*" })).await;
    assert_eq!(any["error"]["code"], -32602);
    let begun = ask(&interceptors, "initialize", json!({ "protocolVersion": "2025-11-25" })).await;
    let says = &begun["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/interceptors"];
    assert_eq!(says, &json!({ "supportedEvents": ["*"] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interceptor_has_the_time_that_the_invoker_gives_it() {
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let slow = Rule::new().before_tool_call(move |_, _: &ToolCall| {
        let _ = waits.lock().unwrap().recv_timeout(Duration::from_secs(30));
        ToolCallVerdict::Allow
    });
    let (interceptors, log) = served(slow).await;
    let within = |millis: Value| {
        let payload = call("a");
        json!({ "name": "hookhost/check", "event": "tools/call", "phase": "request", "payload": payload, "timeoutMs": millis })
    };
    let late = ask(&interceptors, "interceptor/invoke", within(json!(5))).await;
    assert_eq!(late["error"]["code"], -32000);
    let data = json!({ "interceptor": "hookhost/check", "reason": "timeout", "timeoutMs": 5, "phase": "request" });
    assert_eq!(late["error"]["data"], data);
    let is_told = log.records().iter().any(|record| matches!(record, Record::Delivery(_)));
    assert!(is_told, "the log says that an event was given up: {:?}", log.records());
    let whole = json!({ "event": "tools/call", "phase": "request", "payload": call("b"), "timeoutMs": 5 });
    let chain = ask(&interceptors, "interceptor/executeChain", whole).await["result"].clone();
    assert_eq!((&chain["status"], &chain["abortedAt"]["type"]), (&json!("timeout"), &json!("timeout")), "{chain}");
    assert!(chain.get("finalPayload").is_none(), "{chain}");
    for odd in [json!(0), json!(-1), json!("5"), json!(1.5)] {
        let refused = ask(&interceptors, "interceptor/invoke", within(odd.clone())).await;
        assert_eq!(refused["error"]["code"], -32602, "{odd}");
    }
    drop(done);
    let settled = ask(&interceptors, "interceptor/invoke", within(json!(30_000))).await;
    assert_eq!(settled["result"]["valid"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_interceptor_of_a_chain_says_what_the_invoker_waits_and_not_the_rest_of_it() {
    let (done, waits) = std::sync::mpsc::channel::<()>();
    let waits = Mutex::new(waits);
    let slow = Rule::new().before_tool_call(move |_, _: &ToolCall| {
        let _ = waits.lock().unwrap().recv_timeout(Duration::from_secs(30));
        ToolCallVerdict::Allow
    });
    let (host, _log) = host(rule()).await;
    let quick = NamedInterceptor::new("quick", InterceptorKind::Validation);
    // The plugin's own deadline is longer than the time that the invoker waits.
    let mut entry = Entry::from_rule("slow", slow);
    entry.limits.deadline = Some(Duration::from_secs(60));
    let rules = Config::from_entries(vec![entry], Settings::default()).unwrap();
    let rules = host.load_rules(&rules).await.unwrap();
    let slow = NamedInterceptor { rules: Some(rules), ..NamedInterceptor::new("slow", InterceptorKind::Validation) };
    let interceptors = Interceptors::of(host, "/work", "files", vec![quick, slow]);
    let whole = json!({ "event": "tools/call", "phase": "request", "payload": call("b"), "timeoutMs": 1000 });
    let chain = ask(&interceptors, "interceptor/executeChain", whole).await["result"].clone();
    drop(done);
    assert_eq!((&chain["results"][0]["valid"], &chain["status"]), (&json!(true), &json!("timeout")), "{chain}");
    let data = json!({ "interceptor": "slow", "reason": "timeout", "timeoutMs": 1000, "phase": "request" });
    assert_eq!(chain["results"][1]["error"]["data"], data);
    // A limit that the clock cannot represent is ignored, and does not cause a panic.
    let endless = json!({ "event": "tools/call", "phase": "request", "payload": call("c"), "timeoutMs": u64::MAX });
    let chain = ask(&interceptors, "interceptor/executeChain", endless).await["result"].clone();
    assert_eq!(chain["status"], "success", "{chain}");
}

#[tokio::test]
async fn a_response_is_checked_and_then_changed() {
    let (interceptors, log) = served(rule()).await;
    let response = json!({
        "content": [{ "type": "text", "text": "a secret" }, { "type": "text", "text": "more" }],
        "structuredContent": { "text": "a secret" }, "isError": false,
    });
    let checked = invoke(&interceptors, "hookhost/check", "response", response.clone()).await;
    assert_eq!((&checked["result"]["valid"], &checked["result"]["severity"]), (&json!(true), &json!("warn")));
    let changed = invoke(&interceptors, "hookhost/change", "response", response).await;
    let expected = json!({
        "content": [{ "type": "text", "text": "a ***\nmore" }, { "type": "text", "text": "" }], "isError": false,
    });
    assert_eq!((&changed["result"]["payload"], asked(&log)), (&expected, 1));
}

#[tokio::test]
async fn a_whole_chain_runs_in_the_order_of_the_direction() {
    let (interceptors, _) = served(rule()).await;
    let run = async |payload: Value| {
        let params = json!({ "event": "tools/call", "phase": "request", "payload": payload });
        ask(&interceptors, "interceptor/executeChain", params).await["result"].clone()
    };
    let changed = run(call("original")).await;
    assert_eq!((&changed["status"], &changed["finalPayload"]), (&json!("success"), &call("changed")));
    let denied = run(call("denied")).await;
    assert_eq!((&denied["status"], denied.get("finalPayload")), (&json!("mutation_failed"), None));
    assert_eq!(denied["abortedAt"]["interceptor"], "hookhost/change");
}

#[tokio::test]
async fn a_chain_runs_those_alone_that_are_named() {
    let (interceptors, _) = served(rule()).await;
    let run = async |named: Value| {
        let payload = call("original");
        let params = json!({ "event": "tools/call", "phase": "request", "payload": payload, "interceptors": named });
        ask(&interceptors, "interceptor/executeChain", params).await
    };
    let checked = run(json!(["hookhost/check"])).await["result"].clone();
    assert_eq!(
        (&checked["status"], checked["results"].as_array().map(Vec::len)),
        (&json!("validation_failed"), Some(1))
    );
    for unknown in [json!(["hookhost/check", "nobody"]), json!("hookhost/check"), json!([1])] {
        assert_eq!(run(unknown).await["error"]["code"], -32602);
    }
    let all = run(json!([])).await["result"].clone();
    assert_eq!((&all["status"], all["results"].as_array().map(Vec::len)), (&json!("success"), Some(2)), "{all}");
}

#[tokio::test]
async fn a_payload_that_a_server_could_read_in_another_way_is_refused() {
    let (interceptors, log) = served(rule()).await;
    let hidden = json!({ "name": "rm", "arguments": { "path": "denied" }, "params": call("ls") });
    let other = json!({ "method": "prompts/get", "params": call("ls") });
    for payload in [hidden, other, json!({ "method": "tools/call", "name": "rm" })] {
        let answer = invoke(&interceptors, "hookhost/check", "request", payload.clone()).await;
        assert_eq!(answer["error"]["code"], -32603, "{payload}: {answer}");
    }
    assert_eq!(asked(&log), 0);
    let whole = json!({ "method": "tools/call", "params": call("original") });
    let changed = invoke(&interceptors, "hookhost/change", "request", whole).await;
    assert_eq!(changed["result"]["payload"], json!({ "method": "tools/call", "params": call("changed") }));
}

#[tokio::test]
async fn every_text_of_a_response_is_seen_and_what_is_no_response_is_refused() {
    let (interceptors, _) = served(rule()).await;
    let embedded = json!({ "content": [{ "type": "resource", "resource": { "uri": "a:b", "text": "a secret" } }] });
    let changed = invoke(&interceptors, "hookhost/change", "response", embedded).await;
    assert_eq!(changed["result"]["payload"]["content"][0]["resource"]["text"], "a ***", "{changed}");
    let structured = json!({ "content": [], "structuredContent": { "text": "a secret" } });
    let changed = invoke(&interceptors, "hookhost/change", "response", structured).await;
    assert_eq!(changed["error"]["code"], -32603, "no text can take its place: {changed}");
    for odd in [json!({ "result": { "content": [] } }), json!({ "content": "a secret" }), json!({ "isError": true })] {
        let answer = invoke(&interceptors, "hookhost/check", "response", odd.clone()).await;
        assert_eq!(answer["error"]["code"], -32603, "{odd}: {answer}");
    }
}

#[tokio::test]
async fn a_no_counts_where_a_failure_would_not_and_a_question_is_a_no_at_once() {
    let ask_or_deny = Rule::new().before_tool_call(|_, call: &ToolCall| match call.arguments.contains("asked") {
        true => Escalation::new("may it?").into(),
        false => ToolCallVerdict::Reject(Refusal::new("it is denied")),
    });
    let (host, _log) = host(ask_or_deny).await;
    let mut open = NamedInterceptor::new("open", InterceptorKind::Mutation);
    open.fail_open = true;
    let interceptors = Interceptors::of(host, "/work", "files", vec![open]);
    for path in ["denied", "asked"] {
        let params = json!({ "event": "tools/call", "phase": "request", "payload": call(path) });
        let chain = ask(&interceptors, "interceptor/executeChain", params).await["result"].clone();
        assert_eq!(chain["status"], "mutation_failed", "{path}: {chain}");
    }
}

/// The effect of a fixture's interceptor on the arguments of a payload.
type Behaviour = fn(&mut Value) -> Result<(), &'static str>;

fn behaviour(name: &str) -> Option<Behaviour> {
    Some(match name {
        "allow-all" => |_| Ok(()),
        "deny-all" => |_| Err("denied by policy"),
        "require-note" => |payload| match payload["arguments"]["note"].as_str() {
            Some(note) if !note.is_empty() => Ok(()),
            _ => Err("note is required"),
        },
        "require-uppercase-note" => |payload| match payload["arguments"]["note"].as_str() {
            Some(note) if note == note.to_uppercase() => Ok(()),
            _ => Err("note must be uppercase"),
        },
        "uppercase-note" => |payload| {
            if let Some(note) = payload["arguments"]["note"].as_str() {
                payload["arguments"]["note"] = json!(note.to_uppercase());
            }
            Ok(())
        },
        "crash" => |_| panic!("as the fixture asks"),
        _ => return None,
    })
}

/// Returns a rule with this behaviour for requests and responses.
fn rule_of(behaves: Behaviour) -> Rule {
    Rule::new()
        .before_tool_call(move |_, call: &ToolCall| {
            let mut payload = json!({ "arguments": call.arguments.read::<Value>().unwrap() });
            let before = payload.clone();
            match behaves(&mut payload) {
                Err(why) => ToolCallVerdict::Reject(Refusal::new(why)),
                Ok(()) if payload == before => ToolCallVerdict::Allow,
                Ok(()) => ToolCallVerdict::Modify(Json::from(&payload["arguments"])),
            }
        })
        .after_tool_call(move |_, ToolOutcome { tool_result: result, .. }: &ToolOutcome| {
            let mut payload: Value = result.raw.as_ref().unwrap().read().unwrap();
            let before = payload.clone();
            match behaves(&mut payload) {
                Err(why) => ToolResultVerdict::Reject(Refusal::new(why)),
                Ok(()) if payload == before => ToolResultVerdict::Keep,
                Ok(()) => ToolResultVerdict::Replace(ToolResult { raw: Some(Json::from(&payload)), ..result.clone() }),
            }
        })
}

/// Returns the interceptors of a fixture, or `None` if a behaviour in the fixture is unknown.
async fn of_fixture(fixture: &Value) -> Option<Interceptors> {
    let host = Host::builder(Config::empty()).build().await.unwrap();
    let mut all = Vec::new();
    for described in fixture["interceptors"].as_array().unwrap() {
        let text = |key: &str| described[key].as_str().unwrap_or_default();
        let rules = host.load_rules(&of_rule(rule_of(behaviour(text("behavior"))?))).await.unwrap();
        let kind = if text("type") == "mutation" { InterceptorKind::Mutation } else { InterceptorKind::Validation };
        let mut exposed = NamedInterceptor::new(text("name"), kind);
        exposed.events = described["events"].as_array().unwrap().iter().map(|e| e.as_str().unwrap().into()).collect();
        exposed.phases =
            Phase::from_name(text("phases")).map_or(vec![Phase::Request, Phase::Response], |one| vec![one]);
        exposed.audit = text("mode") == "audit";
        exposed.fail_open = described["failOpen"] == true;
        exposed.rules = Some(rules);
        all.push(exposed);
    }
    Some(Interceptors::of(host, "/work", "files", all))
}

/// Removes members whose values differ from run to run.
fn scrub(value: &mut Value, volatile: &Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, _| !volatile.as_array().unwrap().contains(&json!(key)));
            object.values_mut().for_each(|value| scrub(value, volatile));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| scrub(value, volatile)),
        _ => {}
    }
}

/// Replays a step, as the adapter contract of the fixtures requires.
async fn replay(interceptors: &Interceptors, step: &Value, volatile: &Value) -> Result<(), String> {
    let expected = &step["expect"];
    let same = |mut found: Value, canonical: &Value| {
        scrub(&mut found, volatile);
        let found = String::from_utf8(serde_json_canonicalizer::to_vec(&found).unwrap()).unwrap();
        if *canonical == found { Ok(()) } else { Err(format!("{found} is not {canonical}")) }
    };
    match step["op"].as_str().unwrap() {
        "list" => {
            let params = if step["event"].is_null() { json!({}) } else { json!({ "event": step["event"] }) };
            same(ask(interceptors, "interceptors/list", params).await["result"].clone(), &expected["canonical"])
        }
        "invoke" => {
            let answer = ask(interceptors, "interceptor/invoke", step["params"].clone()).await;
            if let Some(code) = expected.get("errorCode") {
                return if answer["error"]["code"] == *code { Ok(()) } else { Err(format!("{answer} is not {code}")) };
            }
            same(answer["result"].clone(), &expected["canonical"])
        }
        // Both words occur, in different versions of the fixtures.
        "chain" | "apply" => {
            let params = json!({
                "event": step["event"], "phase": step["phase"], "payload": step["payload"], "context": step["context"],
            });
            let result = ask(interceptors, "interceptor/executeChain", params).await["result"].clone();
            let decision = if result["status"] == "success" { "allow" } else { "deny" };
            if expected["decision"] != decision {
                return Err(format!("{result} is not {}", expected["decision"]));
            }
            match expected.get("finalPayloadCanonical") {
                Some(canonical) => same(result["finalPayload"].clone(), canonical),
                None => Ok(()),
            }
        }
        other => Err(format!("an unknown step: {other}")),
    }
}

fn fixtures(directory: &Path) -> Vec<(String, Value)> {
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let mut all: Vec<_> = files
        .map(|file| {
            let fixture = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            (file.file_stem().unwrap().to_string_lossy().into_owned(), fixture)
        })
        .collect();
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

/// Replays the fixtures of the directory `protocol`. The fixtures of the directory `behavior` are not replayed, because they need a rule
/// that follows data from server to server, and no plugin in this repository does that.
#[tokio::test]
async fn the_published_fixtures_of_the_protocol_are_replayed() {
    let Some(directory) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        println!("skipped: the fixtures are published; {VARIABLE} names their directory");
        return;
    };
    let (mut replayed, mut wrong) = (0, Vec::new());
    for (name, fixture) in fixtures(&directory.join("protocol")) {
        let Some(interceptors) = of_fixture(&fixture).await else { panic!("{name} has an unknown behaviour") };
        for step in fixture["steps"].as_array().unwrap() {
            if let Err(why) = replay(&interceptors, step, &fixture["volatile"]).await {
                wrong.push(format!("{name}: {why}"));
            }
        }
        replayed += 1;
    }
    assert!(replayed >= 14, "only {replayed} fixtures are in {}", directory.display());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
