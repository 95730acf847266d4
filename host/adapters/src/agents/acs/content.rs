//! Where in a payload its texts are.

use serde_json::Value;

/// A text of a payload, and the JSON pointer to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) pointer: String,
    pub(super) text: String,
}

/// The texts of `payload.KEY`: a text, an object with one, or a list of parts of which each has one. Of what is no text in a
/// list of outputs, its JSON.
pub(super) fn texts(payload: &Value, key: &str) -> Vec<Text> {
    let Some(content) = payload.get(key) else { return Vec::new() };
    let pointer = format!("/{key}");
    match content {
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            parts.filter_map(|(at, part)| within(part, &format!("{pointer}/{at}"))).collect()
        }
        other => within(other, &pointer).into_iter().collect(),
    }
}

/// All of them, a line each.
pub(super) fn joined(texts: &[Text]) -> String {
    texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn within(value: &Value, pointer: &str) -> Option<Text> {
    let found = |pointer: String, value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(Text { pointer, text: text.clone() }),
        other => Some(Text { pointer, text: other.to_string() }),
    };
    match value {
        Value::Object(part) => {
            let member = ["value", "content", "text"].into_iter().find(|member| part.contains_key(*member))?;
            found(format!("{pointer}/{member}"), &part[member])
        }
        other => found(pointer.to_owned(), other),
    }
}
