//! Serves a chain of plugins as an interceptor of MCP: `interceptors/list`, `interceptor/invoke` and
//! `interceptor/executeChain`, as JSON-RPC. Source: modelcontextprotocol/experimental-ext-interceptors (SEP-1763,
//! SEP-2624), a draft.
//!
//! In the draft, an interceptor is either a validator or a mutator, but a chain of plugins is both. So each chain is served under
//! two names. Under the first name, the chain is a mutator, which changes a payload. Under the second name, it is a validator,
//! which decides whether the payload may pass. If both names are invoked for the same payload, the plugins run only once.
//!
//! | module | what it is |
//! |---|---|
//! | [`named`] | a named interceptor: its type, its events, and its rules |
//! | `payload` | lets the plugins decide on the event of a payload |
//! | `execute` | runs several interceptors in the order of the draft |

mod execute;
pub mod named;
mod payload;

use hookhost::audit::DeliveryKind;
use hookhost::{Host, Session, SessionSpec};
use named::{InterceptorKind, NamedInterceptor, Phase};
use payload::InterceptedEvent;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The name of the extension, with which both sides declare their support.
const EXTENSION: &str = "io.modelcontextprotocol/interceptors";

/// The session id for a client that names no session.
const NO_SESSION: &str = "mcp";

/// The error code in the answer for an interceptor that took longer than the invoker waited. The code comes from the extension's
/// repository. A later draft uses the code -32603 with the same reason.
const TIMEOUT_CODE: i32 = -32_000;

/// The reason in the error with [`TIMEOUT_CODE`].
const TIMEOUT: &str = "timeout";

/// Maximum number of session handles in memory. If the handle of a session was dropped, the next message of the session
/// opens the session again with the same id.
const MAX_SESSIONS: usize = 1000;

/// Maximum number of cached payloads per session. A payload is cached after the plugins have decided on it under one
/// name, until its outcome is used under the other name.
const MAX_CACHED: usize = 64;

/// Maximum total size of the cached outcomes of a session, in bytes. If there is no space for an outcome, the plugins
/// run again for the other name.
const MAX_CACHED_BYTES: usize = 256 * 1024;

/// The outcome of a payload.
#[derive(Clone, Debug)]
enum PayloadOutcome {
    Unchanged,
    Changed(Value),
    Denied {
        why: String,
        by: Vec<String>,
        code: Option<String>,
    },
    /// The plugins could not decide on the payload, for this reason. No plugin rejected the payload.
    Failed(String),
}

impl PayloadOutcome {
    /// Returns the size that counts towards [`MAX_CACHED_BYTES`], in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Unchanged => 0,
            Self::Changed(value) => value.to_string().len(),
            Self::Denied { why, by, code } => why.len() + by.iter().chain(code).map(String::len).sum::<usize>(),
            Self::Failed(why) => why.len(),
        }
    }
}

/// One or more chains of plugins, which are served as interceptors.
#[derive(Debug)]
pub struct Interceptors {
    host: Host,
    workspace: PathBuf,
    /// The name by which rules refer to the MCP server of the messages.
    server: String,
    interceptors: Vec<NamedInterceptor>,
    sessions: Mutex<HashMap<(String, usize), Arc<InterceptorSession>>>,
}

/// A session, and its cached payloads. The plugins have decided on these payloads under one name, and the outcomes are
/// cached for the other name.
#[derive(Debug)]
struct InterceptorSession {
    session: Session,
    cached: Mutex<Vec<CachedPayload>>,
}

/// A payload on which the plugins have decided.
#[derive(Debug)]
struct CachedPayload {
    /// Digest of the payload.
    key: [u8; 32],
    /// The index of the interceptor that was invoked. If the same interceptor is invoked again, the invocation is for
    /// another message with the same payload, so it cannot use the cached outcome.
    by: usize,
    outcome: PayloadOutcome,
}

impl Interceptors {
    /// Serves the chain of `host` under the names `hookhost/change` and `hookhost/check`. `server` is the name by which
    /// rules refer to the MCP server.
    #[must_use]
    pub fn new(host: Host, workspace: impl Into<PathBuf>, server: impl Into<String>) -> Self {
        Self::of(host, workspace, server, vec![NamedInterceptor::change(), NamedInterceptor::check()])
    }

    /// Serves `interceptors` instead of the two default names.
    #[must_use]
    pub fn of(
        host: Host,
        workspace: impl Into<PathBuf>,
        server: impl Into<String>,
        interceptors: Vec<NamedInterceptor>,
    ) -> Self {
        Self { host, workspace: workspace.into(), server: server.into(), interceptors, sessions: Mutex::default() }
    }

    /// Answers a request. Returns `None` for a notification.
    pub async fn answer(&self, request: &Value) -> Option<Value> {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
        let Some(id) = request.get("id").filter(|id| !id.is_null()) else {
            let is_request = method.is_empty();
            return is_request
                .then(|| RpcError::new(-32600, "a request is one JSON object with `method`").to_json(&Value::Null));
        };
        let none = Map::new();
        let params = request.get("params").and_then(Value::as_object).unwrap_or(&none);
        let result = match method {
            "initialize" => Ok(self.initialize(params)),
            "ping" => Ok(json!({})),
            "interceptors/list" => self.list(params),
            "interceptor/invoke" => self.invoke(params).await,
            "interceptor/executeChain" => self.execute(params).await,
            other => Err(RpcError::new(-32601, format!("there is no method `{other}` here"))),
        };
        Some(match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => error.to_json(id),
        })
    }

    fn initialize(&self, params: &Map<String, Value>) -> Value {
        let version = params.get("protocolVersion").cloned().unwrap_or_else(|| json!("2025-11-25"));
        let events: Vec<&str> =
            self.interceptors.iter().flat_map(|interceptor| &interceptor.events).map(String::as_str).collect();
        json!({
            "protocolVersion": version,
            "capabilities": {
                // The first name is from the current draft, and the second name is from the previous draft.
                "extensions": { EXTENSION: { "supportedEvents": events } },
                "interceptor": { "supportedEvents": events },
            },
            "serverInfo": { "name": "hookhost", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    fn list(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let event = params.get("event").and_then(Value::as_str);
        if event.is_some_and(|event| event.contains('*')) {
            return Err(RpcError::new(
                -32602,
                "`event` is the name of one event: leave it out to list all interceptors",
            ));
        }
        let listed = self.interceptors.iter().filter(|interceptor| event.is_none_or(|event| interceptor.hooks(event)));
        Ok(json!({ "interceptors": listed.map(NamedInterceptor::descriptor).collect::<Vec<_>>() }))
    }

    async fn invoke(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let index = self.interceptors.iter().position(|interceptor| interceptor.name == name);
        let index = index.ok_or_else(|| RpcError::no_such(&json!(name)))?;
        let message = InterceptedMessage::of(params)?;
        self.check_hook(index, &message)?;
        self.run(index, &message).await
    }

    /// Checks that an interceptor handles the event and the phase of a message.
    fn check_hook(&self, index: usize, message: &InterceptedMessage) -> Result<(), RpcError> {
        let interceptor = &self.interceptors[index];
        if interceptor.hooks(&message.event) && interceptor.phases.contains(&message.phase) {
            return Ok(());
        }
        let why = format!("{} is not for {} in the phase {}", interceptor.name, message.event, message.phase.name());
        let data = json!({
            "name": interceptor.name, "event": message.event, "phase": message.phase.name(),
            "advertisedHooks": interceptor.descriptor()["hooks"],
        });
        Err(RpcError { data: Some(data), ..RpcError::new(-32602, why) }.of(interceptor))
    }

    /// Runs one interceptor and returns its result.
    async fn run(&self, index: usize, message: &InterceptedMessage) -> Result<Value, RpcError> {
        let interceptor = &self.interceptors[index];
        let began = Instant::now();
        let outcome = self.outcome(index, message);
        let outcome = match message.limit {
            None => outcome.await,
            // The time limit of the chain has passed, so the interceptor is not started.
            Some(limit) if limit.until <= began => return Err(self.too_late(index, message, limit)),
            Some(limit) => {
                let in_time = tokio::time::timeout_at(limit.until.into(), outcome).await;
                in_time.map_err(|_| self.too_late(index, message, limit))?
            }
        };
        let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut result = match interceptor.kind {
            InterceptorKind::Validation => validation(outcome, message.phase),
            InterceptorKind::Mutation => mutation(outcome, &message.payload),
        }
        .map_err(|error| error.of(interceptor))?;
        result["interceptor"] = json!(interceptor.name);
        result["type"] = json!(interceptor.kind.name());
        result["phase"] = json!(message.phase.name());
        result["durationMs"] = json!(micros.div_ceil(1000));
        Ok(result)
    }

    /// Returns the error for plugins that took longer than the invoker waited. Also records the failure, because the engine's event
    /// was dropped and so the engine does not record it.
    fn too_late(&self, index: usize, message: &InterceptedMessage, limit: TimeLimit) -> RpcError {
        let (name, phase) = (&self.interceptors[index].name, message.phase.name());
        if let Ok(session) = self.session(index, message) {
            let point = format!("{}/{phase}", message.event);
            let why = format!("{name} gave no answer within the {:?} that the invoker waits", limit.stated);
            session.session.note_delivery(None, &point, DeliveryKind::Unanswered, &why);
        }
        let millis = u64::try_from(limit.stated.as_millis()).unwrap_or(u64::MAX);
        let data = json!({ "interceptor": name, "reason": TIMEOUT, "timeoutMs": millis, "phase": phase });
        RpcError { data: Some(data), ..RpcError::new(TIMEOUT_CODE, "Interceptor execution timeout") }
    }

    async fn outcome(&self, index: usize, message: &InterceptedMessage) -> PayloadOutcome {
        let session = match self.session(index, message) {
            Ok(session) => session,
            Err(why) => return PayloadOutcome::Failed(why),
        };
        let key_of = |payload: &Value| -> [u8; 32] {
            Sha256::digest(json!([message.event, message.phase.name(), payload]).to_string()).into()
        };
        let key = key_of(&message.payload);
        if let Some(outcome) = session.take(&key, index) {
            return outcome;
        }
        let outcome = self.settle(&session.session, message).await;
        // The other name will be invoked with the next form of the payload. For a request, this is the changed payload,
        // because the mutator runs first. Otherwise, it is the same payload.
        if self.interceptors.iter().filter(|interceptor| interceptor.shares(&self.interceptors[index])).count() > 1 {
            let (key, kept) = match (&outcome, message.phase) {
                (PayloadOutcome::Changed(after), Phase::Request) => (key_of(after), PayloadOutcome::Unchanged),
                _ => (key, outcome.clone()),
            };
            session.keep(CachedPayload { key, by: index, outcome: kept });
        }
        outcome
    }

    async fn settle(&self, session: &Session, message: &InterceptedMessage) -> PayloadOutcome {
        match InterceptedEvent::new(message, &self.server) {
            Ok(event) => event.settle(session, &message.payload, &self.server).await,
            Err(why) => PayloadOutcome::Failed(why),
        }
    }

    /// Returns the session of a message for an interceptor. Interceptors that share their rules also share the session.
    fn session(&self, index: usize, message: &InterceptedMessage) -> Result<Arc<InterceptorSession>, String> {
        let interceptor = &self.interceptors[index];
        let first = self.interceptors.iter().position(|other| other.shares(interceptor)).unwrap_or(index);
        let key = (message.session.clone(), first);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&key) {
            return Ok(Arc::clone(session));
        }
        if sessions.len() >= MAX_SESSIONS {
            sessions.clear();
        }
        let mut spec = SessionSpec::new("mcp-interceptor", &self.workspace).id(format!("{}.{first}", message.session));
        spec.rules.clone_from(&interceptor.rules);
        let session = self.host.open_session(spec).map_err(|error| error.to_string())?;
        let session = Arc::new(InterceptorSession { session, cached: Mutex::default() });
        sessions.insert(key, Arc::clone(&session));
        Ok(session)
    }
}

impl InterceptorSession {
    /// Removes and returns the cached outcome of this payload, if the plugins decided on the payload under another
    /// name.
    fn take(&self, key: &[u8; 32], index: usize) -> Option<PayloadOutcome> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let at = cached.iter().position(|payload| payload.key == *key && payload.by != index)?;
        Some(cached.remove(at).outcome)
    }

    fn keep(&self, new: CachedPayload) {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|old| old.key != new.key);
        cached.push(new);
        while cached.len() > MAX_CACHED
            || cached.iter().map(|payload| payload.outcome.size()).sum::<usize>() > MAX_CACHED_BYTES
        {
            cached.remove(0);
        }
    }
}

/// Returns a validator's result. A validator cannot change a payload. So if plugins change a request, the validator
/// rejects the request, because the plugins did not allow the original payload. If plugins change a response, the
/// validator only warns, because the mutator changes the response afterwards.
fn validation(outcome: PayloadOutcome, phase: Phase) -> Result<Value, RpcError> {
    let says = |severity: &str, message: String| {
        json!({
            "valid": severity != "error",
            "severity": severity,
            "messages": [{ "message": message, "severity": severity }],
        })
    };
    Ok(match outcome {
        PayloadOutcome::Unchanged => json!({ "valid": true }),
        PayloadOutcome::Changed(_) => {
            let severity = if phase == Phase::Request { "error" } else { "warn" };
            says(severity, "a plugin changes this: have the mutator of this server change it".to_owned())
        }
        PayloadOutcome::Denied { why, by, code } => {
            let mut result = says("error", why);
            result["info"] = json!({ "by": by, "code": code });
            result
        }
        PayloadOutcome::Failed(why) => return Err(RpcError::new(-32603, why)),
    })
}

fn mutation(outcome: PayloadOutcome, payload: &Value) -> Result<Value, RpcError> {
    match outcome {
        PayloadOutcome::Unchanged => Ok(json!({ "modified": false, "payload": payload })),
        PayloadOutcome::Changed(after) => Ok(json!({ "modified": true, "payload": after })),
        // The draft has no rejection by a mutator, so the rejection is reported as a failure.
        PayloadOutcome::Denied { why, by, code } => {
            let mut error = RpcError::new(-32603, why);
            error.data = Some(json!({ "by": by, "code": code }));
            error.is_verdict = true;
            Err(error)
        }
        PayloadOutcome::Failed(why) => Err(RpcError::new(-32603, why)),
    }
}

/// An intercepted message.
#[derive(Clone, Debug)]
struct InterceptedMessage {
    event: String,
    phase: Phase,
    payload: Value,
    session: String,
    /// The time limit of the interceptor or of the whole chain.
    limit: Option<TimeLimit>,
}

/// The time that the invoker waits.
#[derive(Clone, Copy, Debug)]
struct TimeLimit {
    /// The duration that the invoker sent.
    stated: Duration,
    /// The time at which the invoker stops waiting.
    until: Instant,
}

impl InterceptedMessage {
    fn of(params: &Map<String, Value>) -> Result<Self, RpcError> {
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        let event = text("event").ok_or_else(|| RpcError::new(-32602, "`event` is missing"))?;
        let phase = text("phase").and_then(Phase::from_name);
        let phase = phase.ok_or_else(|| RpcError::new(-32602, "`phase` is neither `request` nor `response`"))?;
        let payload = params.get("payload").cloned().ok_or_else(|| RpcError::new(-32602, "`payload` is missing"))?;
        let session = params.get("context").and_then(|context| context.get("sessionId")).and_then(Value::as_str);
        let session = session.filter(|session| !session.is_empty()).unwrap_or(NO_SESSION).to_owned();
        let limit = match params.get("timeoutMs") {
            None | Some(Value::Null) => None,
            Some(stated) => {
                let millis = stated.as_u64().filter(|millis| *millis > 0);
                let stated = Duration::from_millis(millis.ok_or_else(|| {
                    RpcError::new(-32602, "`timeoutMs` is a whole number of milliseconds, and more than 0")
                })?);
                // If the limit is so long that the clock cannot represent it, there is no limit.
                Instant::now().checked_add(stated).map(|until| TimeLimit { stated, until })
            }
        };
        Ok(Self { event: event.to_owned(), phase, payload, session, limit })
    }
}

/// An error of JSON-RPC.
#[derive(Debug)]
struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
    /// True if the error is a plugin's rejection. A rejection stops the message even if the interceptor fails open.
    is_verdict: bool,
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, is_verdict: false }
    }

    /// Creates the error for an unknown name of an interceptor.
    fn no_such(name: &Value) -> Self {
        let data = Some(json!({ "name": name }));
        Self { data, ..Self::new(-32602, format!("there is no interceptor {name} here")) }
    }

    /// Adds the interceptor's name and the reason to the data.
    fn of(mut self, interceptor: &NamedInterceptor) -> Self {
        let data = self.data.get_or_insert_with(|| json!({}));
        data["interceptor"] = json!(interceptor.name);
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
