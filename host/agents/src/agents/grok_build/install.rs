//! Grok Build reads its hooks from each file of a directory. One file belongs to hookhost.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope};
use serde_json::{Map, Value, json};

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".grok/hooks/hookhost.json"),
        Scope::Project => context.project.join(".grok/hooks/hookhost.json"),
        Scope::Managed => {
            let why = "Grok Build has no hooks of the machine: install for each user or project";
            return Err(NotInstallable(why.to_owned()));
        }
    };
    let installed = AGENT.points.iter().filter(|point| point.installed);
    let hooks = installed.map(|point| {
        let hook = json!({ "type": "command", "command": context.command(&AGENT, point.name), "timeout": AGENT.timeout(point.name) });
        (point.name.to_owned(), json!([{ "hooks": [hook] }]))
    });
    let content = json!({ "hooks": Value::Object(hooks.collect::<Map<_, _>>()) });
    let content = format!("{content:#}\n");
    let plan = Plan::new(vec![FilePlan::Whole { path, content, is_program: false }]);
    Ok(match context.scope {
        Scope::Project => {
            plan.step("Type /hooks-trust in Grok Build: it runs no hooks of a project that is not trusted")
        }
        Scope::User | Scope::Managed => plan,
    })
}
