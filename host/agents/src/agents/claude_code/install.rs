//! Claude Code reads its hooks from `settings.json`, of the user, the project or the machine.

use super::AGENT;
use crate::plan::{Context, FilePlan, NotInstallable, Plan, Scope, groups};
use serde_json::json;
use std::path::PathBuf;

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let path = match context.scope {
        Scope::User => context.directory("CLAUDE_CONFIG_DIR", ".claude").join("settings.json"),
        Scope::Project => context.project.join(".claude/settings.json"),
        Scope::Managed if cfg!(target_os = "macos") => {
            PathBuf::from("/Library/Application Support/ClaudeCode/managed-settings.json")
        }
        Scope::Managed => PathBuf::from("/etc/claude-code/managed-settings.json"),
    };
    let entries = groups(&AGENT, Some("*"), |point| {
        let timeout = AGENT.timeout(point);
        let words = context.words(&AGENT, point);
        let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        json!({
            "type": "command", "command": program, "args": arguments, "timeout": timeout, "onFailure": "block",
        })
    });
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]))
}
