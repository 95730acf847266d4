//! The tool calls of one answer: each is settled by `before-tool-call` in call order, all of them by `before-tools`,
//! then they run, and each result passes `after-tool-call` in call order.

use super::state::{Ended, Run, State, Step};
use super::{AgentEvent, MAX_REPEATED_REFUSALS, Status};
use crate::message::{Message, ToolUse};
use crate::tool::{Tool, ToolError, ToolOutput};
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use hookhost::contract::{ResultSource, ToolCall, ToolOrigin, ToolResult};
use hookhost::session::{GateOutcome, Rejection, TransformOutcome};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// What becomes of a call.
enum Settled {
    /// It runs, in this form.
    Runs(ToolCall),
    /// A plugin gave its result.
    Responded(ToolCall, ToolResult),
    /// It does not run.
    Refused(Rejection),
    /// It cannot even be asked about.
    Malformed,
}

impl Run<'_> {
    /// Settles the calls of one answer and runs what is allowed.
    pub(super) async fn tool_calls(&mut self, calls: Vec<ToolUse>, offered: &[String]) -> Step {
        let mut settled = Vec::with_capacity(calls.len());
        for call in calls {
            let Some(outcome) = self.settle(&call).await else { return Ok(State::Ended(Ended::cancelled())) };
            if let Settled::Refused(rejection) = &outcome
                && let Some(ended) = self.refused(&call, rejection)
            {
                self.write_refusals(&settled)?;
                self.write(&call, rejection.to_string(), true)?;
                return Ok(State::Ended(ended));
            }
            settled.push((call, outcome));
        }
        match self.settle_together(&mut settled).await {
            Some(None) => {}
            Some(Some(ended)) => {
                self.write_refusals(&settled)?;
                return Ok(State::Ended(ended));
            }
            None => return Ok(State::Ended(Ended::cancelled())),
        }
        self.run_settled(settled, offered).await
    }

    /// Asks plugins about one call. `None` where the run was cancelled.
    async fn settle(&self, call: &ToolUse) -> Option<Settled> {
        if !call.arguments.is_object() {
            return Some(Settled::Malformed);
        }
        let asked = self.contract_call(call);
        let (id, name) = (call.id.clone(), call.name.clone());
        let answer = self.unless_cancelled(self.session.before_tool_call(asked)).await?;
        let by = answer.record.changed_by;
        if let GateOutcome::Allowed { value } | GateOutcome::Responded { value, .. } = &answer.outcome
            && !by.is_empty()
        {
            let (before, after) = (call.arguments.clone(), json(&value.arguments));
            self.report(&AgentEvent::ToolChanged { id: id.clone(), name: name.clone(), by, before, after });
        }
        Some(match answer.outcome {
            GateOutcome::Allowed { value } => Settled::Runs(value),
            GateOutcome::Responded { value, response, by } => {
                self.report(&AgentEvent::ToolAnswered { id, name, by });
                Settled::Responded(value, response)
            }
            GateOutcome::Rejected(rejection) => Settled::Refused(rejection),
        })
    }

    /// Asks plugins about the calls that are to run, together. `None` where the run was cancelled; a way in which the
    /// task ends, where it does.
    async fn settle_together(&mut self, settled: &mut [(ToolUse, Settled)]) -> Option<Option<Ended>> {
        let batch: Vec<ToolCall> = settled
            .iter()
            .filter_map(|(_, outcome)| if let Settled::Runs(call) = outcome { Some(call.clone()) } else { None })
            .collect();
        if batch.is_empty() {
            return Some(None);
        }
        let answer = self.unless_cancelled(self.session.before_tools(batch)).await?;
        let GateOutcome::Rejected(rejection) = answer.outcome else { return Some(None) };
        let mut ended = None;
        for (call, outcome) in settled.iter_mut().filter(|(_, outcome)| matches!(outcome, Settled::Runs(_))) {
            ended = ended.or(self.refused(call, &rejection));
            *outcome = Settled::Refused(rejection.clone());
        }
        Some(ended)
    }

    /// Tells of a refusal; how the task ends, if that is the end of it.
    fn refused(&mut self, call: &ToolUse, rejection: &Rejection) -> Option<Ended> {
        self.report(&AgentEvent::ToolRefused {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            refusal: rejection.into(),
        });
        if rejection.refusal.stop {
            return Some(Ended::rejected(rejection.clone()));
        }
        let times = self.task.refusals.entry((call.name.clone(), call.arguments.to_string())).or_default();
        *times += 1;
        (*times >= MAX_REPEATED_REFUSALS).then(|| Ended {
            status: Status::Rejected,
            reason: Some(format!("the model repeated a refused call of {} {times} times: {rejection}", call.name)),
            rejection: Some(rejection.clone()),
            stop: true,
        })
    }

    /// Before the task ends early: each refused call gets its own reason, not that of the end.
    fn write_refusals(&mut self, settled: &[(ToolUse, Settled)]) -> Result<(), crate::transcript::TranscriptError> {
        for (call, outcome) in settled {
            if let Settled::Refused(rejection) = outcome {
                self.write(call, rejection.to_string(), true)?;
            }
        }
        Ok(())
    }

    /// Runs what is allowed, in call order; neighbours that only read run together. Each result is on disk before the
    /// next call starts.
    async fn run_settled(&mut self, settled: Vec<(ToolUse, Settled)>, offered: &[String]) -> Step {
        let mut rest = settled.into_iter().peekable();
        while let Some((call, outcome)) = rest.next() {
            let first = match outcome {
                Settled::Malformed => {
                    let text = "the call was not run: its arguments are no JSON object, perhaps cut by the limit on output tokens";
                    self.write(&call, text.into(), true)?;
                    continue;
                }
                Settled::Refused(rejection) => {
                    self.write(&call, rejection.to_string(), true)?;
                    continue;
                }
                Settled::Responded(asked, response) => {
                    if let Some(ended) = self.pass_on(&call, &asked, response, ResultSource::Plugin).await? {
                        return Ok(State::Ended(ended));
                    }
                    continue;
                }
                Settled::Runs(asked) => asked,
            };
            let mut together = vec![(call, first)];
            while self.only_reads(&together[0].1)
                && let Some((call, Settled::Runs(asked))) =
                    rest.next_if(|(_, next)| matches!(next, Settled::Runs(next) if self.only_reads(next)))
            {
                together.push((call, asked));
            }
            let running = join_all(together.iter().map(|(_, asked)| self.execute(asked, offered)));
            let Some(results) = self.unless_cancelled(running).await else {
                return Ok(State::Ended(Ended::cancelled()));
            };
            for ((call, asked), result) in together.iter().zip(results) {
                if let Some(ended) = self.pass_on(call, asked, result, ResultSource::Tool).await? {
                    return Ok(State::Ended(ended));
                }
            }
        }
        Ok(State::Assemble)
    }

    fn only_reads(&self, call: &ToolCall) -> bool {
        self.agent.tools.get(&call.name).is_some_and(|tool| tool.only_reads())
    }

    /// Runs one call, as settled.
    async fn execute(&self, call: &ToolCall, offered: &[String]) -> ToolResult {
        let arguments = json(&call.arguments);
        let tool = if offered.contains(&call.name) {
            self.agent.tools.check(&call.name, &arguments)
        } else {
            Err(ToolError::Unknown { name: call.name.clone(), known: offered.join(", ") })
        };
        let output = match tool {
            Ok(tool) => self.start_tool(&tool, call, arguments).await,
            Err(error) => Err(error),
        };
        match output {
            Ok(ToolOutput { text, is_error, raw }) => {
                ToolResult { text, is_error, raw: raw.map(|raw| raw.to_string()) }
            }
            Err(error) => ToolResult::error(error.to_string()),
        }
    }

    async fn start_tool(
        &self,
        tool: &Arc<dyn Tool>,
        call: &ToolCall,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        self.report(&AgentEvent::ToolStarted {
            id: call.id.clone(),
            name: call.name.clone(),
            origin: call.origin.clone(),
            arguments: arguments.clone(),
        });
        // A tool may be anybody's: its panic is its own failure.
        let called = AssertUnwindSafe(async { tool.call(arguments, &self.context).await }).catch_unwind().await;
        called.unwrap_or_else(|_| Err(ToolError::Panicked { tool: call.name.clone() }))
    }

    /// Lets plugins look at a result, then gives it to the model; how the task ends, if that is the end of it.
    async fn pass_on(
        &mut self,
        call: &ToolUse,
        asked: &ToolCall,
        result: ToolResult,
        source: ResultSource,
    ) -> Result<Option<Ended>, crate::transcript::TranscriptError> {
        let Some(settled) = self.unless_cancelled(self.session.after_tool_call(asked, result, source)).await else {
            return Ok(Some(Ended::cancelled()));
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
                Ok(rejection.refusal.stop.then(|| Ended::rejected(rejection)))
            }
        }
    }

    /// The result of a call, for the model.
    fn write(
        &mut self,
        call: &ToolUse,
        text: String,
        is_error: bool,
    ) -> Result<(), crate::transcript::TranscriptError> {
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
        let origin = self.agent.tools.get(&call.name).map_or(ToolOrigin::External, |tool| tool.origin());
        self.session.tool_call(&call.id, &call.name, &call.arguments, origin)
    }
}

/// Arguments that the engine settled: JSON always.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
