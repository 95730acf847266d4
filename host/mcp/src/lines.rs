//! Messages as lines, each of a bounded length.

use crate::message::MAX_BYTES;
use bytes::{Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// What a stream brings next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its end.
    Whole(Bytes),
    /// A line that is longer than a message may be. It was read past.
    TooLong,
    /// Nothing more.
    End,
}

/// The next line that is not empty. What comes after the last line break is a line as well.
///
/// # Errors
/// If the stream cannot be read.
pub async fn next(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Line> {
    let mut line = BytesMut::new();
    let mut is_too_long = false;
    loop {
        let found = from.fill_buf().await?;
        let at = found.iter().position(|byte| *byte == b'\n');
        let part = found.get(..at.unwrap_or(found.len())).unwrap_or_default();
        let is_end = found.is_empty();
        is_too_long |= line.len() + part.len() > MAX_BYTES;
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(at.is_some());
        from.consume(used);
        if at.is_none() && !is_end {
            continue;
        }
        if is_too_long {
            return Ok(Line::TooLong);
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
    use super::{Line, next};
    use crate::message::MAX_BYTES;
    use bytes::Bytes;
    use tokio::io::BufReader;

    #[tokio::test]
    async fn each_line_comes_as_it_is_and_one_that_is_too_long_is_read_past() {
        let long = vec![b'x'; MAX_BYTES + 1];
        let bytes = [b"{\"a\": 1}\r\n\n \n".as_slice(), &long, b"\nlast"].concat();
        let mut reader = BufReader::new(bytes.as_slice());
        let whole = |text: &'static str| Line::Whole(Bytes::from_static(text.as_bytes()));
        for expected in [whole("{\"a\": 1}\r"), Line::TooLong, whole("last"), Line::End, Line::End] {
            assert_eq!(next(&mut reader).await.unwrap(), expected);
        }
    }
}
