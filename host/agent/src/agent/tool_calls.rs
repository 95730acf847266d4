//! The tool calls of one answer as the loop sees them: handed to the [`Dispatcher`] one by one, and their results given to
//! the model in call order, each past `after-tool-call`, exactly one for each call, however the answer ends.

use super::desk::{Became, Told};
use super::dispatcher::Dispatcher;
use super::state::{Ended, Run, State, Step};
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
pub(super) struct Calls {
    pub(super) uses: Vec<ToolUse>,
    became: Vec<Became>,
    /// Those that had ended by themselves when the loop heard of it.
    carried_out: BTreeSet<usize>,
    /// Those that plugins have been asked about.
    asked: BTreeSet<usize>,
    /// Where they wait until plugins have heard of the answer and of its usage: the tools that the model was offered.
    held: Option<Arc<[String]>>,
    dispatching: Option<Dispatching>,
}

impl Calls {
    /// Takes calls that are handed on later.
    pub(super) fn hold(&mut self, calls: Vec<ToolUse>, offered: &Arc<[String]>) {
        if calls.is_empty() {
            return;
        }
        self.became.extend(calls.iter().map(|_| Became::Open));
        self.uses.extend(calls);
        self.held = Some(Arc::clone(offered));
    }
}

/// The task in which they are settled and run; it ends when this is dropped.
struct Dispatching {
    /// Until the answer is complete.
    feed: Option<UnboundedSender<ToolUse>>,
    task: JoinSet<()>,
    cancel: CancellationToken,
}

impl Run<'_> {
    /// Hands a call on: it is asked about now, and starts as soon as it is allowed.
    pub(super) fn dispatch(&mut self, calls: &mut Calls, call: ToolUse, offered: &Arc<[String]>) {
        self.feed(calls, &call, offered);
        calls.uses.push(call);
        calls.became.push(Became::Open);
    }

    fn feed(&self, calls: &mut Calls, call: &ToolUse, offered: &Arc<[String]>) {
        let dispatching = calls.dispatching.get_or_insert_with(|| self.dispatching(Arc::clone(offered)));
        if let Some(feed) = &dispatching.feed {
            let _ = feed.send(call.clone());
        }
    }

    /// Waits until plugins have been asked about each call that was handed on, so that their events have an order; how the
    /// task ends, if it does before. Nothing is lost by it: whatever comes next in the session waits for these answers.
    pub(super) async fn all_asked(&mut self, calls: &mut Calls) -> Option<Ended> {
        while calls.asked.len() < calls.uses.len() {
            let Dispatching { task, .. } = calls.dispatching.as_mut()?;
            let told = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Some(self.interrupted()),
                told = self.told.recv() => told?,
                _ = task.join_next(), if !task.is_empty() => continue,
                // It has ended, and all that it said was heard.
                () = std::future::ready(()), if task.is_empty() => return None,
            };
            if let Some(ended) = self.heed(calls, told) {
                return Some(ended);
            }
        }
        None
    }

    fn dispatching(&self, offered: Arc<[String]>) -> Dispatching {
        let cancel = self.cancel.child_token();
        let dispatcher = Dispatcher {
            session: Arc::clone(&self.session),
            desk: Arc::clone(&self.desk),
            tools: self.tools.clone(),
            context: ToolContext { cancel: cancel.clone(), ..self.context.clone() },
            offered,
            together: self.agent.host.subscribed(EventKind::BeforeTools),
            limits: Arc::clone(&self.limits),
        };
        let (feed, calls) = unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(dispatcher.run(calls));
        Dispatching { feed: Some(feed), task, cancel }
    }

    /// Notes what has become of a call, or tells what has happened; how the task ends, if that is the end of it.
    pub(super) fn heed(&mut self, calls: &mut Calls, told: Told) -> Option<Ended> {
        match told {
            Told::Happened(event) => self.report(&event),
            Told::Asked(place) => {
                calls.asked.insert(place);
            }
            Told::Call(place, mut became) => {
                calls.asked.insert(place);
                let mut ended = if let Became::Refused(_, ended) = &mut became { ended.take() } else { None };
                if matches!(became, Became::Finished(..)) {
                    self.take_over_usage();
                    // A tool that is stopped ends, too.
                    if !self.cancel.is_cancelled() {
                        calls.carried_out.insert(place);
                    }
                }
                if let Some(known) = calls.became.get_mut(place) {
                    *known = became;
                }
                // What a sub-agent was ended with, its siblings do not go on behind.
                ended = ended.or_else(|| self.desk.take_stop().map(Box::new));
                return ended.map(|ended| *ended);
            }
        }
        None
    }

    /// Gives the model the results of an answer's calls, each as soon as it and those before it are there.
    pub(super) async fn tool_calls(&mut self, mut calls: Calls) -> Step {
        if let Some(offered) = calls.held.take() {
            for call in calls.uses.clone() {
                self.feed(&mut calls, &call, &offered);
            }
        }
        if let Some(dispatching) = &mut calls.dispatching {
            dispatching.feed = None;
        }
        let (mut refused, mut carried_out, mut delegated) = (None, false, false);
        for place in 0..calls.uses.len() {
            if let Some(ended) = self.settled(&mut calls, place).await {
                return self.stop(calls, ended).await;
            }
            match calls.became.get(place) {
                Some(Became::Refused(rejection, _)) => refused = Some(rejection.clone()),
                // What a sub-agent did counts as it does it.
                Some(Became::Finished(asked, _)) if asked.name == subagent::NAME => delegated = true,
                Some(Became::Finished(..) | Became::Responded(..)) => carried_out = true,
                _ => {}
            }
            if let Some(ended) = self.answer(&mut calls, place).await? {
                return self.stop(calls, ended).await;
            }
            if let Some(ended) = self.desk.take_stop() {
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
        // All have ended; the task lets go of the session before the loop goes on.
        if let Some(Dispatching { task, .. }) = &mut calls.dispatching {
            task.shutdown().await;
        }
        Ok(State::Assemble)
    }

    /// Waits until a call has something like a result; how the task ends, if it does before.
    async fn settled(&mut self, calls: &mut Calls, place: usize) -> Option<Ended> {
        while matches!(calls.became.get(place), Some(Became::Open | Became::Started)) {
            let told = match &mut calls.dispatching {
                Some(Dispatching { task, .. }) => tokio::select! {
                    biased;
                    () = self.cancel.cancelled() => return Some(self.interrupted()),
                    told = self.told.recv() => told,
                    _ = task.join_next(), if !task.is_empty() => continue,
                    // It has ended, and all that it said was heard: it owes this call its result.
                    () = std::future::ready(()), if task.is_empty() => None,
                },
                None => None,
            };
            match told {
                Some(told) => {
                    if let Some(ended) = self.heed(calls, told) {
                        return Some(ended);
                    }
                }
                None => calls.became[place] = lost(self.contract_call(&calls.uses[place])),
            }
        }
        None
    }

    /// Gives the model the result of a call, where there is one; how the task ends, if that is the end of it.
    async fn answer(&mut self, calls: &mut Calls, place: usize) -> Result<Option<Ended>, SessionStoreError> {
        let call = calls.uses[place].clone();
        match std::mem::replace(&mut calls.became[place], Became::Answered) {
            Became::Malformed => {
                let text =
                    "the call was not run: its arguments are no JSON object, perhaps cut by the limit on output tokens";
                self.write(&call, text.into(), true)?;
                Ok(None)
            }
            Became::Refused(rejection, _) => {
                self.write(&call, rejection.to_string(), true)?;
                Ok(None)
            }
            Became::Responded(asked, result) => self.pass_on(&call, &asked, result, ResultSource::Plugin).await,
            Became::Finished(asked, result) => self.pass_on(&call, &asked, result, ResultSource::Tool).await,
            Became::Interrupted(asked, result) => {
                let reason = self.interrupted().reason.unwrap_or_default();
                let text = self.interrupted_text(&asked, result, &reason).await;
                self.write(&call, text, true)?;
                Ok(None)
            }
            open @ (Became::Open | Became::Started) => {
                calls.became[place] = open;
                Ok(None)
            }
            Became::Answered => Ok(None),
        }
    }

    /// Stops what runs. Each call then has its result: its own, where it was there before, else the reason of the end.
    pub(super) async fn stop(&mut self, mut calls: Calls, ended: Ended) -> Step {
        self.limits.halt(&ended);
        // What was there before the end is still given to the model.
        while let Ok(told) = self.told.try_recv() {
            let _ = self.heed(&mut calls, told);
        }
        let reason = ended.reason.clone().unwrap_or_else(|| "the task has ended".into());
        let started: Vec<bool> = calls.became.iter().map(|became| matches!(became, Became::Started)).collect();
        let settled: Vec<bool> =
            calls.became.iter().map(|became| !matches!(became, Became::Open | Became::Started)).collect();
        if let Some(Dispatching { feed, mut task, cancel }) = calls.dispatching.take() {
            drop(feed);
            cancel.cancel();
            let _ = tokio::time::timeout(GRACE, async { while task.join_next().await.is_some() {} }).await;
            task.shutdown().await;
        }
        while let Ok(told) = self.told.try_recv() {
            match told {
                Told::Happened(event) => self.report(&event),
                Told::Call(place, Became::Interrupted(asked, result)) if !settled[place] => {
                    calls.became[place] = Became::Interrupted(asked, result);
                }
                _ => {}
            }
        }
        self.take_over_usage();
        for place in 0..calls.uses.len() {
            // Once the run is cancelled nobody is asked any more, and nothing unseen is written.
            let is_interrupted = matches!(calls.became[place], Became::Interrupted(..));
            if settled[place] && !is_interrupted && (!self.cancel.is_cancelled() || !needs_asking(&calls.became[place]))
            {
                let _ = self.answer(&mut calls, place).await?;
                continue;
            }
            let text = if let Became::Interrupted(asked, result) =
                std::mem::replace(&mut calls.became[place], Became::Answered)
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

    /// The result of a call that was stopped: what it had printed, as plugins leave it. Where they do not look at it in time,
    /// or withhold it, it is left out.
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

    /// The call as plugins are told of it.
    pub(super) fn contract_call(&self, call: &ToolUse) -> ToolCall {
        let origin = self.tools.get(&call.name).map_or(ToolOrigin::External, |tool| tool.origin());
        self.session.tool_call(&call.id, &call.name, &call.arguments, origin)
    }
}

fn needs_asking(became: &Became) -> bool {
    matches!(became, Became::Responded(..) | Became::Finished(..) | Became::Interrupted(..))
}

/// What the model is told of a call whose result it does not get. One that was carried out must not be made again unawares.
fn aborted(reason: &str, carried_out: bool) -> String {
    match carried_out {
        true => format!("aborted: {reason} before its result was looked at; the call had been carried out"),
        false => format!("aborted: {reason}"),
    }
}

/// For a call whose result never came.
fn lost(call: ToolCall) -> Became {
    let error = ToolError::Panicked { tool: call.name.clone() };
    Became::Finished(call, ToolResult::error(error.to_string()))
}
