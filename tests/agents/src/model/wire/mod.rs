//! The protocols of models, one file each, with `read` and `write`.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use super::conversation::{Answer, Request};
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// Returns the protocol of a path.
pub(super) fn of(path: &str) -> Option<Wire> {
    Some(match path {
        _ if path.ends_with("/messages") => Wire::Anthropic,
        _ if path.ends_with("/responses") => Wire::Responses,
        _ if path.ends_with("/chat/completions") => Wire::Chat,
        _ if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") => Wire::Gemini,
        _ => return None,
    })
}

impl Wire {
    /// Reads a request. Missing parts are empty.
    pub(super) fn read(self, body: &Value, path: &str) -> Request {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Gemini => gemini::read(body, path),
        }
    }

    /// Writes the answer, as a stream if the request asks for one.
    pub(super) fn write(self, body: &Value, request: &Request, answer: &Answer) -> Body {
        match self {
            Self::Anthropic => anthropic::write(body, request, answer),
            Self::Responses => responses::write(body, request, answer),
            Self::Chat => chat::write(body, request, answer),
            Self::Gemini => gemini::write(request, answer),
        }
    }
}

/// The body of a response.
#[derive(Clone, Debug)]
pub(super) struct Body {
    /// The media type.
    pub(super) kind: &'static str,
    /// The text.
    pub(super) text: String,
}

impl Body {
    /// Makes a body of a JSON value.
    pub(super) fn json(value: &Value) -> Self {
        Self { kind: "application/json", text: value.to_string() }
    }

    /// Makes an event stream without events.
    fn stream() -> Self {
        Self { kind: "text/event-stream", text: String::new() }
    }

    /// Adds an event.
    fn event(&mut self, name: Option<&str>, data: &Value) {
        if let Some(name) = name {
            let _ = writeln!(self.text, "event: {name}");
        }
        let _ = write!(self.text, "data: {data}\n\n");
    }
}

/// Returns a new identifier.
fn id(kind: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{kind}_mock{:08}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns the elements of an array; none if the value is no array.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Joins the texts of a content, which is one text or a list of parts.
fn flat(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(|part| text(part, "text")).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
