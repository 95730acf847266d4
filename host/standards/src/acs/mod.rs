//! A Guardian, which is a server of the Agent Control Standard v0.1.0 that decides on agents' requests. It answers `POST /acs`.
//! Source: the specification "instrument" of GenAI-Security-Project/agent-control-standard. The adapter `acs` decodes hook calls
//! and encodes the replies.
//!
//! | module | what it is |
//! |---|---|
//! | `envelope` | a request, its refusals, and a response |
//! | [`signature`] | the secret, and the signatures made with it |
//! | `sessions` | negotiated sessions, the requests already seen, and the chain of hashes |
//!
//! The Guardian fails closed. A request that is unreadable, unsigned or stale gets an error that the standard defines. If hookhost
//! cannot decide on an event, the decision is `deny`.

mod envelope;
mod sessions;
pub mod signature;

use envelope::{Refusal, Request};
use hookhost_agents::{Adapter, Message, by_name, json};
use hookhost_resident::Settler;
use hookhost_resident::deadlines::ClientTimeout;
use hookhost_resident::http::{Endpoint, EndpointAnswer};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sessions::NegotiatedSessions;
use signature::Secret;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The version of the standard.
const VERSION: &str = "0.1.0";

/// Maximum difference between a request's time and the clock of this machine, in either direction.
const SKEW: SignedDuration = SignedDuration::from_secs(300);

/// Time that the agent waits for a decision, in milliseconds.
const DECISION_TIMEOUT_MS: u64 = 30_000;

const HELLO: &str = "handshake/hello";
const PING: &str = "system/ping";

/// Maximum length of a session's id, in bytes.
const MAX_SESSION_ID: usize = 256;

/// Minimum interval between records of unauthenticated requests.
const NOTE_INTERVAL: Duration = Duration::from_secs(60);

/// A Guardian.
#[derive(Debug)]
pub struct Acs {
    secret: Option<Secret>,
    sessions: NegotiatedSessions,
    unauthenticated: Mutex<UnauthenticatedRequests>,
    /// The time at which this process started. Requests that were sent before this time are refused, because an earlier process may have
    /// answered them.
    started: Timestamp,
}

impl Acs {
    /// Creates a Guardian. With a secret, all requests except pings must be signed, and the Guardian signs its responses to agents. Without
    /// a secret, requests need no signature, and responses have none.
    #[must_use]
    pub fn new(secret: Option<Secret>) -> Self {
        Self {
            secret,
            sessions: NegotiatedSessions::default(),
            unauthenticated: Mutex::default(),
            started: Timestamp::now(),
        }
    }

    /// Returns true if requests are authenticated by their signatures.
    fn is_signed(&self) -> bool {
        self.secret.is_some()
    }

    /// Answers a request with a response in JSON. `timeout` is the time that the agent waits.
    async fn respond(&self, settler: &Settler, body: &[u8], home: &Path, timeout: ClientTimeout) -> String {
        let (response, session) = match self.response(settler, body, home, timeout).await {
            // The answer to a ping is not signed. Anybody can send a ping, and could pass off a signed answer as a signed decision.
            Ok((request, result)) if request.method == PING => (request.response(result), None),
            Ok((request, result)) => (request.response(result), request.session),
            Err(RefusedRequest { refusal, id, session, is_known }) => {
                // The agent may continue after an error. In that case, this record is the only trace of the event.
                self.note(settler, home, is_known, &refusal.sentence());
                // An unauthenticated sender must not get a signature for a text that contains an `id` of its choice.
                (refusal.response(&id), session.filter(|_| is_known))
            }
        };
        self.signed(response, session.as_deref()).to_string()
    }

    /// Records that hookhost did not decide on a request. Unauthenticated requests are counted instead of recorded one by one,
    /// because they could otherwise fill the log.
    fn note(&self, settler: &Settler, home: &Path, is_known: bool, why: &str) {
        if is_known {
            settler.note_unread("acs", home, why);
            return;
        }
        let mut unauthenticated = self.unauthenticated.lock().unwrap_or_else(PoisonError::into_inner);
        unauthenticated.count += 1;
        if unauthenticated.noted.is_none_or(|noted| noted.elapsed() >= NOTE_INTERVAL) {
            let count = std::mem::take(&mut unauthenticated.count);
            unauthenticated.noted = Some(Instant::now());
            let before =
                if count > 1 { format!("; {count} such requests since the last record") } else { String::new() };
            settler.note_unread("acs", home, &format!("{why}{before}"));
        }
    }

    async fn response(
        &self,
        settler: &Settler,
        body: &[u8],
        home: &Path,
        timeout: ClientTimeout,
    ) -> Result<(Request, Value), RefusedRequest> {
        let is_known = !self.is_signed();
        let refused = |refusal| RefusedRequest { refusal, id: Value::Null, session: None, is_known };
        let text = std::str::from_utf8(body).map_err(|_| refused(Refusal::parse("the request is not UTF-8")))?;
        let mut envelope = json::value(text).map_err(|why| refused(Refusal::parse(&why)))?;
        let is_ping = envelope["method"] == PING;
        if is_known || is_ping {
            let request = Request::of(envelope).map_err(refused)?;
            let result = if is_ping { Ok(pong(&request)) } else { self.result(settler, &request, home, timeout).await };
            return match result {
                Ok(result) => Ok((request, result)),
                Err(refusal) => Err(RefusedRequest { refusal, id: request.id, session: request.session, is_known }),
            };
        }
        self.verify(&mut envelope).map_err(refused)?;
        let refused = |refusal| RefusedRequest { refusal, id: Value::Null, session: None, is_known: true };
        let request = Request::of(envelope).map_err(refused)?;
        match self.result(settler, &request, home, timeout).await {
            Ok(result) => Ok((request, result)),
            Err(refusal) => Err(RefusedRequest { refusal, id: request.id, session: request.session, is_known: true }),
        }
    }

    /// Removes the signature from an envelope and verifies the signature.
    fn verify(&self, envelope: &mut Value) -> Result<(), Refusal> {
        let Some(secret) = &self.secret else { return Ok(()) };
        let session = envelope["params"]["metadata"]["session_id"].as_str().unwrap_or_default().to_owned();
        if session.is_empty() {
            return Err(Refusal::params("`metadata.session_id` is missing"));
        }
        let signature = envelope["params"].as_object_mut().and_then(|params| params.remove("signature"));
        secret.verify(envelope, signature.as_ref(), &session).map_err(|why| Refusal::signature(&why))?;
        if signature::is_ambiguous(envelope) {
            // The canonical form writes an integer beyond ±(2^53 - 1) as the nearest double, so the signature would also fit other
            // numbers.
            return Err(Refusal::params("an integer lies beyond ±(2^53 - 1): send it as a text"));
        }
        Ok(())
    }

    async fn result(
        &self,
        settler: &Settler,
        request: &Request,
        home: &Path,
        timeout: ClientTimeout,
    ) -> Result<Value, Refusal> {
        let session = request.session()?;
        if session.len() > MAX_SESSION_ID {
            return Err(Refusal::params(&format!("`metadata.session_id` is longer than {MAX_SESSION_ID} bytes")));
        }
        request.check_version()?;
        let now = Timestamp::now();
        let sent = request.timestamp()?;
        if sent.duration_since(now).abs() > SKEW || sent < self.started {
            return Err(Refusal::out_of_window(SKEW));
        }
        self.sessions.see(session, request.request_id()?, now + SKEW + SKEW)?;
        if request.method == HELLO { self.hello(request) } else { self.step(settler, request, home, timeout).await }
    }

    /// Begins a session. Agrees with the agent on the version, the methods and the transport.
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
        // If the agent wraps other protocols, the profile `acs-core` also requires methods for the agent's MCP messages. This Guardian does
        // not have such methods.
        let wraps = offered("wrapped_protocols").next().is_some();
        let is_core = self.is_signed() && !wraps && offered("profiles_supported").any(|profile| profile == "acs-core");
        let accepted: &[&str] = if is_core { &["acs-core"] } else { &[] };
        let algorithms: &[&str] = if self.is_signed() { &[signature::ALGORITHM] } else { &[] };
        let skew = u64::try_from(SKEW.as_millis()).unwrap_or(u64::MAX);
        let mut server = json!({
            "negotiated_version": VERSION,
            "methods_evaluated": methods,
            "selected_transport": "http",
            "signature_algorithms_supported": algorithms,
            "timeout_config": { "default_ms": DECISION_TIMEOUT_MS },
            "skew_window_ms": skew,
            "on_decision_failure": "deny",
            // An earlier draft of version 0.1.0 uses this name for the member above.
            "on_timeout": "deny",
            "approver_types_supported": [],
            "policy_requires_provenance": false,
            "profiles_accepted": accepted,
        });
        self.sessions.begin(request.session()?);
        // Some agents read these members from the result, and other agents read them from the payload of a decision.
        let payload = server.clone();
        server["decision"] = json!("allow");
        server["payload"] = payload;
        Ok(server)
    }

    /// Decides on a hook call, in the same way as on the hook call of any other agent.
    async fn step(
        &self,
        settler: &Settler,
        request: &Request,
        home: &Path,
        timeout: ClientTimeout,
    ) -> Result<Value, Refusal> {
        let adapter = adapter();
        if adapter.agent().point(&request.method).is_none() {
            return Err(Refusal::method(&request.method));
        }
        let session = request.session()?;
        self.sessions.check(session, &request.method)?;
        let params = request.params.to_string();
        let mut message = Message::new(params.as_bytes(), home);
        message.point = Some(&request.method);
        let reply = match timeout {
            Ok(timeout) => {
                message.within = timeout;
                settler.reply(adapter, &message, &|_| {}).await
            }
            Err(why) => settler.reply_to_unread(adapter, Some(&request.method), home, why),
        };
        let decided = json::object(reply.stdout.as_bytes()).map(Value::Object);
        let mut result = decided
            .unwrap_or_else(|why| denied("evaluation_failed", &format!("hookhost's decision cannot be read: {why}")));
        if self.is_signed() && signature::is_ambiguous(&result) {
            let why = "A plugin gave an integer beyond ±(2^53 - 1). A signature cannot distinguish such an integer from its neighbours.";
            result = denied("modify_unsupported", why);
        }
        result["metadata"] = json!({ "evaluator": "deterministic", "evaluator_version": env!("CARGO_PKG_VERSION") });
        // If the session has ended meanwhile, it no longer has a chain of hashes, but the decision is still valid.
        if let Some(head) = self.sessions.append(session, request) {
            result["chain_hash"] = json!(head);
        }
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

impl Endpoint for Acs {
    fn path(&self) -> &'static str {
        "acs"
    }

    fn authenticates(&self) -> bool {
        self.is_signed()
    }

    fn answer<'a>(
        &'a self,
        settler: &'a Settler,
        body: &'a [u8],
        home: &'a Path,
        timeout: ClientTimeout,
    ) -> Pin<Box<dyn Future<Output = EndpointAnswer> + Send + 'a>> {
        Box::pin(async move { EndpointAnswer::json(self.respond(settler, body, home, timeout).await) })
    }

    fn note_unread(&self, settler: &Settler, home: &Path, has_token: bool, why: &str) {
        self.note(settler, home, has_token, why);
    }
}

fn adapter() -> &'static Adapter {
    // The list of adapters is static, and a test checks that it contains this adapter.
    by_name("acs").unwrap_or(hookhost_agents::all()[0])
}

fn pong(request: &Request) -> Value {
    let echo = request.payload().get("echo").cloned();
    let server_timestamp = Timestamp::now().to_string();
    json!({
        "decision": "allow",
        "payload": { "status": "ok", "echo": echo, "server_timestamp": server_timestamp },
    })
}

fn denied(code: &str, why: &str) -> Value {
    json!({ "decision": "deny", "reasoning": why, "reason_codes": [code] })
}

/// Counts requests from senders that do not know the secret.
#[derive(Debug, Default)]
struct UnauthenticatedRequests {
    /// Number of such requests since the last record.
    count: u64,
    /// The time of the last record.
    noted: Option<Instant>,
}

/// A refused request, with the fields that could be read.
struct RefusedRequest {
    refusal: Refusal,
    id: Value,
    session: Option<String>,
    /// True if the request is authenticated.
    is_known: bool,
}
