//! What happens to a message: passed on, changed, answered here, or asked about. It knows no transport.

use crate::answer;
use crate::listing::{IsUnseen, Pins};
use crate::lock::{Definitions, HeldBack, HeldTools, Lock};
use crate::message::{self, INTERNAL_ERROR, INVALID_PARAMS, Id, Members, Message, raw};
use crate::name::ServerName;
use crate::operation::{Method, Operation};
use crate::policy::{Mode, Pinning, Policy};
use crate::question::{self, Asked, MAX_ROUNDS, MAX_SHOWN, Seals};
use crate::resident::{Resident, Waits};
use bytes::Bytes;
use hookhost_adapters::mcp_proxy::{Event, Point, Settled};
use hookhost_adapters::reason;
use hookhost_contract::ToolResult;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// How long the resident host has to take up the end of a session.
const FOR_THE_END: Duration = Duration::from_secs(2);

/// Upper bound of the tasks of which it is remembered which call started them.
const MAX_TASKS: usize = 1000;

/// The members of a result that asks the client's user or model something, and has nothing else.
const OF_QUESTION: &[&str] = &["resultType", "inputRequests", "requestState"];

/// Where a request says which revision of the protocol it is of.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// Where it says what its client can do.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// What the user's configuration says; looked at with each request.
pub trait Rules: Send + Sync {
    /// What counts for the server now.
    ///
    /// # Errors
    /// One sentence. Then nothing is passed on.
    fn policy(&self, server: &ServerName) -> Result<Policy, String>;

    /// The lock file that counts.
    fn lock_file(&self) -> PathBuf;
}

/// Asks the client's user with these parameters of `elicitation/create`, and returns the answer.
pub type Elicit<'a> = &'a (dyn Fn(Value) -> Answering<'a> + Send + Sync);

/// An answer that is on its way; `None` where there is none.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Option<Value>> + Send + 'a>>;

/// Who proxies what.
pub struct Judge {
    /// The server.
    pub server: ServerName,
    session: String,
    cwd: PathBuf,
    resident: Arc<Resident>,
    rules: Arc<dyn Rules>,
    held_back: HeldBack,
    is_unseen: IsUnseen,
    seals: Seals,
    numbers: AtomicU64,
    begun: OnceCell<()>,
    known: Mutex<Known>,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// What is remembered of the server.
#[derive(Default)]
struct Known {
    lock: Arc<Lock>,
    stamp: Option<(PathBuf, Option<(SystemTime, u64)>)>,
    held: HeldTools,
    /// What decided about the last listing: what was approved of the server, and what the configuration says.
    seen: Option<(Option<Definitions>, Policy)>,
    /// The cursors of the server's first listing, as long as it has more pages.
    first_pages: HashSet<String>,
    /// The requests that tasks belong to, by the side that asks and the task.
    tasks: HashMap<(bool, String), Operation>,
}

/// What a client can do, as far as it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Whether its user can be asked by a form.
    pub elicits: bool,
    /// Whether the request says so itself: then the question is part of the answer, and no request of ours.
    pub is_stateless: bool,
}

impl Client {
    /// What the parameters of `initialize` say.
    #[must_use]
    pub fn of_initialize(params: &Members) -> Self {
        Self { elicits: elicits(params.value("capabilities").as_ref()), is_stateless: false }
    }

    /// What a request says of its client, where it does.
    #[must_use]
    pub fn of_request(params: &Members) -> Option<Self> {
        let meta = params.value("_meta")?;
        meta.get(REVISION)?;
        Some(Self { elicits: elicits(meta.get(CAPABILITIES)), is_stateless: true })
    }
}

fn elicits(capabilities: Option<&Value>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.get("elicitation"));
    let fields = elicitation.and_then(Value::as_object);
    fields.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

/// What is expected in answer to a request that was passed on.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Anything: it passes as it is.
    Anything,
    /// What the server says of itself; it passes as it is.
    Capabilities,
    /// A listing of tools.
    Listing {
        /// The page that was asked for.
        cursor: Option<String>,
    },
    /// The result of what was asked about.
    Result {
        /// As it was passed on.
        operation: Operation,
        /// What tells it from all others of the session.
        event: String,
        /// Whether each result says its type.
        is_stateless: bool,
    },
    /// The state of a task, in which the result of the request can be that started it.
    Task {
        /// That request.
        operation: Operation,
        /// What tells it from all others of the session.
        event: String,
        /// Whether each result says its type.
        is_stateless: bool,
    },
}

/// How a request begins.
#[derive(Debug)]
pub enum Begun {
    /// It passes as it is.
    Passed(Expected),
    /// It is asked about.
    Asked(Request),
    /// It is answered here.
    Answered(Bytes),
    /// It is a call of a tool that the client does not have: it is answered here, and noted.
    Refused {
        /// The answer.
        answer: Bytes,
        /// The tool.
        tool: String,
        /// Why.
        why: &'static str,
    },
}

/// A request that is asked about.
#[derive(Debug)]
pub struct Request {
    id: Id,
    message: Message,
    params: Members,
    operation: Operation,
    client: Client,
    /// Whether the client asks the server, not the other way round.
    is_of_client: bool,
}

/// What happens to a request.
#[derive(Debug)]
pub enum Decision {
    /// It is passed on.
    Passed {
        /// As these bytes.
        bytes: Bytes,
        /// What is expected in answer.
        expected: Expected,
    },
    /// It is answered here.
    Answered(Bytes),
}

impl Judge {
    /// For a server, in a session of its own. `tell` says something to the user.
    ///
    /// # Errors
    /// If the system gives no random number, or it cannot be read what is held back.
    pub fn new(
        server: ServerName,
        cwd: PathBuf,
        resident: Arc<Resident>,
        rules: Arc<dyn Rules>,
        held_back: HeldBack,
        is_unseen: IsUnseen,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let held = held_back.read(server.as_str()).map_err(|error| error.to_string())?;
        Ok(Self {
            server,
            session: uuid::Uuid::now_v7().to_string(),
            cwd,
            resident,
            rules,
            held_back,
            is_unseen,
            seals: Seals::new()?,
            numbers: AtomicU64::new(0),
            begun: OnceCell::new(),
            known: Mutex::new(Known { held, ..Known::default() }),
            tell: Box::new(tell),
        })
    }

    /// Says something to the user.
    pub fn tell(&self, text: &str) {
        (self.tell)(text);
    }

    /// Tells the resident host that the session begins, once. Each event waits for that.
    pub async fn begin_session(&self) {
        let begin = async || {
            self.resident.settle(&self.event(Point::SessionStart, None), &|_| {}).await;
        };
        self.begun.get_or_init(begin).await;
    }

    /// Tells the resident host that the session ends, where it has begun, and waits a moment for it.
    pub async fn end_session(&self) {
        if self.begun.initialized() {
            let _ = timeout(FOR_THE_END, self.settle(&self.event(Point::SessionEnd, None), &|_| {})).await;
        }
    }

    async fn settle(&self, event: &Event, waits: Waits<'_>) -> Settled {
        self.begin_session().await;
        self.resident.settle(event, waits).await
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, point: Point, operation: Option<&Operation>) -> Event {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Event {
            point,
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            server: self.server.to_string(),
            audit: false,
            asks: false,
            id: format!("{}.{number}", self.session),
            method: operation.map(|operation| operation.method.name().to_owned()).unwrap_or_default(),
            tool: operation.map(|operation| operation.tool.clone()).unwrap_or_default(),
            arguments: operation.map(|operation| operation.arguments.clone()).unwrap_or_default(),
            result: None,
        }
    }

    /// How a request begins. `initial` is what the client said of itself at the beginning.
    #[must_use]
    pub fn begin(&self, id: &Id, message: &Message, initial: Client, is_of_client: bool) -> Begun {
        let name = message.method().unwrap_or_default();
        let refused = |why: String| Begun::Answered(message::error(Some(id), INVALID_PARAMS, &why));
        let params = match message.params() {
            Ok(params) => params,
            // Of a method that is not ours, parameters can be a list.
            Err(_) if Method::of(name).is_none() && name != "tools/list" => return Begun::Passed(Expected::Anything),
            Err(why) => return refused(why),
        };
        let client = Client::of_request(&params).unwrap_or(initial);
        let methods = if is_of_client { Method::OF_CLIENT } else { Method::OF_SERVER };
        let Some(method) = Method::of(name).filter(|method| methods.contains(method)) else {
            return match name {
                "initialize" if is_of_client => Begun::Passed(Expected::Capabilities),
                "tools/list" if is_of_client => Begun::Passed(Expected::Listing { cursor: params.text("cursor") }),
                "tasks/result" | "tasks/get" => match Operation::of(Method::TaskResult, &params) {
                    Ok(task) => Begun::Passed(self.of_task(task, name == "tasks/get", client, is_of_client)),
                    Err(why) => refused(why),
                },
                // A request of the other side's has no business here.
                _ if Method::of(name).is_some() => Begun::Answered(message::error(
                    Some(id),
                    message::INVALID_REQUEST,
                    &format!("{name} is not asked in this direction"),
                )),
                _ => Begun::Passed(Expected::Anything),
            };
        };
        let operation = match Operation::of(method, &params) {
            Ok(operation) => operation,
            Err(why) => return refused(why),
        };
        if method == Method::CallTool
            && let Some(missing) = self.is_missing(id, &operation.tool, client.is_stateless)
        {
            return missing;
        }
        let (id, message) = (id.clone(), message.clone());
        Begun::Asked(Request { id, message, params, operation, client, is_of_client })
    }

    /// The result of a task is that of the request that started it.
    fn of_task(&self, task: Operation, is_state: bool, client: Client, is_of_client: bool) -> Expected {
        let operation = self.task_of(task.arguments.get("taskId"), is_of_client).unwrap_or(task);
        let (event, is_stateless) = (self.event(Point::Result, None).id, client.is_stateless);
        if is_state {
            Expected::Task { operation, event, is_stateless }
        } else {
            Expected::Result { operation, event, is_stateless }
        }
    }

    /// The request that has started a task.
    fn task_of(&self, task: Option<&Value>, is_of_client: bool) -> Option<Operation> {
        let task = task?.as_str()?.to_owned();
        self.known().tasks.get(&(is_of_client, task)).cloned()
    }

    /// The answer to a call of a tool that is not there for this client; `None` where it is.
    fn is_missing(&self, id: &Id, tool: &str, is_stateless: bool) -> Option<Begun> {
        let rejected = |why: &str| answer::rejected(Method::CallTool, id, why, is_stateless);
        let refused = |answer: Bytes, why: &'static str| Some(Begun::Refused { answer, tool: tool.to_owned(), why });
        let policy = match self.rules.policy(&self.server) {
            Ok(policy) => policy,
            Err(why) => return Some(Begun::Answered(rejected(&failed(&why)))),
        };
        if !policy.has(tool) {
            return refused(answer::no_such_tool(id, tool), "it was called, and the configuration forbids it");
        }
        let mut known = self.known();
        if let Err(why) = self.refresh(&mut known) {
            return Some(Begun::Answered(rejected(&failed(&why))));
        }
        if let Some(held) = known.held.get(tool) {
            let why = format!(
                "The tool {tool} of the MCP server {server} is held back: {}. Tell the user: `hookhost mcp approve {server}` \
                 shows it.",
                held.why,
                server = self.server
            );
            return refused(rejected(&why), "it was called while it is held back");
        }
        let own = known.lock.servers.get(self.server.as_str());
        let is_there = match own {
            Some(tools) => tools.contains_key(tool),
            // Nothing was listed yet.
            None => policy.definitions == Pinning::FirstUse,
        };
        if is_there {
            None
        } else {
            refused(answer::no_such_tool(id, tool), "it was called, and nobody has approved it")
        }
    }

    /// Records that tools are held back, each with why.
    pub async fn note_held_back(&self, tools: &[(String, String)]) {
        let mut event = self.event(Point::HeldBack, None);
        event.arguments = tools.iter().map(|(tool, why)| (tool.clone(), Value::from(why.as_str()))).collect();
        self.settle(&event, &|_| {}).await;
    }

    /// Reads the lock file again where it has changed. Whatever was approved meanwhile is held back no longer.
    fn refresh(&self, known: &mut Known) -> Result<(), String> {
        let path = self.rules.lock_file();
        let stamp = std::fs::metadata(&path).ok().and_then(|found| Some((found.modified().ok()?, found.len())));
        let stamp = Some((path, stamp));
        if known.stamp == stamp {
            return Ok(());
        }
        let lock = Lock::read(&self.rules.lock_file()).map_err(|error| error.to_string())?;
        known.held.retain(|tool, held| {
            let approved = lock.definition(self.server.as_str(), tool);
            held.is_final || !approved.is_some_and(|approved| crate::lock::is_same(approved, &held.definition))
        });
        known.lock = Arc::new(lock);
        known.stamp = stamp;
        Ok(())
    }

    /// Whether a listing could differ from the last one, by what was approved or what the configuration says since. True once
    /// for each change.
    #[must_use]
    pub fn has_listing_changed(&self) -> bool {
        // What cannot be read now is read with the next request, and refused there.
        let Ok(policy) = self.rules.policy(&self.server) else { return false };
        let mut known = self.known();
        if self.refresh(&mut known).is_err() || known.seen.is_none() {
            return false;
        }
        let now = Some((known.lock.servers.get(self.server.as_str()).cloned(), policy));
        let has_changed = known.seen != now;
        known.seen = now;
        has_changed
    }

    /// Asks about a request. `waits` is told before a person is waited for; `elicit` asks the client's user and returns the
    /// answer.
    pub async fn ask(&self, request: &Request, waits: Waits<'_>, elicit: Elicit<'_>) -> Decision {
        let Request { id, operation, client, is_of_client, .. } = request;
        let no = |why: &str| Decision::Answered(answer::rejected(operation.method, id, why, client.is_stateless));
        let policy = match self.rules.policy(&self.server) {
            Ok(policy) => policy,
            Err(why) => return no(&failed(&why)),
        };
        let mut params = request.params.clone();
        let (mut agreed, mut round) = (None, 0);
        match self.came_back(&mut params, operation) {
            Ok(None) => {}
            Ok(Some((asked, rounds))) => (agreed, round) = (Some(asked), rounds),
            Err(why) => return why.answer(request),
        }
        let params = match self.input_responses(params, &policy).await {
            Ok(params) => params,
            Err(why) => return no(&why),
        };
        let is_small = operation.arguments.to_string().len() <= MAX_SHOWN;
        loop {
            let mut event = self.event(Point::Request, Some(operation));
            event.audit = policy.mode == Mode::Audit;
            event.asks = *is_of_client && client.elicits && is_small;
            let settled = self.settle(&event, waits).await;
            let arguments = match settled {
                Settled::Allowed { notices } => {
                    notices.iter().for_each(|notice| self.tell(notice));
                    None
                }
                Settled::Changed { arguments } => Some(arguments),
                Settled::Responded { result } => {
                    let answer = answer::responded(operation.method, id, &result, client.is_stateless);
                    return answer.map_or_else(|why| no(&why), Decision::Answered);
                }
                Settled::Rejected { why } => return no(&why),
                Settled::Replaced { .. } => return no(&failed("the outcome is of another event")),
                Settled::Failed { why } => return no(&failed(&why)),
                Settled::Ask { questions, .. } if event.audit => {
                    self.tell(&reason::asked(&questions));
                    None
                }
                Settled::Ask { questions, arguments, rules } => {
                    let shown = arguments.as_ref().unwrap_or(&operation.arguments);
                    let asked = Asked::of(operation, &questions, shown, &rules);
                    if agreed.as_ref() == Some(&asked) {
                        return self.passed(request, &params, arguments.as_ref(), event.id);
                    }
                    if round >= MAX_ROUNDS || shown.to_string().len() > MAX_SHOWN {
                        return no(NOT_ASKED);
                    }
                    round += 1;
                    let form = question::elicitation(&self.server, operation, &questions, shown, self.is_unseen);
                    if client.is_stateless {
                        let question = self.input_required(request, form, asked, round);
                        return question.map_or_else(|why| no(&failed(&why)), Decision::Answered);
                    }
                    match elicit(form).await {
                        Some(answer) if question::is_yes(&answer) => agreed = Some(asked),
                        _ => return no(NOT_AGREED),
                    }
                    continue;
                }
            };
            return self.passed(request, &params, arguments.as_ref(), event.id);
        }
    }

    /// Derives what is passed on from the arguments as they were left.
    fn passed(&self, request: &Request, params: &Members, arguments: Option<&Value>, event: String) -> Decision {
        let Request { id, message, operation, client, .. } = request;
        let is_stateless = client.is_stateless;
        let mut operation = operation.clone();
        let written = match arguments {
            None => Ok(params.clone()),
            Some(arguments) => operation.write_back(params, arguments),
        };
        let params = match written {
            Ok(params) => params,
            Err(why) => return Decision::Answered(answer::rejected(operation.method, id, &why, is_stateless)),
        };
        let is_as_it_came = arguments.is_none() && params.to_json() == request.params.to_json();
        let bytes = if is_as_it_came { message.bytes.clone() } else { message.with_params(&params) };
        if let Some(arguments) = arguments {
            operation.arguments = arguments.clone();
        }
        Decision::Passed { bytes, expected: Expected::Result { operation, event, is_stateless } }
    }

    /// What was agreed to, where the client brings an answer to a question of ours. Nothing of it is left in the parameters.
    fn came_back(&self, params: &mut Members, operation: &Operation) -> Result<Option<(Asked, u32)>, CameBack> {
        let Some(state) = params.text("requestState").filter(|state| Seals::is_ours(state)) else { return Ok(None) };
        let sealed = self.seals.open(&state, &self.server, operation).map_err(CameBack::Bad)?;
        let answers = params.value("inputResponses").unwrap_or_default();
        *params = params.without("requestState").without("inputResponses");
        for (key, value) in &sealed.inner {
            *params = params.with(key, raw(value));
        }
        match answers.get(question::KEY) {
            Some(answer) if question::is_yes(answer) => Ok(Some((sealed.asked, sealed.round))),
            _ => Err(CameBack::No),
        }
    }

    /// The answer that asks the client's user, and has the request sent again.
    fn input_required(&self, request: &Request, form: Value, asked: Asked, round: u32) -> Result<Bytes, String> {
        let Request { id, params, operation, .. } = request;
        let of_server = |key: &str| params.value(key).filter(|value| !value.as_str().is_some_and(Seals::is_ours));
        let inner: Map<String, Value> = match of_server("requestState") {
            Some(state) => {
                let responses =
                    params.value("inputResponses").map(|responses| ("inputResponses".to_owned(), responses));
                std::iter::once(("requestState".to_owned(), state)).chain(responses).collect()
            }
            None => Map::new(),
        };
        let mut form = form;
        form["mode"] = json!("form");
        let state = self.seals.seal(&self.server, operation, asked, round, inner)?;
        let question = json!({ "method": Method::Elicit.name(), "params": form });
        let result = json!({
            "resultType": "input_required", "inputRequests": { question::KEY: question }, "requestState": state,
        });
        Ok(message::result(id, &result))
    }

    /// The answers that the client's user and model gave to questions of the server, which are on their way to it.
    async fn input_responses(&self, params: Members, policy: &Policy) -> Result<Members, String> {
        if params.get("inputResponses").is_none() {
            return Ok(params);
        }
        let mut responses = params.within("inputResponses")?;
        let keys: Vec<String> = responses.keys().map(str::to_owned).collect();
        for key in keys {
            let response = responses.within(&key)?;
            let method = if response.get("action").is_some() {
                Method::Elicit
            } else if response.get("roots").is_some() {
                continue;
            } else {
                Method::Sample
            };
            let operation = Operation { method, tool: method.name().to_owned(), arguments: json!({}) };
            let id = self.event(Point::Result, None).id;
            if let Some(changed) = self.result(&operation, &id, &response, policy).await? {
                responses = responses.with(&key, raw(&changed));
            }
        }
        Ok(params.with("inputResponses", responses.to_raw()))
    }

    /// What is passed on in answer to a request.
    pub async fn answer(&self, id: &Id, expected: &Expected, message: &Message) -> Bytes {
        match expected {
            Expected::Anything | Expected::Capabilities => message.bytes.clone(),
            Expected::Listing { cursor } => match self.listing(cursor.as_deref(), message).await {
                Ok(bytes) => bytes,
                Err(why) => {
                    self.tell(&why);
                    message::error(Some(id), INTERNAL_ERROR, &failed(&why))
                }
            },
            Expected::Result { operation, event, is_stateless } => {
                let judged = self.judged(operation, event, message).await;
                judged.unwrap_or_else(|why| answer::rejected(operation.method, id, &why, *is_stateless))
            }
            Expected::Task { event, is_stateless, operation } => {
                let judged = self.judged_task(operation, event, message).await;
                judged.unwrap_or_else(|why| answer::rejected(Method::TaskResult, id, &why, *is_stateless))
            }
        }
    }

    /// The answer as rules left it.
    ///
    /// # Errors
    /// What its reader reads in its place.
    async fn judged(&self, operation: &Operation, event: &str, message: &Message) -> Result<Bytes, String> {
        let policy = self.rules.policy(&self.server).map_err(|why| failed(&why))?;
        if let Some(error) = message.members.get("error") {
            let changed = self.error(operation, event, error, &policy).await?;
            return Ok(message.with_error(changed));
        }
        let mut result = message.members.within("result").map_err(|why| failed(&why))?;
        self.bounded(operation, event, message.bytes.len(), &policy).await?;
        self.note_task(operation, &result);
        if result.get("inputRequests").is_some() {
            result = self.input_requests(result, &policy).await?;
        }
        // A question is no result, unless there is more in it than a question.
        let is_question = result.text("resultType").as_deref() == Some("input_required")
            && result.keys().all(|key| OF_QUESTION.contains(&key));
        if !is_question && let Some(changed) = self.result(operation, event, &result, &policy).await? {
            return Ok(message.with_result(raw(&changed)));
        }
        // Most results ask nothing, and are not written once more.
        let asks = result.get("inputRequests").is_some();
        Ok(if asks { message.with_result_or_as_it_came(&result) } else { message.bytes.clone() })
    }

    /// A result that is larger than results may be is an error.
    async fn bounded(&self, operation: &Operation, event: &str, bytes: usize, policy: &Policy) -> Result<(), String> {
        if bytes <= policy.max_result {
            return Ok(());
        }
        let why = format!(
            "The result of {} has {bytes} bytes, and {} are the most that is passed on: ask for less.",
            operation.tool, policy.max_result
        );
        // What is passed on is what is recorded.
        let mut event = self.result_event(operation, event, ToolResult::error(why.clone()), policy);
        event.audit = true;
        self.settle(&event, &|_| {}).await;
        Err(why)
    }

    /// Remembers the task that a request has started, if it has.
    fn note_task(&self, operation: &Operation, result: &Members) {
        let task = match result.text("resultType").as_deref() {
            Some("task") => result.text("taskId"),
            _ => result.value("task").and_then(|task| Some(task.get("taskId")?.as_str()?.to_owned())),
        };
        let Some(task) = task else { return };
        let mut known = self.known();
        if known.tasks.len() >= MAX_TASKS {
            known.tasks.clear();
        }
        known.tasks.insert((Method::OF_CLIENT.contains(&operation.method), task), operation.clone());
    }

    /// The state of a task as rules left it.
    async fn judged_task(&self, operation: &Operation, event: &str, message: &Message) -> Result<Bytes, String> {
        let policy = self.rules.policy(&self.server).map_err(|why| failed(&why))?;
        if let Some(error) = message.members.get("error") {
            let changed = self.error(operation, event, error, &policy).await?;
            return Ok(message.with_error(changed));
        }
        self.bounded(operation, event, message.bytes.len(), &policy).await?;
        let state = message.members.within("result").map_err(|why| failed(&why))?;
        let state = self.task_state(operation, event, state, &policy).await?;
        Ok(message.with_result_or_as_it_came(&state))
    }

    /// A notification of the state of a task, as rules left it.
    ///
    /// # Errors
    /// Why it is not passed on.
    pub async fn pushed_task(&self, message: &Message) -> Result<Bytes, String> {
        let policy = self.rules.policy(&self.server)?;
        let state = message.params()?;
        let task = Operation::of(Method::TaskResult, &state)?;
        let operation = self.task_of(task.arguments.get("taskId"), true).unwrap_or(task);
        let event = self.event(Point::Result, None).id;
        self.bounded(&operation, &event, message.bytes.len(), &policy).await?;
        let judged = self.task_state(&operation, &event, state.clone(), &policy).await?;
        Ok(if judged.to_json() == state.to_json() { message.bytes.clone() } else { message.with_params(&judged) })
    }

    async fn task_state(
        &self,
        operation: &Operation,
        event: &str,
        mut state: Members,
        policy: &Policy,
    ) -> Result<Members, String> {
        if state.get("inputRequests").is_some() {
            state = self.input_requests(state, policy).await?;
        }
        if state.get("result").is_some() {
            let result = state.within("result").map_err(|why| failed(&why))?;
            if let Some(changed) = self.result(operation, event, &result, policy).await? {
                state = state.with("result", raw(&changed));
            }
        }
        if let Some(error) = state.get("error")
            && let Some(changed) = self.error(operation, event, error, policy).await?
        {
            state = state.with("error", raw(&changed));
        }
        Ok(state)
    }

    /// An error as rules left it; `None` where it is as it came.
    async fn error(
        &self,
        operation: &Operation,
        event: &str,
        error: &RawValue,
        policy: &Policy,
    ) -> Result<Option<Value>, String> {
        let whole: Value = hookhost_adapters::json::value(error.get()).map_err(|why| failed(&why))?;
        let said = whole.get("message").and_then(Value::as_str).unwrap_or_default();
        let mut before = ToolResult::error(said);
        before.raw = Some((&whole).into());
        let event = self.result_event(operation, event, before, policy);
        match self.settle(&event, &|_| {}).await {
            Settled::Allowed { notices } => {
                notices.iter().for_each(|notice| self.tell(notice));
                Ok(None)
            }
            Settled::Replaced { result } => {
                let code = whole.get("code").cloned().unwrap_or_else(|| json!(answer::REJECTED));
                Ok(Some(json!({ "code": code, "message": result.text })))
            }
            Settled::Rejected { why } => Err(why),
            Settled::Failed { why } => Err(failed(&why)),
            _ => Err(failed("the outcome is of another event")),
        }
    }

    /// What the server asks the client's user and model before it answers.
    async fn input_requests(&self, result: Members, policy: &Policy) -> Result<Members, String> {
        let mut requests = result.within("inputRequests").map_err(|why| failed(&why))?;
        let keys: Vec<String> = requests.keys().map(str::to_owned).collect();
        for key in keys {
            let request = requests.within(&key).map_err(|why| failed(&why))?;
            let name = request.text("method").unwrap_or_default();
            let params = request.within("params").map_err(|why| failed(&why))?;
            let method = match Method::of(&name).filter(|method| Method::OF_SERVER.contains(method)) {
                Some(method) => method,
                None if name == "roots/list" => continue,
                None => return Err(failed(&format!("the server asks for {name:?}, which is unknown"))),
            };
            let operation = Operation::of(method, &params).map_err(|why| failed(&why))?;
            let mut event = self.event(Point::Request, Some(&operation));
            event.audit = policy.mode == Mode::Audit;
            // The answer would wait for a person, and all that follow with it.
            event.asks = true;
            match self.settle(&event, &|_| {}).await {
                Settled::Allowed { notices } => notices.iter().for_each(|notice| self.tell(notice)),
                Settled::Ask { questions, .. } if event.audit => self.tell(&reason::asked(&questions)),
                Settled::Ask { .. } => return Err(NOT_ASKED.to_owned()),
                Settled::Changed { arguments } => {
                    let params = operation.write_back(&params, &arguments)?;
                    requests = requests.with(&key, request.with("params", params.to_raw()).to_raw());
                }
                Settled::Rejected { why } => return Err(why),
                Settled::Failed { why } => return Err(failed(&why)),
                _ => return Err(failed("a plugin answered in the place of the client's user or model")),
            }
        }
        if requests.to_json() == result.within("inputRequests").unwrap_or_default().to_json() {
            return Ok(result);
        }
        Ok(result.with("inputRequests", requests.to_raw()))
    }

    fn result_event(&self, operation: &Operation, event: &str, result: ToolResult, policy: &Policy) -> Event {
        let mut told = self.event(Point::Result, Some(operation));
        event.clone_into(&mut told.id);
        told.audit = policy.mode == Mode::Audit;
        told.result = Some(result);
        told
    }

    /// The result as rules left it; `None` where it is as it came.
    ///
    /// # Errors
    /// What its reader reads in its place.
    async fn result(
        &self,
        operation: &Operation,
        event: &str,
        result: &Members,
        policy: &Policy,
    ) -> Result<Option<Value>, String> {
        let before = answer::read(operation.method, result).map_err(|why| failed(&why))?;
        let event = self.result_event(operation, event, before.clone(), policy);
        match self.settle(&event, &|_| {}).await {
            Settled::Allowed { notices } => {
                notices.iter().for_each(|notice| self.tell(notice));
                Ok(None)
            }
            Settled::Replaced { result: after } => {
                answer::write_back(operation.method, &before, &after, result).map(Some)
            }
            Settled::Rejected { why } => Err(why),
            Settled::Failed { why } => Err(failed(&why)),
            _ => Err(failed("the outcome is of another event")),
        }
    }

    /// A listing of tools as the client gets it. The user learns once what is held back.
    async fn listing(&self, cursor: Option<&str>, message: &Message) -> Result<Bytes, String> {
        if message.members.get("error").is_some() {
            return Ok(message.bytes.clone());
        }
        let result = message.members.within("result")?;
        let policy = self.rules.policy(&self.server)?;
        let (listed, new) = self.filtered(cursor, &result, &policy)?;
        for (tool, why) in &new {
            self.tell(&format!(
                "the tool {tool} of the MCP server {server} is held back: {why}; `hookhost mcp approve {server}` shows it",
                server = self.server
            ));
        }
        if !new.is_empty() {
            self.note_held_back(&new).await;
        }
        Ok(if listed.to_json() == result.to_json() {
            message.bytes.clone()
        } else {
            message.with_result(listed.to_raw())
        })
    }

    /// The filtered result, and the tools that were not held back before, each with why.
    fn filtered(
        &self,
        cursor: Option<&str>,
        result: &Members,
        policy: &Policy,
    ) -> Result<(Members, Vec<(String, String)>), String> {
        let failed = |error: crate::lock::LockError| error.to_string();
        let _changing = self.held_back.changing().map_err(failed)?;
        let mut known = self.known();
        self.refresh(&mut known)?;
        let is_new = !known.lock.servers.contains_key(self.server.as_str());
        let is_first = policy.definitions == Pinning::FirstUse
            && (cursor.is_none() && is_new || cursor.is_some_and(|cursor| known.first_pages.remove(cursor)));
        let lock = Arc::clone(&known.lock);
        let pins = Pins { lock: &lock, server: &self.server, policy, is_first, is_unseen: self.is_unseen };
        let listed = pins.filter(result)?;
        if listed.nameless > 0 {
            self.tell(&format!(
                "{} tools of the MCP server {} have no name, and are left out",
                listed.nameless, self.server
            ));
        }
        if is_first {
            known.first_pages.extend(result.text("nextCursor"));
            let mut approved = Lock::clone(&lock);
            approved.approve(self.server.as_str(), listed.approved);
            approved.write(&self.rules.lock_file()).map_err(failed)?;
            known.stamp = None;
            self.refresh(&mut known)?;
        }
        let before = known.held.clone();
        let is_whole = cursor.is_none() && result.get("nextCursor").is_none();
        known.held.retain(|tool, _| !is_whole && !listed.tools.contains(tool));
        known.held.extend(listed.held);
        known.seen = Some((known.lock.servers.get(self.server.as_str()).cloned(), policy.clone()));
        let new = known
            .held
            .iter()
            .filter(|(tool, held)| before.get(*tool) != Some(*held))
            .map(|(tool, held)| (tool.clone(), held.why.clone()))
            .collect();
        if known.held != before {
            self.held_back.write(self.server.as_str(), &known.held).map_err(failed)?;
        }
        Ok((listed.result, new))
    }
}

/// Why a request that was sent again is not asked about.
enum CameBack {
    Bad(question::BadState),
    No,
}

impl CameBack {
    fn answer(&self, request: &Request) -> Decision {
        let Request { id, operation, client, .. } = request;
        Decision::Answered(match self {
            Self::Bad(why) => message::error(Some(id), INVALID_PARAMS, &why.to_string()),
            Self::No => answer::rejected(operation.method, id, NOT_AGREED, client.is_stateless),
        })
    }
}

/// What the model reads where the user did not agree.
const NOT_AGREED: &str = "A person has to agree, and has not: do not try to do the same in another way.";

/// What the model reads where nobody can be asked.
const NOT_ASKED: &str = "A person would have to agree, and cannot be asked: do not try to do the same in another way.";

/// What its reader reads where something could not be settled.
fn failed(why: &str) -> String {
    let why = why.trim_end_matches('.');
    format!(
        "hookhost could not settle this, so nothing of it happens: {why}. Tell the user: `hookhost serve --status` says more."
    )
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("server", &self.server).field("session", &self.session).finish_non_exhaustive()
    }
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("held", &self.held.len()).finish_non_exhaustive()
    }
}
