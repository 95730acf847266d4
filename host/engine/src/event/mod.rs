//! The typed events: one file each, one row each in the table below.
//!
//! An event says what its interface's `handle` takes and returns, and what the returned verdict means. Everything else
//! (subscription, the call, composition, the record, `hookhost dispatch`) is the same for all of them. Adding an event
//! is: its interface in `wit/events.wit`, its file and row here, its method in the guest SDK.

mod compaction;
mod custom;
mod declare;
mod inference;
mod provider;
mod session;
mod subagent;
mod task;
mod tools;
mod turn;

pub(crate) use custom::{AuditRecord, Entry};
pub use tools::ToolOutcome;

use crate::chain::{Answer, Layer, Passage};
use crate::contract::{Escalation, Session, Task, ToolCall};
use crate::session::{Dispatch, Rules};
use serde::{Serialize, de::DeserializeOwned};
use std::future::Future;
use wasmtime::component::{ComponentNamedList, ComponentType, Lift, Lower};

/// Declares [`EventKind`], and for each event how it composes and how it is dispatched from JSON.
macro_rules! events {
    ($($(#[$doc:meta])* $shape:ident $event:ident = $name:literal in $module:ident;)*) => {
        /// The events of the contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum EventKind {
            $($(#[$doc])* $event,)*
        }

        impl EventKind {
            /// All of them, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$event,)*];

            /// The name of its interface, such as `before-tool-call`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$event => $name,)* }
            }

            /// How the answers of many plugins compose.
            #[must_use]
            pub fn shape(self) -> Shape {
                match self { $(Self::$event => events!(@shape $shape),)* }
            }

            /// The name of `handle`'s parameter where the event carries one; `None` where what it carries is an object of
            /// several.
            #[must_use]
            pub fn parameter(self) -> Option<&'static str> {
                match self { $(Self::$event => $module::$event::PARAMETER,)* }
            }

            pub(crate) fn typecheck(self, handle: &HandleType<'_>) -> wasmtime::Result<()> {
                match self { $(Self::$event => handle.matches::<$module::$event>(),)* }
            }

            pub(crate) async fn dispatch_json(
                self,
                session: &crate::session::Session,
                payload: serde_json::Value,
                options: crate::session::DispatchOptions,
                recall: Option<crate::session::Recall>,
            ) -> Result<crate::session::Settled<serde_json::Value>, serde_json::Error> {
                match self { $(Self::$event => session.dispatch_json::<$module::$event>(payload, options, recall).await,)* }
            }
        }

        $(impl Dispatched for $module::$event {
            const KIND: EventKind = EventKind::$event;
            type Outcome = events!(@outcome $shape $module::$event);
            async fn settle(dispatch: &mut Dispatch<'_>, payload: Self::Payload) -> Self::Outcome {
                events!(@settle $shape dispatch, payload, Self)
            }
        })*
    };
    (@shape gate) => { Shape::Gate };
    (@shape transform) => { Shape::Transform };
    (@shape collect) => { Shape::Collect };
    (@shape observe) => { Shape::Observe };
    (@outcome gate $event:ty) => { crate::session::GateOutcome<<$event as Event>::Payload, <$event as GateEvent>::Response> };
    (@outcome transform $event:ty) => { crate::session::TransformOutcome<<$event as TransformEvent>::Value> };
    (@outcome collect $event:ty) => { Vec<Task> };
    (@outcome observe $event:ty) => { () };
    (@settle gate $dispatch:expr, $payload:expr, $event:ty) => { $dispatch.gate::<$event>($payload).await };
    (@settle transform $dispatch:expr, $payload:expr, $event:ty) => { $dispatch.transform::<$event>($payload).await };
    (@settle collect $dispatch:expr, $payload:expr, $event:ty) => { $dispatch.collect::<$event>($payload).await };
    (@settle observe $dispatch:expr, $payload:expr, $event:ty) => { $dispatch.observe::<$event>($payload).await };
}

events! {
    /// A session opens.
    collect SessionStart = "session-start" in session;
    /// A session ends.
    observe SessionEnd = "session-end" in session;
    /// The user has sent a prompt.
    transform PromptSubmit = "prompt-submit" in session;
    /// A turn begins.
    gate TurnStart = "turn-start" in turn;
    /// A turn has ended.
    observe TurnEnd = "turn-end" in turn;
    /// It is settled which model a session uses.
    gate ProviderResolve = "provider-resolve" in provider;
    /// A request is about to be sent to a model.
    gate BeforeInference = "before-inference" in inference;
    /// The body of a request is about to be sent.
    gate RequestSend = "request-send" in provider;
    /// An answer has come, whole.
    transform ResponseReceive = "response-receive" in provider;
    /// A piece of an answer has come.
    transform StreamDelta = "stream-delta" in inference;
    /// The stream of an answer has ended.
    observe StreamEnd = "stream-end" in inference;
    /// An answer is complete.
    observe AfterInference = "after-inference" in inference;
    /// Tokens were used.
    gate TokenUsage = "token-usage" in inference;
    /// The final text of a task.
    transform FinalizeContent = "finalize-content" in inference;
    /// The tool calls of one answer, together.
    gate BeforeTools = "before-tools" in tools;
    /// A tool is about to be called.
    gate BeforeToolCall = "before-tool-call" in tools;
    /// A tool has answered.
    transform AfterToolCall = "after-tool-call" in tools;
    /// A sub-agent is about to be started.
    gate SubagentStart = "subagent-start" in subagent;
    /// A sub-agent has ended.
    observe SubagentEnd = "subagent-end" in subagent;
    /// A conversation nears its limit.
    gate BeforeCompaction = "before-compaction" in compaction;
    /// A conversation has been summarised.
    transform AfterCompaction = "after-compaction" in compaction;
    /// A task is about to begin.
    gate TaskStart = "task-start" in task;
    /// The agent proposes a plan.
    gate PlanSubmit = "plan-submit" in task;
    /// A task has ended.
    collect TaskComplete = "task-complete" in task;
    /// All tasks of a plan have ended.
    observe PlanComplete = "plan-complete" in task;
    /// No task is left.
    collect QueueEmpty = "queue-empty" in task;
    /// The agent could not go on.
    collect AgentError = "agent-error" in task;
    /// An event of the embedding program.
    gate CustomEvent = "custom-event" in custom;
    /// A record of the audit log was written.
    observe AuditRecord = "audit-record" in custom;
}

/// How the answers of many plugins to one event compose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// About to happen: a plugin can stop, change or defer it.
    Gate,
    /// A value on its way: a plugin can replace it.
    Transform,
    /// Plugins add tasks.
    Collect,
    /// Happened: the answer carries nothing.
    Observe,
}

impl EventKind {
    /// The event of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.name() == name)
    }
}

impl std::fmt::Display for EventKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl<'de> serde::Deserialize<'de> for EventKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("`{name}` is no event")))
    }
}

impl Serialize for EventKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// What `handle` of one event takes and returns.
pub(crate) trait Event: Sized + Send + 'static {
    /// What the event carries beside the session.
    type Payload: Clone + Serialize + DeserializeOwned + Send + Sync;
    /// `handle`'s parameters.
    type Params<'a>: ComponentNamedList + Lower + Send + Sync;
    /// `handle`'s results.
    type Return: ComponentNamedList + Lift + Send + Sync + 'static;
    /// The parameter's name where the payload is one parameter; else the payload is an object of parameters.
    const PARAMETER: Option<&'static str>;

    fn params<'a>(session: &'a Session, payload: &'a Self::Payload) -> Self::Params<'a>;

    /// The payload as it is asked about and as it may run: what the host can work out itself it does not take on trust.
    fn prepared(payload: Self::Payload, _rules: &Rules<'_>) -> Self::Payload {
        payload
    }

    /// What the configuration asks a person about it, and in which layer, unless a plugin that may approves.
    fn asks(_payload: &Self::Payload, _rules: &Rules<'_>) -> Vec<(Layer, Escalation)> {
        Vec::new()
    }

    /// The tool calls that it is about, which an entry's `actions` and `tools` narrow.
    fn calls(_payload: &Self::Payload) -> Option<&[ToolCall]> {
        None
    }
}

/// An event, and how it is settled; implemented by the table.
pub(crate) trait Dispatched: Event {
    const KIND: EventKind;
    type Outcome: Serialize + Send;
    fn settle(dispatch: &mut Dispatch<'_>, payload: Self::Payload) -> impl Future<Output = Self::Outcome> + Send;
}

/// What its verdict means for a gate.
pub(crate) trait GateEvent: Event<Payload: PartialEq, Return = (Self::Verdict,)> {
    type Verdict: ComponentType + Lift + Serialize + Send + Sync + 'static;
    type Response: Clone + Serialize + Send + Sync;

    /// # Errors
    /// What is wrong with a verdict that cannot be taken as it is: the plugin failed.
    fn answer(
        verdict: Self::Verdict,
        payload: &Self::Payload,
        rules: &Rules<'_>,
    ) -> Result<Answer<Self::Payload, Self::Response>, String>;
}

/// What its verdict means for a value on its way.
pub(crate) trait TransformEvent: Event<Return = (Self::Verdict,)> {
    type Verdict: ComponentType + Lift + Serialize + Send + Sync + 'static;
    /// The part of the payload that plugins replace.
    type Value: Clone + PartialEq + Serialize + Send + Sync;

    fn value(payload: &Self::Payload) -> &Self::Value;
    fn replace(payload: &mut Self::Payload, value: Self::Value);
    /// # Errors
    /// As [`GateEvent::answer`].
    fn passage(verdict: Self::Verdict, payload: &Self::Payload) -> Result<Passage<Self::Value>, String>;
}

/// Which tasks its verdict adds.
pub(crate) trait CollectEvent: Event<Return = (Self::Verdict,)> {
    type Verdict: ComponentType + Lift + Serialize + Send + Sync + 'static;
    fn tasks(verdict: Self::Verdict) -> Vec<Task>;
}

/// The type of a component's `handle`, to compare with the contract's.
pub(crate) struct HandleType<'a> {
    pub(crate) function: &'a wasmtime::component::types::ComponentFunc,
    pub(crate) types: &'a wasmtime::component::__internal::InstanceType<'a>,
}

impl HandleType<'_> {
    fn matches<E: Event>(&self) -> wasmtime::Result<()> {
        self.function.typecheck::<E::Params<'_>, E::Return>(self.types)
    }
}
