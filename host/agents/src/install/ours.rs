//! Recognises the entries of a file that belong to hookhost. Two kinds of entry belong to hookhost: commands that do
//! nothing but call the hook program for an agent, and members that are named after hookhost.

use crate::plan::PROGRAM;
use serde_json::Value;

/// Returns true if a text names the hook program as a separate word, with or without a path.
pub fn names_program(text: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "'\"/\\;&|)".contains(c);
    text.match_indices(PROGRAM).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + found.len()..];
        let after = after.strip_prefix(".exe").unwrap_or(after);
        before.is_none_or(|c| is_end(c) || c == '(') && after.chars().next().is_none_or(is_end)
    })
}

/// Returns true if a value contains this agent's hook in the form that hookhost installs. The form is a command that
/// begins with the hook program and the agent's name, and that runs no other program. The agent's name matters because
/// several agents can have their hooks in one file.
pub fn is_ours(value: &Value, agent: &str) -> bool {
    match value {
        Value::String(text) => is_command(text, agent),
        Value::Array(items) => items.iter().any(|item| is_ours(item, agent)),
        Value::Object(members) => {
            let command = members.get("command").and_then(Value::as_str);
            let first = members.get("args").and_then(|arguments| arguments[0].as_str());
            let is_called = command.is_some_and(is_program) && first == Some(agent);
            is_called || members.values().any(|member| is_ours(member, agent))
        }
        _ => false,
    }
}

/// Returns true if the name of a member contains `hookhost`. Such a member belongs to hookhost.
pub(crate) fn is_named_after_us(at: &[String]) -> bool {
    at.last().is_some_and(|key| key.contains("hookhost"))
}

/// Returns true if a path ends in the name of the hook program.
fn is_program(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name) == PROGRAM
}

/// Returns true if a shell command calls the hook of this agent and does nothing else.
fn is_command(text: &str, agent: &str) -> bool {
    let Some((program, rest)) = first_word(text) else { return false };
    let named = rest.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"']);
    // Text in single quotes, such as the path of a directory, is skipped, because no character has a special meaning
    // there.
    let mut unquoted = rest.split('\'').step_by(2);
    is_program(program)
        && named == agent
        && !unquoted.any(|part| part.contains([';', '|', '&', '<', '>', '`', '$', '(', '\n']))
}

/// Returns the first word of a command without its quotes, and the rest.
fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    match text.chars().next()? {
        quote @ ('\'' | '"') => text[1..].split_once(quote),
        _ => text.split_once(char::is_whitespace),
    }
}

/// The share of an element that belongs to hookhost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// No part of the element belongs to hookhost.
    Nothing,
    /// The whole element belongs to hookhost.
    Whole,
    /// Some of the hooks in the element's list `hooks` belong to hookhost. The other hooks do not belong to hookhost.
    Part,
}

/// Returns the share of an element that belongs to this agent's hook. If the element is a group that also has other
/// hooks, the share is [`Ownership::Part`].
pub fn share(element: &Value, agent: &str) -> Ownership {
    if !is_ours(element, agent) {
        return Ownership::Nothing;
    }
    match element.get("hooks").and_then(Value::as_array) {
        Some(hooks) if hooks.iter().any(|hook| !is_ours(hook, agent)) => Ownership::Part,
        _ => Ownership::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::{Ownership, names_program, share};
    use serde_json::json;

    #[test]
    fn an_entry_is_ours_if_a_word_of_it_is_the_hook_program() {
        for text in [
            "hookhost-hook",
            "/usr/bin/hookhost-hook claude-code Stop",
            "'/home/a b/hookhost-hook' codex Stop",
            "\"C:\\tools\\hookhost-hook.exe\" codex",
            "exec hookhost-hook; true",
        ] {
            assert!(names_program(text), "{text}");
        }
        for text in ["hookhost", "my-hookhost-hook", "hookhost-hooks", "hookhost-hook.sh", "/hookhost-hook-old/run", ""]
        {
            assert!(!names_program(text), "{text}");
        }
    }

    #[test]
    fn a_group_with_hooks_of_others_is_ours_in_part() {
        let ours = json!({ "type": "command", "command": "/bin/hookhost-hook", "args": ["claude-code"] });
        let theirs = json!({ "type": "command", "command": "lint" });
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [ours] }), "claude-code"), Ownership::Whole);
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [theirs, ours] }), "claude-code"), Ownership::Part);
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [theirs] }), "claude-code"), Ownership::Nothing);
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [ours] }), "codex"), Ownership::Nothing);
        assert_eq!(share(&json!({ "command": "'/a b/hookhost-hook' \"cursor\" stop" }), "cursor"), Ownership::Whole);
        assert_eq!(share(&json!({ "command": "hookhost-hook cursor-x stop" }), "cursor"), Ownership::Nothing);
        assert_eq!(share(&json!({ "command": "hookhost-hook cursor stop" }), "cursor"), Ownership::Whole);
    }

    #[test]
    fn a_command_that_calls_the_hook_among_other_things_is_somebody_elses() {
        for theirs in [
            "log.sh; /bin/hookhost-hook cursor stop",
            "/bin/hookhost-hook cursor stop; log.sh",
            "/bin/hookhost-hook cursor stop | tee log",
            "env A=b /bin/hookhost-hook cursor stop",
            "my-guard --then '/bin/hookhost-hook cursor stop'",
            "echo hookhost-hook cursor",
            "/bin/my-hookhost-hook cursor stop",
        ] {
            let hook = json!({ "command": theirs });
            assert_eq!(share(&hook, "cursor"), Ownership::Nothing, "{theirs}");
        }
        for wrapper in ["/bin/log", "/bin/hookhost-hook.sh"] {
            let hook = json!({ "command": wrapper, "args": ["/bin/hookhost-hook", "cursor", "stop"] });
            assert_eq!(share(&hook, "cursor"), Ownership::Nothing);
        }
        for ours in
            ["'/a (b)/hookhost-hook' cursor stop --on-failure=allow", "\"C:\\a\\hookhost-hook.exe\" cursor stop"]
        {
            assert_eq!(share(&json!({ "command": ours }), "cursor"), Ownership::Whole, "{ours}");
        }
    }
}
