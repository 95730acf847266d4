//! Codex reads its hooks from `hooks.json`, and runs those that a person has trusted.

use super::AGENT;
use crate::install::{Context, FilePlan, NotInstallable, Plan, Scope, groups};
use serde_json::json;

/// How long the agent waits for the hook, in seconds: longer than a person has for an answer.
const TIMEOUT: u32 = 330;

/// At these two the agent waits for three seconds at most.
const END_TIMEOUT: u32 = 3;

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
        let timeout = if matches!(point, "SessionEnd" | "Interrupt") { END_TIMEOUT } else { TIMEOUT };
        json!({ "type": "command", "command": context.command(&AGENT, point), "timeout": timeout })
    });
    let plan = Plan::new(vec![FilePlan::Json { path, entries }]);
    let plan = plan.step("Start Codex, type /hooks and trust the hooks of hookhost: until then Codex skips them");
    Ok(match context.scope {
        Scope::Project => plan.step("Trust the project in Codex: it reads no hooks of a project that is not trusted"),
        Scope::User | Scope::Managed => plan,
    })
}
