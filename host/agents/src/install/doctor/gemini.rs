//! Finds two reasons why Gemini CLI does not run a hook: a list of disabled hooks, and an untrusted directory.

use super::InstalledHook;
use super::entries::{SCOPES, json_files, text};
use crate::by_name;
use crate::install::check::Check;
use crate::install::json;
use crate::plan::{Context, Scope};
use serde_json::Value;

pub(super) fn reached(context: &Context<'_>, installed: &[InstalledHook]) -> Vec<Check> {
    let mut checks = Vec::new();
    let adapter = by_name("gemini-cli");
    let files: Vec<_> = adapter
        .iter()
        .flat_map(|adapter| SCOPES.into_iter().flat_map(|scope| json_files(adapter, context, scope)))
        .collect();
    // The agent identifies a hook by its name, or by its command if it has no name.
    let hooks = installed.iter().flat_map(|installed| &installed.commands).map(|command| &command.hook);
    let names: Vec<&str> = hooks.flat_map(|hook| [&hook["name"], &hook["command"]]).filter_map(Value::as_str).collect();
    for (path, value) in &files {
        // In older versions, the list is in `hooks`.
        let lists = ["hooksConfig", "hooks"].map(|at| (at, value[at]["disabled"].as_array()));
        let mut disabled =
            lists.into_iter().flat_map(|(at, list)| list.into_iter().flatten().map(move |name| (at, name)));
        let disabled = disabled.find_map(|(at, name)| Some((at, name.as_str().filter(|name| names.contains(name))?)));
        if let Some((at, name)) = disabled {
            let says = format!("{} lists `{name}` in `{at}.disabled`", path.display());
            checks.push(Check::problem(
                "reached",
                says,
                format!("take it out of {}, or `/hooks enable {name}`", path.display()),
            ));
        }
    }
    let asks_for_trust = !files.iter().any(|(_, value)| value["security"]["folderTrust"]["enabled"] == false);
    if asks_for_trust && !installed.is_empty() && installed.iter().all(|installed| installed.scope == Scope::Project) {
        checks.extend(untrusted(context));
    }
    checks
}

/// Returns a problem if the user does not trust the directory, because the agent ignores the settings of an untrusted
/// project.
fn untrusted(context: &Context<'_>) -> Option<Check> {
    let path = context.home.join(".gemini/trustedFolders.json");
    let trusted = text(context, Scope::User, &path).and_then(|text| json::value(&text).ok()).unwrap_or_default();
    let is_trusted =
        |directory: &std::path::Path| directory.to_str().is_some_and(|directory| trusted[directory] == "TRUST_FOLDER");
    if context.project.ancestors().any(is_trusted) {
        return None;
    }
    let says = format!("Gemini CLI does not read the hooks of {} before you trust it", context.project.display());
    Some(Check::problem("reached", says, "start `gemini` there, and answer that you trust the directory"))
}
