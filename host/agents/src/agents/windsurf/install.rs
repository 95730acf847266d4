//! Windsurf reads its hooks from `hooks.json` of the machine, the user and the workspace, and runs all of them in this
//! order.

use super::AGENT;
use crate::plan::{Context, FilePlan, JsonEntry, NotInstallable, Plan, Scope};
use serde_json::json;
use std::path::PathBuf;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".codeium/windsurf/hooks.json"),
        Scope::Project => context.project.join(".windsurf/hooks.json"),
        Scope::Managed if cfg!(target_os = "macos") => {
            PathBuf::from("/Library/Application Support/Windsurf/hooks.json")
        }
        Scope::Managed if cfg!(windows) => PathBuf::from(r"C:\ProgramData\Windsurf\hooks.json"),
        Scope::Managed => PathBuf::from("/etc/windsurf/hooks.json"),
    };
    let installed = AGENT.points.iter().filter(|point| point.installed);
    let entry = |name: &str| {
        // The user should see why a call was blocked.
        let hook = json!({ "command": context.command(&AGENT, name), "show_output": true });
        JsonEntry::element(&["hooks", name], hook)
    };
    let entries = installed.map(|point| entry(point.name)).collect();
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]))
}
