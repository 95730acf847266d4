//! Subscriptions of revision 2026-07-28: a request whose answer ends them, and until then notifications that name it.

use super::listen::Listening;
use super::service::{self, Service};
use super::{LONG, Proxied, text, tool, user};
use hookhost_tests::User;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Instant;

const TAG: &str = "io.modelcontextprotocol/subscriptionId";

/// What a request for a subscription says.
fn wanted(ends: &str) -> Value {
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} });
    json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": [ends] }, "_meta": meta })
}

fn told(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc": "2.0","method":"notifications/{method}","params":{{"_meta":{{"{TAG}":$id}}{params}}}}}"#)
}

/// A server that agrees to a subscription, tells something on it, and says these lines when it is asked to.
fn script(ends: &[&str]) -> Value {
    let open = [
        told("subscriptions/acknowledged", r#","notifications":{"toolsListChanged":true}"#),
        told("resources/updated", r#","uri":"file:///a""#),
        told("tools/list_changed", ""),
    ];
    let mut end: Vec<&str> = ends.to_vec();
    end.push(r#"{"jsonrpc":"2.0","id":$id,"result":{}}"#);
    let rules = json!([{ "on": "subscriptions/listen", "say": open }, { "on": "end", "say": end }]);
    json!({ "tools": [tool("say", "says"), tool("write", "writes")], "rules": rules })
}

/// Opens a subscription as the first request; what comes on it before anything else happens.
fn subscribed(user: &User, ends: &[&str]) -> (Proxied, [String; 3]) {
    let mut proxied = Proxied::start(user, &script(ends));
    assert_eq!(proxied.request("subscriptions/listen", &wanted("file:///a")), 1);
    let told = [proxied.next_line(), proxied.next_line(), proxied.next_line()];
    (proxied, told)
}

/// Whether the identifier of the subscription is that of a request under way.
fn is_taken(proxied: &mut Proxied) -> bool {
    proxied.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    let answer = proxied.next();
    assert!(
        answer["id"] == 1 || answer["error"]["message"].as_str().unwrap().contains("a pending request"),
        "{answer}"
    );
    answer["id"] != 1
}

#[test]
fn what_is_told_on_a_subscription_passes_as_it_is_until_its_answer_frees_the_id() {
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","_meta":{{"{TAG}":1}}}}}}"#);
    let user = user();
    let (mut proxied, lines) = subscribed(&user, &[&answer]);
    let sent = script(&[])["rules"][0]["say"].to_string().replace("$id", "1");
    assert_eq!(json!(lines).to_string(), sent, "in order, byte for byte");
    assert_eq!(proxied.listed(), ["say", "write"]);
    assert_eq!(text(&proxied.call("say", &json!({}))), "ran say {}", "others are answered meanwhile");
    assert!(is_taken(&mut proxied));
    proxied.request("end", &json!({}));
    assert_eq!(proxied.next_line(), answer);
    assert_eq!(proxied.next()["result"], json!({}));
    assert!(!is_taken(&mut proxied));
}

#[test]
fn a_server_that_ends_a_subscription_by_a_notification_frees_its_id_at_once() {
    let end = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"bye"}}"#;
    let late = r#"{"jsonrpc":"2.0","id":1,"result":{"late":true}}"#;
    let user = user();
    let (mut proxied, _) = subscribed(&user, &[end, late]);
    proxied.request("end", &json!({}));
    assert_eq!(proxied.next_line(), end);
    assert_eq!(proxied.next()["id"], 2, "a late answer is one that nobody asked for");
    assert!(!is_taken(&mut proxied));
    assert!(proxied.end().1.contains("answered 1, which is no pending request"));
}

#[test]
fn a_subscription_whose_answer_cannot_be_read_is_told_nothing_more() {
    let unreadable = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#;
    let user = User::new();
    let (mut proxied, _) = subscribed(&user, &[unreadable]);
    assert_eq!(proxied.listed(), [""; 0]);
    assert_eq!(proxied.request("end", &json!({})), 3);
    let error = proxied.next();
    assert!(error["id"] == 1 && error["error"].is_object(), "{error}");
    assert_eq!(proxied.next()["id"], 3);
    assert_eq!(proxied.request("subscriptions/listen", &wanted("file:///b")), 4);
    (0..3).for_each(|_| drop(proxied.next_line()));
    user.run(["mcp", "approve", "files", "--yes"]).expect(0, &[]);
    assert_eq!(proxied.next()["params"]["_meta"][TAG], 4);
    assert_eq!(proxied.listed(), ["say", "write"]);
    assert!(proxied.others.is_empty(), "{:?}", proxied.others);
}

#[test]
fn a_server_cannot_end_another_request_by_a_notification() {
    let end = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let rules = json!([{ "on": "slow", "say": [end] }]);
    let user = user();
    let mut proxied = Proxied::start(&user, &json!({ "rules": rules }));
    proxied.request("slow", &json!({}));
    assert_eq!(proxied.next_line(), end);
    assert!(is_taken(&mut proxied));
}

#[test]
fn a_client_that_cancels_a_subscription_is_told_nothing_more_of_approvals() {
    let user = User::new();
    let (mut proxied, _) = subscribed(&user, &[]);
    assert_eq!(proxied.listed(), [""; 0]);
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    assert_eq!(proxied.request("subscriptions/listen", &wanted("file:///b")), 3);
    (0..3).for_each(|_| drop(proxied.next_line()));
    assert_eq!(proxied.told_of("notifications/cancelled")[0]["params"]["requestId"], 1);
    user.run(["mcp", "approve", "files", "--yes"]).expect(0, &[]);
    assert_eq!(proxied.next()["params"]["_meta"][TAG], 3);
    assert_eq!(proxied.listed(), ["say", "write"]);
    assert!(proxied.others.is_empty(), "{:?}", proxied.others);
}

/// Cancels the first subscription, and waits until the server has been told.
fn cancel(proxied: &mut Proxied) {
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    assert_eq!(proxied.told_of("notifications/cancelled")[0]["params"]["requestId"], 1);
}

#[test]
fn the_id_of_a_cancelled_subscription_is_free_once_the_server_has_ended_it_and_no_end_is_taken_for_another_ones() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#;
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":0,"message":"Request cancelled"}}"#;
    let unreadable = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#;
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let user = user();
    for end in [answer, error, unreadable, notification] {
        let (mut proxied, _) = subscribed(&user, &[end]);
        cancel(&mut proxied);
        assert!(is_taken(&mut proxied), "a late answer would be taken for the new request's");
        let ended = proxied.request("end", &json!({}));
        assert_eq!(proxied.next()["id"], ended, "the client has ended it before: {end}");
        assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
        assert!(!is_taken(&mut proxied) && proxied.others.is_empty(), "{end}");
    }
}

#[test]
fn a_server_that_ends_a_cancelled_subscription_late_ends_no_other_request() {
    let end = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let user = user();
    let (mut proxied, _) = subscribed(&user, &[r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
    cancel(&mut proxied);
    proxied.ask("end", &json!({}));
    proxied.rewrite(&json!({ "rules": [{ "on": "slow", "say": [end] }] }));
    proxied.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "slow" }));
    assert_eq!(proxied.next_line(), end, "it is the server's own, or is about nothing");
    assert!(is_taken(&mut proxied));
}

#[test]
fn a_service_whose_stream_was_closed_frees_the_id_at_once() {
    let (user, service) = (user(), Service::start());
    let mut proxied = service::start(&user, &service);
    for _ in 0..3 {
        let listen = json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": wanted("open") });
        let since = Instant::now();
        loop {
            proxied.send(&listen);
            let told = proxied.next();
            if told["params"]["_meta"][TAG] == "s" {
                break;
            }
            // The stream that was cancelled is still being closed.
            assert!(told["error"]["message"].as_str().unwrap().contains("a pending request"), "{told}");
            assert!(since.elapsed() < LONG, "the id is taken for ever");
        }
        assert_eq!(proxied.next()["params"]["uri"], "file:///a");
        proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "s" } }));
    }
    closed(&service, 3);
}

#[test]
fn a_service_ends_a_subscription_on_its_own_stream_alone() {
    let (user, service) = (user(), Service::start());
    let mut proxied = service::start(&user, &service);
    let listen = json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": wanted("open") });
    proxied.send(&listen);
    assert_eq!(proxied.next()["params"]["_meta"][TAG], "s");
    assert_eq!(proxied.next()["params"]["uri"], "file:///a");
    assert!(proxied.ask("ends-another", &json!({}))["result"].is_object());
    assert!(proxied.others.is_empty(), "{:?}", proxied.others);
    proxied.send(&listen);
    assert!(
        proxied.next()["error"]["message"].as_str().unwrap().contains("a pending request"),
        "its id is still taken"
    );
}

#[test]
fn a_change_of_withheld_tools_alone_is_a_message_after_which_the_listing_is_the_same() {
    let user = user();
    user.configure(&(super::FIRST_USE.to_owned() + "[mcp-proxy.servers.files]\nforbidden-tools = [\"write*\"]\n"));
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let rules = json!([{ "on": "go", "say": [changed, r#"{"jsonrpc":"2.0","id":$id,"result":{}}"#] }]);
    let mut proxied = Proxied::start(&user, &json!({ "tools": [tool("say", "says")], "rules": rules }));
    proxied.begin(&json!({}));
    let mut list = || {
        proxied.send_line(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#);
        let listed = proxied.next_line();
        proxied.ask("go", &json!({}));
        (listed, proxied.others.drain(..).collect::<Vec<_>>(), proxied.script.clone())
    };
    let (same, told, script) = list();
    assert_eq!(told, [serde_json::from_str::<Value>(changed).unwrap()]);
    for hidden in [tool("write", "writes"), tool("write", "writes more"), tool("write_all", "writes")] {
        std::fs::write(&script, json!({ "tools": [tool("say", "says"), hidden], "rules": rules }).to_string()).unwrap();
        let (listed, now, _) = list();
        assert_eq!((listed, now), (same.clone(), told.clone()), "{hidden}");
    }
}

#[test]
fn subscribers_are_told_of_an_approval_and_of_withheld_tools_nothing() {
    let user = User::new();
    let (mut proxied, _) = subscribed(&user, &[]);
    assert_eq!(proxied.listed(), [""; 0]);
    let hidden = proxied.call("write", &json!({}))["result"]["isError"].clone();
    assert_eq!((hidden, proxied.others.len()), (json!(true), 0));
    user.run(["mcp", "approve", "files", "say", "--yes"]).expect(0, &[]);
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed",
        "params": { "_meta": { TAG: 1 } } });
    assert_eq!(proxied.next(), changed, "nothing but that it has changed");
    assert_eq!(proxied.listed(), ["say"]);
    assert!(proxied.call("write", &json!({}))["result"]["isError"] == true && proxied.others.is_empty());
}

#[test]
fn a_subscription_at_a_service_is_a_stream_that_ends_as_the_service_says() {
    let (user, service) = (user(), Service::start());
    let mut proxied = service::start(&user, &service);
    for ends in ["answered", "cancelled", "broken"] {
        let id = proxied.request("subscriptions/listen", &wanted(ends));
        for method in ["subscriptions/acknowledged", "resources/updated"] {
            let told = proxied.next();
            assert_eq!(told["method"], format!("notifications/{method}"));
            assert_eq!(told["params"]["_meta"][TAG], id);
        }
        let end = proxied.next();
        let is_as_said = match ends {
            "answered" => end["id"] == id && end["result"]["resultType"] == "complete",
            "cancelled" => end["method"] == "notifications/cancelled" && end["params"]["requestId"] == id,
            _ => end["id"] == id && end["error"].is_object(),
        };
        assert!(is_as_said, "{ends}: {end}");
        assert_eq!(proxied.ask("ping", &json!({}))["result"], json!({}));
    }
    let headers = &service.got("subscriptions/listen")[0].headers;
    assert_eq!(
        (headers["mcp-method"].as_str(), headers["mcp-protocol-version"].as_str()),
        ("subscriptions/listen", "2026-07-28")
    );
    assert!(!proxied.end().1.contains("no pending request"));
}

/// Waits until a client of the service has closed so many streams.
fn closed(service: &Service, streams: usize) {
    let since = Instant::now();
    while service.got("closed").len() < streams {
        assert!(since.elapsed() < LONG, "the stream is still open");
    }
}

#[test]
fn the_stream_of_a_service_is_closed_when_the_client_cancels_and_when_it_ends() {
    let (user, service) = (user(), Service::start());
    let mut proxied = service::start(&user, &service);
    let id = proxied.request("subscriptions/listen", &wanted("open"));
    assert!(proxied.next()["params"]["_meta"][TAG] == id && proxied.next()["params"]["uri"] == "file:///a");
    proxied.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    closed(&service, 1);
    proxied.request("subscriptions/listen", &wanted("open"));
    assert!(proxied.next()["params"]["notifications"]["toolsListChanged"] == true && proxied.next()["id"].is_null());
    let since = Instant::now();
    assert_eq!(proxied.end().0, Some(0));
    assert!(since.elapsed().as_secs() < 9, "it waits for a stream that does not end: {:?}", since.elapsed());
    closed(&service, 2);
}

#[test]
fn a_client_over_http_gets_the_stream_and_ends_it_by_going() {
    let (user, service) = (user(), Service::start());
    let listening = Listening::start(&user, &service, &[]);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    let request = |id: i64, ends: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": wanted(ends) });
    for ends in ["answered", "cancelled", "broken"] {
        // All that comes until the stream ends.
        let got = listening.post(&headers, &request(7, ends)).messages;
        assert_eq!((got.len(), &got[0]["params"]["_meta"][TAG]), (3, &json!(7)), "{ends}: {got:?}");
        assert_eq!(got[1]["method"], "notifications/resources/updated");
        assert_eq!(got[2]["error"].is_object(), ends == "broken", "{got:?}");
    }
    closed(&service, 2);
    let mut stream = TcpStream::connect(&listening.address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let body = request(8, "open").to_string();
    let head: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\n{head}content-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut lines = BufReader::new(&stream).lines().map(Result::unwrap);
    let told: Vec<_> = lines.by_ref().filter(|line| line.starts_with("data: ")).take(2).collect();
    assert!(told[0].contains("acknowledged") && told[1].contains("resources/updated"), "{told:?}");
    assert_eq!(service.got("closed").len(), 2, "it is open");
    drop(lines);
    drop(stream);
    closed(&service, 3);
}
