//! One typed method for each event.

use super::handle::Session;
use super::prepared::PreparedCall;
use super::recorded_outcome::RecordedOutcome;
use crate::contract::*;
use crate::event::*;

/// Defines a method for each event of the table. The method asks plugins about its argument, and returns the outcome.
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
    /// Reports the end of the session, with its totals (`session-end`).
    session_end(usage: Usage) -> () = SessionEnd;

    // Events of a provider's side of a request.
    /// Asks plugins which model the session uses (`provider-resolve`). Use `Allowed.value`, not your argument.
    provider_resolve(resolution: Resolution) -> Decision<Resolution> = ProviderResolve;
    /// Asks plugins about the body of a request, without headers and keys (`request-send`). Send `Allowed.value`, not
    /// your argument.
    request_send(request: RawRequest) -> Decision<RawRequest> = RequestSend;
    /// Asks plugins about the raw answer of a provider, before any part of the answer is used (`response-receive`).
    response_receive(response: RawResponse) -> TransformOutcome<RawResponse> = ResponseReceive;

    // Events of the agent's task queue.
    /// Asks plugins about a task of the queue (`task-start`). Work on `Allowed.value`, not on your argument.
    task_start(task: Task) -> Decision<Task> = TaskStart;
    /// Asks plugins about a plan (`plan-submit`). Queue `Allowed.value`, not your argument.
    plan_submit(plan: Plan) -> Decision<Plan> = PlanSubmit;
    /// Reports a completed task (`task-complete`). Add the returned tasks to the agent's queue.
    task_complete(completion: Completion) -> Vec<Task> = TaskComplete;
    /// Reports that all tasks of a plan have ended (`plan-complete`).
    plan_complete(plan: PlanSummary) -> () = PlanComplete;
    /// Reports that no task is left (`queue-empty`). Add the returned tasks to the agent's queue.
    queue_empty(progress: Progress) -> Vec<Task> = QueueEmpty;
    /// Reports an error of the agent (`agent-error`). Add the returned tasks to the agent's queue.
    agent_error(message: String) -> Vec<Task> = AgentError;

    // Events of a turn.
    /// Asks plugins about a turn, before the request of the turn is put together (`turn-start`).
    turn_start(turn: Turn) -> Decision<Turn> = TurnStart;
    /// Reports the end of a turn (`turn-end`). Call this once for each turn that `turn-start` allowed, however the
    /// turn ended.
    turn_end(turn: TurnSummary) -> () = TurnEnd;

    // Events of a call of a model.
    /// Asks plugins about a request to a model (`before-inference`). Send `Allowed.value`, not your argument.
    before_inference(request: Inference) -> Decision<Inference, String> = BeforeInference;
    /// Asks plugins about a piece of an answer (`stream-delta`). Pass whole lines, or 4 KiB of a longer line, because
    /// otherwise a secret could be cut in two. [`Session::stream`] does this, and also holds back text that
    /// `finalize-content` may withhold.
    stream_delta(delta: String) -> TransformOutcome<String> = StreamDelta;
    /// Reports the whole text of an answer (`stream-end`).
    stream_end(text: String) -> () = StreamEnd;
    /// Reports the answer of a model (`after-inference`).
    after_inference(response: Response) -> () = AfterInference;
    /// Asks plugins whether the task may call a model again (`token-usage`).
    token_usage(usage: Usage) -> Decision<Usage> = TokenUsage;
    /// Asks plugins about the final text of a task (`finalize-content`).
    finalize_content(content: String) -> TransformOutcome<String> = FinalizeContent;

    // Events of the summary of a conversation.
    /// Asks plugins about the compaction of a conversation (`before-compaction`). If a plugin responds, its response
    /// is the summary. Pass this summary to [`Self::after_compaction`], as you would pass a summary of the model.
    before_compaction(compaction: Compaction) -> Decision<Compaction, String> = BeforeCompaction;
    /// Asks plugins about a summary (`after-compaction`). If a summary is withheld, do not replace any messages by it.
    after_compaction(summary: String) -> TransformOutcome<String> = AfterCompaction;

    // Events of tool calls.
    /// Asks plugins about all calls of one answer, after the decision on each call (`before-tools`). Plugins cannot
    /// change the calls.
    before_tools(calls: Vec<ToolCall>) -> Decision<Vec<ToolCall>> = BeforeTools;

    // Events of sub-agents.
    /// Asks plugins about a new sub-agent, in the session of the agent that starts it (`subagent-start`). Start
    /// `Allowed.value`, not your argument, and open the sub-agent's session with this session as the parent.
    subagent_start(subagent: Subagent) -> Decision<Subagent> = SubagentStart;
    /// Reports the end of a sub-agent, in the session of the agent that started it (`subagent-end`).
    subagent_end(subagent: SubagentSummary) -> () = SubagentEnd;

    // Events of the embedding program.
    /// Asks plugins about an event of the embedding program (`custom-event`).
    custom_event(event: Custom) -> Decision<Custom> = CustomEvent;
}

impl Session {
    /// Reports the start of the session (`session-start`). Call this once, and await it before any other event. Add
    /// the returned tasks to the agent's queue.
    pub async fn session_start(&self) -> RecordedOutcome<Vec<Task>> {
        self.dispatch::<SessionStart>(Nothing {}).await
    }

    /// Asks plugins about a prompt of the user (`prompt-submit`).
    pub async fn prompt_submit(&self, prompt: String) -> RecordedOutcome<TransformOutcome<String>> {
        let settled = self.dispatch::<PromptSubmit>(prompt).await;
        if let TransformOutcome::Passed { value } = &settled.outcome {
            self.works_on(value);
        }
        settled
    }

    /// Asks plugins about a tool call (`before-tool-call`), which [`Session::tool_call`] creates. Run
    /// `Allowed.value`, not your argument.
    pub async fn before_tool_call(&self, call: PreparedCall) -> RecordedOutcome<Decision<ToolCall, ToolResult>> {
        let open = self.begin_before_tool_call(call).await;
        self.settled::<BeforeToolCall>(open).await
    }

    /// Asks plugins about the result of a tool or of a plugin (`after-tool-call`).
    pub async fn after_tool_call(
        &self,
        call: &ToolCall,
        result: ToolResult,
        source: ResultSource,
    ) -> RecordedOutcome<TransformOutcome<ToolResult>> {
        self.dispatch::<AfterToolCall>(ToolOutcome { call: call.clone(), tool_result: result, source }).await
    }
}
