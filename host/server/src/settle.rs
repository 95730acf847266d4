//! Settles events: from an agent's message to its reply.

use crate::call_key::{CallId, CallKey, KEPT, KEPT_AFTER_YES};
use crate::events::{self, Said};
use crate::once::{Once, Settled};
use crate::proxies;
use crate::rules::{Configurations, DirectoryRules, RulesByDirectory, real};
use crate::sessions::{Handle, MAX_CONTINUED, Sessions, directories};
use hookhost::audit::{DeliveryKind, EventRecord};
use hookhost::config::{Entry, Settings};
use hookhost::contract::{Cause, EventKind, Refusal, Rejection, ResultSource, Task, ToolCall, ToolResult};
use hookhost::native::Rule;
use hookhost::session::DispatchOptions;
use hookhost::{Begun, Config, GateOutcome, Host, Pending, StoreError};
use hookhost_adapters::{
    Abilities, Adapter, AgentSession, Answer, HookCall, HookEvent, Message, Outcome, Reply, ToolUse, canary, degrade,
    detect, reason,
};
use hookhost_client::hook;
use hookhost_client::unanswered_calls::UnansweredCall;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, watch};

/// Time before the end of the agent's wait at which its event must be settled; less for agents that wait for a short time.
const BEFORE_THE_AGENTS: Duration = Duration::from_secs(15);

/// Maximum length of a directory's path, in bytes: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

/// The name under which the canary is rejected.
const CANARY: &str = "hookhost-canary";

/// The time that the sender of a message waits, if it says so, or the reason why that cannot be read.
pub(crate) type Within = Result<Option<Duration>, &'static str>;

/// Called with the number of seconds that the reply can take from now on, if that is long.
pub type Waits<'a> = &'a (dyn Fn(u32) + Send + Sync);

/// Settles agents' messages.
pub struct Settler {
    host: Host,
    rules: RulesByDirectory,
    sessions: Sessions,
    once: Once,
    canary: OnceCell<DirectoryRules>,
    usage: Mutex<Usage>,
    /// Set to true when the process is about to end.
    ends: watch::Sender<bool>,
}

/// An event that an agent reports.
#[derive(Clone, Copy)]
struct Reported<'a> {
    adapter: &'static dyn Adapter,
    call: &'a HookCall,
    /// The deadline for people and plugins.
    until: Instant,
    waits: Waits<'a>,
}

/// Counters of the settler's use.
#[derive(Debug)]
struct Usage {
    under_way: usize,
    /// The time at which the last event was settled.
    last: Instant,
}

/// A hook that waits for a reply. If it is dropped before the reply, the hook has gone, and the log records that.
struct Asker<'a> {
    settler: &'a Settler,
    adapter: &'static dyn Adapter,
    message: &'a Message<'a>,
    is_answered: bool,
}

impl Drop for Asker<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let Message { point, directory, .. } = *self.message;
        let (point, directory) = match self.adapter.decode(self.message) {
            Ok(call) => (call.point, call.session.cwd),
            Err(unreadable) => {
                (unreadable.point.or(point.map(str::to_owned)).unwrap_or_default(), directory.to_owned())
            }
        };
        self.settler.note_unsettled(self.adapter, &point, &directory, "its hook has gone before it had the answer");
    }
}

/// Counts an event as under way until it is dropped.
struct UnderWay<'a>(&'a Settler);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut usage = self.0.usage();
        usage.under_way = usage.under_way.saturating_sub(1);
        usage.last = Instant::now();
    }
}

impl Settler {
    /// Creates a settler on this host. `configurations` finds the rules for the directory of each message.
    #[must_use]
    pub fn new(host: Host, configurations: Arc<dyn Configurations>) -> Self {
        Self {
            rules: RulesByDirectory::new(host.clone(), configurations),
            host,
            sessions: Sessions::default(),
            once: Once::default(),
            canary: OnceCell::new(),
            usage: Mutex::new(Usage { under_way: 0, last: Instant::now() }),
            ends: watch::Sender::new(false),
        }
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the open sessions.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the rules of all directories.
    #[must_use]
    pub fn rules(&self) -> &RulesByDirectory {
        &self.rules
    }

    /// Returns the time since the last event; zero if an event is under way.
    #[must_use]
    pub fn idle(&self) -> Duration {
        let usage = self.usage();
        if usage.under_way > 0 { Duration::ZERO } else { usage.last.elapsed() }
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Settles a message and returns the reply. The agent is `named`, or a related one that the message shows. `waits` is called
    /// before a long wait, such as for a person or a plugin's model. If the future is dropped early, the hook has gone: the event is
    /// dropped, and the log records that.
    pub async fn reply(&self, named: &'static dyn Adapter, message: &Message<'_>, waits: Waits<'_>) -> Reply {
        self.usage().under_way += 1;
        let _under_way = UnderWay(self);
        let adapter = detect(named, message);
        let mut asker = Asker { settler: self, adapter, message, is_answered: false };
        // Boxed, since the tasks that await this future copy it when they are created and when they end.
        let reply = Box::pin(self.settle(adapter, message, waits)).await;
        asker.is_answered = true;
        reply
    }

    /// Rejects all events under way, and all that arrive from now on.
    pub(crate) fn end(&self) {
        self.ends.send_replace(true);
    }

    async fn settle(&self, adapter: &'static dyn Adapter, message: &Message<'_>, waits: Waits<'_>) -> Reply {
        let call = match adapter.decode(message) {
            Ok(call) => call,
            Err(unreadable) => {
                let point = unreadable.point.as_deref().or(message.point);
                let why = format!("its message cannot be read: {unreadable}");
                return self.unread(adapter, point, message.directory, &why);
            }
        };
        if let Some(why) = too_long(&call.session).or_else(|| call.session.is_elsewhere()) {
            self.note_unsettled(adapter, &call.point, Path::new("/"), &why);
            return adapter.unsettled(&call, &failed(adapter, &why));
        }
        // The rules would judge one of several results, and the agent would use another one.
        if let Some(why) = call.unclear.as_ref().filter(|_| adapter.abilities(&call).replaces) {
            let why = format!("the result is withheld, since it can be read in more than one way: {why}");
            self.note_unsettled(adapter, &call.point, &call.session.cwd, &why);
            return adapter.unsettled(&call, &failed(adapter, &why));
        }
        let time = Time::of(adapter, &call.point, message.within);
        let work = async {
            let rules = self.rules_of(&call).await?;
            let reported = Reported { adapter, call: &call, until: time.for_others, waits };
            self.all_settled(reported, &rules).await
        };
        let mut ends = self.ends.subscribe();
        let done = tokio::select! {
            biased;
            done = work => done,
            () = tokio::time::sleep_until(time.at_most.into()) => Err("it took longer than the agent waits".to_owned()),
            _ = ends.wait_for(|ends| *ends) => Err("the resident host has ended".to_owned()),
        };
        match done.as_deref() {
            Ok([]) => adapter.unsettled(&call, &failed(adapter, "nothing of it was settled")),
            Ok([outcome]) if call.further.is_empty() => adapter.encode(&call, outcome),
            Ok(outcomes) => adapter.encode_all(&call, outcomes),
            Err(why) => {
                self.note_unsettled(adapter, &call.point, &call.session.cwd, why);
                adapter.unsettled(&call, &failed(adapter, why))
            }
        }
    }

    /// Forgets the outcomes of calls that have run.
    fn forget(&self, calls: &[CallId]) {
        for call in self.once.end(calls) {
            // An outcome that cannot be removed from the store expires there.
            let _ = self.host.forget_outcome(call);
        }
    }

    /// Loads the outcomes that an earlier host has kept.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn take_up_outcomes(&self) -> Result<(), StoreError> {
        self.once.take_up(self.host.kept_outcomes().await?);
        Ok(())
    }

    /// Returns the reply to a message that was not read: a denial, as far as the agent understands one.
    pub(crate) fn unread(&self, adapter: &dyn Adapter, point: Option<&str>, directory: &Path, why: &str) -> Reply {
        self.note_unsettled(adapter, point.unwrap_or_default(), directory, why);
        adapter.fail(point, &failed(adapter, why))
    }

    /// Records that an agent's event could not be settled, as far as that is possible.
    fn note_unsettled(&self, adapter: &dyn Adapter, point: &str, directory: &Path, why: &str) {
        self.note(adapter.agent().name, point, directory, why);
    }

    /// Records that a message of an unknown agent could not be read. `way` is the transport by which it came.
    pub(crate) fn note_unread(&self, way: &str, directory: &Path, why: &str) {
        self.note(way, "", directory, why);
    }

    fn note(&self, agent: &str, point: &str, directory: &Path, why: &str) {
        tracing::warn!(agent, point, why, "an event could not be settled");
        let directory = if directory.is_absolute() { directory } else { Path::new("/") };
        let spec = hookhost::SessionSpec::new(agent, directory).id(format!("{agent}:unsettled"));
        if let Ok(session) = self.host.open_session(spec) {
            session.note_delivery(None, point, DeliveryKind::Unanswered, why);
        }
    }

    /// Settles each event of a message, in order; `rules` are those of the first. Outcomes for which the agent has no form become stricter.
    async fn all_settled(&self, reported: Reported<'_>, rules: &DirectoryRules) -> Result<Vec<Outcome>, String> {
        if reported.call.further.is_empty() {
            return Ok(vec![self.one_settled(reported, rules).await?]);
        }
        let mut outcomes = Vec::new();
        for part in reported.call.parts() {
            let rules = self.rules_of(&part).await?;
            outcomes.push(self.one_settled(Reported { call: &part, ..reported }, &rules).await?);
        }
        Ok(outcomes)
    }

    async fn one_settled(&self, reported: Reported<'_>, rules: &DirectoryRules) -> Result<Outcome, String> {
        let (settled, handle) = self.settled(reported, rules).await?;
        let Reported { adapter, call, .. } = reported;
        let Settled { outcome, event, .. } = settled;
        let (outcome, lost) = degrade(call, outcome, adapter.abilities(call));
        for degradation in lost {
            let note = degradation.sentence();
            handle.session.note_delivery(event.as_deref(), &call.point, DeliveryKind::Degraded, note);
        }
        Ok(outcome)
    }

    /// Returns the current rules for a call.
    async fn rules_of(&self, call: &HookCall) -> Result<DirectoryRules, String> {
        if is_canary(call) {
            return self.canary().await;
        }
        let has_others = self.usage().under_way > 1;
        self.rules.of_session(directories(&call.session), has_others).await
    }

    /// Returns the handle of a call's session, after checking the session's project files.
    fn handle(&self, adapter: &dyn Adapter, call: &HookCall, rules: &DirectoryRules) -> Result<Arc<Handle>, String> {
        let handle = self.sessions.of(&self.host, adapter.agent().name, &call.session, rules);
        let handle = handle.map_err(|error| error.to_string())?;
        let is_revoked = |file: &Path| self.rules.is_revoked(file);
        handle.keeps_project_files(&call.session, &rules.project_files, is_revoked)?;
        Ok(handle)
    }

    async fn settled(&self, reported: Reported<'_>, rules: &DirectoryRules) -> Result<(Settled, Arc<Handle>), String> {
        let Reported { adapter, call, until, waits } = reported;
        let call = &*in_own_session(call);
        let handle = self.handle(adapter, call, rules)?;
        if rules.longest > hook::CALL_TIMEOUT / 2 {
            waits(whole_seconds(rules.longest.min(left(until))));
        }
        let asked = Asked {
            adapter,
            call,
            can: adapter.abilities(call),
            handle: &handle,
            notes: &rules.notes,
            rules: &rules.digest,
            until,
            longest: rules.longest,
            is_approved: AtomicBool::new(false),
        };
        asked.start().await;
        if let HookEvent::AfterToolCall { call: tool, .. } = &call.event {
            self.forget(&CallKey::of_call_that_ran(handle.session.id(), tool));
        }
        let key = CallKey::new(handle.session.id(), call, &rules.digest);
        let settled = match key.map(|key| self.once.slot(&key, rules.revision)) {
            None => asked.settle(waits).await?,
            Some(slot) => {
                let tell = |seconds| _ = slot.waiting.send_replace(seconds);
                let mut asking = slot.waiting.subscribe();
                let answer = self.once.answer(&slot, asked.settle(&tell));
                tokio::pin!(answer);
                let (settled, is_ours) = loop {
                    tokio::select! {
                        biased;
                        settled = &mut answer => break settled?,
                        // While the first report waits for a person, each repeated report waits as long.
                        Ok(()) = asking.changed() => waits(*asking.borrow_and_update()),
                    }
                };
                if !is_ours {
                    handle.note_repeated(&call.point, settled.event.as_deref());
                } else if proxies::by_name(adapter.agent().name).is_none()
                    && let Some(kept) = self.once.kept(&slot)
                {
                    // A proxy reports each call only once.
                    let _ = self.host.keep_outcome(kept);
                }
                settled
            }
        };
        let is_over = matches!(call.event, HookEvent::SessionEnd);
        if is_proof(&call.session) && !is_over {
            // `hookhost doctor` makes one call and reports no end of its session.
            let _ = handle.session.session_end(hookhost::contract::Usage::default()).await;
        }
        if is_over || is_proof(&call.session) {
            self.sessions.end(handle.session.id());
        }
        Ok((settled, handle))
    }

    /// Returns the rules under which each call is rejected.
    async fn canary(&self) -> Result<DirectoryRules, String> {
        let load = async || {
            // Rejects every call: only the canary is judged under these rules, and its words can be part of any call.
            let rule = Rule::new().before_tool_call(|_, _: &ToolCall| {
                Some(Refusal::new("this is the call by which `hookhost doctor` proves the hook").code("canary"))
            });
            let entry = Entry::from_rule(CANARY, rule);
            let config = Config::from_entries(vec![entry], Settings::default()).map_err(|error| error.to_string())?;
            let rules = self.host.load_rules(&config).await.map_err(|error| error.to_string())?;
            let (notes, project_files) = (Arc::from([]), Arc::from([]));
            let (digest, longest) = (Arc::from(""), Duration::ZERO);
            Ok::<_, String>(DirectoryRules { rules, notes, number: 0, revision: 0, digest, project_files, longest })
        };
        self.canary.get_or_try_init(load).await.cloned()
    }
}

impl std::fmt::Debug for Settler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settler").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

/// Returns a reply as a body, for a transport without exit codes. An agent continues after a failure, so a reply that has only an exit
/// code becomes the denial of a tool call. Returns the text of the failure as an error if the agent understands nothing else.
pub(crate) fn body_of(adapter: &dyn Adapter, mut reply: Reply) -> Result<String, String> {
    if reply.exit != 0 && reply.stdout.is_empty() {
        let gate = adapter.agent().points.iter().find(|point| point.event == EventKind::BeforeToolCall);
        if let Some(gate) = gate {
            reply = adapter.fail(Some(gate.name), reply.stderr.trim_end());
        }
    }
    if reply.exit != 0 && reply.stdout.is_empty() { Err(reply.stderr) } else { Ok(reply.stdout) }
}

/// The deadlines of a reply. An agent that has no reply in time continues without one.
struct Time {
    /// The deadline for people and plugins. The rest of the time is for the reply.
    for_others: Instant,
    at_most: Instant,
}

impl Time {
    /// Derives the deadlines from the time that the agent waits at this point, or from the shorter time that the sender names.
    fn of(adapter: &dyn Adapter, point: &str, within: Option<Duration>) -> Self {
        let agents = adapter.agent().point(point).map_or(hookhost_adapters::agent::TIMEOUT, |point| point.timeout);
        let agents = Duration::from_secs(agents.into());
        let waits = within.map_or(agents, |within| within.min(agents));
        let spare = BEFORE_THE_AGENTS.min(waits / 4);
        let now = Instant::now();
        Self { for_others: now + (waits - spare), at_most: now + (waits - spare / 2) }
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

fn whole_seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

/// Returns the reason if a directory of the session is too long: the search for rules visits each directory above it.
fn too_long(session: &AgentSession) -> Option<String> {
    let is_long = |path: &Path| path.as_os_str().len() > MAX_PATH;
    let why = || format!("its directory is longer than {MAX_PATH} bytes");
    (is_long(&session.cwd) || is_long(&session.workspace)).then(why)
}

/// Returns the text for the model or the user about an event that could not be settled.
fn failed(adapter: &dyn Adapter, why: &str) -> String {
    reason::not_settled(adapter.agent().name, why)
}

fn is_canary(call: &HookCall) -> bool {
    let HookEvent::BeforeToolCall(tool) = &call.event else { return false };
    let holds = |value: &Value| value.as_str() == Some(canary::DENIED);
    tool.arguments.as_object().is_some_and(|arguments| {
        arguments.values().any(|value| holds(value) || value.as_array().is_some_and(|list| list.iter().any(holds)))
    })
}

/// Returns a call in the session in which it is settled. The canary's call has its own session: a session has one set of rules, and an
/// agent's session must not get the canary's.
fn in_own_session(call: &HookCall) -> Cow<'_, HookCall> {
    if !is_canary(call) {
        return Cow::Borrowed(call);
    }
    let mut call = call.clone();
    call.session.id = Some(format!("{}-denied", canary::SESSION));
    call.session.subagent = None;
    Cow::Owned(call)
}

/// Returns true if a session contains only the calls of `hookhost doctor`.
fn is_proof(session: &AgentSession) -> bool {
    session.id.as_deref().is_some_and(canary::is_proof)
}

/// An agent's event, and the session in which it is settled.
struct Asked<'a> {
    adapter: &'static dyn Adapter,
    call: &'a HookCall,
    can: Abilities,
    handle: &'a Handle,
    notes: &'a [String],
    /// Digest of the rules.
    rules: &'a str,
    /// The deadline for people and plugins.
    until: Instant,
    /// Time that the plugins can take when they are asked again after a person has answered.
    longest: Duration,
    /// True if a person has approved the event.
    is_approved: AtomicBool,
}

impl Asked<'_> {
    /// Settles `session-start` before the first event of a session, if the agent has not reported its start.
    async fn start(&self) {
        let tells = matches!(self.call.event, HookEvent::SessionStart { is_resumed: false });
        if self.handle.started.initialized() || tells && self.handle.session.is_new() {
            return;
        }
        let start = async || {
            if let Some((tasks, _)) = self.begin_session().await {
                self.handle.owe(tasks);
            }
        };
        self.handle.started.get_or_init(start).await;
    }

    /// Settles `session-start`, and returns the tasks of plugins and the event's identifier. Returns `None` if that was done before.
    async fn begin_session(&self) -> Option<(Vec<Task>, String)> {
        let session = &self.handle.session;
        if !session.is_new() {
            return None;
        }
        let settled = session.session_start().await;
        Some((settled.outcome, settled.record.id))
    }

    async fn settle(&self, waits: Waits<'_>) -> Result<Settled, String> {
        let (answer, event) = self.answer(waits).await?;
        self.look_at_arguments(event.as_deref());
        let can = self.can;
        let mut outcome = Outcome::new(answer).under(self.rules);
        if can.adds_context {
            for reminder in self.handle.session.reminders() {
                let text = format!("{} says: {}", reminder.plugin, reminder.body);
                if self.handle.is_said_first(&text) {
                    outcome = outcome.context(text);
                }
            }
        }
        if can.tells_user {
            let notices = self.handle.session.take_notices().into_iter().map(|notice| notice.text);
            let notices = notices.chain(self.handle.owed_notices());
            for text in self.notes.iter().cloned().chain(notices) {
                if self.handle.is_said_first(&text) {
                    outcome = outcome.notice(text);
                }
            }
        }
        let kept = if self.is_approved.load(Ordering::Relaxed) { KEPT_AFTER_YES } else { KEPT };
        Ok(Settled { outcome, event, kept })
    }

    async fn answer(&self, waits: Waits<'_>) -> Result<(Answer, Option<String>), String> {
        let handle = self.handle;
        match &self.call.event {
            HookEvent::SessionStart { is_resumed } => {
                let begun = match *is_resumed || handle.started.initialized() {
                    true => None,
                    false => self.begin_session().await,
                };
                let Some((tasks, event)) = begun else {
                    let payload = events::custom(self.adapter.agent().name, &self.call.point, &self.raw_value());
                    let (_, told) = self.dispatch(EventKind::CustomEvent, payload, waits).await?;
                    return Ok((Answer::Neutral, Some(told.event)));
                };
                let _ = handle.started.set(());
                Ok((self.tasks(tasks), Some(event)))
            }
            HookEvent::Stop { .. } => {
                let (said, told) = self.dispatch(EventKind::TaskComplete, events::completion(), waits).await?;
                let mut tasks = tasks_of(said);
                let (said, _) = self.dispatch(EventKind::QueueEmpty, self.payload(), waits).await?;
                tasks.extend(tasks_of(said));
                let answer = self.tasks(tasks);
                Ok((self.unless_too_often(answer), Some(told.event)))
            }
            HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool) => self.gate_call(tool, waits).await,
            HookEvent::PromptSubmit { prompt } => {
                handle.prompted();
                self.text(prompt, waits).await
            }
            HookEvent::FinalText { text } | HookEvent::AfterCompaction { summary: text } => {
                self.text(text, waits).await
            }
            HookEvent::AfterToolCall { .. } => {
                let (said, told) = self.dispatch(EventKind::AfterToolCall, self.payload(), waits).await?;
                let answer = match said {
                    Said::Value(_) if told.changed_by.is_empty() => Answer::Neutral,
                    Said::Value(value) => match serde_json::from_value::<ToolResult>(value) {
                        Ok(value) => Answer::ReplacedResult(value),
                        Err(error) => return Err(format!("the result of after-tool-call cannot be read: {error}")),
                    },
                    Said::No(no) => Answer::Rejected(no),
                    _ => Answer::Neutral,
                };
                Ok((answer, Some(told.event)))
            }
            HookEvent::SubagentStart { prompt, .. } => self.gate_text("prompt", prompt, waits).await,
            HookEvent::BeforeInference(_) | HookEvent::BeforeCompaction => self.gate_text("", "", waits).await,
            HookEvent::AgentError { .. } => {
                let (said, told) = self.dispatch(EventKind::AgentError, self.payload(), waits).await?;
                let answer = self.tasks(tasks_of(said));
                Ok((self.unless_too_often(answer), Some(told.event)))
            }
            event => {
                let kind = event.kind();
                let (said, told) = self.dispatch(kind, self.payload(), waits).await?;
                let answer = match said {
                    Said::No(no) => Answer::Rejected(no),
                    _ => Answer::Neutral,
                };
                Ok((answer, Some(told.event)))
            }
        }
    }

    fn payload(&self) -> Value {
        events::payload(self.adapter.agent().name, self.call, u32::from(self.call.session.subagent.is_some()))
    }

    fn raw_value(&self) -> Value {
        serde_json::from_str(&self.call.raw).unwrap_or_default()
    }

    /// Settles an event. The approval queue asks its questions.
    async fn dispatch(&self, kind: EventKind, payload: Value, waits: Waits<'_>) -> Result<(Said, Recorded), String> {
        let mut options = DispatchOptions::default();
        options.raw = Some(self.call.raw.clone());
        let begun = self.handle.session.begin_event(kind, payload, options).await;
        let begun = begun.map_err(|error| format!("its {kind} is not valid: {error}"))?;
        let (outcome, recorded) = self.answered(begun, waits).await;
        Ok((outcome.map_or_else(|no| Ok(Said::No(no)), |outcome| events::said(kind, outcome))?, recorded))
    }

    /// Returns the outcome of an event whose questions the approval queue asks; a rejection if nobody answers in time.
    async fn answered<O: Send + 'static>(
        &self,
        mut begun: Begun<O>,
        waits: Waits<'_>,
    ) -> (Result<O, Rejection>, Recorded) {
        loop {
            let pending = match begun {
                Begun::Settled(settled) => {
                    let is_approved = settled.answer.is_some_and(|answer| answer.answer.is_approved());
                    let is_approved = is_approved || !settled.earlier.is_empty();
                    self.is_approved.fetch_or(is_approved, Ordering::Relaxed);
                    return (Ok(settled.outcome), Recorded::of(*settled.record));
                }
                Begun::Escalated(pending) => pending,
            };
            let request = pending.request().clone();
            // A second question of the same event has the time that the first one left.
            let limit = request.deadline.min(left(self.until));
            waits(whole_seconds((limit + self.longest).min(left(self.until))));
            // The question has its own deadline. After a yes, a load of changed rules is bounded only by the agent's time.
            begun = match tokio::time::timeout(left(self.until), pending.wait()).await {
                Ok(begun) => begun,
                Err(_) => {
                    let by = request.questions.iter().map(|question| question.by.to_string()).collect();
                    let asked = reason::asked(&request.questions);
                    let reason = format!("{asked} (nobody answered within {limit:.0?})");
                    let no = Rejection::host(by, Cause::NotApproved, reason);
                    return (Err(no), Recorded { event: request.id, ..Recorded::default() });
                }
            };
        }
    }

    async fn gate_call(&self, tool: &ToolUse, waits: Waits<'_>) -> Result<(Answer, Option<String>), String> {
        let ToolUse { id, name, arguments, origin, .. } = tool;
        let session = &self.handle.session;
        let call = session.tool_call(id.as_deref().unwrap_or_default(), name, arguments, origin.clone());
        let begun = session.begin_before_tool_call(call.raw(self.call.raw.clone())).await;
        let (outcome, recorded) = match begun {
            Begun::Escalated(pending) if self.can.asks => return self.handed_over(tool, pending).await,
            begun => self.answered(begun, waits).await,
        };
        let event = Some(recorded.event.clone());
        let answer = match outcome {
            Ok(GateOutcome::Allowed { value }) => {
                // The host has already read these arguments, from the agent or a plugin.
                let arguments =
                    value.arguments.read().map_err(|error| format!("its arguments cannot be read: {error}"))?;
                if recorded.changed_by.is_empty() {
                    self.remember(tool, &arguments);
                    match (recorded.approved_by, &self.call.event) {
                        (Some(by), _) => Answer::Approved { by },
                        // A person has just approved this call, so the agent need not ask again.
                        (None, HookEvent::PermissionRequest(_)) if recorded.is_approved => {
                            Answer::Approved { by: "a person".to_owned() }
                        }
                        _ => Answer::Neutral,
                    }
                } else {
                    self.remember(tool, &arguments);
                    Answer::Changed { arguments, by: recorded.changed_by }
                }
            }
            Ok(GateOutcome::Responded { response, by, .. }) => self.responded(tool, response, by, waits).await?,
            Ok(GateOutcome::Rejected(no)) | Err(no) => Answer::Rejected(no),
        };
        Ok((answer, event))
    }

    /// Hands the question about a call over to the agent, which asks its user.
    async fn handed_over(&self, tool: &ToolUse, question: PendingCall) -> Result<(Answer, Option<String>), String> {
        let request = question.request().clone();
        let handed = question.hand_over(self.adapter.agent().name).await;
        handed.map_err(|error| format!("its question could not be handed over: {error}"))?;
        let value: Value = serde_json::from_str(request.value.get()).unwrap_or_default();
        let arguments = value.get("arguments").cloned().unwrap_or_default();
        let changed = (!request.changed_by.is_empty()).then(|| arguments.clone());
        self.remember(tool, &arguments);
        Ok((Answer::Ask { questions: request.questions, arguments: changed }, Some(request.id)))
    }

    /// Passes a result that a plugin gave through `after-tool-call`, like a tool's.
    async fn responded(
        &self,
        tool: &ToolUse,
        result: ToolResult,
        by: String,
        waits: Waits<'_>,
    ) -> Result<Answer, String> {
        let unreadable = |error| format!("the result of the plugin {by} cannot be read: {error}");
        let payload = events::after_tool_call(tool, &result, ResultSource::Plugin);
        Ok(match self.dispatch(EventKind::AfterToolCall, payload, waits).await?.0 {
            Said::Value(value) => Answer::Responded { result: serde_json::from_value(value).map_err(unreadable)?, by },
            Said::No(no) => Answer::Rejected(no),
            _ => Answer::Responded { result, by },
        })
    }

    fn remember(&self, tool: &ToolUse, arguments: &Value) {
        if let Some(id) = &tool.id {
            self.handle.remember(id, arguments);
        }
    }

    /// Records if a call has run with other arguments than were allowed, and keeps a notice for the user.
    fn look_at_arguments(&self, event: Option<&str>) {
        let HookEvent::AfterToolCall { call, .. } = &self.call.event else { return };
        if !call.id.as_deref().is_some_and(|id| self.handle.ran_otherwise(id, &call.arguments)) {
            return;
        }
        let note = format!(
            "the agent ran {} with other arguments than those that were allowed: another hook of the agent may have changed \
             them, or it did not take the change of a plugin",
            call.name
        );
        self.handle.session.note_delivery(event, &self.call.point, DeliveryKind::ChangeNotApplied, &note);
        self.handle.owe_notice(note);
    }

    /// Settles a transform of a text.
    async fn text(&self, text: &str, waits: Waits<'_>) -> Result<(Answer, Option<String>), String> {
        let (said, told) = self.dispatch(self.call.event.kind(), self.payload(), waits).await?;
        let answer = match said {
            Said::Value(Value::String(value)) if value == text => Answer::Neutral,
            Said::Value(Value::String(value)) => Answer::Replaced(value),
            Said::No(no) => Answer::Rejected(no),
            _ => return Err(format!("the outcome of {} cannot be read", self.call.event.kind())),
        };
        Ok((answer, Some(told.event)))
    }

    /// Settles a gate of which agents apply no changed value, except its text `part` or a text as the response.
    async fn gate_text(&self, part: &str, text: &str, waits: Waits<'_>) -> Result<(Answer, Option<String>), String> {
        let (said, told) = self.dispatch(self.call.event.kind(), self.payload(), waits).await?;
        let answer = match said {
            Said::Value(_) if told.changed_by.is_empty() => Answer::Neutral,
            Said::Value(value) => match value.get(part).and_then(Value::as_str) {
                Some(value) if value != text => Answer::Replaced(value.to_owned()),
                _ => Answer::Changed { arguments: value, by: told.changed_by.clone() },
            },
            Said::Responded { response: Value::String(response), .. } => Answer::Replaced(response),
            Said::No(no) => Answer::Rejected(no),
            _ => return Err(format!("the outcome of {} cannot be read", self.call.event.kind())),
        };
        Ok((answer, Some(told.event)))
    }

    /// Returns these tasks and the kept ones. Keeps them all if the agent takes none at this point.
    fn tasks(&self, tasks: Vec<Task>) -> Answer {
        if !self.can.goes_on {
            self.handle.owe(tasks);
            return Answer::Neutral;
        }
        let mut all = self.handle.owed();
        all.extend(tasks);
        if all.is_empty() { Answer::Neutral } else { Answer::GoOn(all) }
    }

    fn unless_too_often(&self, answer: Answer) -> Answer {
        if matches!(answer, Answer::GoOn(_)) && !self.handle.may_continue() {
            let note = format!("plugins kept the agent going {MAX_CONTINUED} times in a row: it may stop now");
            self.handle.session.note_delivery(None, &self.call.point, DeliveryKind::Degraded, &note);
            return Answer::Neutral;
        }
        answer
    }
}

/// A pending question about a tool call.
type PendingCall = Pending<GateOutcome<ToolCall, ToolResult>>;

/// The parts of an event's record that matter for its reply.
#[derive(Default)]
struct Recorded {
    event: String,
    changed_by: Vec<String>,
    approved_by: Option<String>,
    /// True if a person was asked; then the answer was yes.
    is_approved: bool,
}

impl Recorded {
    fn of(record: EventRecord) -> Self {
        let EventRecord { id, changed_by, approved_by, questions, .. } = record;
        Self { event: id, changed_by, approved_by, is_approved: !questions.is_empty() }
    }
}

fn tasks_of(said: Said) -> Vec<Task> {
    match said {
        Said::Tasks(tasks) => tasks,
        _ => Vec::new(),
    }
}

impl Settler {
    /// Records a call that no resident host answered.
    pub fn note_unanswered(&self, call: &UnansweredCall) {
        let UnansweredCall { agent, point, time, why, was_allowed, .. } = call;
        let consequence =
            if *was_allowed { "it could continue, since the operator chose so" } else { "it was told no" };
        let note = format!("at {time} ms since the Unix epoch the agent got no outcome ({why}): {consequence}");
        let spec = hookhost::SessionSpec::new(agent, Path::new("/")).id(format!("{agent}:unsettled"));
        match self.host.open_session(spec) {
            Ok(session) => session.note_delivery(None, point, DeliveryKind::Unanswered, &note),
            Err(error) => tracing::error!(%error, agent, note, "a call that nobody answered cannot be recorded"),
        }
    }

    /// Returns the status as JSON: the active rules of `directory`, open sessions, version.
    pub async fn status(&self, directory: &Path) -> Value {
        let rules = match self.rules.of(&real(directory)).await {
            Ok(DirectoryRules { rules, notes, .. }) => {
                let plugins: Vec<Value> = rules
                    .plugins()
                    .iter()
                    .map(|plugin| json!({ "name": plugin.name(), "digest": plugin.code_id().to_string() }))
                    .collect();
                let files: Vec<String> = rules.config().files().iter().map(|file| file.display().to_string()).collect();
                json!({ "files": files, "plugins": plugins, "notes": *notes })
            }
            Err(why) => json!({ "problem": why }),
        };
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "process": std::process::id(),
            "sessions": self.sessions.len(),
            "directories": self.rules.len(),
            "rules": rules,
        })
    }
}
