//! Converts the answers to requests into the results that plugins get, and changed results back into answers.

use crate::jsonrpc::message::{self, INVALID_PARAMS, Id, Members};
use crate::mcp::operation::{Method, Operation};
use bytes::Bytes;
use hookhost_contract::{Json, ToolResult};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The error code with which a client tells a server that the user rejects the server's request for a model's answer.
const SAMPLING_REJECTED: i64 = -1;

/// The members that the result of a call can have if it contains nothing but text.
const TEXT_RESULT_KEYS: &[&str] = &["content", "isError", "resultType"];

/// Converts a result into the form that plugins get. The field `raw` is set to the whole result if the result contains more than
/// text.
///
/// # Errors
/// One sentence, if the result cannot be read.
pub fn read(method: Method, result: &Members) -> Result<ToolResult, String> {
    let value = result.to_value().map_err(|why| format!("the result of {} {why}", method.name()))?;
    let empty = Vec::new();
    let list = |key: &str| value.get(key).and_then(Value::as_array).unwrap_or(&empty);
    let mut text = String::new();
    match method {
        Method::CallTool | Method::TaskResult => {
            match value.get("content") {
                Some(Value::Array(blocks)) => blocks.iter().for_each(|block| put(&mut text, block)),
                Some(block) => put(&mut text, block),
                None => {}
            }
            // A member of the wrong type is added to the text, so that plugins see its content.
            let is_odd = |key: &str, is_as_it_should: fn(&Value) -> bool| {
                value.get(key).filter(|value| !is_as_it_should(value)).into_iter()
            };
            let odd = is_odd("isError", Value::is_boolean).chain(is_odd("resultType", is_result_type));
            odd.for_each(|one| put(&mut text, one));
        }
        Method::ReadResource => list("contents").iter().for_each(|content| put_resource(&mut text, content)),
        Method::GetPrompt => {
            list("messages").iter().filter_map(|message| message.get("content")).for_each(|one| put(&mut text, one));
        }
        Method::Sample => match value.get("content") {
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| put(&mut text, block)),
            Some(block) => put(&mut text, block),
            None => {}
        },
        Method::Elicit => text = value.get("content").map(Value::to_string).unwrap_or_default(),
        Method::UpdateTask => {}
    }
    if text.is_empty()
        && let Some(structured) = value.get("structuredContent")
    {
        text = structured.to_string();
    }
    // The members must also have the right types, because a member of the wrong type can contain more than text.
    let is_plain = method == Method::CallTool
        && result.keys().all(|key| TEXT_RESULT_KEYS.contains(&key))
        && value.get("content").and_then(Value::as_array).is_some_and(|blocks| blocks.iter().all(is_plain_text))
        && value.get("isError").is_none_or(Value::is_boolean)
        && value.get("resultType").is_none_or(|kind| kind == "complete");
    let is_error = value.get("isError") == Some(&Value::Bool(true));
    let raw = (!is_plain).then(|| Json::from(&value));
    Ok(ToolResult { text, is_error, raw })
}

fn is_result_type(kind: &Value) -> bool {
    ["complete", "input_required", "task"].iter().any(|known| kind == known)
}

/// Returns a text that contains the message of an error and all other members that plugins must see.
pub fn said(error: &Value) -> String {
    let mut text = error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (key, value) in error.as_object().into_iter().flatten() {
        let is_known = (key == "message" && value.is_string()) || (key == "code" && value.is_i64());
        if !is_known {
            begin(&mut text);
            let _ = write!(text, "{key}: {value}");
        }
    }
    text
}

/// Returns true if a block contains only text.
fn is_plain_text(block: &Value) -> bool {
    let Some(fields) = block.as_object() else { return false };
    fields.len() == 2 && fields.get("type") == Some(&json!("text")) && fields.get("text").is_some_and(Value::is_string)
}

fn put(text: &mut String, block: &Value) {
    let field = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    begin(text);
    let _ = match field("type") {
        "text" => write!(text, "{}", field("text")),
        kind @ ("image" | "audio") => write!(text, "[{kind}, {} bytes as base64]", field("data").len()),
        "resource" => {
            if let Some(resource) = block.get("resource") {
                put_resource(text, resource);
            }
            Ok(())
        }
        "resource_link" => write!(text, "[{}]", field("uri")),
        // A block of an unknown kind is shown to plugins as JSON.
        _ => write!(text, "{block}"),
    };
}

fn put_resource(text: &mut String, content: &Value) {
    let field = |key: &str| content.get(key).and_then(Value::as_str);
    begin(text);
    let _ = match (field("text"), field("blob")) {
        (Some(said), _) => write!(text, "{said}"),
        (None, Some(blob)) => write!(text, "[{}, {} bytes as base64]", field("uri").unwrap_or_default(), blob.len()),
        (None, None) => write!(text, "{content}"),
    };
}

fn begin(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Returns the result with the changes that plugins made. If a plugin changed the raw result, returns the changed raw result. If a
/// plugin changed only the text, returns a new result with this text. The new result contains no text of the original.
///
/// # Errors
/// One sentence, if the change is not possible in a result of this kind.
pub fn write_back(
    operation: &Operation,
    before: &ToolResult,
    after: &ToolResult,
    members: &Members,
) -> Result<Value, String> {
    let method = operation.method;
    let cannot = || format!("a plugin changed the result of {} to a value that this result cannot have", method.name());
    if let Some(raw) = after.raw.as_ref().filter(|raw| before.raw.as_ref() != Some(*raw)) {
        let whole: Value = raw.read().map_err(|_| cannot())?;
        return if whole.is_object() { Ok(whole) } else { Err(cannot()) };
    }
    let text = after.text.as_str();
    let mut result = match method {
        Method::CallTool | Method::TaskResult => tool_result(text, after.is_error),
        Method::ReadResource => {
            // The result gets the requested address, because the address in the server's result could contain the text that plugins
            // removed.
            let asked = operation.arguments.get("uri").and_then(Value::as_str).unwrap_or_default();
            json!({ "contents": [{ "uri": asked, "text": text }] })
        }
        Method::GetPrompt => json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] }),
        Method::Sample => {
            let is_user = members.text("role").as_deref() == Some("user");
            json!({
                "role": if is_user { "user" } else { "assistant" }, "model": members.text("model").unwrap_or_default(),
                "content": { "type": "text", "text": text },
            })
        }
        Method::Elicit | Method::UpdateTask => return Err(cannot()),
    };
    // The new result keeps those members that only control how the client treats the answer.
    if let Some(time) = members.value("ttlMs").filter(Value::is_number) {
        result["ttlMs"] = time;
    }
    if let Some(scope) = members.text("cacheScope").filter(|scope| ["public", "private"].contains(&scope.as_str())) {
        result["cacheScope"] = json!(scope);
    }
    // The new result contains no questions, so its type is `complete`.
    if members.get("resultType").is_some() {
        result["resultType"] = json!("complete");
    }
    Ok(result)
}

/// Returns the result of a call that returns only this text.
pub fn tool_result(text: &str, is_error: bool) -> Value {
    json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
}

/// Returns the answer to a rejected request. For a call, the answer is a result, because the model reads the reason only in a
/// result. `is_stateless` is true for the revision of the protocol in which each result has the member `resultType`.
pub fn rejected(method: Method, id: &Id, why: &str, is_stateless: bool) -> Bytes {
    match method {
        Method::CallTool => message::result(id, &typed(tool_result(why, true), is_stateless)),
        Method::Elicit => message::result(id, &json!({ "action": "decline" })),
        Method::Sample => message::error(Some(id), SAMPLING_REJECTED, why),
        Method::ReadResource | Method::GetPrompt | Method::UpdateTask | Method::TaskResult => {
            message::error(Some(id), message::REJECTED, why)
        }
    }
}

/// Returns the answer to a request for which a plugin gave the result. Such a request is not forwarded.
///
/// # Errors
/// One sentence, if a result of this kind cannot contain `result`.
pub fn responded(operation: &Operation, id: &Id, result: &ToolResult, is_stateless: bool) -> Result<Bytes, String> {
    let value = write_back(operation, &ToolResult::text(""), result, &Members::default())?;
    Ok(message::result(id, &typed(value, is_stateless)))
}

/// Returns the answer to a call to a tool that is not available to the client. Such a tool is forbidden or unknown.
pub fn no_such_tool(id: &Id, tool: &str) -> Bytes {
    message::error(Some(id), INVALID_PARAMS, &format!("Unknown tool: {tool}"))
}

fn typed(mut result: Value, is_stateless: bool) -> Value {
    if is_stateless {
        result["resultType"] = json!("complete");
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{Method, Operation, read, write_back};
    use crate::jsonrpc::message::Members;
    use hookhost_contract::ToolResult;
    use serde_json::json;

    fn of(method: Method) -> Operation {
        Operation { method, tool: "say".to_owned(), arguments: json!({ "uri": "file:///a" }) }
    }

    fn members(value: &serde_json::Value) -> Members {
        Members::of(&value.to_string()).unwrap()
    }

    #[test]
    fn text_is_text_and_all_else_is_there_whole_for_plugins() {
        let plain = members(&json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }));
        assert_eq!(read(Method::CallTool, &plain).unwrap(), ToolResult::text("a\nb"));
        for more in [
            json!({ "content": [{ "type": "text", "text": "a", "_meta": { "s": "secret" } }] }),
            json!({ "content": [{ "type": "text", "text": "a" }], "structuredContent": { "s": "secret" } }),
            json!({ "content": [{ "type": "text", "text": "a" }], "_meta": { "s": "secret" } }),
            json!({ "content": [{ "type": "text", "text": "a" }], "else": "secret" }),
            json!({ "content": "secret" }),
            json!({ "content": { "type": "text", "text": "secret" } }),
            json!({ "content": [], "isError": "secret" }),
            json!({ "content": [], "resultType": "secret" }),
            json!({ "content": [], "resultType": ["secret"] }),
        ] {
            let result = read(Method::CallTool, &members(&more)).unwrap();
            assert!(result.raw.is_some_and(|raw| raw.contains("secret")), "{more}");
        }
    }

    #[test]
    fn a_replaced_text_leaves_nothing_of_the_result_as_it_was() {
        let result = members(&json!({
            "content": [{ "type": "text", "text": "key=abc" }], "structuredContent": { "key": "abc" }, "_meta": { "k": "abc" },
            "resultType": "complete",
        }));
        let before = read(Method::CallTool, &result).unwrap();
        let mut after = before.clone();
        after.text = "key=***".to_owned();
        let written = write_back(&of(Method::CallTool), &before, &after, &result).unwrap();
        let expected = json!({
            "content": [{ "type": "text", "text": "key=***" }], "isError": false, "resultType": "complete",
        });
        assert_eq!(written, expected);
    }

    #[test]
    fn what_stays_of_a_replaced_result_can_say_nothing_else() {
        for (method, result) in [
            (Method::CallTool, json!({ "content": [], "ttlMs": "sk-1", "cacheScope": "sk-1", "resultType": "sk-1" })),
            (Method::ReadResource, json!({ "contents": [{ "uri": "sk-1", "text": "x" }] })),
            (Method::Sample, json!({ "role": "sk-1", "model": ["sk-1"], "content": { "type": "text", "text": "x" } })),
        ] {
            let before = read(method, &members(&result)).unwrap();
            let after = ToolResult { text: "***".into(), ..before.clone() };
            let written = write_back(&of(method), &before, &after, &members(&result)).unwrap().to_string();
            assert!(written.contains("***") && !written.contains("sk-1"), "{written}");
        }
    }

    #[test]
    fn a_replaced_whole_result_is_the_result() {
        let result = members(&json!({ "content": [], "structuredContent": { "key": "abc" } }));
        let before = read(Method::CallTool, &result).unwrap();
        let whole = json!({ "content": [], "structuredContent": { "key": "***" } });
        let after = ToolResult { raw: Some((&whole).into()), ..before.clone() };
        assert_eq!(write_back(&of(Method::CallTool), &before, &after, &result).unwrap(), whole);
        let no_object = ToolResult { raw: Some(json!([1]).into()), ..before.clone() };
        assert!(write_back(&of(Method::CallTool), &before, &no_object, &result).is_err());
    }

    #[test]
    fn resources_prompts_and_answers_of_models_are_read_as_text() {
        let resource =
            members(&json!({ "contents": [{ "uri": "file:///a", "text": "x" }, { "uri": "b", "blob": "AAAA" }] }));
        assert_eq!(read(Method::ReadResource, &resource).unwrap().text, "x\n[b, 4 bytes as base64]");
        let prompt = members(&json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "p" } }] }));
        assert_eq!(read(Method::GetPrompt, &prompt).unwrap().text, "p");
        let answer = members(&json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "t" } }));
        let before = read(Method::Sample, &answer).unwrap();
        let after = ToolResult { text: "u".into(), ..before.clone() };
        let written = write_back(&of(Method::Sample), &before, &after, &answer).unwrap();
        assert_eq!(written, json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "u" } }));
    }
}
