//! A guest's standard output and error. Both go into the log, up to a limit, and never to the host's terminal.

use super::processor_time;
use crate::locked::locked;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// Maximum size of one write, in bytes. WASI requires a guest to ask first how many bytes it may write. A larger write
/// traps.
const CHUNK: usize = 64 * 1024;

/// A buffer of limited size, which silently drops what does not fit. A write never fails, because a failed `println!`
/// would trap the guest.
#[derive(Clone, Debug)]
pub(super) struct Output {
    buffer: Arc<Mutex<Buffer>>,
    compute: Duration,
}

#[derive(Debug)]
struct Buffer {
    bytes: Vec<u8>,
    capacity: usize,
    /// Number of lines that were dropped at least in part.
    dropped: u64,
    /// True if a part of the current line was dropped.
    is_dropping: bool,
}

impl Output {
    pub(super) fn with_capacity(capacity: usize, compute: Duration) -> Self {
        Self {
            buffer: Arc::new(Mutex::new(Buffer { bytes: Vec::new(), capacity, dropped: 0, is_dropping: false })),
            compute,
        }
    }

    /// Returns the text in the buffer, and the number of lines that were dropped at least in part.
    pub(super) fn take(&self) -> (String, u64) {
        let mut buffer = locked(&self.buffer);
        (String::from_utf8_lossy(&std::mem::take(&mut buffer.bytes)).into_owned(), buffer.dropped)
    }

    fn write(&self, bytes: &[u8]) {
        let mut buffer = locked(&self.buffer);
        let fits = bytes.len().min(buffer.capacity - buffer.bytes.len());
        buffer.bytes.extend_from_slice(&bytes[..fits]);
        for byte in &bytes[fits..] {
            if *byte == b'\n' {
                buffer.is_dropping = false;
            } else if !byte.is_ascii_whitespace() && !std::mem::replace(&mut buffer.is_dropping, true) {
                buffer.dropped += 1;
            }
        }
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

impl OutputStream for Output {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        processor_time::check(self.compute).map_err(StreamError::Trap)?;
        if bytes.len() > CHUNK {
            return Err(StreamError::trap("wrote more at once than `check-write` permits"));
        }
        Output::write(self, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(CHUNK)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Output::write(&self, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_find_no_room_are_counted_whole_or_in_part() {
        let output = Output::with_capacity(6, Duration::from_secs(1));
        for bytes in ["one\nt", "wo", "\n\n  \nthree\n", "fo", "ur"] {
            output.write(bytes.as_bytes());
        }
        assert_eq!(output.take(), ("one\ntw".to_owned(), 3));
    }
}
