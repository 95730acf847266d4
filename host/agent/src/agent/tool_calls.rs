//! The tool calls of one answer as the loop sees them: handed to the [`ToolScheduler`] one by one,
//! and their results given to the model in call order, each past `after-tool-call`, exactly one for
//! each call, however the answer ends.

use super::run_context::{CallStatus, LoopEvent};
use super::state::{Ended, Run, State, Step};
use super::tool_scheduler::ToolScheduler;
use super::{AgentEvent, subagent};
use crate::message::{Message, ToolUse};
use crate::session_store::SessionStoreError;
use crate::tool::{ToolContext, ToolError};
use hookhost::contract::{EventKind, ResultSource, ToolCall, ToolOrigin, ToolResult, TransformOutcome};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long tools that are stopped are waited for, so that they can end in order.
const GRACE: Duration = Duration::from_secs(2);

/// The calls of one answer, in call order.
#[derive(Default)]
pub(super) struct AnswerCalls {
    pub(super) uses: Vec<ToolUse>,
    statuses: Vec<CallStatus>,
    /// The calls that ended by themselves, not because the run stopped them.
    carried_out: BTreeSet<usize>,
    /// Those that plugins have been asked about.
    asked: BTreeSet<usize>,
    /// Set while the calls wait for `after-inference` and `token-usage`: the tools that the model was offered.
    held: Option<Arc<[String]>>,
    scheduler: Option<RunningScheduler>,
}

impl AnswerCalls {
    /// Takes calls that are handed on later.
    pub(super) fn hold(&mut self, calls: Vec<ToolUse>, offered: &Arc<[String]>) {
        if calls.is_empty() {
            return;
        }
        self.statuses.extend(calls.iter().map(|_| CallStatus::Open));
        self.uses.extend(calls);
        self.held = Some(Arc::clone(offered));
    }
}

/// The task in which they are settled and run; it ends when this is dropped.
struct RunningScheduler {
    /// Until the answer is complete.
    feed: Option<UnboundedSender<ToolUse>>,
    task: JoinSet<()>,
    cancel: CancellationToken,
}

impl Run<'_> {
    /// Hands a call on: it is asked about now, and starts as soon as it is allowed.
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

    /// Waits until plugins have been asked about each call that was handed on, so that their events
    /// have an order; how the task ends, if it does before. Nothing is lost by waiting: the
    /// session's next event waits for these answers anyway.
    pub(super) async fn all_asked(&mut self, calls: &mut AnswerCalls) -> Option<Ended> {
        while calls.asked.len() < calls.uses.len() {
            let RunningScheduler { task, .. } = calls.scheduler.as_mut()?;
            let event = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Some(self.interrupted()),
                event = self.events.recv() => event?,
                _ = task.join_next(), if !task.is_empty() => continue,
                // It has ended, and all its output was handled.
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
            session: Arc::clone(&self.session),
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

    /// Notes what has become of a call, or tells what has happened; how the task ends, if that is the end of it.
    pub(super) fn handle(&mut self, calls: &mut AnswerCalls, event: LoopEvent) -> Option<Ended> {
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
                    // A tool that is stopped ends, too.
                    if !self.cancel.is_cancelled() {
                        calls.carried_out.insert(place);
                    }
                }
                if let Some(known) = calls.statuses.get_mut(place) {
                    *known = status;
                }
                // What ended a sub-agent ends its siblings, too.
                ended = ended.or_else(|| self.run_context.take_stop().map(Box::new));
                return ended.map(|ended| *ended);
            }
        }
        None
    }

    /// Gives the model the results of an answer's calls, each as soon as it and those before it are there.
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
                // What a sub-agent did counts as it does it.
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
        // All calls have ended; their task releases the session before the loop continues.
        if let Some(RunningScheduler { task, .. }) = &mut calls.scheduler {
            task.shutdown().await;
        }
        Ok(State::Assemble)
    }

    /// Waits until a call has something like a result; how the task ends, if it does before.
    async fn settled(&mut self, calls: &mut AnswerCalls, place: usize) -> Option<Ended> {
        while matches!(calls.statuses.get(place), Some(CallStatus::Open | CallStatus::Started)) {
            let event = match &mut calls.scheduler {
                Some(RunningScheduler { task, .. }) => tokio::select! {
                    biased;
                    () = self.cancel.cancelled() => return Some(self.interrupted()),
                    event = self.events.recv() => event,
                    _ = task.join_next(), if !task.is_empty() => continue,
                    // It has ended, and all its output was handled: the call's result is missing.
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

    /// Gives the model the result of a call, where there is one; how the task ends, if that is the end of it.
    async fn answer(&mut self, calls: &mut AnswerCalls, place: usize) -> Result<Option<Ended>, SessionStoreError> {
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

    /// Stops what runs. Each call then has its result: its own, if it was there before, or the reason of the end.
    pub(super) async fn stop(&mut self, mut calls: AnswerCalls, ended: Ended) -> Step {
        self.limits.halt(&ended);
        // What was there before the end is still given to the model.
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
            let _ = tokio::time::timeout(GRACE, async { while task.join_next().await.is_some() {} }).await;
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
            // Once the run is cancelled nobody is asked any more, and nothing unseen is written.
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

    /// The result of a call that was stopped: what it had printed, as plugins leave it. Where they
    /// do not look at it in time, or withhold it, it is left out.
    async fn interrupted_text(&self, asked: &ToolCall, result: ToolResult, reason: &str) -> String {
        let seen = self.session.after_tool_call(asked, result, ResultSource::Tool);
        match tokio::time::timeout(GRACE, seen).await.map(|settled| settled.outcome) {
            Ok(TransformOutcome::Passed { value }) => {
                format!("{}; it had printed:\n{}", aborted(reason, false), value.text)
            }
            Ok(TransformOutcome::Withheld(rejection)) => {
                format!("{}; what it had printed is withheld: {rejection}", aborted(reason, false))
            }
            Err(_) => aborted(reason, false),
        }
    }

    /// Lets plugins look at a result, then gives it to the model; how the task ends, if that is the end of it.
    async fn pass_on(
        &mut self,
        call: &ToolUse,
        asked: &ToolCall,
        result: ToolResult,
        source: ResultSource,
    ) -> Result<Option<Ended>, SessionStoreError> {
        let Some(settled) = self.unless_cancelled(self.session.after_tool_call(asked, result, source)).await else {
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
                Ok(rejection.ends.is_some().then(|| Ended::rejected(rejection)))
            }
        }
    }

    /// The result of a call, for the model.
    fn write(&mut self, call: &ToolUse, text: String, is_error: bool) -> Result<(), SessionStoreError> {
        let (id, name) = (call.id.clone(), call.name.clone());
        self.conversation.push(Message::Tool {
            call_id: id.clone(),
            name: name.clone(),
            text: text.clone(),
            is_error,
        })?;
        self.report(&AgentEvent::ToolFinished { id, name, text, is_error });
        Ok(())
    }

    /// The call as plugins get it.
    pub(super) fn contract_call(&self, call: &ToolUse) -> ToolCall {
        let origin = self.tools.get(&call.name).map_or(ToolOrigin::External, |tool| tool.origin());
        self.session.tool_call(&call.id, &call.name, &call.arguments, origin).into_call()
    }
}

fn needs_asking(status: &CallStatus) -> bool {
    matches!(status, CallStatus::Responded(..) | CallStatus::Finished(..) | CallStatus::Interrupted(..))
}

/// The text for the model in place of a result that it does not get. It says so where the call was
/// carried out, since the model must not repeat that call unawares.
fn aborted(reason: &str, carried_out: bool) -> String {
    match carried_out {
        true => format!("aborted: {reason} before its result was looked at; the call had been carried out"),
        false => format!("aborted: {reason}"),
    }
}

/// For a call whose result never came.
fn lost(call: ToolCall) -> CallStatus {
    let error = ToolError::Panicked { tool: call.name.clone() };
    CallStatus::Finished(call, ToolResult::error(error.to_string()))
}
