//! Judges the tool calls in the transcripts of the user's agents by the rules of the directories in which the calls ran.
//!
//! Nothing is recorded, no person is asked, and nothing leaves the machine: plugins that could write files, send requests or ask a model
//! are not asked. Their names are reported. The calls of one session are judged in order, by one task, because the state of a plugin can
//! depend on the order. Two tasks share the sessions.

use super::then::{self, PastClock};
use super::verdicts::{PastOutcome, PastVerdict, PastVerdicts};
use crate::agent_places::project;
use crate::configuration;
use crate::exit::CliError;
use crate::loading;
use crate::output::{progress::Progress, record};
use anyhow::anyhow;
use hookhost::config::Config;
use hookhost::contract::Decision;
use hookhost::{Host, RuleSet, Session, SessionSpec};
use hookhost_agents::clock::milliseconds;
use hookhost_agents::{HookCall, HookEvent, ToolUse};
use hookhost_transcripts::{EventQuery, Omission, PastEvent, PastEvents, TranscriptPlaces};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Number of tasks that judge calls.
const TASKS: usize = 2;

/// Maximum number of calls that wait for a task.
const QUEUE: usize = 64;

/// Maximum number of sessions that a task keeps open. Transcripts are read one after the other, so an older session is at its end.
const MAX_SESSIONS: usize = 16;

/// Number of calls after which the progress is updated.
const PROGRESS_INTERVAL: u64 = 16;

/// The period of [`PastQuery::recent`], and its maximum time.
const RECENT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const RECENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Receives each call that would not simply have run, as JSON.
pub(crate) type EachCall = Arc<dyn Fn(&Value) + Send + Sync>;

/// The calls to judge, and the rules.
#[derive(Clone)]
pub(crate) struct PastQuery {
    /// Names of the agents; all if empty.
    pub(crate) agents: Vec<String>,
    /// Length of the period that ends now.
    pub(crate) period: Duration,
    /// The rules for all calls. If this is `None`, the rules in force in the directory of each call.
    pub(crate) rules: Option<Config>,
    /// Maximum time. After it, the calls that are not judged yet, which are the oldest, are left out.
    pub(crate) limit: Option<Duration>,
    /// Is given each call that would not simply have run.
    pub(crate) each: Option<EachCall>,
    /// If this becomes true, no further call is judged.
    pub(crate) cancel: Arc<AtomicBool>,
}

impl PastQuery {
    /// Creates a query for all calls of all agents in this period, under the rules in force.
    pub(crate) fn new(period: Duration) -> Self {
        let cancel = Arc::new(AtomicBool::new(false));
        Self { agents: Vec::new(), period, rules: None, limit: None, each: None, cancel }
    }

    /// Creates a query for the last 30 days that takes little time. The newest calls are judged first.
    pub(crate) fn recent() -> Self {
        Self { limit: Some(RECENT_TIMEOUT), ..Self::new(RECENT) }
    }
}

/// Judges past calls.
pub(crate) async fn judge(query: PastQuery, progress: Arc<Progress>) -> Result<PastVerdicts, CliError> {
    let PastQuery { agents, period, rules, limit, each, cancel } = query;
    let home = configuration::places()?.home;
    let home = home.ok_or_else(|| CliError::usage("your home directory cannot be found: set the variable HOME"))?;
    let places = TranscriptPlaces::of_environment(home, |name| std::env::var_os(name));
    let deadline = limit.map(|limit| Instant::now() + limit);
    progress.next("compiling rules");
    let here = match &rules {
        Some(rules) => rules.clone(),
        None => configuration::find(None, &configuration::cwd()?)?.config,
    };
    loading::compile(&here.for_replay().0, &progress).await?;
    let host = loading::host_at(Config::empty(), Arc::new(PastClock)).await?;
    let state = Arc::new(SharedState {
        table: tokio::sync::Mutex::new(RuleTable { host: host.clone(), fixed: rules, loaded: HashMap::new() }),
        verdicts: Mutex::new(PastVerdicts { period, ..PastVerdicts::default() }),
        host,
        each,
    });
    // The rules of the working directory show whether the rules can be loaded at all.
    state.rules(&configuration::cwd()?).await.map_err(|why| CliError::not_loaded(anyhow!("{why}")))?;
    progress.next("judging your agents' past");
    let (queues, tasks): (Vec<_>, Vec<_>) = (0..TASKS)
        .map(|_| {
            let (queue, calls) = channel(QUEUE);
            (queue, tokio::spawn(JudgingTask::new(Arc::clone(&state)).run(calls)))
        })
        .unzip();
    let events = EventQuery { agents, since: SystemTime::now().checked_sub(period) };
    let reading = tokio::task::spawn_blocking(move || {
        let is_over = || cancel.load(Ordering::Relaxed) || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        send_events(PastEvents::new(places, &events), &queues, &progress, is_over)
    });
    let failed = |error| CliError::from(anyhow!("the past cannot be judged: {error}"));
    let (omissions, is_complete) = reading.await.map_err(failed)?;
    for task in tasks {
        task.await.map_err(failed)?;
    }
    let mut verdicts = std::mem::take(&mut *state.verdicts());
    (verdicts.omissions, verdicts.is_complete) = (omissions, is_complete);
    Ok(verdicts)
}

/// Sends each event to the task of its session. Returns what was not read, and whether the end was reached.
fn send_events(
    mut events: PastEvents,
    queues: &[Sender<PastEvent>],
    progress: &Progress,
    is_over: impl Fn() -> bool,
) -> (Vec<Omission>, bool) {
    let mut sent = 0_u64;
    while let Some(event) = events.next_unless(&is_over) {
        if sent.is_multiple_of(PROGRESS_INTERVAL) {
            let (read, total) = events.progress();
            progress.set(read, total);
        }
        sent += 1;
        let mut hasher = DefaultHasher::new();
        (event.adapter.agent().name, &event.call.session.id).hash(&mut hasher);
        let task = usize::try_from(hasher.finish() % TASKS as u64).unwrap_or_default();
        if queues.get(task).is_none_or(|queue| queue.blocking_send(event).is_err()) {
            return (events.omissions(), false);
        }
    }
    (events.omissions(), !is_over() || events.remaining_transcripts() == 0)
}

struct SharedState {
    host: Host,
    table: tokio::sync::Mutex<RuleTable>,
    verdicts: Mutex<PastVerdicts>,
    each: Option<EachCall>,
}

impl SharedState {
    fn verdicts(&self) -> MutexGuard<'_, PastVerdicts> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rules of a directory.
    async fn rules(&self, directory: &Path) -> Result<RuleSet, String> {
        let mut table = self.table.lock().await;
        let config = table.config(directory)?;
        {
            let mut verdicts = self.verdicts();
            verdicts.files.extend(config.files().iter().cloned());
            verdicts.has_rules |= config.enabled().next().is_some();
        }
        let (rules, not_asked) = table.load(config).await?;
        self.verdicts().not_asked.extend(not_asked);
        Ok(rules)
    }
}

/// The loaded rules. Directories with equal rules share them.
struct RuleTable {
    host: Host,
    fixed: Option<Config>,
    /// The rules by the digest of their configuration.
    loaded: HashMap<String, RuleSet>,
}

impl RuleTable {
    fn config(&self, directory: &Path) -> Result<Config, String> {
        match &self.fixed {
            Some(config) => Ok(config.clone()),
            None => configuration::find(None, directory).map(|found| found.config).map_err(|stop| stop.message()),
        }
    }

    /// Loads the rules, unless they are loaded already. Also returns the names of the plugins that are left out.
    async fn load(&mut self, config: Config) -> Result<(RuleSet, Vec<String>), String> {
        let digest = format!("{} {:?}", config.digest(), config.project_files());
        let (config, left_out) = config.for_replay();
        if let Some(rules) = self.loaded.get(&digest) {
            return Ok((rules.clone(), left_out));
        }
        let rules = self.host.load_rules(&config).await.map_err(|error| error.to_string())?;
        self.loaded.insert(digest, rules.clone());
        Ok((rules, left_out))
    }
}

/// A session of an agent in one directory.
type SessionKey = (&'static str, Option<String>, Option<String>, PathBuf);

/// Judges the calls of some sessions.
struct JudgingTask {
    state: Arc<SharedState>,
    /// The open sessions, the last used one last.
    sessions: VecDeque<(SessionKey, Session)>,
    directories: HashMap<PathBuf, DirectoryState>,
}

/// What is known about the directory of a call.
#[derive(Clone)]
struct DirectoryState {
    rules: Result<RuleSet, String>,
    project: PathBuf,
    exists: bool,
}

impl JudgingTask {
    fn new(state: Arc<SharedState>) -> Self {
        Self { state, sessions: VecDeque::new(), directories: HashMap::new() }
    }

    async fn run(mut self, mut calls: Receiver<PastEvent>) {
        while let Some(event) = calls.recv().await {
            // Rules that count calls or know the hour see the time of the call.
            if let Err(why) = then::at(event.time, self.judge(&event)).await {
                *self.state.verdicts().unjudged.entry(why).or_default() += 1;
            }
        }
    }

    async fn judge(&mut self, event: &PastEvent) -> Result<(), String> {
        let HookEvent::BeforeToolCall(tool) = &event.call.event else { return Ok(()) };
        let agent = event.adapter.agent().name;
        let session = self.session(agent, &event.call).await?;
        let ToolUse { id, name, arguments, origin, .. } = tool;
        let call = session.tool_call(id.as_deref().unwrap_or_default(), name, arguments, origin.clone());
        let call = call.raw(event.call.raw.clone()).agent(then::agent(&event.call, event.time));
        let open = session.begin_before_tool_call(call).await;
        let settled = match open.into_final() {
            Ok(settled) => settled,
            Err(pending) => pending.reject_unattended().await,
        };
        let rejection = match &settled.outcome {
            Decision::Rejected(rejection) => Some(rejection),
            _ => None,
        };
        let verdict = PastVerdict::of(&settled.record, rejection);
        let time = milliseconds(event.time);
        if let Some(each) = self.state.each.as_ref().filter(|_| verdict.outcome != PastOutcome::Allowed) {
            each(&json!({
                "type": "call",
                "agent": agent,
                "time": time,
                "session": event.call.session.id,
                "directory": event.call.session.cwd,
                "tool": name,
                "arguments": arguments,
                "outcome": verdict.outcome,
                "by": verdict.rule.by,
                "code": verdict.rule.code,
                "reason": verdict.reason,
                "final": settled.record.last,
            }));
        }
        self.state.verdicts().add(agent, verdict, time, || record::subject(&settled.record.original));
        Ok(())
    }

    /// Returns the session of a call. Opens it at its first call.
    async fn session(&mut self, agent: &'static str, call: &HookCall) -> Result<&Session, String> {
        let named = &call.session;
        let directory = self.directory(&named.cwd).await;
        if !directory.exists {
            let mut verdicts = self.state.verdicts();
            verdicts.elsewhere.0 += 1;
            verdicts.elsewhere.1.clone_from(&named.cwd);
        }
        let key = (agent, named.id.clone(), named.subagent.clone(), named.cwd.clone());
        match self.sessions.iter().position(|(known, _)| *known == key) {
            Some(found) => {
                if let Some(used) = self.sessions.remove(found) {
                    self.sessions.push_back(used);
                }
            }
            None => {
                let mut spec = SessionSpec::new(agent, &named.workspace).rules(&directory.rules?);
                if named.workspace == named.cwd {
                    spec.workspace = directory.project;
                }
                spec.cwd.clone_from(&named.cwd);
                spec.depth = named.subagent.is_some().into();
                spec.interactive = true;
                let session = self.state.host.open_session(spec).map_err(|error| error.to_string())?;
                let _ = session.session_start().await;
                if self.sessions.len() >= MAX_SESSIONS {
                    self.sessions.pop_front();
                }
                self.sessions.push_back((key, session));
            }
        }
        let (_, session) = self.sessions.back().ok_or("the session is not open")?;
        Ok(session)
    }

    async fn directory(&mut self, directory: &Path) -> DirectoryState {
        if let Some(known) = self.directories.get(directory) {
            return known.clone();
        }
        let real = directory.canonicalize();
        let exists = real.is_ok();
        let rules = self.state.rules(&real.unwrap_or_else(|_| directory.to_owned())).await;
        let known = DirectoryState { rules, project: project(directory), exists };
        self.directories.insert(directory.to_owned(), known.clone());
        known
    }
}
