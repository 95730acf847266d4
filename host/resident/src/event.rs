//! Dispatches one event to the engine, and returns the outcome for the agent.

use crate::call_key::{APPROVED_OUTCOME_LIFETIME, OUTCOME_LIFETIME};
use crate::deadlines::{WaitCallback, time_until, whole_seconds};
use crate::outcome_cache::CachedOutcome;
use crate::sessions::{MAX_CONTINUATIONS, SessionHandle};
use hookhost::audit::{DeliveryKind, EventRecord};
use hookhost::contract::{
    Compaction, Completion, Custom, Decision, Json, Progress, Response, ResultSource, Subagent, SubagentSummary, Task,
    ToolCall, ToolOutcome, ToolResult, TransformOutcome, Usage,
};
use hookhost::event_types::{
    AfterCompaction, AfterInference, AfterToolCall, AgentError, BeforeCompaction, BeforeInference, CustomEvent,
    FinalizeContent, PromptSubmit, QueueEmpty, SessionEnd, SubagentEnd, SubagentStart, TaskComplete,
};
use hookhost::facts::{AgentContext, AgentProcess};
use hookhost::session::DispatchOptions;
use hookhost::{EventType, OpenOutcome, PendingApproval, RecordedOutcome};
use hookhost_agents::{Abilities, Adapter, AgentSession, Answer, HookCall, HookEvent, Outcome, ToolUse, reason};
use serde::Serialize;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The status of each task or sub-agent that has ended, because agents do not report the actual status.
const SUCCESS: &str = "success";

/// An agent's event, with its session.
pub(crate) struct SessionEvent<'a> {
    pub(crate) adapter: &'static Adapter,
    pub(crate) call: &'a HookCall,
    /// The process that waits for the answer.
    pub(crate) process: &'a Arc<dyn AgentProcess>,
    pub(crate) abilities: Abilities,
    pub(crate) handle: &'a SessionHandle,
    /// Notes for the user about the rules.
    pub(crate) notes: &'a [String],
    /// Says that a passkey was registered lately. Present only when a session starts.
    pub(crate) passkey_note: Option<String>,
    pub(crate) rules_digest: &'a str,
    /// The deadline for decisions of people and plugins.
    pub(crate) deadline: Instant,
    /// Time that the plugins can take if they decide again after a person's answer.
    pub(crate) plugin_time: Duration,
    /// True if a person has approved the event.
    pub(crate) is_approved: AtomicBool,
    /// The code with which the user can let the rejected call pass once.
    pub(crate) code: OnceLock<String>,
}

/// An answer to the agent, and the identifier of the event's record if the event was recorded.
type RecordedAnswer = (Answer, Option<String>);

impl SessionEvent<'_> {
    /// Dispatches `session-start` before the first event of a session, if the agent has not reported the start.
    pub(crate) async fn start_session(&self) {
        let is_start = matches!(self.call.event, HookEvent::SessionStart { is_resumed: false });
        if self.handle.started.initialized() || is_start && self.handle.session.is_new() {
            return;
        }
        let start = async || {
            if let Some((tasks, _)) = self.begin_session().await {
                self.handle.defer_tasks(tasks);
            }
        };
        self.handle.started.get_or_init(start).await;
    }

    /// Dispatches `session-start`, and returns the tasks of plugins and the identifier of the event. Returns `None` if
    /// `session-start` was already dispatched.
    async fn begin_session(&self) -> Option<(Vec<Task>, String)> {
        let session = &self.handle.session;
        if !session.is_new() {
            return None;
        }
        let settled = session.session_start().await;
        Some((settled.outcome, settled.record.id))
    }

    /// Returns the outcome for the agent. `on_wait` is called before a long wait, such as for a person.
    pub(crate) async fn outcome(&self, on_wait: WaitCallback<'_>) -> Result<CachedOutcome, String> {
        let (answer, event) = self.answer(on_wait).await?;
        self.compare_arguments(event.as_deref());
        let mut outcome = Outcome::new(answer).under(self.rules_digest);
        if self.abilities.adds_context {
            for reminder in self.handle.session.reminders() {
                let text = format!("{} says: {}", reminder.plugin, reminder.body);
                if self.handle.is_first_mention(&text) {
                    outcome = outcome.context(text);
                }
            }
        }
        if self.abilities.tells_user {
            // The model must not see the code, so it is not part of the reason.
            if let Some(code) = self.code.get() {
                outcome = outcome.notice(reason::allow_once(code));
            }
            let notices = self.handle.session.take_notices().into_iter().map(|notice| notice.text);
            let notices = notices.chain(self.handle.take_deferred_notices());
            for text in self.notes.iter().chain(&self.passkey_note).cloned().chain(notices) {
                if self.handle.is_first_mention(&text) {
                    outcome = outcome.notice(text);
                }
            }
        }
        let lifetime =
            if self.is_approved.load(Ordering::Relaxed) { APPROVED_OUTCOME_LIFETIME } else { OUTCOME_LIFETIME };
        Ok(CachedOutcome { outcome, event, lifetime })
    }

    async fn answer(&self, on_wait: WaitCallback<'_>) -> Result<RecordedAnswer, String> {
        match &self.call.event {
            HookEvent::SessionStart { is_resumed } => self.session_start(*is_resumed, on_wait).await,
            HookEvent::SessionEnd => Ok(self.observe::<SessionEnd>(Usage::default()).await),
            HookEvent::PromptSubmit { prompt } => {
                self.handle.note_prompt();
                Ok(self.transform_text::<PromptSubmit>(prompt).await)
            }
            HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool) => self.tool_call(tool, on_wait).await,
            HookEvent::AfterToolCall { call, result } => {
                let payload = self.tool_outcome(call, result, ResultSource::Tool);
                let RecordedOutcome { outcome, record, .. } = self.begin::<AfterToolCall>(payload).await;
                let answer = match outcome {
                    TransformOutcome::Passed { .. } if !record.is_changed() => Answer::Neutral,
                    TransformOutcome::Passed { value } => Answer::ReplacedResult(value),
                    TransformOutcome::Withheld(rejection) => Answer::Rejected(rejection),
                };
                Ok((answer, Some(record.id)))
            }
            HookEvent::SubagentStart { id, prompt } => {
                let depth = 1 + u32::from(self.call.session.subagent.is_some());
                let subagent = Subagent { call_id: id.clone(), depth, prompt: prompt.clone() };
                let open = self.begin::<SubagentStart>(subagent).await;
                let replaced = |value: &Subagent| (value.prompt != *prompt).then(|| value.prompt.clone());
                self.gate(open, replaced, |never| match never {}, on_wait).await
            }
            HookEvent::SubagentEnd { id, text, .. } => {
                let (session, call_id, status, text) = (id.clone(), id.clone(), SUCCESS.to_owned(), text.clone());
                let (turns, input_tokens, output_tokens) = Default::default();
                let summary = SubagentSummary { session, call_id, status, text, turns, input_tokens, output_tokens };
                Ok(self.observe::<SubagentEnd>(summary).await)
            }
            HookEvent::BeforeInference(request) => {
                let open = self.begin::<BeforeInference>(request.clone()).await;
                self.gate(open, |_| None, Answer::Replaced, on_wait).await
            }
            HookEvent::AfterInference { text } => {
                let response = Response { text: text.clone(), tool_calls: Vec::new(), stop_reason: String::new() };
                Ok(self.observe::<AfterInference>(response).await)
            }
            HookEvent::BeforeCompaction => {
                // Agents do not report these sizes.
                let compaction = Compaction { messages: 0, input_tokens: 0, context_window: 0 };
                let open = self.begin::<BeforeCompaction>(compaction).await;
                self.gate(open, |_| None, Answer::Replaced, on_wait).await
            }
            HookEvent::AfterCompaction { summary } => Ok(self.transform_text::<AfterCompaction>(summary).await),
            HookEvent::FinalText { text } => Ok(self.transform_text::<FinalizeContent>(text).await),
            HookEvent::Stop { .. } => {
                // Agents report that they stop, but not these counts.
                let completion = Completion { status: SUCCESS.to_owned(), turns: 0, input_tokens: 0, output_tokens: 0 };
                let progress = Progress { tasks: 0, turns: 0, input_tokens: 0, output_tokens: 0 };
                let completed = self.begin::<TaskComplete>(completion).await;
                let mut tasks = completed.outcome;
                tasks.extend(self.begin::<QueueEmpty>(progress).await.outcome);
                Ok((self.limit_continuations(self.continue_with(tasks)), Some(completed.record.id)))
            }
            HookEvent::AgentError { message } => {
                let settled = self.begin::<AgentError>(message.clone()).await;
                let answer = self.limit_continuations(self.continue_with(settled.outcome));
                Ok((answer, Some(settled.record.id)))
            }
            HookEvent::Custom { payload } => self.custom(payload.into(), on_wait).await,
        }
    }

    async fn session_start(&self, is_resumed: bool, on_wait: WaitCallback<'_>) -> Result<RecordedAnswer, String> {
        let mut begun = None;
        if !is_resumed {
            // If several reports arrive, one of them begins the session, and the others wait until the session has begun.
            self.handle.started.get_or_init(|| async { begun = self.begin_session().await }).await;
        }
        let Some((tasks, event)) = begun else {
            let (_, event) = self.custom(self.call.raw.clone(), on_wait).await?;
            return Ok((Answer::Neutral, event));
        };
        Ok((self.continue_with(tasks), Some(event)))
    }

    /// Dispatches an event, but does not wait for a person.
    async fn begin<E: EventType>(&self, payload: E::Payload) -> RecordedOutcome<E::Outcome> {
        let mut options = DispatchOptions::default();
        (options.raw, options.agent) = (Some(self.call.raw.clone()), self.agent());
        self.handle.session.begin::<E>(payload, options).await
    }

    /// Returns the facts about the agent that are known only here.
    fn agent(&self) -> AgentContext {
        let AgentSession { mode, version, .. } = &self.call.session;
        let mut agent = AgentContext::default();
        (agent.mode, agent.version, agent.process) = (*mode, version.clone(), Some(Arc::clone(self.process)));
        agent.tool = self.call.event.tool().map(|call| call.hints).unwrap_or_default();
        agent
    }

    async fn observe<E: EventType<Outcome = ()>>(&self, payload: E::Payload) -> RecordedAnswer {
        let settled = self.begin::<E>(payload).await;
        (Answer::Neutral, Some(settled.record.id))
    }

    async fn transform_text<E>(&self, text: &str) -> RecordedAnswer
    where
        E: EventType<Payload = String, Outcome = TransformOutcome<String>>,
    {
        let settled = self.begin::<E>(text.to_owned()).await;
        let answer = match settled.outcome {
            TransformOutcome::Passed { value } if value == text => Answer::Neutral,
            TransformOutcome::Passed { value } => Answer::Replaced(value),
            TransformOutcome::Withheld(rejection) => Answer::Rejected(rejection),
        };
        (answer, Some(settled.record.id))
    }

    /// Dispatches the custom event of this hook point.
    async fn custom(&self, payload: Json, on_wait: WaitCallback<'_>) -> Result<RecordedAnswer, String> {
        let custom = Custom { name: format!("{}/{}", self.adapter.agent().name, self.call.point), payload };
        let settled = self.decided(self.begin::<CustomEvent>(custom).await, on_wait).await;
        let answer = match settled.outcome {
            Decision::Rejected(rejection) => Answer::Rejected(rejection),
            _ => Answer::Neutral,
        };
        Ok((answer, Some(settled.record.id)))
    }

    /// Returns the answer to an event that plugins can reject or change. If a plugin changed the value of the event and
    /// `replaced_text` returns a text, the agent gets this text. `responded` converts the response of a plugin to the answer.
    async fn gate<V: Serialize + 'static, R: 'static>(
        &self,
        open: OpenOutcome<V, R>,
        replaced_text: impl Fn(&V) -> Option<String>,
        responded: impl Fn(R) -> Answer,
        on_wait: WaitCallback<'_>,
    ) -> Result<RecordedAnswer, String> {
        let RecordedOutcome { outcome, record, .. } = self.decided(open, on_wait).await;
        let is_changed = record.is_changed();
        let EventRecord { id, changed_by, .. } = *record;
        let answer = match outcome {
            Decision::Allowed { .. } if !is_changed => Answer::Neutral,
            Decision::Allowed { value } => match replaced_text(&value) {
                Some(text) => Answer::Replaced(text),
                None => {
                    let arguments = serde_json::to_value(&value).map_err(|error| {
                        format!("the changed value of {} is no JSON: {error}", self.call.event.kind())
                    })?;
                    Answer::Changed { arguments, by: changed_by }
                }
            },
            Decision::Responded { response, .. } => responded(response),
            Decision::Rejected(rejection) => Answer::Rejected(rejection),
        };
        Ok((answer, Some(id)))
    }

    /// Waits until the approval queue has decided an escalated event.
    async fn decided<V: 'static, R: 'static>(
        &self,
        open: OpenOutcome<V, R>,
        on_wait: WaitCallback<'_>,
    ) -> RecordedOutcome<Decision<V, R>> {
        match open.into_final() {
            Ok(settled) => self.noted(settled),
            Err(pending) => self.waited(pending, on_wait).await,
        }
    }

    /// Waits until the approval queue has answered the questions about an event. Each question expires at the deadline of the event.
    async fn waited<V: 'static, R: 'static>(
        &self,
        mut pending: PendingApproval<V, R>,
        on_wait: WaitCallback<'_>,
    ) -> RecordedOutcome<Decision<V, R>> {
        loop {
            // All questions about an event share its deadline, so a second question gets only the time that is left.
            let left = time_until(self.deadline);
            let limit = pending.request().deadline.min(left);
            on_wait(whole_seconds((limit + self.plugin_time).min(left)));
            match pending.wait_at_most(limit).await.into_final() {
                Ok(settled) => return self.noted(settled),
                Err(next) => pending = next,
            }
        }
    }

    /// Notes whether a person has approved the event.
    fn noted<V, R>(&self, settled: RecordedOutcome<Decision<V, R>>) -> RecordedOutcome<Decision<V, R>> {
        let is_approved = settled.answer.as_ref().is_some_and(|answer| answer.answer.is_approved());
        self.is_approved.fetch_or(is_approved || !settled.earlier.is_empty(), Ordering::Relaxed);
        settled
    }

    async fn tool_call(&self, tool: &ToolUse, on_wait: WaitCallback<'_>) -> Result<RecordedAnswer, String> {
        let ToolUse { id, name, arguments, origin, .. } = tool;
        let session = &self.handle.session;
        let call = session.tool_call(id.as_deref().unwrap_or_default(), name, arguments, origin.clone());
        let open = session.begin_before_tool_call(call.raw(self.call.raw.clone()).agent(self.agent())).await;
        let settled = match self.abilities.asks {
            true => match open.into_final() {
                Ok(settled) => settled,
                // The agent does not ask for a passkey, so the question waits here.
                Err(pending) if pending.needs_passkey().await => self.waited(pending, on_wait).await,
                Err(pending) => return self.hand_over(tool, pending).await,
            },
            false => self.decided(open, on_wait).await,
        };
        let RecordedOutcome { outcome, record, code, .. } = settled;
        let is_changed = record.is_changed();
        let EventRecord { id: event, enforcement, changed_by, approved_by, questions, kept, .. } = *record;
        self.is_approved.fetch_or(!kept.is_empty(), Ordering::Relaxed);
        if let Some(code) = code {
            let _ = self.code.set(code);
        }
        let answer = match outcome {
            Decision::Allowed { .. } if !is_changed => {
                self.remember(tool, arguments);
                match (approved_by, &self.call.event) {
                    // Nobody was asked, so the agent must ask its user as if there were no hook.
                    _ if !enforcement.is_enforced() => Answer::Neutral,
                    (Some(by), _) => Answer::Approved { by },
                    // A person has just agreed to this call, so the agent need not ask its user.
                    (None, HookEvent::PermissionRequest(_)) if !(questions.is_empty() && kept.is_empty()) => {
                        Answer::Approved { by: "a person".to_owned() }
                    }
                    _ => Answer::Neutral,
                }
            }
            Decision::Allowed { value } => {
                let arguments =
                    value.arguments.read().map_err(|error| format!("its arguments cannot be read: {error}"))?;
                self.remember(tool, &arguments);
                Answer::Changed { arguments, by: changed_by }
            }
            Decision::Responded { response, by, .. } => self.response(tool, &response, by).await,
            Decision::Rejected(rejection) => Answer::Rejected(rejection),
        };
        Ok((answer, Some(event)))
    }

    /// Hands the question about a call over to the agent, which asks its user.
    async fn hand_over(
        &self,
        tool: &ToolUse,
        pending: PendingApproval<ToolCall, ToolResult>,
    ) -> Result<RecordedAnswer, String> {
        let request = pending.request().clone();
        let recorded = pending.hand_over(self.adapter.agent().name).await;
        recorded.map_err(|error| format!("its question could not be handed over: {error}"))?;
        let mut arguments = tool.arguments.clone();
        let mut changed = None;
        if !request.changed_by.is_empty() {
            let value: Value = serde_json::from_str(request.value.get()).unwrap_or_default();
            arguments = value.get("arguments").cloned().unwrap_or_default();
            changed = Some(arguments.clone());
        }
        self.remember(tool, &arguments);
        Ok((Answer::Ask { questions: request.questions, arguments: changed }, Some(request.id)))
    }

    /// Dispatches `after-tool-call` for a result that a plugin gave, in the same way as for the result of a tool.
    async fn response(&self, tool: &ToolUse, result: &ToolResult, by: String) -> Answer {
        let payload = self.tool_outcome(tool, result, ResultSource::Plugin);
        match self.begin::<AfterToolCall>(payload).await.outcome {
            TransformOutcome::Passed { value } => Answer::Responded { result: value, by },
            TransformOutcome::Withheld(rejection) => Answer::Rejected(rejection),
        }
    }

    fn tool_outcome(&self, tool: &ToolUse, result: &ToolResult, source: ResultSource) -> ToolOutcome {
        let ToolUse { id, name, arguments, origin, .. } = tool;
        let call = self.handle.session.tool_call(id.as_deref().unwrap_or_default(), name, arguments, origin.clone());
        ToolOutcome { call: call.into_call(), tool_result: result.clone(), source }
    }

    fn remember(&self, tool: &ToolUse, arguments: &Value) {
        if let Some(id) = &tool.id {
            self.handle.remember_arguments(id, arguments);
        }
    }

    /// If a call has run with arguments other than the allowed arguments, records this and stores a notice for the user.
    fn compare_arguments(&self, event: Option<&str>) {
        let HookEvent::AfterToolCall { call, .. } = &self.call.event else { return };
        if !call.id.as_deref().is_some_and(|id| self.handle.has_other_arguments(id, &call.arguments)) {
            return;
        }
        let note = format!(
            "the agent ran {} with other arguments than those that were allowed: another hook of the agent may have changed \
             them, or it did not take the change of a plugin",
            call.name
        );
        self.handle.session.note_delivery(event, &self.call.point, DeliveryKind::ChangeNotApplied, &note);
        self.handle.defer_notice(note);
    }

    /// Returns an answer with these tasks and the deferred tasks. If the agent accepts no tasks at this hook point, defers all of
    /// them.
    fn continue_with(&self, tasks: Vec<Task>) -> Answer {
        if !self.abilities.goes_on {
            self.handle.defer_tasks(tasks);
            return Answer::Neutral;
        }
        let mut all = self.handle.take_deferred_tasks();
        all.extend(tasks);
        if all.is_empty() { Answer::Neutral } else { Answer::GoOn(all) }
    }

    /// Lets the agent stop if plugins have made it continue too many times in a row.
    fn limit_continuations(&self, answer: Answer) -> Answer {
        if matches!(answer, Answer::GoOn(_)) && !self.handle.may_continue() {
            let note = format!("plugins made the agent continue {MAX_CONTINUATIONS} times in a row: it may stop now");
            self.handle.session.note_delivery(None, &self.call.point, DeliveryKind::Degraded, &note);
            return Answer::Neutral;
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary_rules;
    use crate::sessions::SessionTable;
    use hookhost::audit::{MemoryLog, Record};
    use hookhost::facts::{AgentProcess, OwnProcess};
    use hookhost::{Config, Host};
    use hookhost_agents::{AgentSession, by_name};
    use serde_json::json;

    #[tokio::test]
    async fn each_hook_event_is_settled_as_the_event_of_its_kind() {
        let call = || ToolUse::new(None, "Bash", json!({ "command": "ls" }));
        let text = || "text".to_owned();
        let events = [
            HookEvent::SessionStart { is_resumed: false },
            HookEvent::PromptSubmit { prompt: text() },
            HookEvent::BeforeToolCall(call()),
            HookEvent::PermissionRequest(call()),
            HookEvent::AfterToolCall { call: call(), result: ToolResult::text("x") },
            HookEvent::SubagentStart { id: text(), prompt: text() },
            HookEvent::SubagentEnd { id: text(), text: text(), is_continued: false },
            HookEvent::BeforeInference(
                serde_json::from_value(json!({
                    "provider": "", "model": "m", "system-prompt": "", "prompt": "p", "tools": [], "input-tokens": 0,
                    "used": { "session-input-tokens": 0, "session-output-tokens": 0, "run-input-tokens": 0,
                        "run-output-tokens": 0, "run-requests": 0 },
                }))
                .unwrap(),
            ),
            HookEvent::AfterInference { text: text() },
            HookEvent::BeforeCompaction,
            HookEvent::AfterCompaction { summary: text() },
            HookEvent::FinalText { text: text() },
            HookEvent::Stop { text: None, is_continued: false },
            HookEvent::AgentError { message: text() },
            HookEvent::Custom { payload: json!({ "a": 1 }) },
            HookEvent::SessionEnd,
        ];
        let log = MemoryLog::new();
        let host = Host::builder(Config::empty()).audit(log.clone()).build().await.unwrap();
        let rules = canary_rules::load(&host).await.unwrap();
        let adapter = by_name("codex").unwrap();
        let process: Arc<dyn AgentProcess> = Arc::new(OwnProcess);
        for event in events {
            let (kind, named) = (event.kind(), AgentSession::new(Some(format!("{event:?}")), "/work".into()));
            let handle = SessionTable::default().handle(&host, "codex", &named, &rules).unwrap();
            let call = HookCall::new("Point", named, event);
            let event = SessionEvent {
                adapter,
                call: &call,
                process: &process,
                abilities: adapter.abilities(&call),
                handle: &handle,
                notes: &[],
                passkey_note: None,
                rules_digest: "",
                deadline: Instant::now() + Duration::from_secs(60),
                plugin_time: Duration::ZERO,
                is_approved: AtomicBool::new(false),
                code: OnceLock::new(),
            };
            let settled = event.outcome(&|_| {}).await.unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert!(settled.event.is_some(), "{kind}");
            host.drain(Duration::from_secs(5)).await.unwrap();
            let recorded = log.records().into_iter().any(|record| match record {
                Record::Event(event) => event.event == kind && event.header.session == handle.session.id(),
                _ => false,
            });
            assert!(recorded, "{kind}: {:?}", log.records());
        }
    }
}
