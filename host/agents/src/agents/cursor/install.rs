//! Cursor reads its hooks from `hooks.json` of the user, the project or the machine. It reloads a file that changes.

use super::AGENT;
use crate::plan::{Context, FilePlan, JsonEntry, NotInstallable, OnFailure, Plan, Scope};
use hookhost_contract::EventKind;
use serde_json::json;
use std::path::PathBuf;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".cursor/hooks.json"),
        Scope::Project => context.project.join(".cursor/hooks.json"),
        Scope::Managed if cfg!(target_os = "macos") => PathBuf::from("/Library/Application Support/Cursor/hooks.json"),
        Scope::Managed if cfg!(windows) => PathBuf::from(r"C:\ProgramData\Cursor\hooks.json"),
        Scope::Managed => PathBuf::from("/etc/cursor/hooks.json"),
    };
    let mut entries = vec![JsonEntry::default(&["version"], json!(1))];
    for point in AGENT.points.iter().filter(|point| point.installed) {
        let mut hook = json!({ "command": context.command(&AGENT, point.name), "timeout": point.timeout });
        // Without `failClosed`, a hook that is missing or crashes lets the call run.
        let is_gate = point.abilities.rejects || point.event == EventKind::BeforeToolCall;
        if is_gate && context.on_failure == OnFailure::Deny {
            hook["failClosed"] = json!(true);
        }
        entries.push(JsonEntry::element(&["hooks", point.name], hook));
    }
    let plan = Plan::new(vec![FilePlan::Json { path, entries }]);
    Ok(match context.scope {
        Scope::Project => {
            plan.step("Trust the workspace in Cursor: it runs a project's hooks in trusted workspaces alone.")
        }
        _ => plan,
    })
}
