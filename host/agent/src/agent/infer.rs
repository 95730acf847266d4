//! Asking the model: the request with what plugins make of it, the answer as it streams in, what it used.

use super::lines::Lines;
use super::state::{Ended, Run, State, Step};
use super::{AgentEvent, Status};
use crate::message::{Message, TokenUsage, ToolUse};
use crate::provider::{Delta, DeltaStream, Provider, ProviderError, Request};
use crate::session_store::Generation;
use futures_util::StreamExt as _;
use hookhost::contract::{Inference, Response, Usage};
use hookhost::event::EventKind;
use hookhost::session::{GateOutcome, ModelRef};
use serde_json::{Value, json};
use std::sync::Arc;

/// A request on its way.
pub(super) struct Outgoing {
    provider: Arc<dyn Provider>,
    request: Request,
    /// Tries that have failed.
    failures: u32,
}

impl Outgoing {
    fn model(&self) -> ModelRef {
        ModelRef { provider: self.provider.name().to_owned(), model: self.request.model.clone() }
    }
}

impl Answer {
    /// Where it came from, for the session's files; none where a plugin gave it.
    pub(super) fn generation(&self) -> Option<Generation> {
        let (ModelRef { provider, model }, usage) = self.used.clone()?;
        let stop = match self.stop_reason.as_str() {
            "end-turn" => "end",
            "tool-calls" => "tool_calls",
            "max-tokens" => "length",
            other => other,
        };
        Some(Generation { provider, model, stop: stop.to_owned(), usage })
    }
}

/// A complete answer.
pub(super) struct Answer {
    pub(super) text: String,
    /// As much of it as has been shown, as it was shown.
    pub(super) shown: String,
    calls: Vec<ToolUse>,
    /// The tools that the model was offered.
    offered: Vec<String>,
    stop_reason: String,
    /// What the model call used; none where a plugin answered.
    used: Option<(ModelRef, TokenUsage)>,
}

impl Run<'_> {
    /// The next request, as plugins leave it: they change this one only, not the conversation.
    pub(super) async fn assemble(&mut self) -> State {
        let config = &self.agent.config;
        if self.task.turns >= config.max_turns.get() {
            let reason = format!("the task has used all of its {} model calls", config.max_turns);
            return State::Ended(Ended { status: Status::MaxTurns, ..Ended::error(reason) });
        }
        let own = self.agent.models.own();
        let mut request = Request {
            model: own.model.clone(),
            system_prompt: config.system_prompt.clone(),
            messages: self.conversation.messages(),
            reminders: self.reminders(),
            tools: self.agent.tools.definitions().collect(),
            max_output_tokens: config.max_output_tokens.get(),
        };
        let asked = Inference {
            provider: own.provider,
            model: own.model,
            system_prompt: request.system_prompt.clone(),
            prompt: last_prompt(&mut request.messages).cloned().unwrap_or_default(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            input_tokens: request.estimated_tokens(),
        };
        let Some(settled) = self.unless_cancelled(self.session.before_inference(asked.clone())).await else {
            return State::Ended(Ended::cancelled());
        };
        match settled.outcome {
            GateOutcome::Allowed { value } => {
                let changed_by = &settled.record.changed_by;
                if !changed_by.is_empty() {
                    let (before, after) = differences(&asked, &value);
                    let (event, by) = (EventKind::BeforeInference, changed_by.clone());
                    self.report(&AgentEvent::Changed { event, by, before, after });
                }
                let Some(provider) = self.agent.models.provider(&value.provider).cloned() else {
                    return State::Ended(Ended::error(format!("there is no provider named {}", value.provider)));
                };
                if let Some(prompt) = last_prompt(&mut request.messages) {
                    prompt.clone_from(&value.prompt);
                }
                request.tools.retain(|tool| value.tools.contains(&tool.name));
                request.model = value.model;
                request.system_prompt = value.system_prompt;
                // What plugins said about this very request counts, too.
                request.reminders = self.reminders();
                State::Send(Outgoing { provider, request, failures: 0 })
            }
            GateOutcome::Responded { response, by, .. } => {
                self.report(&AgentEvent::Answered { by });
                let shown = if self.holds_text() { String::new() } else { self.show(&response).await };
                State::Answered(Answer {
                    text: response,
                    shown,
                    calls: Vec::new(),
                    offered: Vec::new(),
                    stop_reason: "plugin".into(),
                    used: None,
                })
            }
            GateOutcome::Rejected(rejection) => {
                self.report_refusal(EventKind::BeforeInference, &rejection);
                State::Ended(Ended::rejected(rejection))
            }
        }
    }

    /// Sends the request. A failure that may pass is waited out.
    pub(super) async fn send(&mut self, outgoing: Outgoing) -> State {
        if outgoing.failures == 0 {
            self.turns += 1;
            self.task.turns += 1;
            self.session.set_turn(self.turns);
            let ModelRef { provider, model } = outgoing.model();
            self.report(&AgentEvent::TurnStarted { turn: self.turns, provider, model });
        }
        match self.unless_cancelled(outgoing.provider.send(outgoing.request.clone())).await {
            None => State::Ended(Ended::cancelled()),
            Some(Ok(stream)) => State::Receive(outgoing, stream),
            Some(Err(error)) => self.failed(outgoing, &error).await,
        }
    }

    async fn failed(&self, mut outgoing: Outgoing, error: &ProviderError) -> State {
        outgoing.failures = outgoing.failures.saturating_add(1);
        let Some(wait) = self.agent.config.retry.wait(outgoing.failures, error) else {
            return State::Ended(Ended::error(error.to_string()));
        };
        self.report(&AgentEvent::Retrying { error: error.to_string(), wait });
        match self.unless_cancelled(tokio::time::sleep(wait)).await {
            None => State::Ended(Ended::cancelled()),
            Some(()) => State::Send(outgoing),
        }
    }

    /// Reads the answer, and shows it line by line where nobody wants to see it whole first.
    pub(super) async fn receive(&mut self, outgoing: Outgoing, mut stream: DeltaStream) -> State {
        let holds = self.holds_text();
        let (mut text, mut shown, mut lines) = (String::new(), String::new(), Lines::default());
        let mut calls: Vec<ToolUse> = Vec::new();
        let mut used = None;
        let stop = loop {
            let Some(delta) = self.unless_cancelled(stream.next()).await else {
                self.count(used.unwrap_or_default());
                return State::Ended(Ended::cancelled());
            };
            match delta {
                Some(Ok(Delta::Text(more))) => {
                    text.push_str(&more);
                    if !holds {
                        for line in lines.push(&more) {
                            shown.push_str(&self.show_piece(line).await);
                        }
                    }
                }
                Some(Ok(Delta::ToolCall(call))) => calls.push(distinct(call, &calls)),
                Some(Ok(Delta::Usage(usage))) => used = Some(usage),
                Some(Ok(Delta::Stop(reason))) => break reason,
                Some(Err(error)) if text.is_empty() && calls.is_empty() => return self.failed(outgoing, &error).await,
                Some(Err(error)) => {
                    self.count(used.unwrap_or_default());
                    return State::Ended(Ended::error(error.to_string()));
                }
                None => {
                    let reason = "its stream ended without saying why".into();
                    let error = ProviderError::BrokenStream { provider: outgoing.model().provider, reason };
                    return State::Ended(Ended::error(error.to_string()));
                }
            }
        };
        drop(stream);
        if let Some(rest) = lines.finish() {
            shown.push_str(&self.show_piece(rest).await);
        }
        let _ = self.session.stream_end(text.clone()).await;
        let used = used.unwrap_or_else(|| estimate(&outgoing.request, &text, &calls));
        self.count(used);
        let model = outgoing.model();
        State::Answered(Answer {
            text,
            shown,
            calls,
            offered: outgoing.request.tools.into_iter().map(|tool| tool.name).collect(),
            stop_reason: stop.name().to_owned(),
            used: Some((model, used)),
        })
    }

    /// Tells plugins of the answer and of what it used, and goes on to its tool calls or its end.
    pub(super) async fn answered(&mut self, answer: Answer) -> Step {
        let tool_calls = answer.calls.iter().map(|call| self.contract_call(call)).collect();
        let response = Response { text: answer.text.clone(), tool_calls, stop_reason: answer.stop_reason.clone() };
        let _ = self.session.after_inference(response).await;
        // Before anything can refuse: the calls are part of the conversation, whatever becomes of them. A final text is
        // stored as plugins leave it.
        if !answer.calls.is_empty() {
            let (text, tool_calls) = (answer.text.clone(), answer.calls.clone());
            self.conversation.push_answer(Message::Assistant { text, tool_calls }, answer.generation())?;
            if self.holds_text() && !answer.text.is_empty() {
                self.report(&AgentEvent::TextHeld { bytes: answer.text.len() });
            }
        }
        if let Some((model, used)) = &answer.used {
            let ModelRef { provider, model: name } = model.clone();
            self.report(&AgentEvent::Usage { provider, model: name, call: *used, session: self.usage });
            let usage = self.contract_usage(model, *used);
            let Some(settled) = self.unless_cancelled(self.session.token_usage(usage)).await else {
                return Ok(State::Ended(Ended::cancelled()));
            };
            if let GateOutcome::Rejected(rejection) = settled.outcome {
                self.report_refusal(EventKind::TokenUsage, &rejection);
                // An answer without calls needs no further model call: it is not lost, unless all is to stop.
                if !answer.calls.is_empty() || rejection.refusal.stop {
                    return Ok(State::Ended(Ended::rejected(rejection)));
                }
            }
        }
        if answer.calls.is_empty() {
            return Ok(State::Finalize(answer));
        }
        Ok(State::ToolCalls { calls: answer.calls, offered: answer.offered })
    }

    fn count(&mut self, used: TokenUsage) {
        self.usage.add(used);
        self.task.usage.add(used);
    }

    /// A call's usage and the session's, as plugins are told.
    pub(super) fn contract_usage(&self, model: &ModelRef, call: TokenUsage) -> Usage {
        Usage {
            provider: model.provider.clone(),
            model: model.model.clone(),
            input_tokens: call.input_tokens,
            cached_input_tokens: call.cached_input_tokens,
            output_tokens: call.output_tokens,
            session_input_tokens: self.usage.input_tokens,
            session_output_tokens: self.usage.output_tokens,
        }
    }

    fn reminders(&self) -> Vec<String> {
        let reminders = self.session.reminders();
        reminders
            .iter()
            .map(|reminder| format!("Reminder from the plugin {}: {}", reminder.plugin, reminder.body))
            .collect()
    }
}

/// The last thing that the user said.
fn last_prompt(messages: &mut [Message]) -> Option<&mut String> {
    messages.iter_mut().rev().find_map(|message| match message {
        Message::User { text } => Some(text),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    })
}

/// Providers promise unique ids; where one breaks the promise, each call must still have its own result.
fn distinct(mut call: ToolUse, earlier: &[ToolUse]) -> ToolUse {
    let taken = |id: &str| earlier.iter().any(|other| other.id == id);
    if call.id.is_empty() || taken(&call.id) {
        let base = std::mem::take(&mut call.id);
        let mut number = earlier.len() + 1;
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

/// For servers that do not count.
fn estimate(request: &Request, text: &str, calls: &[ToolUse]) -> TokenUsage {
    let bytes = text.len() + calls.iter().map(|call| call.name.len() + call.arguments.to_string().len()).sum::<usize>();
    TokenUsage {
        input_tokens: request.estimated_tokens(),
        cached_input_tokens: 0,
        output_tokens: u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX),
    }
}

/// The fields that differ, before and after.
fn differences(before: &Inference, after: &Inference) -> (Value, Value) {
    let (mut old, mut new) = (serde_json::Map::new(), serde_json::Map::new());
    let mut compare = |name: &str, before: Value, after: Value| {
        if before != after {
            old.insert(name.into(), before);
            new.insert(name.into(), after);
        }
    };
    compare("provider", json!(before.provider), json!(after.provider));
    compare("model", json!(before.model), json!(after.model));
    compare("system-prompt", json!(before.system_prompt), json!(after.system_prompt));
    compare("prompt", json!(before.prompt), json!(after.prompt));
    compare("tools", json!(before.tools), json!(after.tools));
    (Value::Object(old), Value::Object(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_of_an_answer_gets_an_id_of_its_own() {
        let mut calls: Vec<ToolUse> = Vec::new();
        for id in ["a", "a", "", "a_2", ""] {
            let call = ToolUse { id: id.into(), name: "bash".into(), arguments: json!({}) };
            calls.push(distinct(call, &calls));
        }
        let ids: std::collections::HashSet<_> = calls.iter().map(|call| call.id.clone()).collect();
        assert_eq!(ids.len(), calls.len(), "{ids:?}");
        assert!(!ids.contains(""));
    }
}
