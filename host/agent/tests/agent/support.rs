//! A test agent in its own directory. Its provider plays prepared answers and stores requests, and its `all-events`
//! plugins do what their configuration says.

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt as _};
use hookhost::config::{Digest, Entry, ModelGrant, Settings, StateGrant};
use hookhost::contract::{EventKind, Refusal, Rejection, Stop};
use hookhost::{Config, Host};
use hookhost_agent::agent::{Agent, AgentConfig, AgentEvent, RecordingReporter, RejectionReport, RunOutcome};
use hookhost_agent::session_store::StoredSession;
use hookhost_agent::tool::{Tool, Toolbox};
use hookhost_models::message::{Message, StopReason, TokenUsage, ToolUse};
use hookhost_models::{Delta, DeltaStream, Provider, ProviderError, Request};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

/// Returns the path of a component that `cargo xtask plugins` has built.
pub(crate) fn component(name: &str) -> PathBuf {
    let built = std::env::var_os("HOOKHOST_PLUGINS").map(PathBuf::from);
    let path = built.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("../plugins")).join(name);
    assert!(path.exists(), "{} is missing: run `cargo xtask plugins`", path.display());
    path
}

/// Copies `all-events` to a file with the plugin's name, since two entries cannot have the same file. The copy is
/// written to a temporary file and renamed, because other tests may be using an existing copy.
fn copy_named(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent_loop");
    std::fs::create_dir_all(&directory).unwrap();
    let fresh = tempfile::NamedTempFile::new_in(&directory).unwrap();
    std::fs::copy(component("all_events.wasm"), fresh.path()).unwrap();
    let path = directory.join(format!("{name}.wasm"));
    fresh.persist(&path).unwrap();
    path
}

/// Returns an entry for an `all-events` plugin that subscribes only to the events for which it has a behaviour.
pub(crate) fn plugin(name: &str, behaviour: Value) -> Entry {
    let path = copy_named(name);
    let mut entry = Entry::new(name, path.clone(), Digest::of_file(&path).unwrap());
    entry.grants.audit = true;
    entry.grants.state = Some(StateGrant::default());
    entry.grants.transcript = true;
    entry.grants.model = Some(ModelGrant::new("small"));
    entry.limits.deadline = Some(Duration::from_millis(100));
    let Value::Object(config) = behaviour else { panic!("a behaviour is an object") };
    entry.events = Some(config.keys().filter_map(|event| EventKind::from_name(event)).collect());
    entry.config = config;
    entry
}

/// Describes what a plugin does in the session with this name. The session of a test has the name of the test.
pub(crate) fn on(session: &str, plugin: &'static str, behaviour: Value) -> Scenario {
    Scenario::new(session.to_owned(), plugin, behaviour)
}

/// The behaviour of one plugin in one session. See [`on`].
pub(crate) struct Scenario {
    /// The field of the session that is compared with the name: `session` or `parent`.
    of: &'static str,
    session: String,
    plugin: &'static str,
    behaviour: Value,
}

impl Scenario {
    pub(crate) fn new(session: String, plugin: &'static str, behaviour: Value) -> Self {
        Self { of: "session", session, plugin, behaviour }
    }

    /// Restricts the behaviour to the sub-agents of that session.
    pub(crate) fn below(self) -> Self {
        Self { of: "parent", ..self }
    }
}

/// Returns the plugins of these scenarios. The behaviour of each plugin depends on the session's name.
pub(crate) fn plugins_of(scenarios: impl IntoIterator<Item = Scenario>) -> Vec<Entry> {
    let mut plugins = BTreeMap::<&str, Map<String, Value>>::new();
    for Scenario { of, session, plugin, behaviour } in scenarios {
        let Value::Object(events) = behaviour else { panic!("a behaviour is an object") };
        let merged = plugins.entry(plugin).or_default();
        for (event, behaviour) in events {
            let behaviours = if let Value::Array(many) = behaviour { many } else { vec![behaviour] };
            let list = merged.entry(event).or_insert_with(|| json!([])).as_array_mut().unwrap();
            list.extend(behaviours.into_iter().map(|mut behaviour| {
                behaviour["when"][of] = json!(session);
                behaviour
            }));
        }
    }
    plugins.into_iter().map(|(name, behaviour)| plugin(name, Value::Object(behaviour))).collect()
}

/// A host that tests share, since it takes a second to create a host. The behaviour of each plugin depends on the
/// session's name.
pub(crate) struct SharedHost {
    scenarios: fn() -> Vec<Scenario>,
    settings: fn(&mut Settings),
    host: OnceCell<Host>,
}

impl SharedHost {
    pub(crate) const fn new(scenarios: fn() -> Vec<Scenario>) -> Self {
        Self::under(|_| {}, scenarios)
    }

    /// Like `new`, but with other settings.
    pub(crate) const fn under(settings: fn(&mut Settings), scenarios: fn() -> Vec<Scenario>) -> Self {
        Self { scenarios, settings, host: OnceCell::const_new() }
    }

    async fn host(&self) -> Host {
        let host = self.host.get_or_init(async || {
            let plugins = plugins_of((self.scenarios)());
            let mut settings = Settings::default();
            (self.settings)(&mut settings);
            let config = Config::from_entries(plugins, settings).unwrap();
            Host::builder(config).build().await.unwrap()
        });
        host.await.clone()
    }
}

/// One prepared answer of [`Fake`].
pub(crate) type Prepared = Result<Vec<Result<Delta, ProviderError>>, ProviderError>;

pub(crate) const USED: TokenUsage = TokenUsage::new(100, 10).cached(60);

/// A final answer with this text.
pub(crate) fn says(text: &str) -> Prepared {
    answer(text, Vec::new())
}

/// An answer that calls these tools. The ids of the calls are c1, c2, and so on. The report of a rejection by the
/// plugin `guard`.
pub(crate) fn rejected_by_guard(reason: &str, code: Option<&str>) -> RejectionReport {
    let refusal = Refusal { reason: reason.into(), code: code.map(str::to_owned), retryable: false, stop: false };
    RejectionReport::from(&Rejection::verdict("guard", refusal, Stop::Run))
}

pub(crate) fn calls<const N: usize>(calls: [(&str, Value); N]) -> Prepared {
    says_and_calls("", calls)
}

pub(crate) fn says_and_calls<const N: usize>(text: &str, calls: [(&str, Value); N]) -> Prepared {
    let call =
        |(place, (name, arguments)): (usize, (&str, Value))| ToolUse::new(format!("c{}", place + 1), name, arguments);
    answer(text, calls.into_iter().enumerate().map(call).collect())
}

fn answer(text: &str, calls: Vec<ToolUse>) -> Prepared {
    let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
    // The pieces do not end at line breaks, as in a real model's stream.
    let pieces = text.as_bytes().chunks(5).map(|piece| Delta::Text(String::from_utf8(piece.to_vec()).unwrap()));
    let calls = calls.into_iter().map(Delta::ToolCall);
    Ok(pieces.chain(calls).chain([Delta::Usage(USED), Delta::Stop(stop)]).map(Ok).collect())
}

/// A provider that plays prepared answers and stores the requests.
#[derive(Debug)]
pub(crate) struct Fake {
    name: &'static str,
    answers: Mutex<VecDeque<Prepared>>,
    requests: Mutex<Vec<Request>>,
}

impl Fake {
    pub(crate) fn new(name: &'static str, answers: impl IntoIterator<Item = Prepared>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { name, answers, requests: Mutex::default() })
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

#[async_trait]
impl Provider for Fake {
    fn name(&self) -> &str {
        self.name
    }

    async fn send(&self, request: Request) -> Result<DeltaStream, ProviderError> {
        self.requests.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front();
        let none = || Err(ProviderError::BadAnswer { provider: self.name.into(), reason: "no answer is left".into() });
        Ok(stream::iter(answer.unwrap_or_else(none)?).chain(stream::pending()).boxed())
    }
}

/// An agent that has not run yet.
pub(crate) struct Harness {
    /// Holds the workspace and the sessions until the test has ended.
    _directory: TempDir,
    pub(crate) fake: Arc<Fake>,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) others: Vec<(Arc<dyn Provider>, Vec<String>)>,
    pub(crate) config: AgentConfig,
    pub(crate) tools: Toolbox,
    pub(crate) host: Host,
    pub(crate) cancel: CancellationToken,
    pub(crate) recorded: RecordingReporter,
}

impl Harness {
    /// Creates a harness without plugins.
    pub(crate) async fn bare<const N: usize>(answers: [Prepared; N]) -> Self {
        static HOST: SharedHost = SharedHost::new(Vec::new);
        Self::with_host(HOST.host().await, answers)
    }

    /// Creates a harness with the plugins of `shared`, which behave as configured for the session `name`.
    pub(crate) async fn on<const N: usize>(shared: &SharedHost, name: &str, answers: [Prepared; N]) -> Self {
        let mut harness = Self::with_host(shared.host().await, answers);
        harness.config.session = Some(name.to_owned());
        harness
    }

    pub(crate) fn with_host(host: Host, answers: impl IntoIterator<Item = Prepared>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("work")).unwrap();
        let mut config = AgentConfig::new(directory.path().join("work"), "model-1");
        config.sessions_dir = Some(directory.path().join("sessions"));
        let wait = Duration::from_millis(1);
        config.retry.retries = 2;
        (config.retry.first_wait, config.retry.longest_wait) = (wait, wait);
        let fake = Fake::new("fake", answers);
        Self {
            _directory: directory,
            provider: Arc::clone(&fake) as _,
            fake,
            others: Vec::new(),
            config,
            tools: Toolbox::builtin().unwrap(),
            host,
            cancel: CancellationToken::new(),
            recorded: RecordingReporter::default(),
        }
    }

    pub(crate) fn with_tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools = self.tools.with(Arc::new(tool)).unwrap();
        self
    }

    pub(crate) async fn run(&self) -> RunOutcome {
        let builder =
            Agent::builder(self.host.clone(), Arc::clone(&self.provider), self.tools.clone(), self.config.clone());
        let builder = self
            .others
            .iter()
            .fold(builder, |builder, (provider, models)| builder.models(Arc::clone(provider), models.clone()).unwrap());
        builder.build().unwrap().run("do it", &self.recorded, &self.cancel).await.unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.config.workspace.join(name)
    }

    pub(crate) fn events(&self) -> Vec<AgentEvent> {
        self.recorded.events()
    }

    /// Returns all text that was shown.
    pub(crate) fn shown(&self) -> String {
        let text = |event: AgentEvent| if let AgentEvent::Text { text } = event { text } else { String::new() };
        self.events().into_iter().map(text).collect()
    }
}

/// Returns the messages of the session on disk. Checks that the file is complete: it has every message, an end, and one
/// result for each call before the next answer.
pub(crate) fn stored(outcome: &RunOutcome) -> Vec<Message> {
    let stored = StoredSession::read(outcome.transcript.as_ref().unwrap()).unwrap();
    assert!(stored.damaged.is_empty() && stored.missing.is_empty(), "{stored:?}");
    let ending = stored.ending.unwrap();
    assert_eq!(
        (ending.status.as_str(), &ending.reason, ending.usage),
        (outcome.status.name(), &outcome.reason, outcome.usage)
    );
    let mut open: Vec<String> = Vec::new();
    for message in &stored.conversation {
        match message {
            Message::Tool { call_id, .. } => {
                let place = open.iter().position(|id| id == call_id);
                open.remove(place.unwrap_or_else(|| panic!("a second result, or one of no call: {message:?}")));
            }
            Message::User { .. } => assert!(open.is_empty(), "calls without a result: {open:?}"),
            Message::Assistant { tool_calls, .. } => {
                assert!(open.is_empty(), "calls without a result: {open:?}");
                open = tool_calls.iter().map(|call| call.id.clone()).collect();
            }
        }
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
    stored.conversation
}

/// Returns the tool results in a conversation: the text, and true if the result is an error.
pub(crate) fn results<'a>(messages: &'a [Message]) -> Vec<(&'a str, bool)> {
    let result = |message: &'a Message| match message {
        Message::Tool { text, is_error, .. } => Some((text.as_str(), *is_error)),
        Message::User { .. } | Message::Assistant { .. } => None,
    };
    messages.iter().filter_map(result).collect()
}
