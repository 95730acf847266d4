//! Shows text: each piece passes `stream-delta`. A text that waits until it is final passes `finalize-content` first.

use super::line_buffer::LineBuffer;
use super::request::Completion;
use super::state::{Ended, Run, State, Step};
use super::{AgentEvent, MAX_REVISIONS};
use crate::message::{Author, Message, Thoughts};
use hookhost::contract::{Cause, EventKind, Rejection, TransformOutcome};
use std::time::Duration;

/// How long a run that ends waits for plugins to look at its last text.
pub(super) const GRACE: Duration = Duration::from_secs(2);

impl Run<'_> {
    /// Whether text waits until it is final.
    pub(super) fn holds_text(&self) -> bool {
        !self.agent.config.stream_unfinalised && self.agent.host.has_subscriber(EventKind::FinalizeContent)
    }

    /// Shows a text, line by line. Returns the text as it was shown.
    pub(super) async fn show(&self, text: &str) -> String {
        let mut lines = LineBuffer::default();
        let mut shown = String::new();
        for piece in lines.push(text).into_iter().chain(lines.finish()).collect::<Vec<_>>() {
            shown.push_str(&self.show_piece(piece).await);
        }
        shown
    }

    /// Shows a line, as plugins leave it. Returns the text as it was shown.
    pub(super) async fn show_piece(&self, piece: String) -> String {
        let newline = if piece.ends_with('\n') { "\n" } else { "" };
        let settled = self.session.stream_delta(piece).await;
        let text = match settled.outcome {
            TransformOutcome::Passed { value } => value,
            TransformOutcome::Withheld(rejection) => {
                self.report_refusal(EventKind::StreamDelta, &rejection);
                self.run_context.refused(&rejection);
                withheld(&rejection) + newline
            }
        };
        if !text.is_empty() {
            self.report(&AgentEvent::Text { text: text.clone() });
        }
        text
    }

    /// Makes an answer's text final, stores it, and shows what has not been shown yet.
    pub(super) async fn finalize(&mut self, answer: Completion) -> Step {
        let Some(settled) = self.unless_cancelled(self.session.finalize_content(answer.text.clone())).await else {
            return Ok(State::Ended(self.interrupted()));
        };
        let (text, stop) = match settled.outcome {
            TransformOutcome::Passed { value } => {
                self.report_final_change(&settled.record.changed_by, &answer.text, &value);
                (value, None)
            }
            TransformOutcome::Withheld(rejection) => {
                self.report_refusal(EventKind::FinalizeContent, &rejection);
                if self.is_to_be_revised(&rejection) {
                    return self.revise(&answer, &rejection);
                }
                (withheld(&rejection), rejection.ends.is_some().then(|| Ended::rejected(rejection)))
            }
        };
        // Thinking may hold what a plugin has taken out of the text.
        let thoughts = if text == answer.text { answer.thoughts.clone() } else { Thoughts::default() };
        let message = Message::Assistant { text: text.clone(), tool_calls: Vec::new(), thoughts };
        self.conversation.push_answer(message, answer.generation())?;
        let as_streamed = text == answer.text && !self.holds_text();
        self.text = if as_streamed { answer.shown } else { self.show(&text).await };
        self.report(&AgentEvent::Answer { text: self.text.clone() });
        let stop = stop.or_else(|| self.run_context.take_stop());
        Ok(State::Ended(stop.unwrap_or_else(Ended::success)))
    }

    /// Whether the model rewrites its final text: the refusal is retryable, and it has not done so too often.
    fn is_to_be_revised(&self, rejection: &Rejection) -> bool {
        let refusal = &rejection.refusal;
        rejection.cause == Cause::Verdict
            && refusal.retryable
            && !refusal.stop
            && !self.task.usage_refused
            && !self.run_context.is_to_stop()
            && self.task.revisions < MAX_REVISIONS
    }

    /// Tells the model why its final text was rejected, for another turn. The text itself is kept nowhere.
    fn revise(&mut self, answer: &Completion, rejection: &Rejection) -> Step {
        self.task.revisions += 1;
        let note = Message::assistant(withheld(rejection), Vec::new());
        self.conversation.push_answer(note, answer.generation())?;
        let text = format!(
            "[From a policy, not from the user.] Your answer was withheld, and the user has not seen it: {rejection}. \
             Answer again in a way that the policy accepts."
        );
        self.conversation.push(Message::User { text, author: Author::Policy })?;
        Ok(State::Assemble)
    }

    /// Shows the text beside tool calls that waited for the end of its answer, as plugins leave it;
    /// how the task ends, where that is the end of it. The conversation keeps the model's own
    /// words, which its calls and its thinking belong to.
    pub(super) async fn show_beside_calls(&self, text: &str) -> Option<Ended> {
        if text.is_empty() || !self.holds_text() {
            return None;
        }
        let Some(settled) = self.unless_cancelled(self.session.finalize_content(text.to_owned())).await else {
            return Some(self.interrupted());
        };
        let (shown, stop) = match settled.outcome {
            TransformOutcome::Passed { value } => {
                self.report_final_change(&settled.record.changed_by, text, &value);
                (value, None)
            }
            TransformOutcome::Withheld(rejection) => {
                self.report_refusal(EventKind::FinalizeContent, &rejection);
                (withheld(&rejection), rejection.ends.is_some().then(|| Ended::rejected(rejection)))
            }
        };
        self.show(&shown).await;
        stop.or_else(|| self.run_context.take_stop())
    }

    /// Reports a change. Text that was held back is left out: a plugin may have changed it to hide it.
    fn report_final_change(&self, by: &[String], before: &str, after: &str) {
        let before = if self.holds_text() { "" } else { before };
        self.report_change(EventKind::FinalizeContent, by, before, after);
    }
}

/// The note in place of a text.
fn withheld(rejection: &Rejection) -> String {
    format!("[withheld: {rejection}]")
}
