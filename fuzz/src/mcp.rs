//! Messages of MCP clients and servers, as the proxy between them reads them.

use bytes::Bytes;
use hookhost_agents::json::with_long_numbers_as_texts;
use hookhost_proxy::jsonrpc::message::{Message, MessageKind};
use hookhost_proxy::mcp::answer;
use hookhost_proxy::mcp::operation::Method;
use hookhost_proxy::mcp::sse::{self, EventParser};
use serde_json::Value;

/// Reads bytes as a message and as a stream of events. The first byte gives the size of the parts of the stream.
pub fn mcp(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first() else { return };
    stream(bytes, usize::from(*size).max(1));
    let Ok(message) = Message::of(Bytes::copy_from_slice(bytes)) else { return };
    // Any later reader reads the same message. A missing version is added, and a `null` beside an outcome is left out.
    let (came, value) = (read(bytes), read(&message.bytes));
    assert_eq!(read(&message.members.to_bytes()), value);
    let mut members = value.as_object().expect("an object").iter();
    assert!(members.all(|(key, value)| came.get(key) == Some(value) || key == "jsonrpc" && came.get(key).is_none()));
    assert_eq!(value.get("method").and_then(Value::as_str), message.method());
    if let MessageKind::Request { .. } | MessageKind::Notification { .. } = message.kind
        && let Ok(params) = message.params()
    {
        let written = message.with_params(&params);
        assert!(written.parse().is_ok(), "a message that is written again can be read");
    }
    if let MessageKind::Response { .. } = message.kind
        && let Ok(result) = message.members.within("result")
        && let Ok(read) = answer::read(Method::CallTool, &result)
        && read.raw.is_none()
    {
        // Rules see only the texts, so the content must consist of nothing else.
        let texts = value["result"]["content"].as_array().into_iter().flatten();
        assert!(texts.clone().all(|block| block.as_object().is_some_and(|block| block.len() == 2)));
        for block in texts {
            assert!(read.text.contains(block["text"].as_str().expect("a text")), "a text that no rule sees");
        }
    }
}

/// Reads JSON as rules do: a number that does not fit into 64 bits becomes a text.
fn read(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).expect("a message is UTF-8");
    serde_json::from_str(&with_long_numbers_as_texts(text)).expect("a message is JSON")
}

/// Checks that the events do not depend on how the bytes are cut, and that a message written as an event can be read again.
fn stream(bytes: &[u8], size: usize) {
    let all = |parts: &mut dyn Iterator<Item = &[u8]>| {
        let mut events = EventParser::default();
        parts.map(|part| events.take(part)).collect::<Result<Vec<_>, _>>().map(|found| found.concat())
    };
    let whole = all(&mut std::iter::once(bytes));
    assert_eq!(whole, all(&mut bytes.chunks(size)));
    for data in whole.into_iter().flatten() {
        if !data.contains(&b'\n') {
            assert_eq!(all(&mut std::iter::once(&*sse::event(data.clone()))), Ok(vec![data]));
        }
    }
}
