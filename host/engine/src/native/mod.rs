//! Native rules: plugins that are part of the program, in Rust, without wasm.
//!
//! A native rule is the program's own code. Nothing sandboxes it: `limits.fuel`, `limits.compute`, `limits.memory` and
//! `limits.output` do not hold, and what it reads of the world makes its verdict one that a replay cannot give again.
//! What is the same as for a component: its place in the chain, its deadline, its `on-failure`, its tripping after failures
//! in a row, the effects of its calls and their records.
//!
//! The session waits for its rules: an event that a rule sends to the same session is rejected.
//!
//! A rule about one event is a closure; one about several, with a configuration or with capabilities, is a plugin
//! of the guest SDK. Both make a [`Rule`], and [`Entry::from_rule`](crate::config::Entry::from_rule) names it.
//!
//! ```
//! use hookhost::contract::{Refusal, ToolCall};
//! use hookhost::{Config, Host};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Host::builder(Config::empty())
//!     .rule("no-deploys", |call: &ToolCall| (call.name == "deploy").then(|| Refusal::new("deploys are frozen")))
//!     .build()
//!     .await?;
//! # let session = host.session("my-agent", "/work")?;
//! # let outcome = session.check_tool("deploy", &serde_json::json!({})).await.outcome;
//! # assert!(matches!(outcome, hookhost::Decision::Rejected(_)));
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

#[cfg(feature = "native")]
mod sdk;

#[cfg(feature = "native")]
pub(crate) use hookhost_guest::native::Configuration;

use crate::contract::{
    AuditEntry, BatchVerdict, Compaction, CompactionVerdict, Completion, CompletionVerdict, Custom, CustomVerdict,
    EventKind, Inference, InferenceVerdict, Nothing, Plan, PlanSummary, PlanVerdict, Progress, RawRequest, RawResponse,
    RequestVerdict, Resolution, ResolutionVerdict, Response, ResponseVerdict, Session, Subagent, SubagentSummary,
    SubagentVerdict, Task, TaskVerdict, TextVerdict, ToolCall, ToolCallVerdict, ToolOutcome, ToolResult,
    ToolResultVerdict, Turn, TurnSummary, TurnVerdict, Usage, UsageVerdict,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a plugin keeps from `configure`; a closure keeps nothing.
#[cfg(not(feature = "native"))]
#[derive(Clone, Debug, Default)]
pub(crate) struct Configuration;

/// A rule of the program itself: a function for each event that it is asked about.
///
/// ```
/// use hookhost::contract::{Refusal, Escalation};
/// use hookhost::native::Rule;
///
/// let rule = Rule::new()
///     .before_tool_call(|session, call| {
///         (call.name == "deploy" && !session.interactive).then(|| Escalation::new("deploy without anybody there?"))
///     })
///     .prompt_submit(|_, prompt| prompt.contains("mellon").then(|| Refusal::new("the prompt holds the password")));
/// ```
#[derive(Clone, Default)]
pub struct Rule {
    version: Option<Arc<str>>,
    handlers: BTreeMap<EventKind, Arc<dyn Any + Send + Sync>>,
    pub(crate) configure: Option<Arc<Configure>>,
    pub(crate) tools: Option<Tools>,
}

/// A rule's answer to one event: `R` is what a component's `handle` returns. An error says what is wrong with it, as the
/// end of "the plugin … ".
pub(crate) type Handler<P, R> = Arc<dyn Fn(&Session, &P) -> Result<R, String> + Send + Sync>;

/// Takes a configuration as JSON, while it can log.
pub(crate) type Configure = dyn Fn(&str, Log) -> Result<Configuration, String> + Send + Sync;

/// Takes the lines that a rule logs.
#[cfg(feature = "native")]
pub(crate) type Log = std::rc::Rc<dyn hookhost_guest::native::Capabilities>;
/// A rule of closures logs nothing.
#[cfg(not(feature = "native"))]
pub(crate) type Log = ();

/// The tools that a rule brings.
#[derive(Clone)]
pub(crate) struct Tools {
    /// Name, description and input schema of each.
    pub(crate) list: fn() -> Vec<[String; 3]>,
    pub(crate) call: fn(&Session, &str, &str) -> Result<ToolResult, String>,
}

impl Rule {
    /// A rule that is asked about nothing so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets its version, which the records of its calls name in place of a component's digest. Without one, it is that of
    /// the program ([`HostBuilder::version`](crate::HostBuilder::version)).
    #[must_use]
    pub fn version(mut self, version: impl Into<Arc<str>>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Its version, if it has one of its own.
    pub(crate) fn own_version(&self) -> Option<&Arc<str>> {
        self.version.as_ref()
    }

    /// The events that it is asked about.
    pub(crate) fn events(&self) -> impl Iterator<Item = EventKind> {
        self.handlers.keys().copied()
    }

    /// The function for an event, if it has one.
    pub(crate) fn handler<P: 'static, R: 'static>(&self, event: EventKind) -> Option<Handler<P, R>> {
        self.handlers.get(&event)?.downcast_ref::<Handler<P, R>>().cloned()
    }

    fn on<P: 'static, R: 'static>(
        mut self,
        event: EventKind,
        rule: impl Fn(&Session, &P) -> Result<R, String> + Send + Sync + 'static,
    ) -> Self {
        let handler: Handler<P, R> = Arc::new(rule);
        self.handlers.insert(event, Arc::new(handler));
        self
    }
}

/// Hands each event to a macro: how a closure and how a plugin of the SDK are given it, the method of both, what it carries,
/// and what is answered.
macro_rules! every_event {
    ($then:ident) => {
        $then! {
            value nothing SessionStart session_start(Nothing) -> Vec<Task>;
            observed value SessionEnd session_end(Usage);
            text text PromptSubmit prompt_submit(String) -> TextVerdict;
            value value TurnStart turn_start(Turn) -> TurnVerdict;
            observed value TurnEnd turn_end(TurnSummary);
            value value ProviderResolve provider_resolve(Resolution) -> ResolutionVerdict;
            value value BeforeInference before_inference(Inference) -> InferenceVerdict;
            value value RequestSend request_send(RawRequest) -> RequestVerdict;
            value value ResponseReceive response_receive(RawResponse) -> ResponseVerdict;
            text text StreamDelta stream_delta(String) -> TextVerdict;
            observed text StreamEnd stream_end(String);
            observed value AfterInference after_inference(Response);
            value value TokenUsage token_usage(Usage) -> UsageVerdict;
            text text FinalizeContent finalize_content(String) -> TextVerdict;
            value list BeforeTools before_tools(Vec<ToolCall>) -> BatchVerdict;
            value value BeforeToolCall before_tool_call(ToolCall) -> ToolCallVerdict;
            value outcome AfterToolCall after_tool_call(ToolOutcome) -> ToolResultVerdict;
            value value SubagentStart subagent_start(Subagent) -> SubagentVerdict;
            observed value SubagentEnd subagent_end(SubagentSummary);
            value value BeforeCompaction before_compaction(Compaction) -> CompactionVerdict;
            text text AfterCompaction after_compaction(String) -> TextVerdict;
            value value TaskStart task_start(Task) -> TaskVerdict;
            value value PlanSubmit plan_submit(Plan) -> PlanVerdict;
            value value TaskComplete task_complete(Completion) -> CompletionVerdict;
            observed value PlanComplete plan_complete(PlanSummary);
            value value QueueEmpty queue_empty(Progress) -> CompletionVerdict;
            text text AgentError agent_error(String) -> CompletionVerdict;
            value value CustomEvent custom_event(Custom) -> CustomVerdict;
            observed record AuditRecord audit_record(AuditEntry);
        }
    };
}

#[cfg(feature = "native")]
use every_event;

/// The methods of a rule, one for each event.
macro_rules! events {
    ($($shape:ident $given:ident $event:ident $method:ident($payload:ty) $(-> $answer:ty)?;)*) => {
        impl Rule {
            $(events! { @method $shape $event $method($payload) $(-> $answer)? })*
        }

        /// The names of the methods.
        #[cfg(test)]
        const METHODS: &[(EventKind, &str)] = &[$((EventKind::$event, stringify!($method)),)*];
    };
    (@method value $event:ident $method:ident($payload:ty) -> $answer:ty) => {
        #[doc = concat!("Answers [`", stringify!($event), "`](EventKind::", stringify!($event), ").")]
        #[must_use]
        pub fn $method<V: Into<$answer>>(
            self,
            rule: impl Fn(&Session, &$payload) -> V + Send + Sync + 'static,
        ) -> Self {
            self.on(EventKind::$event, move |session: &Session, payload: &$payload| Ok((rule(session, payload).into(),)))
        }
    };
    (@method text $event:ident $method:ident($payload:ty) -> $answer:ty) => {
        #[doc = concat!("Answers [`", stringify!($event), "`](EventKind::", stringify!($event), ").")]
        #[must_use]
        pub fn $method<V: Into<$answer>>(self, rule: impl Fn(&Session, &str) -> V + Send + Sync + 'static) -> Self {
            self.on(EventKind::$event, move |session: &Session, payload: &$payload| Ok((rule(session, payload).into(),)))
        }
    };
    (@method observed $event:ident $method:ident($payload:ty)) => {
        #[doc = concat!("Observes [`", stringify!($event), "`](EventKind::", stringify!($event), ").")]
        #[must_use]
        pub fn $method(self, rule: impl Fn(&Session, &$payload) + Send + Sync + 'static) -> Self {
            self.on(EventKind::$event, move |session: &Session, payload: &$payload| Ok(rule(session, payload)))
        }
    };
}

every_event!(events);

/// The same functions, not functions that do the same.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |event: EventKind| {
            let of = |rule: &Self| rule.handlers.get(&event).map(Arc::as_ptr);
            of(self).zip(of(other)).is_some_and(|(one, other)| std::ptr::addr_eq(one, other))
        };
        self.version == other.version && self.events().eq(other.events()) && self.events().all(is_same)
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let events: Vec<_> = self.events().map(EventKind::name).collect();
        f.debug_struct("Rule").field("version", &self.version).field("events", &events).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_method_for_each_event() {
        let methods: Vec<_> = METHODS.iter().map(|(event, method)| (*event, method.replace('_', "-"))).collect();
        let events: Vec<_> = EventKind::ALL.iter().map(|event| (*event, event.name().to_owned())).collect();
        assert_eq!(methods, events);
    }

    #[test]
    fn a_rule_is_the_same_as_its_clone_and_as_no_other() {
        let rule = || Rule::new().stream_end(|_, _| {});
        let one = rule();
        assert_eq!(one, one.clone());
        assert_ne!(one, rule());
        assert_ne!(one, one.clone().version("2"));
    }
}
