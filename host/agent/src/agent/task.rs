//! Begins and ends the session's tasks.

use super::queue::QueuedTask;
use super::run::{Run, TaskProgress};
use super::state::{State, Step, TaskEnd};
use super::{AgentEvent, MAX_TASKS, Status};
use hookhost::contract::{
    Completion, Decision, EventKind, ModelChoice, ModelRef, PlanSummary, Progress, Resolution, Task, TransformOutcome,
};
use hookhost_models::message::{Author, Message, ToolUse};
use serde_json::json;

impl Run<'_> {
    /// Opens the session. The user's prompt is the first task; tasks of plugins follow it.
    pub(super) async fn start(&mut self, prompt: Option<String>) -> Step {
        let goes_on = prompt.is_none();
        // A sub-agent's prompt comes from its parent's model.
        let author = if self.agent.config.depth == 0 { Author::User } else { Author::Model };
        let prompt = prompt.into_iter().map(|prompt| Task { prompt, title: None });
        self.enqueue(prompt.collect(), author);
        if self.open.begun.settled {
            return Ok(State::NextTask);
        }
        let added = if std::mem::replace(&mut self.open.begun.started, true) {
            None
        } else {
            self.unless_cancelled(self.open.session.session_start()).await
        };
        if let Err(ended) = self.resolve().await {
            self.limits.halt(&ended);
            self.standing.get_or_insert(ended);
            return Ok(State::Finish);
        }
        self.open.begun.settled = true;
        self.report(&AgentEvent::SessionStarted {
            session: self.open.session.id().to_owned(),
            provider: self.open.own.provider.clone(),
            model: self.open.own.model.clone(),
            transcript: self.open.conversation.path(),
            messages: self.open.resumed_state.messages,
        });
        if let Some(text) = self.agent.models.notice(&self.open.own) {
            self.report(&AgentEvent::Notice { text });
        }
        self.report_context();
        self.report_resumed_state()?;
        if let Some(settled) = added {
            self.enqueue(settled.outcome, Author::Plugin);
        }
        Ok(if goes_on { State::Assemble } else { State::NextTask })
    }

    /// Chooses the session's model.
    async fn resolve(&mut self) -> Result<(), TaskEnd> {
        let choice = |ModelRef { provider, model, .. }: ModelRef| ModelChoice { provider, model };
        let chosen = choice(self.open.own.clone());
        let candidates = self.agent.models.refs().into_iter().map(choice).collect();
        let asked = Resolution { chosen: chosen.clone(), candidates };
        let Some(settled) = self.unless_cancelled(self.open.session.provider_resolve(asked)).await else {
            return Err(self.interrupted());
        };
        match settled.outcome {
            Decision::Allowed { value } | Decision::Responded { value, .. } => {
                let by = settled.record.changed_by;
                if !by.is_empty() {
                    let (before, after) = (json!(chosen), json!(value.chosen));
                    self.report(&AgentEvent::Changed { event: EventKind::ProviderResolve, by, before, after });
                }
                let ModelChoice { provider, model } = value.chosen;
                self.open.own = ModelRef::new(provider, model);
                Ok(())
            }
            Decision::Rejected(rejection) => {
                self.report_refusal(EventKind::ProviderResolve, &rejection);
                Err(TaskEnd::rejected(rejection))
            }
        }
    }

    pub(super) async fn next_task(&mut self) -> State {
        if self.cancel.is_cancelled() {
            let ended = self.interrupted();
            self.standing.get_or_insert(ended);
            return State::Finish;
        }
        let next = self.run_context.queue().next();
        if let Some(task) = next {
            return State::Submit(task);
        }
        if self.stopped {
            return State::Finish;
        }
        let progress = Progress {
            tasks: self.run_context.queue().tasks_ended(),
            turns: self.open.turns,
            input_tokens: self.open.usage.input_tokens,
            output_tokens: self.open.usage.output_tokens,
        };
        let Some(settled) = self.unless_cancelled(self.open.session.queue_empty(progress)).await else {
            return State::NextTask;
        };
        if self.enqueue(settled.outcome, Author::Plugin) == 0 { State::Finish } else { State::NextTask }
    }

    /// Adds tasks to the queue, up to the cap. Returns the number of added tasks.
    fn enqueue(&self, tasks: Vec<Task>, author: Author) -> usize {
        let count = tasks.len();
        let left_out = self.run_context.queue().add(tasks, author);
        if left_out > 0 {
            let text = format!("a run takes at most {MAX_TASKS} tasks that plugins add: {left_out} more were left out");
            self.report(&AgentEvent::Notice { text });
        }
        count - left_out
    }

    fn report_queue(&self) {
        let (ended, waiting) = {
            let queue = self.run_context.queue();
            (queue.tasks_ended(), queue.waiting())
        };
        self.report(&AgentEvent::Queue { ended, waiting });
    }

    /// Begins a task and submits its prompt. A withheld prompt reaches neither the model nor the transcript.
    pub(super) async fn submit(&mut self, QueuedTask { task, plan, author }: QueuedTask) -> Step {
        self.task = TaskProgress { plan, ..TaskProgress::default() };
        // Tasks that the model planned do not reset the count of refusals.
        if self.agent.config.depth == 0 && author != Author::Model {
            self.limits.begin_task();
        }
        self.report_queue();
        let Some(settled) = self.unless_cancelled(self.open.session.task_start(task.clone())).await else {
            return Ok(State::Ended(self.interrupted()));
        };
        let task = match settled.outcome {
            Decision::Allowed { value } | Decision::Responded { value, .. } => {
                let by = settled.record.changed_by;
                if !by.is_empty() {
                    let (before, after) = (json!(task), json!(value));
                    self.report(&AgentEvent::Changed { event: EventKind::TaskStart, by, before, after });
                }
                value
            }
            Decision::Rejected(rejection) => {
                self.report_refusal(EventKind::TaskStart, &rejection);
                return Ok(State::Ended(TaskEnd::rejected(rejection)));
            }
        };
        let Some(settled) = self.unless_cancelled(self.open.session.prompt_submit(task.prompt.clone())).await else {
            return Ok(State::Ended(self.interrupted()));
        };
        match settled.outcome {
            TransformOutcome::Passed { value } => {
                self.report_change(EventKind::PromptSubmit, &settled.record.changed_by, &task.prompt, &value);
                self.report(&AgentEvent::TaskStarted { prompt: value.clone(), title: task.title });
                self.open.conversation.push(Message::User { text: value, author })?;
                Ok(State::Assemble)
            }
            TransformOutcome::Withheld(rejection) => {
                self.report_refusal(EventKind::PromptSubmit, &rejection);
                Ok(State::Ended(TaskEnd::rejected(rejection)))
            }
        }
    }

    async fn plan_ended(&self, plan: PlanSummary) {
        let PlanSummary { title, tasks, completed } = plan.clone();
        self.report(&AgentEvent::PlanEnded { title, tasks, completed });
        let _ = self.open.session.plan_complete(plan).await;
    }

    /// Ends a task. It gives every open call a result, tells plugins the outcome, and queues the tasks that they add.
    pub(super) async fn ended(&mut self, ended: TaskEnd) -> Step {
        self.limits.halt(&ended);
        let reason = ended.reason.as_deref().unwrap_or("the task has ended");
        let text = match ended.status {
            Status::Cancelled | Status::MaxTime => format!("aborted: {reason}"),
            _ => format!("not run: {reason}"),
        };
        for ToolUse { id, name, .. } in self.open.conversation.close_calls(&text)? {
            self.report(&AgentEvent::ToolFinished { id, name, text: text.clone(), is_error: true });
        }
        self.end_turn().await;
        self.take_over_usage();
        let closed = self.run_context.queue().ended(self.task.plan, ended.status == Status::Success);
        self.report(&AgentEvent::TaskEnded {
            status: ended.status,
            reason: ended.reason.clone(),
            turns: self.task.turns,
        });
        let mut recovery = Vec::new();
        if matches!(ended.status, Status::Error | Status::MaxTurns | Status::MaxTokens | Status::MaxTime) {
            recovery = self.open.session.agent_error(reason.to_owned()).await.outcome;
        }
        let completion = Completion {
            status: ended.status.name().to_owned(),
            turns: self.task.turns,
            input_tokens: self.task.usage.input_tokens,
            output_tokens: self.task.usage.output_tokens,
        };
        let more = self.open.session.task_complete(completion).await.outcome;
        let mut goes_on = false;
        if let Some(plan) = closed {
            self.plan_ended(plan).await;
        }
        self.stopped |= ended.stop.is_some();
        if ended.stop.is_some() {
            let closed = self.run_context.queue().clear();
            for plan in closed {
                self.plan_ended(plan).await;
            }
        } else {
            goes_on = self.enqueue(recovery, Author::Plugin) > 0;
            self.enqueue(more, Author::Plugin);
        }
        // A plugin that answers a failure with tasks takes responsibility for it, unless the queue has no room for
        // them.
        if ended.status != Status::Success && !goes_on && self.standing.is_none() {
            self.standing = Some(ended);
        }
        Ok(State::NextTask)
    }
}
