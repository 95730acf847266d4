//! The headers that say again what a request says. They are derived from the body that is sent, and from nothing earlier.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use hookhost_relay::message::{Members, Message};
use serde_json::Value;
use std::collections::HashMap;

/// Largest integer that every reader of JSON has exactly.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// Upper bound of what is kept of a listing, in bytes: 8 MiB. It has as many pages as the service says.
const MAX_NOTES: usize = 8 * 1024 * 1024;

/// What a note takes besides its texts, in bytes.
const BESIDES: usize = 64;

/// Why the headers of a call cannot be derived.
const LEFT_OUT: &str = "the service's listing has more arguments with headers of their own than the proxy keeps (8 MiB), so the headers of a call of \
     this tool are not known";

/// Where the arguments of each tool are that have a header.
#[derive(Clone, Debug, Default)]
pub struct Annotated {
    tools: HashMap<String, Notes>,
    /// What they take.
    bytes: usize,
    /// Whether tools are left out of them.
    is_bounded: bool,
}

/// What is kept of a tool.
#[derive(Clone, Debug)]
struct Notes {
    /// The names of headers, each with the keys that lead to the argument.
    headers: Vec<(String, Vec<String>)>,
    /// What this takes.
    bytes: usize,
}

impl Notes {
    /// Of a tool; `None` where they would take more than is left.
    fn of(name: &str, schema: Option<&Value>, left: usize) -> Option<Self> {
        let mut notes = Self { headers: Vec::new(), bytes: name.len() + BESIDES };
        if let Some(schema) = schema {
            notes.take_up(schema, &mut Vec::new(), left)?;
        }
        (notes.bytes <= left).then_some(notes)
    }

    /// Takes up the annotated properties, which are reached by `properties` alone.
    fn take_up(&mut self, schema: &Value, path: &mut Vec<String>, left: usize) -> Option<()> {
        for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            path.push(key.clone());
            if let Some(name) = property.get("x-mcp-header").and_then(Value::as_str).filter(|name| is_token(name)) {
                // Before it is kept: a long key can lead to many arguments.
                self.bytes += name.len() + BESIDES + path.iter().map(|key| key.len() + BESIDES).sum::<usize>();
                if self.bytes > left {
                    return None;
                }
                self.headers.push((name.to_owned(), path.clone()));
            }
            self.take_up(property, path, left)?;
            path.pop();
        }
        Some(())
    }
}

impl Annotated {
    /// Takes up what a listing of tools says. `is_first` where it is the first page: what was known before is forgotten. Returns
    /// whether a tool of the listing is left out, and none was before.
    #[must_use]
    pub fn take_up(&mut self, listing: &Value, is_first: bool) -> bool {
        if is_first {
            *self = Self::default();
        }
        let was_bounded = self.is_bounded;
        for tool in listing.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            if let Some(earlier) = self.tools.remove(name) {
                self.bytes -= earlier.bytes;
            }
            match Notes::of(name, tool.get("inputSchema"), MAX_NOTES - self.bytes) {
                Some(notes) => {
                    self.bytes += notes.bytes;
                    self.tools.insert(name.to_owned(), notes);
                }
                None => self.is_bounded = true,
            }
        }
        self.is_bounded && !was_bounded
    }

    /// The headers of a request, each as it is sent.
    ///
    /// # Errors
    /// As a sentence, if they are not known: the listing was too large.
    pub fn headers(&self, message: &Message) -> Result<Vec<(String, String)>, String> {
        Ok(self.values(message)?.into_iter().map(|(name, value)| (name, encoded(&value))).collect())
    }

    /// The headers of a request, each with what it says.
    fn values(&self, message: &Message) -> Result<Vec<(String, String)>, String> {
        let Some(method) = message.method() else { return Ok(Vec::new()) };
        let mut headers = vec![("mcp-method".to_owned(), method.to_owned())];
        let params = message.params().unwrap_or_default();
        let named = match method {
            "tools/call" | "prompts/get" => params.text("name"),
            "resources/read" => params.text("uri"),
            _ => None,
        };
        headers.extend(named.clone().map(|name| ("mcp-name".to_owned(), name)));
        if method == "tools/call" {
            headers.extend(self.of_arguments(&named.unwrap_or_default(), &params)?);
        }
        Ok(headers)
    }

    fn of_arguments(&self, tool: &str, params: &Members) -> Result<Vec<(String, String)>, String> {
        let Some(notes) = self.tools.get(tool) else {
            // The service could read the arguments of a call in headers that are missing.
            return if self.is_bounded { Err(LEFT_OUT.to_owned()) } else { Ok(Vec::new()) };
        };
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
        Ok(notes.headers.iter().filter_map(header).collect())
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
    version.or_else(|| match annotated.values(request) {
        Ok(mirrored) => mirrored.into_iter().find_map(|(name, value)| differs(&name, &value)),
        Err(why) => Some(why),
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
    use super::{Annotated, MAX_NOTES, encoded, mismatch};
    use hookhost_relay::message::Message;
    use serde_json::{Value, json};

    fn headers(annotated: &Annotated, request: &Value) -> Vec<(String, String)> {
        annotated.headers(&Message::of(request.to_string().into()).unwrap()).unwrap()
    }

    #[test]
    fn headers_say_what_the_body_says() {
        let mut annotated = Annotated::default();
        let is_bounded = annotated.take_up(
            &json!({ "tools": [{ "name": "sql", "inputSchema": { "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" }, "query": { "type": "string" },
            "at": { "properties": { "n": { "x-mcp-header": "N" }, "gone": { "x-mcp-header": "Gone" } } },
            "bad": { "x-mcp-header": "a b" }, "items": { "items": { "properties": { "x": { "x-mcp-header": "X" } } } },
        } } }] }),
            true,
        );
        assert!(!is_bounded);
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
        let is_bounded = annotated.take_up(
            &json!({ "tools": [{ "name": "sql", "inputSchema": { "properties": {
            "region": { "x-mcp-header": "Region" } } } }] }),
            true,
        );
        assert!(!is_bounded);
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "sql", "arguments": { "region": "世" } } });
        let request = Message::of(request.to_string().into()).unwrap();
        let good = annotated.headers(&request).unwrap();
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

    /// A tool with one header, whose argument has this key.
    fn tool(name: &str, key: &str) -> Value {
        json!({ "name": name, "inputSchema": { "properties": { key: { "x-mcp-header": "Key" } } } })
    }

    fn call(name: &str) -> Message {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name } });
        Message::of(call.to_string().into()).unwrap()
    }

    #[test]
    fn endless_pages_take_no_endless_memory_and_a_tool_that_is_left_out_cannot_be_called() {
        let mut annotated = Annotated::default();
        let key = "k".repeat(MAX_NOTES / 50);
        let page = |n: usize| json!({ "tools": [tool(&format!("t{n}"), &key)], "nextCursor": "more" });
        let told: Vec<usize> = (0..200).filter(|n| annotated.take_up(&page(*n), *n == 0)).collect();
        assert_eq!(told, [49], "once");
        assert!(annotated.bytes <= MAX_NOTES && annotated.tools.len() == 49);
        assert!(annotated.headers(&call("t48")).is_ok());
        for unknown in ["t49", "other"] {
            let why = annotated.headers(&call(unknown)).unwrap_err();
            assert!(why.contains("than the proxy keeps"), "{why}");
            let header = |name: &str| match name {
                "mcp-protocol-version" => Some(&b"2026-07-28"[..]),
                "mcp-method" => Some(&b"tools/call"[..]),
                _ => Some(unknown.as_bytes()),
            };
            assert_eq!(mismatch(&annotated, &call(unknown), "2026-07-28", header), Some(why));
        }
        // What is listed again takes no more room, and another listing begins with none.
        assert!(!annotated.take_up(&json!({ "tools": [tool("t48", "short")] }), false));
        assert!(!annotated.take_up(&page(199), false) && annotated.headers(&call("t199")).is_ok());
        assert!(!annotated.take_up(&page(0), true));
        assert!(annotated.headers(&call("t49")).is_ok() && annotated.bytes < MAX_NOTES / 49);
    }

    #[test]
    fn a_long_key_that_leads_to_many_arguments_is_not_kept_with_each() {
        let arguments: serde_json::Map<String, Value> =
            (0..1000).map(|n| (format!("a{n}"), json!({ "x-mcp-header": format!("A{n}") }))).collect();
        let schema = json!({ "properties": { ("k".repeat(MAX_NOTES / 10)): { "properties": arguments } } });
        let mut annotated = Annotated::default();
        assert!(annotated.take_up(&json!({ "tools": [{ "name": "many", "inputSchema": schema }] }), true));
        assert_eq!((annotated.bytes, annotated.tools.len()), (0, 0));
    }

    #[test]
    fn a_value_that_no_header_can_carry_is_encoded() {
        assert_eq!(encoded("us-west1"), "us-west1");
        assert_eq!(encoded(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(encoded("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
        assert_eq!(encoded("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }
}
