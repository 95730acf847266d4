//! Settles agents' messages: decodes each, asks the rules of its directory about its events, and encodes the reply.

use crate::call_key::{CallId, CallKey};
use crate::canary_rules::{self, in_own_session, is_canary, is_proof};
use crate::deadlines::{ReplyDeadlines, WaitCallback, time_until, whole_seconds};
use crate::event::SessionEvent;
use crate::notes;
use crate::outcome_cache::{CachedOutcome, OutcomeCache};
use crate::proxies;
use crate::rules::{ConfigurationSource, DirectoryRules, RulesByDirectory};
use crate::sessions::{SessionHandle, SessionTable, directories};
use hookhost::audit::DeliveryKind;
use hookhost::contract::Usage;
use hookhost::{Host, StoreError};
use hookhost_agents::{Adapter, AgentSession, HookCall, HookEvent, Message, Outcome, Reply, degrade, detect, reason};
use hookhost_client::hook;
use hookhost_client::unanswered_calls::UnansweredCall;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OnceCell, watch};

/// Maximum length of a directory's path, in bytes: `PATH_MAX` of Linux.
const MAX_PATH: usize = 4096;

/// Settles agents' messages.
pub struct Settler {
    host: Host,
    rules: RulesByDirectory,
    sessions: SessionTable,
    outcomes: OutcomeCache,
    canary_rules: OnceCell<DirectoryRules>,
    usage: Mutex<SettlerUsage>,
    /// Set to true when the process is about to end.
    shutdown: watch::Sender<bool>,
}

/// A decoded message, and the limits of its reply.
#[derive(Clone, Copy)]
struct MessageContext<'a> {
    adapter: &'static Adapter,
    call: &'a HookCall,
    /// The deadline for people and plugins.
    deadline: Instant,
    on_wait: WaitCallback<'a>,
}

/// Counters of the settler's use.
#[derive(Debug)]
struct SettlerUsage {
    /// Number of messages that are being settled.
    active: usize,
    /// The time at which the last message was settled.
    last: Instant,
}

/// Counts a message as active until it is dropped. If that is before the reply, its hook has gone, and the log records that.
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
    #[must_use]
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
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the open sessions.
    #[must_use]
    pub fn sessions(&self) -> &SessionTable {
        &self.sessions
    }

    /// Returns the rules of all directories.
    #[must_use]
    pub fn rules(&self) -> &RulesByDirectory {
        &self.rules
    }

    /// Returns the time since the last message; zero while one is being settled.
    #[must_use]
    pub fn idle(&self) -> Duration {
        let usage = self.usage();
        if usage.active > 0 { Duration::ZERO } else { usage.last.elapsed() }
    }

    fn usage(&self) -> MutexGuard<'_, SettlerUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the outcomes that an earlier host has kept.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn load_outcomes(&self) -> Result<(), StoreError> {
        self.outcomes.load(self.host.kept_outcomes().await?);
        Ok(())
    }

    /// Rejects all events under way, and all that arrive from now on.
    pub(crate) fn shut_down(&self) {
        self.shutdown.send_replace(true);
    }

    /// Settles a message and returns the reply. The agent is `named`, or a related one that the message shows. `on_wait` is called
    /// before a long wait, such as for a person or a plugin's model. If the future is dropped early, the hook has gone: the event is
    /// dropped, and the log records that.
    pub async fn reply(&self, named: &'static Adapter, message: &Message<'_>, on_wait: WaitCallback<'_>) -> Reply {
        self.usage().active += 1;
        let adapter = detect(named, message);
        let mut active = ActiveMessage { settler: self, adapter, message, is_answered: false };
        // Boxed, since the tasks that await this future copy it when they are created and when they end.
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
        // The rules would judge one of several results, and the agent would use another one.
        if let Some(why) = call.unclear.as_ref().filter(|_| adapter.abilities(&call).replaces) {
            let why = format!("the result is withheld, since it can be read in more than one way: {why}");
            return self.unsettled(adapter, &call, &call.session.cwd, &why);
        }
        let deadlines = ReplyDeadlines::new(adapter, &call.point, message.within);
        let work = async {
            let rules = self.rules_of(&call).await?;
            let context = MessageContext { adapter, call: &call, deadline: deadlines.decision, on_wait };
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
            Ok([]) => adapter.unsettled(&call, &unsettled_reason(adapter, "nothing of it was settled")),
            Ok([outcome]) if call.further.is_empty() => adapter.encode(&call, outcome),
            Ok(outcomes) => adapter.encode_all(&call, outcomes),
            Err(why) => self.unsettled(adapter, &call, &call.session.cwd, why),
        }
    }

    /// Returns the reply to a message that was not read: a denial, as far as the agent understands one.
    #[must_use]
    pub fn reply_to_unread(&self, adapter: &Adapter, point: Option<&str>, directory: &Path, why: &str) -> Reply {
        self.note_unsettled(adapter, point.unwrap_or_default(), directory, why);
        adapter.fail(point, &unsettled_reason(adapter, why))
    }

    /// Returns the reply to a call that was read, but not settled.
    fn unsettled(&self, adapter: &Adapter, call: &HookCall, directory: &Path, why: &str) -> Reply {
        self.note_unsettled(adapter, &call.point, directory, why);
        adapter.unsettled(call, &unsettled_reason(adapter, why))
    }

    fn note_unsettled(&self, adapter: &Adapter, point: &str, directory: &Path, why: &str) {
        notes::unsettled(&self.host, adapter.agent().name, point, directory, why);
    }

    /// Records that a message of an unknown agent could not be read.
    pub fn note_unread(&self, transport: &str, directory: &Path, why: &str) {
        notes::unsettled(&self.host, transport, "", directory, why);
    }

    /// Records a call that no resident host answered.
    pub fn note_unanswered(&self, call: &UnansweredCall) {
        notes::unanswered(&self.host, call);
    }

    /// Settles each event of a message, in order; `rules` are those of the first.
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

    /// Settles an event. An outcome for which the agent has no form becomes a stricter one.
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

    /// Returns the handle of a call's session, after checking the session's project files.
    fn handle(&self, adapter: &Adapter, call: &HookCall, rules: &DirectoryRules) -> Result<Arc<SessionHandle>, String> {
        let handle = self.sessions.handle(&self.host, adapter.agent().name, &call.session, rules);
        let handle = handle.map_err(|error| error.to_string())?;
        let is_revoked = |file: &Path| self.rules.is_revoked(file);
        handle.check_project_files(&call.session, &rules.project_files, is_revoked)?;
        Ok(handle)
    }

    /// Settles an event, unless an earlier report of the same call has settled it.
    async fn dispatch_once(
        &self,
        context: MessageContext<'_>,
        rules: &DirectoryRules,
    ) -> Result<(CachedOutcome, Arc<SessionHandle>), String> {
        let MessageContext { adapter, call, deadline, on_wait } = context;
        let call = &*in_own_session(call);
        let handle = self.handle(adapter, call, rules)?;
        if rules.plugin_time > hook::CALL_TIMEOUT / 2 {
            on_wait(whole_seconds(rules.plugin_time.min(time_until(deadline))));
        }
        let event = SessionEvent {
            adapter,
            call,
            abilities: adapter.abilities(call),
            handle: &handle,
            notes: &rules.notes,
            rules_digest: &rules.digest,
            deadline,
            plugin_time: rules.plugin_time,
            is_approved: AtomicBool::new(false),
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
                        // While the first report waits for a person, each repeated report waits as long.
                        Ok(()) = waiting.changed() => on_wait(*waiting.borrow_and_update()),
                    }
                };
                if !is_first {
                    handle.note_repeated(&call.point, cached.event.as_deref());
                } else if proxies::by_name(adapter.agent().name).is_none()
                    && let Some(row) = self.outcomes.to_row(&entry)
                {
                    // A proxy reports each call only once.
                    let _ = self.host.keep_outcome(row);
                }
                cached
            }
        };
        let is_over = matches!(call.event, HookEvent::SessionEnd);
        if is_proof(&call.session) && !is_over {
            // `hookhost doctor` makes one call and reports no end of its session.
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
            // An outcome that cannot be removed from the store expires there.
            let _ = self.host.forget_outcome(call);
        }
    }
}

impl std::fmt::Debug for Settler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settler").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

/// Returns the reason if a directory of the session is too long: the search for rules visits each directory above it.
fn check_lengths(session: &AgentSession) -> Option<String> {
    let is_long = |path: &Path| path.as_os_str().len() > MAX_PATH;
    let why = || format!("its directory is longer than {MAX_PATH} bytes");
    (is_long(&session.cwd) || is_long(&session.workspace)).then(why)
}

/// Returns the text for the model or the user about an event that could not be settled.
fn unsettled_reason(adapter: &Adapter, why: &str) -> String {
    reason::not_settled(adapter.agent().name, why)
}
