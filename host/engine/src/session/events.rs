//! One typed method for each event.

use super::handle::Session;
use super::prepared::PreparedCall;
use super::recorded_outcome::RecordedOutcome;
use crate::contract::*;
use crate::event::*;

/// Events of a session and its prompts.
impl Session {
    /// Asks `session-start`; call it once, and await it before anything else. The tasks join the agent's queue.
    pub async fn session_start(&self) -> RecordedOutcome<Vec<Task>> {
        self.dispatch::<SessionStart>(Nothing {}).await
    }

    /// Tells `session-end`, with the session's totals.
    pub async fn session_end(&self, usage: Usage) -> RecordedOutcome<()> {
        self.dispatch::<SessionEnd>(usage).await
    }

    /// Asks `prompt-submit` about a prompt of the user.
    pub async fn prompt_submit(&self, prompt: String) -> RecordedOutcome<TransformOutcome<String>> {
        let settled = self.dispatch::<PromptSubmit>(prompt).await;
        if let TransformOutcome::Passed { value } = &settled.outcome {
            self.works_on(value);
        }
        settled
    }
}

/// Events of a provider's side of a request.
impl Session {
    /// Asks `provider-resolve` which model the session uses. Use `Allowed.value`, not your argument.
    pub async fn provider_resolve(&self, resolution: Resolution) -> RecordedOutcome<Decision<Resolution>> {
        self.dispatch::<ProviderResolve>(resolution).await
    }

    /// Asks `request-send` about the body of a request, without headers and keys. Send `Allowed.value`, not your argument.
    pub async fn request_send(&self, request: RawRequest) -> RecordedOutcome<Decision<RawRequest>> {
        self.dispatch::<RequestSend>(request).await
    }

    /// Asks `response-receive` about an answer, before anything of it is used.
    pub async fn response_receive(&self, response: RawResponse) -> RecordedOutcome<TransformOutcome<RawResponse>> {
        self.dispatch::<ResponseReceive>(response).await
    }
}

/// Events of the agent's task queue.
impl Session {
    /// Asks `task-start` about a task of the queue. Work on `Allowed.value`, not on your argument.
    pub async fn task_start(&self, task: Task) -> RecordedOutcome<Decision<Task>> {
        self.dispatch::<TaskStart>(task).await
    }

    /// Asks `plan-submit` about a plan. Queue `Allowed.value`, not your argument.
    pub async fn plan_submit(&self, plan: Plan) -> RecordedOutcome<Decision<Plan>> {
        self.dispatch::<PlanSubmit>(plan).await
    }

    /// Asks `task-complete`; the tasks join the agent's queue.
    pub async fn task_complete(&self, completion: Completion) -> RecordedOutcome<Vec<Task>> {
        self.dispatch::<TaskComplete>(completion).await
    }

    /// Tells `plan-complete`, when all tasks of a plan have ended.
    pub async fn plan_complete(&self, plan: PlanSummary) -> RecordedOutcome<()> {
        self.dispatch::<PlanComplete>(plan).await
    }

    /// Asks `queue-empty`, when no task is left; the tasks join the agent's queue.
    pub async fn queue_empty(&self, progress: Progress) -> RecordedOutcome<Vec<Task>> {
        self.dispatch::<QueueEmpty>(progress).await
    }

    /// Asks `agent-error`; the tasks join the agent's queue.
    pub async fn agent_error(&self, message: String) -> RecordedOutcome<Vec<Task>> {
        self.dispatch::<AgentError>(message).await
    }
}

/// Events of a turn.
impl Session {
    /// Asks `turn-start`, before the request of a turn is put together.
    pub async fn turn_start(&self, turn: Turn) -> RecordedOutcome<Decision<Turn>> {
        self.dispatch::<TurnStart>(turn).await
    }

    /// Tells `turn-end`: once for each turn that `turn-start` allowed, however it ended.
    pub async fn turn_end(&self, turn: TurnSummary) -> RecordedOutcome<()> {
        self.dispatch::<TurnEnd>(turn).await
    }
}

/// Events of a call of a model.
impl Session {
    /// Asks `before-inference` about a request. Send `Allowed.value`, not your argument.
    pub async fn before_inference(&self, request: Inference) -> RecordedOutcome<Decision<Inference, String>> {
        self.dispatch::<BeforeInference>(request).await
    }

    /// Asks `stream-delta` about a piece of an answer. Pass whole lines (or 4 KiB), so that no secret is cut in
    /// two; [`Session::stream`] does so, and holds back what `finalize-content` may withhold.
    pub async fn stream_delta(&self, delta: String) -> RecordedOutcome<TransformOutcome<String>> {
        self.dispatch::<StreamDelta>(delta).await
    }

    /// Tells `stream-end`, with all of the answer's text.
    pub async fn stream_end(&self, text: String) -> RecordedOutcome<()> {
        self.dispatch::<StreamEnd>(text).await
    }

    /// Tells `after-inference`.
    pub async fn after_inference(&self, response: Response) -> RecordedOutcome<()> {
        self.dispatch::<AfterInference>(response).await
    }

    /// Asks `token-usage` if the task may call a model again.
    pub async fn token_usage(&self, usage: Usage) -> RecordedOutcome<Decision<Usage>> {
        self.dispatch::<TokenUsage>(usage).await
    }

    /// Asks `finalize-content` about the final text of a task.
    pub async fn finalize_content(&self, content: String) -> RecordedOutcome<TransformOutcome<String>> {
        self.dispatch::<FinalizeContent>(content).await
    }
}

/// Events of the summary of a conversation.
impl Session {
    /// Asks `before-compaction`. A response is a summary, and is handed to [`Self::after_compaction`] like the model's.
    pub async fn before_compaction(&self, compaction: Compaction) -> RecordedOutcome<Decision<Compaction, String>> {
        self.dispatch::<BeforeCompaction>(compaction).await
    }

    /// Asks `after-compaction` about a summary. One that is withheld must not take the place of anything.
    pub async fn after_compaction(&self, summary: String) -> RecordedOutcome<TransformOutcome<String>> {
        self.dispatch::<AfterCompaction>(summary).await
    }
}

/// Events of tool calls.
impl Session {
    /// Asks `before-tools` about the calls of one answer, once each is settled. It cannot change them.
    pub async fn before_tools(&self, calls: Vec<ToolCall>) -> RecordedOutcome<Decision<Vec<ToolCall>>> {
        self.dispatch::<BeforeTools>(calls).await
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

/// Events of sub-agents.
impl Session {
    /// Asks `subagent-start` in the session of the agent that starts one. Start `Allowed.value`, not your argument, and open its
    /// session with this one as the parent.
    pub async fn subagent_start(&self, subagent: Subagent) -> RecordedOutcome<Decision<Subagent>> {
        self.dispatch::<SubagentStart>(subagent).await
    }

    /// Tells `subagent-end` in the session of the agent that started it.
    pub async fn subagent_end(&self, subagent: SubagentSummary) -> RecordedOutcome<()> {
        self.dispatch::<SubagentEnd>(subagent).await
    }
}

/// Events of the embedding program.
impl Session {
    /// Asks `custom-event` about an event of the embedding program.
    pub async fn custom_event(&self, event: Custom) -> RecordedOutcome<Decision<Custom>> {
        self.dispatch::<CustomEvent>(event).await
    }
}
