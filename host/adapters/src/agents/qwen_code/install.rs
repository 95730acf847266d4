//! Qwen Code reads its hooks from `settings.json`, of the user, the project or the machine.

use super::AGENT;
use crate::install::{Context, FilePlan, NotInstallable, Plan, Scope, groups};
use serde_json::json;
use std::path::PathBuf;

/// How long the agent waits for the hook, in milliseconds: longer than a person has for an answer. Newer versions read
/// seconds, and a number of 1000 or more as milliseconds; older ones always read milliseconds.
const TIMEOUT: u32 = 330_000;

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
            "name": "hookhost", "type": "command", "command": context.command(&AGENT, point), "timeout": TIMEOUT,
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
