//! Rules of the program itself, in Rust: asked, composed, recorded and bounded like plugins, without a sandbox.

use super::Plugin;
use crate::config::{Digest, Entry, Mode, OnFailure};
use crate::contract::*;
use crate::event::{self, Kind};
use crate::sandbox::{Called, GuestSetup};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Calls of one rule that run at once: a call that is given up goes on until it returns, on a thread of its own.
const MAX_CALLS: usize = 16;

/// What a handler takes and returns is the event's; the typed methods of [`NativePlugin`] see to it.
type Handler = Arc<dyn Fn(&Session, &dyn Any) -> Box<dyn Any + Send> + Send + Sync>;

/// A rule of the program itself, in Rust: one function per event, which takes what a plugin's takes and returns its verdict.
///
/// It is composed and recorded like a plugin: before the next plugin in the order of priority and name, under its deadline,
/// failing closed. Records mark it `native`, with the program's version in place of a digest; they cannot be
/// replayed. It runs with all rights of the program, so only a program can add one, and no configuration file.
///
/// Each call runs on a thread of tokio's for blocking work. A call beyond its deadline is given up and counts as failed; at
/// most 16 such calls of a rule are left running. A panic is a failure.
///
/// ```
/// use hookhost::config::Config;
/// use hookhost::contract::{Refusal, ToolCallVerdict};
/// use hookhost::{GateOutcome, Host, NativePlugin};
/// use serde_json::json;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let no_deploys = NativePlugin::new("no-deploys").before_tool_call(|_, call| match call.name.as_str() {
///     "deploy" => Refusal::new("nothing is deployed on a Friday").with_code("deploys.friday").into(),
///     _ => ToolCallVerdict::Allow,
/// });
/// let host = Host::builder(Config::empty()).native(no_deploys).build().await?;
/// let session = host.session("my-agent", "/work")?;
/// let settled = session.check_tool("deploy", &json!({})).await;
/// assert!(matches!(settled.outcome, GateOutcome::Rejected(_)));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct NativePlugin {
    entry: Entry,
    version: String,
    handlers: BTreeMap<EventKind, Handler>,
}

impl NativePlugin {
    /// A rule of this name without a function. Names are those of entries ([`Entry::name`]), and unique among all plugins.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let entry = Entry::new(name, "native", Digest::zero());
        Self { entry, version: "unversioned".to_owned(), handlers: BTreeMap::new() }
    }

    /// The version of the program, which records have in place of a digest: `env!("CARGO_PKG_VERSION")`.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Its place in the order of plugins: lower is asked first; default 100.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.entry.priority = priority;
        self
    }

    /// Whether its verdicts count; default [`Mode::Enforce`].
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.entry.mode = mode;
        self
    }

    /// What replaces a verdict that it failed to give; default as [`Entry::on_failure`].
    #[must_use]
    pub fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.entry.on_failure = Some(on_failure);
        self
    }

    /// How long a call may take; default 100 ms.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.entry.limits.deadline = Some(deadline);
        self
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    fn handle<E: Kind>(mut self, handler: impl Fn(&Session, &E::Payload) -> E::Return + Send + Sync + 'static) -> Self {
        let handler = move |session: &Session, payload: &dyn Any| -> Box<dyn Any + Send> {
            // `call` gives each handler the payload of its event.
            Box::new(payload.downcast_ref::<E::Payload>().map(|payload| handler(session, payload)))
        };
        self.handlers.insert(E::KIND, Arc::new(handler));
        self
    }

    /// The rule as a plugin.
    pub(crate) fn load(self) -> Plugin {
        let Self { entry, version, handlers } = self;
        let rule = Rule { version, handlers, calls: Arc::new(Semaphore::new(MAX_CALLS)) };
        Plugin::native(entry, rule)
    }
}

/// One method per event that answers with a verdict, and one per event that is observed.
macro_rules! handlers {
    (
        asked { $($method:ident, $event:ident, $payload:ty => $verdict:ty;)* }
        observed { $($observes:ident, $observed:ident, $told:ty;)* }
    ) => {
        impl NativePlugin {
            $(
                #[doc = concat!("Answers `", stringify!($method), "`.")]
                #[must_use]
                pub fn $method(self, handler: impl Fn(&Session, &$payload) -> $verdict + Send + Sync + 'static) -> Self {
                    self.handle::<event::$event>(move |session, payload| (handler(session, payload),))
                }
            )*
            $(
                #[doc = concat!("Is told of `", stringify!($observes), "`.")]
                #[must_use]
                pub fn $observes(self, handler: impl Fn(&Session, &$told) + Send + Sync + 'static) -> Self {
                    self.handle::<event::$observed>(move |session, payload| handler(session, payload))
                }
            )*
        }
    };
}

handlers! {
    asked {
    prompt_submit, PromptSubmit, String => TextVerdict;
    turn_start, TurnStart, Turn => TurnVerdict;
    provider_resolve, ProviderResolve, Resolution => ResolutionVerdict;
    before_inference, BeforeInference, Inference => InferenceVerdict;
    request_send, RequestSend, RawRequest => RequestVerdict;
    response_receive, ResponseReceive, RawResponse => ResponseVerdict;
    stream_delta, StreamDelta, String => TextVerdict;
    token_usage, TokenUsage, Usage => UsageVerdict;
    finalize_content, FinalizeContent, String => TextVerdict;
    before_tools, BeforeTools, Vec<ToolCall> => BatchVerdict;
    before_tool_call, BeforeToolCall, ToolCall => ToolCallVerdict;
    after_tool_call, AfterToolCall, ToolOutcome => ToolResultVerdict;
    subagent_start, SubagentStart, Subagent => SubagentVerdict;
    before_compaction, BeforeCompaction, Compaction => CompactionVerdict;
    after_compaction, AfterCompaction, String => TextVerdict;
    task_start, TaskStart, Task => TaskVerdict;
    plan_submit, PlanSubmit, Plan => PlanVerdict;
    custom_event, CustomEvent, Custom => CustomVerdict;
    }
    observed {
    turn_end, TurnEnd, TurnSummary;
    stream_end, StreamEnd, String;
    after_inference, AfterInference, Response;
    subagent_end, SubagentEnd, SubagentSummary;
    plan_complete, PlanComplete, PlanSummary;
    session_end, SessionEnd, Usage;
    }
}

impl std::fmt::Debug for NativePlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let events: Vec<_> = self.handlers.keys().map(|event| event.name()).collect();
        f.debug_struct("NativePlugin").field("name", &self.entry.name).field("events", &events).finish_non_exhaustive()
    }
}

/// A native rule that is loaded.
pub(crate) struct Rule {
    pub(crate) version: String,
    handlers: BTreeMap<EventKind, Handler>,
    calls: Arc<Semaphore>,
}

impl Rule {
    pub(super) fn events(&self) -> impl Iterator<Item = EventKind> {
        self.handlers.keys().copied()
    }

    /// Asks about one event, on a thread of its own.
    pub(super) async fn call<E: Kind>(
        &self,
        deadline: Duration,
        session: &Session,
        payload: &E::Payload,
        setup: &GuestSetup,
    ) -> Called<E::Return> {
        let began = Instant::now();
        let answer = self.answer::<E>(deadline, session, payload, setup).await;
        let unrepeatable = BTreeSet::from(["it is a rule of the program itself"]);
        Called { unrepeatable, time: began.elapsed(), ..Called::of(answer) }
    }

    async fn answer<E: Kind>(
        &self,
        deadline: Duration,
        session: &Session,
        payload: &E::Payload,
        setup: &GuestSetup,
    ) -> Result<E::Return, Failure> {
        let Some(handler) = self.handlers.get(&E::KIND).cloned() else {
            let detail = format!("does not subscribe to {}", E::KIND);
            return Err(Failure::new(FailureKind::NotInstantiated, detail));
        };
        let permit = tokio::time::timeout(setup.patience, Arc::clone(&self.calls).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            let detail = format!("has {MAX_CALLS} calls that do not return (settings.overload-deadline)");
            return Err(Failure::new(FailureKind::Overloaded, detail));
        };
        let (session, payload) = (session.clone(), payload.clone());
        let call = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            handler(&session, &payload)
        });
        match tokio::time::timeout(deadline, call).await {
            Ok(Ok(answer)) => match answer.downcast::<Option<E::Return>>() {
                Ok(answer) => {
                    answer.ok_or_else(|| Failure::new(FailureKind::Trap, "was given another event's payload"))
                }
                Err(_) => Err(Failure::new(FailureKind::InvalidAnswer, "gave the answer of another event")),
            },
            Ok(Err(_)) => Err(Failure::new(FailureKind::Trap, "panicked")),
            Err(_) => {
                let detail = format!("did not answer within {deadline:?} (limits.deadline)");
                Err(Failure::new(FailureKind::Deadline, detail))
            }
        }
    }
}
