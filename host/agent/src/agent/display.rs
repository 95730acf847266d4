//! Shows text as the engine's stream releases it, and finalises the text of a task.

use super::request::Completion;
use super::run::Run;
use super::state::{State, Step, TaskEnd};
use super::{AgentEvent, MAX_REVISIONS};
use crate::session_store::Generation;
use hookhost::contract::{Cause, EventKind, Rejection, TransformOutcome};
use hookhost::{Piece, TextStream};
use hookhost_models::message::{Author, Message, Thinking, Thoughts};
use std::time::Duration;

/// Time limit for plugins to check the last text of a run that ends.
pub(super) const LAST_TEXT_TIMEOUT: Duration = Duration::from_secs(2);

impl Run<'_> {
    /// Shows the pieces of text that the stream released, and reports the rejections of pieces.
    pub(super) fn show(&self, pieces: Vec<Piece>) {
        for Piece { text, rejection, .. } in pieces {
            if let Some(rejection) = rejection {
                self.report_refusal(EventKind::StreamDelta, &rejection);
                self.run_context.end_if_rejection_ends(&rejection);
            }
            if !text.is_empty() {
                self.report(&AgentEvent::Text { text });
            }
        }
    }

    /// Shows the model's reasoning, unless a plugin checks the text that is shown. No event carries reasoning, so the
    /// plugin could not check it.
    pub(super) fn show_reasoning(&self, thinking: &Thinking) {
        let judged = [EventKind::StreamDelta, EventKind::ResponseReceive, EventKind::FinalizeContent];
        if judged.into_iter().any(|event| self.agent.host.has_subscriber(event)) {
            return;
        }
        if let Some(text) = thinking.readable() {
            self.report(&AgentEvent::Reasoning { text });
        }
    }

    /// Finalises and stores an answer's text, and shows the part of the text that is not shown yet.
    pub(super) async fn finalize(&mut self, answer: Completion) -> Step {
        let generation = answer.generation();
        let Completion { stream, thoughts, .. } = answer;
        let (before, was_held) = (stream.text().to_owned(), stream.is_held());
        let Some(last) = self.unless_cancelled(stream.finish()).await else {
            return Ok(State::Ended(self.interrupted()));
        };
        let stop = match last.settled.outcome {
            TransformOutcome::Passed { .. } => {
                let by = &last.settled.record.changed_by;
                self.report_final_change(by, if was_held { "" } else { &before }, &last.text);
                None
            }
            TransformOutcome::Withheld(rejection) => {
                self.report_refusal(EventKind::FinalizeContent, &rejection);
                if self.may_try_again(&rejection) {
                    return self.revise(last.text, generation, &rejection);
                }
                // The status must show that the text is a note and not the model's answer, because a caller may read
                // only the status.
                Some(TaskEnd::rejected(rejection))
            }
        };
        // The thinking may contain text that a plugin has removed from the answer.
        let thoughts = if last.text == before { thoughts } else { Thoughts::default() };
        let message = Message::Assistant { text: last.text, tool_calls: Vec::new(), thoughts };
        self.open.conversation.push_answer(message, generation)?;
        self.show(last.pieces);
        self.text = last.shown;
        self.report(&AgentEvent::Answer { text: self.text.clone() });
        let stop = stop.or_else(|| self.run_context.take_stop());
        Ok(State::Ended(stop.unwrap_or_else(TaskEnd::success)))
    }

    /// Returns true if the task continues after a refusal of its turn or final text. It continues if a plugin's verdict
    /// allows a retry, nothing else ends the task, and the task has retries left.
    pub(super) fn may_try_again(&self, rejection: &Rejection) -> bool {
        let refusal = &rejection.refusal;
        rejection.cause == Cause::Verdict
            && refusal.retryable
            && !refusal.stop
            && !self.task.usage_refused
            && !self.run_context.is_to_stop()
            && self.task.revisions < MAX_REVISIONS
    }

    /// Tells the model why its final text was rejected, and begins another turn. The rejected text itself is not
    /// stored, because the note replaces it.
    fn revise(&mut self, note: String, generation: Option<Generation>, rejection: &Rejection) -> Step {
        self.task.revisions += 1;
        self.open.conversation.push_answer(Message::assistant(note, Vec::new()), generation)?;
        let text = format!(
            "[From a policy, not from the user.] Your answer was withheld, and the user has not seen it: {rejection}. \
             Answer again in a way that the policy accepts."
        );
        self.open.conversation.push(Message::User { text, author: Author::Policy })?;
        Ok(State::Assemble)
    }

    /// Tells the model why its turn was refused, and begins another turn.
    pub(super) fn continue_after(&mut self, rejection: &Rejection) -> Step {
        self.task.revisions += 1;
        let text = format!(
            "[From a policy, not from the user.] This turn was refused: {rejection}. Continue in a way that the policy accepts."
        );
        self.open.conversation.push(Message::User { text, author: Author::Policy })?;
        Ok(State::Assemble)
    }

    /// Shows the text that was held back in an answer with tool calls, after the plugins' changes. Returns the end of
    /// the task if a plugin ends the task. The conversation keeps the original text, because the calls and the thinking
    /// belong to that text.
    pub(super) async fn show_beside_calls(&self, stream: &mut TextStream) -> Option<TaskEnd> {
        if stream.text().is_empty() || !stream.is_held() {
            return None;
        }
        let held = std::mem::replace(stream, self.open.session.stream());
        let Some(last) = self.unless_cancelled(held.finish()).await else {
            return Some(self.interrupted());
        };
        let stop = match last.settled.outcome {
            TransformOutcome::Passed { .. } => {
                self.report_final_change(&last.settled.record.changed_by, "", &last.text);
                None
            }
            TransformOutcome::Withheld(rejection) => {
                self.report_refusal(EventKind::FinalizeContent, &rejection);
                rejection.ends.is_some().then(|| TaskEnd::rejected(rejection))
            }
        };
        self.show(last.pieces);
        stop.or_else(|| self.run_context.take_stop())
    }

    /// Reports a change of the final text. If the text was held back, `before` is empty, because a plugin may have
    /// changed the text in order to hide a part of it.
    fn report_final_change(&self, by: &[String], before: &str, after: &str) {
        self.report_change(EventKind::FinalizeContent, by, before, after);
    }
}
