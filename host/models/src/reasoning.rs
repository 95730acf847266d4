//! Thinking in OpenAI's protocol. The protocol itself has no fields for thinking. Other servers have added such fields.

use crate::message::{Thinking, ThinkingKind, Thoughts};
use crate::provider::Delta;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The field that DeepSeek and other services use.
pub(crate) const CONTENT: &str = "reasoning_content";
const REASONING: &str = "reasoning";
const DETAILS: &str = "reasoning_details";

/// Thinking fields of one chunk. Values of unexpected types belong to other servers and are ignored.
#[derive(Default, Deserialize)]
pub(crate) struct ReasoningPiece {
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    reasoning_details: Option<Value>,
}

/// Thinking that has arrived but was not passed on yet.
#[derive(Default)]
pub(crate) struct Reasoning {
    content: String,
    reasoning: String,
    details: Vec<Map<String, Value>>,
}

impl Reasoning {
    pub(crate) fn push(&mut self, piece: ReasoningPiece) {
        let text = |value: Option<Value>| if let Some(Value::String(text)) = value { text } else { String::new() };
        self.content.push_str(&text(piece.reasoning_content));
        self.reasoning.push_str(&text(piece.reasoning));
        if let Some(Value::Array(details)) = piece.reasoning_details {
            for detail in details {
                if let Value::Object(detail) = detail {
                    self.push_detail(detail);
                }
            }
        }
    }

    /// Adds a piece of `reasoning_details`. Consecutive pieces with the same index and type are joined.
    fn push_detail(&mut self, piece: Map<String, Value>) {
        let same = |key: &str, last: &Map<String, Value>| last.get(key) == piece.get(key);
        match self.details.last_mut() {
            Some(last) if piece.contains_key("index") && same("index", last) && same("type", last) => {
                for (key, value) in piece {
                    match (last.get_mut(&key), value) {
                        (Some(Value::String(text)), Value::String(more))
                            if matches!(key.as_str(), "text" | "summary" | "data") =>
                        {
                            text.push_str(&more);
                        }
                        (Some(_), Value::Null) => {}
                        (_, value) => {
                            last.insert(key, value);
                        }
                    }
                }
            }
            _ => self.details.push(piece),
        }
    }

    /// Removes and returns the thinking that has arrived so far. If a server repeats the thinking in several fields, only one of
    /// these fields is used.
    pub(crate) fn take(&mut self) -> Option<Delta> {
        let Self { content, reasoning, details } = std::mem::take(self);
        let (kind, text) = if !details.is_empty() {
            (ThinkingKind::ReasoningDetails, json!(details).to_string())
        } else if !content.is_empty() {
            (ThinkingKind::ReasoningContent, content)
        } else {
            (ThinkingKind::Reasoning, reasoning)
        };
        (!text.is_empty()).then(|| Delta::Thinking(Thinking::new(kind, text, "")))
    }
}

/// Writes thinking into its message, in the fields in which it arrived.
pub(crate) fn write(message: &mut Value, thoughts: &Thoughts) {
    let (mut content, mut reasoning, mut details) = (String::new(), String::new(), Vec::new());
    for Thinking { kind, text, .. } in &thoughts.thinking {
        match kind {
            ThinkingKind::ReasoningContent => content.push_str(text),
            ThinkingKind::Reasoning => reasoning.push_str(text),
            // Invalid JSON is ignored, because the text may have been read from an edited session file.
            ThinkingKind::ReasoningDetails => {
                details.extend(serde_json::from_str::<Vec<Value>>(text).unwrap_or_default());
            }
            ThinkingKind::Thinking | ThinkingKind::RedactedThinking => {}
        }
    }
    if !content.is_empty() {
        message[CONTENT] = json!(content);
    }
    if !reasoning.is_empty() {
        message[REASONING] = json!(reasoning);
    }
    if !details.is_empty() {
        message[DETAILS] = json!(details);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pieces: &[Value]) -> Option<Thinking> {
        let mut reasoning = Reasoning::default();
        for piece in pieces {
            reasoning.push(serde_json::from_value(piece.clone()).unwrap());
        }
        let Delta::Thinking(thinking) = reasoning.take()? else { panic!("no thinking") };
        assert_eq!(reasoning.take(), None, "it is handed on once");
        Some(thinking)
    }

    #[test]
    fn pieces_of_a_detail_are_joined_and_different_ones_stay_apart() {
        let detail = |detail: Value| json!({ "reasoning": "x", "reasoning_details": [detail] });
        let text =
            |text: &str| json!({ "type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": 0 });
        let taken = taken(&[
            detail(text("I lo")),
            detail(text("ok.")),
            detail(json!({ "type": "reasoning.text", "text": null, "signature": "c2ln", "index": 0 })),
            detail(json!({ "type": "reasoning.encrypted", "data": "ZGF0", "index": 1 })),
        ]);
        let taken = taken.unwrap();
        assert_eq!(taken.kind, ThinkingKind::ReasoningDetails);
        let expected = json!([
            { "type": "reasoning.text", "text": "I look.", "format": "anthropic-claude-v1", "index": 0, "signature": "c2ln" },
            { "type": "reasoning.encrypted", "data": "ZGF0", "index": 1 },
        ]);
        assert_eq!(serde_json::from_str::<Value>(&taken.text).unwrap(), expected);
        let mut message = json!({});
        let thoughts = Thoughts { provider: "p".into(), model: "m".into(), thinking: vec![taken] };
        write(&mut message, &thoughts);
        assert_eq!(message, json!({ "reasoning_details": expected }));
    }

    #[test]
    fn a_text_in_two_fields_is_kept_once_and_other_values_are_skipped() {
        let both = taken(&[json!({ "reasoning": "I look.", "reasoning_content": "I look." })]).unwrap();
        assert_eq!((both.kind, both.text.as_str()), (ThinkingKind::ReasoningContent, "I look."));
        assert_eq!(taken(&[json!({ "reasoning": { "effort": "high" }, "reasoning_content": null })]), None);
        assert_eq!(taken(&[json!({ "reasoning_details": "none" }), json!({})]), None);
    }
}
