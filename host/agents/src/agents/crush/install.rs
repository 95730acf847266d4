//! Crush reads its hooks from `crush.json`, of the user or the project.

use super::AGENT;
use crate::plan::{Context, FilePlan, JsonEntry, NotInstallable, Plan, Scope};
use serde_json::json;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => {
            let directory = (context.variable)("CRUSH_GLOBAL_CONFIG");
            let directory = directory.unwrap_or_else(|| context.directory("XDG_CONFIG_HOME", ".config").join("crush"));
            directory.join("crush.json")
        }
        Scope::Project => context.project.join("crush.json"),
        Scope::Managed => {
            let why = "Crush has no hooks of the machine: install for each user or project";
            return Err(NotInstallable(why.to_owned()));
        }
    };
    let installed = AGENT.points.iter().filter(|point| point.installed);
    let entry = |point: &str| {
        let hook =
            json!({ "name": "hookhost", "command": context.command(&AGENT, point), "timeout": AGENT.timeout(point) });
        JsonEntry::element(&["hooks", point], hook)
    };
    let entries = installed.map(|point| entry(point.name)).collect();
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]))
}
