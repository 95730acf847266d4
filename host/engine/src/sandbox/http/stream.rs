//! Limits the number of bytes that are read from a server. The limits include interim responses (1xx) before the
//! response, and the framing of the body, because a server could send either of these without end.

use std::future::Future as _;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum number of bytes that are read without a pause. In the pause, other tasks run and the runtime checks its
/// timers.
const IN_A_ROW: usize = 32 * 1024;

/// The server sent more bytes before its response than the limit allows.
#[derive(Debug, thiserror::Error)]
#[error("the server sent too much before its response")]
pub(super) struct HeadTooLong;

/// The server sent more bytes for a body than the largest allowed body needs.
#[derive(Debug, thiserror::Error)]
#[error("the server sent too much for the body of its response")]
pub(super) struct BodyTooLong;

/// A stream with one limit on the bytes until the head is complete, and another limit on the bytes after it.
pub(super) struct BoundedStream<S> {
    stream: S,
    before: usize,
    after: usize,
    in_a_row: usize,
    is_there: Arc<AtomicBool>,
}

impl<S> BoundedStream<S> {
    /// Limits a stream. The reader must set the returned flag when it has received the head.
    pub(super) fn new(stream: S, before: usize, after: usize) -> (Self, Arc<AtomicBool>) {
        let is_there = Arc::new(AtomicBool::new(false));
        (Self { stream, before, after, in_a_row: 0, is_there: Arc::clone(&is_there) }, is_there)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedStream<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.in_a_row == IN_A_ROW {
            this.in_a_row = 0;
            // `yield_now` waits until the runtime has checked its timers. If the task woke itself immediately, the
            // runtime would not check them.
            if pin!(tokio::task::yield_now()).poll(context).is_pending() {
                return Poll::Pending;
            }
        }
        let is_there = this.is_there.load(Ordering::Relaxed);
        let left = if is_there { &mut this.after } else { &mut this.before };
        if *left == 0 {
            let error = if is_there { io::Error::other(BodyTooLong) } else { io::Error::other(HeadTooLong) };
            return Poll::Ready(Err(error));
        }
        // Read no byte beyond the limits.
        let most = into.remaining().min(*left).min(IN_A_ROW - this.in_a_row);
        let mut part = ReadBuf::new(into.initialize_unfilled_to(most));
        let polled = Pin::new(&mut this.stream).poll_read(context, &mut part);
        let read = part.filled().len();
        into.advance(read);
        *left -= read;
        this.in_a_row = if polled.is_pending() { 0 } else { this.in_a_row + read };
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::poll;
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn not_one_byte_more_is_read_before_the_head_is_there_nor_after_it() {
        let (mut bounded, is_there) = BoundedStream::new(&[7; 1000][..], 100, 300);
        let mut read = Vec::new();
        let error = bounded.read_to_end(&mut read).await.unwrap_err();
        assert_eq!(error.to_string(), HeadTooLong.to_string());
        assert_eq!((read.len(), bounded.stream.len()), (100, 900));
        is_there.store(true, Ordering::Relaxed);
        let error = bounded.read_to_end(&mut read).await.unwrap_err();
        assert_eq!(error.to_string(), BodyTooLong.to_string());
        assert_eq!((read, bounded.stream.len()), (vec![7; 400], 600));
    }

    #[tokio::test]
    async fn a_stream_that_always_has_bytes_gives_the_thread_back() {
        let bytes = vec![7; 3 * IN_A_ROW];
        let (mut bounded, _) = BoundedStream::new(&bytes[..], bytes.len() + 1, 0);
        let mut read = Vec::new();
        let mut reading = Box::pin(bounded.read_to_end(&mut read));
        for _ in 0..3 {
            assert!(poll!(reading.as_mut()).is_pending());
        }
        assert_eq!(reading.await.unwrap(), bytes.len());
    }
}
