//! What MCP clients and servers say, as the proxy between them reads it.

use bytes::Bytes;
use hookhost_adapters::json::with_long_numbers_as_texts;
use hookhost_mcp::answer;
use hookhost_mcp::events::{self, Events};
use hookhost_mcp::operation::Method;
use hookhost_relay::message::{Kind, Message};
use serde_json::Value;

/// Bytes as a message, and as a stream of events. The first says how the stream is cut.
pub fn mcp(bytes: &[u8]) {
    let Some((size, bytes)) = bytes.split_first() else { return };
    stream(bytes, usize::from(*size).max(1));
    let Ok(message) = Message::of(Bytes::copy_from_slice(bytes)) else { return };
    // Any later reader reads the same; a version that is missing is added, and a `null` beside an outcome is left out.
    let (came, value) = (read(bytes), read(&message.bytes));
    assert_eq!(read(&message.members.to_bytes()), value);
    let mut members = value.as_object().expect("an object").iter();
    assert!(members.all(|(key, value)| came.get(key) == Some(value) || key == "jsonrpc" && came.get(key).is_none()));
    assert_eq!(value.get("method").and_then(Value::as_str), message.method());
    if let Kind::Request { .. } | Kind::Notification { .. } = message.kind
        && let Ok(params) = message.params()
    {
        let written = message.with_params(&params);
        assert!(Message::of(written).is_ok(), "a message that is written again can be read");
    }
    if let Kind::Response { .. } = message.kind
        && let Ok(result) = message.members.within("result")
        && let Ok(read) = answer::read(Method::CallTool, &result)
        && read.raw.is_none()
    {
        // Rules see nothing but its texts: there is nothing else in it.
        let texts = value["result"]["content"].as_array().into_iter().flatten();
        assert!(texts.clone().all(|block| block.as_object().is_some_and(|block| block.len() == 2)));
        for block in texts {
            assert!(read.text.contains(block["text"].as_str().expect("a text")), "a text that no rule sees");
        }
    }
}

/// Reads JSON as rules do: a number that fits into no 64 bits is a text.
fn read(bytes: &[u8]) -> Value {
    let text = std::str::from_utf8(bytes).expect("a message is UTF-8");
    serde_json::from_str(&with_long_numbers_as_texts(text)).expect("a message is JSON")
}

/// However the bytes are cut, the events are the same, and a message that is written as an event comes back.
fn stream(bytes: &[u8], size: usize) {
    let all = |parts: &mut dyn Iterator<Item = &[u8]>| {
        let mut events = Events::default();
        parts.map(|part| events.take(part)).collect::<Result<Vec<_>, _>>().map(|found| found.concat())
    };
    let whole = all(&mut std::iter::once(bytes));
    assert_eq!(whole, all(&mut bytes.chunks(size)));
    for data in whole.into_iter().flatten() {
        if !data.contains(&b'\n') {
            assert_eq!(all(&mut std::iter::once(&*events::event(&data))), Ok(vec![data]));
        }
    }
}
