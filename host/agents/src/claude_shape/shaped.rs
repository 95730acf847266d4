//! Puts a text into the shape of a tool's result. The shape of a JSON value consists of its keys and types. If a replacement has another
//! shape than the original result, Claude Code ignores the replacement and uses the original result. For example, Claude Code ignores a
//! string that should replace the object that its shell tool returns.

use serde_json::{Map, Value, json};

/// JSON pointers at which a result can have its text. The most likely pointer comes first.
const PLACES: &[&str] =
    &["/stdout", "/file/content", "/content", "/result", "/text", "/output", "/message", "/error", "/filePath"];

/// Keys whose value is the kind of the result. A short word at such a key is not removed, because the word is not content, and
/// removing it would change the shape.
const KINDS: &[&str] = &["type", "mode", "status", "kind"];

/// Maximum length of a kind, in bytes. A longer string is treated as content.
const MAX_KIND: usize = 32;

/// Keys that refer to a copy of the output. The agent would show the copy instead of the replaced output.
const COPIES: &[&str] = &["persistedOutputPath", "persistedOutputSize"];

/// Kinds of blocks that are not texts.
const MEDIA: &[&str] = &["image", "audio", "video", "document", "pdf", "resource", "parts"];

/// Keys whose string encodes the bytes of a file. If a sentence replaced such a string, the agent would read the sentence as bytes.
const BYTES: &[&str] = &["base64", "data", "blob", "bytes"];

/// Returns `original` with `text` as its only content. Also returns true if `original` had a string or a list that the text could
/// replace. The text also replaces a picture.
pub(crate) fn shaped(original: &Value, text: &str) -> (Value, bool) {
    match original {
        Value::Object(object) if is_media(object) => (text_in_place_of(object, text), true),
        Value::Object(object) => {
            let mut value = emptied_object(object);
            let place = PLACES.iter().copied().find(|place| value.pointer(place).is_some_and(Value::is_string));
            let found = place.and_then(|place| value.pointer_mut(place));
            let is_placed = match found {
                Some(place) => {
                    *place = json!(text);
                    true
                }
                None => place_anywhere(&mut value, original, text),
            };
            (value, is_placed)
        }
        Value::Array(blocks) if has_blocks(blocks) => (json!([block(text)]), true),
        Value::Array(_) => (json!([text]), true),
        _ => (json!(text), true),
    }
}

/// Returns true if these values are content blocks, such as the blocks in the result of an MCP server.
fn has_blocks(blocks: &[Value]) -> bool {
    blocks.iter().all(Value::is_object)
}

fn block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Returns true if a block or a result is a picture or other binary data, which is encoded as a string.
pub(crate) fn is_media(object: &Map<String, Value>) -> bool {
    let is_of_media = object.get("type").and_then(Value::as_str).is_some_and(|kind| MEDIA.contains(&kind));
    is_of_media || BYTES.iter().any(|key| object.get(*key).is_some_and(Value::is_string))
}

/// Returns a result with a text in place of a picture. The text is in an object `file` if the original result has such an object.
/// Otherwise, the text is in a content block.
fn text_in_place_of(object: &Map<String, Value>, text: &str) -> Value {
    match object.get("file") {
        Some(Value::Object(_)) => {
            let file = json!({ "filePath": "", "content": text, "numLines": 1, "startLine": 1, "totalLines": 1 });
            json!({ "type": "text", "file": file })
        }
        _ => block(text),
    }
}

/// Returns true if the replacement has the outermost keys of the original, with values of the same types. The keys in [`COPIES`] may be
/// missing.
pub(crate) fn has_shape_of(original: &Value, replacement: &Value) -> bool {
    match (original, replacement) {
        (Value::Object(original), Value::Object(replacement)) => original.iter().all(|(key, value)| {
            COPIES.contains(&key.as_str()) || replacement.get(key).is_some_and(|new| same_kind(value, new))
        }),
        _ => same_kind(original, replacement),
    }
}

fn same_kind(one: &Value, other: &Value) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// Returns the object with the same keys and no content.
fn emptied_object(object: &Map<String, Value>) -> Value {
    let kept = object.iter().filter(|(key, _)| !COPIES.contains(&key.as_str()));
    Value::Object(kept.map(|(key, value)| (key.clone(), emptied(key, value))).collect())
}

fn emptied(key: &str, value: &Value) -> Value {
    match value {
        Value::String(word) if KINDS.contains(&key) && is_word(word) => value.clone(),
        Value::String(_) => json!(""),
        Value::Array(_) => json!([]),
        // The new content is a text and not an image.
        Value::Bool(_) if key == "isImage" => json!(false),
        Value::Object(object) => emptied_object(object),
        other => other.clone(),
    }
}

fn is_word(text: &str) -> bool {
    text.len() <= MAX_KIND && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-/".contains(c))
}

/// Puts the text into the first empty string. If there is no empty string, puts the text into the first list that originally
/// contained blocks or strings.
fn place_anywhere(value: &mut Value, original: &Value, text: &str) -> bool {
    let Some(object) = value.as_object_mut() else { return false };
    let is_free = |key: &str, value: &Value| value == "" && !BYTES.contains(&key);
    if let Some((_, place)) = object.iter_mut().find(|(key, value)| is_free(key, value)) {
        *place = json!(text);
        return true;
    }
    let had_blocks = |key: &str| original[key].as_array().is_some_and(|list| !list.is_empty() && has_blocks(list));
    if let Some((_, place)) = object.iter_mut().find(|(key, _)| had_blocks(key)) {
        *place = json!([block(text)]);
        return true;
    }
    let had_texts = |key: &str| original[key].as_array().is_some_and(|list| list.first().is_some_and(Value::is_string));
    if let Some((_, place)) = object.iter_mut().find(|(key, _)| had_texts(key)) {
        *place = json!([text]);
        return true;
    }
    object.iter_mut().any(|(key, value)| place_anywhere(value, &original[key.as_str()], text))
}

#[cfg(test)]
mod tests {
    use super::{has_shape_of, shaped};
    use serde_json::{Value, json};

    #[test]
    fn a_text_takes_the_shape_of_the_result_and_nothing_of_the_content_stays() {
        let cases = [
            (json!("secret"), json!("no")),
            (json!(null), json!("no")),
            (json!([{ "type": "text", "text": "secret" }]), json!([{ "type": "text", "text": "no" }])),
            (json!(["secret"]), json!(["no"])),
            (
                json!({ "stdout": "secret", "stderr": "secret", "isImage": true, "persistedOutputPath": "/secret" }),
                json!({ "stdout": "no", "stderr": "", "isImage": false }),
            ),
            (
                json!({ "type": "text", "file": { "filePath": "/secret", "content": "secret", "numLines": 3 } }),
                json!({ "type": "text", "file": { "filePath": "", "content": "no", "numLines": 3 } }),
            ),
            (
                json!({ "filenames": ["secret"], "numFiles": 1, "truncated": false }),
                json!({ "filenames": ["no"], "numFiles": 1, "truncated": false }),
            ),
            (
                json!({ "mode": "content", "content": "secret", "filenames": ["secret"] }),
                json!({ "mode": "content", "content": "no", "filenames": [] }),
            ),
            (json!({ "type": "a secret in words", "code": 200 }), json!({ "type": "no", "code": 200 })),
            (json!({ "deep": { "note": "secret" } }), json!({ "deep": { "note": "no" } })),
            (
                json!({ "content": [{ "type": "image", "data": "secret" }], "isError": false }),
                json!({ "content": [{ "type": "text", "text": "no" }], "isError": false }),
            ),
        ];
        for (original, expected) in cases {
            let (value, is_placed) = shaped(&original, "no");
            assert_eq!((&value, is_placed), (&expected, true), "{original}");
            assert!(!value.to_string().contains("secret"), "{value}");
        }
        assert_eq!(shaped(&json!({ "success": true }), "no"), (json!({ "success": true }), false));
    }

    #[test]
    fn a_picture_that_is_withheld_becomes_a_text_and_no_sentence_takes_the_place_of_its_bytes() {
        let file = json!({ "filePath": "", "content": "no", "numLines": 1, "startLine": 1, "totalLines": 1 });
        for (original, expected) in [
            (
                json!({ "type": "image", "file": { "base64": "iVBO", "type": "image/png", "originalSize": 4 } }),
                json!({ "type": "text", "file": file }),
            ),
            (json!({ "type": "pdf", "file": { "base64": "JVBE" } }), json!({ "type": "text", "file": file })),
            (
                json!({ "type": "image", "data": "iVBO", "mimeType": "image/png" }),
                json!({ "type": "text", "text": "no" }),
            ),
            (
                json!({ "type": "image", "source": { "type": "base64", "data": "iVBO" } }),
                json!({ "type": "text", "text": "no" }),
            ),
            (
                json!([{ "type": "text", "text": "a" }, { "type": "image", "data": "iVBO" }]),
                json!([{ "type": "text", "text": "no" }]),
            ),
        ] {
            assert_eq!(shaped(&original, "no"), (expected, true), "{original}");
        }
    }

    #[test]
    fn a_replacement_of_another_shape_is_told_from_one_of_the_same() {
        let original = json!({ "stdout": "a", "stderr": "", "persistedOutputPath": "/x" });
        let same = |replacement: Value| has_shape_of(&original, &replacement);
        assert!(same(json!({ "stdout": "b", "stderr": "" })));
        assert!(!same(json!({ "stdout": "b" })) && !same(json!("b")) && !same(json!({ "stdout": 1, "stderr": "" })));
    }
}
