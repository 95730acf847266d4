//! Finds the texts in a payload.

use crate::claude_shape::is_media;
use serde_json::Value;

/// A text of a payload, and the JSON pointer to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) pointer: String,
    pub(super) text: String,
}

/// Returns the texts of `payload.KEY`, which is a string, an object with one text, or a list of parts. An object with
/// several texts yields its whole JSON, and so does a tool output without a text. Parts of a message without a text,
/// such as images, are skipped.
pub(super) fn texts(payload: &Value, key: &str) -> Vec<Text> {
    let Some(content) = payload.get(key) else { return Vec::new() };
    let within = |value: &Value, pointer: String| within(value, pointer, key == "outputs");
    let pointer = format!("/{key}");
    match content {
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            parts.filter_map(|(at, part)| within(part, format!("{pointer}/{at}"))).collect()
        }
        other => within(other, pointer).into_iter().collect(),
    }
}

/// Joins the texts, one per line.
pub(super) fn joined(texts: &[Text]) -> String {
    texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn within(value: &Value, pointer: String, is_output: bool) -> Option<Text> {
    let found = |pointer: String, value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(Text { pointer, text: text.clone() }),
        other => Some(Text { pointer, text: other.to_string() }),
    };
    let Value::Object(part) = value else { return found(pointer, value) };
    // A text in place of the bytes would be read as bytes.
    if is_output && is_media(part) {
        return found(pointer, value);
    }
    let mut members = ["value", "content", "text"].into_iter().filter(|member| part.contains_key(*member));
    match (members.next(), members.next()) {
        (Some(member), None) => found(format!("{pointer}/{member}"), &part[member]),
        (None, _) if !is_output => None,
        _ => found(pointer, value),
    }
}
