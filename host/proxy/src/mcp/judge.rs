//! The judge, which decides on messages independently of the transport. The judge forwards a message, changes it or answers it. For
//! requests and answers on which rules can decide, the judge first asks the resident host.

mod listings;
mod results;
mod tasks;
mod user_replies;

use crate::jsonrpc::handler::{QuestionContext, RequestDecision, RequestRoute};
use crate::jsonrpc::message::{self, INVALID_PARAMS, Id, Members, Message};
use crate::mcp::answer;
use crate::mcp::listing::IsUnseen;
use crate::mcp::lock::{Definitions, HeldBackStore, HeldDefinitions, LockFile};
use crate::mcp::operation::{Method, Operation};
use crate::mcp::policy::{Mode, Policy};
use crate::mcp::question_state::{self, MAX_ROUNDS, MAX_SHOWN, QuestionDigest, StateSealer};
use crate::mcp::revision::REVISION_KEY;
use crate::mcp::subscription;
use crate::resident_host::{self, OTHER_EVENT, UserNotifier, failure_text as failed};
use crate::server_name::ServerName;
use hookhost_agents::mcp_proxy::{Event, NAME, Point};
use hookhost_agents::proxies::ProxyReply;
use hookhost_agents::reason;
use hookhost_client::async_client::{AsyncClient, LongWaitCallback};
use hookhost_contract::ToolHints;
use listings::MissingTool;
use results::AnswerContext;
pub use results::is_question;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tasks::StartedTasks;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use user_replies::ReplyRefusal;

/// Time that the resident host has to process the end of a session.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(2);

/// The member of `_meta` that lists the client's capabilities.
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// The user's configuration. It is read at each request.
pub trait PolicySource: Send + Sync {
    /// Returns the current policy for the server.
    ///
    /// # Errors
    /// One sentence about the problem. The caller then forwards nothing.
    fn policy(&self, server: &ServerName) -> Result<Policy, String>;

    /// Returns the path of the lock file.
    fn lock_file(&self) -> PathBuf;
}

/// A function that returns true if the arguments (the second value) are valid under the schema (the first value).
pub type Fits = fn(&Value, &Value) -> bool;

/// Functions that check texts and values. The user of this crate supplies them.
#[derive(Clone, Copy, Debug)]
pub struct Checks {
    /// Returns true if a character is invisible when it is displayed.
    pub is_unseen: IsUnseen,
    /// Returns true if arguments are valid under a tool's schema.
    pub fits: Fits,
}

/// Decides on the messages of one server.
pub struct Judge {
    /// The server.
    pub server: ServerName,
    session: String,
    cwd: PathBuf,
    host: Arc<AsyncClient>,
    rules: Arc<dyn PolicySource>,
    held_back: HeldBackStore,
    checks: Checks,
    sealer: StateSealer,
    numbers: AtomicU64,
    session_begun: OnceCell<()>,
    state: Mutex<ServerState>,
    notifier: UserNotifier,
}

/// The data about the server that the judge keeps between messages.
#[derive(Default)]
struct ServerState {
    lock: Arc<LockFile>,
    stamp: Option<(PathBuf, Option<(SystemTime, u64)>)>,
    held: HeldDefinitions,
    /// Approved tools whose definitions have changed, but which are not in `held` because the held-back definitions have reached
    /// their maximum size.
    left_out: HashSet<String>,
    /// The approved definitions and the policy at the last listing or poll.
    seen: Option<(Option<Definitions>, Policy)>,
    /// Number of changes of `seen`.
    changes: u64,
    /// The cursors of further pages of the server's first listing.
    first_pages: HashSet<String>,
    /// The requests that have started tasks.
    tasks: StartedTasks,
}

/// The relevant capabilities of a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// True if the client can show a form to its user.
    pub elicits: bool,
    /// True if the request itself lists the capabilities. In this case, the proxy puts a question into its answer instead of
    /// sending a request.
    pub is_stateless: bool,
}

impl ClientCapabilities {
    /// Reads the parameters of `initialize`.
    pub fn of_initialize(params: &Members) -> Self {
        Self { elicits: elicits(params.value("capabilities").as_ref()), is_stateless: false }
    }

    /// Reads the client's capabilities from a request, if it lists them.
    pub fn of_request(params: &Members) -> Option<Self> {
        let meta = params.value("_meta")?;
        meta.get(REVISION_KEY)?;
        Some(Self { elicits: elicits(meta.get(CAPABILITIES_KEY)), is_stateless: true })
    }
}

fn elicits(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.get("elicitation"));
    let fields = elicitation.and_then(Value::as_object);
    fields.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

/// The kind of answer that a forwarded request will get. It determines how the answer is checked.
#[derive(Clone, Debug)]
pub enum ExpectedAnswer {
    /// Any answer. It is forwarded unchanged.
    Anything,
    /// The answer to `initialize`, with the server's capabilities. It is forwarded unchanged.
    Capabilities,
    /// The answer that ends a subscription. It is forwarded unchanged, and so are the earlier notifications of the subscription.
    Subscription,
    /// An answer that must be withheld, because it contains a question to the client's user or model. Rules do not check questions
    /// in answers to this kind of request.
    Question,
    /// A listing of tools.
    Listing {
        /// The cursor of the requested page, or `None` for the first page.
        cursor: Option<String>,
    },
    /// The result of a request on which rules have decided.
    Result {
        /// The request as it was forwarded.
        operation: Operation,
        /// The identifier of the event, unique in the session.
        event: String,
        /// True if each result has the member `resultType`.
        is_stateless: bool,
    },
    /// The state of a task, which can contain the result of the request that started it.
    Task {
        /// The request that started the task.
        operation: Operation,
        /// The identifier of the event, unique in the session.
        event: String,
        /// True if each result has the member `resultType`.
        is_stateless: bool,
        /// The identifier of the task.
        task: String,
    },
}

/// A request on which rules decide.
#[derive(Debug)]
pub struct McpRequest {
    id: Id,
    message: Message,
    params: Members,
    operation: Operation,
    client: ClientCapabilities,
    /// True if the client sends the request to the server, and false if the server sends the request to the client.
    is_of_client: bool,
}

impl Judge {
    /// Creates a judge for a server. Each judge has its own session with the resident host. `tell` shows a text to the user.
    ///
    /// # Errors
    /// If the system provides no random number, or if the held-back definitions cannot be read.
    pub fn new(
        server: ServerName,
        cwd: PathBuf,
        host: Arc<AsyncClient>,
        rules: Arc<dyn PolicySource>,
        held_back: HeldBackStore,
        checks: Checks,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let held = held_back.read(server.as_str()).map_err(|error| error.to_string())?;
        Ok(Self {
            server,
            session: uuid::Uuid::now_v7().to_string(),
            cwd,
            host,
            rules,
            held_back,
            checks,
            sealer: StateSealer::new()?,
            numbers: AtomicU64::new(0),
            session_begun: OnceCell::new(),
            state: Mutex::new(ServerState { held, ..ServerState::default() }),
            notifier: UserNotifier::new(tell),
        })
    }

    /// Shows a text to the user.
    pub fn tell(&self, text: &str) {
        self.notifier.tell(text);
    }

    /// Reports to the resident host that the session begins, unless this has already been reported. Each event waits for this
    /// report.
    ///
    /// # Errors
    /// One sentence, if the report failed. The next event triggers another attempt.
    pub async fn begin_session(&self) -> Result<(), String> {
        let begin = async || match self.ask_host_now(&self.event(Point::SessionStart, None), &|_| {}).await {
            ProxyReply::Failed { why } => Err(why),
            _ => Ok(()),
        };
        self.session_begun.get_or_try_init(begin).await.copied()
    }

    /// If the session has begun, reports to the resident host that the session ends, and waits a short time for the reply.
    pub async fn end_session(&self) {
        if self.session_begun.initialized() {
            let _ = timeout(SESSION_END_TIMEOUT, self.ask_host(&self.event(Point::SessionEnd, None), &|_| {})).await;
        }
    }

    async fn ask_host(&self, event: &Event, on_wait: LongWaitCallback<'_>) -> ProxyReply {
        match self.begin_session().await {
            Ok(()) => self.ask_host_now(event, on_wait).await,
            // The resident host cannot decide on events of a session that has not begun.
            Err(why) => ProxyReply::Failed { why },
        }
    }

    async fn ask_host_now(&self, event: &Event, on_wait: LongWaitCallback<'_>) -> ProxyReply {
        resident_host::ask(&self.host, NAME, &event.cwd, event, on_wait).await
    }

    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, point: Point, operation: Option<&Operation>) -> Event {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Event {
            point,
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            server: self.server.to_string(),
            observe: false,
            asks: false,
            id: format!("{}.{number}", self.session),
            method: operation.map(|operation| operation.method.name().to_owned()).unwrap_or_default(),
            tool: operation.map(|operation| operation.tool.clone()).unwrap_or_default(),
            arguments: operation.map(|operation| operation.arguments.clone()).unwrap_or_default(),
            hints: operation.map(|operation| self.hints(operation)).unwrap_or_default(),
            result: None,
        }
    }

    /// Returns the annotations of a tool in its approved definition.
    fn hints(&self, operation: &Operation) -> ToolHints {
        let state = self.state();
        let definitions = state.lock.servers.get(self.server.as_str());
        let definition = definitions.filter(|_| operation.method == Method::CallTool);
        let annotations = definition.and_then(|tools| tools.get(&operation.tool)?.get("annotations"));
        let hint = |name: &str| annotations?.get(name)?.as_bool();
        ToolHints {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            open_world: hint("openWorldHint"),
        }
    }

    /// Returns the route of a new request. `initial` contains the capabilities that the client sent in `initialize`.
    pub fn route_request(
        self: &Arc<Self>,
        id: &Id,
        message: &Message,
        initial: ClientCapabilities,
        is_of_client: bool,
    ) -> RequestRoute<ExpectedAnswer, McpRequest> {
        let name = message.method().unwrap_or_default();
        let forward = |expected| RequestRoute::Forward { message: message.into(), expected };
        let refused = |why: String| RequestRoute::answer(message::error(Some(id), INVALID_PARAMS, &why));
        let params = match message.params() {
            Ok(params) => params,
            // The parameters can be an array if rules do not decide on the method.
            Err(_) if Method::of(name).is_none() && name != "tools/list" => return forward(ExpectedAnswer::Anything),
            Err(why) => return refused(why),
        };
        let client = ClientCapabilities::of_request(&params).unwrap_or(initial);
        let methods = if is_of_client { Method::FROM_CLIENT } else { Method::FROM_SERVER };
        let Some(method) = Method::of(name).filter(|method| methods.contains(method)) else {
            return match name {
                "initialize" if is_of_client => forward(ExpectedAnswer::Capabilities),
                subscription::LISTEN if is_of_client => forward(ExpectedAnswer::Subscription),
                "tools/list" if is_of_client => match listings::cursor(&params) {
                    Ok(cursor) => forward(ExpectedAnswer::Listing { cursor }),
                    Err(why) => refused(why),
                },
                // The answer contains the states of all tasks, and rules check it as one result.
                "tasks/list" => {
                    let operation = Operation {
                        method: Method::TaskResult,
                        tool: name.to_owned(),
                        arguments: Value::Object(Map::new()),
                    };
                    let (event, is_stateless) = (self.event(Point::Result, None).id, client.is_stateless);
                    forward(ExpectedAnswer::Result { operation, event, is_stateless })
                }
                "tasks/result" | "tasks/get" | "tasks/cancel" => {
                    self.expect_task(name, &params, client.is_stateless, is_of_client).map_or_else(refused, forward)
                }
                // The request is allowed only in the other direction.
                _ if Method::of(name).is_some() => RequestRoute::answer(message::error(
                    Some(id),
                    message::INVALID_REQUEST,
                    &format!("{name} cannot be requested in this direction"),
                )),
                _ => forward(ExpectedAnswer::Anything),
            };
        };
        let operation = match Operation::of(method, &params) {
            Ok(operation) => operation,
            Err(why) => return refused(why),
        };
        if method == Method::CallTool
            && let Some(missing) = self.missing_tool(id, &operation.tool, client.is_stateless)
        {
            return self.answer_missing(missing, operation.tool);
        }
        let (id, message) = (id.clone(), message.clone());
        RequestRoute::Ask(McpRequest { id, message, params, operation, client, is_of_client })
    }

    /// Returns the route of a call to a tool that is not available to the client. The call is recorded before it is answered.
    fn answer_missing(
        self: &Arc<Self>,
        missing: MissingTool,
        tool: String,
    ) -> RequestRoute<ExpectedAnswer, McpRequest> {
        let MissingTool { answer, reason } = missing;
        let Some(reason) = reason else { return RequestRoute::answer(answer) };
        let judge = Arc::clone(self);
        let record = async move { judge.note_held_back(&[(tool, reason.to_owned())], &|_| {}).await };
        RequestRoute::Answer { answer, before: Some(Box::pin(record)) }
    }

    /// Asks the resident host about a request and returns the decision.
    pub async fn ask(&self, request: &McpRequest, context: QuestionContext<'_>) -> RequestDecision<ExpectedAnswer> {
        let on_wait = &context.on_long_wait();
        let McpRequest { id, operation, client, is_of_client, .. } = request;
        let no = |why: &str| RequestDecision::Answer(answer::rejected(operation.method, id, why, client.is_stateless));
        let policy = match self.rules.policy(&self.server) {
            Ok(policy) => policy,
            Err(why) => return no(&failed(&why)),
        };
        let mut params = request.params.clone();
        let (mut agreed, mut round) = (None, 0);
        match self.take_reply(&mut params, operation) {
            Ok(None) => {}
            Ok(Some((asked, rounds))) => {
                self.note_answer(operation, true).await;
                (agreed, round) = (Some(asked), rounds);
            }
            Err(why) => {
                if why == ReplyRefusal::No {
                    self.note_answer(operation, false).await;
                }
                return why.answer(request);
            }
        }
        if let Err(why) = results::check_responses(&params) {
            return RequestDecision::Answer(message::error(Some(id), INVALID_PARAMS, &why));
        }
        let params = match self.judge_input_responses(params, &policy, on_wait).await {
            Ok(params) => params,
            Err(why) => return no(&why),
        };
        let is_small = operation.arguments.to_string().len() <= MAX_SHOWN;
        loop {
            let mut event = self.event(Point::Request, Some(operation));
            event.observe = policy.mode == Mode::Observe;
            event.asks = *is_of_client && client.elicits && is_small;
            let settled = self.ask_host(&event, on_wait).await;
            let arguments = match settled {
                ProxyReply::Allowed { notices } => {
                    self.notifier.tell_all(&notices);
                    None
                }
                ProxyReply::Changed { arguments } => Some(arguments),
                ProxyReply::Responded { result } => {
                    let answer = answer::responded(operation, id, &result, client.is_stateless);
                    return answer.map_or_else(|why| no(&why), RequestDecision::Answer);
                }
                ProxyReply::Rejected { why } => return no(&why),
                ProxyReply::Replaced { .. } | ProxyReply::ReplacedText { .. } => {
                    return no(&failed(OTHER_EVENT));
                }
                ProxyReply::Failed { why } => return no(&unsettled(&why)),
                ProxyReply::Ask { questions, .. } if event.observe => {
                    self.tell(&reason::asked(&questions));
                    None
                }
                ProxyReply::Ask { questions, arguments, rules } => {
                    let shown = arguments.as_ref().unwrap_or(&operation.arguments);
                    let asked = QuestionDigest::of(operation, &questions, shown, &rules);
                    if agreed.as_ref() == Some(&asked) {
                        let context = AnswerContext { operation, event: &event.id, policy: &policy, on_wait };
                        return self.encode_request(request, &params, arguments.as_ref(), context).await;
                    }
                    if round >= MAX_ROUNDS || shown.to_string().len() > MAX_SHOWN {
                        return no(NOT_ASKED);
                    }
                    round += 1;
                    let form =
                        question_state::elicitation(&self.server, operation, &questions, shown, self.checks.is_unseen);
                    if client.is_stateless {
                        let question = self.input_required(request, &params, form, asked, round);
                        return question.map_or_else(|why| no(&failed(&why)), RequestDecision::Answer);
                    }
                    let answer = context.ask_client(Method::Elicit.name(), &form).await;
                    let is_yes = answer.as_ref().is_some_and(question_state::is_yes);
                    self.note_answer(operation, is_yes).await;
                    if !is_yes {
                        return no(NOT_AGREED);
                    }
                    agreed = Some(asked);
                    continue;
                }
            };
            let context = AnswerContext { operation, event: &event.id, policy: &policy, on_wait };
            return self.encode_request(request, &params, arguments.as_ref(), context).await;
        }
    }

    /// Builds the forwarded request from the arguments after the rules have changed them.
    async fn encode_request(
        &self,
        request: &McpRequest,
        params: &Members,
        arguments: Option<&Value>,
        context: AnswerContext<'_>,
    ) -> RequestDecision<ExpectedAnswer> {
        let McpRequest { id, message, operation, client, .. } = request;
        let (event, is_stateless) = (context.event.to_owned(), client.is_stateless);
        if let Some(arguments) = arguments.filter(|_| operation.method == Method::CallTool)
            && let Some(schema) = self.pinned_schema(&operation.tool)
            && !(self.checks.fits)(&schema, arguments)
        {
            let why = failed("a plugin changed the arguments to values that are not valid under the tool's schema");
            let why = self.record_substitute(context, why).await;
            return RequestDecision::Answer(answer::rejected(operation.method, id, &why, is_stateless));
        }
        let mut operation = operation.clone();
        let written = match arguments {
            None => Ok(params.clone()),
            Some(arguments) => operation.write_back(params, arguments),
        };
        let params = match written {
            Ok(params) => params,
            Err(why) => return RequestDecision::Answer(answer::rejected(operation.method, id, &why, is_stateless)),
        };
        let is_as_it_came = arguments.is_none() && params.to_json() == request.params.to_json();
        let changed = if is_as_it_came { message.into() } else { message.with_params(&params) };
        let message = match changed.parse() {
            Ok(message) => message.into(),
            // The server would not answer an invalid request, so the client would wait forever.
            Err(cannot) => {
                let why = failed(&format!("a plugin changed the request to a message that cannot be sent: {cannot}"));
                return RequestDecision::Answer(answer::rejected(operation.method, id, &why, is_stateless));
            }
        };
        if let Some(arguments) = arguments {
            operation.arguments = arguments.clone();
        }
        RequestDecision::Forward { message, expected: ExpectedAnswer::Result { operation, event, is_stateless } }
    }
}

/// The text for the model if the client's user was asked and did not agree.
const NOT_AGREED: &str = "A person has to agree, and has not: do not try to do the same in another way.";

/// The text for the model if a person would have to agree but cannot be asked.
const NOT_ASKED: &str = "A person would have to agree, and cannot be asked: do not try to do the same in another way.";

/// Returns the text of the answer to a request on which the resident host made no decision.
fn unsettled(why: &str) -> String {
    failed(why) + " Tell the user: `hookhost serve --status` says more."
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("server", &self.server).field("session", &self.session).finish_non_exhaustive()
    }
}
