//! Shows text as the engine's stream releases it, and makes the final text of a task.

use super::request::Completion;
use super::state::{Ended, Run, State, Step};
use super::{AgentEvent, MAX_REVISIONS};
use crate::message::{Author, Message, Thinking, Thoughts};
use crate::session_store::Generation;
use hookhost::contract::{Cause, EventKind, Rejection, TransformOutcome};
use hookhost::{Piece, TextStream};
use std::time::Duration;

/// How long a run that ends waits for plugins to look at its last text.
pub(super) const GRACE: Duration = Duration::from_secs(2);

impl Run<'_> {
    /// Shows what may be shown.
    pub(super) fn show(&self, pieces: Vec<Piece>) {
        for Piece { text, rejection, .. } in pieces {
            if let Some(rejection) = rejection {
                self.report_refusal(EventKind::StreamDelta, &rejection);
                self.run_context.refused(&rejection);
            }
            if !text.is_empty() {
                self.report(&AgentEvent::Text { text });
            }
        }
    }

    /// Shows what the model thought, unless a plugin judges the text that is shown: no event carries thinking, so the plugin would
    /// not have seen it.
    pub(super) fn show_reasoning(&self, thinking: &Thinking) {
        let judged = [EventKind::StreamDelta, EventKind::ResponseReceive, EventKind::FinalizeContent];
        if judged.into_iter().any(|event| self.agent.host.has_subscriber(event)) {
            return;
        }
        if let Some(text) = thinking.readable() {
            self.report(&AgentEvent::Reasoning { text });
        }
    }

    /// Makes an answer's text final, stores it, and shows what has not been shown yet.
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
                // Who reads the status alone is not to take the note for an answer.
                Some(Ended::rejected(rejection))
            }
        };
        // Thinking may hold what a plugin has taken out of the text.
        let thoughts = if last.text == before { thoughts } else { Thoughts::default() };
        let message = Message::Assistant { text: last.text, tool_calls: Vec::new(), thoughts };
        self.conversation.push_answer(message, generation)?;
        self.show(last.pieces);
        self.text = last.shown;
        self.report(&AgentEvent::Answer { text: self.text.clone() });
        let stop = stop.or_else(|| self.run_context.take_stop());
        Ok(State::Ended(stop.unwrap_or_else(Ended::success)))
    }

    /// Whether the task continues after a refusal of its turn or its final text: the refusal is retryable, and that has not
    /// happened too often.
    pub(super) fn may_try_again(&self, rejection: &Rejection) -> bool {
        let refusal = &rejection.refusal;
        rejection.cause == Cause::Verdict
            && refusal.retryable
            && !refusal.stop
            && !self.task.usage_refused
            && !self.run_context.is_to_stop()
            && self.task.revisions < MAX_REVISIONS
    }

    /// Tells the model why its final text was rejected, for another turn. The text itself is kept nowhere: the note takes
    /// its place.
    fn revise(&mut self, note: String, generation: Option<Generation>, rejection: &Rejection) -> Step {
        self.task.revisions += 1;
        self.conversation.push_answer(Message::assistant(note, Vec::new()), generation)?;
        let text = format!(
            "[From a policy, not from the user.] Your answer was withheld, and the user has not seen it: {rejection}. \
             Answer again in a way that the policy accepts."
        );
        self.conversation.push(Message::User { text, author: Author::Policy })?;
        Ok(State::Assemble)
    }

    /// Tells the model why its turn was refused, for another turn.
    pub(super) fn continue_after(&mut self, rejection: &Rejection) -> Step {
        self.task.revisions += 1;
        let text = format!(
            "[From a policy, not from the user.] This turn was refused: {rejection}. Continue in a way that the policy accepts."
        );
        self.conversation.push(Message::User { text, author: Author::Policy })?;
        Ok(State::Assemble)
    }

    /// Shows the text beside tool calls that waited for the end of its answer, as plugins leave it;
    /// how the task ends, where that is the end of it. The conversation keeps the model's own
    /// words, which its calls and its thinking belong to.
    pub(super) async fn show_beside_calls(&self, stream: &mut TextStream) -> Option<Ended> {
        if stream.text().is_empty() || !stream.is_held() {
            return None;
        }
        let held = std::mem::replace(stream, self.session.stream());
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
                rejection.ends.is_some().then(|| Ended::rejected(rejection))
            }
        };
        self.show(last.pieces);
        stop.or_else(|| self.run_context.take_stop())
    }

    /// Reports a change. `before` is empty if the text was held back: a plugin may have changed it to hide it.
    fn report_final_change(&self, by: &[String], before: &str, after: &str) {
        self.report_change(EventKind::FinalizeContent, by, before, after);
    }
}
