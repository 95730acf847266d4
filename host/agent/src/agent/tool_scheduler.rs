//! Schedules the tool calls of one answer, in a task that runs while the answer still streams in. It asks plugins about
//! each complete call, one at a time and in call order. Allowed calls start at once and run concurrently. A call that
//! writes files runs alone, so it waits for earlier calls, and later calls wait for this call. Commands run
//! concurrently, because the scheduler cannot know whether they write files. If the stream breaks after a call was
//! scheduled, the request is not sent again, because the model would ask for the same call twice.

use super::AgentEvent;
use super::limits::Limits;
use super::run_context::{CallStatus, LoopEvent, RunContext};
use super::state::TaskEnd;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput, Toolbox};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Fuse, FusedFuture as _};
use hookhost::contract::{Action, Decision, Json, Rejection, ToolCall, ToolOrigin, ToolResult};
use hookhost::session::Session;
use hookhost_models::message::ToolUse;
use serde_json::Value;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

/// Everything that is needed to ask plugins about the calls of an answer and to run the calls.
#[derive(Clone)]
pub(super) struct ToolScheduler {
    pub(super) session: Arc<Session>,
    pub(super) run_context: Arc<RunContext>,
    pub(super) tools: Toolbox,
    pub(super) context: ToolContext,
    /// The tools that the model was offered.
    pub(super) offered: Arc<[String]>,
    /// True if a plugin subscribes to `before-tools`. In that case, no call starts before plugins have decided on all
    /// calls.
    pub(super) together: bool,
    pub(super) limits: Arc<Limits>,
}

/// A value with the index of its call in the answer.
type Indexed<T> = (usize, T);

/// The future that asks plugins about a call. It returns the call that may run, or the status of a call that must not
/// run.
type AskingFuture = BoxFuture<'static, Indexed<(ToolUse, Result<ToolCall, CallStatus>)>>;

/// Progress of the calls.
#[derive(Default)]
struct Schedule {
    unasked: VecDeque<Indexed<ToolUse>>,
    /// Allowed calls that wait for `before-tools`.
    allowed: Vec<Indexed<(ToolUse, ToolCall)>>,
    /// Allowed calls that wait for their turn to run.
    waiting: VecDeque<Indexed<ToolCall>>,
    running: JoinSet<(usize, CallStatus)>,
    /// True if the running call must run alone.
    alone: bool,
    /// True if plugins are asked about no further call, and no further call starts.
    stopped: bool,
}

impl ToolScheduler {
    /// Schedules the calls from `feed`. Returns when all of these calls have results. Also returns when no call runs
    /// and no further call may start.
    pub(super) async fn run(self, mut feed: UnboundedReceiver<ToolUse>) {
        let (mut open, mut fed) = (true, 0);
        let mut calls = Schedule::default();
        let mut asking: Fuse<AskingFuture> = Fuse::terminated();
        loop {
            if asking.is_terminated()
                && !calls.stopped
                && let Some((place, call)) = calls.unasked.pop_front()
            {
                asking = self.clone().asked(place, call).boxed().fuse();
            }
            let all_asked = !open && asking.is_terminated();
            if all_asked && !calls.stopped && !calls.allowed.is_empty() {
                self.settle_together(&mut calls).await;
            }
            self.start(&mut calls);
            let nothing_to_come = calls.stopped || (all_asked && calls.waiting.is_empty());
            if nothing_to_come && calls.running.is_empty() {
                return;
            }
            tokio::select! {
                biased;
                () = self.context.cancel.cancelled(), if !calls.stopped => {
                    calls.stopped = true;
                    // Dropping the future abandons the event, and the log records that.
                    asking = Fuse::terminated();
                }
                call = feed.recv(), if open => match call {
                    Some(call) => {
                        calls.unasked.push_back((fed, call));
                        fed += 1;
                    }
                    None => open = false,
                },
                (place, (call, decided)) = &mut asking, if !asking.is_terminated() => {
                    self.schedule(&mut calls, place, call, decided);
                }
                Some(ended) = calls.running.join_next(), if !calls.running.is_empty() => {
                    calls.alone = false;
                    if let Ok((place, status)) = ended {
                        self.run_context.send(LoopEvent::Call(place, status));
                    }
                }
                else => return,
            }
        }
    }

    /// Schedules a call that plugins have allowed. Reports the status of a call that must not run.
    fn schedule(&self, calls: &mut Schedule, place: usize, call: ToolUse, decided: Result<ToolCall, CallStatus>) {
        if decided.is_ok() {
            self.run_context.send(LoopEvent::Asked(place));
        }
        match decided {
            Ok(allowed) if self.together => calls.allowed.push((place, (call, allowed))),
            Ok(allowed) => calls.waiting.push_back((place, allowed)),
            Err(status) => {
                calls.stopped |= matches!(status, CallStatus::Refused(_, Some(_)));
                self.run_context.send(LoopEvent::Call(place, status));
            }
        }
    }

    /// Asks plugins about one call.
    async fn asked(self, place: usize, call: ToolUse) -> Indexed<(ToolUse, Result<ToolCall, CallStatus>)> {
        let decided = self.decide(&call).await;
        (place, (call, decided))
    }

    /// Returns the call that may run.
    ///
    /// # Errors
    /// Returns the status of the call if it must not run.
    async fn decide(&self, call: &ToolUse) -> Result<ToolCall, CallStatus> {
        if !call.arguments.is_object() {
            return Err(CallStatus::Malformed);
        }
        let origin = self.tools.get(&call.name).map_or(ToolOrigin::External, |tool| tool.origin());
        let asked = self.session.tool_call(&call.id, &call.name, &call.arguments, origin);
        let (id, name) = (call.id.clone(), call.name.clone());
        let answer = self.session.before_tool_call(asked).await;
        let by = answer.record.changed_by;
        if let Decision::Allowed { value } | Decision::Responded { value, .. } = &answer.outcome
            && !by.is_empty()
        {
            let (before, after) = (call.arguments.clone(), json(&value.arguments));
            self.run_context.report(AgentEvent::ToolChanged { id: id.clone(), name: name.clone(), by, before, after });
        }
        match answer.outcome {
            Decision::Allowed { value } => Ok(value),
            Decision::Responded { value, response, by } => {
                self.run_context.report(AgentEvent::ToolAnswered { id, name, by });
                Err(CallStatus::Responded(value, response))
            }
            Decision::Rejected(rejection) => Err(self.refused(call, rejection)),
        }
    }

    /// Asks plugins about all allowed calls together: `before-tools`.
    async fn settle_together(&self, calls: &mut Schedule) {
        let allowed = std::mem::take(&mut calls.allowed);
        let batch = allowed.iter().map(|(_, (_, asked))| asked.clone()).collect();
        let answer = tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => {
                calls.stopped = true;
                return;
            }
            answer = self.session.before_tools(batch) => answer,
        };
        match answer.outcome {
            Decision::Rejected(rejection) => {
                for (place, (call, _)) in allowed {
                    let status = self.refused(&call, rejection.clone());
                    calls.stopped |= matches!(status, CallStatus::Refused(_, Some(_)));
                    self.run_context.send(LoopEvent::Call(place, status));
                }
            }
            _ => calls.waiting.extend(allowed.into_iter().map(|(place, (_, asked))| (place, asked))),
        }
    }

    /// Reports a rejection. If the rejection ends the task, the returned status contains the end of the task.
    fn refused(&self, call: &ToolUse, rejection: Rejection) -> CallStatus {
        self.run_context.report(AgentEvent::ToolRejected {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            refusal: (&rejection).into(),
        });
        if rejection.ends.is_some() {
            return CallStatus::Refused(rejection.clone(), Some(Box::new(TaskEnd::rejected(rejection))));
        }
        let ended = self.limits.count_refusal(call, &rejection);
        CallStatus::Refused(rejection, ended.map(Box::new))
    }

    /// Starts the calls that may run now.
    fn start(&self, calls: &mut Schedule) {
        while !calls.stopped
            && let Some((_, next)) = calls.waiting.front()
        {
            let alone = matches!(next.action, Action::WriteFiles(_));
            if calls.alone || (alone && !calls.running.is_empty()) {
                return;
            }
            let Some((place, call)) = calls.waiting.pop_front() else { return };
            calls.alone = alone;
            self.run_context.send(LoopEvent::Call(place, CallStatus::Started));
            let scheduler = self.clone();
            calls.running.spawn(async move {
                let status = scheduler.execute(call).await;
                (place, status)
            });
        }
    }

    /// Runs one allowed call.
    async fn execute(&self, call: ToolCall) -> CallStatus {
        let arguments = json(&call.arguments);
        let tool = if self.offered.contains(&call.name) {
            self.tools.check(&call.name, &arguments)
        } else {
            Err(ToolError::Unknown { name: call.name.clone(), known: self.offered.join(", ") })
        };
        let output = match tool {
            Ok(tool) => self.call(&tool, &call, arguments).await,
            Err(error) => Err(error),
        };
        match output {
            Ok(ToolOutput { text, is_error, raw }) => {
                CallStatus::Finished(call, ToolResult { text, is_error, raw: raw.map(Json::from) })
            }
            Err(ToolError::Interrupted { output }) => CallStatus::Interrupted(call, ToolResult::error(output)),
            Err(error) => CallStatus::Finished(call, ToolResult::error(error.to_string())),
        }
    }

    async fn call(&self, tool: &Arc<dyn Tool>, call: &ToolCall, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.run_context.report(AgentEvent::ToolStarted {
            id: call.id.clone(),
            name: call.name.clone(),
            origin: call.origin.clone(),
            arguments: arguments.clone(),
        });
        let context = ToolContext { call: call.id.clone(), ..self.context.clone() };
        // A tool may be third-party code, so its panic must not end the run.
        let called = AssertUnwindSafe(async { tool.call(arguments, &context).await }).catch_unwind().await;
        called.unwrap_or_else(|_| Err(ToolError::Panicked { tool: call.name.clone() }))
    }
}

/// Parses arguments from the engine, which are always valid JSON.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
