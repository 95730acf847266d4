//! Limits the messages of a server before they are parsed.
//!
//! A few bytes of JSON can become an object in memory that is a hundred times as large. Therefore the values of a
//! message are counted while its bytes arrive. Messages that have arrived but are not parsed yet are pending. The
//! pending messages of all servers share one budget. If a program exceeds a limit, nothing more is read from the
//! program. If a service exceeds a limit, only the current answer is not read.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// Maximum number of values in one message. The characters `[`, `{` and `,` outside of strings are counted.
pub const MAX_VALUES: usize = 100_000;

/// Maximum size of the pending messages of all servers together, in bytes.
pub const MAX_PENDING_BYTES: usize = 64 * 1024 * 1024;

/// Budget of all servers.
pub(super) static ALL_SERVERS: Budget = Budget(AtomicUsize::new(0));

/// Pending bytes, up to [`MAX_PENDING_BYTES`].
#[derive(Debug)]
pub(super) struct Budget(AtomicUsize);

/// Pending bytes of one message. Dropping this returns them to the budget.
#[derive(Debug)]
pub(super) struct PendingBytes {
    budget: &'static Budget,
    bytes: usize,
}

impl PendingBytes {
    pub(super) fn new(budget: &'static Budget) -> Self {
        Self { budget, bytes: 0 }
    }

    /// Adds pending bytes. If the sum exceeds the budget, the error is a sentence that says so.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes += bytes;
        if self.budget.0.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_PENDING_BYTES {
            let mib = MAX_PENDING_BYTES >> 20;
            return Err(format!(
                "the messages of all MCP servers together are larger than {mib} MiB, so hookhost stopped reading"
            ));
        }
        Ok(())
    }

    pub(super) fn give_back(&mut self) {
        self.budget.0.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for PendingBytes {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Counter of the values in one message, as its bytes arrive.
#[derive(Debug, Default)]
pub(super) struct Values {
    number: usize,
    in_text: bool,
    escaped: bool,
}

impl Values {
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        bytes.iter().try_for_each(|byte| self.take_byte(*byte))
    }

    fn take_byte(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_text => self.escaped = true,
            b'"' => self.in_text = !self.in_text,
            b'[' | b'{' | b',' if !self.in_text => self.number += 1,
            _ => {}
        }
        if self.number > MAX_VALUES {
            return Err(format!("it sent a message of more than {MAX_VALUES} values, so hookhost stopped reading"));
        }
        Ok(())
    }
}

/// A stream with one message per line.
pub(super) struct BoundedStream<R> {
    stream: R,
    values: Values,
    /// Pending bytes of the current message.
    pending: PendingBytes,
    refused: Arc<OnceLock<String>>,
}

impl<R> BoundedStream<R> {
    /// Wraps a stream. If a limit ends the stream, the returned cell receives the reason.
    pub(super) fn new(stream: R, budget: &'static Budget) -> (Self, Arc<OnceLock<String>>) {
        let refused = Arc::new(OnceLock::new());
        let why = Arc::clone(&refused);
        (Self { stream, values: Values::default(), pending: PendingBytes::new(budget), refused }, why)
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        for byte in bytes {
            if *byte == b'\n' {
                self.pending.give_back();
                self.values = Values::default();
            } else {
                self.values.take_byte(*byte)?;
            }
        }
        // The bytes after the last line break are still pending.
        self.pending.take(bytes.iter().rev().take_while(|byte| **byte != b'\n').count())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedStream<R> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    /// Returns a new budget for each test, because tests run at the same time.
    fn budget() -> &'static Budget {
        Box::leak(Box::new(Budget(AtomicUsize::new(0))))
    }

    async fn read(bytes: Vec<u8>) -> (io::Result<usize>, Option<String>) {
        let (mut bounded, why) = BoundedStream::new(io::Cursor::new(bytes), budget());
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
        assert_eq!(why.unwrap(), "it sent a message of more than 100000 values, so hookhost stopped reading");
    }

    #[tokio::test]
    async fn messages_are_counted_one_by_one_and_texts_count_as_one() {
        let messages =
            [blocks(1_000), blocks(6_000), blocks(6_000), vec![b'"'], vec![b','; 100_000], b"\"\n".to_vec()].concat();
        let length = messages.len();
        let (read_bytes, why) = read(messages).await;
        assert_eq!((read_bytes.unwrap(), why), (length, None));
    }

    #[tokio::test]
    async fn messages_on_their_way_share_64_mib_and_give_them_back_when_they_end() {
        let budget = budget();
        let part = vec![b' '; MAX_PENDING_BYTES / 2];
        let mut first = BoundedStream::new(io::Cursor::new(part.clone()), budget).0;
        let (mut second, why) = BoundedStream::new(io::Cursor::new([part.as_slice(), b" "].concat()), budget);
        let mut read = Vec::new();
        first.read_to_end(&mut read).await.unwrap();
        assert!(second.read_to_end(&mut read).await.is_err(), "half and half and one byte");
        let why = why.get().unwrap();
        assert_eq!(why, "the messages of all MCP servers together are larger than 64 MiB, so hookhost stopped reading");
        drop((first, second));
        assert_eq!(budget.0.load(Ordering::Relaxed), 0);
        let ended = [part.as_slice(), b"\n", &part, b"\n", &part].concat();
        let mut third = BoundedStream::new(io::Cursor::new(ended), budget).0;
        third.read_to_end(&mut read).await.unwrap();
        assert_eq!(budget.0.load(Ordering::Relaxed), part.len(), "what has ended is not on its way");
    }
}
