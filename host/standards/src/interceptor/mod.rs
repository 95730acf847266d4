//! A chain as an interceptor of MCP: `interceptors/list`, `interceptor/invoke` and `interceptor/executeChain`, as JSON-RPC. Source:
//! modelcontextprotocol/experimental-ext-interceptors (SEP-1763, SEP-2624), a draft.
//!
//! In the draft, an interceptor is a validator or a mutator; a chain is both. So each chain has two names: the mutator changes a
//! payload, and the validator decides if it may pass. When both are asked about one payload, the plugins are asked only once.
//!
//! | module | what it is |
//! |---|---|
//! | [`exposed`] | a named interceptor: its type, its events, and its rules |
//! | `payload` | converts a payload to an event, and an outcome to a payload |
//! | `execute` | runs several interceptors in the order of the draft |

mod execute;
pub mod exposed;
mod payload;

use crate::call_key::digest;
use crate::events::{Said, said};
use crate::once::json_length;
use exposed::{Exposed, Kind, Phase};
use hookhost::audit::DeliveryKind;
use hookhost::contract::{Cause, Rejection};
use hookhost::session::DispatchOptions;
use hookhost::{Host, Session, SessionSpec};
use payload::Asked;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The name of the extension, with which both sides declare their support.
const EXTENSION: &str = "io.modelcontextprotocol/interceptors";

/// The session of a client that names none.
const NO_SESSION: &str = "mcp";

/// The error code for an interceptor that took longer than the invoker waits, from the extension's repository. A later draft uses
/// -32603 here, with the same reason.
const TOO_LATE: i32 = -32_000;

/// The reason in that error.
const TIMEOUT: &str = "timeout";

/// Maximum number of kept session handles. A session outlives its handle.
const MAX_SESSIONS: usize = 1000;

/// Maximum number of payloads per session that were settled under one name and not yet asked under the other.
const MAX_SETTLED: usize = 64;

/// Maximum size of their outcomes, in bytes. A payload with a larger outcome is settled again for the other name.
const MAX_SETTLED_BYTES: usize = 256 * 1024;

/// The outcome of a payload.
#[derive(Clone, Debug)]
enum Outcome {
    Passes,
    Becomes(Value),
    Denied {
        why: String,
        by: Vec<String>,
        code: Option<String>,
    },
    /// The payload could not be settled, for this reason; no plugin rejected it.
    Failed(String),
}

impl Outcome {
    /// Returns the size that counts towards [`MAX_SETTLED_BYTES`], in bytes.
    fn weight(&self) -> usize {
        match self {
            Self::Passes => 0,
            Self::Becomes(value) => json_length(value),
            Self::Denied { why, by, code } => why.len() + by.iter().chain(code).map(String::len).sum::<usize>(),
            Self::Failed(why) => why.len(),
        }
    }
}

/// One or more chains, served as interceptors.
#[derive(Debug)]
pub struct Interceptors {
    host: Host,
    workspace: PathBuf,
    /// The MCP server of the messages, as rules name it.
    server: String,
    exposed: Vec<Exposed>,
    sessions: Mutex<HashMap<(String, usize), Arc<Served>>>,
}

/// A session, and payloads settled under one name for the other.
#[derive(Debug)]
struct Served {
    session: Session,
    settled: Mutex<Vec<Settled>>,
}

/// A settled payload.
#[derive(Debug)]
struct Settled {
    /// Digest of the payload.
    key: [u8; 32],
    /// The index of the name that was asked. Its next question is about another message.
    by: usize,
    outcome: Outcome,
}

impl Interceptors {
    /// Serves the chain of `host` under the names `hookhost/change` and `hookhost/check`. `server` is the name of the MCP server that
    /// rules know.
    #[must_use]
    pub fn new(host: Host, workspace: impl Into<PathBuf>, server: impl Into<String>) -> Self {
        Self::of(host, workspace, server, vec![Exposed::change(), Exposed::check()])
    }

    /// Serves these interceptors in place of the two.
    #[must_use]
    pub fn of(host: Host, workspace: impl Into<PathBuf>, server: impl Into<String>, exposed: Vec<Exposed>) -> Self {
        Self { host, workspace: workspace.into(), server: server.into(), exposed, sessions: Mutex::default() }
    }

    /// Answers a request. Returns `None` for a notification.
    pub async fn answer(&self, request: &Value) -> Option<Value> {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        let Some(id) = request.get("id").filter(|id| !id.is_null()) else {
            let is_request = method.is_empty();
            return is_request
                .then(|| Fault::new(-32600, "a request is one JSON object with `method`").to_json(&Value::Null));
        };
        let none = Map::new();
        let params = request.get("params").and_then(Value::as_object).unwrap_or(&none);
        let result = match method {
            "initialize" => Ok(self.initialize(params)),
            "ping" => Ok(json!({})),
            "interceptors/list" => self.list(params),
            "interceptor/invoke" => self.invoke(params).await,
            "interceptor/executeChain" => self.execute(params).await,
            other => Err(Fault::new(-32601, format!("there is no method `{other}` here"))),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(fault) => fault.to_json(id),
        })
    }

    fn initialize(&self, params: &Map<String, Value>) -> Value {
        let version = params.get("protocolVersion").cloned().unwrap_or_else(|| json!("2025-11-25"));
        let events: Vec<&str> = self.exposed.iter().flat_map(|exposed| &exposed.events).map(String::as_str).collect();
        json!({
            "protocolVersion": version,
            "capabilities": {
                // The current draft's name, and the one before.
                "extensions": { EXTENSION: { "supportedEvents": events } },
                "interceptor": { "supportedEvents": events },
            },
            "serverInfo": { "name": "hookhost", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    fn list(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let event = params.get("event").and_then(Value::as_str);
        if event.is_some_and(|event| event.contains('*')) {
            return Err(Fault::new(-32602, "`event` is the name of one event: leave it out to list all interceptors"));
        }
        let listed = self.exposed.iter().filter(|exposed| event.is_none_or(|event| exposed.hooks(event)));
        Ok(json!({ "interceptors": listed.map(Exposed::descriptor).collect::<Vec<_>>() }))
    }

    async fn invoke(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let index = self.exposed.iter().position(|exposed| exposed.name == name);
        let index = index.ok_or_else(|| Fault::no_such(&json!(name)))?;
        let message = Intercepted::of(params)?;
        self.check_hook(index, &message)?;
        self.run(index, &message).await
    }

    /// Checks that an interceptor handles the event and the phase of a message.
    fn check_hook(&self, index: usize, message: &Intercepted) -> Result<(), Fault> {
        let exposed = &self.exposed[index];
        if exposed.hooks(&message.event) && exposed.phases.contains(&message.phase) {
            return Ok(());
        }
        let why = format!("{} is not for {} in the phase {}", exposed.name, message.event, message.phase.name());
        let data = json!({
            "name": exposed.name, "event": message.event, "phase": message.phase.name(),
            "advertisedHooks": exposed.descriptor()["hooks"],
        });
        Err(Fault { data: Some(data), ..Fault::new(-32602, why) }.of(exposed))
    }

    /// Runs one interceptor and returns its result.
    async fn run(&self, index: usize, message: &Intercepted) -> Result<Value, Fault> {
        let exposed = &self.exposed[index];
        let began = Instant::now();
        let outcome = self.outcome(index, message);
        let outcome = match message.limit {
            None => outcome.await,
            // The time of the chain is over, so no plugin is asked any more.
            Some(limit) if limit.until <= began => return Err(self.too_late(index, message, limit)),
            Some(limit) => {
                let in_time = tokio::time::timeout_at(limit.until.into(), outcome).await;
                in_time.map_err(|_| self.too_late(index, message, limit))?
            }
        };
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut result = match exposed.kind {
            Kind::Validation => validation(outcome, message.phase),
            Kind::Mutation => mutation(outcome, &message.payload),
        }
        .map_err(|fault| fault.of(exposed))?;
        result["interceptor"] = json!(exposed.name);
        result["type"] = json!(exposed.kind.name());
        result["phase"] = json!(message.phase.name());
        result["durationMs"] = json!(micros.div_ceil(1000));
        Ok(result)
    }

    /// Returns the error for plugins that took longer than the invoker waits. The event was dropped, so this function records it.
    fn too_late(&self, index: usize, message: &Intercepted, limit: Limit) -> Fault {
        let (name, phase) = (&self.exposed[index].name, message.phase.name());
        if let Ok(served) = self.served(index, message) {
            let point = format!("{}/{phase}", message.event);
            let why = format!("the {:?} that the invoker waits were over before {name} had an answer", limit.said);
            served.session.note_delivery(None, &point, DeliveryKind::Unanswered, &why);
        }
        let millis = u64::try_from(limit.said.as_millis()).unwrap_or(u64::MAX);
        let data = json!({ "interceptor": name, "reason": TIMEOUT, "timeoutMs": millis, "phase": phase });
        Fault { data: Some(data), ..Fault::new(TOO_LATE, "Interceptor execution timeout") }
    }

    async fn outcome(&self, index: usize, message: &Intercepted) -> Outcome {
        let served = match self.served(index, message) {
            Ok(served) => served,
            Err(why) => return Outcome::Failed(why),
        };
        let key_of = |payload: &Value| digest(&[&json!([message.event, message.phase.name(), payload]).to_string()]);
        let key = key_of(&message.payload);
        if let Some(outcome) = served.take(&key, index) {
            return outcome;
        }
        let outcome = self.settle(&served.session, message).await;
        // The other name will be asked about this payload: in a request about the changed payload, otherwise about the same one.
        if self.exposed.iter().filter(|exposed| exposed.shares(&self.exposed[index])).count() > 1 {
            let (key, kept) = match (&outcome, message.phase) {
                (Outcome::Becomes(after), Phase::Request) => (key_of(after), Outcome::Passes),
                _ => (key, outcome.clone()),
            };
            served.keep(Settled { key, by: index, outcome: kept });
        }
        outcome
    }

    async fn settle(&self, session: &Session, message: &Intercepted) -> Outcome {
        let asked = match Asked::of(message, &self.server) {
            Ok(asked) => asked,
            Err(why) => return Outcome::Failed(why),
        };
        let mut options = DispatchOptions::default();
        options.raw = serde_json::to_string(&message.payload).ok().and_then(|raw| raw.parse().ok());
        // A question counts as a rejection at once: the client cannot ask a person, and its other requests wait.
        let settled = match session.dispatch_event(asked.kind(), asked.parameters(), options).await {
            Ok(settled) => settled,
            Err(error) => return Outcome::Failed(format!("the event is not valid: {error}")),
        };
        match said(asked.kind(), settled.outcome) {
            Ok(Said::Value(value)) => asked.after(&value, &message.payload),
            Ok(Said::No(rejection)) => denied(&rejection),
            Ok(Said::Responded { by, .. }) => Outcome::Denied {
                why: "a plugin answers in the server's place, and an interceptor cannot".to_owned(),
                by: vec![by],
                code: None,
            },
            Ok(Said::Tasks(_) | Said::Nothing) => Outcome::Passes,
            Err(why) => Outcome::Failed(why),
        }
    }

    /// Returns the session of a message under the rules of a name. Names that share rules share the session.
    fn served(&self, index: usize, message: &Intercepted) -> Result<Arc<Served>, String> {
        let exposed = &self.exposed[index];
        let first = self.exposed.iter().position(|other| other.shares(exposed)).unwrap_or(index);
        let key = (message.session.clone(), first);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(served) = sessions.get(&key) {
            return Ok(Arc::clone(served));
        }
        if sessions.len() >= MAX_SESSIONS {
            sessions.clear();
        }
        let mut spec = SessionSpec::new("mcp-interceptor", &self.workspace).id(format!("{}.{first}", message.session));
        spec.rules.clone_from(&exposed.rules);
        let session = self.host.open_session(spec).map_err(|error| error.to_string())?;
        let served = Arc::new(Served { session, settled: Mutex::default() });
        sessions.insert(key, Arc::clone(&served));
        Ok(served)
    }
}

impl Served {
    /// Removes and returns the outcome of this payload that was settled under another name.
    fn take(&self, key: &[u8; 32], index: usize) -> Option<Outcome> {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let at = settled.iter().position(|settled| settled.key == *key && settled.by != index)?;
        Some(settled.remove(at).outcome)
    }

    fn keep(&self, new: Settled) {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        settled.retain(|old| old.key != new.key);
        settled.push(new);
        while settled.len() > MAX_SETTLED
            || settled.iter().map(|settled| settled.outcome.weight()).sum::<usize>() > MAX_SETTLED_BYTES
        {
            settled.remove(0);
        }
    }
}

fn denied(rejection: &Rejection) -> Outcome {
    match rejection.cause {
        Cause::Verdict | Cause::Disagreement | Cause::NotApproved | Cause::TooManyQuestions => {
            let Rejection { by, refusal, .. } = rejection.clone();
            Outcome::Denied { why: refusal.reason, by, code: refusal.code }
        }
        _ => Outcome::Failed(rejection.to_string()),
    }
}

/// Returns a validator's result. A validator changes nothing: an unmade change in a request counts as a rejection, since plugins do
/// not allow the original payload. A response is changed afterwards, so it only gets a warning.
fn validation(outcome: Outcome, phase: Phase) -> Result<Value, Fault> {
    let says = |severity: &str, message: String| {
        json!({
            "valid": severity != "error",
            "severity": severity,
            "messages": [{ "message": message, "severity": severity }],
        })
    };
    Ok(match outcome {
        Outcome::Passes => json!({ "valid": true }),
        Outcome::Becomes(_) => {
            let severity = if phase == Phase::Request { "error" } else { "warn" };
            says(severity, "a plugin changes this: have the mutator of this server change it".to_owned())
        }
        Outcome::Denied { why, by, code } => {
            let mut result = says("error", why);
            result["info"] = json!({ "by": by, "code": code });
            result
        }
        Outcome::Failed(why) => return Err(Fault::new(-32603, why)),
    })
}

fn mutation(outcome: Outcome, payload: &Value) -> Result<Value, Fault> {
    match outcome {
        Outcome::Passes => Ok(json!({ "modified": false, "payload": payload })),
        Outcome::Becomes(after) => Ok(json!({ "modified": true, "payload": after })),
        // The draft has no rejection by a mutator, so this is a failure.
        Outcome::Denied { why, by, code } => {
            let mut fault = Fault::new(-32603, why);
            fault.data = Some(json!({ "by": by, "code": code }));
            fault.is_verdict = true;
            Err(fault)
        }
        Outcome::Failed(why) => Err(Fault::new(-32603, why)),
    }
}

/// An intercepted message.
#[derive(Clone, Debug)]
struct Intercepted {
    event: String,
    phase: Phase,
    payload: Value,
    session: String,
    /// The time limit of the interceptor or of the whole chain.
    limit: Option<Limit>,
}

/// The time that the invoker waits.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// The duration that the invoker sent.
    said: Duration,
    /// The end of that time.
    until: Instant,
}

impl Intercepted {
    fn of(params: &Map<String, Value>) -> Result<Self, Fault> {
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        let event = text("event").ok_or_else(|| Fault::new(-32602, "`event` is missing"))?;
        let phase = text("phase").and_then(Phase::from_name);
        let phase = phase.ok_or_else(|| Fault::new(-32602, "`phase` is neither `request` nor `response`"))?;
        let payload = params.get("payload").cloned().ok_or_else(|| Fault::new(-32602, "`payload` is missing"))?;
        let session = params.get("context").and_then(|context| context.get("sessionId")).and_then(Value::as_str);
        let session = session.filter(|session| !session.is_empty()).unwrap_or(NO_SESSION).to_owned();
        let limit = match params.get("timeoutMs") {
            None | Some(Value::Null) => None,
            Some(said) => {
                let millis = said.as_u64().filter(|millis| *millis > 0);
                let said = Duration::from_millis(millis.ok_or_else(|| {
                    Fault::new(-32602, "`timeoutMs` is a whole number of milliseconds, and more than 0")
                })?);
                // A time that the clock cannot represent is no limit.
                Instant::now().checked_add(said).map(|until| Limit { said, until })
            }
        };
        Ok(Self { event: event.to_owned(), phase, payload, session, limit })
    }
}

/// An error of JSON-RPC.
#[derive(Debug)]
struct Fault {
    code: i32,
    message: String,
    data: Option<Value>,
    /// True if it is a plugin's rejection, which counts even if the interceptor fails open.
    is_verdict: bool,
}

impl Fault {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, is_verdict: false }
    }

    /// Creates the error for an unknown name.
    fn no_such(name: &Value) -> Self {
        let data = Some(json!({ "name": name }));
        Self { data, ..Self::new(-32602, format!("there is no interceptor {name} here")) }
    }

    /// Adds the interceptor's name and the reason to the data.
    fn of(mut self, exposed: &Exposed) -> Self {
        let data = self.data.get_or_insert_with(|| json!({}));
        data["interceptor"] = json!(exposed.name);
        data["reason"] = json!(self.message);
        self
    }

    fn to_error(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }

    fn to_json(&self, id: &Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "error": self.to_error() })
    }
}
