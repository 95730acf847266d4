//! goose reads its hooks from Open Plugins, one directory each.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, OnFailure, Plan, Scope};
use serde_json::{Map, Value, json};

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let root = match context.scope {
        Scope::User => context.home.join(".agents/plugins/hookhost"),
        Scope::Project => context.project.join(".agents/plugins/hookhost"),
        Scope::Managed => {
            return Err(NotInstallable(
                "goose has no hooks for a whole machine: install them for each user".to_owned(),
            ));
        }
    };
    let mut hooks = Map::new();
    for point in AGENT.points.iter().filter(|point| point.installed) {
        let mut hook =
            json!({ "type": "command", "command": context.command(&AGENT, point.name), "timeout": point.timeout });
        // goose reads this key only at the hook point before a tool.
        if point.abilities.rejects && context.on_failure == OnFailure::Deny {
            hook["on_failure"] = json!("block");
        }
        hooks.insert(point.name.to_owned(), json!([{ "hooks": [hook] }]));
    }
    let about = json!({
        "name": "hookhost",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Asks hookhost's plugins about what the agent does",
    });
    let files = [("plugin.json", about), ("hooks/hooks.json", json!({ "hooks": Value::Object(hooks) }))];
    let files = files.into_iter().map(|(name, content)| {
        let content = serde_json::to_string_pretty(&content).map_err(|error| NotInstallable(error.to_string()))? + "\n";
        Ok(FilePlan::Whole { path: root.join(name), content, is_program: false })
    });
    Ok(Plan::new(files.collect::<Result<_, _>>()?).step("Start goose again: it reads its plugins when it starts."))
}
