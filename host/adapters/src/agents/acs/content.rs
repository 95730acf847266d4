//! Where in a payload its texts are.

use crate::agents::claude_shape::is_media;
use serde_json::Value;

/// A text of a payload, and the JSON pointer to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) pointer: String,
    pub(super) text: String,
}

/// The texts of `payload.KEY`: a text, an object with one, or a list of parts. Of an object with more than one of them, and of one
/// of a tool's outputs with none, the JSON of the whole. Parts of a message that have none, such as images, stay as they are.
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

/// All of them, a line each.
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
    // A sentence in the place of its bytes would be taken for them.
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
