//! Values on one line, cut to what a person takes in at a glance.

use super::one_line;
use serde_json::Value;

/// Most characters of one value that are shown.
pub(crate) const SHOWN: usize = 160;

/// Most characters of a tool's name that are shown. A name that providers take has at most 64; a
/// model can say a longer one.
const TOOL: usize = 80;

/// Most characters that are shown of what a plugin says to a person: a question, a reason.
const WORDS: usize = 2000;

/// A tool's name, as a model has said it.
pub(crate) fn tool(name: &str) -> String {
    cut(&one_line(name), TOOL)
}

/// What a plugin says to a person, on one line.
pub(crate) fn words(text: &str) -> String {
    cut(&one_line(text), WORDS)
}

/// A value on one line: a text as it is, an object as its members, plain words first, since those name what the texts
/// are for.
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

/// Whether [`short`] leaves something of a value out.
pub(crate) fn is_cut(value: &Value) -> bool {
    short(value).matches('…').count() > value.to_string().matches('…').count()
}

/// All of a value: an object as its members, texts as they are.
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

/// A member's value: a text in quotes where its end would not be seen otherwise.
fn member(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() || text.contains(char::is_whitespace) => {
            format!("\"{}\"", cut(&one_line(text.trim_end()), SHOWN / 2))
        }
        Value::String(text) => cut(&one_line(text), SHOWN / 2),
        other => other.to_string(),
    }
}

/// The first `most` characters of a text, and whether there are more.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A number of things, in words: `1 task`, `2 tasks`.
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
