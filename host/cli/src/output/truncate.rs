//! Formats values on one line, shortened so that a person can read them at a glance.

use super::one_line;
use serde_json::Value;

/// Maximum number of characters of a value that are shown.
pub(crate) const SHOWN: usize = 160;

/// Maximum number of characters of a tool's name that are shown. Providers accept names of at most 64 characters, but a model can write a
/// longer name.
const TOOL: usize = 80;

/// Maximum number of characters of a plugin's question or reason that are shown.
const WORDS: usize = 2000;

/// Formats a tool's name that a model wrote.
pub(crate) fn tool(name: &str) -> String {
    cut(&one_line(name), TOOL)
}

/// Formats a plugin's question or reason, on one line.
pub(crate) fn words(text: &str) -> String {
    cut(&one_line(text), WORDS)
}

/// Formats a value on one line: a text unchanged, and an object as its members. Members without blanks come first, because they explain the
/// longer texts.
pub(crate) fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key}={}", member(value))).collect();
            fields.sort_by_key(|field| field.contains(char::is_whitespace));
            fields.join(" ")
        }
        other => other.to_string(),
    };
    cut(&one_line(&text), SHOWN)
}

/// Returns true if [`short`] leaves out a part of a value.
pub(crate) fn is_cut(value: &Value) -> bool {
    short(value).matches('…').count() > value.to_string().matches('…').count()
}

/// Formats a value in full: a text unchanged, and an object as its members.
pub(crate) fn whole(value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Object(fields) => {
            let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key}: {}", text(value))).collect();
            fields.join("\n")
        }
        other => text(other),
    }
}

/// Formats the value of a member. A text is put in quotes if its end would not be clear otherwise.
fn member(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() || text.contains(char::is_whitespace) => {
            format!("\"{}\"", cut(&one_line(text.trim_end()), SHOWN / 2))
        }
        Value::String(text) => cut(&one_line(text), SHOWN / 2),
        other => other.to_string(),
    }
}

/// Returns the first `most` characters of a text, followed by `…` if there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Formats a number of things: `1 task`, `2 tasks`.
pub(crate) fn counted<N: Copy + std::fmt::Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    if count == N::from(1) { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::{tool, words};

    #[test]
    fn a_name_and_a_question_that_are_long_are_cut() {
        assert_eq!((tool("bash").as_str(), words("May\nit?").as_str()), ("bash", "May it?"));
        assert_eq!(tool(&"é".repeat(100_000)).chars().count(), 81);
        let shown = words(&"why ".repeat(400_000));
        assert!(shown.chars().count() == 2001 && shown.ends_with('…'), "{}", shown.len());
    }
}
