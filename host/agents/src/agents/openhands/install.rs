//! OpenHands reads its hooks from `hooks.json`, whose outermost keys are the hook points in snake case.

use super::AGENT;
use crate::plan::{Context, FilePlan, JsonEntry, NotInstallable, Plan, Scope};
use serde_json::json;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".openhands/hooks.json"),
        Scope::Project => context.project.join(".openhands/hooks.json"),
        Scope::Managed => {
            let why = "OpenHands has no hooks of the machine: install for each user or project";
            return Err(NotInstallable(why.to_owned()));
        }
    };
    let installed = AGENT.points.iter().filter(|point| point.installed);
    let entry = |point: &str| {
        let hook =
            json!({ "type": "command", "command": context.command(&AGENT, point), "timeout": AGENT.timeout(point) });
        JsonEntry::element(&[&snake_case(point)], json!({ "matcher": "*", "hooks": [hook] }))
    };
    let entries = installed.map(|point| entry(point.name)).collect();
    let plan = Plan::new(vec![FilePlan::Json { path, entries }]);
    let plan = plan.step(
        "If `hooks.json` has the outermost key `hooks`, or names such as `PreToolUse`, write them as `pre_tool_use` at the \
         top: OpenHands reads one spelling only",
    );
    Ok(match context.scope {
        Scope::User => {
            plan.step("A project that has its own `.openhands/hooks.json` needs the hook there: only one counts")
        }
        Scope::Project | Scope::Managed => plan,
    })
}

/// Converts a name such as `PreToolUse` into `pre_tool_use`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
