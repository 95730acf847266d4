//! What a server may send before the head of its response is complete: interim responses (1xx), each with headers, count.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
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
        // Not one byte beyond them.
        let most = into.remaining().min(this.left);
        let mut part = ReadBuf::new(into.initialize_unfilled_to(most));
        ready!(Pin::new(&mut this.stream).poll_read(context, &mut part))?;
        let read = part.filled().len();
        into.advance(read);
        this.left -= read;
        Poll::Ready(Ok(()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;

    #[tokio::test]
    async fn not_one_byte_more_is_read_before_the_head_is_there_and_any_number_afterwards() {
        let (mut bounded, is_there) = BoundedHead::new(&[7; 1000][..], 100);
        let mut read = Vec::new();
        let error = bounded.read_to_end(&mut read).await.unwrap_err();
        assert_eq!(error.to_string(), HeadTooLong.to_string());
        assert_eq!((read.len(), bounded.stream.len()), (100, 900));
        is_there.store(true, Ordering::Relaxed);
        assert_eq!(bounded.read_to_end(&mut read).await.unwrap(), 900);
        assert_eq!(read, [7; 1000]);
    }
}
