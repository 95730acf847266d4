//! The tool `submit_plan`, with which the model splits its work into tasks. The tasks join the queue once plugins have
//! allowed the plan at `plan-submit`.

use super::run_context::RunContext;
use super::{AgentEvent, MAX_TASKS};
use crate::plural::counted;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput, parsed};
use async_trait::async_trait;
use hookhost::contract::{Decision, EventKind, Plan, Task};
use hookhost_models::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// Name of the tool.
pub(super) const NAME: &str = "submit_plan";

/// Adds the tasks of a plan to the queue of the session that the run context belongs to.
#[derive(Debug)]
pub(super) struct SubmitPlan(pub(super) Arc<RunContext>);

#[derive(Deserialize)]
struct Arguments {
    title: String,
    tasks: Vec<String>,
    #[serde(default)]
    clear_existing: bool,
}

const DESCRIPTION: &str = "Queues tasks that are done one after the other, in order, when the task at hand has ended: you are then given each \
 of them as a prompt. Use it for work of several steps that each need room of their own, and end the task at hand \
 with a short answer after it.";

/// Returns the tool's definition for the model.
pub(super) fn definition() -> ToolDefinition {
    let properties = json!({
        "title": { "type": "string", "description": "What the plan is about, in a few words" },
        "tasks": {
            "type": "array",
            "items": { "type": "string" },
            "description": "The tasks, each a prompt that can be understood by itself",
        },
        "clear_existing": { "type": "boolean", "description": "Whether the tasks of your earlier plans that still wait are dropped; those of others stay" },
    });
    crate::tool::definition(NAME, DESCRIPTION, properties, &["title", "tasks"])
}

#[async_trait]
impl Tool for SubmitPlan {
    fn definition(&self) -> ToolDefinition {
        definition()
    }

    async fn call(&self, arguments: Value, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Arguments { title, tasks, clear_existing } = parsed(NAME, arguments)?;
        let tasks: Vec<Task> = tasks.into_iter().map(|prompt| Task { prompt, title: None }).collect();
        let run_context = &self.0;
        let Some(session) = run_context.session() else { return Err(ToolError::Aborted) };
        if let Some(failed) = unfit(&tasks) {
            return Ok(failed);
        }
        let proposed = Plan { title, tasks, clear_existing };
        let settled = session.plan_submit(proposed.clone()).await;
        let plan = match settled.outcome {
            Decision::Allowed { value } | Decision::Responded { value, .. } => value,
            Decision::Rejected(rejection) => return Ok(run_context.rejected(EventKind::PlanSubmit, &rejection)),
        };
        run_context.changed(EventKind::PlanSubmit, settled.record.changed_by, &proposed, &plan);
        if let Some(failed) = unfit(&plan.tasks) {
            return Ok(failed);
        }
        let own: Vec<String> = proposed.tasks.into_iter().map(|task| task.prompt).collect();
        let title = plan.title.clone();
        let (submitted, waiting, ended) = {
            let mut queue = run_context.queue();
            let submitted = queue.add_plan(plan, &own);
            (submitted, queue.waiting(), queue.tasks_ended())
        };
        for plan in submitted.closed {
            run_context.report(AgentEvent::PlanEnded {
                title: plan.title.clone(),
                tasks: plan.tasks,
                completed: plan.completed,
            });
            let _ = session.plan_complete(plan).await;
        }
        if !submitted.dropped.is_empty() {
            run_context.report(AgentEvent::Notice { text: dropped(&title, &submitted.dropped) });
        }
        if !submitted.left_out.is_empty() {
            run_context.report(AgentEvent::Notice { text: left_out(&title, &submitted.left_out) });
        }
        let (queued, beyond) = (submitted.queued.len(), submitted.left_out.len());
        run_context.report(AgentEvent::PlanSubmitted { title, tasks: submitted.queued });
        run_context.report(AgentEvent::Queue { ended, waiting });
        let mut output = match (queued, beyond) {
            (0, beyond) => ToolOutput::error(format!("no task was queued: the session has no room for these {beyond}")),
            (1, 0) => ToolOutput::success("queued 1 task; it follows when this one has ended"),
            (queued, 0) => ToolOutput::success(format!("queued {queued} tasks; they follow when this one has ended")),
            (queued, beyond) => ToolOutput::success(format!(
                "queued {}; the session has no room for more: {} left out: {}",
                counted(queued, "task"),
                counted(beyond, "task"),
                first(&submitted.left_out)
            )),
        };
        // The result is part of the transcript and the log, so it records dropped and left-out tasks.
        if !submitted.dropped.is_empty() {
            let _ = write!(output.text, "; dropped {} of your earlier plans", counted(submitted.dropped.len(), "task"));
        }
        if submitted.kept > 0 {
            let _ = write!(
                output.text,
                "; the queue keeps {} that others added and that you cannot drop",
                counted(submitted.kept, "task")
            );
        }
        Ok(output)
    }
}

/// Returns the notice for the user about dropped tasks.
fn dropped(title: &str, prompts: &[String]) -> String {
    let (title, count) = (start(title, 60), counted(prompts.len(), "task"));
    format!("the plan \"{title}\" dropped {count} of earlier plans: {}", first(prompts))
}

/// Returns the notice for the user about tasks that did not fit.
fn left_out(title: &str, prompts: &[String]) -> String {
    let (title, count) = (start(title, 60), counted(prompts.len(), "task"));
    format!("a run takes at most {MAX_TASKS} tasks of plans, so the plan \"{title}\" lost {count}: {}", first(prompts))
}

/// Returns the beginnings of the first three prompts.
fn first(prompts: &[String]) -> String {
    let first: Vec<String> = prompts.iter().take(3).map(|prompt| format!("\"{}\"", start(prompt, 60))).collect();
    first.join(", ") + if prompts.len() > 3 { ", …" } else { "" }
}

/// Returns the first line, cut after this number of characters.
fn start(text: &str, characters: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(characters) {
        Some((place, _)) => format!("{}…", &line[..place]),
        None => line.to_owned(),
    }
}

/// Returns the tool's error if the plan has no tasks or an empty task. The model or a plugin may have caused this.
fn unfit(tasks: &[Task]) -> Option<ToolOutput> {
    if tasks.is_empty() {
        return Some(ToolOutput::error("the plan has no tasks: name at least one, or do the work without a plan"));
    }
    let empty = tasks.iter().position(|task| task.prompt.trim().is_empty())?;
    Some(ToolOutput::error(format!("task {} of the plan is empty: say what is to be done", empty + 1)))
}
