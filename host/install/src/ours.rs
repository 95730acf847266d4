//! Which entries of a file are ours: those that call the hook program for an agent.

use hookhost_adapters::install::PROGRAM;
use serde_json::Value;

/// Whether a text names the hook program: as a word of its own, with a path before it or without.
#[must_use]
pub fn names_program(text: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "'\"/\\;&|)".contains(c);
    text.match_indices(PROGRAM).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let after = &text[at + found.len()..];
        let after = after.strip_prefix(".exe").unwrap_or(after);
        before.is_none_or(|c| is_end(c) || c == '(') && after.chars().next().is_none_or(is_end)
    })
}

/// Whether a value has the hook of this agent: the program, and the agent's name as the word after it. Several agents can have
/// their hooks in one file.
#[must_use]
pub fn mentions(value: &Value, agent: &str) -> bool {
    match value {
        Value::String(text) => has_hook(text, agent),
        Value::Array(items) => items.iter().any(|item| mentions(item, agent)),
        Value::Object(members) => {
            let command = members.get("command").and_then(Value::as_str);
            let first = members.get("args").and_then(|arguments| arguments[0].as_str());
            let is_called = command.is_some_and(names_program) && first == Some(agent);
            is_called || members.values().any(|member| mentions(member, agent))
        }
        _ => false,
    }
}

/// Whether a command for a shell, or a text with one in it, calls the hook of this agent.
#[must_use]
pub fn has_hook(text: &str, agent: &str) -> bool {
    let calls = text.match_indices(PROGRAM).map(|(at, found)| {
        let after = &text[at + found.len()..];
        after.strip_prefix(".exe").unwrap_or(after).trim_start_matches(['\'', '"'])
    });
    let mut agents = calls.map(|after| after.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"']));
    names_program(text) && agents.any(|word| word == agent)
}

/// How much of an element of an array is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Nothing.
    Nothing,
    /// All of it.
    Whole,
    /// Some of the hooks in its list `hooks`; the others are of somebody else.
    Part,
}

/// How much of an element is the hook of this agent. A group that holds hooks of others too is not.
#[must_use]
pub fn share(element: &Value, agent: &str) -> Share {
    if !mentions(element, agent) {
        return Share::Nothing;
    }
    match element.get("hooks").and_then(Value::as_array) {
        Some(hooks) if hooks.iter().any(|hook| !mentions(hook, agent)) => Share::Part,
        _ => Share::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::{Share, names_program, share};
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
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [ours] }), "claude-code"), Share::Whole);
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [theirs, ours] }), "claude-code"), Share::Part);
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [theirs] }), "claude-code"), Share::Nothing);
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [ours] }), "codex"), Share::Nothing);
        assert_eq!(share(&json!({ "command": "'/a b/hookhost-hook' \"cursor\" stop" }), "cursor"), Share::Whole);
        assert_eq!(share(&json!({ "command": "hookhost-hook cursor-x stop" }), "cursor"), Share::Nothing);
        assert_eq!(share(&json!({ "command": "hookhost-hook cursor stop" }), "cursor"), Share::Whole);
    }
}
