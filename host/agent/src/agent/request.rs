//! Builds the requests to the model, lets plugins change them, sends them and counts their tokens. `stream` reads the
//! answers.

use super::run::Run;
use super::state::{State, Step, TaskEnd};
use super::tool_calls::AnswerCalls;
use super::{AgentEvent, Status};
use crate::session_store::Generation;
use hookhost::TextStream;
use hookhost::contract::{EventKind, Inference, ModelRef, Response, Totals, Turn, Usage};
use hookhost_models::message::{Message, Thinking, Thoughts, TokenUsage, ToolUse};
use hookhost_models::{DeltaStream, Provider, ProviderError, Request};
use serde_json::{Value, json};
use std::sync::Arc;

/// A request that is being sent.
pub(super) struct OutgoingRequest {
    pub(super) provider: Arc<dyn Provider>,
    pub(super) request: Request,
    /// Body after the plugins' changes, if a plugin subscribes to `request-send`.
    pub(super) body: Option<Value>,
    /// Number of failed attempts.
    pub(super) failures: u32,
}

impl OutgoingRequest {
    pub(super) fn model(&self) -> ModelRef {
        ModelRef::new(self.provider.name(), &self.request.model)
    }

    /// Labels pieces of thinking with the provider and model of this request.
    pub(super) fn thoughts(&self, thinking: Vec<Thinking>) -> Thoughts {
        if thinking.is_empty() {
            return Thoughts::default();
        }
        let ModelRef { provider, model, .. } = self.model();
        Thoughts::new(provider, model, thinking)
    }

    /// Sends the request. If plugins have seen its body, exactly that body is sent.
    pub(super) async fn submit(&self) -> Result<DeltaStream, ProviderError> {
        match &self.body {
            Some(body) => self.provider.send_body(self.request.clone(), body.clone()).await,
            None => self.provider.send(self.request.clone()).await,
        }
    }

    /// Estimates the token counts, for servers that do not report them.
    pub(super) fn estimate(&self, text: &str, calls: &[ToolUse]) -> TokenUsage {
        let calls = calls.iter().map(|call| call.name.len() + call.arguments.to_string().len());
        let bytes = text.len() + calls.sum::<usize>();
        let output = u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX);
        TokenUsage::new(self.request.estimated_tokens(), output)
    }

    pub(super) fn broken(&self) -> ProviderError {
        let reason = "its stream ended without a stop reason".into();
        ProviderError::BrokenStream { provider: self.provider.name().to_owned(), reason }
    }
}

impl Completion {
    /// Returns the description of the model call for the session's file. Returns `None` if a plugin gave the answer.
    pub(super) fn generation(&self) -> Option<Generation> {
        let (ModelRef { provider, model, .. }, usage) = self.used.clone()?;
        let stop = match self.stop_reason.as_str() {
            "end-turn" => "end",
            "tool-calls" => "tool_calls",
            "max-tokens" => "length",
            other => other,
        };
        Some(Generation { provider, model, stop: stop.to_owned(), usage })
    }
}

/// Result of asking plugins about a request.
pub(super) enum GatedRequest {
    /// The request to send, with the plugins' changes.
    Send(OutgoingRequest),
    /// A plugin answered instead of the model.
    Responded { text: String, by: String },
    /// The request is not sent.
    Ended(TaskEnd),
}

/// An answer, complete or cut off.
pub(super) struct Completion {
    /// Text of the answer, including text that is held back.
    pub(super) stream: TextStream,
    pub(super) thoughts: Thoughts,
    pub(super) calls: AnswerCalls,
    pub(super) stop_reason: String,
    /// Tokens of the model call; `None` if a plugin answered.
    pub(super) used: Option<(ModelRef, TokenUsage)>,
    /// Reason why the answer is incomplete.
    pub(super) cut: Option<Interruption>,
}

/// Reasons why an answer with pending calls is incomplete.
pub(super) enum Interruption {
    /// The stream broke off. The next request to the model contains the results of the calls.
    Broken(ProviderError),
    /// The task ends.
    Ended(TaskEnd),
}

impl Run<'_> {
    /// Builds the next request from the conversation so far.
    pub(super) fn request(&self) -> Request {
        let config = &self.agent.config;
        let mut request =
            Request::new(&self.open.own.model, self.open.conversation.messages(), config.max_output_tokens.get());
        request.system_prompt.clone_from(&config.system_prompt);
        request.reminders = self.reminders();
        request.tools = self.tools.definitions().collect();
        request
    }

    /// Begins a turn and builds its request. Plugins' changes apply only to this request, and the conversation stays as
    /// it is.
    pub(super) async fn assemble(&mut self) -> Step {
        self.end_turn().await;
        let config = &self.agent.config;
        if self.task.turns >= config.max_turns.get() {
            let reason = format!("the task has used all of its {} model calls", config.max_turns);
            return Ok(State::Ended(TaskEnd { status: Status::MaxTurns, ..TaskEnd::error(reason) }));
        }
        if let Some(ended) = self.limits.used_up() {
            return Ok(State::Ended(ended));
        }
        let number = |begun: u32| begun.saturating_add(1);
        let turn = Turn { number: number(self.open.turns_begun), number_in_task: number(self.task.turns_begun) };
        if let Err(ended) = self.gated(EventKind::TurnStart, self.open.session.turn_start(turn)).await {
            return self.refused_turn(ended);
        }
        self.begin_turn();
        if let Err(ended) = self.compact().await {
            return Ok(State::Ended(ended));
        }
        self.tell_too_large();
        match self.gate_request(self.request()).await {
            GatedRequest::Send(mut outgoing) => {
                // Plugins may have added reminders while they decided on this request.
                outgoing.request.reminders = self.reminders();
                Ok(State::Send(outgoing))
            }
            GatedRequest::Responded { text, by } => {
                self.report(&AgentEvent::Answered { by });
                let mut stream = self.open.session.stream();
                self.show(stream.push(&text).await);
                self.show(stream.end_untold().await);
                if let Some(ended) = self.run_context.take_stop() {
                    return Ok(State::Ended(ended));
                }
                let (thoughts, calls, stop_reason) = (Thoughts::default(), AnswerCalls::default(), "plugin".into());
                Ok(State::Answered(Completion { stream, thoughts, calls, stop_reason, used: None, cut: None }))
            }
            GatedRequest::Ended(ended) => self.refused_turn(ended),
        }
    }

    /// If the refusal allows a retry, adds the refusal's reason to the conversation and continues. Otherwise ends the
    /// task.
    fn refused_turn(&mut self, ended: TaskEnd) -> Step {
        match &ended.rejection {
            Some(rejection) if self.may_try_again(rejection) => self.continue_after(rejection),
            _ => Ok(State::Ended(ended)),
        }
    }

    /// Asks plugins about a request.
    pub(super) async fn gate_request(&self, mut request: Request) -> GatedRequest {
        let asked = Inference {
            provider: self.open.own.provider.clone(),
            model: request.model.clone(),
            system_prompt: request.system_prompt.clone(),
            prompt: last_prompt(&mut request.messages).cloned().unwrap_or_default(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            input_tokens: request.estimated_tokens(),
            used: self.totals(),
        };
        let asking = self.open.session.before_inference(asked.clone());
        let (value, by) = match self.gated(EventKind::BeforeInference, asking).await {
            Ok((value, None, by)) => (value, by),
            Ok((_, Some((text, by)), _)) => return GatedRequest::Responded { text, by },
            Err(ended) => return GatedRequest::Ended(ended),
        };
        let (before, after) = differences(&asked, &value);
        self.report_change(EventKind::BeforeInference, &by, before, after);
        let Some(provider) = self.agent.models.provider(&value.provider).cloned() else {
            return GatedRequest::Ended(TaskEnd::error(format!("there is no provider named {}", value.provider)));
        };
        if let Some(prompt) = last_prompt(&mut request.messages) {
            prompt.clone_from(&value.prompt);
        }
        request.tools.retain(|tool| value.tools.contains(&tool.name));
        request.model = value.model;
        request.system_prompt = value.system_prompt;
        request.forget_thoughts_of_others(provider.name());
        GatedRequest::Send(OutgoingRequest { provider, request, body: None, failures: 0 })
    }

    /// Sends the request; `failed` retries it after temporary failures.
    pub(super) async fn send(&mut self, mut outgoing: OutgoingRequest) -> State {
        if outgoing.failures == 0 {
            if let Err(ended) = self.gate_body(&mut outgoing).await {
                return State::Ended(ended);
            }
            self.open.turns += 1;
            self.task.turns += 1;
            self.open.session.set_turn(self.open.turns);
            let ModelRef { provider, model, .. } = outgoing.model();
            self.report(&AgentEvent::TurnStarted { turn: self.open.turns, provider, model });
        }
        if let Err(ended) = self.limits.count_request() {
            return State::Ended(ended);
        }
        match self.unless_cancelled(outgoing.submit()).await {
            None => State::Ended(self.interrupted()),
            Some(Ok(stream)) => State::Receive(outgoing, stream),
            Some(Err(error)) => self.failed(outgoing, &error).await,
        }
    }

    pub(super) async fn failed(&self, mut outgoing: OutgoingRequest, error: &ProviderError) -> State {
        outgoing.failures = outgoing.failures.saturating_add(1);
        match self.wait_out(outgoing.failures, error).await {
            Ok(()) => State::Send(outgoing),
            Err(ended) => State::Ended(ended),
        }
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// Returns the end of the task if there is no further attempt, or if the run is cancelled.
    async fn wait_out(&self, failures: u32, error: &ProviderError) -> Result<(), TaskEnd> {
        let Some(wait) = self.agent.config.retry.wait(failures, error) else {
            let is_broken = matches!(error, ProviderError::BrokenStream { .. });
            let advice = if is_broken { ": run the prompt again" } else { "" };
            return Err(TaskEnd::error(format!("{error}{advice}")));
        };
        self.report(&AgentEvent::Retrying { error: error.to_string(), wait });
        self.unless_cancelled(tokio::time::sleep(wait)).await.ok_or_else(|| self.interrupted())
    }

    /// Sends `after-inference` and `token-usage`, then continues with the tool calls or the final text.
    pub(super) async fn answered(&mut self, mut answer: Completion) -> Step {
        if answer.cut.is_none() {
            let tool_calls = answer.calls.uses.iter().map(|call| self.contract_call(call)).collect();
            let text = answer.stream.text().to_owned();
            let response = Response { text, tool_calls, stop_reason: answer.stop_reason.clone() };
            let _ = self.open.session.after_inference(response).await;
        }
        // The calls belong to the conversation in any case, so they are stored before anything can end the task. A
        // final text is stored later, after the plugins' changes.
        if !answer.calls.uses.is_empty() {
            if let Some(turn) = &mut self.turn {
                turn.tool_calls = answer.calls.uses.len();
            }
            let (text, thoughts) = (answer.stream.text().to_owned(), answer.thoughts.clone());
            let message = Message::Assistant { text, tool_calls: answer.calls.uses.clone(), thoughts };
            self.open.conversation.push_answer(message, answer.generation())?;
        }
        self.open.conversation.keep_reminders(self.open.session.kept_reminders())?;
        let mut broken = None;
        match answer.cut.take() {
            Some(Interruption::Ended(ended)) => {
                let bytes = answer.stream.held_bytes();
                if bytes > 0 {
                    self.report(&AgentEvent::TextHeld { bytes });
                }
                return self.stop(answer.calls, ended).await;
            }
            Some(Interruption::Broken(error)) => broken = Some(error),
            None => {}
        }
        if !answer.calls.uses.is_empty()
            && let Some(ended) = self.show_beside_calls(&mut answer.stream).await
        {
            return self.stop(answer.calls, ended).await;
        }
        if let Some((model, used)) = answer.used.clone()
            && let Some(ended) = self.gate_usage(model, used).await
        {
            // An answer without calls needs no further model call. Therefore it is discarded only if the session or the
            // run stops.
            if !answer.calls.uses.is_empty() || ended.stop.is_some() {
                return self.stop(answer.calls, ended).await;
            }
            self.task.usage_refused = true;
        }
        if answer.calls.uses.is_empty() {
            return Ok(State::Finalize(answer));
        }
        let next = self.tool_calls(answer.calls).await?;
        match (next, broken) {
            (State::Assemble, Some(error)) => {
                self.task.broken = self.task.broken.saturating_add(1);
                Ok(match self.wait_out(self.task.broken, &error).await {
                    Ok(()) => State::Assemble,
                    Err(ended) => State::Ended(ended),
                })
            }
            (next, _) => Ok(next),
        }
    }

    /// Asks plugins about the tokens of a model call. Returns the end of the task if a plugin rejects them.
    pub(super) async fn gate_usage(&self, model: ModelRef, used: TokenUsage) -> Option<TaskEnd> {
        let ModelRef { provider, model: name, .. } = model.clone();
        self.report(&AgentEvent::Usage { provider, model: name, call: used, session: self.open.usage });
        let usage = self.contract_usage(&model, used);
        self.gated(EventKind::TokenUsage, self.open.session.token_usage(usage)).await.err()
    }

    /// Adds the tokens of a model call to the counts of the session, the task and the run.
    pub(super) fn count(&mut self, used: TokenUsage) {
        self.open.usage.add(used);
        self.task.usage.add(used);
        self.limits.spend(used);
    }

    /// Counts the tokens of the turn's own model call. These tokens are also the current size of the conversation.
    pub(super) fn count_turn(&mut self, used: TokenUsage) {
        self.count(used);
        self.open.context_tokens = used.input_tokens.saturating_add(used.output_tokens);
        if let Some(turn) = &mut self.turn {
            turn.usage.add(used);
        }
    }

    /// Adds the tokens of sub-agents to this session. The run's limits have already counted them.
    pub(super) fn take_over_usage(&mut self) {
        let (used, turns) = self.run_context.take_usage();
        self.subagent_turns = self.subagent_turns.saturating_add(turns);
        self.open.usage.add(used);
        self.task.usage.add(used);
    }

    /// Returns the tokens of the session and of its run so far. Plugins get them with `before-inference`.
    fn totals(&self) -> Totals {
        let run = self.limits.tree_usage();
        Totals {
            session_input_tokens: self.open.usage.input_tokens,
            session_output_tokens: self.open.usage.output_tokens,
            run_input_tokens: run.input_tokens,
            run_output_tokens: run.output_tokens,
            run_requests: self.limits.requests(),
        }
    }

    /// Returns the tokens of a call, of the session and of its run. Plugins get them with `token-usage` and
    /// `session-end`.
    pub(super) fn contract_usage(&self, model: &ModelRef, call: TokenUsage) -> Usage {
        let run = self.limits.tree_usage();
        Usage {
            provider: model.provider.clone(),
            model: model.model.clone(),
            input_tokens: call.input_tokens,
            cached_input_tokens: call.cached_input_tokens,
            output_tokens: call.output_tokens,
            session_input_tokens: self.open.usage.input_tokens,
            session_output_tokens: self.open.usage.output_tokens,
            run_input_tokens: run.input_tokens,
            run_output_tokens: run.output_tokens,
        }
    }

    fn reminders(&self) -> Vec<String> {
        let reminders = self.open.session.reminders();
        reminders
            .iter()
            .map(|reminder| format!("Reminder from the plugin {}: {}", reminder.plugin, reminder.body))
            .collect()
    }
}

/// Returns the prompt of the current task.
fn last_prompt(messages: &mut [Message]) -> Option<&mut String> {
    messages.iter_mut().rev().filter(|message| message.is_prompt()).find_map(|message| match message {
        Message::User { text, .. } => Some(text),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    })
}

/// Returns the fields that differ, with their values from `before` and their values from `after`.
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
