//! What keeps Gemini CLI from a hook: settings that disable hooks, and a directory that is not trusted.

use super::Installed;
use super::entries::{all_disabled, json_files, read};
use crate::check::Check;
use crate::json;
use hookhost_adapters::by_name;
use hookhost_adapters::install::{Context, Scope};
use serde_json::Value;

pub(super) fn reached(context: &Context<'_>, installed: &[Installed]) -> Vec<Check> {
    let mut checks = Vec::new();
    let files = by_name("gemini-cli").map(|adapter| json_files(adapter, context)).unwrap_or_default();
    // What the agent calls a hook: its name, or else its command.
    let hooks = installed.iter().flat_map(|installed| &installed.commands).map(|command| &command.hook);
    let names: Vec<&str> = hooks.flat_map(|hook| [&hook["name"], &hook["command"]]).filter_map(Value::as_str).collect();
    for (path, value) in &files {
        let settings = &value["hooksConfig"];
        if settings["enabled"] == false {
            checks.push(all_disabled(path, "hooksConfig.enabled = false"));
        }
        let disabled = settings["disabled"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(name) = disabled.into_iter().find(|name| names.contains(name)) {
            let says = format!("{} lists `{name}` in `hooksConfig.disabled`", path.display());
            checks.push(Check::problem(
                "reached",
                says,
                format!("take it out of {}, or `/hooks enable {name}`", path.display()),
            ));
        }
    }
    let asks_for_trust = !files.iter().any(|(_, value)| value["security"]["folderTrust"]["enabled"] == false);
    if asks_for_trust && installed.iter().all(|installed| installed.scope == Scope::Project) {
        checks.extend(untrusted(context));
    }
    checks
}

/// The agent reads a project's settings only in a directory that its user trusts.
fn untrusted(context: &Context<'_>) -> Option<Check> {
    let path = context.home.join(".gemini/trustedFolders.json");
    let trusted = read(&path).ok().flatten().and_then(|text| json::value(&text).ok()).unwrap_or_default();
    let is_trusted =
        |directory: &std::path::Path| directory.to_str().is_some_and(|directory| trusted[directory] == "TRUST_FOLDER");
    if context.project.ancestors().any(is_trusted) {
        return None;
    }
    let says = format!("Gemini CLI does not read the hooks of {} before you trust it", context.project.display());
    Some(Check::problem("reached", says, "start `gemini` there, and answer that you trust the directory"))
}
