//! The headers that say again what a request says. They are derived from the body that is sent, and from nothing earlier.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use hookhost_relay::message::{Members, Message};
use serde_json::Value;
use std::collections::HashMap;

/// Largest integer that every reader of JSON has exactly.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// Where the arguments of each tool are that have a header: its name, and the keys that lead to the argument.
#[derive(Clone, Debug, Default)]
pub struct Annotated(HashMap<String, Vec<(String, Vec<String>)>>);

impl Annotated {
    /// Takes up what a listing of tools says. `is_first` where it is the first page: what was known before is forgotten.
    pub fn take_up(&mut self, listing: &Value, is_first: bool) {
        if is_first {
            self.0.clear();
        }
        for tool in listing.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let mut found = Vec::new();
            if let Some(schema) = tool.get("inputSchema") {
                annotations(schema, &mut Vec::new(), &mut found);
            }
            self.0.insert(name.to_owned(), found);
        }
    }

    /// The headers of a request, each as it is sent.
    #[must_use]
    pub fn headers(&self, message: &Message) -> Vec<(String, String)> {
        self.values(message).into_iter().map(|(name, value)| (name, encoded(&value))).collect()
    }

    /// The headers of a request, each with what it says.
    fn values(&self, message: &Message) -> Vec<(String, String)> {
        let Some(method) = message.method() else { return Vec::new() };
        let mut headers = vec![("mcp-method".to_owned(), method.to_owned())];
        let params = message.params().unwrap_or_default();
        let named = match method {
            "tools/call" | "prompts/get" => params.text("name"),
            "resources/read" => params.text("uri"),
            _ => None,
        };
        headers.extend(named.clone().map(|name| ("mcp-name".to_owned(), name)));
        if method == "tools/call" {
            headers.extend(self.of_arguments(&named.unwrap_or_default(), &params));
        }
        headers
    }

    fn of_arguments(&self, tool: &str, params: &Members) -> Vec<(String, String)> {
        let arguments = params.value("arguments").unwrap_or_default();
        let value_of = |path: &Vec<String>| path.iter().try_fold(&arguments, |value, key| value.get(key));
        let header = |(name, path): &(String, Vec<String>)| {
            let text = match value_of(path)? {
                Value::String(text) => text.clone(),
                Value::Bool(flag) => flag.to_string(),
                Value::Number(number) => {
                    let number = number.as_i64().filter(|number| number.unsigned_abs() <= MAX_SAFE.unsigned_abs())?;
                    number.to_string()
                }
                _ => return None,
            };
            Some((format!("mcp-param-{}", name.to_ascii_lowercase()), text))
        };
        self.0.get(tool).into_iter().flatten().filter_map(header).collect()
    }
}

/// Annotated properties, reached by `properties` alone.
fn annotations(schema: &Value, path: &mut Vec<String>, found: &mut Vec<(String, Vec<String>)>) {
    for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(key.clone());
        if let Some(name) = property.get("x-mcp-header").and_then(Value::as_str).filter(|name| is_token(name)) {
            found.push((name.to_owned(), path.clone()));
        }
        annotations(property, path, found);
        path.pop();
    }
}

/// Why the headers of a request do not say what the request says, as a sentence; `None` where they do. `header` finds one by
/// its name in lower case.
#[must_use]
pub fn mismatch<'a>(
    annotated: &Annotated,
    request: &Message,
    version: &str,
    header: impl Fn(&str) -> Option<&'a [u8]>,
) -> Option<String> {
    let differs = |name: &str, value: &str| {
        let Some(said) = header(name) else { return Some(format!("the header {name} is missing")) };
        let decoded = std::str::from_utf8(said).ok().and_then(decoded);
        let is_same = decoded.as_deref() == Some(value);
        (!is_same).then(|| format!("the header {name} says something else than the request does"))
    };
    let version = differs("mcp-protocol-version", version);
    version.or_else(|| {
        let mut mirrored = annotated.values(request).into_iter();
        mirrored.find_map(|(name, value)| differs(&name, &value))
    })
}

/// The value that a header carries.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        Some(value) => String::from_utf8(BASE64.decode(value).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// A value as a header can carry it.
fn encoded(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) && value.trim() == value;
    let is_marked = value.starts_with("=?base64?") && value.ends_with("?=");
    if is_plain && !is_marked { value.to_owned() } else { format!("=?base64?{}?=", BASE64.encode(value)) }
}

#[cfg(test)]
mod tests {
    use super::{Annotated, encoded, mismatch};
    use hookhost_relay::message::Message;
    use serde_json::{Value, json};

    fn headers(annotated: &Annotated, request: &Value) -> Vec<(String, String)> {
        annotated.headers(&Message::of(request.to_string().into()).unwrap())
    }

    #[test]
    fn headers_say_what_the_body_says() {
        let mut annotated = Annotated::default();
        annotated.take_up(
            &json!({ "tools": [{ "name": "sql", "inputSchema": { "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" }, "query": { "type": "string" },
            "at": { "properties": { "n": { "x-mcp-header": "N" }, "gone": { "x-mcp-header": "Gone" } } },
            "bad": { "x-mcp-header": "a b" }, "items": { "items": { "properties": { "x": { "x-mcp-header": "X" } } } },
        } } }] }),
            true,
        );
        let arguments = json!({ "region": "世", "at": { "n": 7, "gone": null }, "bad": "x", "items": [{ "x": 1 }] });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "sql", "arguments": arguments } });
        let expected = [
            ("mcp-method", "tools/call"),
            ("mcp-name", "sql"),
            ("mcp-param-n", "7"),
            ("mcp-param-region", "=?base64?5LiW?="),
        ];
        let mut found = headers(&annotated, &request);
        found.sort();
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": "file:///a" } });
        assert_eq!(headers(&annotated, &read)[1], ("mcp-name".to_owned(), "file:///a".to_owned()));
    }

    #[test]
    fn a_header_that_says_something_else_than_the_body_is_found() {
        let mut annotated = Annotated::default();
        annotated.take_up(
            &json!({ "tools": [{ "name": "sql", "inputSchema": { "properties": {
            "region": { "x-mcp-header": "Region" } } } }] }),
            true,
        );
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "sql", "arguments": { "region": "世" } } });
        let request = Message::of(request.to_string().into()).unwrap();
        let good = annotated.headers(&request);
        for other in
            [None, Some("mcp-method"), Some("mcp-name"), Some("mcp-param-region"), Some("mcp-protocol-version")]
        {
            let header = |name: &str| match other {
                Some(other) if other == name => Some(&b"other"[..]),
                _ if name == "mcp-protocol-version" => Some(&b"2026-07-28"[..]),
                _ => good.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_bytes()),
            };
            let found = mismatch(&annotated, &request, "2026-07-28", header);
            assert_eq!(found.is_some(), other.is_some(), "{other:?}: {found:?}");
        }
        let none = mismatch(&annotated, &request, "2026-07-28", |_| None);
        assert_eq!(none.as_deref(), Some("the header mcp-protocol-version is missing"));
    }

    #[test]
    fn a_value_that_no_header_can_carry_is_encoded() {
        assert_eq!(encoded("us-west1"), "us-west1");
        assert_eq!(encoded(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(encoded("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
        assert_eq!(encoded("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }
}
