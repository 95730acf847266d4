//! The proxy between an editor and an agent. It handles the messages of both sides.

mod decisions;
mod recording;

use crate::acp::ambiguous_keys::check_keys;
use crate::acp::coverage::CoverageSummary;
use crate::acp::event_recorder::EventRecorder;
use crate::acp::operation::{Method, Operation};
use crate::acp::permission::{self, PermissionOptions};
use crate::acp::prompt;
use crate::acp::proxied_servers::{ProxiedServers, ProxyProgram};
use crate::acp::sessions::Sessions;
use crate::acp::tool_calls::{CallQuestion, ToolCalls};
use crate::jsonrpc::handler::{
    Handler, NotificationRoute, QuestionContext, RequestDecision, RequestRoute, Side, UnsentRequest,
};
use crate::jsonrpc::message::{self, INVALID_PARAMS, INVALID_REQUEST, Id, Members, Message, OutgoingMessage, raw};
use crate::resident_host::{self, UserNotifier, failure_text as failed};
use bytes::Bytes;
use hookhost_agents::acp_proxy::{Event, NAME, Point};
use hookhost_agents::proxies::ProxyReply;
use hookhost_client::async_client::{AsyncClient, LongWaitCallback};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The requests by which a session begins or continues.
const OPENING_METHODS: &[&str] = &["session/new", "session/load", "session/resume", "session/fork"];

/// The requests by which a session ends.
const CLOSING_METHODS: &[&str] = &["session/close", "session/delete"];

/// The method of the user's prompt.
const PROMPT_METHOD: &str = "session/prompt";

/// The method of the agent's request for permission.
const PERMISSION_METHOD: &str = "session/request_permission";

/// The error code of a cancelled request.
const CANCELLED: i64 = -32_800;

/// The proxy between one editor and one agent.
#[derive(Debug)]
pub struct Proxy {
    agent: String,
    connection: String,
    host: Arc<AsyncClient>,
    program: ProxyProgram,
    records: EventRecorder,
    numbers: AtomicU64,
    state: Arc<Mutex<ConnectionState>>,
    notifier: UserNotifier,
}

/// The state of the connection.
#[derive(Debug)]
struct ConnectionState {
    sessions: Sessions,
    calls: ToolCalls,
    summary: CoverageSummary,
    /// The requests on which rules are deciding, each with its session.
    pending: HashMap<(Side, Id), (String, PendingKind)>,
}

/// The kind of a pending request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingKind {
    Prompt,
    Permission,
    Operation,
}

/// The kind of answer that a forwarded request will get, and the data that is needed to process the answer.
#[derive(Clone, Debug)]
pub enum ExpectedAnswer {
    /// Any answer. It is forwarded unchanged.
    Anything,
    /// The answer to a request that begins or continues a session.
    Opened {
        /// The session, if the request names it.
        session: Option<String>,
        /// The directory of the session.
        cwd: PathBuf,
    },
    /// The answer to a request that ends this session.
    Closed(String),
    /// The user's decision about a call.
    Permission {
        /// The session.
        session: String,
        /// The call.
        call: Value,
        /// The options that the agent offers.
        options: PermissionOptions,
    },
    /// The result of an operation that the editor carries out.
    OperationResult(Operation),
    /// The output of a terminal. The operation is the command that runs in the terminal.
    TerminalOutput(Operation),
}

/// A request on which rules decide.
#[derive(Debug)]
pub struct AcpRequest {
    id: Id,
    message: Message,
    params: Members,
    subject: RequestSubject,
    _pending: PendingRequestGuard,
}

impl AcpRequest {
    fn session(&self) -> &str {
        match &self.subject {
            RequestSubject::Prompt { session, .. } | RequestSubject::Permission { session, .. } => session,
            RequestSubject::Operation(operation) => &operation.session,
        }
    }
}

#[derive(Debug)]
enum RequestSubject {
    Prompt { session: String, blocks: Value, text: String },
    Permission { session: String, call: Value, earlier: Vec<Value>, options: PermissionOptions },
    Operation(Operation),
}

/// Removes a request from the pending requests when it is dropped.
#[derive(Debug)]
struct PendingRequestGuard {
    state: Arc<Mutex<ConnectionState>>,
    key: (Side, Id),
}

impl Drop for PendingRequestGuard {
    fn drop(&mut self) {
        lock(&self.state).pending.remove(&self.key);
    }
}

fn lock(state: &Mutex<ConnectionState>) -> MutexGuard<'_, ConnectionState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// Creates a proxy for the agent with this name, which was started in the directory `cwd`. Must be called within a Tokio
    /// runtime.
    pub fn new(
        agent: String,
        cwd: PathBuf,
        host: Arc<AsyncClient>,
        program: ProxyProgram,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let notifier = UserNotifier::new(tell);
        let connection = uuid::Uuid::now_v7().to_string();
        let state = ConnectionState {
            sessions: Sessions::new(connection.clone(), cwd),
            calls: ToolCalls::default(),
            summary: CoverageSummary::default(),
            pending: HashMap::new(),
        };
        let records = EventRecorder::new(Arc::clone(&host), notifier.clone());
        let (state, numbers) = (Arc::new(Mutex::new(state)), AtomicU64::new(0));
        Self { agent, connection, host, program, records, numbers, state, notifier }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        lock(&self.state)
    }

    /// Creates an event of a session, with the next number.
    fn event(&self, point: Point, session: &str, method: &str, arguments: Value) -> Event {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (session, cwd) = self.state().sessions.of(session);
        Event {
            point,
            session,
            cwd,
            agent: self.agent.clone(),
            id: format!("{}.{number}", self.connection),
            method: method.to_owned(),
            arguments,
            ungated: false,
            result: None,
        }
    }

    async fn ask_host(&self, event: &Event, on_wait: LongWaitCallback<'_>) -> ProxyReply {
        resident_host::ask(&self.host, NAME, &event.cwd, event, on_wait).await
    }

    /// Records the last events, and returns the summary of the connection.
    pub async fn finish(&self) -> CoverageSummary {
        let (summary, sessions) = {
            let mut state = self.state();
            state.summary.unrecorded = self.records.lost();
            (state.summary, state.sessions.open_ones())
        };
        let mut last = Vec::new();
        if let Some(session) = sessions.first() {
            last.push(self.event(Point::Summary, session, "", summary.to_json()));
        }
        last.extend(sessions.iter().map(|session| self.event(Point::SessionEnd, session, "", Value::Null)));
        self.records.finish(last).await;
        CoverageSummary { unrecorded: self.records.lost(), ..summary }
    }

    /// Returns the route of a request that begins or continues a session. Puts the MCP servers in the request behind the MCP proxy.
    fn route_opening(
        &self,
        method: &str,
        message: &Message,
        params: &Members,
    ) -> Result<RequestRoute<ExpectedAnswer, AcpRequest>, String> {
        let value = params.to_value().map_err(|why| format!("`params` of {method} {why}"))?;
        let known = ["sessionId", "cwd", "mcpServers", "additionalDirectories", "_meta"];
        check_keys(&value, &known).map_err(|why| format!("`params` of {method} {why}"))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let cwd = text("cwd").map(Path::new).filter(|cwd| cwd.is_absolute());
        let cwd = cwd.ok_or_else(|| format!("`params.cwd` of {method} is no absolute path"))?;
        let list = match value.get("mcpServers") {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(list)) => list.as_slice(),
            Some(_) => return Err(format!("`params.mcpServers` of {method} is no list")),
        };
        let servers = ProxiedServers::behind(list, &self.program);
        servers.left_out.iter().chain(&servers.notes).for_each(|text| self.notifier.tell(text));
        let message = if list == servers.entries {
            message.into()
        } else {
            message.with_params(&params.with("mcpServers", raw(&Value::Array(servers.entries))))
        };
        let session = text("sessionId").filter(|_| matches!(method, "session/load" | "session/resume"));
        let mut state = self.state();
        match session {
            Some(session) => state.sessions.load(session, cwd, method == "session/load")?,
            None => state.sessions.begin(cwd)?,
        }
        state.summary.servers += servers.proxied;
        state.summary.servers_left_out += servers.left_out.len();
        let expected = ExpectedAnswer::Opened { session: session.map(str::to_owned), cwd: cwd.to_owned() };
        Ok(RequestRoute::Forward { message, expected })
    }

    fn route_to_rules(
        &self,
        from: Side,
        id: &Id,
        message: &Message,
        params: Members,
        subject: RequestSubject,
    ) -> RequestRoute<ExpectedAnswer, AcpRequest> {
        let key = (from, id.clone());
        let (session, pending) = match &subject {
            RequestSubject::Prompt { session, .. } => (session, PendingKind::Prompt),
            RequestSubject::Permission { session, .. } => (session, PendingKind::Permission),
            RequestSubject::Operation(operation) => (&operation.session, PendingKind::Operation),
        };
        self.state().pending.insert(key.clone(), (session.clone(), pending));
        let guard = PendingRequestGuard { state: Arc::clone(&self.state), key };
        RequestRoute::Ask(AcpRequest { id: id.clone(), message: message.clone(), params, subject, _pending: guard })
    }

    /// Returns the route of a request that this proxy handles. Returns `None` for other requests.
    fn route_known_request(
        &self,
        from: Side,
        id: &Id,
        message: &Message,
        params: Members,
    ) -> Result<Option<RequestRoute<ExpectedAnswer, AcpRequest>>, String> {
        let method = message.method().unwrap_or_default();
        let passed = |expected| Ok(Some(RequestRoute::Forward { message: message.into(), expected }));
        let whole = |known: &[&str]| {
            let value = params.to_value().map_err(|why| format!("`params` of {method} {why}"))?;
            check_keys(&value, known).map_err(|why| format!("`params` of {method} {why}"))?;
            let session = value.get("sessionId").and_then(Value::as_str).map(str::to_owned);
            Ok::<_, String>((session.ok_or_else(|| format!("`params.sessionId` of {method} is missing"))?, value))
        };
        match (from, method) {
            (Side::Client, method) if OPENING_METHODS.contains(&method) => {
                self.route_opening(method, message, &params).map(Some)
            }
            (Side::Client, method) if CLOSING_METHODS.contains(&method) => {
                passed(params.text("sessionId").map_or(ExpectedAnswer::Anything, ExpectedAnswer::Closed))
            }
            (Side::Client, PROMPT_METHOD) => {
                let (session, value) = whole(&["sessionId", "prompt", "_meta"])?;
                let blocks = value.get("prompt").cloned().unwrap_or_default();
                let text = prompt::text(&blocks).map_err(|why| format!("`params.prompt` of {method} {why}"))?;
                let subject = RequestSubject::Prompt { session, blocks, text };
                Ok(Some(self.route_to_rules(from, id, message, params, subject)))
            }
            (Side::Server, PERMISSION_METHOD) => {
                let (session, value) = whole(&["sessionId", "toolCall", "options", "_meta"])?;
                let call = value.get("toolCall").filter(|call| call.is_object());
                let call = call.ok_or_else(|| format!("`params.toolCall` of {method} is missing"))?;
                let options = PermissionOptions::of(&value);
                let whole = self.state().calls.ask(&session, call);
                let Ok(CallQuestion { call, earlier }) = whole else {
                    return Ok(Some(self.refuse_incomplete_call(id, &options, call)));
                };
                let subject = RequestSubject::Permission { session, call, earlier, options };
                Ok(Some(self.route_to_rules(from, id, message, params, subject)))
            }
            (Side::Server, "terminal/output") => {
                let (session, value) = whole(&["sessionId", "terminalId", "_meta"])?;
                let terminal = value.get("terminalId").and_then(Value::as_str).unwrap_or_default();
                let command = self.state().sessions.terminal(&session, terminal);
                let params = command.ok_or_else(|| {
                    format!("`params.terminalId` of {method} is no terminal whose command is known here")
                })?;
                passed(ExpectedAnswer::TerminalOutput(Operation { method: Method::RunCommand, session, params }))
            }
            (Side::Server, "terminal/release") => {
                let (session, value) = whole(&["sessionId", "terminalId", "_meta"])?;
                let terminal = value.get("terminalId").and_then(Value::as_str).unwrap_or_default();
                self.state().sessions.release_terminal(&session, terminal);
                passed(ExpectedAnswer::Anything)
            }
            (Side::Server, method) => match Method::of(method) {
                Some(method) => {
                    let operation = Operation::of(method, &params)?;
                    if method == Method::RunCommand && !self.state().sessions.has_room(&operation.params) {
                        let why = "too many terminals are open, or their commands are too long: release some";
                        self.notifier.tell(&format!("{} was rejected: {why}", method.name()));
                        return Err(why.to_owned());
                    }
                    Ok(Some(self.route_to_rules(from, id, message, params, RequestSubject::Operation(operation))))
                }
                None => Ok(None),
            },
            (Side::Client, _) => Ok(None),
        }
    }

    /// Rejects a request for permission because the proxy has not stored the whole call. Rules would see less of the call than the
    /// agent has reported.
    fn refuse_incomplete_call(
        &self,
        id: &Id,
        options: &PermissionOptions,
        call: &Value,
    ) -> RequestRoute<ExpectedAnswer, AcpRequest> {
        let why =
            "the agent has reported more about its calls than the proxy stores, so rules cannot read the whole call";
        self.count(|summary| {
            summary.permissions.all += 1;
            summary.permissions.rejected += 1;
        });
        self.notifier.tell(&format!("the call {} was rejected: {why}", decisions::title(call)));
        RequestRoute::answer(options.no(id, why))
    }

    /// Returns the pending requests of a session. Each request is returned with the answer that it gets if the prompt of the
    /// session is cancelled.
    fn cancelled(&self, session: &str) -> Vec<UnsentRequest> {
        let state = self.state();
        let of_session = state.pending.iter().filter(|(_, (of, _))| of == session);
        let answer = |((of, id), (_, pending)): (&(Side, Id), &(String, PendingKind))| {
            let answer = match pending {
                PendingKind::Permission => permission::cancelled(id),
                PendingKind::Prompt => message::result(id, &json!({ "stopReason": "cancelled" })),
                PendingKind::Operation => message::error(Some(id), CANCELLED, "the prompt was cancelled"),
            };
            UnsentRequest { of: *of, id: id.clone(), answer }
        };
        of_session.map(answer).collect()
    }
}

/// Returns true if the proxy changes requests of this method, or lets rules decide on such requests.
fn is_handled(method: &str) -> bool {
    OPENING_METHODS.contains(&method)
        || [PROMPT_METHOD, PERMISSION_METHOD].contains(&method)
        || Method::of(method).is_some()
}

/// Returns the error text for a request on which the resident host made no decision.
fn unsettled(why: &str) -> String {
    failed(why) + " `hookhost serve --status` says more."
}

impl Handler for Proxy {
    type ExpectedAnswer = ExpectedAnswer;
    type JudgedRequest = AcpRequest;

    fn side_name(&self, side: Side) -> &str {
        match side {
            Side::Client => "editor",
            Side::Server => "agent",
        }
    }

    fn tell(&self, text: &str) {
        self.notifier.tell(text);
    }

    fn no_answer_reason(&self) -> String {
        format!("the agent {} has ended before it answered", self.agent)
    }

    fn route_request(&self, from: Side, id: &Id, message: &Message) -> RequestRoute<ExpectedAnswer, AcpRequest> {
        let method = message.method().unwrap_or_default();
        let refused = |code, why: &str| RequestRoute::answer(message::error(Some(id), code, why));
        let params = match message.params() {
            Ok(params) => params,
            Err(why) if is_handled(method) => return refused(INVALID_PARAMS, &why),
            Err(_) => Members::default(),
        };
        match self.route_known_request(from, id, message, params) {
            Ok(Some(RequestRoute::Ask(request))) if !self.state().sessions.can_be(request.session()) => {
                refused(INVALID_PARAMS, &format!("`params.sessionId` of {method} is no session of this connection"))
            }
            Ok(Some(route)) => route,
            Ok(None) if is_handled(method) => {
                refused(INVALID_REQUEST, &format!("{method} cannot be requested in this direction"))
            }
            Ok(None) => {
                self.observe(message);
                RequestRoute::Forward { message: message.into(), expected: ExpectedAnswer::Anything }
            }
            Err(why) => refused(INVALID_PARAMS, &why),
        }
    }

    fn replacement(&self, head: &[u8], tail: &[u8], why: &str) -> Option<Bytes> {
        Self::update_in_place_of(head, tail, why)
    }

    async fn ask(
        &self,
        _from: Side,
        request: &AcpRequest,
        context: QuestionContext<'_>,
    ) -> RequestDecision<ExpectedAnswer> {
        let on_wait = context.on_long_wait();
        self.decide(request, &on_wait).await
    }

    fn route_notification(&self, from: Side, method: &str, message: &Message) -> NotificationRoute {
        if is_handled(method) {
            let why = format!("{method} came as a notification, which gets no answer: it was not passed on");
            return NotificationRoute::Refuse(why);
        }
        let params = message.params().unwrap_or_default();
        match (from, method) {
            (Side::Client, "session/cancel") => {
                self.observe(message);
                let requests = params.text("sessionId").map(|session| self.cancelled(&session)).unwrap_or_default();
                NotificationRoute::Answer { requests, passes: true }
            }
            (_, "$/cancel_request") => {
                let id = params.value("requestId").as_ref().and_then(Id::of);
                let Some(id) = id else { return NotificationRoute::Forward };
                let answer = message::error(Some(&id), CANCELLED, "the request was cancelled");
                NotificationRoute::Answer { requests: vec![UnsentRequest { of: from, id, answer }], passes: false }
            }
            (Side::Server, "session/update") => {
                self.updated(&params);
                NotificationRoute::Forward
            }
            _ => {
                self.observe(message);
                NotificationRoute::Forward
            }
        }
    }

    fn route_answer(&self, expected: ExpectedAnswer, message: &Message) -> Option<ExpectedAnswer> {
        self.learn(expected, message)
    }

    async fn judge_answer(
        &self,
        id: &Id,
        expected: &ExpectedAnswer,
        message: &Message,
        context: QuestionContext<'_>,
    ) -> OutgoingMessage {
        let on_wait = context.on_long_wait();
        self.decide_answer(id, expected, message, &on_wait).await
    }
}
