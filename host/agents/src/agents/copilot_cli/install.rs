//! Copilot reads each JSON file in its hook directories, so the hook has its own file.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let directory = match context.scope {
        Scope::User => context.directory("COPILOT_HOME", ".copilot").join("hooks"),
        Scope::Project => context.project.join(".github/hooks"),
        Scope::Managed if cfg!(windows) => PathBuf::from(r"C:\ProgramData\GitHub\Copilot\policy.d"),
        Scope::Managed => PathBuf::from("/etc/github-copilot/policy.d"),
    };
    let mut hooks = Map::new();
    for point in AGENT.points.iter().filter(|point| point.installed) {
        let words = context.words(&AGENT, point.name);
        let hook = json!({
            "type": "command",
            "bash": context.command(&AGENT, point.name),
            "powershell": powershell(&words),
            "timeoutSec": point.timeout,
        });
        hooks.insert(point.name.to_owned(), json!([hook]));
    }
    let content = serde_json::to_string_pretty(&json!({ "version": 1, "hooks": Value::Object(hooks) }));
    let content = content.map_err(|error| NotInstallable(error.to_string()))? + "\n";
    let path = directory.join("hookhost.json");
    let plan = Plan::new(vec![FilePlan::Whole { path, content, is_program: false }]);
    Ok(match context.scope {
        Scope::Managed => {
            plan.step("Let the file belong to root, and let nobody else write to it: Copilot ignores it otherwise.")
        }
        _ => plan,
    })
}

/// Formats the words as a PowerShell command, each in single quotes, in which only a quote is special.
fn powershell(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', "''")));
    format!("& {}", quoted.collect::<Vec<_>>().join(" "))
}
