//! The standard input and output of this process. A pipe or a socket is waited for by the runtime, and not by a thread: that
//! costs less than everything else that happens to a message.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileTypeExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// What is read.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;

/// What is written.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// The standard input. To be called within the runtime.
///
/// # Errors
/// If it is closed.
pub fn input() -> io::Result<Input> {
    Ok(match Found::of(io::stdin().as_fd().try_clone_to_owned()?)? {
        Found::Pipe(pipe) => Box::new(pipe::Receiver::from_owned_fd(pipe)?),
        Found::Socket(socket) => Box::new(socket),
        Found::Other => Box::new(tokio::io::stdin()),
    })
}

/// The standard output. To be called within the runtime.
///
/// # Errors
/// If it is closed.
pub fn output() -> io::Result<Output> {
    Ok(match Found::of(io::stdout().as_fd().try_clone_to_owned()?)? {
        Found::Pipe(pipe) => Box::new(pipe::Sender::from_owned_fd(pipe)?),
        Found::Socket(socket) => Box::new(socket),
        Found::Other => Box::new(tokio::io::stdout()),
    })
}

enum Found {
    Pipe(OwnedFd),
    Socket(UnixStream),
    /// A file or a terminal.
    Other,
}

impl Found {
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
