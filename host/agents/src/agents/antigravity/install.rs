//! Antigravity reads its hooks from `hooks.json`, whose outermost keys are names of hooks. The file is strict JSON, and
//! each timeout is an integer.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope, groups_at};
use serde_json::json;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".gemini/config/hooks.json"),
        Scope::Project => context.project.join(".agents/hooks.json"),
        Scope::Managed => {
            let why = "Antigravity has no hooks of the machine: install for each user";
            return Err(NotInstallable(why.to_owned()));
        }
    };
    let entries = groups_at(
        &AGENT,
        &["hookhost"],
        Some("*"),
        |point| json!({ "type": "command", "command": context.command(&AGENT, point), "timeout": AGENT.timeout(point) }),
    );
    let plan = Plan::new(vec![FilePlan::Json { path, entries }]);
    Ok(plan.step("Start Antigravity again: it says nothing about a file of hooks that it does not load"))
}
