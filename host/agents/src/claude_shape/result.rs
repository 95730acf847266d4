//! Decodes the result of a tool: a string, or one of several kinds of object.

use hookhost_contract::ToolResult;
use serde_json::{Map, Value};

/// Returns the result with the text that the model reads, and the whole response.
pub(crate) fn result(response: &Value) -> ToolResult {
    let text = match response {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(blocks) => blocks_text(blocks).unwrap_or_else(|| response.to_string()),
        Value::Object(object) => object_text(object).unwrap_or_else(|| response.to_string()),
        other => other.to_string(),
    };
    ToolResult { text, is_error: is_error(response), raw: Some(response.into()) }
}

fn object_text(object: &Map<String, Value>) -> Option<String> {
    if object.contains_key("stdout") || object.contains_key("stderr") {
        let part = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (stdout, stderr) = (part("stdout"), part("stderr"));
        return Some(if stderr.is_empty() { stdout.to_owned() } else { format!("{stdout}\n{stderr}") });
    }
    match object.get("llmContent").or_else(|| object.get("content")) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(blocks)) => blocks_text(blocks),
        _ => None,
    }
}

/// Returns the texts of content blocks if all of them are texts. `None` otherwise, because the model then reads more
/// than a text can say.
fn blocks_text(blocks: &[Value]) -> Option<String> {
    let texts: Option<Vec<&str>> =
        blocks.iter().map(|block| block.as_str().or_else(|| block.get("text")?.as_str())).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

fn is_error(response: &Value) -> bool {
    let is = |key: &str, value: bool| response.get(key) == Some(&Value::Bool(value));
    let has_error = response.get("error").is_some_and(|error| !error.is_null() && error != &Value::Bool(false));
    is("is_error", true) || is("isError", true) || is("success", false) || has_error
}

#[cfg(test)]
mod tests {
    use super::result;
    use serde_json::json;

    #[test]
    fn each_kind_of_result_has_its_text_and_says_whether_the_tool_failed() {
        for (response, text, is_error) in [
            (json!("ok"), "ok", false),
            (json!(null), "", false),
            (json!({ "stdout": "a", "stderr": "" }), "a", false),
            (json!({ "stdout": "a", "stderr": "b" }), "a\nb", false),
            (json!({ "llmContent": "a", "returnDisplay": "b" }), "a", false),
            (json!({ "llmContent": "a", "error": { "message": "b" } }), "a", true),
            (json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]), "a\nb", false),
            (json!({ "content": [{ "type": "text", "text": "a" }], "isError": true }), "a", true),
            (json!({ "success": false }), "{\"success\":false}", true),
            (json!([{ "type": "image", "data": "A" }]), "[{\"type\":\"image\",\"data\":\"A\"}]", false),
            (json!(3), "3", false),
        ] {
            let found = result(&response);
            assert_eq!((found.text.as_str(), found.is_error), (text, is_error), "{response}");
            assert_eq!(found.raw, Some((&response).into()));
        }
    }
}
