//! Handles the tool calls of one answer: hands them to the [`ToolScheduler`] one by one and adds their results to the
//! conversation in call order. Each result passes `after-tool-call` before it is added. Each call gets exactly one
//! result, no matter how the answer ends.

use super::run::Run;
use super::run_context::{CallStatus, LoopEvent};
use super::state::{State, Step, TaskEnd};
use super::tool_scheduler::ToolScheduler;
use super::{AgentEvent, subagent};
use crate::session_store::SessionStoreError;
use crate::tool::{ToolContext, ToolError};
use hookhost::contract::{EventKind, ResultSource, ToolCall, ToolOrigin, ToolResult, TransformOutcome};
use hookhost_models::message::{Message, ToolUse};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Time limit for the orderly end of stopped tools.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The calls of one answer, in call order.
#[derive(Default)]
pub(super) struct AnswerCalls {
    pub(super) uses: Vec<ToolUse>,
    statuses: Vec<CallStatus>,
    /// Indexes of calls that ended without being stopped by the run.
    carried_out: BTreeSet<usize>,
    /// Indexes of calls on which plugins have decided.
    asked: BTreeSet<usize>,
    /// The tools that the model was offered. This is set only while the calls wait for `after-inference` and
    /// `token-usage`.
    held: Option<Arc<[String]>>,
    scheduler: Option<RunningScheduler>,
}

impl AnswerCalls {
    /// Stores calls that are scheduled later.
    pub(super) fn hold(&mut self, calls: Vec<ToolUse>, offered: &Arc<[String]>) {
        if calls.is_empty() {
            return;
        }
        self.statuses.extend(calls.iter().map(|_| CallStatus::Open));
        self.uses.extend(calls);
        self.held = Some(Arc::clone(offered));
    }
}

/// The task that asks plugins about the calls and runs them. Dropping this value ends the task.
struct RunningScheduler {
    /// Sends calls to the scheduler; `None` once the answer is complete.
    feed: Option<UnboundedSender<ToolUse>>,
    task: JoinSet<()>,
    cancel: CancellationToken,
}

impl Run<'_> {
    /// Schedules a call: plugins are asked about the call now, and the call starts once they allow it.
    pub(super) fn schedule(&mut self, calls: &mut AnswerCalls, call: ToolUse, offered: &Arc<[String]>) {
        self.feed(calls, &call, offered);
        calls.uses.push(call);
        calls.statuses.push(CallStatus::Open);
    }

    fn feed(&self, calls: &mut AnswerCalls, call: &ToolUse, offered: &Arc<[String]>) {
        let scheduler = calls.scheduler.get_or_insert_with(|| self.scheduler(Arc::clone(offered)));
        if let Some(feed) = &scheduler.feed {
            let _ = feed.send(call.clone());
        }
    }

    /// Waits until plugins have decided on all scheduled calls. This keeps the events in the same order in every run.
    /// Returns the end of the task if the task ends before that. The wait costs no time, because the session's next
    /// event would have to wait for these verdicts anyway.
    pub(super) async fn all_asked(&mut self, calls: &mut AnswerCalls) -> Option<TaskEnd> {
        while calls.asked.len() < calls.uses.len() {
            let RunningScheduler { task, .. } = calls.scheduler.as_mut()?;
            let event = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Some(self.interrupted()),
                event = self.events.recv() => event?,
                _ = task.join_next(), if !task.is_empty() => continue,
                // The scheduler has ended, and all its events were handled.
                () = std::future::ready(()), if task.is_empty() => return None,
            };
            if let Some(ended) = self.handle(calls, event) {
                return Some(ended);
            }
        }
        None
    }

    fn scheduler(&self, offered: Arc<[String]>) -> RunningScheduler {
        let cancel = self.cancel.child_token();
        let scheduler = ToolScheduler {
            session: Arc::clone(&self.open.session),
            run_context: Arc::clone(&self.run_context),
            tools: self.tools.clone(),
            context: ToolContext { cancel: cancel.clone(), ..self.context.clone() },
            offered,
            together: self.agent.host.has_subscriber(EventKind::BeforeTools),
            limits: Arc::clone(&self.limits),
        };
        let (feed, calls) = unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(scheduler.run(calls));
        RunningScheduler { feed: Some(feed), task, cancel }
    }

    /// Handles one event of the tool calls. Returns the end of the task if the event ends the task.
    pub(super) fn handle(&mut self, calls: &mut AnswerCalls, event: LoopEvent) -> Option<TaskEnd> {
        match event {
            LoopEvent::Report(event) => self.report(&event),
            LoopEvent::Asked(place) => {
                calls.asked.insert(place);
            }
            LoopEvent::Call(place, mut status) => {
                calls.asked.insert(place);
                let mut ended = if let CallStatus::Refused(_, ended) = &mut status { ended.take() } else { None };
                if matches!(status, CallStatus::Finished(..)) {
                    self.take_over_usage();
                    // A tool also finishes when it is stopped, but then its call was not carried out in full.
                    if !self.cancel.is_cancelled() {
                        calls.carried_out.insert(place);
                    }
                }
                if let Some(known) = calls.statuses.get_mut(place) {
                    *known = status;
                }
                // If a sub-agent has ended the session, its siblings end, too.
                ended = ended.or_else(|| self.run_context.take_stop().map(Box::new));
                return ended.map(|ended| *ended);
            }
        }
        None
    }

    /// Adds the results of an answer's calls to the conversation, in call order. Each result is added as soon as all
    /// earlier results are available, too.
    pub(super) async fn tool_calls(&mut self, mut calls: AnswerCalls) -> Step {
        if let Some(offered) = calls.held.take() {
            for call in calls.uses.clone() {
                self.feed(&mut calls, &call, &offered);
            }
        }
        if let Some(scheduler) = &mut calls.scheduler {
            scheduler.feed = None;
        }
        let (mut refused, mut carried_out, mut delegated) = (None, false, false);
        for place in 0..calls.uses.len() {
            if let Some(ended) = self.settled(&mut calls, place).await {
                return self.stop(calls, ended).await;
            }
            match calls.statuses.get(place) {
                Some(CallStatus::Refused(rejection, _)) => refused = Some(rejection.clone()),
                // The loop of a sub-agent counts its own refused and useful answers.
                Some(CallStatus::Finished(asked, _)) if asked.name == subagent::NAME => delegated = true,
                Some(CallStatus::Finished(..) | CallStatus::Responded(..)) => carried_out = true,
                _ => {}
            }
            if let Some(ended) = self.answer(&mut calls, place).await? {
                return self.stop(calls, ended).await;
            }
            if let Some(ended) = self.run_context.take_stop() {
                return self.stop(calls, ended).await;
            }
        }
        match refused.filter(|_| !carried_out) {
            Some(rejection) => {
                if let Some(ended) = self.limits.count_refused_answer(&rejection) {
                    return self.stop(calls, ended).await;
                }
            }
            None if delegated && !carried_out => {}
            None => self.limits.note_useful_answer(),
        }
        // All calls have ended. The task that ran them still holds the session, so this task is ended before the loop
        // continues.
        if let Some(RunningScheduler { task, .. }) = &mut calls.scheduler {
            task.shutdown().await;
        }
        Ok(State::Assemble)
    }

    /// Waits until a call has a final status. Returns the end of the task if the task ends before that.
    async fn settled(&mut self, calls: &mut AnswerCalls, place: usize) -> Option<TaskEnd> {
        while matches!(calls.statuses.get(place), Some(CallStatus::Open | CallStatus::Started)) {
            let event = match &mut calls.scheduler {
                Some(RunningScheduler { task, .. }) => tokio::select! {
                    biased;
                    () = self.cancel.cancelled() => return Some(self.interrupted()),
                    event = self.events.recv() => event,
                    _ = task.join_next(), if !task.is_empty() => continue,
                    // The scheduler has ended, and all its events were handled, so the call will get no result.
                    () = std::future::ready(()), if task.is_empty() => None,
                },
                None => None,
            };
            match event {
                Some(event) => {
                    if let Some(ended) = self.handle(calls, event) {
                        return Some(ended);
                    }
                }
                None => calls.statuses[place] = lost(self.contract_call(&calls.uses[place])),
            }
        }
        None
    }

    /// Adds the result of a call to the conversation, if the call has a result. Returns the end of the task if the
    /// result ends the task.
    async fn answer(&mut self, calls: &mut AnswerCalls, place: usize) -> Result<Option<TaskEnd>, SessionStoreError> {
        let call = calls.uses[place].clone();
        match std::mem::replace(&mut calls.statuses[place], CallStatus::Answered) {
            CallStatus::Malformed => {
                let text =
                    "the call was not run: its arguments are no JSON object, perhaps cut by the limit on output tokens";
                self.write(&call, text.into(), true)?;
                Ok(None)
            }
            CallStatus::Refused(rejection, _) => {
                self.write(&call, rejection.to_string(), true)?;
                Ok(None)
            }
            CallStatus::Responded(asked, result) => self.pass_on(&call, &asked, result, ResultSource::Plugin).await,
            CallStatus::Finished(asked, result) => self.pass_on(&call, &asked, result, ResultSource::Tool).await,
            CallStatus::Interrupted(asked, result) => {
                let reason = self.interrupted().reason.unwrap_or_default();
                let text = self.interrupted_text(&asked, result, &reason).await;
                self.write(&call, text, true)?;
                Ok(None)
            }
            open @ (CallStatus::Open | CallStatus::Started) => {
                calls.statuses[place] = open;
                Ok(None)
            }
            CallStatus::Answered => Ok(None),
        }
    }

    /// Stops the running calls and gives every call a result. A call that already had a result keeps this result. Any
    /// other call gets a text that says why the task ended.
    pub(super) async fn stop(&mut self, mut calls: AnswerCalls, ended: TaskEnd) -> Step {
        self.limits.halt(&ended);
        // Results that arrived before the end still go to the model.
        while let Ok(event) = self.events.try_recv() {
            let _ = self.handle(&mut calls, event);
        }
        let reason = ended.reason.clone().unwrap_or_else(|| "the task has ended".into());
        let started: Vec<bool> = calls.statuses.iter().map(|status| matches!(status, CallStatus::Started)).collect();
        let settled: Vec<bool> =
            calls.statuses.iter().map(|status| !matches!(status, CallStatus::Open | CallStatus::Started)).collect();
        if let Some(RunningScheduler { feed, mut task, cancel }) = calls.scheduler.take() {
            drop(feed);
            cancel.cancel();
            let _ = tokio::time::timeout(STOP_TIMEOUT, async { while task.join_next().await.is_some() {} }).await;
            task.shutdown().await;
        }
        while let Ok(event) = self.events.try_recv() {
            match event {
                LoopEvent::Report(event) => self.report(&event),
                LoopEvent::Call(place, CallStatus::Interrupted(asked, result)) if !settled[place] => {
                    calls.statuses[place] = CallStatus::Interrupted(asked, result);
                }
                _ => {}
            }
        }
        self.take_over_usage();
        for place in 0..calls.uses.len() {
            // After a cancellation, results are no longer passed to plugins. Therefore results that plugins have not
            // seen are not stored.
            let is_interrupted = matches!(calls.statuses[place], CallStatus::Interrupted(..));
            if settled[place]
                && !is_interrupted
                && (!self.cancel.is_cancelled() || !needs_asking(&calls.statuses[place]))
            {
                let _ = self.answer(&mut calls, place).await?;
                continue;
            }
            let text = if let CallStatus::Interrupted(asked, result) =
                std::mem::replace(&mut calls.statuses[place], CallStatus::Answered)
            {
                self.interrupted_text(&asked, result, &reason).await
            } else if started[place] || self.cancel.is_cancelled() {
                aborted(&reason, calls.carried_out.contains(&place))
            } else {
                format!("not run: {reason}")
            };
            let call = calls.uses[place].clone();
            self.write(&call, text, true)?;
        }
        Ok(State::Ended(ended))
    }

    /// Returns the text for a stopped call. The text contains the call's output so far, after the plugins' changes. If
    /// plugins withhold the output or take too long, the text does not contain the output.
    async fn interrupted_text(&self, asked: &ToolCall, result: ToolResult, reason: &str) -> String {
        let seen = self.open.session.after_tool_call(asked, result, ResultSource::Tool);
        match tokio::time::timeout(STOP_TIMEOUT, seen).await.map(|settled| settled.outcome) {
            Ok(TransformOutcome::Passed { value }) => {
                format!("{}; it had printed:\n{}", aborted(reason, false), value.text)
            }
            Ok(TransformOutcome::Withheld(rejection)) => {
                format!("{}; what it had printed is withheld: {rejection}", aborted(reason, false))
            }
            Err(_) => aborted(reason, false),
        }
    }

    /// Passes a result to the plugins, then adds the result to the conversation. Returns the end of the task if a
    /// plugin ends the task.
    async fn pass_on(
        &mut self,
        call: &ToolUse,
        asked: &ToolCall,
        result: ToolResult,
        source: ResultSource,
    ) -> Result<Option<TaskEnd>, SessionStoreError> {
        let Some(settled) = self.unless_cancelled(self.open.session.after_tool_call(asked, result, source)).await
        else {
            let ended = self.interrupted();
            let reason = ended.reason.as_deref().unwrap_or_default();
            self.write(call, aborted(reason, source == ResultSource::Tool), true)?;
            return Ok(Some(ended));
        };
        let (id, name) = (call.id.clone(), call.name.clone());
        match settled.outcome {
            TransformOutcome::Passed { value } => {
                let by = settled.record.changed_by;
                if !by.is_empty() {
                    self.report(&AgentEvent::ResultChanged { id, name, by });
                }
                self.write(call, value.text, value.is_error)?;
                Ok(None)
            }
            TransformOutcome::Withheld(rejection) => {
                self.report(&AgentEvent::ResultWithheld { id, name, refusal: (&rejection).into() });
                self.write(call, rejection.to_string(), true)?;
                Ok(rejection.ends.is_some().then(|| TaskEnd::rejected(rejection)))
            }
        }
    }

    /// Adds the result of a call to the conversation and reports it.
    fn write(&mut self, call: &ToolUse, text: String, is_error: bool) -> Result<(), SessionStoreError> {
        let (id, name) = (call.id.clone(), call.name.clone());
        self.open.conversation.push(Message::Tool {
            call_id: id.clone(),
            name: name.clone(),
            text: text.clone(),
            is_error,
        })?;
        self.report(&AgentEvent::ToolFinished { id, name, text, is_error });
        Ok(())
    }

    /// Converts the model's call to the contract's type.
    pub(super) fn contract_call(&self, call: &ToolUse) -> ToolCall {
        let origin = self.tools.get(&call.name).map_or(ToolOrigin::External, |tool| tool.origin());
        self.open.session.tool_call(&call.id, &call.name, &call.arguments, origin).into_call()
    }
}

fn needs_asking(status: &CallStatus) -> bool {
    matches!(status, CallStatus::Responded(..) | CallStatus::Finished(..) | CallStatus::Interrupted(..))
}

/// Returns the text that replaces a missing result. The text says whether the call was carried out, so that the model
/// does not repeat the call unknowingly.
fn aborted(reason: &str, carried_out: bool) -> String {
    match carried_out {
        true => format!("aborted: {reason} before its result was looked at; the call had been carried out"),
        false => format!("aborted: {reason}"),
    }
}

/// Returns the status of a call that lost its result.
fn lost(call: ToolCall) -> CallStatus {
    let error = ToolError::Panicked { tool: call.name.clone() };
    CallStatus::Finished(call, ToolResult::error(error.to_string()))
}
