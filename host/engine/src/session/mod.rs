//! A session: its events, one at a time and in order of arrival, each settled by the chain of plugins that subscribe to it.

mod audit_writes;
mod checked;
mod dispatch;
mod dispatched;
mod events;
mod failure_count;
mod invocation;
mod kept_answers;
mod notice;
mod observers;
mod payload;
mod pending;
mod prepared;
mod replay_inputs;
mod services;
mod settled;
mod shared_questions;
mod state;
mod stream;
mod tools;

pub use checked::AllowedCall;
pub use notice::{Notice, NoticeKind};
pub use pending::{Begun, Pending, QuestionGone};
pub use prepared::PreparedCall;
pub use settled::Settled;
pub use stream::{FinalText, Piece, TextStream};
pub use tools::{PluginTools, ToolCallError};

pub(crate) use dispatch::Dispatch;
pub(crate) use observers::ObserverTasks;
pub(crate) use replay_inputs::{ReplayInputs, ReplayedConsent};
pub(crate) use services::Services;

use crate::active_config::{ActiveConfig, RuleSet};
use crate::approval::AskingAgent;
use crate::audit::{Delivery, DeliveryKind, Header, raw};
use crate::callback;
use crate::contract::{self, Cause, EventKind, Failure, FailureKind, Json, ModelRef, OutcomeKind, Shape, ToolSpec};
use crate::event::{CallValidator, Schemas};
use crate::plugin::Plugin;
use crate::runtime;
use crate::sandbox::capability::{EventFacts, NoTranscript, Reminder, Transcript};
use crate::state::Lineage;
use crate::store::{LateWrite, StoreError, Turn, TurnQueue};
use dispatch::EventStart;
use dispatched::Dispatched;
use failure_count::{Caller, NextCall};
use futures_util::future::BoxFuture;
use kept_answers::KeptAnswers;
use serde_json::Value;
use state::{Change, SessionCopy};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::Instrument as _;
use tracing::field::Empty;

/// Upper bound of a session's identifier, in bytes.
const MAX_ID_BYTES: usize = 256;

/// Upper bound of the notices that wait for the agent.
const MAX_NOTICES: usize = 256;

/// Upper bound of the part of a prompt that is shown with a question, in characters.
const MAX_TASK: usize = 80;

/// Upper bound of a session's reminders; the oldest are dropped first.
const MAX_REMINDERS: usize = 64;

/// Digits of the largest number of an event.
const MAX_DIGITS: usize = 20;

/// The properties of a session.
///
/// ```
/// use hookhost::{Config, Host, SessionSpec};
/// use std::path::Path;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let host = Host::builder(Config::empty()).build().await?;
/// let workspace = Path::new("/home/ada/project");
/// let mut spec = SessionSpec::new("my-agent", workspace);
/// spec.cwd = workspace.join("src");
/// spec.interactive = true;
/// let session = host.open_session(spec)?;
///
/// // A sub-agent that the session starts.
/// let below = host.open_session(SessionSpec::new("my-agent", workspace).under(session.id(), 1))?;
///
/// // A relative path is an error: plugins compare paths.
/// assert!(host.open_session(SessionSpec::new("my-agent", Path::new("."))).is_err());
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionSpec {
    /// Unique among all sessions, 1 to 256 bytes without control characters; absent: a fresh UUID. A known one
    /// continues that session, with the state that plugins have of it.
    pub id: Option<String>,
    /// The agent program, such as `hookhost`.
    pub agent: String,
    /// Working directory: an absolute path without `..`.
    pub cwd: PathBuf,
    /// Root of the project that the agent works on: an absolute path without `..`. Rules see the directory of the outermost project file
    /// that counts in place of a directory below it.
    pub workspace: PathBuf,
    /// 0 for the agent that the user talks to, n for a sub-agent n levels down.
    pub depth: u32,
    /// Whether a person is there to be asked.
    pub interactive: bool,
    /// The session that started this one: its identifier, as `id` is one.
    pub parent: Option<String>,
    /// The session at the root of the tree that this one is in: they share the state of the scope `tree`. If
    /// absent, the first of these that is known: the root in the store, the root of the parent, the parent, this session.
    pub root: Option<String>,
    /// The rules that it runs under. Absent: the host's own.
    pub rules: Option<RuleSet>,
    /// The tools whose arguments are known, for checking what plugins change.
    pub tools: Vec<ToolSpec>,
    /// The models that a plugin may move a request to.
    pub models: Vec<ModelRef>,
}

impl SessionSpec {
    /// A session of the agent program `agent` in `workspace`, headless, at depth 0, with no known tools.
    #[must_use]
    pub fn new(agent: &str, workspace: &Path) -> Self {
        Self {
            id: None,
            agent: agent.to_owned(),
            cwd: workspace.to_owned(),
            workspace: workspace.to_owned(),
            depth: 0,
            interactive: false,
            parent: None,
            root: None,
            rules: None,
            tools: Vec::new(),
            models: Vec::new(),
        }
    }

    /// The session of this identifier.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// A sub-agent's session, `depth` levels down, which the session `parent` starts.
    #[must_use]
    pub fn under(mut self, parent: impl Into<String>, depth: u32) -> Self {
        (self.parent, self.depth) = (Some(parent.into()), depth);
        self
    }

    /// In the tree of the session `root`.
    #[must_use]
    pub fn root(mut self, root: impl Into<String>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Runs it under these rules, in place of the host's own.
    #[must_use]
    pub fn rules(mut self, rules: &RuleSet) -> Self {
        self.rules = Some(rules.clone());
        self
    }
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The session id is invalid; holds its first 40 characters, escaped.
    #[error(
        "`{0}` is not a valid session id: an id has 1 to {MAX_ID_BYTES} bytes and no control characters; leave it out to get a fresh one"
    )]
    Id(String),
    /// A directory of the session is not an absolute path; plugins would compare relative paths with something else.
    #[error("the {what} `{path}` of the session is not an absolute path without `..`: give it from the root on")]
    NotAbsolute {
        /// `workspace` or `working directory`.
        what: &'static str,
        /// The path.
        path: String,
    },
    /// A tool's schema cannot be used: see [`crate::schema::SchemaError`].
    #[error("the input schema of the tool `{tool}` {problem}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// A handle of a session of an agent. It has one typed method per event, which asks the plugins that subscribe to the event
/// and returns the outcome.
///
/// Events of one session are settled one at a time, in order of arrival, even if several tasks, several handles, or several
/// processes with the same store send them; sessions do not wait for each other. A question to a person delays no other
/// event. A session outlives its handles: opening a handle does not start the session, and dropping it does not end it.
///
/// ```
/// use hookhost::contract::{ToolResult, Usage};
/// use hookhost::{Config, GateOutcome, Host, TransformOutcome};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let host = Host::builder(Config::empty()).build().await?;
/// let session = host.session("my-agent", "/work")?;
///
/// let read = match session.check_tool("read_file", &serde_json::json!({ "path": "README.md" })).await.outcome {
///     GateOutcome::Allowed { value: call } => {
///         let text = format!("the text of {}", call.arguments()["path"]);
///         let result = ToolResult { text, is_error: false, raw: None };
///         // Plugins may mask the result before the model reads it.
///         match session.check_result(&call, result).await.outcome {
///             TransformOutcome::Passed { value } => value.text,
///             TransformOutcome::Withheld(rejection) => rejection.to_string(),
///         }
///     }
///     GateOutcome::Responded { response, .. } => response.text,
///     GateOutcome::Rejected(rejection) => rejection.to_string(),
/// };
/// assert_eq!(read, "the text of \"README.md\"");
///
/// let _ = session.session_end(Usage::default()).await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub struct Session {
    shared: Arc<SessionInner>,
}

/// Options of an event beside its payload.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DispatchOptions {
    /// The agent's own message, if the event came from outside.
    pub raw: Option<Json>,
    /// Whether to wait for observers. Then their calls are in the returned record. This is for trying a plugin: it makes the
    /// event as slow as its observers.
    pub await_observers: bool,
    /// Whether a field that the event does not have is an error, for a payload that a person wrote and may have misspelt.
    /// Otherwise it is read past, since a program of a later version may have written it.
    pub refuse_unknown_fields: bool,
}

impl DispatchOptions {
    /// Waits for observers.
    #[must_use]
    pub fn awaiting_observers() -> Self {
        Self { await_observers: true, ..Self::default() }
    }
}

pub(crate) struct SessionInner {
    pub(crate) services: Arc<Services>,
    pub(crate) spec: SessionSpec,
    pub(crate) schemas: Schemas,
    id: Arc<str>,
    /// The session at the root of its tree, which may be itself.
    root: Arc<str>,
    rules: RuleSet,
    /// The queue in which its events wait for their turn.
    turn_queue: TurnQueue,
    /// The session as plugins see it.
    info: Mutex<Arc<contract::Session>>,
    /// The prefix of event identifiers if there is no log.
    events_of: String,
    events: AtomicU64,
    /// The prefix of identifiers of calls and records that are not events, unique among all handles of all sessions.
    numbered_by: String,
    calls: AtomicU64,
    /// Number of records that were queued for the observers of the audit log.
    observed_records: AtomicU64,
    kept_answers: Mutex<KeptAnswers>,
    state: Arc<SessionCopy>,
    transcript: Mutex<Arc<dyn Transcript>>,
    /// The number of warnings of each plugin about records that were passed on.
    warned: Mutex<HashMap<String, u32>>,
    /// Whether the store knew nothing of the session when the handle was opened.
    is_new: bool,
    /// Whether the agent has told the end of the session by this handle.
    is_ended: AtomicBool,
    /// Whether the handle was dropped, so that nobody takes its notices.
    is_closed: AtomicBool,
    observers: observers::Observers,
}

impl Session {
    pub(crate) fn open(services: Arc<Services>, spec: SessionSpec) -> Result<Self, SessionError> {
        let schemas = Schemas::compile(&spec.tools)
            .map_err(|(tool, error)| SessionError::Schema { tool, problem: error.to_string() })?;
        let id = spec.id.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        // The first event reads the row again in its turn; reminders have to be known before.
        let row = services.store.session(&id).unwrap_or_default();
        let root = spec.root.clone().or_else(|| state::root_in(&id, &row));
        let root = root.or_else(|| spec.parent.as_deref().map(|parent| services.root_of(parent)));
        let root = root.unwrap_or_else(|| id.clone());
        for id in [&id, &root].into_iter().chain(&spec.parent) {
            if id.is_empty() || id.len() > MAX_ID_BYTES || id.contains(char::is_control) {
                return Err(SessionError::Id(id.chars().take(40).flat_map(char::escape_debug).collect()));
            }
        }
        for (what, path) in [("workspace", &spec.workspace), ("working directory", &spec.cwd)] {
            let leads_up = path.components().any(|part| part == std::path::Component::ParentDir);
            if !path.is_absolute() || leads_up || path.as_os_str().as_encoded_bytes().contains(&0) {
                let path = path.to_string_lossy().chars().take(200).flat_map(char::escape_debug).collect();
                return Err(SessionError::NotAbsolute { what, path });
            }
        }
        let is_first = services.claim(&id, &root);
        let numbered_by = format!("{id}.{}", uuid::Uuid::now_v7().simple());
        let state = SessionCopy::new(id.clone());
        let rules = spec.rules.clone().unwrap_or_else(|| services.rules.clone());
        let info = contract::Session {
            id: id.clone(),
            agent: spec.agent.clone(),
            turn: 0,
            depth: spec.depth,
            cwd: spec.cwd.to_string_lossy().into_owned(),
            workspace: rules.active().root_of(&spec.workspace).to_string_lossy().into_owned(),
            interactive: spec.interactive,
        };
        let shared = SessionInner {
            rules,
            turn_queue: services.store.turn_queue(&id),
            services,
            spec,
            schemas,
            events_of: if is_first { id.clone() } else { numbered_by.clone() },
            events: AtomicU64::new(0),
            numbered_by,
            id: id.into(),
            root: root.into(),
            info: Mutex::new(Arc::new(info)),
            calls: AtomicU64::new(0),
            observed_records: AtomicU64::new(0),
            kept_answers: Mutex::default(),
            state,
            transcript: Mutex::new(Arc::new(NoTranscript)),
            warned: Mutex::default(),
            is_new: is_first && row.version == 0,
            is_ended: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            observers: observers::Observers::default(),
        };
        shared.state.take_over(&row);
        if row.version == 0 {
            let notices = shared.config().unmatched_tool_patterns(&shared.spec.tools);
            for (plugin, text) in notices {
                let notice = Notice::about(NoticeKind::PatternMatchesNothing, &plugin, text);
                shared.state.change(Change::Notice(notice));
            }
            if shared.root != shared.id {
                shared.state.change(Change::Root(shared.root.to_string()));
                let of_root = shared.services.store.session(&shared.root).unwrap_or_default();
                for (file, project) in state::project_files_in(&shared.root, &of_root) {
                    shared.state.change(Change::Counts(file, project));
                }
            }
        }
        let shared = Arc::new(shared);
        shared.record_opening(&shared.info());
        Ok(Self { shared })
    }

    /// Unique among all sessions.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Whether nothing was known of the session when this handle was opened: no other handle of this host, and no row in the
    /// store. Then it begins, and `session-start` comes first.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.shared.is_new
    }

    /// Records that the outcome of the event `of` did not come to the agent as it was settled, or that the agent got none. The
    /// record is written soon, and holds no value of the event: `note` is a sentence about what happened at `point`.
    pub fn note_delivery(&self, of: Option<&str>, point: &str, what: DeliveryKind, note: &str) {
        let shared = &self.shared;
        let info = shared.info();
        let header = Header::new(&*shared.id, shared.services.now());
        let (id, point, note) = (of.map(str::to_owned), point.to_owned(), note.to_owned());
        shared.record_soon(&shared.config(), &info, &Delivery { id, header, point, what, note });
    }

    /// The project files that [`Self::note_project_files`] has noted in this session, or in that at the root of its tree before this
    /// one began, each with the root of its project.
    #[must_use]
    pub fn project_files(&self) -> BTreeMap<PathBuf, PathBuf> {
        self.shared.state.with(|state| state.project_files.clone())
    }

    /// Notes that these project files count in the session, in the project with this root. They are written with its next record.
    pub fn note_project_files(&self, files: &[PathBuf], root: &Path) {
        let known = self.project_files();
        for file in files.iter().filter(|file| !known.contains_key(*file) && file.to_str().is_some()) {
            let root = if root.to_str().is_some() { root } else { file.parent().unwrap_or(root) };
            self.shared.state.change(Change::Counts(file.clone(), root.to_owned()));
        }
    }

    /// Notes that a project file need not count any more in the session: the user has revoked its approval.
    pub fn forget_project_file(&self, file: &Path) {
        self.shared.state.change(Change::CountsNoMore(file.to_owned()));
    }

    /// Sets the number of model calls so far.
    pub fn set_turn(&self, turn: u32) {
        let mut info = self.shared.info.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut info).turn = turn;
    }

    /// Sets the source of the conversation.
    pub fn set_transcript(&self, transcript: Arc<dyn Transcript>) {
        *self.shared.transcript.lock().unwrap_or_else(PoisonError::into_inner) = transcript;
    }

    /// The reminders for the model's next request, to be added after the last user message, in order: as of the last event
    /// that this handle settled.
    #[must_use]
    pub fn reminders(&self) -> Vec<Reminder> {
        self.kept_reminders().into_iter().map(|(_, reminder)| reminder).collect()
    }

    /// The live reminders of loaded plugins, each with the number of model calls before it. An agent keeps them for a session
    /// that may continue with another store.
    #[must_use]
    pub fn kept_reminders(&self) -> Vec<(u32, Reminder)> {
        let (turn, rules) = (self.shared.info().turn, self.shared.config());
        // Reminders of other plugins count under other rules, perhaps of another process.
        let is_loaded = |reminder: &Reminder| rules.plugins().iter().any(|plugin| plugin.name() == reminder.plugin);
        let lives = |(born, reminder): &&(u32, Reminder)| state::lives(*born, reminder, turn) && is_loaded(reminder);
        self.shared.state.with(|state| state.reminders.iter().filter(lives).cloned().collect())
    }

    /// Adds the reminders that [`Self::kept_reminders`] returned with an earlier store, if their plugin is loaded, they are
    /// still live at the number of model calls of [`Self::set_turn`], and they are not known.
    pub fn take_up_reminders(&self, kept: Vec<(u32, Reminder)>) {
        let rules = self.shared.config();
        let turn = self.shared.info().turn;
        let is_loaded = |reminder: &Reminder| rules.plugins().iter().any(|plugin| plugin.name() == reminder.plugin);
        let known = self.kept_reminders();
        for (born, reminder) in kept {
            let is_new = !known.iter().any(|known| *known == (born, reminder.clone()));
            if is_new && is_loaded(&reminder) && state::lives(born, &reminder, turn) {
                self.shared.state.change(Change::Remind(born, reminder));
            }
        }
    }

    /// The notices for the user, each once: plugins whose failure let an event pass, tripped plugins, patterns that match no
    /// tool. What observers do later, when the session is closed, is in [`Host::take_notices`](crate::Host::take_notices).
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        self.shared.state.take_notices()
    }

    /// Resets a tripped plugin: it is called for its next event as if it had not failed. Returns whether it was tripped.
    pub fn reset_failures(&self, plugin: &str) -> bool {
        self.shared.state.reset(plugin)
    }

    /// Settles an event whose payload is JSON: an object of `handle`'s parameters, `session` left out, as
    /// `{"call": {…}}` for `before-tool-call`. A tool call needs no `origin` (then it is `builtin`) and no `action`, which the
    /// host's action map works out. The outcome is JSON, too. A field that the event does not have is read past, unless
    /// the options refuse it; plugins, the record and the outcome do not have it then.
    ///
    /// # Errors
    /// If the payload is not of the event's type.
    pub async fn dispatch_event(
        &self,
        event: EventKind,
        payload: Value,
        options: DispatchOptions,
    ) -> Result<Settled<Value>, serde_json::Error> {
        let begun = self.begin_kind(event, payload, options, None).await?;
        Ok(self.settled(begun).await)
    }

    /// The same, but questions are handed back: the host's approver is not asked about an escalated event.
    ///
    /// # Errors
    /// If the payload is not of the event's type.
    pub async fn begin_event(
        &self,
        event: EventKind,
        payload: Value,
        options: DispatchOptions,
    ) -> Result<Begun<Value>, serde_json::Error> {
        self.begin_kind(event, payload, options, None).await
    }

    /// Settles an event again, as it was recorded.
    pub(crate) async fn dispatch_again(
        &self,
        event: EventKind,
        payload: Value,
        options: DispatchOptions,
        replay: ReplayInputs,
    ) -> Result<Settled<Value>, serde_json::Error> {
        let begun = self.begin_kind(event, payload, options, Some(Box::new(replay))).await?;
        Ok(self.settled(begun).await)
    }

    pub(crate) async fn begin_json<E: Dispatched>(
        &self,
        payload: Value,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
    ) -> Result<Begun<Value>, serde_json::Error> {
        let payload = payload::read::<E>(self, payload, options.refuse_unknown_fields)?;
        // An outcome is made of texts, numbers and JSON, and so is JSON.
        let begun = self.begin::<E>(payload, options, replay).await;
        Ok(begun.map(|outcome| serde_json::to_value(outcome).unwrap_or_default()))
    }

    /// Asks the host's approver, if the event is escalated.
    fn settled<O: 'static>(&self, begun: Begun<O>) -> impl Future<Output = Settled<O>> {
        self.shared.settled(begun)
    }

    /// Notes the prompt that the agent works on: its start is shown with a question to a person.
    pub(crate) fn works_on(&self, prompt: &str) {
        let begins = prompt.trim_start().chars().take(MAX_TASK).collect();
        self.shared.state.change(Change::Task(begins));
    }

    // Not `async fn`s, which would copy payload and outcome once more.
    pub(crate) fn dispatch<E: Dispatched>(
        &self,
        payload: E::Payload,
    ) -> impl Future<Output = Settled<E::Outcome>> + Send {
        self.shared.dispatch::<E>(payload)
    }

    /// Settles an event as far as that can be done without a person.
    fn begin<E: Dispatched>(
        &self,
        payload: E::Payload,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
    ) -> impl Future<Output = Begun<E::Outcome>> + Send {
        E::begin(&self.shared, payload, false, options, replay)
    }

    /// The same about a payload that contains what the host derives.
    fn begin_prepared<E: Dispatched>(
        &self,
        payload: E::Payload,
        options: DispatchOptions,
    ) -> impl Future<Output = Begun<E::Outcome>> + Send {
        E::begin(&self.shared, payload, true, options, None)
    }
}

/// Why no plugin is asked about an event.
pub(crate) enum NotAsked {
    /// The session could not have its turn.
    Store(StoreError),
    /// The session has ended.
    Ended,
    /// There is no tokio runtime, or none with a timer.
    NoRuntime(runtime::Missing),
    /// The payload is invalid; why.
    Invalid(String),
}

impl NotAsked {
    fn cause(&self) -> Cause {
        match self {
            Self::Store(_) => Cause::NotRecorded,
            Self::Ended => Cause::Ended,
            Self::NoRuntime(_) => Cause::NoRuntime,
            Self::Invalid(_) => Cause::Invalid,
        }
    }
}

impl std::fmt::Display for NotAsked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Ended => {
                f.write_str("the agent has told its end or dropped its handle; open the session again to continue it")
            }
            Self::NoRuntime(runtime::Missing::Runtime) => {
                f.write_str("call it from within one, or use `hookhost::blocking`")
            }
            Self::NoRuntime(runtime::Missing::Timer) => {
                f.write_str("the one that it is called from has no timer; build it with `enable_time`")
            }
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

impl SessionInner {
    /// Settles an event; the host's approver is asked if it is escalated.
    async fn dispatch<E: Dispatched>(self: &Arc<Self>, payload: E::Payload) -> Settled<E::Outcome> {
        let begun = E::begin(self, payload, false, DispatchOptions::default(), None).await;
        self.settled(begun).await
    }

    async fn settled<O: 'static>(&self, begun: Begun<O>) -> Settled<O> {
        match begun {
            Begun::Settled(settled) => settled,
            // See `boxed`.
            Begun::Escalated(pending) => Box::pin(pending.settle(self.services.approver.as_deref())).await,
        }
    }

    /// Settles an event as far as that can be done without a person; `is_prepared` says that the payload contains what the
    /// host derives.
    async fn begin<E: Dispatched>(
        self: &Arc<Self>,
        payload: E::Payload,
        is_prepared: bool,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
    ) -> Begun<E::Outcome> {
        // What is replayed was recorded of all handles of the session.
        let turn = match self.refuses::<E>(&payload, replay.is_some()) {
            Some(why) => Err(why),
            None => self.turn().await.map_err(NotAsked::Store),
        };
        // The event is settled under these rules, even if others become active meanwhile.
        let rules = self.config();
        let (dispatch, payload) =
            self.dispatch_of::<E>(&rules, payload, is_prepared, options, replay, turn.as_ref().ok());
        let begun = match turn {
            // Held to the end. Answering a question later takes another turn.
            Ok(_turn) if tracing::dispatcher::has_been_set() => self.traced::<E>(dispatch, payload).await,
            Ok(_turn) => E::settle(dispatch, payload).await,
            Err(why) => Begun::Settled(E::not_asked(dispatch, &why)),
        };
        if E::KIND == EventKind::SessionEnd {
            self.is_ended.store(true, Ordering::Release);
        }
        begun
    }

    /// The event, once it is its turn, and its value.
    fn dispatch_of<'a, E: Dispatched>(
        self: &'a Arc<Self>,
        rules: &'a Arc<ActiveConfig>,
        payload: E::Payload,
        is_prepared: bool,
        options: DispatchOptions,
        replay: Option<Box<ReplayInputs>>,
        turn: Option<&Turn>,
    ) -> (Box<Dispatch<'a>>, E::Payload) {
        let info = self.info();
        let payload = match is_prepared {
            true => payload,
            false => E::prepared(payload, &self.validator(rules, &info)),
        };
        let DispatchOptions { raw: own_message, await_observers, .. } = options;
        let (id, time) = match &replay {
            Some(replay) => (replay.id.clone(), replay.time),
            None => (self.event_id(turn), self.services.now()),
        };
        let parent_session = self.spec.parent.clone();
        let facts = Arc::new(EventFacts { id, time, parent_session, raw: own_message });
        let start = EventStart { info, facts, replay, await_observers };
        (Dispatch::new(self, rules, E::KIND, start, raw(&payload)), payload)
    }

    /// Settles an event within a span of its own. Without a subscriber a span would cost as much as the rest of an event that
    /// concerns nobody.
    fn traced<'a, E: Dispatched>(
        self: &'a Arc<Self>,
        dispatch: Box<Dispatch<'a>>,
        payload: E::Payload,
    ) -> BoxFuture<'a, Begun<E::Outcome>> {
        let span = tracing::info_span!("event", session = &*self.id, event = E::KIND.name(), outcome = Empty);
        let recorded = span.clone();
        let settled = async move {
            let begun = E::settle(dispatch, payload).await;
            let outcome = match &begun {
                Begun::Settled(settled) => settled.kind(),
                Begun::Escalated(_) => OutcomeKind::Escalated,
            };
            recorded.record("outcome", outcome.name());
            begun
        };
        Box::pin(settled.instrument(span))
    }
}

impl SessionInner {
    /// Why no plugin is asked about an event, whatever the store says.
    fn refuses<E: Dispatched>(&self, payload: &E::Payload, is_replayed: bool) -> Option<NotAsked> {
        if !is_replayed && self.is_over() {
            return Some(NotAsked::Ended);
        }
        if let Err(missing) = runtime::check() {
            return Some(NotAsked::NoRuntime(missing));
        }
        let waits = self.waits_for_itself().map(str::to_owned);
        waits.or_else(|| E::check(payload, &self.services.actions).err()).map(NotAsked::Invalid)
    }

    /// Why an event that is sent by the code on this thread would wait for itself.
    fn waits_for_itself(&self) -> Option<&'static str> {
        if self.services.store.is_in_sink() {
            return Some("an audit sink sent it, and events wait for the sink: send it from a task of its own");
        }
        let waits = callback::waits(self.turn_queue.waiting());
        waits.then_some("it was sent from within an event of its session, which waits for it: use another session")
    }

    /// Whether the agent has told the end of the session, or has dropped its handle.
    fn is_over(&self) -> bool {
        self.is_ended.load(Ordering::Acquire) || self.is_closed.load(Ordering::Acquire)
    }

    fn info(&self) -> Arc<contract::Session> {
        Arc::clone(&self.info.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let SessionInner { services, state, id, is_closed, .. } = &*self.shared;
        self.shared.record_end(&self.shared.info());
        services.release(id);
        is_closed.store(true, Ordering::Release);
        services.leave_notices(state.take_notices());
        if state.is_unwritten() {
            let late = LateWrite { session: Some(state.pending_write(Vec::new())), ..LateWrite::default() };
            if let Err(error) = services.store.push(late) {
                tracing::error!(%error, session = &**id, "what is known of a session could not be kept");
            }
        }
    }
}

impl Drop for SessionInner {
    /// Runs after the last observer, which may work longer than the agent keeps the session.
    fn drop(&mut self) {
        self.services.store.forget(self.lineage());
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl SessionInner {
    /// Waits for the session's turn, and reads the changes of other handles. What another store has recorded of it is in the log
    /// then.
    ///
    /// # Errors
    /// If the turn cannot be taken, or the session cannot be read.
    async fn turn(&self) -> Result<Turn, StoreError> {
        let turn = self.turn_queue.turn().await?;
        if turn.is_stale {
            self.state.mark_stale();
        }
        if turn.is_after_another_store {
            // See `boxed`.
            Box::pin(self.services.store.take_in()).await?;
        }
        if self.state.is_stale() {
            self.state.take_over(&Box::pin(self.services.store.session_now(&self.id)).await?);
        }
        Ok(turn)
    }

    /// The rules for events that begin now.
    fn config(&self) -> Arc<ActiveConfig> {
        self.rules.active()
    }

    fn warned(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.warned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_answers(&self) -> MutexGuard<'_, KeptAnswers> {
        self.kept_answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn validator<'a>(&'a self, config: &'a ActiveConfig, info: &'a contract::Session) -> CallValidator<'a> {
        let asks = config.asks();
        CallValidator {
            actions: &self.services.actions,
            agent: &self.spec.agent,
            schemas: &self.schemas,
            models: &self.spec.models,
            cwd: &info.cwd,
            asks,
        }
    }

    /// The identifier of the next event; called within its turn. Without a log, each handle has numbers of its own.
    fn next_event_id(&self) -> String {
        match self.services.store.keeps_log() {
            true => numbered(&self.id, self.state.next_number()),
            false => numbered(&self.events_of, self.events.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// The identifier of an event; one whose session cannot have its turn has an identifier of its own.
    fn event_id(&self, turn: Option<&Turn>) -> String {
        match turn {
            Some(_) => self.next_event_id(),
            None => self.next_call_id(),
        }
    }

    /// The identifier of an event whose record is written after its turn. If the row does not contain the event's number yet, another
    /// handle may take that number first: then the record gets an identifier of its own.
    fn late_event_id(&self, id: String) -> String {
        if self.state.has_unwritten_numbers() { self.next_call_id() } else { id }
    }

    /// The identifier of a call that is not an event: unique, without a random number for each.
    fn next_call_id(&self) -> String {
        format!("{}.call-{}", self.numbered_by, self.calls.fetch_add(1, Ordering::Relaxed))
    }

    /// The identifier of a record's event. It has a count of its own, so that events have the same identifiers, and thus random
    /// numbers, whether or not a plugin subscribes to the log.
    fn next_record_id(&self) -> String {
        format!("{}.record-{}", self.numbered_by, self.observed_records.fetch_add(1, Ordering::Relaxed))
    }

    fn notice(&self, notice: Notice) {
        if self.is_closed.load(Ordering::Acquire) {
            self.services.leave_notices(vec![notice]);
        } else {
            self.state.change(Change::Notice(notice));
        }
    }

    /// The session and the tree whose state its events use.
    fn lineage(&self) -> Lineage<'_> {
        Lineage { session: &self.id, root: &self.root }
    }

    /// The asking agent, as a person is shown it.
    fn asking_agent(&self) -> AskingAgent {
        AskingAgent {
            depth: self.spec.depth,
            parent: self.spec.parent.clone(),
            task: self.state.with(|state| state.task.clone()),
        }
    }

    /// Adds a notice, once for each plugin, that a failure had no consequence: the event continued without its answer.
    fn skipped(&self, plugin: &Plugin, event: EventKind, failure: &Failure) {
        let name = plugin.name();
        if failure.kind == FailureKind::Tripped || !self.state.is_skipped_first(name) {
            return;
        }
        let why = match event.shape() {
            _ if !plugin.enforces() => "its `mode = \"audit\"` let the event pass",
            Shape::Gate | Shape::Transform => "its `on-failure = \"skip\"` let the event pass",
            Shape::Collect | Shape::Observe => "nothing depends on its answer there, so the event passed",
        };
        // Its calls about records have no record.
        let further = if event == EventKind::AuditRecord { "not told" } else { "in the audit log alone" };
        let text = format!(
            "the plugin {name} failed on {event}: it {failure}; {why}. Its further failures of this session are {further}"
        );
        self.notice(Notice::about(NoticeKind::FailureSkipped, name, text));
    }

    fn transcript(&self) -> Arc<dyn Transcript> {
        Arc::clone(&self.transcript.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a plugin's next call is made.
    fn next_call(&self, plugin: &Plugin, observes: bool) -> NextCall {
        self.state.next_call(|| Caller::new(plugin, observes), self.services.now())
    }

    fn succeeded(&self, plugin: &Plugin, observes: bool) {
        self.state.succeeded(|| Caller::new(plugin, observes));
    }

    /// Counts a failure; the user is told when the plugin is tripped.
    fn failed(&self, plugin: &Plugin, observes: bool, failure: &Failure) {
        self.state.failed(&Caller::new(plugin, observes), failure, self.services.now());
    }

    /// The reminders as changes of the session, given before so many model calls as there are now.
    fn reminding(&self, reminders: Vec<Reminder>) -> Vec<Change> {
        if reminders.is_empty() {
            return Vec::new();
        }
        let turn = self.info().turn;
        reminders.into_iter().map(|reminder| Change::Remind(turn, reminder)).collect()
    }
}

/// Tells the time: of events and of their records, for the expiry of state, and for when a tripped plugin is tried again.
/// Deadlines are lengths of waiting, and not by this clock. Where it panics, the operating system's clock counts.
pub trait Clock: Send + Sync {
    /// The time.
    fn now(&self) -> SystemTime;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// The identifier of the event of this number.
fn numbered(prefix: &str, mut number: u64) -> String {
    // By hand: each event has one, and `format!` takes longer.
    let (mut digits, mut first) = ([b'0'; MAX_DIGITS], MAX_DIGITS - 1);
    while number > 9 {
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        first -= 1;
    }
    digits[first] = b'0' + number as u8;
    [prefix, ".", str::from_utf8(&digits[first..]).unwrap_or_default()].concat()
}

/// Milliseconds since the Unix epoch.
fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time of the operating system, in milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    milliseconds(SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn an_events_identifier_has_its_whole_number() {
        for number in [0, 9, 10, 99, 100, 1_234_567_890, u64::MAX - 1, u64::MAX] {
            assert_eq!(numbered("session", number), format!("session.{number}"));
        }
    }
}
