//! Models how each agent reacts to a reply. The models follow the agents' documents and their observed behaviour, and do not use the code
//! of the encoders. `effects.json` contains replies whose effect is known.

use hookhost_agents::Reply;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A reply as an agent sees it.
struct Seen<'a> {
    point: &'a str,
    /// The message that the reply answers.
    input: &'a Value,
    exit: u8,
    json: Option<Map<String, Value>>,
    stdout: &'a str,
    stderr: &'a str,
}

impl Seen<'_> {
    fn top(&self, key: &str) -> Option<&Value> {
        self.json.as_ref()?.get(key)
    }

    fn at(&self, pointer: &str) -> Option<&Value> {
        let mut keys = pointer.trim_start_matches('/').split('/');
        let first = self.top(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key))
    }

    fn is(&self, pointer: &str, words: &[&str]) -> bool {
        self.at(pointer).and_then(Value::as_str).is_some_and(|word| words.contains(&word))
    }

    fn says(&self, pointer: &str) -> bool {
        self.at(pointer).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
    }

    fn is_ended(&self) -> bool {
        self.top("continue") == Some(&Value::Bool(false))
    }

    fn names_its_point(&self) -> bool {
        self.is("/hookSpecificOutput/hookEventName", &[self.point])
    }
}

/// The agents whose reaction is modelled here.
pub(crate) const AGENTS: &[&str] = &[
    "antigravity",
    "claude-code",
    "codex",
    "crush",
    "droid",
    "gemini-cli",
    "grok-build",
    "kiro",
    "openhands",
    "qwen-code",
];

/// Returns true if the agent does not carry out the action that the message reports, or if its model does not get the result.
pub(crate) fn denies(agent: &str, point: &str, input: &Value, reply: &Reply) -> bool {
    let json = serde_json::from_str::<Value>(&reply.stdout).ok();
    let json = json.and_then(|value| value.as_object().cloned());
    let seen = Seen { point, input, exit: reply.exit, json, stdout: &reply.stdout, stderr: &reply.stderr };
    match agent {
        "antigravity" => seen.is("/decision", &["deny"]),
        "claude-code" => claude(&seen),
        "codex" => codex(&seen),
        "crush" => match seen.exit {
            2 | 49 => true,
            0 => seen.is("/decision", &["deny"]) || seen.top("halt") == Some(&Value::Bool(true)),
            _ => false,
        },
        "droid" => {
            seen.exit == 2
                || (seen.exit == 0
                    && match point {
                        "PreToolUse" => seen.is("/hookSpecificOutput/permissionDecision", &["deny"]),
                        _ => seen.is("/decision", &["block"]) && seen.says("/reason"),
                    })
        }
        "gemini-cli" => gemini(&seen),
        "grok-build" | "openhands" => seen.exit == 2 || (seen.exit == 0 && seen.is("/decision", &["deny", "block"])),
        "kiro" => seen.exit == 2 && !seen.stderr.trim().is_empty(),
        "qwen-code" => {
            seen.exit == 2
                || (seen.exit == 0
                    && (seen.is_ended()
                        || seen.is("/decision", &["deny", "block"])
                        || seen.is("/hookSpecificOutput/permissionDecision", &["deny"])
                        || seen.is("/hookSpecificOutput/decision/behavior", &["deny"])))
        }
        _ => panic!("the rules of {agent} are not known here"),
    }
}

/// Claude Code reads the JSON whatever the exit code is. It ignores an object with a wrong name of the hook point, and a decision outside
/// of that object.
fn claude(seen: &Seen<'_>) -> bool {
    match seen.point {
        "PreToolUse" => {
            let is_denied = seen.names_its_point() && seen.is("/hookSpecificOutput/permissionDecision", &["deny"]);
            seen.exit == 2 || is_denied || seen.is("/decision", &["block"])
        }
        "PermissionRequest" => seen.names_its_point() && seen.is("/hookSpecificOutput/decision/behavior", &["deny"]),
        "PostToolUse" => {
            let original = seen.input.get("tool_response").unwrap_or(&Value::Null);
            let replaced = seen.at("/hookSpecificOutput/updatedToolOutput");
            seen.is_ended() || (seen.names_its_point() && replaced.is_some_and(|new| is_replacement(original, new)))
        }
        "MessageDisplay" => seen.names_its_point() && seen.says("/hookSpecificOutput/displayContent"),
        _ => seen.exit == 2 || seen.is("/decision", &["block"]),
    }
}

/// Returns true if `new` has the keys and types of the original, but none of its texts. The words that state the kind of the result are an
/// exception, because without these words Claude Code ignores the replacement.
fn is_replacement(original: &Value, new: &Value) -> bool {
    match (original, new) {
        (Value::Object(original), Value::Object(new)) => original.iter().all(|(key, value)| {
            let is_kind = matches!(key.as_str(), "type" | "status") && value.is_string();
            new.get(key).is_some_and(|new| if is_kind { new == value } else { is_replacement(value, new) })
        }),
        (Value::String(original), Value::String(new)) => original.is_empty() || original != new,
        (Value::Array(_), Value::Array(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Number(_), Value::Number(_)) => true,
        (Value::Null, _) => true,
        _ => false,
    }
}

/// Returns the keys that the JSON schema of the reply allows. The first list is for the outermost object, and the second list is for
/// `hookSpecificOutput`.
fn codex_keys(point: &str) -> (&'static [&'static str], &'static [&'static str]) {
    const COMMON: &[&str] = &["continue", "stopReason", "suppressOutput", "systemMessage"];
    const WITH_DECISION: &[&str] = &["continue", "decision", "reason", "stopReason", "suppressOutput", "systemMessage"];
    const WITH_SPECIFIC: &[&str] = &["continue", "hookSpecificOutput", "stopReason", "suppressOutput", "systemMessage"];
    const WITH_BOTH: &[&str] =
        &["continue", "decision", "hookSpecificOutput", "reason", "stopReason", "suppressOutput", "systemMessage"];
    match point {
        "PreToolUse" => (
            WITH_BOTH,
            &["hookEventName", "additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput"],
        ),
        "PermissionRequest" => (WITH_SPECIFIC, &["hookEventName", "decision"]),
        "PostToolUse" => (WITH_BOTH, &["hookEventName", "additionalContext"]),
        "UserPromptSubmit" => (WITH_BOTH, &["hookEventName", "additionalContext"]),
        "SessionStart" | "SubagentStart" => (WITH_SPECIFIC, &["hookEventName", "additionalContext"]),
        "Stop" | "SubagentStop" => (WITH_DECISION, &[]),
        _ => (COMMON, &[]),
    }
}

/// Returns true if Codex accepts the reply. Codex treats a reply with an unknown key as a failed hook.
pub(crate) fn codex_takes(point: &str, reply: &Reply) -> bool {
    if reply.stdout.is_empty() {
        return true;
    }
    let Ok(Value::Object(json)) = serde_json::from_str(&reply.stdout) else { return false };
    let (top, specific) = codex_keys(point);
    let below = json.get("hookSpecificOutput").and_then(Value::as_object);
    json.keys().all(|key| top.contains(&key.as_str()))
        && below.into_iter().flat_map(Map::keys).all(|key| specific.contains(&key.as_str()))
}

fn codex(seen: &Seen<'_>) -> bool {
    if seen.exit == 2 {
        return !seen.stderr.trim().is_empty();
    }
    let mut reply = Reply::empty();
    seen.stdout.clone_into(&mut reply.stdout);
    if seen.exit != 0 || !codex_takes(seen.point, &reply) {
        return false;
    }
    let is_blocked = seen.is("/decision", &["block"]) && seen.says("/reason");
    match seen.point {
        "PreToolUse" => {
            let is_refused = seen.is_ended() || seen.top("suppressOutput").is_some();
            let is_denied = seen.is("/hookSpecificOutput/permissionDecision", &["deny"])
                && seen.says("/hookSpecificOutput/permissionDecisionReason");
            !is_refused && (is_denied || is_blocked)
        }
        "PermissionRequest" => {
            let reserved = ["interrupt", "updatedInput", "updatedPermissions"];
            let decision = seen.at("/hookSpecificOutput/decision");
            seen.is("/hookSpecificOutput/decision/behavior", &["deny"])
                || reserved.iter().any(|key| decision.is_some_and(|decision| decision.get(key).is_some()))
        }
        "PreCompact" => seen.is_ended(),
        _ => is_blocked || seen.is_ended(),
    }
}

/// Without JSON, a reply is a denial if its exit code is at least 2 and it prints a text. Without a text, such a reply is not a denial.
fn gemini(seen: &Seen<'_>) -> bool {
    if seen.json.is_none() {
        return seen.exit >= 2 && !(seen.stdout.trim().is_empty() && seen.stderr.trim().is_empty());
    }
    let is_denied = seen.is("/decision", &["deny", "block"]);
    match seen.point {
        "BeforeModel" => is_denied && seen.at("/hookSpecificOutput/llm_response/candidates").is_some(),
        _ => is_denied || seen.is_ended(),
    }
}

/// A reply whose effect is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    agent: String,
    point: String,
    name: String,
    exit: u8,
    stdout: Value,
    stderr: String,
    denies: bool,
}

#[test]
fn the_judge_knows_the_effect_of_each_reply_that_was_seen_or_documented() {
    let known: Vec<Known> = serde_json::from_str(include_str!("effects.json")).unwrap();
    assert!(AGENTS.iter().all(|agent| known.iter().any(|known| known.agent == *agent && known.denies)));
    // The message that each reply answers. The result of the shell tool is an object.
    let input = serde_json::json!({ "tool_response": {
        "stdout": "secret", "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false,
    } });
    for known in known {
        let mut reply = Reply::empty();
        (reply.exit, reply.stderr) = (known.exit, known.stderr);
        reply.stdout = known.stdout.as_str().map_or_else(|| known.stdout.to_string(), str::to_owned);
        let found = denies(&known.agent, &known.point, &input, &reply);
        assert_eq!(found, known.denies, "{} {} {}", known.agent, known.point, known.name);
    }
}
