//! Reads a stream as lines of limited length. Each line contains one message.

use crate::jsonrpc::message::{KEPT_END_SIZE, MAX_BYTES};
use bytes::{Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// The next item of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its line break.
    Whole(Bytes),
    /// A line that is longer than the maximum length of a message. Only the two ends of the line were stored.
    TooLong {
        /// The first [`KEPT_END_SIZE`] bytes.
        head: Bytes,
        /// The last [`KEPT_END_SIZE`] bytes.
        tail: Bytes,
    },
    /// The end of the stream.
    End,
}

/// The byte order mark of UTF-8, which some programs write at the beginning of a stream.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns a line without its byte order mark. The first line of a stream can begin with such a mark.
pub fn without_mark(line: Bytes) -> Bytes {
    if line.starts_with(BYTE_ORDER_MARK) { line.slice(BYTE_ORDER_MARK.len()..) } else { line }
}

/// Reads the next line that is not empty. The text after the last line break of the stream is also treated as a line.
///
/// # Errors
/// If the stream cannot be read.
pub async fn next(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Line> {
    let mut line = BytesMut::new();
    let mut tail: Option<BytesMut> = None;
    loop {
        let found = from.fill_buf().await?;
        let at = found.iter().position(|byte| *byte == b'\n');
        let part = found.get(..at.unwrap_or(found.len())).unwrap_or_default();
        let is_end = found.is_empty();
        if tail.is_none() && line.len() + part.len() > MAX_BYTES {
            tail = Some(line.split_off(line.len().min(KEPT_END_SIZE)));
        }
        match &mut tail {
            None => line.extend_from_slice(part),
            Some(tail) => {
                tail.extend_from_slice(part);
                *tail = tail.split_off(tail.len().saturating_sub(KEPT_END_SIZE));
            }
        }
        let used = part.len() + usize::from(at.is_some());
        from.consume(used);
        if at.is_none() && !is_end {
            continue;
        }
        if let Some(tail) = tail {
            return Ok(Line::TooLong { head: line.freeze(), tail: tail.freeze() });
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Line::Whole(line.split().freeze()));
        }
        if is_end {
            return Ok(Line::End);
        }
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT_END_SIZE, Line, MAX_BYTES, next};
    use bytes::Bytes;
    use tokio::io::BufReader;

    #[tokio::test]
    async fn each_line_comes_as_it_is_and_one_that_is_too_long_is_read_past() {
        let long = [&[b'x'; KEPT_END_SIZE][..], &vec![b'y'; MAX_BYTES + 1], &[b'z'; KEPT_END_SIZE][..]].concat();
        let bytes = [b"{\"a\": 1}\r\n\n \n".as_slice(), &long, b"\nlast"].concat();
        let mut reader = BufReader::new(bytes.as_slice());
        let whole = |text: &'static str| Line::Whole(Bytes::from_static(text.as_bytes()));
        let too_long = Line::TooLong {
            head: Bytes::from_static(&[b'x'; KEPT_END_SIZE]),
            tail: Bytes::from_static(&[b'z'; KEPT_END_SIZE]),
        };
        for expected in [whole("{\"a\": 1}\r"), too_long, whole("last"), Line::End, Line::End] {
            assert_eq!(next(&mut reader).await.unwrap(), expected);
        }
    }
}
