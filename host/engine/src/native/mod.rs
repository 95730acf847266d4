//! Native rules: plugins that are part of the program, in Rust, without wasm.
//!
//! A native rule is code of the program itself, so nothing sandboxes it. `limits.fuel`, `limits.compute`,
//! `limits.memory` and `limits.output` do not apply. A native rule can read anything that the program can read, so a
//! replay may not be able to repeat its verdict. In other respects a native rule is like a component: it has a position
//! in the chain, a deadline and `on-failure`. It is tripped after several failures in a row, and its calls are recorded
//! with their effects.
//!
//! If a rule sends an event to its own session, the event is rejected, because the session waits for the rule.
//!
//! A rule about one event is a closure. A rule about several events, or a rule with a configuration or with
//! capabilities, is a plugin of the guest SDK. A closure and a plugin of the SDK both become a [`Rule`], and
//! [`Entry::from_rule`](crate::config::Entry::from_rule) gives the rule its name.
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

/// The result of `configure`. It is empty without the feature `native`, because closures have no configuration.
#[cfg(not(feature = "native"))]
#[derive(Clone, Debug, Default)]
pub(crate) struct Configuration;

/// A rule of the program itself. It has one function for each event about which it is asked.
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

/// The function of a rule for one event. `P` is the payload of the event, and `R` is the return type of `handle` in a
/// component. An error describes what is wrong with the answer. It is the end of a sentence that begins with "the
/// plugin … ".
pub(crate) type Handler<P, R> = Arc<dyn Fn(&Session, &P) -> Result<R, String> + Send + Sync>;

/// Configures a rule. The function takes the configuration as JSON, and may write log lines.
pub(crate) type Configure = dyn Fn(&str, Log) -> Result<Configuration, String> + Send + Sync;

/// Receives the lines that a rule logs.
#[cfg(feature = "native")]
pub(crate) type Log = std::rc::Rc<dyn hookhost_guest::native::Capabilities>;
/// A rule that consists of closures does not log anything.
#[cfg(not(feature = "native"))]
pub(crate) type Log = ();

/// The tools that a rule provides.
#[derive(Clone)]
pub(crate) struct Tools {
    /// Name, description and input schema of each tool.
    pub(crate) list: fn() -> Vec<[String; 3]>,
    pub(crate) call: fn(&Session, &str, &str) -> Result<ToolResult, String>,
}

impl Rule {
    /// Creates a rule that is not asked about any event yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version of the rule. The records of its calls contain this version in place of a component's digest.
    /// By default, the rule has the version of the program ([`HostBuilder::version`](crate::HostBuilder::version)).
    #[must_use]
    pub fn version(mut self, version: impl Into<Arc<str>>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Returns the version that was set for this rule, if there is one.
    pub(crate) fn own_version(&self) -> Option<&Arc<str>> {
        self.version.as_ref()
    }

    /// Returns the events about which the rule is asked.
    pub(crate) fn events(&self) -> impl Iterator<Item = EventKind> {
        self.handlers.keys().copied()
    }

    /// Returns the rule's function for an event, if there is one.
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

/// Calls a macro with one row for each event. The columns of a row are:
///
/// 1. the form in which a closure gets the payload, or `observed` if the event has no answer,
/// 2. the form in which a plugin of the SDK gets the payload,
/// 3. the event,
/// 4. the name of the method,
/// 5. the type of the payload,
/// 6. the type of the answer, if the event has an answer.
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

/// Two rules are equal if they have the same version and share the same functions, as clones do. Two separate
/// functions are different, even if their code is the same.
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
