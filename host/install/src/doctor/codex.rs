//! What keeps Codex from a hook: it runs only those that its user has reviewed, and skips others without a word.
//!
//! Nothing is trusted here on behalf of the user. What the agent itself says counts more than its files: only it knows how it
//! works out the hash of a hook.

use super::Installed;
use super::entries::read;
use crate::check::Check;
use crate::ours;
use crate::process;
use hookhost_adapters::install::{Context, FilePlan, JsonEntry};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// How long the agent may take to list its hooks.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What a person does.
const REVIEW: &str = "start `codex`, type /hooks, and trust the hooks of hookhost";

pub(super) fn reached(context: &Context<'_>, installed: &[Installed], program: Option<&Path>) -> Vec<Check> {
    let keys: Vec<[String; 2]> =
        installed.iter().flat_map(|installed| &installed.plan.files).flat_map(keys_of).collect();
    if keys.is_empty() {
        return Vec::new();
    }
    let count = keys.len();
    if let Some(states) = program.and_then(|program| listed(program, context.project)) {
        let state =
            |names: &[String; 2]| names.iter().find_map(|key| states.get(key)).map_or("not listed", String::as_str);
        let untrusted: Vec<_> = keys.iter().filter(|key| state(key) != "trusted").collect();
        let Some(first) = untrusted.first() else { return Vec::new() };
        let (state, first) = (state(first), &first[0]);
        let says = format!("Codex skips {} of {count} hooks without a word: {first} is {state}", untrusted.len());
        return vec![Check::problem("reached", says, REVIEW)];
    }
    let config = context.directory("CODEX_HOME", ".codex").join("config.toml");
    let config = read(&config).ok().flatten().and_then(|text| text.parse::<toml::Table>().ok()).unwrap_or_default();
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let has_hash = |key: &String| state.and_then(|state| state.get(key.as_str())?.get("trusted_hash")).is_some();
    let trusted = keys.iter().filter(|names| names.iter().any(has_hash)).count();
    if trusted < count {
        let says = format!("Codex skips {} of {count} hooks without a word: nobody has trusted them", count - trusted);
        return vec![Check::problem("reached", says, REVIEW)];
    }
    let says = "all hooks were trusted once; Codex did not say whether as they are now";
    vec![Check::unknown("reached", says, "codex, then /hooks, or hookhost doctor codex --prove --run-agent")]
}

/// The keys under which the agent keeps the trust in our hooks of a file: `FILE:event:GROUP:HOOK`, the numbers from 0. Each with
/// the file as it is named, and with the one to which links lead.
fn keys_of(file: &FilePlan) -> Vec<[String; 2]> {
    let FilePlan::Json { path, entries } = file else { return Vec::new() };
    let value = read(path).ok().flatten().and_then(|text| crate::json::value(&text).ok()).unwrap_or_default();
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut keys = Vec::new();
    for entry in entries {
        let JsonEntry::Element { at, .. } = entry else { continue };
        let groups = at.iter().try_fold(&value, |value, key| value.get(key)).and_then(Value::as_array);
        for (group, element) in groups.into_iter().flatten().enumerate() {
            for (hook, element) in element["hooks"].as_array().into_iter().flatten().enumerate() {
                if ours::mentions(element) {
                    let event = snake_case(at.last().map_or("", String::as_str));
                    keys.push([path, &real].map(|path| format!("{}:{event}:{group}:{hook}", path.display())));
                }
            }
        }
    }
    keys
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// The state of trust of each hook, as the agent itself lists them; absent where it does not answer.
fn listed(program: &Path, directory: &Path) -> Option<BTreeMap<String, String>> {
    let words: [OsString; 2] = [program.into(), "app-server".into()];
    let client = json!({ "name": "hookhost", "title": "hookhost", "version": env!("CARGO_PKG_VERSION") });
    let messages = [
        json!({ "id": 1, "method": "initialize", "params": { "clientInfo": client, "capabilities": { "experimentalApi": true } } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [directory] } }),
    ];
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    let answer = process::converse(&words, directory, &lines, TIMEOUT, |line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["id"] == 2 && message.get("method").is_none()).then_some(message)
    })?;
    Some(states(&answer))
}

fn states(answer: &Value) -> BTreeMap<String, String> {
    let directories = answer["result"]["data"].as_array().into_iter().flatten();
    let hooks = directories.flat_map(|directory| directory["hooks"].as_array().into_iter().flatten());
    // The machine's own hooks need no trust, and a user can switch off any other.
    let state = |hook: &Value| match (hook["enabled"] == false, hook["isManaged"] == true) {
        (true, _) => Some("disabled".to_owned()),
        (_, true) => Some("trusted".to_owned()),
        _ => hook["trustStatus"].as_str().map(str::to_owned),
    };
    hooks.filter_map(|hook| Some((hook["key"].as_str()?.to_owned(), state(hook)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{keys_of, listed, snake_case};
    use hookhost_adapters::install::{FilePlan, JsonEntry};
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
        assert_eq!(keys_of(&plan), [[key.clone(), key]]);
        assert_eq!(snake_case("UserPromptSubmit"), "user_prompt_submit");
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
        let states = listed(&agent, directory.path()).unwrap();
        assert_eq!(states.get("k").map(String::as_str), Some("untrusted"));
        std::fs::write(&agent, "#!/bin/sh\nexit 1\n").unwrap();
        assert_eq!(listed(&agent, directory.path()), None);
    }
}
