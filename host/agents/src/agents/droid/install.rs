//! Droid reads its hooks from `hooks.json`, whose outermost keys are the hook points.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope, groups_at};
use serde_json::json;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".factory/hooks.json"),
        Scope::Project => context.project.join(".factory/hooks.json"),
        Scope::Managed => {
            let why = "Droid reads the hooks of an organisation from its web settings (Enterprise Controls, Hooks \
                       Policy): add `hookhost-hook droid` there, or install for a user";
            return Err(NotInstallable(why.to_owned()));
        }
    };
    let entries = groups_at(
        &AGENT,
        &[],
        Some("*"),
        |point| json!({ "type": "command", "command": context.command(&AGENT, point), "timeout": AGENT.timeout(point) }),
    );
    let step = "If the file `settings.json` beside it has hooks of yours, move them to `hooks.json`: Droid reads only one \
                of both. Then start Droid again";
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]).step(step))
}
