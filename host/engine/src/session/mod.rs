//! A session: its events, one at a time and in call order, each settled by the chain of plugins that subscribe to it.

mod approving;
mod dispatch;
mod dispatched;
mod events;
mod kept;
mod observers;
mod payload;
mod recall;
mod recording;
mod services;
mod settled;
mod streak;
mod tools;

pub use observers::MAX_WAITING;
pub use settled::Settled;
pub use streak::FAILURES_TO_TRIP;
pub use tools::{PluginTools, ToolCallError};

pub(crate) use dispatch::Dispatch;
pub(crate) use observers::Telling;
pub(crate) use recall::{Recall, RecalledConsent};
pub(crate) use services::Services;

use crate::active_config::ActiveConfig;
use crate::approval::AskingAgent;
use crate::audit::raw;
use crate::contract::{self, EventKind, Failure, FailureKind, Json, ModelRef, Shape, ToolCall, ToolOrigin, ToolSpec};
use crate::event::{CallValidator, Schemas};
use crate::plugin::Plugin;
use crate::sandbox::capability::{EventFacts, NoTranscript, Reminder, Transcript};
use crate::state::Lineage;
use dispatch::Beginning;
use dispatched::Dispatched;
use kept::KeptAnswers;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use streak::{Caller, NextCall, Streaks};
use tokio::time::Instant;

/// Most bytes of a session's identifier.
const MOST_ID: usize = 256;

/// Most notices that wait for the agent to take them.
const MOST_NOTICES: usize = 256;

/// Most characters of a prompt that are told with a question.
const MAX_TASK: usize = 80;

/// Most reminders that a session keeps; the oldest go first.
const MOST_REMINDERS: usize = 64;

/// What a session is.
#[derive(Clone, Debug)]
pub struct SessionSpec {
    /// Unique among all sessions, 1 to 256 bytes without control characters; absent: a fresh UUID. One that was there
    /// before is the same session, taken up again with the state that plugins have of it.
    pub id: Option<String>,
    /// The agent program, such as `hookhost`.
    pub agent: String,
    /// Working directory: an absolute path without `..`.
    pub cwd: PathBuf,
    /// Root of the project that the agent works on: an absolute path without `..`.
    pub workspace: PathBuf,
    /// 0 for the agent that the user talks to, n for a sub-agent n levels down.
    pub depth: u32,
    /// Whether a person is there to be asked.
    pub interactive: bool,
    /// The session that started this one.
    pub parent: Option<String>,
    /// The session at the root of the tree that this one is in: they share the state of the scope `tree`. Absent: the root
    /// of the parent where that is open in this host, else the parent, else this session itself.
    pub root: Option<String>,
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
            tools: Vec::new(),
            models: Vec::new(),
        }
    }
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// An identifier that is none; the beginning of it.
    #[error(
        "`{0}` is no identifier of a session: it has 1 to {MOST_ID} bytes and no control characters; give none, and it is made"
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
    /// A session of that identifier is open: the two would share and erase each other's state.
    #[error("a session `{0}` is open already: give each its own identifier, or none")]
    Open(String),
    /// A tool's schema cannot be used: see [`crate::schema::SchemaError`].
    #[error("the input schema of the tool `{tool}` {problem}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// A session of an agent. One typed method per event; each asks the plugins that subscribe to it and says what is to be done.
///
/// Events of one session are settled one at a time, in call order, also where they are sent from several tasks;
/// sessions run beside each other.
pub struct Session {
    shared: Arc<Shared>,
}

/// What an event may bring along beside its payload.
#[derive(Clone, Debug, Default)]
pub struct DispatchOptions {
    /// The agent's own message, where the event came from outside.
    pub raw: Option<Json>,
    /// Whether observers are waited for: then their calls are in the record that comes back. For trying a plugin; it puts
    /// observers on the path of the event.
    pub await_observers: bool,
}

pub(crate) struct Shared {
    pub(crate) services: Arc<Services>,
    pub(crate) spec: SessionSpec,
    pub(crate) schemas: Schemas,
    id: String,
    /// The session at the root of its tree; its own identifier where that is itself.
    root: String,
    /// Held while an event is settled; fair, so events keep their order.
    order: tokio::sync::Mutex<()>,
    turn: AtomicU32,
    /// What the identifiers of its events begin with, unique among all openings of all sessions.
    events_of: String,
    events: AtomicU64,
    /// Records that were told to those who subscribe to the audit log.
    told_records: AtomicU64,
    /// The call that [`Session::tool_call`] made last: asked about next, it need not be made anew.
    made: Mutex<Option<ToolCall>>,
    kept_answers: Mutex<KeptAnswers>,
    life: Mutex<Life>,
    observers: observers::Observers,
}

/// What changes in the course of a session.
struct Life {
    streaks: Streaks,
    reminders: Vec<(u32, Reminder)>,
    notices: Vec<String>,
    /// Plugins of which it was told that a failure of theirs was skipped.
    skipped: HashSet<String>,
    model_calls: HashMap<String, Arc<AtomicU32>>,
    transcript: Arc<dyn Transcript>,
    /// How the prompt begins that the agent works on.
    task: Option<String>,
    /// Nobody takes its notices any more.
    is_closed: bool,
}

impl Session {
    pub(crate) fn open(services: Arc<Services>, spec: SessionSpec) -> Result<Self, SessionError> {
        let schemas = Schemas::compile(&spec.tools)
            .map_err(|(tool, error)| SessionError::Schema { tool, problem: error.to_string() })?;
        let id = spec.id.clone().unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
        let root = spec.root.clone().or_else(|| spec.parent.as_deref().map(|parent| services.root_of(parent)));
        let root = root.unwrap_or_else(|| id.clone());
        for id in [&id, &root] {
            if id.is_empty() || id.len() > MOST_ID || id.contains(char::is_control) {
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
        services.claim(&id, &root)?;
        // A session may be opened again, also by several processes at once: then its identifier alone tells no events apart.
        let is_shared = spec.id.is_some() && services.store.keeps_log();
        let events_of = if is_shared { format!("{id}.{}", uuid::Uuid::now_v7().simple()) } else { id.clone() };
        let life = Life {
            streaks: Streaks::default(),
            reminders: Vec::new(),
            notices: services.config().tool_patterns_that_fit_none(&spec.tools),
            skipped: HashSet::new(),
            model_calls: HashMap::new(),
            transcript: Arc::new(NoTranscript),
            task: None,
            is_closed: false,
        };
        let shared = Shared {
            services,
            spec,
            schemas,
            id,
            root,
            order: tokio::sync::Mutex::new(()),
            turn: AtomicU32::new(0),
            events_of,
            events: AtomicU64::new(0),
            told_records: AtomicU64::new(0),
            made: Mutex::new(None),
            kept_answers: Mutex::default(),
            life: Mutex::new(life),
            observers: observers::Observers::default(),
        };
        let shared = Arc::new(shared);
        shared.record_opening(&shared.info());
        Ok(Self { shared })
    }

    /// Unique among all sessions.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// Says how many model calls have been made so far.
    pub fn set_turn(&self, turn: u32) {
        self.shared.turn.store(turn, Ordering::Relaxed);
        self.shared
            .life()
            .reminders
            .retain(|(born, reminder)| reminder.ttl_turns.is_none_or(|ttl| turn < born.saturating_add(ttl)));
    }

    /// Says where the conversation can be read.
    pub fn set_transcript(&self, transcript: Arc<dyn Transcript>) {
        self.shared.life().transcript = transcript;
    }

    /// A tool call whose action the host's action map works out.
    #[must_use]
    pub fn tool_call(&self, id: &str, name: &str, arguments: &Value, origin: ToolOrigin) -> ToolCall {
        let cwd = self.shared.spec.cwd.to_string_lossy();
        let call = self.shared.services.actions.call(id.to_owned(), name.to_owned(), arguments, origin, &cwd);
        *self.shared.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(call.clone());
        call
    }

    /// What the model is to be told with the next request, behind the last user message, in order.
    #[must_use]
    pub fn reminders(&self) -> Vec<Reminder> {
        self.shared.life().reminders.iter().map(|(_, reminder)| reminder.clone()).collect()
    }

    /// The reminders that still live, each with the number of model calls before which it was given: what an agent keeps of a
    /// session that may go on in another process.
    #[must_use]
    pub fn kept_reminders(&self) -> Vec<(u32, Reminder)> {
        self.shared.life().reminders.clone()
    }

    /// Takes up what [`Self::kept_reminders`] was in an earlier process, as far as it is of plugins that are loaded and still
    /// lives at the number of model calls of [`Self::set_turn`].
    pub fn take_up_reminders(&self, kept: Vec<(u32, Reminder)>) {
        let rules = self.shared.services.config();
        let turn = self.shared.turn.load(Ordering::Relaxed);
        let mut kept = kept;
        kept.retain(|(born, reminder)| {
            rules.plugins().iter().any(|plugin| plugin.name() == reminder.plugin)
                && reminder.ttl_turns.is_none_or(|ttl| turn < born.saturating_add(ttl))
        });
        let mut life = self.shared.life();
        kept.append(&mut life.reminders);
        let excess = kept.len().saturating_sub(MOST_REMINDERS);
        kept.drain(..excess);
        life.reminders = kept;
    }

    /// What the user is to be told once: plugins whose failure let an event pass, plugins that are asked no more, patterns
    /// that fit no tool. What observers do later, when the session is closed, is in [`Host::take_notices`](crate::Host::take_notices).
    #[must_use]
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.life().notices)
    }

    /// Asks a plugin again that is tripped, from its next event on, as if it had not failed; whether there was one.
    pub fn reset_failures(&self, plugin: &str) -> bool {
        self.shared.life().streaks.reset(plugin)
    }

    /// Settles an event whose payload is JSON: an object of `handle`'s parameters, `session` left out, as
    /// `{"call": {…}}` for `before-tool-call`. A tool call needs no `origin` (then it is `builtin`) and no `action`, which the
    /// host's action map works out. The outcome is JSON, too.
    ///
    /// # Errors
    /// If the payload is not of the event's type.
    pub async fn dispatch_event(
        &self,
        event: EventKind,
        payload: Value,
        options: DispatchOptions,
    ) -> Result<Settled<Value>, serde_json::Error> {
        self.dispatch_kind(event, payload, options, None).await
    }

    /// Settles an event again, as it was recorded.
    pub(crate) async fn dispatch_again(
        &self,
        event: EventKind,
        payload: Value,
        options: DispatchOptions,
        recall: Recall,
    ) -> Result<Settled<Value>, serde_json::Error> {
        self.dispatch_kind(event, payload, options, Some(recall)).await
    }

    pub(crate) async fn dispatch_json<E: Dispatched>(
        &self,
        payload: Value,
        options: DispatchOptions,
        recall: Option<Recall>,
    ) -> Result<Settled<Value>, serde_json::Error> {
        let payload = payload::read::<E>(self, payload)?;
        let settled = self.settle::<E>(payload, options, recall).await;
        let Settled { outcome, record, answer, earlier } = settled;
        Ok(Settled { outcome: serde_json::to_value(outcome)?, record, answer, earlier })
    }

    /// Notes the prompt that the agent works on from here on: a person who is asked is told how it begins.
    pub(crate) fn works_on(&self, prompt: &str) {
        let begins = prompt.trim_start().chars().take(MAX_TASK).collect();
        self.shared.life().task = Some(begins);
    }

    pub(crate) async fn dispatch<E: Dispatched>(&self, payload: E::Payload) -> Settled<E::Outcome> {
        self.settle::<E>(payload, DispatchOptions::default(), None).await
    }

    async fn settle<E: Dispatched>(
        &self,
        payload: E::Payload,
        options: DispatchOptions,
        recall: Option<Recall>,
    ) -> Settled<E::Outcome> {
        let _turn = self.shared.order.lock().await;
        let info = self.info();
        // Whatever is taken up meanwhile, the event is settled under these.
        let rules = self.shared.services.config();
        let payload = E::prepared(payload, &self.shared.validator(&rules, &info));
        let DispatchOptions { raw: own_message, await_observers } = options;
        let (id, time) = match &recall {
            Some(recall) => (recall.id.clone(), recall.time),
            None => (self.shared.next_event_id(), now()),
        };
        let parent_session = self.shared.spec.parent.clone();
        let facts = EventFacts { id, time, round: 1, parent_session, raw: own_message };
        let beginning = Beginning { info, facts, recall, await_observers };
        let mut dispatch = Dispatch::new(&self.shared, &rules, E::KIND, beginning, raw(&payload));
        let outcome = E::settle(&mut dispatch, payload).await;
        dispatch.finish(outcome)
    }

    fn info(&self) -> contract::Session {
        self.shared.info()
    }
}

impl Shared {
    fn info(&self) -> contract::Session {
        let Self { spec, id, turn, .. } = self;
        contract::Session {
            id: id.clone(),
            agent: spec.agent.clone(),
            turn: turn.load(Ordering::Relaxed),
            depth: spec.depth,
            cwd: spec.cwd.to_string_lossy().into_owned(),
            workspace: spec.workspace.to_string_lossy().into_owned(),
            interactive: spec.interactive,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.record_end(&self.shared.info());
        self.shared.services.release(&self.shared.id);
        let left = {
            let mut life = self.shared.life();
            life.is_closed = true;
            std::mem::take(&mut life.notices)
        };
        self.shared.services.leave_notices(left);
    }
}

impl Drop for Shared {
    /// Observers may still have been at work when the agent had closed the session.
    fn drop(&mut self) {
        self.services.store.forget(self.lineage());
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Shared {
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_answers(&self) -> MutexGuard<'_, KeptAnswers> {
        self.kept_answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn validator<'a>(&'a self, config: &'a ActiveConfig, info: &'a contract::Session) -> CallValidator<'a> {
        let asks = config.asks();
        CallValidator {
            actions: &self.services.actions,
            schemas: &self.schemas,
            models: &self.spec.models,
            cwd: &info.cwd,
            asks,
            made: &self.made,
        }
    }

    /// Unique without asking the system for random numbers at each event.
    fn next_event_id(&self) -> String {
        format!("{}.{}", self.events_of, self.events.fetch_add(1, Ordering::Relaxed))
    }

    /// Of its own count: events have the same identifiers, and so random numbers, whether or not a plugin subscribes to the log.
    fn next_record_id(&self) -> String {
        format!("{}.record-{}", self.events_of, self.told_records.fetch_add(1, Ordering::Relaxed))
    }

    fn notice(&self, text: String) {
        let mut life = self.life();
        if life.is_closed {
            self.services.leave_notices(vec![text]);
        } else if life.notices.len() < MOST_NOTICES {
            life.notices.push(text);
        }
    }

    /// Whose state its events use.
    fn lineage(&self) -> Lineage<'_> {
        Lineage { session: &self.id, root: &self.root }
    }

    /// Who asks, for a person.
    fn asking_agent(&self) -> AskingAgent {
        AskingAgent { depth: self.spec.depth, parent: self.spec.parent.clone(), task: self.life().task.clone() }
    }

    /// Tells once for each plugin that a failure of its had no consequence: the event went on as if it had said nothing.
    fn skipped(&self, plugin: &Plugin, event: EventKind, failure: &Failure) {
        let name = plugin.name();
        if failure.kind == FailureKind::Tripped || !self.life().skipped.insert(name.to_owned()) {
            return;
        }
        let why = match event.shape() {
            _ if !plugin.enforces() => "its `mode = \"audit\"` let the event pass",
            Shape::Gate | Shape::Transform => "its `on-failure = \"skip\"` let the event pass",
            Shape::Collect | Shape::Observe => "nothing depends on its answer there, so the event passed",
        };
        // What it does about a record has no record.
        let further = if event == EventKind::AuditRecord { "not told" } else { "in the audit log alone" };
        self.notice(format!(
            "the plugin {name} failed on {event}: it {failure}; {why}. Its further failures of this session are {further}"
        ));
    }

    fn transcript(&self) -> Arc<dyn Transcript> {
        Arc::clone(&self.life().transcript)
    }

    fn model_calls(&self, plugin: &str) -> Arc<AtomicU32> {
        Arc::clone(self.life().model_calls.entry(plugin.to_owned()).or_default())
    }

    /// How a plugin's next call is made.
    fn next_call(&self, plugin: &Plugin, observes: bool) -> NextCall {
        self.life().streaks.next_call(Caller::new(plugin, observes), Instant::now())
    }

    fn succeeded(&self, plugin: &Plugin, observes: bool) {
        self.life().streaks.succeeded(Caller::new(plugin, observes));
    }

    /// Counts a failure; the user is told when the plugin is tripped.
    fn failed(&self, plugin: &Plugin, observes: bool, failure: &Failure) {
        let mut life = self.life();
        if let Some(told) = life.streaks.failed(Caller::new(plugin, observes), failure, Instant::now())
            && life.notices.len() < MOST_NOTICES
        {
            life.notices.push(told);
        }
    }

    fn remind(&self, reminders: Vec<Reminder>) {
        if reminders.is_empty() {
            return;
        }
        let turn = self.turn.load(Ordering::Relaxed);
        let mut life = self.life();
        for reminder in reminders {
            life.reminders.retain(|(_, old)| {
                old.plugin != reminder.plugin || old.dedupe_key.is_none() || old.dedupe_key != reminder.dedupe_key
            });
            life.reminders.push((turn, reminder));
        }
        let excess = life.reminders.len().saturating_sub(MOST_REMINDERS);
        life.reminders.drain(..excess);
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
