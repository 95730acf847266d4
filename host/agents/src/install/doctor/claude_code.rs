//! Finds two reasons why Claude Code does not run a hook: settings that disable hooks, and errors that make the agent
//! ignore a file.
//!
//! As tested with 2.1.330, the agent ignores the whole file if it has comments, a trailing comma, or a value of a wrong
//! type. If only the entry of one hook is invalid, the agent skips this hook and runs the other hooks of the file.

use super::InstalledHook;
use super::entries::{SCOPES, all_disabled, text};
use crate::by_name;
use crate::install::check::Check;
use crate::install::json;
use crate::plan::{Context, JsonDialect, Scope};
use serde_json::Value;
use std::path::PathBuf;

pub(super) fn reached(context: &Context<'_>, installed: &[InstalledHook]) -> Vec<Check> {
    let mut checks = Vec::new();
    let is_managed = installed.iter().any(|installed| installed.scope == Scope::Managed);
    for (scope, path) in files(context) {
        let Some(text) = text(context, scope, &path) else { continue };
        let shown = path.display();
        let Ok(value) = json::value_in(&text, JsonDialect::Strict) else { continue };
        if let Some((key, kind)) =
            KEY_KINDS.iter().find(|(key, kind)| value.get(*key).is_some_and(|value| !kind.fits(value)))
        {
            let says = format!("`{key}` in {shown} is not {}, so the agent reads nothing of the file", kind.name());
            checks.push(Check::problem("reached", says, format!("correct `{key}` in {shown}")));
        }
        if !is_managed && value["allowManagedHooksOnly"] == true {
            let says =
                format!("{shown} says `allowManagedHooksOnly`, so the agent runs no hook of the user or a project");
            checks.push(Check::problem("reached", says, "hookhost install claude-code --managed"));
        }
        if value["env"]["CLAUDE_CODE_SIMPLE"].as_str().is_some_and(|value| !value.is_empty()) {
            checks.push(all_disabled(&path, "env.CLAUDE_CODE_SIMPLE"));
        }
        if let Some(InvalidEntry { place, why, hides_file }) = invalid(&value["hooks"]) {
            let next = format!("correct `{place}` in {shown}");
            checks.push(if hides_file {
                let says = format!("`{place}` in {shown} {why}, so the agent runs no hook of the file");
                Check::problem("reached", says, next)
            } else {
                let says = format!(
                    "`{place}` in {shown} {why}: the agent skips this entry, and its version decides whether it runs the \
                     other hooks of the file"
                );
                Check::unknown("reached", says, next)
            });
        }
    }
    if (context.variable)("CLAUDE_CODE_SIMPLE").is_some() {
        let says =
            "the variable CLAUDE_CODE_SIMPLE is set, so the agent runs no hook if it is started with this variable";
        checks.push(Check::problem("reached", says, "unset CLAUDE_CODE_SIMPLE"));
    }
    checks
}

/// The required type of a key.
#[derive(Clone, Copy, Debug)]
enum ValueKind {
    Bool,
    Text,
    Object,
}

impl ValueKind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Bool => value.is_boolean(),
            Self::Text => value.is_string(),
            Self::Object => value.is_object(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Bool => "`true` or `false`",
            Self::Text => "a text",
            Self::Object => "an object",
        }
    }
}

/// Keys for which a test showed that the agent checks the type. The agent also checks the types of other keys.
const KEY_KINDS: &[(&str, ValueKind)] = &[
    ("allowManagedHooksOnly", ValueKind::Bool),
    ("disableAllHooks", ValueKind::Bool),
    ("env", ValueKind::Object),
    ("hooks", ValueKind::Object),
    ("model", ValueKind::Text),
    ("permissions", ValueKind::Object),
];

/// Returns the files from which the agent reads settings.
fn files(context: &Context<'_>) -> Vec<(Scope, PathBuf)> {
    let mut files: Vec<(Scope, PathBuf)> = Vec::new();
    let adapter = by_name("claude-code");
    for scope in SCOPES {
        let plan = adapter.and_then(|adapter| adapter.install(&Context { scope, ..*context }).ok());
        files.extend(plan.iter().flat_map(|plan| &plan.files).map(|file| (scope, file.path().to_owned())));
    }
    files.push((Scope::Project, context.project.join(".claude/settings.local.json")));
    files.dedup_by(|one, other| one.1 == other.1);
    files
}

/// An entry of `hooks` that the agent refuses.
#[derive(Debug, PartialEq)]
struct InvalidEntry {
    place: String,
    why: String,
    /// True if a test showed that the agent runs no hook of a file that has such an entry.
    hides_file: bool,
}

/// Returns the first entry of `hooks` that the agent refuses.
fn invalid(hooks: &Value) -> Option<InvalidEntry> {
    let (place, why) = bad_entry(hooks)?;
    let hides_file = why == BAD_INPUT;
    Some(InvalidEntry { place, why, hides_file })
}

/// The reason for an invalid `input`. As tested with 2.1.330, the agent runs no hook of a file that has a hook with
/// such an `input`.
const BAD_INPUT: &str = "has an `input` that is not an object";

/// Returns the position of the first invalid entry, and the reason why it is invalid.
fn bad_entry(hooks: &Value) -> Option<(String, String)> {
    let points = match hooks {
        Value::Null => return None,
        Value::Object(points) => points,
        _ => return Some(("hooks".to_owned(), "is not an object".to_owned())),
    };
    for (point, groups) in points {
        let at = format!("hooks.{point}");
        let Some(groups) = groups.as_array() else { return Some((at, "is not an array".to_owned())) };
        for (index, group) in groups.iter().enumerate() {
            let at = format!("{at}[{index}]");
            match &group["matcher"] {
                Value::Null => {}
                Value::String(matcher) => {
                    if let Some(why) = bad_matcher(matcher) {
                        return Some((format!("{at}.matcher"), why));
                    }
                }
                _ => return Some((format!("{at}.matcher"), "is not a text".to_owned())),
            }
            if group.get("hooks").is_none() && group.get("type").is_some() {
                return Some((at, "is a hook, where a group belongs that has it in its list `hooks`".to_owned()));
            }
            let Some(hooks) = group["hooks"].as_array() else {
                return Some((format!("{at}.hooks"), "is not an array".to_owned()));
            };
            for (index, hook) in hooks.iter().enumerate() {
                if let Some(why) = bad_hook(hook) {
                    return Some((format!("{at}.hooks[{index}]"), why));
                }
            }
        }
    }
    None
}

/// Returns the reason why a matcher is not a valid pattern. A matcher of letters, digits and `_ ,|-` is a list of
/// names. `*` or an empty matcher matches all tools.
fn bad_matcher(matcher: &str) -> Option<String> {
    let is_list = matcher.chars().all(|c| c.is_ascii_alphanumeric() || "_ ,|-".contains(c));
    if is_list || matcher == "*" {
        return None;
    }
    // The agent uses the regular expressions of JavaScript.
    regress::Regex::new(matcher).err().map(|error| format!("is no pattern ({error})"))
}

/// Returns the reason why the agent refuses a hook.
fn bad_hook(hook: &Value) -> Option<String> {
    let needed: &[&str] = match hook["type"].as_str() {
        Some("command") => &["command"],
        Some("http") => &["url"],
        Some("mcp_tool") => &["server", "tool"],
        Some("prompt" | "agent") => &["prompt"],
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Some(format!("has the unknown type {other:?}"));
        }
        None => return Some("has no `type`".to_owned()),
    };
    if let Some(key) = needed.iter().find(|key| !hook[**key].is_string()) {
        return Some(format!("has no text `{key}`"));
    }
    if hook.get("input").is_some_and(|input| !input.is_object()) {
        return Some(BAD_INPUT.to_owned());
    }
    if hook.get("timeout").is_some_and(|timeout| timeout.as_f64().is_none_or(|seconds| seconds <= 0.0)) {
        return Some("has a `timeout` that is not a number above 0".to_owned());
    }
    let on_failure = hook.get("onFailure").map(Value::as_str);
    if on_failure.is_some_and(|word| !matches!(word, Some("block" | "continue"))) {
        return Some("has an `onFailure` that is neither \"block\" nor \"continue\"".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::invalid;
    use serde_json::json;

    #[test]
    fn the_first_invalid_entry_of_anybody_is_found() {
        let group = |group| json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "ok" }] }, group] });
        for (value, place, why) in [
            (json!([]), "hooks", "is not an object"),
            (json!({ "Stop": {} }), "hooks.Stop", "is not an array"),
            (group(json!({ "type": "command", "command": "x" })), "hooks.Stop[1]", "is a hook, where a group belongs"),
            (group(json!({})), "hooks.Stop[1].hooks", "is not an array"),
            (group(json!({ "matcher": 7, "hooks": [] })), "hooks.Stop[1].matcher", "is not a text"),
            (group(json!({ "matcher": "Bash(", "hooks": [] })), "hooks.Stop[1].matcher", "is no pattern"),
            (group(json!({ "hooks": [{ "command": "x" }] })), "hooks.Stop[1].hooks[0]", "has no `type`"),
            (
                group(json!({ "hooks": [{ "type": "exec" }] })),
                "hooks.Stop[1].hooks[0]",
                "has the unknown type \"exec\"",
            ),
            (group(json!({ "hooks": [{ "type": "command" }] })), "hooks.Stop[1].hooks[0]", "has no text `command`"),
            (
                group(json!({ "hooks": [{ "type": "mcp_tool", "server": "s", "tool": "t", "input": null }] })),
                "hooks.Stop[1].hooks[0]",
                "has an `input` that is not an object",
            ),
            (
                group(json!({ "hooks": [{ "type": "command", "command": "x", "timeout": 0 }] })),
                "hooks.Stop[1].hooks[0]",
                "has a `timeout`",
            ),
        ] {
            let found = invalid(&value).unwrap_or_else(|| panic!("{value}"));
            assert!(found.place == place && found.why.starts_with(why), "{found:?}");
            assert_eq!(found.hides_file, why.contains("`input`"), "{found:?}");
        }
        for matcher in ["", "*", "Bash|Write", "mcp__.*", "^(?!Read$).+", "(?<=a)b"] {
            let fine = group(json!({ "matcher": matcher, "hooks": [{ "type": "http", "url": "http://localhost/" }] }));
            assert_eq!(invalid(&fine), None);
        }
        assert_eq!(invalid(&json!(null)), None);
    }
}
