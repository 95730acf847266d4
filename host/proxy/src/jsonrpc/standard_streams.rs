//! The standard input and output of this process. Pipes and sockets are opened so that the Tokio runtime waits for them without a
//! separate thread, because switching to a thread would cost more than all other work on a message.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// A stream to read from.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;

/// A stream to write to.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens the standard input. Must be called within a Tokio runtime.
///
/// # Errors
/// If the standard input is closed.
pub fn input() -> io::Result<Input> {
    Ok(match StreamKind::of(io::stdin().as_fd().try_clone_to_owned()?)? {
        StreamKind::Pipe(pipe) => Box::new(pipe::Receiver::from_owned_fd(pipe)?),
        StreamKind::Socket(socket) => Box::new(socket),
        StreamKind::Other => Box::new(tokio::io::stdin()),
    })
}

/// Opens the standard output. Must be called within a Tokio runtime.
///
/// # Errors
/// If the standard output is closed.
pub fn output() -> io::Result<Output> {
    Ok(match StreamKind::of(io::stdout().as_fd().try_clone_to_owned()?)? {
        StreamKind::Pipe(pipe) => Box::new(pipe::Sender::from_owned_fd(pipe)?),
        StreamKind::Socket(socket) => Box::new(socket),
        StreamKind::Other => Box::new(tokio::io::stdout()),
    })
}

/// An input that ends when a future is ready.
pub struct StoppableInput<S> {
    input: Input,
    stop: Pin<Box<S>>,
    has_stopped: bool,
}

impl<S: Future<Output = ()>> StoppableInput<S> {
    /// Creates an input that returns the data of `input` until `stop` is ready.
    pub fn new(input: Input, stop: S) -> Self {
        Self { input, stop: Box::pin(stop), has_stopped: false }
    }
}

impl<S: Future<Output = ()>> AsyncRead for StoppableInput<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.has_stopped = this.has_stopped || this.stop.as_mut().poll(context).is_ready();
        if this.has_stopped { Poll::Ready(Ok(())) } else { Pin::new(&mut this.input).poll_read(context, into) }
    }
}

impl<S> fmt::Debug for StoppableInput<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoppableInput").field("has_stopped", &self.has_stopped).finish_non_exhaustive()
    }
}

enum StreamKind {
    Pipe(OwnedFd),
    Socket(UnixStream),
    /// A file or a terminal.
    Other,
}

impl StreamKind {
    fn of(fd: OwnedFd) -> io::Result<Self> {
        let file = File::from(fd);
        let kind = file.metadata()?.file_type();
        let fd = OwnedFd::from(file);
        if kind.is_fifo() {
            return Ok(Self::Pipe(fd));
        }
        if kind.is_socket() {
            let socket = std::os::unix::net::UnixStream::from(fd);
            socket.set_nonblocking(true)?;
            return UnixStream::from_std(socket).map(Self::Socket);
        }
        Ok(Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::StoppableInput;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn an_input_ends_when_something_has_come_although_the_other_side_is_there() {
        let (mut other, input) = duplex(16);
        let (stop, stopped) = oneshot::channel::<()>();
        let mut input = StoppableInput::new(Box::new(input), async {
            let _ = stopped.await;
        });
        other.write_all(b"ab").await.unwrap();
        let mut read = [0; 2];
        input.read_exact(&mut read).await.unwrap();
        let end = tokio::spawn(async move { input.read(&mut [0; 2]).await.unwrap() });
        tokio::task::yield_now().await;
        stop.send(()).unwrap();
        assert_eq!((&read, end.await.unwrap()), (b"ab", 0));
    }
}
