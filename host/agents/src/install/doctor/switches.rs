//! Finds settings that disable all hooks, for the agents that document such a setting.

use super::InstalledHook;
use super::entries::{SCOPES, all_disabled, json_files, text};
use crate::Adapter;
use crate::install::check::Check;
use crate::install::json;
use crate::plan::{Context, Scope};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A setting that disables all hooks of an agent.
struct DisablingSetting {
    agents: &'static [&'static str],
    /// The keys that lead to the setting, outermost first.
    at: &'static [&'static str],
    /// The value that disables the hooks.
    off: bool,
}

const DISABLING_SETTINGS: &[DisablingSetting] = &[
    DisablingSetting {
        agents: &["claude-code", "claude-code-mods", "copilot-cli", "qwen-code", "droid"],
        at: &["disableAllHooks"],
        off: true,
    },
    DisablingSetting { agents: &["droid"], at: &["hooksDisabled"], off: true },
    DisablingSetting { agents: &["gemini-cli", "qwen-code"], at: &["hooksConfig", "enabled"], off: false },
    // Older versions of Gemini CLI read the setting at these keys, and Qwen Code still reads it there.
    DisablingSetting { agents: &["gemini-cli", "qwen-code"], at: &["hooks", "enabled"], off: false },
    DisablingSetting { agents: &["gemini-cli", "qwen-code"], at: &["tools", "enableHooks"], off: false },
    DisablingSetting { agents: &["antigravity"], at: &["hookhost", "enabled"], off: false },
];

/// Returns the keys of each setting that disables all hooks of an agent, and the value that does so.
pub(in crate::install) fn of(agent: &str) -> impl Iterator<Item = (&'static [&'static str], bool)> {
    let is_of_agent = move |setting: &&DisablingSetting| setting.agents.contains(&agent);
    DISABLING_SETTINGS.iter().filter(is_of_agent).map(|setting| (setting.at, setting.off))
}

/// Returns settings files that can contain a setting that disables hookhost's hook, although they never contain the hook itself.
pub(in crate::install) fn more_files(agent: &str, context: &Context<'_>) -> Vec<(Scope, PathBuf)> {
    let both = |directory: &str, names: &[&str]| {
        let roots = [(Scope::User, context.home), (Scope::Project, context.project)];
        let files = roots.map(|(scope, root)| {
            names.iter().map(move |name| (scope, root.join(directory).join(name))).collect::<Vec<_>>()
        });
        files.concat()
    };
    match agent {
        "claude-code" | "claude-code-mods" => both(".claude", &["settings.local.json"]),
        "copilot-cli" => {
            let user = context.directory("COPILOT_HOME", ".copilot");
            let of_user = ["settings.json", "config.json"].map(|name| (Scope::User, user.join(name)));
            let names = [".github/copilot/settings.json", ".github/copilot/settings.local.json"];
            of_user.into_iter().chain(names.map(|name| (Scope::Project, context.project.join(name)))).collect()
        }
        "droid" => both(".factory", &["settings.json", "settings.local.json"]),
        "gemini-cli" if cfg!(target_os = "macos") => {
            vec![(Scope::Managed, "/Library/Application Support/GeminiCli/system-defaults.json".into())]
        }
        "gemini-cli" => vec![(Scope::Managed, "/etc/gemini-cli/system-defaults.json".into())],
        _ => Vec::new(),
    }
}

/// Returns a problem for each setting that disables the agent's hooks.
pub(super) fn disabled(adapter: &Adapter, context: &Context<'_>, installed: &[InstalledHook]) -> Vec<Check> {
    let agent = adapter.agent().name;
    let of_machine = installed.iter().any(|installed| installed.scope == Scope::Managed);
    let mut files = Vec::new();
    for scope in SCOPES {
        // Settings in other files do not disable the hooks in the machine's own files.
        if of_machine && scope != Scope::Managed && matches!(agent, "claude-code" | "claude-code-mods") {
            continue;
        }
        files.extend(json_files(adapter, context, scope));
        let more = more_files(agent, context).into_iter().filter(|(of, _)| *of == scope);
        let read = |path: &Path| json::value(&text(context, scope, path)?).ok();
        files.extend(more.filter_map(|(_, path)| Some((read(&path)?, path))).map(|(value, path)| (path, value)));
    }
    files.dedup_by(|one, other| one.0 == other.0);
    let mut checks = Vec::new();
    for (path, value) in &files {
        let says = |switch: &&DisablingSetting| {
            let found = switch.at.iter().try_fold(value, |value, key| value.get(key));
            switch.agents.contains(&agent) && found == Some(&Value::Bool(switch.off))
        };
        checks.extend(DISABLING_SETTINGS.iter().filter(says).map(|switch| {
            let key = switch.at.join(".");
            all_disabled(path, &if switch.off { key } else { format!("{key} = false") })
        }));
    }
    if let Some(check) = other_file_of_droid(agent, context) {
        checks.push(check);
    }
    checks
}

/// Returns a check if Droid has hooks in both of its files, because Droid ignores the hooks in `settings.json` if there
/// is a `hooks.json`.
fn other_file_of_droid(agent: &str, context: &Context<'_>) -> Option<Check> {
    let roots = [(Scope::User, context.home), (Scope::Project, context.project)];
    let (path, hooks) = roots.into_iter().filter(|_| agent == "droid").find_map(|(scope, root)| {
        let (settings, hooks) = (root.join(".factory/settings.json"), root.join(".factory/hooks.json"));
        let value = json::value(&text(context, scope, &settings)?).ok()?;
        (value.get("hooks").is_some() && text(context, scope, &hooks).is_some()).then_some((settings, hooks))
    })?;
    let says = format!("{} has hooks as well, and Droid reads those of {} alone", path.display(), hooks.display());
    Some(Check::unknown("reached", says, format!("move the hooks of {} to {}", path.display(), hooks.display())))
}
