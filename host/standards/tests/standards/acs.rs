//! `POST /acs`: tests a Guardian of the Agent Control Standard with the requests of an Observed Agent.

use crate::support::{Lab, SECRET, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hkdf::Hkdf;
use hmac::{Hmac, Mac as _};
use hookhost::contract::{Refusal, ToolCall, ToolCallVerdict};
use hookhost::native::Rule;
use hookhost_resident::http::{Token, serve};
use hookhost_standards::Acs;
use hookhost_standards::acs::signature::Secret;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::Sha256;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use uuid::Uuid;

const KEY: &[u8] = b"a secret of agent and Guardian, 1";
const SESSION: &str = "5c3f1b8e-9a0d-4c2e-8f4b-2d6a7e9c1b30";

/// An Observed Agent.
struct Agent {
    lab: Lab,
    address: SocketAddr,
    key: Option<&'static [u8]>,
    token: &'static str,
}

impl Agent {
    /// Creates an agent with a Guardian that refuses calls with the word `denied` and replaces `original` in calls.
    async fn new(key: Option<&'static [u8]>) -> Self {
        let rule = Rule::new().before_tool_call(|_, call: &ToolCall| {
            if call.arguments.contains("denied") {
                return ToolCallVerdict::Reject(Refusal::new("it is denied").code("test.denied"));
            }
            match call.arguments.contains("original") {
                true => ToolCallVerdict::Modify(call.arguments.replace("original", "changed").parse().unwrap()),
                false => ToolCallVerdict::Allow,
            }
        });
        let lab = Lab::new(rule).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acs = Acs::new(key.map(|key| Secret::new(key).unwrap()));
        let (home, never) = ("/work".into(), std::future::pending());
        tokio::spawn(serve(listener, Arc::clone(&lab.settler), Token::new(SECRET), vec![Arc::new(acs)], home, never));
        let token = if key.is_some() { "" } else { SECRET };
        Self { lab, address, key, token }
    }

    async fn send(&self, request: &Value) -> Value {
        let (status, body) = post(self.address, "/acs", self.token, &request.to_string()).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    async fn ask(&self, method: &str, payload: &Value) -> Value {
        self.send(&self.signed(request(method, payload))).await
    }

    async fn hello(&self) -> Value {
        self.ask(
            "handshake/hello",
            &json!({
                "acs_versions_supported": ["0.1.0"], "transports_supported": ["http", "stdio"],
                "methods_implemented": ["steps/toolCallRequest", "steps/userMessage", "agbom/snapshot", "system/ping"],
                "provenance_producer": "none", "profiles_supported": ["acs-core", "acs-trace"],
            }),
        )
        .await
    }

    fn signed(&self, mut request: Value) -> Value {
        if let Some(key) = self.key {
            let value = mac(key, &request);
            request["params"]["signature"] = json!({ "algorithm": "HMAC-SHA256", "value": value, "key_id": "default" });
        }
        request
    }
}

fn request(method: &str, payload: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": "1", "method": method, "params": {
        "acs_version": "0.1.0", "request_id": Uuid::now_v7().to_string(), "timestamp": Timestamp::now().to_string(),
        "metadata": { "agent_id": "a", "session_id": SESSION }, "payload": payload,
    } })
}

fn call(command: &str) -> Value {
    json!({ "tool": { "name": "Bash" }, "arguments": { "command": { "value": command }, "timeout": { "value": 10 } } })
}

fn mac(key: &[u8], envelope: &Value) -> String {
    let mut session_key = [0; 32];
    Hkdf::<Sha256>::new(None, key).expand(SESSION.as_bytes(), &mut session_key).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&session_key).unwrap();
    mac.update(&serde_json_canonicalizer::to_vec(envelope).unwrap());
    STANDARD.encode(mac.finalize().into_bytes())
}

fn code(response: &Value) -> i64 {
    response["error"]["code"].as_i64().unwrap_or_else(|| panic!("{response}"))
}

#[tokio::test]
async fn a_hook_is_answered_once_the_session_is_negotiated() {
    let agent = Agent::new(Some(KEY)).await;
    assert_eq!(code(&agent.ask("steps/toolCallRequest", &call("ls")).await), -32003);

    let hello = &agent.hello().await["result"];
    assert_eq!(hello["negotiated_version"], "0.1.0");
    assert_eq!(hello["methods_evaluated"], json!(["steps/toolCallRequest", "steps/userMessage", "system/ping"]));
    assert_eq!(hello["on_decision_failure"], "deny");
    assert_eq!(hello["profiles_accepted"], json!(["acs-core"]));
    assert_eq!(hello["payload"]["signature_algorithms_supported"], json!(["HMAC-SHA256"]));

    let allowed = &agent.ask("steps/toolCallRequest", &call("ls")).await["result"];
    assert_eq!((&allowed["type"], &allowed["decision"]), (&json!("final"), &json!("allow")));
    let denied = &agent.ask("steps/toolCallRequest", &call("echo denied")).await["result"];
    assert_eq!((&denied["decision"], &denied["reason_codes"]), (&json!("deny"), &json!(["test.denied"])));
    assert!(denied["reasoning"].as_str().unwrap().contains("it is denied"), "{denied}");
    let changed = &agent.ask("steps/toolCallRequest", &call("cat original")).await["result"];
    assert_eq!(changed["decision"], "modify");
    assert_eq!(changed["modifications"], json!({ "parameter_overrides": { "command": "cat changed" } }));
    assert_eq!(agent.lab.events("before-tool-call").len(), 3);

    agent.ask("steps/sessionEnd", &json!({ "reason": "completed" })).await;
    assert_eq!(code(&agent.ask("steps/toolCallRequest", &call("ls")).await), -32003);
}

#[tokio::test]
async fn the_command_beside_the_arguments_is_asked_about_as_a_shell_command() {
    let agent = Agent::new(Some(KEY)).await;
    agent.hello().await;
    let runner = |command: &str| json!({ "tool": { "name": "runner" }, "arguments": {}, "raw_command": command });
    assert_eq!(agent.ask("steps/toolCallRequest", &runner("ls")).await["result"]["decision"], "allow");
    assert_eq!(agent.ask("steps/toolCallRequest", &runner("echo denied")).await["result"]["decision"], "deny");
    let changed = &agent.ask("steps/toolCallRequest", &runner("cat original")).await["result"];
    assert_eq!((&changed["decision"], &changed["reason_codes"]), (&json!("deny"), &json!(["modify_unsupported"])));
}

#[tokio::test]
async fn what_is_not_signed_for_its_session_is_refused_and_answers_are_signed() {
    let agent = Agent::new(Some(KEY)).await;
    agent.hello().await;
    let unsigned = request("steps/toolCallRequest", &call("ls"));
    assert_eq!(code(&agent.send(&unsigned).await), -32004);
    let mut other = agent.signed(unsigned.clone());
    other["params"]["payload"] = call("rm -rf /");
    assert_eq!(code(&agent.send(&other).await), -32004);
    let other = Agent { key: Some(b"another secret of more than 32 bytes"), ..Agent::new(Some(KEY)).await };
    assert_eq!(code(&agent.send(&other.signed(unsigned.clone())).await), -32004);
    assert!(agent.lab.events("before-tool-call").is_empty());

    let mut response = agent.send(&agent.signed(unsigned)).await;
    let signature = response["result"].as_object_mut().unwrap().remove("signature").unwrap();
    assert_eq!(signature["value"], mac(KEY, &response));

    let pinged = &agent.send(&request("system/ping", &json!({ "echo": "x" }))).await["result"];
    assert_eq!((&pinged["decision"], &pinged["payload"]["echo"]), (&json!("allow"), &json!("x")));
    assert_eq!(pinged.get("signature"), None, "it could be shown as the answer to another request");
}

#[tokio::test]
async fn a_request_is_answered_once_and_only_while_it_is_fresh() {
    let agent = Agent::new(Some(KEY)).await;
    agent.hello().await;
    let first = agent.signed(request("steps/toolCallRequest", &call("ls")));
    assert_eq!(agent.send(&first).await["result"]["decision"], "allow");
    assert_eq!(code(&agent.send(&first).await), -32005);
    for minutes in [-10, 10] {
        let mut late = request("steps/toolCallRequest", &call("ls"));
        let sent = Timestamp::now() + SignedDuration::from_mins(minutes);
        late["params"]["timestamp"] = json!(sent.to_string());
        let refused = agent.send(&agent.signed(late)).await;
        assert_eq!((code(&refused), &refused["error"]["data"]["skew_window_ms"]), (-32006, &json!(300_000)));
    }
    assert_eq!(agent.lab.events("before-tool-call").len(), 1);
}

#[tokio::test]
async fn what_was_sent_before_the_guardian_began_is_refused() {
    let sent = request("system/hello", &json!({}));
    let agent = Agent::new(Some(KEY)).await;
    assert_eq!(code(&agent.send(&agent.signed(sent)).await), -32006);
}

#[tokio::test]
async fn what_cannot_be_settled_is_denied_and_what_is_no_request_is_an_error() {
    let agent = Agent::new(None).await;
    assert_eq!(agent.hello().await["result"]["profiles_accepted"], json!([]), "nothing is signed");
    agent.lab.break_configuration();
    let unsettled = &agent.ask("steps/toolCallRequest", &call("ls")).await["result"];
    assert_eq!((&unsettled["decision"], &unsettled["reason_codes"]), (&json!("deny"), &json!(["evaluation_failed"])));
    let without_tool = &agent.ask("steps/toolCallRequest", &json!({ "arguments": {} })).await["result"];
    assert_eq!(without_tool["decision"], "deny");
    assert_eq!(code(&agent.ask("protocols/MCP/tools/call", &json!({})).await), -32601);

    let mut other = request("steps/userMessage", &json!({}));
    other["params"]["acs_version"] = json!("1.0.0");
    assert_eq!(code(&agent.send(&other).await), -32001);
    for (body, expected) in [
        ("[]", -32600),
        ("{", -32700),
        (r#"{"jsonrpc":"2.0","method":"steps/userMessage","params":{}}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"steps/userMessage","params":{"a":1,"a":2}}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"steps/userMessage","params":{}}"#, -32602),
    ] {
        let (_, answer) = post(agent.address, "/acs", SECRET, body).await;
        assert_eq!(code(&serde_json::from_str(&answer).unwrap()), expected, "{body}");
    }
    let (status, _) = post(agent.address, "/acs", "", "{}").await;
    assert_eq!(status, 401, "without a secret of the standard it takes the token");
}

#[tokio::test]
async fn each_step_publishes_the_head_of_the_sessions_chain() {
    let agent = Agent::new(Some(KEY)).await;
    agent.hello().await;
    let first = agent.ask("steps/userMessage", &json!({ "content": "hello" })).await["result"]["chain_hash"].clone();
    let second = agent.ask("steps/userMessage", &json!({ "content": "hello" })).await["result"]["chain_hash"].clone();
    assert_eq!((first.as_str().unwrap().len(), second.as_str().unwrap().len()), (64, 64));
    assert_ne!(first, second);
}

#[tokio::test]
async fn an_integer_that_a_signature_does_not_tell_from_its_neighbour_is_refused() {
    let agent = Agent::new(Some(KEY)).await;
    agent.hello().await;
    let mut payload = call("ls");
    payload["arguments"]["timeout"]["value"] = json!(9_007_199_254_740_993_u64);
    assert_eq!(code(&agent.ask("steps/toolCallRequest", &payload).await), -32602);
    assert!(agent.lab.events("before-tool-call").is_empty());
}

#[tokio::test]
async fn a_request_that_is_refused_is_in_the_log_and_those_of_strangers_do_not_fill_it() {
    let agent = Agent::new(Some(KEY)).await;
    assert_eq!(code(&agent.ask("steps/toolCallRequest", &call("ls")).await), -32003);
    let noted = agent.lab.deliveries().await;
    assert!(noted.iter().any(|delivery| delivery.note.contains("-32003")), "{noted:?}");
    for _ in 0..3 {
        let refused = agent.send(&request("steps/toolCallRequest", &call("ls"))).await;
        assert_eq!((code(&refused), refused["error"].get("signature")), (-32004, None), "a stranger gets no signature");
    }
    let noted = agent.lab.deliveries().await;
    assert_eq!(noted.iter().filter(|delivery| delivery.note.contains("-32004")).count(), 1, "{noted:?}");
}

#[tokio::test]
async fn a_stranger_can_send_no_large_request_and_a_page_none() {
    let agent = Agent::new(Some(KEY)).await;
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(1024 * 1024));
    let (status, why) = post(agent.address, "/acs", "", &large).await;
    assert_eq!((status, why.as_str()), (400, "its message is larger than 1 MiB\n"));
    let (status, _) = post(agent.address, "/acs", SECRET, &large).await;
    assert_eq!(status, 200, "with the token it is read");
}

#[tokio::test]
async fn a_command_in_addition_to_the_arguments_is_never_left_as_it_was() {
    let agent = Agent::new(Some(KEY)).await;
    agent.hello().await;
    let mut twice = call("cat original");
    twice["raw_command"] = json!("cat original");
    let denied = &agent.ask("steps/toolCallRequest", &twice).await["result"];
    assert_eq!((&denied["decision"], &denied["reason_codes"]), (&json!("deny"), &json!(["modify_unsupported"])));
    assert!(denied["reasoning"].as_str().unwrap().contains("cat changed"), "{denied}");
    twice["raw_command"] = json!(["cat", "denied"]);
    assert_eq!(agent.ask("steps/toolCallRequest", &twice).await["result"]["decision"], "deny");
}

#[tokio::test]
async fn a_session_has_a_name_of_a_bounded_length_and_the_core_profile_has_no_wrapped_messages() {
    let agent = Agent::new(Some(KEY)).await;
    let hello = json!({
        "acs_versions_supported": ["0.1.0"], "transports_supported": ["http"], "profiles_supported": ["acs-core"],
        "wrapped_protocols": ["MCP"],
    });
    assert_eq!(agent.ask("handshake/hello", &hello).await["result"]["profiles_accepted"], json!([]));
    let unsigned = Agent::new(None).await;
    let mut long = request("handshake/hello", &hello);
    long["params"]["metadata"]["session_id"] = json!("s".repeat(257));
    assert_eq!(code(&unsigned.send(&long).await), -32602);
}
