//! HTTP headers that repeat parts of a request. Their values are taken from the body that is sent, because plugins may have changed
//! the client's body.

use crate::jsonrpc::message::{Message, MessageKind};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Largest integer that every JSON reader can represent exactly.
const MAX_SAFE: i64 = (1 << 53) - 1;

/// Maximum size of the stored headers of a listing, in bytes: 8 MiB. The size is limited because the service decides how many pages
/// its listing has.
const MAX_NOTES: usize = 8 * 1024 * 1024;

/// Bytes of memory that an entry is assumed to take in addition to its strings.
const ENTRY_OVERHEAD: usize = 64;

/// Maximum number of a tool's arguments that have a header. It is far below 32 768, the capacity of a `HeaderMap`.
pub(crate) const MAX_HEADERS: usize = 256;

/// The reason for rejecting a call if the headers of its tool are not stored.
const UNKNOWN_HEADERS: &str = "the service's listing has more arguments with headers of their own than the proxy keeps (8 MiB), so the headers of a call of \
     this tool are not known";

/// The reason for rejecting a call if its tool has too many headers.
pub(crate) const TOO_MANY_HEADERS: &str =
    "the tool has more than 256 arguments with headers of their own, which is more than the proxy sends";

/// The reason for rejecting a call if two of the tool's arguments have the same header.
const DUPLICATE_HEADER: &str =
    "the tool has two arguments with the same header, so the proxy does not know which value the header must have";

/// The locations of the arguments that have a header, for each tool.
#[derive(Clone, Debug, Default)]
pub struct ParameterHeaders {
    tools: HashMap<String, ToolHeaders>,
    /// Size of all entries, in bytes.
    bytes: usize,
    /// True if the headers of some tools are missing because the table was full.
    is_bounded: bool,
    /// The number of the listing whose pages are being read.
    listing: u64,
    /// The cursor of the next page of this listing; `None` if all pages were read.
    next: Option<String>,
    /// True if a tool of this listing was left out.
    leaves_out: bool,
}

/// The headers of one tool.
#[derive(Clone, Debug)]
struct ToolHeaders {
    /// The name of each header, with the path of keys to its argument. An error contains the reason why calls of the tool are
    /// rejected.
    headers: Result<Vec<(String, Vec<String>)>, &'static str>,
    /// Size of this entry, in bytes.
    bytes: usize,
    /// The number of the last listing that contained the tool.
    listing: u64,
}

/// The reason why the rest of a tool's schema is not read.
enum SchemaError {
    /// The entry would exceed the memory that is left.
    Room,
    /// The headers that the schema requires cannot be sent, so the tool cannot be called.
    Unfit(&'static str),
}

impl ToolHeaders {
    /// Creates the entry of a tool. Returns `None` if the entry needs more than `left` bytes.
    fn of(name: &str, schema: Option<&Value>, listing: u64, left: usize) -> Option<Self> {
        let own = name.len() + ENTRY_OVERHEAD;
        let mut notes = ToolHeadersBuilder { headers: Vec::new(), names: HashSet::new(), bytes: own, left };
        let taken = schema.map_or(Ok(()), |schema| notes.add_schema(schema, &mut Vec::new()));
        let (headers, bytes) = match taken {
            Ok(()) => (Ok(notes.headers), notes.bytes),
            Err(SchemaError::Unfit(why)) => (Err(why), own),
            Err(SchemaError::Room) => return None,
        };
        (bytes <= left).then_some(Self { headers, bytes, listing })
    }
}

/// The entry of a tool while its schema is being read.
struct ToolHeadersBuilder {
    headers: Vec<(String, Vec<String>)>,
    /// The headers' names, in lower case.
    names: HashSet<String>,
    bytes: usize,
    left: usize,
}

impl ToolHeadersBuilder {
    /// Adds the properties that have an `x-mcp-header`. Only properties that are reached through `properties` alone are found.
    fn add_schema(&mut self, schema: &Value, path: &mut Vec<String>) -> Result<(), SchemaError> {
        for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            path.push(key.clone());
            if let Some(name) = property.get("x-mcp-header").and_then(Value::as_str).filter(|name| is_token(name)) {
                if self.headers.len() >= MAX_HEADERS {
                    return Err(SchemaError::Unfit(TOO_MANY_HEADERS));
                }
                if !self.names.insert(name.to_ascii_lowercase()) {
                    return Err(SchemaError::Unfit(DUPLICATE_HEADER));
                }
                // The size is checked before the path is stored, because a long key can be part of many paths.
                self.bytes +=
                    name.len() + ENTRY_OVERHEAD + path.iter().map(|key| key.len() + ENTRY_OVERHEAD).sum::<usize>();
                if self.bytes > self.left {
                    return Err(SchemaError::Room);
                }
                self.headers.push((name.to_owned(), path.clone()));
            }
            self.add_schema(property, path)?;
            path.pop();
        }
        Ok(())
    }
}

impl ParameterHeaders {
    /// Reads a page of a listing of tools. `cursor` identifies the page, and is `None` for the first page. The headers of tools
    /// from earlier listings stay valid until all pages were read, because a client may request only the first page.
    ///
    /// Returns true if a tool of this page had to be left out and no tool of the listing was left out before.
    #[must_use]
    pub fn add_page(&mut self, page: &Value, cursor: Option<&str>) -> bool {
        let is_next = cursor.is_some() && cursor == self.next.as_deref();
        if cursor.is_none() {
            self.listing += 1;
            self.leaves_out = false;
        }
        let left_out = self.leaves_out;
        for tool in page.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            self.leaves_out |= !self.keep(name, tool.get("inputSchema"));
        }
        self.is_bounded |= self.leaves_out;
        if cursor.is_none() || is_next {
            let next = page.get("nextCursor").and_then(Value::as_str);
            self.next = next.map(str::to_owned);
            if next.is_none() {
                self.drop_earlier();
                self.is_bounded = self.leaves_out;
            }
        }
        self.leaves_out && !left_out
    }

    /// Stores the headers of a tool. Returns false if they would exceed the maximum size.
    fn keep(&mut self, name: &str, schema: Option<&Value>) -> bool {
        if let Some(earlier) = self.tools.remove(name) {
            self.bytes -= earlier.bytes;
        }
        let notes = ToolHeaders::of(name, schema, self.listing, MAX_NOTES - self.bytes).or_else(|| {
            // Tools from earlier listings may be dropped, because the service may no longer list them.
            self.is_bounded |= self.drop_earlier();
            ToolHeaders::of(name, schema, self.listing, MAX_NOTES - self.bytes)
        });
        let Some(notes) = notes else { return false };
        self.bytes += notes.bytes;
        self.tools.insert(name.to_owned(), notes);
        true
    }

    /// Drops the tools that the current listing does not contain. Returns true if there were any.
    fn drop_earlier(&mut self) -> bool {
        let before = self.tools.len();
        self.tools.retain(|_, notes| notes.listing == self.listing);
        self.bytes = self.tools.values().map(|notes| notes.bytes).sum();
        self.tools.len() < before
    }

    /// Returns the headers of a request, encoded for sending.
    ///
    /// # Errors
    /// One sentence, if the headers are not known because the listing was too large, if the tool has too many headers, or if two
    /// arguments of the tool have the same header.
    pub fn headers(&self, message: &Message) -> Result<Vec<(String, String)>, String> {
        Ok(self.values(message)?.into_iter().map(|(name, value)| (name, encoded(&value))).collect())
    }

    /// Returns the headers of a request with values that are not encoded.
    fn values(&self, message: &Message) -> Result<Vec<(String, String)>, String> {
        let mut headers = standard(message);
        headers.extend(self.of_arguments(message)?);
        Ok(headers)
    }

    /// Returns the headers that a call's tool requires.
    fn of_arguments(&self, message: &Message) -> Result<Vec<(String, String)>, String> {
        // A notification runs no tool, and an error about its headers would reveal that the tool exists.
        if !matches!(&message.kind, MessageKind::Request { method, .. } if method == "tools/call") {
            return Ok(Vec::new());
        }
        let params = message.params().unwrap_or_default();
        let Some(notes) = self.tools.get(&params.text("name").unwrap_or_default()) else {
            // If the table was full, the tool may have headers that are not stored. The call must not be sent without these
            // headers, because the service may read arguments from them.
            return if self.is_bounded { Err(UNKNOWN_HEADERS.to_owned()) } else { Ok(Vec::new()) };
        };
        let headers = notes.headers.as_ref().map_err(|why| (*why).to_owned())?;
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
        Ok(headers.iter().filter_map(header).collect())
    }
}

/// Returns the headers that every request has, with values that are not encoded.
fn standard(message: &Message) -> Vec<(String, String)> {
    let Some(method) = message.method() else { return Vec::new() };
    let params = message.params().unwrap_or_default();
    let named = match method {
        "tools/call" | "prompts/get" => params.text("name"),
        "resources/read" => params.text("uri"),
        // Defined by the extension for tasks: https://modelcontextprotocol.io/seps/2663
        "tasks/get" | "tasks/update" | "tasks/cancel" => params.text("taskId"),
        _ => None,
    };
    let named = named.map(|name| ("mcp-name".to_owned(), name));
    std::iter::once(("mcp-method".to_owned(), method.to_owned())).chain(named).collect()
}

/// A contradiction between a request and its headers.
#[derive(Debug, PartialEq, Eq)]
pub struct HeaderMismatch {
    /// The contradiction, as a sentence.
    pub why: String,
    /// True if the header is required only for the called tool. An error about such a header would reveal that the tool exists.
    pub is_of_tool: bool,
}

/// Returns a contradiction between a request and its headers, if there is one. `header` is a function that takes the name of a
/// header in lower case and returns the value of the header.
pub fn header_mismatch<'a>(
    parameter_headers: &ParameterHeaders,
    request: &Message,
    version: &str,
    header: impl Fn(&str) -> Option<&'a [u8]>,
) -> Option<HeaderMismatch> {
    let differs = |name: &str, value: &str| {
        let Some(said) = header(name) else { return Some(format!("the header {name} is missing")) };
        let decoded = std::str::from_utf8(said).ok().and_then(decoded);
        let is_same = decoded.as_deref() == Some(value);
        (!is_same).then(|| format!("the header {name} does not match the request"))
    };
    let of_any = differs("mcp-protocol-version", version)
        .or_else(|| standard(request).into_iter().find_map(|(name, value)| differs(&name, &value)));
    let of_tool = || match parameter_headers.of_arguments(request) {
        Ok(mirrored) => mirrored.into_iter().find_map(|(name, value)| differs(&name, &value)),
        Err(why) => Some(why),
    };
    match of_any {
        Some(why) => Some(HeaderMismatch { why, is_of_tool: false }),
        None => of_tool().map(|why| HeaderMismatch { why, is_of_tool: true }),
    }
}

/// Decodes the value of a header.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        Some(value) => String::from_utf8(BASE64.decode(value).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Encodes a value for a header.
fn encoded(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) && value.trim() == value;
    let is_marked = value.starts_with("=?base64?") && value.ends_with("?=");
    if is_plain && !is_marked { value.to_owned() } else { format!("=?base64?{}?=", BASE64.encode(value)) }
}

#[cfg(test)]
mod tests {
    use super::{HeaderMismatch, MAX_HEADERS, MAX_NOTES, ParameterHeaders, encoded, header_mismatch};
    use crate::jsonrpc::message::Message;
    use serde_json::{Value, json};

    fn headers(parameter_headers: &ParameterHeaders, request: &Value) -> Vec<(String, String)> {
        parameter_headers.headers(&Message::of(request.to_string().into()).unwrap()).unwrap()
    }

    #[test]
    fn headers_say_what_the_body_says() {
        let mut parameter_headers = ParameterHeaders::default();
        let is_bounded = parameter_headers.add_page(
            &json!({ "tools": [{ "name": "sql", "inputSchema": { "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" }, "query": { "type": "string" },
            "at": { "properties": { "n": { "x-mcp-header": "N" }, "gone": { "x-mcp-header": "Gone" } } },
            "bad": { "x-mcp-header": "a b" }, "items": { "items": { "properties": { "x": { "x-mcp-header": "X" } } } },
        } } }] }),
            None,
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
        let mut found = headers(&parameter_headers, &request);
        found.sort();
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": "file:///a" } });
        assert_eq!(headers(&parameter_headers, &read)[1], ("mcp-name".to_owned(), "file:///a".to_owned()));
    }

    #[test]
    fn a_header_that_says_something_else_than_the_body_is_found() {
        let mut parameter_headers = ParameterHeaders::default();
        let is_bounded = parameter_headers.add_page(
            &json!({ "tools": [{ "name": "sql", "inputSchema": { "properties": {
            "region": { "x-mcp-header": "Region" } } } }] }),
            None,
        );
        assert!(!is_bounded);
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "sql", "arguments": { "region": "世" } } });
        let request = Message::of(request.to_string().into()).unwrap();
        let good = parameter_headers.headers(&request).unwrap();
        for other in
            [None, Some("mcp-method"), Some("mcp-name"), Some("mcp-param-region"), Some("mcp-protocol-version")]
        {
            let header = |name: &str| match other {
                Some(other) if other == name => Some(&b"other"[..]),
                _ if name == "mcp-protocol-version" => Some(&b"2026-07-28"[..]),
                _ => good.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_bytes()),
            };
            let found = header_mismatch(&parameter_headers, &request, "2026-07-28", header);
            assert_eq!(found.is_some(), other.is_some(), "{other:?}: {found:?}");
            let is_of_tool = found.is_some_and(|found| found.is_of_tool);
            assert_eq!(is_of_tool, other == Some("mcp-param-region"), "{other:?}");
        }
        let none = header_mismatch(&parameter_headers, &request, "2026-07-28", |_| None).unwrap();
        assert_eq!(none.why, "the header mcp-protocol-version is missing");
    }

    /// Returns a tool with one header. The argument that the header repeats has this key.
    fn tool(name: &str, key: &str) -> Value {
        json!({ "name": name, "inputSchema": { "properties": { key: { "x-mcp-header": "Key" } } } })
    }

    fn call(name: &str) -> Message {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name } });
        Message::of(call.to_string().into()).unwrap()
    }

    #[test]
    fn endless_pages_take_no_endless_memory_and_a_tool_that_is_left_out_cannot_be_called() {
        let mut parameter_headers = ParameterHeaders::default();
        let key = "k".repeat(MAX_NOTES / 50);
        let page = |n: usize| json!({ "tools": [tool(&format!("t{n}"), &key)], "nextCursor": "more" });
        let told: Vec<usize> =
            (0..200).filter(|n| parameter_headers.add_page(&page(*n), (*n > 0).then_some("more"))).collect();
        assert_eq!(told, [49], "once");
        assert!(parameter_headers.bytes <= MAX_NOTES && parameter_headers.tools.len() == 49);
        assert!(parameter_headers.headers(&call("t48")).is_ok());
        for unknown in ["t49", "other"] {
            let why = parameter_headers.headers(&call(unknown)).unwrap_err();
            assert!(why.contains("than the proxy keeps"), "{why}");
            let header = |name: &str| match name {
                "mcp-protocol-version" => Some(&b"2026-07-28"[..]),
                "mcp-method" => Some(&b"tools/call"[..]),
                _ => Some(unknown.as_bytes()),
            };
            assert_eq!(
                header_mismatch(&parameter_headers, &call(unknown), "2026-07-28", header),
                Some(HeaderMismatch { why, is_of_tool: true })
            );
        }
        // A tool that is listed again does not need more memory. A new listing drops the tools that it does not contain.
        assert!(!parameter_headers.add_page(&json!({ "tools": [tool("t48", "short")] }), Some("other")));
        assert!(
            !parameter_headers.add_page(&page(199), Some("other")) && parameter_headers.headers(&call("t199")).is_ok()
        );
        assert!(!parameter_headers.add_page(&json!({ "tools": [tool("t0", &key)] }), None));
        assert!(parameter_headers.headers(&call("t49")).is_ok() && parameter_headers.bytes < MAX_NOTES / 49);
    }

    #[test]
    fn a_first_page_that_is_fetched_again_forgets_nothing_of_the_other_pages() {
        let mut parameter_headers = ParameterHeaders::default();
        let large = "k".repeat(MAX_NOTES);
        let first = json!({ "tools": [tool("first", "a")], "nextCursor": "c2" });
        let second = json!({ "tools": [tool("second", "a"), tool("large", &large)] });
        assert!(!parameter_headers.add_page(&first, None));
        assert!(parameter_headers.add_page(&second, Some("c2")));
        assert!(!parameter_headers.add_page(&first, None));
        let with_key = |name: &str| {
            let params = json!({ "name": name, "arguments": { "a": "v" } });
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            parameter_headers.headers(&Message::of(call.to_string().into()).unwrap())
        };
        assert!(with_key("large").unwrap_err().contains("than the proxy keeps"));
        assert_eq!(with_key("second").unwrap()[2], ("mcp-param-key".to_owned(), "v".to_owned()));
        // A complete listing without these tools means that they no longer exist.
        assert!(!parameter_headers.add_page(&first, None));
        assert!(!parameter_headers.add_page(&json!({ "tools": [] }), Some("c2")));
        assert!(parameter_headers.headers(&call("large")).is_ok());
        assert_eq!(parameter_headers.tools.keys().collect::<Vec<_>>(), ["first"]);
    }

    #[test]
    fn an_earlier_listing_makes_room_and_its_tools_are_not_called_without_headers() {
        let mut parameter_headers = ParameterHeaders::default();
        let key = "k".repeat(MAX_NOTES / 2);
        assert!(!parameter_headers.add_page(&json!({ "tools": [tool("old", &key)] }), None));
        assert!(!parameter_headers.add_page(&json!({ "tools": [tool("new", &key)], "nextCursor": "c2" }), None));
        assert!(parameter_headers.headers(&call("new")).is_ok() && parameter_headers.headers(&call("old")).is_err());
        assert!(parameter_headers.bytes <= MAX_NOTES);
    }

    #[test]
    fn a_tool_with_too_many_headers_or_with_one_of_two_values_is_not_called() {
        let with = |count: usize, more: Value| {
            let mut arguments: serde_json::Map<String, Value> =
                (0..count).map(|n| (format!("a{n}"), json!({ "x-mcp-header": format!("A{n}") }))).collect();
            arguments.insert("more".to_owned(), more);
            let mut parameter_headers = ParameterHeaders::default();
            let listing = json!({ "tools": [{ "name": "t", "inputSchema": { "properties": arguments } }] });
            assert!(!parameter_headers.add_page(&listing, None));
            parameter_headers.headers(&call("t"))
        };
        assert!(with(MAX_HEADERS, json!({})).is_ok());
        assert!(with(MAX_HEADERS, json!({ "x-mcp-header": "More" })).unwrap_err().contains("more than 256 arguments"));
        assert!(with(33_000, json!({})).unwrap_err().contains("more than 256 arguments"));
        assert!(with(1, json!({ "x-mcp-header": "a0" })).unwrap_err().contains("the same header"));
    }

    #[test]
    fn a_long_key_that_leads_to_many_arguments_is_not_kept_with_each() {
        let arguments: serde_json::Map<String, Value> =
            (0..200).map(|n| (format!("a{n}"), json!({ "x-mcp-header": format!("A{n}") }))).collect();
        let schema = json!({ "properties": { ("k".repeat(MAX_NOTES / 10)): { "properties": arguments } } });
        let mut parameter_headers = ParameterHeaders::default();
        assert!(parameter_headers.add_page(&json!({ "tools": [{ "name": "many", "inputSchema": schema }] }), None));
        assert_eq!((parameter_headers.bytes, parameter_headers.tools.len()), (0, 0));
    }

    #[test]
    fn a_value_that_no_header_can_carry_is_encoded() {
        assert_eq!(encoded("us-west1"), "us-west1");
        assert_eq!(encoded(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(encoded("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
        assert_eq!(encoded("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }
}
