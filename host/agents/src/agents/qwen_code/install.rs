//! Qwen Code reads its hooks from `settings.json` of the user, the project or the machine.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope, groups};
use serde_json::json;
use std::path::PathBuf;

/// Milliseconds per second. Newer versions read a timeout below 1000 as seconds and any other as milliseconds. Older
/// versions always read milliseconds.
const PER_SECOND: u32 = 1000;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.home.join(".qwen/settings.json"),
        Scope::Project => context.project.join(".qwen/settings.json"),
        Scope::Managed if cfg!(target_os = "macos") => {
            PathBuf::from("/Library/Application Support/QwenCode/settings.json")
        }
        Scope::Managed => PathBuf::from("/etc/qwen-code/settings.json"),
    };
    let entries = groups(&AGENT, None, |point| {
        json!({
            "name": "hookhost", "type": "command", "command": context.command(&AGENT, point), "timeout": u32::from(AGENT.timeout(point)) * PER_SECOND,
        })
    });
    let plan = Plan::new(vec![FilePlan::Json { path, entries }]);
    Ok(match context.scope {
        Scope::Project => {
            plan.step("Trust the directory in Qwen Code: it runs no hooks of a project that is not trusted")
        }
        Scope::User | Scope::Managed => plan,
    })
}
