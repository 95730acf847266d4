//! Parses and writes server-sent events that contain JSON-RPC messages. Source: the HTML standard, "Server-sent events".

use crate::jsonrpc::lines::BYTE_ORDER_MARK;
use crate::jsonrpc::message::{MAX_BYTES, MAX_ID, on_one_line};
use bytes::Bytes;
use std::time::Duration;

/// A parser that gets a stream in chunks, and returns the data of each event of type `message`.
#[derive(Debug, Default)]
pub struct EventParser {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    /// True if the current event has a type other than `message`.
    is_other: bool,
    /// True if the first line was read. A byte order mark can precede the first line.
    has_begun: bool,
    /// The identifier of the last event that has an identifier. The stream can be resumed after this event.
    last_id: Option<String>,
    /// The last reconnection time that the stream contained.
    retry: Option<Duration>,
}

/// The error if an event is longer than the maximum length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {MAX_BYTES} bytes")]
pub struct EventTooLarge;

impl EventParser {
    /// Parses a chunk, and returns the data of each `message` event that is complete at the end of the chunk.
    ///
    /// # Errors
    /// If an event is too large. The parser must not be used after this error.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<Bytes>, EventTooLarge> {
        let mut events = Vec::new();
        for &byte in bytes {
            let follows_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                // This byte is the second byte of the line break `\r\n`.
                b'\n' if follows_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.data.len() > MAX_BYTES {
                return Err(EventTooLarge);
            }
        }
        Ok(events)
    }

    /// Returns the identifier of the last event that has an identifier.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns the time that the other side asks the client to wait before the client reconnects.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn end_line(&mut self) -> Option<Bytes> {
        let line = std::mem::take(&mut self.line);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line) } else { line.as_slice() };
        if line.is_empty() {
            let has_data = std::mem::take(&mut self.has_data) && !std::mem::take(&mut self.is_other);
            let data = std::mem::take(&mut self.data);
            return (has_data && !data.is_empty()).then(|| Bytes::from(data));
        }
        if let Some(kind) = field(line, b"event:") {
            self.is_other = !matches!(kind, "" | "message");
        }
        if let Some(id) = field(line, b"id:") {
            // An identifier that a header cannot contain is ignored, because the identifier is sent back in a header to resume the
            // stream.
            let can_be_sent = id.len() <= MAX_ID && id.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            self.last_id = (!id.is_empty() && can_be_sent).then(|| id.to_owned());
        }
        if let Some(retry) = field(line, b"retry:").and_then(|retry| retry.parse().ok()) {
            self.retry = Some(Duration::from_millis(retry));
        }
        let data = if line == b"data" { Some(&b""[..]) } else { line.strip_prefix(b"data:") };
        if let Some(data) = data {
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
        }
        None
    }
}

/// Returns the value of the field `name`, if the line contains this field.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let value = std::str::from_utf8(line.strip_prefix(name)?).ok()?;
    Some(value.strip_prefix(' ').unwrap_or(value))
}

/// Returns a message as an event.
pub fn event(message: Bytes) -> Bytes {
    // A line break would end the `data` line.
    Bytes::from([b"event: message\ndata: ".as_slice(), &on_one_line(message), b"\n\n"].concat())
}

#[cfg(test)]
mod tests {
    use super::EventParser;

    #[test]
    fn the_data_of_each_event_comes_whole_however_the_bytes_are_cut() {
        let stream = b": hello\nid: 1\ndata: {\"a\":\ndata: 1}\n\nevent: message\r\ndata:x\r\n\r\ndata\n\ndata: half";
        for size in 1..stream.len() {
            let mut events = EventParser::default();
            let found: Vec<_> = stream.chunks(size).flat_map(|part| events.take(part).unwrap()).collect();
            assert_eq!(found, [&b"{\"a\":\n1}"[..], b"x"], "{size}");
        }
    }

    #[test]
    fn what_a_stream_says_of_its_continuation_is_known() {
        let mut events = EventParser::default();
        events.take(b"retry: 250\nid: e-1\ndata:\n\n").unwrap();
        assert_eq!((events.last_id(), events.retry()), (Some("e-1"), Some(super::Duration::from_millis(250))));
        let found = events.take(&super::event(super::Bytes::from_static(b"{\n}"))).unwrap();
        assert_eq!((found, events.last_id()), (vec![super::Bytes::from_static(b"{ }")], Some("e-1")));
    }

    #[test]
    fn an_event_of_another_kind_is_no_message_and_a_mark_of_the_byte_order_is_no_part_of_one() {
        let stream = b"\xef\xbb\xbfevent: error\ndata: {}\n\nevent: message\ndata: 1\n\ndata: 2\n\nevent:\ndata: 3\n\n";
        let found = EventParser::default().take(stream).unwrap();
        assert_eq!(found, [&b"1"[..], b"2", b"3"]);
        assert_eq!(EventParser::default().take(b"\xef\xbb\xbfdata: 1\n\n").unwrap(), [&b"1"[..]]);
    }

    #[test]
    fn an_identifier_of_an_event_that_no_header_can_carry_is_none() {
        for id in ["a\0b".to_owned(), "\u{e4}".to_owned(), "x".repeat(super::MAX_ID + 1)] {
            let mut events = EventParser::default();
            events.take(format!("id: {id}\ndata: 1\n\n").as_bytes()).unwrap();
            assert_eq!(events.last_id(), None, "{id}");
        }
    }

    #[test]
    fn an_event_without_end_is_an_error() {
        let mut events = EventParser::default();
        let part = vec![b'x'; 1024 * 1024];
        assert!((0..20).any(|_| events.take(&part).is_err()));
    }
}
