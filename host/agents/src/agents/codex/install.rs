//! Codex reads its hooks from `hooks.json`, and runs the hooks that a person has trusted.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope, groups};
use serde_json::json;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.directory("CODEX_HOME", ".codex").join("hooks.json"),
        Scope::Project => context.project.join(".codex/hooks.json"),
        Scope::Managed => {
            let why = "Codex reads managed hooks from its `requirements.toml`, which an administrator writes: add \
                       `hookhost-hook codex` there, or install for a user";
            return Err(NotInstallable(why.to_owned()));
        }
    };
    let entries = groups(&AGENT, None, |point| {
        let timeout = AGENT.timeout(point);
        json!({ "type": "command", "command": context.command(&AGENT, point), "timeout": timeout })
    });
    let plan = Plan::new(vec![FilePlan::Json { path, entries }]);
    let plan = plan.step("Start Codex, type /hooks and trust the hooks of hookhost: until then Codex skips them");
    Ok(match context.scope {
        Scope::Project => plan.step("Trust the project in Codex: it reads no hooks of a project that is not trusted"),
        Scope::User | Scope::Managed => plan,
    })
}
