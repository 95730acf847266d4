//! Kiro 3.0 reads its hooks from each file of a directory. One file belongs to hookhost.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope};
use serde_json::{Value, json};

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".kiro/hooks/hookhost.json"),
        Scope::Project => context.project.join(".kiro/hooks/hookhost.json"),
        Scope::Managed => {
            let why = "Kiro has no hooks of the machine: install for each user or project";
            return Err(NotInstallable(why.to_owned()));
        }
    };
    let installed = AGENT.points.iter().filter(|point| point.installed);
    let hooks: Vec<Value> = installed
        .map(|point| {
            json!({
                "name": format!("hookhost-{}", point.name), "trigger": point.name,
                "action": { "type": "command", "command": context.command(&AGENT, point.name) },
                "timeout": AGENT.timeout(point.name), "enabled": true,
            })
        })
        .collect();
    let content = format!("{:#}\n", json!({ "version": "v1", "hooks": hooks }));
    let plan = Plan::new(vec![FilePlan::Whole { path, content, is_program: false }]);
    Ok(plan.step(
        "Start Kiro 3.0 (`kiro-cli --v3`, or the editor 1.0): older ones read hooks from the file of each agent only",
    ))
}
