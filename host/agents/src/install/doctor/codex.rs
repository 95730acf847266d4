//! Finds two reasons why Codex does not run a hook: settings that disable hooks, and missing trust. Codex runs only
//! hooks that its user has reviewed, and skips other hooks without a message.
//!
//! This module never marks a hook as trusted on behalf of the user. The agent's files contain the hashes of the trusted hooks, and only
//! the agent knows how to compute the hash of a hook. If each hook has a hash, the agent is asked whether it trusts the hooks.

use super::InstalledHook;
use super::entries::{all_disabled, root, text};
use crate::install::check::Check;
use crate::install::ours;
use crate::install::process;
use crate::install::settings_file::read_text;
use crate::plan::{Context, FilePlan, JsonEntry, Scope, snake_case};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Maximum time in which the agent has to list its hooks.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The next step for a person if Codex skips the hooks because nobody has trusted them.
pub const REVIEW: &str = "start `codex`, type /hooks, and trust the hooks of hookhost";

pub(super) fn reached(
    context: &Context<'_>,
    installed: &[InstalledHook],
    program: Option<&Path>,
    path: &OsStr,
) -> Vec<Check> {
    let mut checks = disabled(context);
    checks.extend(untrusted(context, installed, program, path));
    checks
}

/// The current and an older name of the agent's feature for hooks.
const FEATURES: [&str; 2] = ["hooks", "codex_hooks"];

/// Returns the plugins that the user has installed, and whether each is enabled.
pub(super) fn plugins(context: &Context<'_>) -> impl Iterator<Item = (String, bool)> {
    let config = table(context, Scope::User, &context.directory("CODEX_HOME", ".codex").join("config.toml"));
    let plugins = config.and_then(|mut config| config.remove("plugins")?.try_into::<toml::Table>().ok());
    plugins.unwrap_or_default().into_iter().map(|(name, plugin)| {
        let enabled = plugin.get("enabled").and_then(toml::Value::as_bool);
        (name, enabled != Some(false))
    })
}

/// Finds settings that disable hooks, in the files of the machine, the user and the project, and in profiles.
fn disabled(context: &Context<'_>) -> Vec<Check> {
    let home = context.directory("CODEX_HOME", ".codex");
    let machine = Path::new("/etc/codex");
    let mut checks = Vec::new();
    for (scope, path) in [
        (Scope::Managed, machine.join("requirements.toml")),
        (Scope::Managed, machine.join("managed_config.toml")),
        (Scope::Managed, machine.join("config.toml")),
        (Scope::User, home.join("config.toml")),
        (Scope::Project, context.project.join(".codex/config.toml")),
    ] {
        let Some(table) = table(context, scope, &path) else { continue };
        checks.extend(disabled_in(&path, &table));
    }
    // A profile can be a separate file.
    let files = fs::read_dir(&home).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in files.filter(|path| path.to_string_lossy().ends_with(".config.toml")) {
        if let Some(table) = table(context, Scope::User, &path)
            && feature(&table) == Some(false)
        {
            checks.push(of_profile(&path.file_name().unwrap_or_default().to_string_lossy(), &path));
        }
    }
    checks
}

fn disabled_in(path: &Path, table: &toml::Table) -> Vec<Check> {
    let profiles = table.get("profiles").and_then(toml::Value::as_table).into_iter().flatten();
    let profiles: BTreeMap<&String, Option<bool>> =
        profiles.filter_map(|(name, profile)| Some((name, feature(profile.as_table()?)))).collect();
    let chosen = table.get("profile").and_then(toml::Value::as_str);
    let by_profile = chosen.and_then(|chosen| *profiles.get(&chosen.to_owned())?);
    let mut checks = Vec::new();
    if by_profile.or(feature(table)) == Some(false) {
        checks.push(all_disabled(path, "features.hooks = false"));
    }
    if table.get("allow_managed_hooks_only").and_then(toml::Value::as_bool) == Some(true)
        && path.ends_with("requirements.toml")
    {
        checks.push(all_disabled(path, "allow_managed_hooks_only"));
    }
    let others = profiles.iter().filter(|(name, hooks)| **hooks == Some(false) && Some(name.as_str()) != chosen);
    checks.extend(others.map(|(name, _)| of_profile(name, path)));
    checks
}

fn of_profile(name: &str, path: &Path) -> Check {
    let says = format!(
        "the profile `{name}` in {} says `features.hooks = false`, so Codex runs no hook if it is started with this profile",
        path.display()
    );
    Check::unknown("reached", says, format!("take `hooks` out of the profile in {}", path.display()))
}

/// Returns the value of the hooks feature in the `[features]` of a table.
fn feature(table: &toml::Table) -> Option<bool> {
    let features = table.get("features")?.as_table()?;
    FEATURES.iter().find_map(|name| features.get(*name)?.as_bool())
}

fn table(context: &Context<'_>, scope: Scope, path: &Path) -> Option<toml::Table> {
    let text = text(context, scope, path)?;
    text.trim_start_matches('\u{feff}').parse().ok()
}

fn untrusted(context: &Context<'_>, installed: &[InstalledHook], program: Option<&Path>, path: &OsStr) -> Vec<Check> {
    let keys = |installed: &InstalledHook| -> Vec<[String; 2]> {
        installed.plan.files.iter().flat_map(|file| keys_of(file, root(context, installed.scope))).collect()
    };
    let keys: Vec<[String; 2]> = installed.iter().flat_map(keys).collect();
    if keys.is_empty() {
        return Vec::new();
    }
    let count = keys.len();
    let config = context.directory("CODEX_HOME", ".codex").join("config.toml");
    let config = table(context, Scope::User, &config).unwrap_or_default();
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let state_of = |key: &String| state.and_then(|state| state.get(key.as_str()));
    let is_off = |key: &String| state_of(key).and_then(|state| state.get("enabled")?.as_bool()) == Some(false);
    if let Some(off) = keys.iter().flatten().find(|key| is_off(key)) {
        let says = format!("Codex skips a hook of hookhost: {off} is disabled");
        return vec![Check::problem("reached", says, REVIEW)];
    }
    let has_hash = |key: &String| state_of(key).and_then(|state| state.get("trusted_hash")).is_some();
    let trusted = keys.iter().filter(|names| names.iter().any(has_hash)).count();
    if trusted < count {
        let says = format!(
            "Codex skips {} of hookhost's {count} hooks, because you have not trusted them in Codex",
            count - trusted
        );
        return vec![Check::problem("reached", says, REVIEW)];
    }
    // Only Codex knows whether a hash is still that of the hook.
    if let Some(states) = program.and_then(|program| listed(program, context.project, path)) {
        let state =
            |names: &[String; 2]| names.iter().find_map(|key| states.get(key)).map_or("not listed", String::as_str);
        let untrusted: Vec<_> = keys.iter().filter(|key| state(key) != "trusted").collect();
        let Some(first) = untrusted.first() else { return Vec::new() };
        let (state, first) = (state(first), &first[0]);
        let says = format!("Codex skips {} of hookhost's {count} hooks: {first} is {state}", untrusted.len());
        return vec![Check::problem("reached", says, REVIEW)];
    }
    let says = "you have trusted the hooks once; Codex did not say whether this is still so";
    vec![Check::unknown(
        "reached",
        says,
        "start `codex` and type /hooks, or run: hookhost doctor codex --prove --run-agent",
    )]
}

/// Returns the keys under which the agent stores that the user trusts hookhost's hooks of a file. A key has the form
/// `FILE:event:GROUP:HOOK`, where GROUP and HOOK are numbers that begin with 0. Each key is returned in two forms: with
/// the file's own path, and with the path in which symbolic links are resolved.
fn keys_of(file: &FilePlan, project: Option<&Path>) -> Vec<[String; 2]> {
    let FilePlan::Json { path, entries } = file else { return Vec::new() };
    let text = read_text(path, project).ok().flatten();
    let value = text.and_then(|text| crate::install::json::value(&text).ok()).unwrap_or_default();
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut keys = Vec::new();
    for entry in entries {
        let JsonEntry::Element { at, .. } = entry else { continue };
        let groups = at.iter().try_fold(&value, |value, key| value.get(key)).and_then(Value::as_array);
        for (group, element) in groups.into_iter().flatten().enumerate() {
            for (hook, element) in element["hooks"].as_array().into_iter().flatten().enumerate() {
                if ours::is_ours(element, "codex") {
                    let event = snake_case(at.last().map_or("", String::as_str));
                    keys.push([path, &real].map(|path| format!("{}:{event}:{group}:{hook}", path.display())));
                }
            }
        }
    }
    keys
}

/// Asks the agent for its hooks in `directory`, and returns the trust state of each hook. Returns `None` if the agent does not
/// answer. The agent is started in another directory, because files in `directory` must not influence its start, and without its
/// plugins, because it would look for new ones on the network.
fn listed(program: &Path, directory: &Path, path: &OsStr) -> Option<BTreeMap<String, String>> {
    let words: [OsString; 4] = [program.into(), "app-server".into(), "-c".into(), "features.plugins=false".into()];
    let client = json!({ "name": "hookhost", "title": "hookhost", "version": env!("CARGO_PKG_VERSION") });
    let messages = [
        json!({ "id": 1, "method": "initialize", "params": { "clientInfo": client, "capabilities": { "experimentalApi": true } } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [directory] } }),
    ];
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    let start = program.parent().unwrap_or(Path::new("/"));
    let answer = process::converse(&words, start, &[("PATH", path)], &lines, TIMEOUT, |line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["id"] == 2 && message.get("method").is_none()).then_some(message)
    })?;
    Some(states(&answer))
}

fn states(answer: &Value) -> BTreeMap<String, String> {
    let directories = answer["result"]["data"].as_array().into_iter().flatten();
    let hooks = directories.flat_map(|directory| directory["hooks"].as_array().into_iter().flatten());
    // Hooks of the machine need no trust, and cannot be disabled. A user can disable any other hook.
    let state = |hook: &Value| match (hook["enabled"] == false, hook["isManaged"] == true) {
        (true, _) => Some("disabled".to_owned()),
        (_, true) => Some("trusted".to_owned()),
        _ => hook["trustStatus"].as_str().map(str::to_owned),
    };
    hooks.filter_map(|hook| Some((hook["key"].as_str()?.to_owned(), state(hook)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{disabled_in, keys_of, listed};
    use crate::install::check::CheckState;
    use crate::plan::{FilePlan, JsonEntry};
    use serde_json::json;

    #[test]
    fn the_key_of_trust_has_the_place_of_the_hook_among_those_of_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("hooks.json");
        let ours = json!({ "type": "command", "command": "/x/hookhost-hook codex PreToolUse" });
        let theirs = json!({ "type": "command", "command": "lint" });
        let file = json!({ "hooks": { "PreToolUse": [{ "hooks": [theirs] }, { "hooks": [theirs, ours] }] } });
        std::fs::write(&path, file.to_string()).unwrap();
        let plan = FilePlan::Json {
            path: path.clone(),
            entries: vec![JsonEntry::element(&["hooks", "PreToolUse"], json!({}))],
        };
        let key = format!("{}:pre_tool_use:1:1", path.display());
        assert_eq!(keys_of(&plan, None), [[key.clone(), key]]);
    }

    #[test]
    fn a_feature_that_is_off_is_found_in_every_form_and_profile() {
        let states = |text: &str| -> Vec<CheckState> {
            let checks = disabled_in("/etc/codex/requirements.toml".as_ref(), &text.parse().unwrap());
            checks.iter().map(|check| check.state).collect()
        };
        for off in [
            "[features]\nhooks = false",
            "features = { hooks = false }",
            "features.hooks = false",
            "[features]\ncodex_hooks = false",
            "profile = \"a\"\n[profiles.a.features]\nhooks = false",
            "profile = \"a\"\nprofiles.a.features.hooks = false\n[features]\nhooks = true",
            "allow_managed_hooks_only = true",
        ] {
            assert_eq!(states(off), [CheckState::Problem], "{off}");
        }
        assert_eq!(states("[profiles.a.features]\nhooks = false"), [CheckState::Unknown]);
        for on in [
            "",
            "[features]\nhooks = true",
            "hooks = false",
            "profile = \"a\"\nprofiles.a.features.hooks = true\n[features]\nhooks = false",
        ] {
            assert_eq!(states(on), [], "{on}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_agent_is_asked_what_it_trusts() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let agent = directory.path().join("codex");
        let script = "#!/bin/sh\nread a; echo '{\"id\":1,\"result\":{}}'; read b; read c; echo '{\"method\":\"note\"}'\n\
                      case \"$c\" in *hooks/list*) echo '{\"id\":2,\"result\":{\"data\":[{\"hooks\":[{\"key\":\"k\",\"trustStatus\":\"untrusted\"}]}]}}';; esac\n\
                      sleep 100\n";
        std::fs::write(&agent, script).unwrap();
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        let states = listed(&agent, directory.path(), "/usr/bin:/bin".as_ref()).unwrap();
        assert_eq!(states.get("k").map(String::as_str), Some("untrusted"));
        std::fs::write(&agent, "#!/bin/sh\nexit 1\n").unwrap();
        assert_eq!(listed(&agent, directory.path(), "/usr/bin:/bin".as_ref()), None);
    }
}
