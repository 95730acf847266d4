//! Gemini CLI reads its hooks from `settings.json` of the user, the project or the machine.

use super::AGENT;
use crate::plan::{Context, FilePlan, JsonEntry, NotInstallable, Plan, Scope, groups};
use serde_json::json;
use std::path::PathBuf;

/// Milliseconds per second, for timeouts.
const PER_SECOND: u32 = 1000;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".gemini/settings.json"),
        Scope::Project => context.project.join(".gemini/settings.json"),
        Scope::Managed if cfg!(target_os = "macos") => {
            PathBuf::from("/Library/Application Support/GeminiCli/settings.json")
        }
        Scope::Managed => PathBuf::from("/etc/gemini-cli/settings.json"),
    };
    let mut entries = groups(&AGENT, None, |point| {
        json!({
            "name": "hookhost", "type": "command", "command": context.command(&AGENT, point), "timeout": u32::from(AGENT.timeout(point)) * PER_SECOND,
        })
    });
    entries.push(JsonEntry::default(&["hooksConfig", "enabled"], json!(true)));
    let plan = Plan::new(vec![FilePlan::Json { path, entries }]);
    Ok(match context.scope {
        Scope::Project => {
            plan.step("Start Gemini CLI in the project and trust its hooks: it asks, and runs none of them before")
        }
        Scope::User | Scope::Managed => plan,
    })
}
