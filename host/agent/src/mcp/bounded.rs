//! What a server's program writes, bounded before anything is made of it.
//!
//! A few bytes of JSON can stand for an object a hundred times as large. So the values of a message are counted as its bytes come,
//! and the bytes of all servers' messages that are on their way have one budget. A message beyond either ends the stream.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// Most arrays, objects and further members of them in one message.
const MAX_VALUES: usize = 100_000;

/// Bytes that the messages of all servers have which are on their way.
const MAX_UNDER_WAY: usize = 64 * 1024 * 1024;

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// A stream of messages, each on a line.
pub(super) struct Bounded<R> {
    stream: R,
    values: usize,
    /// Of the message that is on its way.
    bytes: usize,
    in_text: bool,
    escaped: bool,
    refused: Arc<OnceLock<String>>,
}

impl<R> Bounded<R> {
    /// With where it says why it ended the stream.
    pub(super) fn new(stream: R) -> (Self, Arc<OnceLock<String>>) {
        let refused = Arc::new(OnceLock::new());
        let why = Arc::clone(&refused);
        (Self { stream, values: 0, bytes: 0, in_text: false, escaped: false, refused }, why)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        for byte in bytes {
            match byte {
                b'\n' => {
                    self.give_back();
                    (self.values, self.in_text, self.escaped) = (0, false, false);
                }
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                b'[' | b'{' | b',' if !self.in_text => self.values += 1,
                _ => {}
            }
            if self.values > MAX_VALUES {
                return Err(format!("it sent a message of more than {MAX_VALUES} values, and is read no further"));
            }
        }
        // What is left of the last line is on its way.
        let rest = bytes.iter().rev().take_while(|byte| **byte != b'\n').count();
        self.bytes += rest;
        if UNDER_WAY.fetch_add(rest, Ordering::Relaxed) + rest > MAX_UNDER_WAY {
            let mib = MAX_UNDER_WAY >> 20;
            return Err(format!(
                "the messages of all MCP servers together are larger than {mib} MiB: it is read no further"
            ));
        }
        Ok(())
    }

    fn give_back(&mut self) {
        UNDER_WAY.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let ended = |why: &str| Poll::Ready(Err(io::Error::other(why.to_owned())));
        if let Some(why) = this.refused.get() {
            return ended(why);
        }
        let before = into.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, into);
        if let Poll::Ready(Ok(())) = read
            && let Err(why) = this.take(&into.filled()[before..])
        {
            into.set_filled(before);
            return ended(this.refused.get_or_init(|| why));
        }
        read
    }
}

impl<R> Drop for Bounded<R> {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    async fn read(bytes: Vec<u8>) -> (io::Result<usize>, Option<String>) {
        let (mut bounded, why) = Bounded::new(io::Cursor::new(bytes));
        let read = bounded.read_to_end(&mut Vec::new()).await;
        (read, why.get().cloned())
    }

    fn blocks(number: usize) -> Vec<u8> {
        let blocks = vec![r#"{"type":"text","text":"a,[{\\\","}"#; number].join(",");
        format!("{{\"result\":{{\"content\":[{blocks}]}}}}\n").into_bytes()
    }

    #[tokio::test]
    async fn a_message_of_too_many_values_ends_the_stream_before_anything_is_made_of_it() {
        let (read_bytes, why) = read(blocks(400_000)).await;
        assert!(read_bytes.is_err());
        assert_eq!(why.unwrap(), "it sent a message of more than 100000 values, and is read no further");
    }

    #[tokio::test]
    async fn messages_are_counted_one_by_one_and_texts_count_as_one() {
        let messages =
            [blocks(1_000), blocks(6_000), blocks(6_000), vec![b'"'], vec![b','; 100_000], b"\"\n".to_vec()].concat();
        let length = messages.len();
        let (read_bytes, why) = read(messages).await;
        assert_eq!((read_bytes.unwrap(), why), (length, None));
    }
}
