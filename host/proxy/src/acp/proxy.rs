//! Handles the messages of both sides.

mod asked;
mod observed;

use crate::acp::keys;
use crate::acp::operation::{Method, Operation};
use crate::acp::permission::{self, Options};
use crate::acp::prompt;
use crate::acp::records::Records;
use crate::acp::servers::{Program, Servers};
use crate::acp::sessions::Sessions;
use crate::acp::summary::Summary;
use crate::acp::tool_calls::{AskedCall, ToolCalls};
use crate::jsonrpc::handler::{Asking, Begun, Decision, Handler, Notified, Side, Unsent};
use crate::jsonrpc::message::{self, INVALID_PARAMS, INVALID_REQUEST, Id, Members, Message, raw};
use bytes::Bytes;
use hookhost_agents::acp_proxy::{Event, NAME, Point};
use hookhost_agents::proxies::Settled;
use hookhost_client::resident::{Resident, Waits};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The requests by which a session begins or continues.
const OPENING: &[&str] = &["session/new", "session/load", "session/resume", "session/fork"];

/// The requests by which a session ends.
const CLOSING: &[&str] = &["session/close", "session/delete"];

/// The method of the user's prompt.
const PROMPT: &str = "session/prompt";

/// The method of the agent's question for permission.
const PERMISSION: &str = "session/request_permission";

/// The error code of a cancelled request.
const CANCELLED: i64 = -32_800;

/// Shows a text to the user.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// The proxy between one editor and one agent.
pub struct Proxy {
    agent: String,
    connection: String,
    resident: Arc<Resident>,
    program: Program,
    records: Records,
    numbers: AtomicU64,
    state: Arc<Mutex<State>>,
    tell: Tell,
}

/// The remembered state of the connection.
#[derive(Debug)]
struct State {
    sessions: Sessions,
    calls: ToolCalls,
    summary: Summary,
    /// The requests about which rules are being asked, each with its session.
    pending: HashMap<(Side, Id), (String, Pending)>,
}

/// The kind of a pending request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Prompt,
    Permission,
    Operation,
}

/// The expected answer to a forwarded request.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Any answer. It is forwarded unchanged.
    Anything,
    /// The answer that a session begins or continues.
    Opened {
        /// The session, if the request names it.
        session: Option<String>,
        /// Its directory.
        cwd: PathBuf,
    },
    /// The answer that this session has ended.
    Closed(String),
    /// The user's decision about a call.
    Permission {
        /// The session.
        session: String,
        /// The call.
        call: Value,
        /// The options that the agent offers.
        options: Options,
    },
    /// The result of an operation of the editor.
    Done(Operation),
    /// The output of a terminal. The operation is the command that it runs.
    Output(Operation),
}

/// A request to ask rules about.
#[derive(Debug)]
pub struct Asked {
    id: Id,
    message: Message,
    params: Members,
    what: What,
    _pending: Guard,
}

impl Asked {
    fn session(&self) -> &str {
        match &self.what {
            What::Prompt { session, .. } | What::Permission { session, .. } => session,
            What::Operation(operation) => &operation.session,
        }
    }
}

#[derive(Debug)]
enum What {
    Prompt { session: String, blocks: Value, text: String },
    Permission { session: String, call: Value, earlier: Vec<Value>, options: Options },
    Operation(Operation),
}

/// Removes a request from the pending ones when it is dropped.
#[derive(Debug)]
struct Guard {
    state: Arc<Mutex<State>>,
    key: (Side, Id),
}

impl Drop for Guard {
    fn drop(&mut self) {
        lock(&self.state).pending.remove(&self.key);
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Proxy {
    /// Creates a proxy for an agent of this name, started in this directory. Must be called within the runtime.
    #[must_use]
    pub fn new(agent: String, cwd: PathBuf, resident: Arc<Resident>, program: Program, tell: Tell) -> Self {
        let connection = uuid::Uuid::now_v7().to_string();
        let state = State {
            sessions: Sessions::new(connection.clone(), cwd),
            calls: ToolCalls::default(),
            summary: Summary::default(),
            pending: HashMap::new(),
        };
        let records = Records::new(Arc::clone(&resident), Arc::clone(&tell));
        let (state, numbers) = (Arc::new(Mutex::new(state)), AtomicU64::new(0));
        Self { agent, connection, resident, program, records, numbers, state, tell }
    }

    fn state(&self) -> MutexGuard<'_, State> {
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

    async fn settle(&self, event: &Event, waits: Waits<'_>) -> Settled {
        let settled = self.resident.settle(NAME, &event.cwd, event, waits).await;
        settled.unwrap_or_else(|why| Settled::Failed { why })
    }

    /// Records the last events, and returns the summary of the connection.
    pub async fn finish(&self) -> Summary {
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
        Summary { unrecorded: self.records.lost(), ..summary }
    }

    /// Begins or continues a session, and puts its servers behind the MCP proxy.
    fn open(&self, method: &str, message: &Message, params: &Members) -> Result<Begun<Expected, Asked>, String> {
        let value = params.to_value().map_err(|why| format!("`params` of {method} {why}"))?;
        let known = ["sessionId", "cwd", "mcpServers", "additionalDirectories", "_meta"];
        keys::check(&value, &known).map_err(|why| format!("`params` of {method} {why}"))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let cwd = text("cwd").map(Path::new).filter(|cwd| cwd.is_absolute());
        let cwd = cwd.ok_or_else(|| format!("`params.cwd` of {method} is no absolute path"))?;
        let list = match value.get("mcpServers") {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(list)) => list.as_slice(),
            Some(_) => return Err(format!("`params.mcpServers` of {method} is no list")),
        };
        let servers = Servers::behind(list, &self.program);
        servers.left_out.iter().chain(&servers.notes).for_each(|what| (self.tell)(what));
        let bytes = if list == servers.entries {
            message.bytes.clone()
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
        let expected = Expected::Opened { session: session.map(str::to_owned), cwd: cwd.to_owned() };
        Ok(Begun::Passed { bytes, expected })
    }

    fn asked(&self, from: Side, id: &Id, message: &Message, params: Members, what: What) -> Begun<Expected, Asked> {
        let key = (from, id.clone());
        let (session, pending) = match &what {
            What::Prompt { session, .. } => (session, Pending::Prompt),
            What::Permission { session, .. } => (session, Pending::Permission),
            What::Operation(operation) => (&operation.session, Pending::Operation),
        };
        self.state().pending.insert(key.clone(), (session.clone(), pending));
        let guard = Guard { state: Arc::clone(&self.state), key };
        Begun::Asked(Asked { id: id.clone(), message: message.clone(), params, what, _pending: guard })
    }

    /// Decides about a request that this proxy knows. Returns `None` for other requests.
    fn known_request(
        &self,
        from: Side,
        id: &Id,
        message: &Message,
        params: Members,
    ) -> Result<Option<Begun<Expected, Asked>>, String> {
        let method = message.method().unwrap_or_default();
        let passed = |expected| Ok(Some(Begun::Passed { bytes: message.bytes.clone(), expected }));
        let whole = |known: &[&str]| {
            let value = params.to_value().map_err(|why| format!("`params` of {method} {why}"))?;
            keys::check(&value, known).map_err(|why| format!("`params` of {method} {why}"))?;
            let session = value.get("sessionId").and_then(Value::as_str).map(str::to_owned);
            Ok::<_, String>((session.ok_or_else(|| format!("`params.sessionId` of {method} is missing"))?, value))
        };
        match (from, method) {
            (Side::Client, method) if OPENING.contains(&method) => self.open(method, message, &params).map(Some),
            (Side::Client, method) if CLOSING.contains(&method) => {
                passed(params.text("sessionId").map_or(Expected::Anything, Expected::Closed))
            }
            (Side::Client, PROMPT) => {
                let (session, value) = whole(&["sessionId", "prompt", "_meta"])?;
                let blocks = value.get("prompt").cloned().unwrap_or_default();
                let text = prompt::text(&blocks).map_err(|why| format!("`params.prompt` of {method} {why}"))?;
                let what = What::Prompt { session, blocks, text };
                Ok(Some(self.asked(from, id, message, params, what)))
            }
            (Side::Server, PERMISSION) => {
                let (session, value) = whole(&["sessionId", "toolCall", "options", "_meta"])?;
                let call = value.get("toolCall").filter(|call| call.is_object());
                let call = call.ok_or_else(|| format!("`params.toolCall` of {method} is missing"))?;
                let options = Options::of(&value);
                let whole = self.state().calls.ask(&session, call);
                let Ok(AskedCall { call, earlier }) = whole else {
                    return Ok(Some(self.too_much(id, &options, call)));
                };
                let what = What::Permission { session, call, earlier, options };
                Ok(Some(self.asked(from, id, message, params, what)))
            }
            (Side::Server, "terminal/output") => {
                let (session, value) = whole(&["sessionId", "terminalId", "_meta"])?;
                let terminal = value.get("terminalId").and_then(Value::as_str).unwrap_or_default();
                let command = self.state().sessions.terminal(&session, terminal);
                let params = command.ok_or_else(|| {
                    format!("`params.terminalId` of {method} is no terminal whose command is known here")
                })?;
                passed(Expected::Output(Operation { method: Method::RunCommand, session, params }))
            }
            (Side::Server, "terminal/release") => {
                let (session, value) = whole(&["sessionId", "terminalId", "_meta"])?;
                let terminal = value.get("terminalId").and_then(Value::as_str).unwrap_or_default();
                self.state().sessions.release_terminal(&session, terminal);
                passed(Expected::Anything)
            }
            (Side::Server, method) => match Method::of(method) {
                Some(method) => {
                    let operation = Operation::of(method, &params)?;
                    if method == Method::RunCommand && !self.state().sessions.has_room(&operation.params) {
                        let why = "too many terminals are open, or their commands are too long: release some";
                        (self.tell)(&format!("{} was rejected: {why}", method.name()));
                        return Err(why.to_owned());
                    }
                    Ok(Some(self.asked(from, id, message, params, What::Operation(operation))))
                }
                None => Ok(None),
            },
            (Side::Client, _) => Ok(None),
        }
    }

    /// Rejects a question about a call that is not known whole: rules would read less of it than the agent has reported.
    fn too_much(&self, id: &Id, options: &Options, call: &Value) -> Begun<Expected, Asked> {
        let why = "the agent has said more of its calls than is kept, so rules cannot read this one whole";
        self.count(|summary| {
            summary.permissions.all += 1;
            summary.permissions.rejected += 1;
        });
        (self.tell)(&format!("the call {} was rejected: {why}", asked::title(call)));
        Begun::answered(options.no(id, why))
    }

    /// Returns the pending requests of a session, with the answers that they get when its prompt is cancelled.
    fn cancelled(&self, session: &str) -> Vec<Unsent> {
        let state = self.state();
        let of_session = state.pending.iter().filter(|(_, (of, _))| of == session);
        let answer = |((of, id), (_, pending)): (&(Side, Id), &(String, Pending))| {
            let answer = match pending {
                Pending::Permission => permission::cancelled(id),
                Pending::Prompt => message::result(id, &json!({ "stopReason": "cancelled" })),
                Pending::Operation => message::error(Some(id), CANCELLED, "the prompt was cancelled"),
            };
            Unsent { of: *of, id: id.clone(), answer }
        };
        of_session.map(answer).collect()
    }
}

/// Returns true if this proxy asks rules about a method or changes its requests.
fn is_ours(method: &str) -> bool {
    OPENING.contains(&method) || [PROMPT, PERMISSION].contains(&method) || Method::of(method).is_some()
}

/// Returns the text for the reader of an answer that could not be judged.
fn failed(why: &str) -> String {
    format!("hookhost could not settle this, so nothing of it happens: {}.", why.trim_end_matches('.'))
}

/// Returns the text for the reader of an answer that the resident host has not settled.
fn unsettled(why: &str) -> String {
    failed(why) + " `hookhost serve --status` says more."
}

impl Handler for Proxy {
    type Expected = Expected;
    type Asked = Asked;

    fn name(&self, side: Side) -> &str {
        match side {
            Side::Client => "editor",
            Side::Server => "agent",
        }
    }

    fn tell(&self, text: &str) {
        (self.tell)(text);
    }

    fn unanswered(&self) -> String {
        format!("the agent {} has ended before it answered", self.agent)
    }

    fn request(&self, from: Side, id: &Id, message: &Message) -> Begun<Expected, Asked> {
        let method = message.method().unwrap_or_default();
        let refused = |code, why: &str| Begun::answered(message::error(Some(id), code, why));
        let params = match message.params() {
            Ok(params) => params,
            Err(why) if is_ours(method) => return refused(INVALID_PARAMS, &why),
            Err(_) => Members::default(),
        };
        match self.known_request(from, id, message, params) {
            Ok(Some(Begun::Asked(asked))) if !self.state().sessions.can_be(asked.session()) => {
                refused(INVALID_PARAMS, &format!("`params.sessionId` of {method} is no session of this connection"))
            }
            Ok(Some(begun)) => begun,
            Ok(None) if is_ours(method) => {
                refused(INVALID_REQUEST, &format!("{method} is not asked in this direction"))
            }
            Ok(None) => {
                self.observe(message);
                Begun::Passed { bytes: message.bytes.clone(), expected: Expected::Anything }
            }
            Err(why) => refused(INVALID_PARAMS, &why),
        }
    }

    fn in_place_of(&self, head: &[u8], tail: &[u8], why: &str) -> Option<Bytes> {
        Self::update_in_place_of(head, tail, why)
    }

    async fn ask(&self, _from: Side, asked: &Asked, asking: Asking<'_>) -> Decision<Expected> {
        let waits = |_: u32| asking.turn.takes_long();
        self.decide(asked, &waits).await
    }

    fn notification(&self, from: Side, method: &str, message: &Message) -> Notified {
        if is_ours(method) {
            let why = format!("{method} came as a notification, which nobody answers: it was not passed on");
            return Notified::Refused(why);
        }
        let params = message.params().unwrap_or_default();
        match (from, method) {
            (Side::Client, "session/cancel") => {
                self.observe(message);
                let requests = params.text("sessionId").map(|session| self.cancelled(&session)).unwrap_or_default();
                Notified::Answers { requests, passes: true }
            }
            (_, "$/cancel_request") => {
                let id = params.value("requestId").as_ref().and_then(Id::of);
                let Some(id) = id else { return Notified::Passed };
                let answer = message::error(Some(&id), CANCELLED, "the request was cancelled");
                Notified::Answers { requests: vec![Unsent { of: from, id, answer }], passes: false }
            }
            (Side::Server, "session/update") => {
                self.updated(&params);
                Notified::Passed
            }
            _ => {
                self.observe(message);
                Notified::Passed
            }
        }
    }

    fn answered(&self, expected: Expected, message: &Message) -> Option<Expected> {
        self.take_up(expected, message)
    }

    async fn answer(&self, id: &Id, expected: &Expected, message: &Message, asking: Asking<'_>) -> Bytes {
        let waits = |_: u32| asking.turn.takes_long();
        self.judged(id, expected, message, &waits).await
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("agent", &self.agent)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}
