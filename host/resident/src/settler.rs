//! Processes agents' messages. The settler decodes each message, lets the rules of the message's directory decide on its events,
//! and encodes the reply.

use crate::call_key::{CallId, CallKey};
use crate::canary_rules::{self, in_own_session, is_canary, is_proof};
use crate::deadlines::{ReplyDeadlines, WaitCallback, time_until, whole_seconds};
use crate::event::SessionEvent;
use crate::outcome_cache::{CachedOutcome, OutcomeCache};
use crate::rules::{ConfigurationSource, DirectoryRules, RulesByDirectory, real};
use crate::sessions::{SessionHandle, SessionTable, directories};
use hookhost::audit::DeliveryKind;
use hookhost::contract::Usage;
#[cfg(target_os = "linux")]
use hookhost::facts::OtherProcess;
use hookhost::facts::{AgentProcess, UnknownProcess};
use hookhost::session::SessionError;
use hookhost::{Host, Plugin, Session, SessionSpec, StoreError};
use hookhost_agents::clock::before_now;
use hookhost_agents::{
    Adapter, AgentSession, HookCall, HookEvent, Message, Outcome, Reply, acp_proxy, degrade, detect, mcp_proxy, reason,
};
use hookhost_client::hook;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, watch};

/// Time during which each new session tells its user about a new passkey.
const NEW_PASSKEY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Maximum length of a directory's path, in bytes: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

/// Processes agents' messages.
pub struct Settler {
    host: Host,
    rules: RulesByDirectory,
    sessions: SessionTable,
    outcomes: OutcomeCache,
    canary_rules: OnceCell<DirectoryRules>,
    usage: Mutex<SettlerUsage>,
    /// Set to true when the process is about to end. Pending events are then rejected.
    shutdown: watch::Sender<bool>,
}

/// A decoded message, and what is needed to wait for its reply.
#[derive(Clone, Copy)]
struct MessageContext<'a> {
    adapter: &'static Adapter,
    call: &'a HookCall,
    /// The process that waits for the reply.
    process: &'a Arc<dyn AgentProcess>,
    /// The deadline for decisions of people and plugins.
    deadline: Instant,
    on_wait: WaitCallback<'a>,
}

/// Counters from which the settler's idle time is computed.
#[derive(Debug)]
struct SettlerUsage {
    /// Number of pending messages.
    active: usize,
    /// Time of the last decision on a message.
    last: Instant,
}

/// Counts a message as pending until this value is dropped. If the value is dropped before the reply is ready, the hook no longer
/// waits, and this is recorded in the log.
struct ActiveMessage<'a> {
    settler: &'a Settler,
    adapter: &'static Adapter,
    message: &'a Message<'a>,
    is_answered: bool,
}

impl Drop for ActiveMessage<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            let Message { point, directory, .. } = *self.message;
            let (point, directory) = match self.adapter.decode(self.message) {
                Ok(call) => (call.point, call.session.cwd),
                Err(unreadable) => {
                    (unreadable.point.or(point.map(str::to_owned)).unwrap_or_default(), directory.to_owned())
                }
            };
            let why = "its hook has gone before it had the answer";
            self.settler.note_unsettled(self.adapter, &point, &directory, why);
        }
        let mut usage = self.settler.usage();
        usage.active = usage.active.saturating_sub(1);
        usage.last = Instant::now();
    }
}

impl Settler {
    /// Creates a settler on this host. `configurations` finds the rules for the directory of each message.
    pub fn new(host: Host, configurations: Arc<dyn ConfigurationSource>) -> Self {
        Self {
            rules: RulesByDirectory::new(host.clone(), configurations),
            host,
            sessions: SessionTable::default(),
            outcomes: OutcomeCache::default(),
            canary_rules: OnceCell::new(),
            usage: Mutex::new(SettlerUsage { active: 0, last: Instant::now() }),
            shutdown: watch::Sender::new(false),
        }
    }

    /// Returns the host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the open sessions.
    pub fn sessions(&self) -> &SessionTable {
        &self.sessions
    }

    /// Returns the rules of all directories.
    pub fn rules(&self) -> &RulesByDirectory {
        &self.rules
    }

    /// Returns the time since the last message, or zero if a message is pending.
    pub fn idle(&self) -> Duration {
        let usage = self.usage();
        if usage.active > 0 { Duration::ZERO } else { usage.last.elapsed() }
    }

    fn usage(&self) -> MutexGuard<'_, SettlerUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the outcomes that an earlier host has stored.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn load_outcomes(&self) -> Result<(), StoreError> {
        self.outcomes.load(self.host.kept_outcomes().await?);
        Ok(())
    }

    /// Rejects all pending events, and all events that arrive from now on.
    pub(crate) fn shut_down(&self) {
        self.shutdown.send_replace(true);
    }

    /// Processes a message and returns the reply. `named` is the agent that the hook names. The message may show that a related
    /// agent has sent the message. `on_wait` is called before a long wait, such as a wait for a person or for a model that a plugin
    /// asks. If the hook no longer waits, drop the returned future. The event is then dropped, and this is recorded in the log.
    pub async fn reply(&self, named: &'static Adapter, message: &Message<'_>, on_wait: WaitCallback<'_>) -> Reply {
        self.usage().active += 1;
        let adapter = detect(named, message);
        let mut active = ActiveMessage { settler: self, adapter, message, is_answered: false };
        // The future is large. It is boxed because otherwise each task that contains the future would copy it when the task is
        // created and when the task ends.
        let reply = Box::pin(self.decode_and_dispatch(adapter, message, on_wait)).await;
        active.is_answered = true;
        reply
    }

    async fn decode_and_dispatch(
        &self,
        adapter: &'static Adapter,
        message: &Message<'_>,
        on_wait: WaitCallback<'_>,
    ) -> Reply {
        let call = match adapter.decode(message) {
            Ok(call) => call,
            Err(unreadable) => {
                let point = unreadable.point.as_deref().or(message.point);
                let why = format!("its message cannot be read: {unreadable}");
                return self.reply_to_unread(adapter, point, message.directory, &why);
            }
        };
        if let Some(why) = check_lengths(&call.session).or_else(|| call.session.is_elsewhere()) {
            return self.unsettled(adapter, &call, Path::new("/"), &why);
        }
        // If a result can be interpreted in several ways, the rules might check a different interpretation than the agent uses.
        if let Some(why) = call.unclear.as_ref().filter(|_| adapter.abilities(&call).replaces) {
            let why = format!("the result is withheld, since it can be read in more than one way: {why}");
            return self.unsettled(adapter, &call, &call.session.cwd, &why);
        }
        let deadlines = ReplyDeadlines::new(adapter, &call.point, message.within);
        let process = waiting_process(message);
        let work = async {
            let rules = self.rules_of(&call).await?;
            let (deadline, process) = (deadlines.decision, &process);
            let context = MessageContext { adapter, call: &call, process, deadline, on_wait };
            self.outcomes(context, &rules).await
        };
        let mut shutdown = self.shutdown.subscribe();
        let outcomes = tokio::select! {
            biased;
            outcomes = work => outcomes,
            () = tokio::time::sleep_until(deadlines.reply.into()) => Err("it took longer than the agent waits".to_owned()),
            _ = shutdown.wait_for(|is_shutdown| *is_shutdown) => Err("the resident host has ended".to_owned()),
        };
        match outcomes.as_deref() {
            Ok([]) => adapter.unsettled(&call, &unsettled_reason(adapter, "hookhost decided on no part of it")),
            Ok([outcome]) if call.further.is_empty() => adapter.encode(&call, outcome),
            Ok(outcomes) => adapter.encode_all(&call, outcomes),
            Err(why) => self.unsettled(adapter, &call, &call.session.cwd, why),
        }
    }

    /// Returns the reply to a message that could not be parsed. The reply is a denial, if the agent supports denials.
    pub fn reply_to_unread(&self, adapter: &Adapter, point: Option<&str>, directory: &Path, why: &str) -> Reply {
        self.note_unsettled(adapter, point.unwrap_or_default(), directory, why);
        adapter.fail(point, &unsettled_reason(adapter, why))
    }

    /// Returns the reply to a call that could be parsed but on which no decision was made.
    fn unsettled(&self, adapter: &Adapter, call: &HookCall, directory: &Path, why: &str) -> Reply {
        self.note_unsettled(adapter, &call.point, directory, why);
        adapter.unsettled(call, &unsettled_reason(adapter, why))
    }

    fn note_unsettled(&self, adapter: &Adapter, point: &str, directory: &Path, why: &str) {
        self.note(adapter.agent().name, point, directory, why);
    }

    /// Tries to record that no decision was made on an event. If the agent is unknown, `agent` is the name of the transport.
    fn note(&self, agent: &str, point: &str, directory: &Path, why: &str) {
        tracing::warn!(agent, point, why, "an event could not be settled");
        let directory = if directory.is_absolute() { directory } else { Path::new("/") };
        if let Ok(session) = self.unsettled_session(agent, directory) {
            session.note_delivery(None, point, DeliveryKind::Unanswered, why);
        }
    }

    /// Opens the session in which an agent's events without a decision are recorded.
    pub(crate) fn unsettled_session(&self, agent: &str, directory: &Path) -> Result<Session, SessionError> {
        self.host.open_session(SessionSpec::new(agent, directory).id(format!("{agent}:unsettled")))
    }

    /// Records that a message of an unknown agent could not be read.
    pub fn note_unread(&self, transport: &str, directory: &Path, why: &str) {
        self.note(transport, "", directory, why);
    }

    /// Returns the status as JSON, with the active rules of `directory`, the number of open sessions and the version.
    pub(crate) async fn status(&self, directory: &Path) -> Value {
        let rules = match self.rules.of(&real(directory)).await {
            Ok(DirectoryRules { rules, notes, .. }) => {
                let plugin = |plugin: &Plugin| json!({ "name": plugin.name(), "digest": plugin.code_id().to_string() });
                let plugins: Vec<Value> = rules.plugins().iter().map(plugin).collect();
                let files: Vec<String> = rules.config().files().iter().map(|file| file.display().to_string()).collect();
                json!({ "files": files, "plugins": plugins, "notes": *notes })
            }
            Err(why) => json!({ "problem": why }),
        };
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "process": std::process::id(),
            "sessions": self.sessions.count(),
            "directories": self.rules.count(),
            "rules": rules,
        })
    }

    /// Decides on each event of a message, in order. `rules` are the rules for the first event.
    async fn outcomes(&self, context: MessageContext<'_>, rules: &DirectoryRules) -> Result<Vec<Outcome>, String> {
        if context.call.further.is_empty() {
            return Ok(vec![self.outcome(context, rules).await?]);
        }
        let mut outcomes = Vec::new();
        for part in context.call.parts() {
            let rules = self.rules_of(&part).await?;
            outcomes.push(self.outcome(MessageContext { call: &part, ..context }, &rules).await?);
        }
        Ok(outcomes)
    }

    /// Decides on an event. If the agent cannot express the outcome, returns a stricter outcome.
    async fn outcome(&self, context: MessageContext<'_>, rules: &DirectoryRules) -> Result<Outcome, String> {
        let MessageContext { adapter, call, .. } = context;
        let (cached, handle) = self.dispatch_once(context, rules).await?;
        let CachedOutcome { outcome, event, .. } = cached;
        let (outcome, degradations) = degrade(call, outcome, adapter.abilities(call));
        for degradation in degradations {
            let note = degradation.sentence();
            handle.session.note_delivery(event.as_deref(), &call.point, DeliveryKind::Degraded, note);
        }
        Ok(outcome)
    }

    /// Returns the current rules for a call.
    async fn rules_of(&self, call: &HookCall) -> Result<DirectoryRules, String> {
        if is_canary(call) {
            return self.canary_rules.get_or_try_init(|| canary_rules::load(&self.host)).await.cloned();
        }
        let has_others = self.usage().active > 1;
        self.rules.of_session(directories(&call.session), has_others).await
    }

    /// Decides on an event. If the same call was reported before, returns the outcome of the earlier report.
    async fn dispatch_once(
        &self,
        context: MessageContext<'_>,
        rules: &DirectoryRules,
    ) -> Result<(CachedOutcome, Arc<SessionHandle>), String> {
        let MessageContext { adapter, call, process, deadline, on_wait } = context;
        let call = &*in_own_session(call);
        let handle = self.sessions.handle(&self.host, adapter.agent().name, &call.session, rules);
        let handle = handle.map_err(|error| error.to_string())?;
        handle.check_project_files(&call.session, &rules.project_files, |file| self.rules.is_revoked(file))?;
        if rules.plugin_time > hook::CALL_TIMEOUT / 2 {
            on_wait(whole_seconds(rules.plugin_time.min(time_until(deadline))));
        }
        let passkey_note = match call.event {
            HookEvent::SessionStart { .. } => passkey_note(&self.host).await,
            _ => None,
        };
        let event = SessionEvent {
            adapter,
            call,
            process,
            abilities: adapter.abilities(call),
            handle: &handle,
            notes: &rules.notes,
            passkey_note,
            rules_digest: &rules.digest,
            deadline,
            plugin_time: rules.plugin_time,
            is_approved: AtomicBool::new(false),
            code: OnceLock::new(),
        };
        event.start_session().await;
        if let HookEvent::AfterToolCall { call: tool, .. } = &call.event {
            self.forget(&CallKey::of_call_that_ran(handle.session.id(), tool));
        }
        let key = CallKey::new(handle.session.id(), call, &rules.digest);
        let cached = match key.map(|key| self.outcomes.entry(&key, rules.revision)) {
            None => event.outcome(on_wait).await?,
            Some(entry) => {
                let announce = |seconds| _ = entry.waiting.send_replace(seconds);
                let mut waiting = entry.waiting.subscribe();
                let settled = self.outcomes.get_or_dispatch(&entry, event.outcome(&announce));
                tokio::pin!(settled);
                let (cached, is_first) = loop {
                    tokio::select! {
                        biased;
                        settled = &mut settled => break settled?,
                        // While the first report of a call waits for a person, repeated reports of the call announce the same wait.
                        Ok(()) = waiting.changed() => on_wait(*waiting.borrow_and_update()),
                    }
                };
                if !is_first {
                    handle.note_repeated(&call.point, cached.event.as_deref());
                } else if proxy(adapter.agent().name).is_none()
                    && let Some(row) = self.outcomes.to_row(&entry)
                {
                    // Outcomes for proxies are not stored, because a proxy reports each call only once.
                    let _ = self.host.keep_outcome(row);
                }
                cached
            }
        };
        let is_over = matches!(call.event, HookEvent::SessionEnd);
        if is_proof(&call.session) && !is_over {
            // The session is ended here, because `hookhost doctor` makes only one call and does not report the end of its session.
            let _ = handle.session.session_end(Usage::default()).await;
        }
        if is_over || is_proof(&call.session) {
            self.sessions.end(handle.session.id());
        }
        Ok((cached, handle))
    }

    /// Forgets the outcomes of calls that have run.
    fn forget(&self, calls: &[CallId]) {
        for call in self.outcomes.remove(calls) {
            // An error is ignored, because an outcome that stays in the store expires soon.
            let _ = self.host.forget_outcome(call);
        }
    }
}

impl std::fmt::Debug for Settler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settler").field("sessions", &self.sessions.count()).finish_non_exhaustive()
    }
}

/// Describes the process that waits for a reply.
fn waiting_process(message: &Message<'_>) -> Arc<dyn AgentProcess> {
    match message.process {
        #[cfg(target_os = "linux")]
        Some(process) => Arc::new(OtherProcess::new(process, message.is_sandboxed)),
        _ => Arc::new(UnknownProcess),
    }
}

/// Returns the adapter of the proxy with this name. hookhost's proxies send events in the same way as agents.
pub(crate) fn proxy(name: &str) -> Option<&'static Adapter> {
    [mcp_proxy::ADAPTER, acp_proxy::ADAPTER].into_iter().find(|proxy| proxy.agent().name == name)
}

/// Returns an error text if the path of a session's directory is too long. The length is limited because the search for rules
/// visits each directory above the session's directory.
fn check_lengths(session: &AgentSession) -> Option<String> {
    let is_long = |path: &Path| path.as_os_str().len() > MAX_PATH;
    let why = || format!("its directory is longer than {MAX_PATH} bytes");
    (is_long(&session.cwd) || is_long(&session.workspace)).then(why)
}

/// Returns the text that tells the model or the user why no decision was made on an event.
fn unsettled_reason(adapter: &Adapter, why: &str) -> String {
    reason::not_settled(adapter.agent().name, why)
}

/// Returns a sentence for the user if a passkey was registered lately, or if something else than hookhost changed the passkeys. A program
/// that registers its own passkey must not stay unnoticed.
async fn passkey_note(host: &Host) -> Option<String> {
    let passkeys = host.passkeys().await.ok()?;
    if passkeys.altered().is_some() {
        return Some(
            "no yes counts, because something else than hookhost changed its passkeys: see hookhost passkey".to_owned(),
        );
    }
    let newest = passkeys.registered().last().filter(|passkey| passkey.added > before_now(NEW_PASSKEY))?;
    Some(format!(
        "a passkey was registered ({}), and each yes needs one. Was it not you? hookhost passkey",
        newest.name
    ))
}
