//! Begins and ends the session's tasks.

use super::queue::QueuedTask;
use super::run::{Run, TaskProgress};
use super::state::{State, Step, TaskEnd};
use super::{AgentEvent, MAX_TASKS, Status};
use hookhost::contract::{Completion, EventKind, ModelChoice, ModelRef, PlanSummary, Progress, Resolution, Task};
use hookhost_models::message::{Author, Message, ToolUse};

impl Run<'_> {
    /// Opens the session. The user's prompt is the first task, and tasks of plugins follow it.
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
        let resolving = self.open.session.provider_resolve(asked);
        let (Resolution { chosen: now, .. }, _, by) = self.gated(EventKind::ProviderResolve, resolving).await?;
        self.report_change(EventKind::ProviderResolve, &by, &chosen, &now);
        self.open.own = ModelRef::new(now.provider, now.model);
        Ok(())
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

    /// Adds tasks to the queue, up to the maximum of the queue. Returns the number of added tasks.
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
        let (now, _, by) = match self.gated(EventKind::TaskStart, self.open.session.task_start(task.clone())).await {
            Ok(started) => started,
            Err(ended) => return Ok(State::Ended(ended)),
        };
        self.report_change(EventKind::TaskStart, &by, &task, &now);
        let Task { prompt, title } = now;
        match self.passed(EventKind::PromptSubmit, self.open.session.prompt_submit(prompt.clone())).await {
            Ok((text, by)) => {
                self.report_change(EventKind::PromptSubmit, &by, &prompt, &text);
                self.report(&AgentEvent::TaskStarted { prompt: text.clone(), title });
                self.open.conversation.push(Message::User { text, author })?;
                Ok(State::Assemble)
            }
            Err(ended) => Ok(State::Ended(ended)),
        }
    }

    async fn plan_ended(&self, plan: PlanSummary) {
        let PlanSummary { title, tasks, completed } = plan.clone();
        self.report(&AgentEvent::PlanEnded { title, tasks, completed });
        let _ = self.open.session.plan_complete(plan).await;
    }

    /// Ends a task. This gives every open call a result, reports the outcome to the plugins, and queues the tasks that the plugins add.
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
        // A failure is ignored if a plugin answers it with tasks, and the queue has room for at least one of these tasks.
        if ended.status != Status::Success && !goes_on && self.standing.is_none() {
            self.standing = Some(ended);
        }
        Ok(State::NextTask)
    }
}
