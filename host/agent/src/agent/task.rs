//! How tasks begin and end.

use super::state::{Ended, Run, State, Step, TaskSoFar};
use super::{AgentEvent, Status};
use crate::message::{Message, ToolUse};
use hookhost::contract::{Completion, Task};
use hookhost::event::EventKind;
use hookhost::session::TransformOutcome;

impl Run<'_> {
    /// Opens the session. The user's prompt is the first task; what plugins add comes behind it.
    pub(super) async fn start(&mut self, prompt: Option<String>) -> Step {
        let own = self.agent.models.own();
        self.report(&AgentEvent::SessionStarted {
            session: self.session.id().to_owned(),
            provider: own.provider,
            model: own.model,
            transcript: self.conversation.path(),
            messages: self.past.messages,
        });
        if let Some(text) = self.agent.models.notice() {
            self.report(&AgentEvent::Notice { text });
        }
        self.tell_context();
        self.tell_past()?;
        let goes_on = prompt.is_none();
        self.enqueue(prompt.into_iter().map(|prompt| Task { prompt, title: None }).collect());
        if let Some(settled) = self.unless_cancelled(self.session.session_start()).await {
            self.enqueue(settled.outcome);
        }
        Ok(if goes_on { State::Assemble } else { State::NextTask })
    }

    pub(super) fn next_task(&mut self) -> State {
        if self.cancel.is_cancelled() {
            self.standing.get_or_insert_with(Ended::cancelled);
            return State::Finish;
        }
        match self.queue.pop_front() {
            Some(task) => {
                self.task = TaskSoFar::default();
                State::Submit(task)
            }
            None => State::Finish,
        }
    }

    /// Submits a task's prompt. What plugins withhold never reaches the model, nor the session's files.
    pub(super) async fn submit(&mut self, task: Task) -> Step {
        let Some(settled) = self.unless_cancelled(self.session.prompt_submit(task.prompt.clone())).await else {
            return Ok(State::Ended(Ended::cancelled()));
        };
        match settled.outcome {
            TransformOutcome::Passed { value } => {
                self.report_change(EventKind::PromptSubmit, &settled.record.changed_by, &task.prompt, &value);
                self.report(&AgentEvent::TaskStarted { prompt: value.clone(), title: task.title });
                self.conversation.push(Message::User { text: value })?;
                Ok(State::Assemble)
            }
            TransformOutcome::Withheld(rejection) => {
                self.report_refusal(EventKind::PromptSubmit, &rejection);
                Ok(State::Ended(Ended::rejected(rejection)))
            }
        }
    }

    /// Ends a task. Every call has a result then, plugins have heard how it went, and what they add is queued.
    pub(super) async fn ended(&mut self, ended: Ended) -> Step {
        let reason = ended.reason.as_deref().unwrap_or("the task has ended");
        let text = match ended.status {
            Status::Cancelled => format!("aborted: {reason}"),
            _ => format!("not run: {reason}"),
        };
        for ToolUse { id, name, .. } in self.conversation.close_calls(&text)? {
            self.report(&AgentEvent::ToolFinished { id, name, text: text.clone(), is_error: true });
        }
        self.report(&AgentEvent::TaskEnded {
            status: ended.status,
            reason: ended.reason.clone(),
            turns: self.task.turns,
        });
        let mut recovery = Vec::new();
        if matches!(ended.status, Status::Error | Status::MaxTurns) {
            recovery = self.session.agent_error(reason.to_owned()).await.outcome;
        }
        let completion = Completion {
            status: ended.status.name().to_owned(),
            turns: self.task.turns,
            input_tokens: self.task.usage.input_tokens,
            output_tokens: self.task.usage.output_tokens,
        };
        let more = self.session.task_complete(completion).await.outcome;
        let goes_on = !ended.stop && !recovery.is_empty();
        if ended.stop {
            self.queue.clear();
        } else {
            self.enqueue(recovery);
            self.enqueue(more);
        }
        // A plugin that answers a failure with tasks has taken it in hand.
        if ended.status != Status::Success && !goes_on && self.standing.is_none() {
            self.standing = Some(ended);
        }
        Ok(State::NextTask)
    }
}
