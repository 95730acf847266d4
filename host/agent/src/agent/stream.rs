//! Reads an answer as it streams in. The engine decides when the text of the answer is shown. Each tool call is
//! scheduled as soon as it is complete.

use super::display::LAST_TEXT_TIMEOUT;
use super::request::{Completion, Interruption, OutgoingRequest};
use super::run::Run;
use super::state::{State, TaskEnd};
use super::tool_calls::AnswerCalls;
use super::wire_hooks::WholeResponse;
use futures_util::StreamExt as _;
use hookhost::TextStream;
use hookhost::contract::EventKind;
use hookhost_models::message::{StopReason, Thinking, TokenUsage, ToolUse};
use hookhost_models::{Delta, DeltaStream, ProviderError};
use std::sync::Arc;

/// The part of an answer that has arrived.
struct IncomingAnswer {
    stream: TextStream,
    /// Text that waits for `response-receive`, if a plugin subscribes to it. The text is added to the stream once
    /// plugins have allowed the answer.
    unread: Option<String>,
    thinking: Vec<Thinking>,
    /// Calls that were handed to the scheduler.
    calls: AnswerCalls,
    /// Calls that wait until the answer is complete.
    held: Vec<ToolUse>,
    used: Option<TokenUsage>,
    offered: Arc<[String]>,
    /// True if calls wait until the answer is complete. Calls wait if a plugin subscribes to `before-tools` or
    /// `response-receive`, or if the text before the calls is held back.
    holds_calls: bool,
}

impl IncomingAnswer {
    fn text(&self) -> &str {
        self.unread.as_deref().unwrap_or_else(|| self.stream.text())
    }
}

/// End of an answer's stream.
enum StreamEnd {
    Complete(StopReason),
    Failed(ProviderError),
    /// The task ends before the stream does.
    Ended(TaskEnd),
}

impl Run<'_> {
    /// Reads the answer to its end.
    pub(super) async fn receive(&mut self, outgoing: OutgoingRequest, stream: DeltaStream) -> State {
        let whole = self.agent.host.has_subscriber(EventKind::ResponseReceive);
        let stream_text = self.open.session.stream();
        // Text before a call must be shown before the call runs, even if the text is held back until the answer is
        // complete.
        let shows_late = stream_text.is_held();
        let mut incoming = IncomingAnswer {
            stream: stream_text,
            unread: whole.then(String::new),
            thinking: Vec::new(),
            calls: AnswerCalls::default(),
            held: Vec::new(),
            used: None,
            offered: outgoing.request.tools.iter().map(|tool| tool.name.clone()).collect(),
            holds_calls: whole || shows_late || self.agent.host.has_subscriber(EventKind::BeforeTools),
        };
        let mut end = self.read(&mut incoming, stream, &outgoing).await;
        if matches!(end, StreamEnd::Complete(_))
            && let Some(ended) = self.all_asked(&mut incoming.calls).await
        {
            end = StreamEnd::Ended(ended);
        }
        let is_kept = matches!(end, StreamEnd::Ended(_)) || !incoming.calls.uses.is_empty();
        if is_kept && !matches!(end, StreamEnd::Complete(_)) {
            // The time for the remaining text is limited, because the run may be about to end.
            if let Ok(rest) = tokio::time::timeout(LAST_TEXT_TIMEOUT, incoming.stream.end_untold()).await {
                self.show(rest);
            }
        }
        match end {
            StreamEnd::Complete(stop) => self.complete(outgoing, incoming, &stop).await,
            // No call was scheduled, so the same request may be sent again. The text of the failed attempt stays on the
            // screen. The reason of the retry and the new answer follow it.
            StreamEnd::Failed(error) if incoming.calls.uses.is_empty() => {
                self.count(incoming.used.unwrap_or_default());
                self.failed(outgoing, &error).await
            }
            StreamEnd::Ended(ended) if incoming.calls.uses.is_empty() => {
                self.count(incoming.used.unwrap_or_default());
                State::Ended(ended)
            }
            // Calls were scheduled and may run. If the request were sent again, the model would ask for these calls a
            // second time. So the calls stay in the conversation instead.
            StreamEnd::Failed(error) => self.cut(&outgoing, incoming, Interruption::Broken(error)),
            StreamEnd::Ended(ended) => self.cut(&outgoing, incoming, Interruption::Ended(ended)),
        }
    }

    async fn read(
        &mut self,
        incoming: &mut IncomingAnswer,
        mut stream: DeltaStream,
        outgoing: &OutgoingRequest,
    ) -> StreamEnd {
        loop {
            let delta = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return StreamEnd::Ended(self.interrupted()),
                Some(event) = self.events.recv() => {
                    if let Some(ended) = self.handle(&mut incoming.calls, event) {
                        return StreamEnd::Ended(ended);
                    }
                    continue;
                }
                delta = stream.next() => delta,
            };
            match delta {
                Some(Ok(Delta::Text(more))) => {
                    match &mut incoming.unread {
                        Some(unread) => unread.push_str(&more),
                        None => self.show(incoming.stream.push(&more).await),
                    }
                    if let Some(ended) = self.run_context.take_stop() {
                        return StreamEnd::Ended(ended);
                    }
                }
                Some(Ok(Delta::ToolCall(call))) => {
                    // Text before a call is shown before the call.
                    self.show(incoming.stream.flush().await);
                    if let Some(ended) = self.run_context.take_stop() {
                        return StreamEnd::Ended(ended);
                    }
                    let call = distinct(call, &incoming.calls.uses, &incoming.held);
                    if incoming.holds_calls {
                        incoming.held.push(call);
                    } else {
                        self.schedule(&mut incoming.calls, call, &incoming.offered);
                    }
                }
                Some(Ok(Delta::Thinking(mut thinking))) => {
                    self.show_reasoning(&thinking);
                    thinking.text_before = incoming.text().len();
                    thinking.calls_before = incoming.calls.uses.len() + incoming.held.len();
                    incoming.thinking.push(thinking);
                }
                Some(Ok(Delta::Usage(usage))) => incoming.used = Some(usage),
                Some(Ok(Delta::Stop(reason))) => return StreamEnd::Complete(reason),
                Some(Err(error)) => return StreamEnd::Failed(error),
                None => return StreamEnd::Failed(outgoing.broken()),
            }
        }
    }

    /// Handles a complete answer: passes it to `response-receive` if a plugin subscribes, shows the rest of the text
    /// and schedules the calls that waited.
    async fn complete(&mut self, outgoing: OutgoingRequest, mut incoming: IncomingAnswer, stop: &StopReason) -> State {
        self.task.broken = 0;
        let used = incoming.used.unwrap_or_else(|| {
            let calls: Vec<_> = incoming.calls.uses.iter().chain(&incoming.held).cloned().collect();
            outgoing.estimate(incoming.text(), &calls)
        });
        self.count_turn(used);
        let mut stop_reason = stop.name().to_owned();
        if let Some(text) = incoming.unread.take() {
            let tool_calls = std::mem::take(&mut incoming.held);
            let thinking = incoming.thinking.clone();
            let whole = WholeResponse { text, tool_calls, thinking, stop_reason, usage: Some(used) };
            match self.receive_whole(&outgoing, whole).await {
                Ok(passed) => {
                    self.show(incoming.stream.push(&passed.text).await);
                    // Plugins can only remove pieces of thinking, because the provider would refuse pieces that it did
                    // not produce.
                    incoming.thinking.retain(|thinking| passed.thinking.contains(thinking));
                    stop_reason = passed.stop_reason;
                    for call in passed.tool_calls {
                        let call = distinct(call, &[], &incoming.held);
                        incoming.held.push(call);
                    }
                }
                Err(ended) => return State::Ended(ended),
            }
        }
        self.show(incoming.stream.end().await);
        if let Some(ended) = self.run_context.take_stop() {
            // Calls that still wait do not start, and running calls are stopped.
            if incoming.calls.uses.is_empty() {
                return State::Ended(ended);
            }
            incoming.used = None;
            let thoughts = outgoing.thoughts(incoming.thinking);
            let IncomingAnswer { stream, calls, .. } = incoming;
            let (used, cut) = (Some((outgoing.model(), used)), Some(Interruption::Ended(ended)));
            return State::Answered(Completion { stream, thoughts, calls, stop_reason, used, cut });
        }
        incoming.calls.hold(std::mem::take(&mut incoming.held), &incoming.offered);
        let thoughts = outgoing.thoughts(incoming.thinking);
        let IncomingAnswer { stream, calls, .. } = incoming;
        let used = Some((outgoing.model(), used));
        State::Answered(Completion { stream, thoughts, calls, stop_reason, used, cut: None })
    }

    fn cut(&mut self, outgoing: &OutgoingRequest, incoming: IncomingAnswer, cut: Interruption) -> State {
        let IncomingAnswer { stream, thinking, calls, used, .. } = incoming;
        let used = used.unwrap_or_else(|| outgoing.estimate(stream.text(), &calls.uses));
        self.count_turn(used);
        let (thoughts, used) = (outgoing.thoughts(thinking), Some((outgoing.model(), used)));
        let stop_reason = "broken-off".into();
        State::Answered(Completion { stream, thoughts, calls, stop_reason, used, cut: Some(cut) })
    }
}

/// Returns the call with a unique identifier. Providers promise unique identifiers, but each call needs its own result
/// even if a provider breaks this promise.
fn distinct(mut call: ToolUse, earlier: &[ToolUse], held: &[ToolUse]) -> ToolUse {
    let taken = |id: &str| earlier.iter().chain(held).any(|other| other.id == id);
    if call.id.is_empty() || taken(&call.id) {
        let base = std::mem::take(&mut call.id);
        let mut number = earlier.len() + held.len() + 1;
        call.id = loop {
            let id = format!("{base}_{number}");
            if !taken(&id) {
                break id;
            }
            number += 1;
        };
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_call_of_an_answer_gets_an_id_of_its_own() {
        let mut calls: Vec<ToolUse> = Vec::new();
        for id in ["a", "a", "", "a_2", ""] {
            let call = ToolUse::new(id, "bash", json!({}));
            calls.push(distinct(call, &calls, &[]));
        }
        let ids: std::collections::HashSet<_> = calls.iter().map(|call| call.id.clone()).collect();
        assert_eq!(ids.len(), calls.len(), "{ids:?}");
        assert!(!ids.contains(""));
    }
}
