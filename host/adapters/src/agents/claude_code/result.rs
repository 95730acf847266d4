//! Results in place of a tool's own. Each tool that is built in has a shape of its own, and Claude Code uses the original result
//! where another one does not have that shape; results of MCP servers are taken as they are.
//! Source: `sdk-tools.d.ts` of the package, 2.1.330, and runs of it.

use super::AGENT;
use crate::agents::claude_shape::{Draft, filled, in_place};
use crate::event::ToolUse;
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::{ToolOrigin, ToolResult};
use serde_json::{Map, Value, json};

const KEY: &str = "updatedToolOutput";

/// Adds to `draft` what takes the place of the result; whether there is such an answer.
pub(super) fn answer(draft: &mut Draft<'_>, tool: &ToolUse, original: &ToolResult, outcome: &Outcome) -> bool {
    let raw = original.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or(Value::Null);
    match &outcome.answer {
        Answer::Rejected(rejection) => {
            instead(draft, tool, &raw, &reason::rejected(rejection));
            if AGENT.abilities("PostToolUse").stops {
                draft.end(rejection);
            }
        }
        Answer::ReplacedResult(result) => match whole(result, original, &raw) {
            Some(value) => draft.specific(KEY, value),
            None => instead(draft, tool, &raw, in_place(&result.text)),
        },
        _ => return false,
    }
    true
}

/// The reply where nothing is known of the result but that it must not be read.
pub(super) fn withhold(why: &str) -> Reply {
    let mut draft = Draft::new("PostToolUse");
    draft.specific(KEY, json!(filled(why)));
    end(&mut draft, why);
    draft.finish()
}

/// A text in the shape of the tool's results. Where there is no place for it the result is withheld by ending the run. Of what
/// a tool wrote to a file the model reads next to nothing: there it reads the text beside the result.
fn instead(draft: &mut Draft<'_>, tool: &ToolUse, raw: &Value, text: &str) {
    let value = match tool.origin {
        ToolOrigin::Builtin => in_shape(raw, tool, text),
        _ => Some(json!([{ "type": "text", "text": text }])),
    };
    match value {
        Some(value) => draft.specific(KEY, value),
        None => return end(draft, text),
    }
    if raw.get("structuredPatch").is_some() {
        draft.block(text);
    }
}

fn end(draft: &mut Draft<'_>, why: &str) {
    draft.block(why);
    draft.top("continue", json!(false));
    draft.top("stopReason", json!(filled(why)));
}

/// The result as the plugin gave it, if that is whole and has the shape of the original one. A plugin that changed the text
/// alone left the rest as it was: then the text counts.
fn whole(result: &ToolResult, original: &ToolResult, raw: &Value) -> Option<Value> {
    let given = result.raw.as_deref().filter(|given| original.raw.as_deref() != Some(*given));
    let from_text = || (original.text == raw.to_string()).then_some(result.text.as_str());
    let value: Value = serde_json::from_str(given.or_else(from_text)?).ok()?;
    is_alike(&value, raw).then_some(value)
}

/// Whether two values have the same kinds at the same places. A list may have become shorter.
fn is_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| is_alike(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() <= other.len() && one.iter().zip(other).all(|(one, other)| is_alike(one, other))
        }
        (Value::String(_), Value::String(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, Value::Null) => true,
        _ => false,
    }
}

/// A text as a result in the shape of `raw`, without anything else that was in it.
fn in_shape(raw: &Value, tool: &ToolUse, text: &str) -> Option<Value> {
    let lines = text.lines().count().max(1);
    let object = match raw {
        Value::String(_) | Value::Null => return Some(json!(text)),
        Value::Array(_) => return Some(json!([{ "type": "text", "text": text }])),
        Value::Object(object) => object,
        _ => return None,
    };
    let has = |key: &str| object.contains_key(key);
    let kept = |keys: &[&str]| -> Map<String, Value> {
        keys.iter().filter_map(|&key| Some((key.to_owned(), object.get(key)?.clone()))).collect()
    };
    let with = |mut kept: Map<String, Value>, key: &str, value: Value| {
        kept.insert(key.to_owned(), value);
        Some(Value::Object(kept))
    };
    if has("stdout") && has("stderr") {
        let interrupted = object.get("interrupted").cloned().unwrap_or(json!(false));
        return Some(json!({ "stdout": text, "stderr": "", "interrupted": interrupted, "isImage": false }));
    }
    if has("type") && has("file") {
        let path = raw.pointer("/file/filePath").or_else(|| tool.arguments.get("file_path")).cloned();
        let file = json!({
            "filePath": path.unwrap_or_default(), "content": text, "numLines": lines, "startLine": 1, "totalLines": lines,
        });
        return Some(json!({ "type": "text", "file": file }));
    }
    if has("filenames") && has("durationMs") {
        let kept = kept(&["durationMs", "truncated"]);
        return with(kept, "numFiles", json!(1)).and_then(|value| match value {
            Value::Object(object) => with(object, "filenames", json!([text])),
            _ => None,
        });
    }
    if has("filenames") && has("numFiles") {
        let found = json!({ "mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": lines });
        return Some(found);
    }
    if has("result") && has("url") && has("code") {
        return with(kept(&["bytes", "code", "codeText", "durationMs", "url"]), "result", json!(text));
    }
    if has("results") && has("query") {
        return with(kept(&["query", "durationSeconds"]), "results", json!([text]));
    }
    if has("structuredPatch") {
        let mut kept = kept(&["type", "filePath", "userModified", "replaceAll"]);
        for key in ["content", "oldString", "newString"].into_iter().filter(|key| has(key)) {
            kept.insert(key.to_owned(), json!(""));
        }
        kept.insert("originalFile".to_owned(), Value::Null);
        return with(kept, "structuredPatch", json!([]));
    }
    if object.get("content").is_some_and(Value::is_array) {
        return with(object.clone(), "content", json!([{ "type": "text", "text": text }]));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{in_shape, whole};
    use crate::event::ToolUse;
    use hookhost_contract::ToolResult;
    use serde_json::{Value, json};

    #[test]
    fn nothing_of_a_result_is_left_in_what_takes_its_place() {
        let tool = ToolUse::new(None, "Read", json!({ "file_path": "/home/me/notes" }));
        for raw in [
            json!("secret"),
            json!([{ "type": "text", "text": "secret" }]),
            json!({ "stdout": "secret", "stderr": "secret", "interrupted": false, "rawOutputPath": "/secret" }),
            json!({ "type": "text", "file": { "filePath": "/home/me/notes", "content": "secret" } }),
            json!({ "type": "image", "file": { "base64": "secret" } }),
            json!({ "durationMs": 3, "numFiles": 1, "filenames": ["secret"], "truncated": false }),
            json!({ "mode": "content", "numFiles": 0, "filenames": [], "content": "secret" }),
            json!({ "bytes": 6, "code": 200, "codeText": "OK", "result": "secret", "durationMs": 1, "url": "https://a" }),
            json!({ "query": "a", "results": ["secret"], "durationSeconds": 1 }),
            json!({ "status": "completed", "content": [{ "type": "text", "text": "secret" }], "prompt": "find it" }),
        ] {
            let value = in_shape(&raw, &tool, "no").unwrap().to_string();
            assert!(value.contains("no") && !value.contains("secret"), "{raw}: {value}");
        }
        let written =
            json!({ "filePath": "/a", "content": "secret", "originalFile": "secret", "structuredPatch": ["secret"] });
        assert!(!in_shape(&written, &tool, "no").unwrap().to_string().contains("secret"));
        assert_eq!(in_shape(&json!({ "taskId": "secret" }), &tool, "no"), None);
    }

    #[test]
    fn a_result_of_another_shape_is_not_passed_on_as_a_whole() {
        let raw = json!({ "stdout": "a", "lines": [1, 2] });
        let original = ToolResult { text: "a".into(), is_error: false, raw: Some(raw.to_string()) };
        let given = |value: Value| ToolResult { text: "b".into(), is_error: false, raw: Some(value.to_string()) };
        let alike = json!({ "stdout": "b", "lines": [1] });
        assert_eq!(whole(&given(alike.clone()), &original, &raw), Some(alike));
        assert_eq!(whole(&given(json!({ "stdout": "b" })), &original, &raw), None);
        assert_eq!(whole(&given(json!("b")), &original, &raw), None);
        assert_eq!(
            whole(&given(raw.clone()), &original, &raw),
            None,
            "the text was changed, and the rest is the old one"
        );
    }
}
