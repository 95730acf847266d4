//! A connection to the resident host, and deadlines for connections and for pipes.

use crate::frame::{FrameError, MAX_FRAME, Request, Response};
use crate::json_end::JsonEnd;
use crate::paths::{HostPaths, MAX_SOCKET_PATH};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval at which a wait checks whether a signal has asked the hook to end.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Pause between two attempts to connect while the host's accept queue is full.
#[cfg(any(target_os = "linux", target_os = "android"))]
const QUEUE_INTERVAL: Duration = Duration::from_millis(10);

/// Time for delivering an answer, in addition to the time that the host has for finding the answer.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of one attempt to connect while a host starts. The timeout is short, because until the new host listens, the socket may belong
/// to a program that accepts no connections. A caller with an async runtime blocks its thread for this time.
pub const CONNECT_TIMEOUT: Duration = Duration::from_millis(50);

/// Time without a frame after which the other side is treated as dead. A resident host that works on an event sends a frame each
/// second.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(3);

/// Additional time for a frame after [`SILENCE_TIMEOUT`]. If both processes were suspended, the process on the other side may
/// continue a moment later than this process.
pub const RESUME_TIMEOUT: Duration = Duration::from_millis(200);

/// Number of bytes that a pipe accepts without blocking after `poll` has reported the pipe as writable. POSIX calls this number `PIPE_BUF`.
const PIPE_BUF: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// Maximum number of bytes per read.
const CHUNK_SIZE: usize = 64 * 1024;

/// The reason why the resident host has not answered.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// No resident host is running: there is no socket, or no process listens on the socket.
    #[error("no resident host answers at {}", .0.display())]
    NotThere(PathBuf),
    /// The socket belongs to another user, or a process of another user listens on it.
    #[error(
        "the socket {} belongs to another user: remove it, and check who can write to its directory", .0.display()
    )]
    NotMine(PathBuf),
    /// The deadline has passed.
    #[error("there was no answer within {:.1} seconds", .0.as_secs_f32())]
    TooLate(Duration),
    /// A process accepts connections but sends nothing.
    #[error("the resident host has sent nothing for {} seconds: end its process", SILENCE_TIMEOUT.as_secs())]
    Silent {
        /// The process that listens on the socket, if the system reports it.
        process: Option<u32>,
    },
    /// No resident host could be started.
    #[error("no resident host could be started: {0}")]
    NotStarted(String),
    /// A signal has asked the hook to end.
    #[error("the hook was asked to end before there was an answer")]
    Interrupted,
    /// The other side has closed the connection.
    #[error("the resident host ended before it answered")]
    Closed,
    /// The other side uses another protocol, or another version of this protocol.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A system call failed.
    #[error("the resident host cannot be reached: {0}")]
    Io(#[from] io::Error),
}

/// A deadline for reads, writes and connections.
#[derive(Clone, Copy, Debug)]
pub struct Deadline<'a> {
    began: Instant,
    within: Duration,
    interrupted: Option<&'a AtomicBool>,
}

impl<'a> Deadline<'a> {
    /// Creates a deadline that passes after `within` from now, or when `interrupted` is set. A signal handler may set
    /// `interrupted`.
    pub fn within(within: Duration, interrupted: Option<&'a AtomicBool>) -> Self {
        Self { began: Instant::now(), within, interrupted }
    }

    /// Returns a deadline that passes after `within` from now, and can be interrupted like this deadline.
    #[must_use]
    pub fn restarted(self, within: Duration) -> Self {
        Self { began: Instant::now(), within, ..self }
    }

    /// Returns this deadline, or a deadline that passes after `within` from now, whichever is earlier.
    #[must_use]
    pub fn at_most(self, within: Duration) -> Self {
        self.restarted(within.min(self.within.saturating_sub(self.began.elapsed())))
    }

    /// Returns the deadline that passes first.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        if other.began + other.within < self.began + self.within { other } else { self }
    }

    /// Returns a deadline that allows `seconds` for an answer and [`DELIVERY_TIMEOUT`] for its delivery. For 0 seconds, returns `self`.
    #[must_use]
    pub fn extended_by(self, seconds: u32) -> Self {
        if seconds == 0 {
            return self;
        }
        self.restarted(Duration::from_secs(u64::from(seconds)) + DELIVERY_TIMEOUT)
    }

    /// Returns the remaining time.
    ///
    /// # Errors
    /// [`ConnectionError::TooLate`] if no time remains, [`ConnectionError::Interrupted`] if the process was asked to end.
    pub fn left(&self) -> Result<Duration, ConnectionError> {
        if self.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(ConnectionError::Interrupted);
        }
        let left = self.within.saturating_sub(self.began.elapsed());
        if left.is_zero() { Err(ConnectionError::TooLate(self.within)) } else { Ok(left) }
    }

    /// Waits until `file` can be read or written, as `flags` request.
    ///
    /// # Errors
    /// The errors of [`Self::left`], and errors of the system.
    pub fn wait(&self, file: &impl AsFd, flags: PollFlags) -> Result<(), ConnectionError> {
        loop {
            let slice = self.left()?.min(SIGNAL_INTERVAL);
            let timeout = PollTimeout::try_from(slice.max(Duration::from_millis(1))).unwrap_or(PollTimeout::ZERO);
            match poll(&mut [PollFd::new(file.as_fd(), flags)], timeout) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    /// Reads one JSON text and returns at most its first `most` bytes. Reading stops at the end of the outermost object or array,
    /// because some agents do not close their end of the pipe. If more bytes have already arrived by then, they are returned too,
    /// because the caller must reject such a text as invalid JSON. Bytes beyond `most` are read and discarded, because closing the
    /// pipe early could kill the process that writes.
    ///
    /// # Errors
    /// The errors of [`Self::wait`], and errors of the system.
    pub fn read_json(&self, from: &mut (impl Read + AsFd), most: usize) -> Result<Vec<u8>, ConnectionError> {
        let mut all = Vec::new();
        let mut chunk = vec![0; CHUNK_SIZE];
        let mut end = JsonEnd::default();
        loop {
            if end.is_found() && !has_arrived(from) {
                break;
            }
            self.wait(from, PollFlags::POLLIN)?;
            match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => {
                    let read = chunk.get(..read).unwrap_or_default();
                    end.look_through(read);
                    let room = most.saturating_sub(all.len());
                    all.extend_from_slice(read.get(..room).unwrap_or(read));
                }
                Err(error) if is_for_later(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(all)
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// The errors of [`Self::wait`], and errors of the system.
    pub fn write_all(&self, to: &mut (impl Write + AsFd), mut bytes: &[u8]) -> Result<(), ConnectionError> {
        while !bytes.is_empty() {
            self.wait(to, PollFlags::POLLOUT)?;
            // A writable pipe accepts at least this number of bytes. A larger write could block forever.
            match to.write(bytes.get(..PIPE_BUF).unwrap_or(bytes)) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if is_for_later(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Returns true if a read would not block.
fn has_arrived(file: &impl AsFd) -> bool {
    poll(&mut [PollFd::new(file.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO) == Ok(1)
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A connection to the user's resident host.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
}

impl From<UnixStream> for Connection {
    fn from(stream: UnixStream) -> Self {
        Self { stream }
    }
}

impl Connection {
    /// Connects to the resident host. The host's process must belong to the same user or to root.
    ///
    /// # Errors
    /// [`ConnectionError::NotThere`] if no process listens on the socket, or another [`ConnectionError`].
    pub fn open(paths: &HostPaths, deadline: Deadline<'_>) -> Result<Self, ConnectionError> {
        open(paths, deadline).map(Self::from)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If the host does not accept the request in time.
    pub fn send(&mut self, request: &Request, deadline: Deadline<'_>) -> Result<(), ConnectionError> {
        deadline.write_all(&mut self.stream, &request.to_frame()).map_err(closed)
    }

    /// Waits for the next response.
    ///
    /// # Errors
    /// If no response arrives in time, or the frame is not a response.
    pub fn receive(&mut self, deadline: Deadline<'_>) -> Result<Response, ConnectionError> {
        let length = read_exactly(&mut self.stream, 4, deadline)?;
        let length = length.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MAX_FRAME {
            return Err(FrameError::Garbage.into());
        }
        Ok(Response::from_body(&read_exactly(&mut self.stream, length, deadline)?)?)
    }

    /// Waits for the next response of a resident host that works on an event. Such a host sends a frame each second, so the host is treated
    /// as dead if no frame arrives within [`SILENCE_TIMEOUT`].
    ///
    /// # Errors
    /// The errors of [`Self::receive`], and [`ConnectionError::Silent`].
    pub fn receive_at_work(&mut self, deadline: Deadline<'_>) -> Result<Response, ConnectionError> {
        let arrives = |within| deadline.at_most(within).wait(&self.stream, PollFlags::POLLIN);
        match arrives(SILENCE_TIMEOUT).or_else(|_| arrives(RESUME_TIMEOUT)) {
            Err(ConnectionError::TooLate(_)) => {
                deadline.left()?;
                Err(ConnectionError::Silent { process: self.process() })
            }
            waited => waited.and_then(|()| self.receive(deadline)),
        }
    }

    /// Returns the process that listens on the socket, if the system reports it.
    pub fn process(&self) -> Option<u32> {
        peer_process(&self.stream)
    }
}

/// Connects like [`Connection::open`] and returns the non-blocking socket, for a program with an async runtime.
///
/// # Errors
/// The errors of [`Connection::open`].
pub fn open(paths: &HostPaths, deadline: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    let socket = paths.socket();
    let stream = connect(paths, deadline).map_err(|error| match error {
        ConnectionError::Io(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) =>
        {
            ConnectionError::NotThere(socket.clone())
        }
        other => other,
    })?;
    if !is_trusted(peer(&stream)?) {
        return Err(ConnectionError::NotMine(socket));
    }
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn read_exactly(from: &mut UnixStream, count: usize, deadline: Deadline<'_>) -> Result<Vec<u8>, ConnectionError> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; count.min(CHUNK_SIZE)];
    while bytes.len() < count {
        deadline.wait(from, PollFlags::POLLIN)?;
        let room = (count - bytes.len()).min(CHUNK_SIZE);
        match from.read(chunk.get_mut(..room).unwrap_or_default()) {
            Ok(0) => return Err(ConnectionError::Closed),
            Ok(read) => bytes.extend_from_slice(chunk.get(..read).unwrap_or_default()),
            Err(error) if is_for_later(&error) => {}
            Err(error) => return Err(closed(error.into())),
        }
    }
    Ok(bytes)
}

/// Converts the error of a connection that broke during a read or write into [`ConnectionError::Closed`].
fn closed(error: ConnectionError) -> ConnectionError {
    match error {
        ConnectionError::Io(error)
            if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) =>
        {
            ConnectionError::Closed
        }
        other => other,
    }
}

/// Connects to the socket in the host's directory. If there is no socket in the directory, connects to the socket whose path is stored in a
/// file there.
fn connect(paths: &HostPaths, deadline: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    match connect_below(paths, deadline) {
        Err(ConnectionError::Io(error)) if error.kind() == io::ErrorKind::NotFound => match paths.other_socket() {
            Some(socket) => connect_to(&socket, deadline),
            None => Err(error.into()),
        },
        connected => connected,
    }
}

/// Connects to the socket in the host's directory. If the path of the socket is too long for a socket address, opens the directory and uses
/// a short path through the directory's file descriptor.
fn connect_below(paths: &HostPaths, deadline: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    let socket = paths.socket();
    if socket.as_os_str().len() <= MAX_SOCKET_PATH {
        return connect_to(&socket, deadline);
    }
    let directory = std::fs::File::open(paths.directory())?;
    connect_to(&short(&directory), deadline)
}

/// Connects without blocking, because a blocking call would never return if the accept queue of a hung host is full.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn connect_to(socket: &Path, deadline: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket as new_socket};
    use std::os::fd::AsRawFd as _;
    let address = UnixAddr::new(socket).map_err(io::Error::from)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let stream = new_socket(AddressFamily::Unix, SockType::Stream, flags, None).map_err(io::Error::from)?;
    loop {
        match connect(stream.as_raw_fd(), &address) {
            Ok(()) => return Ok(stream.into()),
            // The system does not report when the queue has room again, so a new attempt follows after a pause.
            Err(Errno::EAGAIN) => std::thread::sleep(deadline.left()?.min(QUEUE_INTERVAL)),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

/// Connects with a blocking call. Systems other than Linux immediately return an error if the accept queue is full.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn connect_to(socket: &Path, _: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    Ok(UnixStream::connect(socket)?)
}

/// Returns a short path to the socket in an open directory.
pub fn short(directory: &std::fs::File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}/host.sock", directory.as_raw_fd()))
}

/// Returns true if `user` is the user of this process, or root. Only processes of these users may send events to this process or decide on
/// events of this process.
pub fn is_trusted(user: u32) -> bool {
    user == nix::unistd::geteuid().as_raw() || user == 0
}

/// Returns the user whose process is at the other end of the connection.
///
/// # Errors
/// If the system does not report the user.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn peer(stream: &impl AsFd) -> io::Result<u32> {
    let credentials = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::PeerCredentials)?;
    Ok(credentials.uid())
}

/// Returns the process at the other end of the connection. For a listening socket, this is the process that called `listen`. Returns
/// `None` if the system does not report the process, or if the process is in another namespace.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn peer_process(stream: &impl AsFd) -> Option<u32> {
    let credentials = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::PeerCredentials).ok()?;
    u32::try_from(credentials.pid()).ok().filter(|process| *process > 0)
}

/// Returns the process at the other end of the connection, which this system does not report.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn peer_process(_: &impl AsFd) -> Option<u32> {
    None
}

/// Returns the user whose process is at the other end of the connection.
///
/// # Errors
/// If the system does not report the user.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn peer(stream: &impl AsFd) -> io::Result<u32> {
    let (user, _) = nix::unistd::getpeereid(stream)?;
    Ok(user.as_raw())
}
