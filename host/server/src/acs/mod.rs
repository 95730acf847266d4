//! A Guardian of the Agent Control Standard v0.1.0: `POST /acs`. Source: the specification "instrument" of
//! GenAI-Security-Project/agent-control-standard. What a hook means, and what is answered, is the adapter `acs`.
//!
//! | module | what it is |
//! |---|---|
//! | `envelope` | a request, its refusals, and a response |
//! | [`signature`] | the secret, and what it signs |
//! | `sessions` | what was negotiated, what has been seen, and the chain of hashes |
//!
//! It fails closed: what is not read, signed or fresh is an error of the standard, and what could not be settled is a `deny`.

mod envelope;
mod sessions;
pub mod signature;

use crate::settle::Settler;
use envelope::{Refusal, Request};
use hookhost_adapters::{Adapter, Message, by_name, json};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sessions::Sessions;
use signature::Secret;
use std::path::Path;

/// The version of the standard.
const VERSION: &str = "0.1.0";

/// How far a request's time may be from this machine's, in either direction.
const SKEW: SignedDuration = SignedDuration::from_secs(300);

/// How long the agent waits for a decision, in milliseconds.
const TIMEOUT_MS: u64 = 30_000;

const HELLO: &str = "handshake/hello";
const PING: &str = "system/ping";

/// A Guardian.
#[derive(Debug)]
pub struct Acs {
    secret: Option<Secret>,
    sessions: Sessions,
    /// What was sent before this process began may have been answered by the one before.
    began: Timestamp,
}

impl Acs {
    /// With a secret, each request but a ping has to be signed, and each response is. Without one neither is.
    #[must_use]
    pub fn new(secret: Option<Secret>) -> Self {
        Self { secret, sessions: Sessions::default(), began: Timestamp::now() }
    }

    /// Whether requests are authenticated by their signatures.
    pub(crate) fn is_signed(&self) -> bool {
        self.secret.is_some()
    }

    /// The response to a request, as JSON.
    pub(crate) async fn answer(&self, settler: &Settler, body: &[u8], home: &Path) -> String {
        let (response, session) = match self.response(settler, body, home).await {
            // Anybody can ping: a signature of its answer could be shown as one of a decision.
            Ok((request, result)) if request.method == PING => (request.response(result), None),
            Ok((request, result)) => (request.response(result), request.session),
            Err(refused) => (refused.refusal.response(&refused.id), refused.session),
        };
        self.signed(response, session.as_deref()).to_string()
    }

    async fn response(&self, settler: &Settler, body: &[u8], home: &Path) -> Result<(Request, Value), Refused> {
        let text = std::str::from_utf8(body).map_err(|_| Refusal::parse("the request is not UTF-8"))?;
        let envelope = json::value(text).map_err(|why| Refusal::parse(&why))?;
        let request = Request::of(&envelope)?;
        match self.result(settler, &envelope, &request, home).await {
            Ok(result) => Ok((request, result)),
            Err(refusal) => Err(Refused { refusal, id: request.id, session: request.session }),
        }
    }

    async fn result(
        &self,
        settler: &Settler,
        envelope: &Value,
        request: &Request,
        home: &Path,
    ) -> Result<Value, Refusal> {
        if request.method == PING {
            let echo = request.payload().get("echo").cloned();
            let server_timestamp = Timestamp::now().to_string();
            return Ok(json!({
                "decision": "allow",
                "payload": { "status": "ok", "echo": echo, "server_timestamp": server_timestamp },
            }));
        }
        if let Some(secret) = &self.secret {
            secret.verify(envelope, request.session()?).map_err(|why| Refusal::signature(&why))?;
        }
        request.check_version()?;
        let now = Timestamp::now();
        let sent = request.timestamp()?;
        if sent.duration_since(now).abs() > SKEW || sent < self.began {
            return Err(Refusal::out_of_window(SKEW));
        }
        self.sessions.see(request.session()?, request.request_id()?, now + SKEW + SKEW)?;
        if request.method == HELLO { self.hello(request) } else { self.step(settler, request, home).await }
    }

    /// A session begins: what both sides can.
    fn hello(&self, request: &Request) -> Result<Value, Refusal> {
        let hello = request.payload();
        let offered =
            |key: &str| hello.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        if !offered("acs_versions_supported").any(envelope::is_ours) {
            return Err(Refusal::version());
        }
        if !offered("transports_supported").any(|transport| transport == "http") {
            return Err(Refusal::session("the agent does not speak `http`, over which this Guardian is reached"));
        }
        let known = adapter().agent().points;
        let methods: Vec<&str> = offered("methods_implemented")
            .filter(|method| *method == PING || known.iter().any(|point| point.name == *method))
            .collect();
        let is_core = self.is_signed() && offered("profiles_supported").any(|profile| profile == "acs-core");
        let accepted: &[&str] = if is_core { &["acs-core"] } else { &[] };
        let algorithms: &[&str] = if self.is_signed() { &[signature::ALGORITHM] } else { &[] };
        let skew = u64::try_from(SKEW.as_millis()).unwrap_or(u64::MAX);
        let mut server = json!({
            "negotiated_version": VERSION,
            "methods_evaluated": methods,
            "selected_transport": "http",
            "signature_algorithms_supported": algorithms,
            "timeout_config": { "default_ms": TIMEOUT_MS },
            "skew_window_ms": skew,
            "on_decision_failure": "deny",
            // The name that an earlier text of 0.1.0 has for it.
            "on_timeout": "deny",
            "approver_types_supported": [],
            "policy_requires_provenance": false,
            "profiles_accepted": accepted,
        });
        self.sessions.begin(request.session()?);
        // Some agents look for it in the result, and some in the payload of a decision.
        let payload = server.clone();
        server["decision"] = json!("allow");
        server["payload"] = payload;
        Ok(server)
    }

    /// A hook: settled like the hook of any agent.
    async fn step(&self, settler: &Settler, request: &Request, home: &Path) -> Result<Value, Refusal> {
        let adapter = adapter();
        if adapter.agent().point(&request.method).is_none() {
            return Err(Refusal::method(&request.method));
        }
        let session = request.session()?;
        self.sessions.check(session, &request.method)?;
        let params = request.params.to_string();
        let mut message = Message::new(params.as_bytes(), home);
        message.point = Some(&request.method);
        let reply = settler.reply(adapter, &message, &|_| {}).await;
        let decided = json::object(reply.stdout.as_bytes()).map(Value::Object);
        let mut result = decided.unwrap_or_else(|why| {
            let why = format!("hookhost's decision cannot be read: {why}");
            json!({ "decision": "deny", "reasoning": why, "reason_codes": ["evaluation_failed"] })
        });
        result["metadata"] = json!({ "evaluator": "deterministic", "evaluator_version": env!("CARGO_PKG_VERSION") });
        result["chain_hash"] = json!(self.sessions.append(session, request)?);
        if request.method == "steps/sessionEnd" {
            self.sessions.end(session);
        }
        Ok(result)
    }

    fn signed(&self, response: Value, session: Option<&str>) -> Value {
        match (&self.secret, session) {
            (Some(secret), Some(session)) => secret.sign(response, session),
            _ => response,
        }
    }
}

fn adapter() -> &'static dyn Adapter {
    // The list of adapters is static, and a test finds this one in it.
    by_name("acs").unwrap_or(hookhost_adapters::all()[0])
}

/// A request that is refused, and what is known of it.
struct Refused {
    refusal: Refusal,
    id: Value,
    session: Option<String>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, id: Value::Null, session: None }
    }
}
