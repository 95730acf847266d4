//! Which entries of a file are ours: those that name the hook program.

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

/// Whether a value names the hook program anywhere.
#[must_use]
pub fn mentions(value: &Value) -> bool {
    match value {
        Value::String(text) => names_program(text),
        Value::Array(items) => items.iter().any(mentions),
        Value::Object(members) => members.values().any(mentions),
        _ => false,
    }
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

/// How much of an element is ours. A group that holds hooks of others too is not.
#[must_use]
pub fn share(element: &Value) -> Share {
    if !mentions(element) {
        return Share::Nothing;
    }
    match element.get("hooks").and_then(Value::as_array) {
        Some(hooks) if hooks.iter().any(|hook| !mentions(hook)) => Share::Part,
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
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [ours] })), Share::Whole);
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [theirs, ours] })), Share::Part);
        assert_eq!(share(&json!({ "matcher": "*", "hooks": [theirs] })), Share::Nothing);
        assert_eq!(share(&json!({ "command": "hookhost-hook cursor stop" })), Share::Whole);
    }
}
