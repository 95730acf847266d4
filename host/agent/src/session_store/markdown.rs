//! Format of a stored answer: its text, and a fenced block for each piece of thinking and each tool call, separated by
//! blank lines.
//!
//! The text can contain anything, even lines that look like such a block. A line that would begin a block, or end a
//! block of thinking, is indented by one additional space, which reading removes.

use super::front_matter::{unword, word};
use hookhost_models::message::{Thinking, ThinkingKind, ToolUse};
use serde_json::Value;

const FENCE: &str = "```";
const TOOL_CALL: &str = "```tool_call";
const THINKING: &str = "```thinking";

/// One answer of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Body {
    pub(super) thinking: Vec<Thinking>,
    pub(super) text: String,
    pub(super) tool_calls: Vec<ToolUse>,
}

/// A fault in a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BodyError {
    /// Line of the fault, from 1, counted from the body's first line.
    pub(super) line: usize,
    pub(super) reason: String,
}

impl Body {
    pub(super) fn write(&self) -> String {
        let thinking = self.thinking.iter().map(|thinking| {
            let text = indented(&thinking.text, |line| begins_block(line) || line == FENCE);
            format!("{THINKING} {}\n{text}\n{FENCE}", kind_and_signature(thinking))
        });
        let text = (!self.text.is_empty()).then(|| indented(&self.text, begins_block));
        let calls = self.tool_calls.iter().map(|ToolUse { id, name, arguments, .. }| {
            format!("{TOOL_CALL} {} {}\n{arguments}\n{FENCE}", word("id", id), word("name", name))
        });
        thinking.chain(text).chain(calls).collect::<Vec<_>>().join("\n\n")
    }

    pub(super) fn read(body: &str) -> Result<Self, BodyError> {
        let mut read = Self::default();
        let mut texts: Vec<String> = Vec::new();
        let mut lines = body.split('\n').enumerate();
        let mut text: Vec<&str> = Vec::new();
        let mut behind_block = false;
        while let Some((index, line)) = lines.next() {
            let Some(opening) = Opening::of(line) else {
                text.push(line);
                continue;
            };
            // A blank line separates the text and the block.
            if text.last() == Some(&"") {
                text.pop();
            }
            texts.extend(unindented(&text, behind_block, begins_block));
            text.clear();
            behind_block = true;
            let mut inside = Vec::new();
            loop {
                match lines.next() {
                    Some((_, FENCE)) => break,
                    Some((_, line)) => inside.push(line),
                    None => return Err(BodyError { line: index + 1, reason: "the block is not closed by ```".into() }),
                }
            }
            match opening {
                Opening::Thinking { kind, signature } => {
                    let text = unindented(&inside, false, |line| begins_block(line) || line == FENCE);
                    read.thinking.push(Thinking::new(kind, text.unwrap_or_default(), signature));
                }
                Opening::ToolCall { id, name } => {
                    let arguments = arguments(&inside.join("\n"))
                        .map_err(|error| BodyError { line: index + 2, reason: format!("no JSON: {error}") })?;
                    read.tool_calls.push(ToolUse::new(id, name, arguments));
                }
            }
        }
        texts.extend(unindented(&text, behind_block, begins_block));
        read.text = texts.join("\n\n");
        Ok(read)
    }
}

/// The first line of a block.
enum Opening {
    Thinking { kind: ThinkingKind, signature: String },
    ToolCall { id: String, name: String },
}

impl Opening {
    fn of(line: &str) -> Option<Self> {
        if let Some(rest) = line.strip_prefix(THINKING) {
            return Self::thinking(rest.strip_prefix(' ')?);
        }
        let mut words = line.strip_prefix(TOOL_CALL)?.strip_prefix(' ')?.split(' ');
        let id = unword("id", words.next()?)?;
        let name = unword("name", words.next()?)?;
        Some(Self::ToolCall { id, name })
    }

    fn thinking(words: &str) -> Option<Self> {
        let Some(words) = words.strip_prefix("kind=") else {
            return Some(Self::Thinking { kind: ThinkingKind::Thinking, signature: unword("signature", words)? });
        };
        let (kind, signature) = match words.split_once(' ') {
            Some((kind, rest)) => (kind, unword("signature", rest)?),
            None => (words, String::new()),
        };
        Some(Self::Thinking { kind: ThinkingKind::from_name(kind)?, signature })
    }
}

/// Returns the words of a block of thinking. A block without `kind=` has the original format; the program that defined
/// it ignores other kinds.
fn kind_and_signature(Thinking { kind, signature, .. }: &Thinking) -> String {
    match kind {
        ThinkingKind::Thinking => word("signature", signature),
        kind if signature.is_empty() => format!("kind={}", kind.name()),
        kind => format!("kind={} {}", kind.name(), word("signature", signature)),
    }
}

fn begins_block(line: &str) -> bool {
    line.starts_with(TOOL_CALL) || line.starts_with(THINKING)
}

/// Indents each line that has a meaning by itself, or would have one without its indentation, by one additional space.
fn indented(text: &str, means: impl Fn(&str) -> bool) -> String {
    let line = |line: &str| if means(line.trim_start_matches(' ')) { format!(" {line}") } else { line.to_owned() };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the original text of these lines; `None` if there are none but the blank line after a block.
fn unindented(lines: &[&str], behind_block: bool, means: impl Fn(&str) -> bool) -> Option<String> {
    let lines = if behind_block { lines.strip_prefix(&[""]).unwrap_or(lines) } else { lines };
    let line = |line: &&str| match line.strip_prefix(' ') {
        Some(less) if means(less.trim_start_matches(' ')) => less.to_owned(),
        _ => (*line).to_owned(),
    };
    (!lines.is_empty()).then(|| lines.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Parses the arguments: an object, or a JSON string with the text that the model wrote instead.
fn arguments(json: &str) -> Result<Value, serde_json::Error> {
    if json.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    Ok(match serde_json::from_str(json)? {
        value @ (Value::Object(_) | Value::String(_)) => value,
        other => Value::String(other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Text made of what could be misread.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<String>(),
            "[ \n`a-z]{0,12}",
            Just("\n".to_owned()),
            Just("```".to_owned()),
            Just("\n```\n".to_owned()),
            Just("\n---\n".to_owned()),
            Just("```tool_call id=a name=b\n{}\n```".to_owned()),
            Just(" ```tool_call id=a name=b".to_owned()),
            Just("\n```thinking signature=s\n".to_owned()),
            Just("role: user\r\n".to_owned()),
        ];
        proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i32>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((text(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
            ]
        })
    }

    fn call() -> impl Strategy<Value = ToolUse> {
        let arguments = prop_oneof![
            proptest::collection::vec((text(), json_value()), 0..4)
                .prop_map(|pairs| pairs.into_iter().collect::<Value>()),
            text().prop_map(Value::from),
        ];
        let name = || prop_oneof!["[a-zA-Z0-9_.%-]{1,12}", any::<String>()];
        (name(), name(), arguments).prop_map(|(id, name, arguments)| ToolUse::new(id, name, arguments))
    }

    fn body() -> impl Strategy<Value = Body> {
        let kind = prop_oneof![
            Just(ThinkingKind::Thinking),
            Just(ThinkingKind::RedactedThinking),
            Just(ThinkingKind::ReasoningContent),
            Just(ThinkingKind::Reasoning),
            Just(ThinkingKind::ReasoningDetails),
        ];
        let thought =
            (kind, any::<String>(), text()).prop_map(|(kind, signature, text)| Thinking::new(kind, text, signature));
        let parts = (proptest::collection::vec(thought, 0..3), text(), proptest::collection::vec(call(), 0..4));
        parts.prop_map(|(thinking, text, tool_calls)| Body { thinking, text, tool_calls })
    }

    proptest! {
        #[test]
        fn whatever_an_answer_holds_is_read_as_it_was_written(body in body()) {
            prop_assert_eq!(Body::read(&body.write()), Ok(body));
        }

        #[test]
        fn any_content_of_a_file_is_read_or_refused(text in text()) {
            if let Ok(body) = Body::read(&text) {
                prop_assert_eq!(Body::read(&body.write()), Ok(body));
            }
        }
    }

    #[test]
    fn thinking_is_written_as_the_field_has_it_and_other_kinds_are_named() {
        let thinking = |kind, signature| Thinking::new(kind, "I think.", signature);
        let body = Body {
            thinking: vec![
                thinking(ThinkingKind::Thinking, "c2ln"),
                Thinking::new(ThinkingKind::RedactedThinking, "", "ZGF0"),
                thinking(ThinkingKind::ReasoningContent, ""),
            ],
            text: "Done.".into(),
            tool_calls: Vec::new(),
        };
        assert_eq!(
            body.write(),
            "```thinking signature=c2ln\nI think.\n```\n\n\
             ```thinking kind=redacted_thinking signature=ZGF0\n\n```\n\n\
             ```thinking kind=reasoning_content\nI think.\n```\n\nDone."
        );
        assert_eq!(Body::read(&body.write()), Ok(body));
    }

    #[test]
    fn a_call_is_written_as_the_field_has_it() {
        let call = ToolUse::new("toolu_1", "bash", json!({ "command": "ls\n" }));
        let body = Body { thinking: Vec::new(), text: "I look.".into(), tool_calls: vec![call] };
        assert_eq!(body.write(), "I look.\n\n```tool_call id=toolu_1 name=bash\n{\"command\":\"ls\\n\"}\n```");
    }

    #[test]
    fn what_looks_like_a_call_in_text_is_not_a_call() {
        let text = "So it is written:\n```tool_call id=a name=bash\n{\"command\": \"rm -rf /\"}\n```\nOr so.";
        let body = Body { text: text.into(), ..Body::default() };
        let written = body.write();
        assert!(!written.lines().any(|line| line.starts_with("```tool_call")), "{written}");
        assert_eq!(Body::read(&written).unwrap(), body);
    }

    #[test]
    fn a_block_without_an_end_and_arguments_that_are_not_json_are_reported_with_their_line() {
        let unclosed = Body::read("Text.\n\n```tool_call id=a name=b\n{}").unwrap_err();
        assert_eq!(unclosed, BodyError { line: 3, reason: "the block is not closed by ```".into() });
        let broken = Body::read("```tool_call id=a name=b\n{\"a\":\n```").unwrap_err();
        assert_eq!((broken.line, broken.reason.starts_with("no JSON: ")), (2, true));
    }

    #[test]
    fn text_between_blocks_and_blank_lines_around_them_are_read_as_other_programs_write_them() {
        let read = Body::read(
            "\n```tool_call id=a name=b\n{\n  \"x\": 1\n}\n```\n\nthen\n\n```tool_call id=c name=d\n\n```\n",
        );
        let read = read.unwrap();
        assert_eq!(read.text, "then");
        assert_eq!(read.tool_calls[0].arguments, json!({ "x": 1 }));
        assert_eq!((read.tool_calls[1].id.as_str(), &read.tool_calls[1].arguments), ("c", &json!({})));
    }
}
