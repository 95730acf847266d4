//! What a server may send before the head of its response is complete: interim responses (1xx), each with headers, count.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The server sent more than that before a response.
#[derive(Debug, thiserror::Error)]
#[error("the server sent too much before its response")]
pub(super) struct HeadTooLong;

/// A stream on which so many bytes may be read until the head is there.
pub(super) struct BoundedHead<S> {
    stream: S,
    left: usize,
    is_there: Arc<AtomicBool>,
}

impl<S> BoundedHead<S> {
    /// The flag is set by whoever has received the head.
    pub(super) fn new(stream: S, most: usize) -> (Self, Arc<AtomicBool>) {
        let is_there = Arc::new(AtomicBool::new(false));
        (Self { stream, left: most, is_there: Arc::clone(&is_there) }, is_there)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedHead<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_there.load(Ordering::Relaxed) {
            return Pin::new(&mut this.stream).poll_read(context, into);
        }
        if this.left == 0 {
            return Poll::Ready(Err(io::Error::other(HeadTooLong)));
        }
        let before = into.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, into);
        this.left = this.left.saturating_sub(into.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedHead<S> {
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
