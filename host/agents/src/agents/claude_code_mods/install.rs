//! A mod is a plugin, and a plugin comes from a marketplace. Hookhost writes a directory that is one, and names both in
//! the settings.

use super::AGENT;
use crate::agents::own_plugin::{Runtime, file};
use crate::plan::{Context, FilePlan, JsonEntry, NotInstallable, Plan, Scope};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const MODULE: &str = include_str!("../plugins/claude_code_mods.js");

pub(super) fn plan(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let directory = match context.scope {
        Scope::User => context.directory("CLAUDE_CONFIG_DIR", ".claude"),
        Scope::Project => context.project.join(".claude"),
        Scope::Managed if cfg!(target_os = "macos") => PathBuf::from("/Library/Application Support/ClaudeCode"),
        Scope::Managed => PathBuf::from("/etc/claude-code"),
    };
    let settings = match context.scope {
        Scope::Managed => "managed-settings.json",
        Scope::User | Scope::Project => "settings.json",
    };
    let market = directory.join("hookhost");
    let description = "Asks hookhost's plugins about what the agent does";
    let marketplace = json!({
        "name": "hookhost",
        "owner": { "name": "hookhost" },
        "plugins": [{ "name": "hookhost", "source": "./mod", "description": description }],
    });
    let plugin = json!({ "name": "hookhost", "version": env!("CARGO_PKG_VERSION"), "description": description });
    let entries = vec![
        JsonEntry::default(
            &["extraKnownMarketplaces", "hookhost"],
            json!({ "source": { "source": "directory", "path": market.to_string_lossy() } }),
        ),
        JsonEntry::default(&["enabledPlugins", "hookhost@hookhost"], json!(true)),
    ];
    let files = vec![
        whole(&market, ".claude-plugin/marketplace.json", &marketplace)?,
        whole(&market, "mod/.claude-plugin/plugin.json", &plugin)?,
        whole(&market, "mod/hooks/hooks.json", &json!({ "modules": ["./register.js"] }))?,
        FilePlan::Whole {
            path: market.join("mod/hooks/register.js"),
            content: file(&AGENT, context, Runtime::Bare, "", MODULE),
            is_program: false,
        },
        FilePlan::Json { path: directory.join(settings), entries },
    ];
    let plan = Plan::new(files);
    Ok(plan
        .step("Start Claude Code again, and see with /plugin that hookhost@hookhost is enabled and its mod is loaded."))
}

fn whole(root: &Path, name: &str, content: &Value) -> Result<FilePlan, NotInstallable> {
    let content = serde_json::to_string_pretty(content).map_err(|error| NotInstallable(error.to_string()))? + "\n";
    Ok(FilePlan::Whole { path: root.join(name), content, is_program: false })
}
