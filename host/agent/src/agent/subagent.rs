//! The tool `agent`: runs a task in a sub-agent with its own context, under the same plugins. The sub-agent's session
//! names its parent and is one level deeper. Its tokens are counted in both sessions, and it ends when its parent ends.

use super::limits::{Limits, Spawn};
use super::run::Run;
use super::run_context::RunContext;
use super::{Agent, AgentEvent, Reporter, RunOutcome, Status};
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput, parsed};
use async_trait::async_trait;
use hookhost::contract::{Decision, EventKind, Subagent, SubagentSummary};
use hookhost_models::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Name of the tool.
pub(super) const NAME: &str = "agent";

/// Starts sub-agents of the agent that the run context belongs to.
#[derive(Debug)]
pub(super) struct SpawnAgent {
    pub(super) agent: Agent,
    pub(super) run_context: Arc<RunContext>,
    pub(super) limits: Arc<Limits>,
}

#[derive(Deserialize)]
struct Arguments {
    prompt: String,
}

const DESCRIPTION: &str = "Gives a task to another agent, which has the same tools and the same directory, and knows nothing of this conversation: \
 say all that it needs. Its final answer is the result. Several calls of one answer run at the same time: give them \
 work that does not meet.";

/// Returns the tool's definition for the model.
pub(super) fn definition() -> ToolDefinition {
    let properties = json!({ "prompt": { "type": "string", "minLength": 1, "description": "The task" } });
    crate::tool::definition(NAME, DESCRIPTION, properties, &["prompt"])
}

#[async_trait]
impl Tool for SpawnAgent {
    fn definition(&self) -> ToolDefinition {
        definition()
    }

    async fn call(&self, arguments: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Arguments { prompt } = parsed(NAME, arguments)?;
        let Self { agent, run_context, limits } = self;
        let Some(session) = run_context.session() else { return Err(ToolError::Aborted) };
        let max = agent.config.max_subagents_per_session.get();
        if !run_context.count_subagent(max) {
            return Ok(ToolOutput::error(format!(
                "this session has started all of its {max} sub-agents: do the rest yourself"
            )));
        }
        let notice = match limits.count_subagent() {
            Spawn::Counted(notice) => notice,
            Spawn::Full(max, notice) => {
                if let Some(text) = notice {
                    run_context.report(AgentEvent::Notice { text });
                }
                return Ok(ToolOutput::error(format!(
                    "this run has started all of its {max} sub-agents: do the rest yourself"
                )));
            }
        };
        if let Some(text) = notice {
            run_context.report(AgentEvent::Notice { text });
        }
        let depth = agent.config.depth + 1;
        let asked = Subagent { call_id: context.call.clone(), depth, prompt };
        let settled = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(ToolError::Aborted),
            settled = session.subagent_start(asked.clone()) => settled,
        };
        let prompt = match settled.outcome {
            Decision::Allowed { value } | Decision::Responded { value, .. } => value.prompt,
            Decision::Rejected(rejection) => return Ok(run_context.rejected(EventKind::SubagentStart, &rejection)),
        };
        run_context.changed(EventKind::SubagentStart, settled.record.changed_by, &asked.prompt, &prompt);
        let _running = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(ToolError::Aborted),
            permit = limits.subagent(depth) => permit,
        };
        if limits.halted().is_some() {
            return Err(ToolError::Aborted);
        }
        let reporter = ToParent { run_context: Arc::clone(run_context), call: context.call.clone(), depth };
        let child = self.child(session.id());
        let run = Run::begin(&child, &reporter, &context.cancel, Arc::clone(limits), None);
        let outcome = match run {
            Ok(run) => run.finish(Some(&prompt)).await,
            Err(error) => return Ok(ToolOutput::error(format!("the sub-agent could not be started: {error}"))),
        };
        run_context.add_usage(outcome.usage, outcome.turns.saturating_add(outcome.subagent_turns));
        // The whole run ends, no matter which session demanded it.
        if let Some(ended) = limits.halted() {
            run_context.end(ended);
        }
        let _ = session.subagent_end(summary(&outcome, &context.call)).await;
        Ok(result(outcome))
    }
}

impl SpawnAgent {
    /// Returns the agent one level deeper.
    fn child(&self, parent: &str) -> Agent {
        let mut agent = self.agent.clone();
        agent.config.depth += 1;
        agent.config.parent = Some(parent.to_owned());
        agent.config.session = None;
        // The parent's cancellation token already applies the time limit.
        agent.config.max_time = None;
        agent
    }
}

fn summary(outcome: &RunOutcome, call: &str) -> SubagentSummary {
    SubagentSummary {
        session: outcome.session.clone(),
        call_id: call.to_owned(),
        status: outcome.status.name().to_owned(),
        text: outcome.text.clone(),
        turns: outcome.turns,
        input_tokens: outcome.usage.input_tokens,
        output_tokens: outcome.usage.output_tokens,
    }
}

fn result(outcome: RunOutcome) -> ToolOutput {
    if outcome.status == Status::Success {
        let text = if outcome.text.is_empty() { "the sub-agent ended without a text".into() } else { outcome.text };
        return ToolOutput::success(text);
    }
    let reason = outcome.reason.unwrap_or_else(|| "no reason was given".into());
    let mut text = format!("the sub-agent ended as {}: {reason}", outcome.status.name());
    if !outcome.text.is_empty() {
        text.push_str("\nIts last answer was: ");
        text.push_str(&outcome.text);
    }
    ToolOutput::error(text)
}

/// Reports a sub-agent's events to its parent.
struct ToParent {
    run_context: Arc<RunContext>,
    call: String,
    depth: u32,
}

impl Reporter for ToParent {
    fn report(&self, event: &AgentEvent) {
        // Events from deeper levels already carry their depth.
        let event = match event {
            AgentEvent::Subagent { .. } => event.clone(),
            _ => AgentEvent::Subagent { call: self.call.clone(), depth: self.depth, event: Box::new(event.clone()) },
        };
        self.run_context.report(event);
    }
}
