//! One typed method for each event.

use super::handle::Session;
use super::prepared::PreparedCall;
use super::recorded_outcome::RecordedOutcome;
use crate::contract::*;
use crate::event::*;

/// Defines a method for each event of the table: it asks about the argument, and returns the outcome.
macro_rules! event_methods {
    ($($(#[$doc:meta])* $method:ident($argument:ident: $payload:ty) -> $outcome:ty = $event:ident;)*) => {
        impl Session {
            $($(#[$doc])*
            pub async fn $method(&self, $argument: $payload) -> RecordedOutcome<$outcome> {
                self.dispatch::<$event>($argument).await
            })*
        }
    };
}

event_methods! {
    // Events of a session and its prompts.
    /// Reports `session-end`, with the session's totals.
    session_end(usage: Usage) -> () = SessionEnd;

    // Events of a provider's side of a request.
    /// Asks `provider-resolve` which model the session uses. Use `Allowed.value`, not your argument.
    provider_resolve(resolution: Resolution) -> Decision<Resolution> = ProviderResolve;
    /// Asks `request-send` about the body of a request, without headers and keys. Send `Allowed.value`, not your argument.
    request_send(request: RawRequest) -> Decision<RawRequest> = RequestSend;
    /// Asks `response-receive` about an answer, before anything of it is used.
    response_receive(response: RawResponse) -> TransformOutcome<RawResponse> = ResponseReceive;

    // Events of the agent's task queue.
    /// Asks `task-start` about a task of the queue. Work on `Allowed.value`, not on your argument.
    task_start(task: Task) -> Decision<Task> = TaskStart;
    /// Asks `plan-submit` about a plan. Queue `Allowed.value`, not your argument.
    plan_submit(plan: Plan) -> Decision<Plan> = PlanSubmit;
    /// Asks `task-complete`; the tasks join the agent's queue.
    task_complete(completion: Completion) -> Vec<Task> = TaskComplete;
    /// Reports `plan-complete`, when all tasks of a plan have ended.
    plan_complete(plan: PlanSummary) -> () = PlanComplete;
    /// Asks `queue-empty`, when no task is left; the tasks join the agent's queue.
    queue_empty(progress: Progress) -> Vec<Task> = QueueEmpty;
    /// Asks `agent-error`; the tasks join the agent's queue.
    agent_error(message: String) -> Vec<Task> = AgentError;

    // Events of a turn.
    /// Asks `turn-start`, before the request of a turn is put together.
    turn_start(turn: Turn) -> Decision<Turn> = TurnStart;
    /// Reports `turn-end`: once for each turn that `turn-start` allowed, however it ended.
    turn_end(turn: TurnSummary) -> () = TurnEnd;

    // Events of a call of a model.
    /// Asks `before-inference` about a request. Send `Allowed.value`, not your argument.
    before_inference(request: Inference) -> Decision<Inference, String> = BeforeInference;
    /// Asks `stream-delta` about a piece of an answer. Pass whole lines (or 4 KiB), so that no secret is cut in
    /// two; [`Session::stream`] does so, and holds back what `finalize-content` may withhold.
    stream_delta(delta: String) -> TransformOutcome<String> = StreamDelta;
    /// Reports `stream-end`, with all of the answer's text.
    stream_end(text: String) -> () = StreamEnd;
    /// Reports `after-inference`.
    after_inference(response: Response) -> () = AfterInference;
    /// Asks `token-usage` if the task may call a model again.
    token_usage(usage: Usage) -> Decision<Usage> = TokenUsage;
    /// Asks `finalize-content` about the final text of a task.
    finalize_content(content: String) -> TransformOutcome<String> = FinalizeContent;

    // Events of the summary of a conversation.
    /// Asks `before-compaction`. A response is a summary, and is handed to [`Self::after_compaction`] like the model's.
    before_compaction(compaction: Compaction) -> Decision<Compaction, String> = BeforeCompaction;
    /// Asks `after-compaction` about a summary. One that is withheld must not take the place of anything.
    after_compaction(summary: String) -> TransformOutcome<String> = AfterCompaction;

    // Events of tool calls.
    /// Asks `before-tools` about the calls of one answer, after the decision on each. Plugins cannot change the calls.
    before_tools(calls: Vec<ToolCall>) -> Decision<Vec<ToolCall>> = BeforeTools;

    // Events of sub-agents.
    /// Asks `subagent-start` in the session of the agent that starts one. Start `Allowed.value`, not your argument, and open its
    /// session with this one as the parent.
    subagent_start(subagent: Subagent) -> Decision<Subagent> = SubagentStart;
    /// Reports `subagent-end` in the session of the agent that started it.
    subagent_end(subagent: SubagentSummary) -> () = SubagentEnd;

    // Events of the embedding program.
    /// Asks `custom-event` about an event of the embedding program.
    custom_event(event: Custom) -> Decision<Custom> = CustomEvent;
}

impl Session {
    /// Asks `session-start`; call it once, and await it before anything else. The tasks join the agent's queue.
    pub async fn session_start(&self) -> RecordedOutcome<Vec<Task>> {
        self.dispatch::<SessionStart>(Nothing {}).await
    }

    /// Asks `prompt-submit` about a prompt of the user.
    pub async fn prompt_submit(&self, prompt: String) -> RecordedOutcome<TransformOutcome<String>> {
        let settled = self.dispatch::<PromptSubmit>(prompt).await;
        if let TransformOutcome::Passed { value } = &settled.outcome {
            self.works_on(value);
        }
        settled
    }

    /// Asks `before-tool-call` about a call ([`Session::tool_call`] makes one). Run `Allowed.value`, not your argument.
    pub async fn before_tool_call(&self, call: PreparedCall) -> RecordedOutcome<Decision<ToolCall, ToolResult>> {
        let open = self.begin_before_tool_call(call).await;
        self.settled::<BeforeToolCall>(open).await
    }

    /// Asks `after-tool-call` about a result, a tool's or a plugin's.
    pub async fn after_tool_call(
        &self,
        call: &ToolCall,
        result: ToolResult,
        source: ResultSource,
    ) -> RecordedOutcome<TransformOutcome<ToolResult>> {
        self.dispatch::<AfterToolCall>(ToolOutcome { call: call.clone(), tool_result: result, source }).await
    }
}
