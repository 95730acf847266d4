//! The events as types. They are for programs that do not want to wait for a person, and get the pending approval
//! instead.

use super::dispatch::{OpenDecision, OpenOutcome};
use super::dispatched::Dispatched;
use super::handle::Session;
use super::options::DispatchOptions;
use super::prepared::PreparedCall;
use super::recorded_outcome::RecordedOutcome;
use crate::contract::*;
use crate::event::*;
use futures_util::future::BoxFuture;

/// An event as a type, for [`Session::begin`]. Only the types of [`event_types`](crate::event_types) implement it.
pub trait EventType: sealed::Sealed {
    /// The payload of the event.
    type Payload;

    /// The outcome, as far as it can be decided without a person: an [`OpenDecision`], a [`TransformOutcome`], tasks,
    /// or `()`.
    type Outcome;

    #[doc(hidden)]
    fn begin(
        session: &Session,
        payload: Self::Payload,
        options: DispatchOptions,
    ) -> BoxFuture<'_, RecordedOutcome<Self::Outcome>>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! typed {
    ($($event:ident: $payload:ty => $outcome:ty;)*) => {
        $(impl sealed::Sealed for $event {}

        impl EventType for $event {
            type Payload = $payload;
            type Outcome = $outcome;

            fn begin(
                session: &Session,
                payload: $payload,
                options: DispatchOptions,
            ) -> BoxFuture<'_, RecordedOutcome<$outcome>> {
                <Self as Dispatched>::begin(&session.shared, payload, false, options, None)
            }
        })*
    };
}

typed! {
    SessionStart: Nothing => Vec<Task>;
    SessionEnd: Usage => ();
    PromptSubmit: String => TransformOutcome<String>;
    TurnStart: Turn => OpenDecision<Turn>;
    TurnEnd: TurnSummary => ();
    ProviderResolve: Resolution => OpenDecision<Resolution>;
    BeforeInference: Inference => OpenDecision<Inference, String>;
    RequestSend: RawRequest => OpenDecision<RawRequest>;
    ResponseReceive: RawResponse => TransformOutcome<RawResponse>;
    StreamDelta: String => TransformOutcome<String>;
    StreamEnd: String => ();
    AfterInference: Response => ();
    TokenUsage: Usage => OpenDecision<Usage>;
    FinalizeContent: String => TransformOutcome<String>;
    BeforeTools: Vec<ToolCall> => OpenDecision<Vec<ToolCall>>;
    BeforeToolCall: ToolCall => OpenDecision<ToolCall, ToolResult>;
    AfterToolCall: ToolOutcome => TransformOutcome<ToolResult>;
    SubagentStart: Subagent => OpenDecision<Subagent>;
    SubagentEnd: SubagentSummary => ();
    BeforeCompaction: Compaction => OpenDecision<Compaction, String>;
    AfterCompaction: String => TransformOutcome<String>;
    TaskStart: Task => OpenDecision<Task>;
    PlanSubmit: Plan => OpenDecision<Plan>;
    TaskComplete: Completion => Vec<Task>;
    PlanComplete: PlanSummary => ();
    QueueEmpty: Progress => Vec<Task>;
    AgentError: String => Vec<Task>;
    CustomEvent: Custom => OpenDecision<Custom>;
}

impl Session {
    /// Decides an event as far as possible without a person. If the event is escalated, the host's approver is not
    /// asked. Instead, the pending approval is returned.
    pub fn begin<E: EventType>(
        &self,
        payload: E::Payload,
        options: DispatchOptions,
    ) -> impl Future<Output = RecordedOutcome<E::Outcome>> + Send {
        E::begin(self, payload, options)
    }

    /// Like [`Self::begin`], for `before-tool-call` with a call that is already prepared.
    pub async fn begin_before_tool_call(&self, call: PreparedCall) -> OpenOutcome<ToolCall, ToolResult> {
        let (call, options) = self.asked_about(call);
        self.begin_prepared::<BeforeToolCall>(call, options).await
    }
}
