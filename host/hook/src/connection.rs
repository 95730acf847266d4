//! A connection to the resident host, or anything else that is waited for with a deadline.

use crate::frame::{FrameError, MAX_FRAME, Request, Response};
use crate::json_end::JsonEnd;
use crate::place::{MAX_SOCKET_PATH, Place};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The interval at which it is looked whether the hook was asked to end.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// The interval at which a connection is tried again, where as many wait for the host as may.
#[cfg(any(target_os = "linux", target_os = "android"))]
const QUEUE_INTERVAL: Duration = Duration::from_millis(10);

/// How long an answer may take on its way after that time is over.
const FOR_THE_ANSWER: Duration = Duration::from_secs(5);

/// Time without a frame after which the other side counts as dead. A resident host that works on an event sends one each second.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(3);

/// Further time for a frame after [`SILENCE_TIMEOUT`]: where both processes were stopped, the other side continues a moment later.
pub const RESUME_TIMEOUT: Duration = Duration::from_millis(200);

/// How much a pipe takes without waiting, in bytes, where `poll` says that it takes something: `PIPE_BUF` of POSIX.
const PIPE_BUF: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// Bytes that are read at once.
const CHUNK_SIZE: usize = 64 * 1024;

/// Why the resident host has not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// No resident host is there: no socket, or nobody behind it.
    #[error("no resident host answers at {}", .0.display())]
    NotThere(PathBuf),
    /// The socket belongs to another user, or another user's program is behind it.
    #[error(
        "the socket {} belongs to another user: remove it, and look who can write to its directory", .0.display()
    )]
    NotMine(PathBuf),
    /// The time is over.
    #[error("there was no answer within {} seconds", .0.as_secs_f32())]
    TooLate(Duration),
    /// Somebody accepts connections and sends nothing.
    #[error("the resident host has sent nothing for {} seconds: end its process", SILENCE_TIMEOUT.as_secs())]
    Silent {
        /// The process behind the socket, where the system names it.
        process: Option<u32>,
    },
    /// No resident host could be started.
    #[error("no resident host could be started: {0}")]
    NotStarted(String),
    /// The process was asked to end.
    #[error("the hook was asked to end before there was an answer")]
    Interrupted,
    /// The other side has closed the connection.
    #[error("the resident host ended before it answered")]
    Closed,
    /// The other side does not speak our language.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The system says no.
    #[error("the resident host cannot be reached: {0}")]
    Io(#[from] io::Error),
}

/// Until when something is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Deadline<'a> {
    began: Instant,
    within: Duration,
    interrupted: Option<&'a AtomicBool>,
}

impl<'a> Deadline<'a> {
    /// So long from now on; also over once `interrupted` is set, which a signal handler may do.
    #[must_use]
    pub fn within(within: Duration, interrupted: Option<&'a AtomicBool>) -> Self {
        Self { began: Instant::now(), within, interrupted }
    }

    /// The same from now on with another length.
    #[must_use]
    pub fn again(self, within: Duration) -> Self {
        Self { began: Instant::now(), within, ..self }
    }

    /// Returns the earlier of this one and one of this length from now on.
    #[must_use]
    pub fn at_most(self, within: Duration) -> Self {
        self.again(within.min(self.within.saturating_sub(self.began.elapsed())))
    }

    /// From now on, as long as the resident host says that it takes, and some seconds more; unchanged for 0 seconds.
    #[must_use]
    pub fn that_takes_long(self, seconds: u32) -> Self {
        if seconds == 0 {
            return self;
        }
        self.again(Duration::from_secs(u64::from(seconds)) + FOR_THE_ANSWER)
    }

    /// How long is left; an error if nothing is, or the process was asked to end.
    ///
    /// # Errors
    /// [`ConnectionError::TooLate`] or [`ConnectionError::Interrupted`].
    pub fn left(&self) -> Result<Duration, ConnectionError> {
        if self.interrupted.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(ConnectionError::Interrupted);
        }
        let left = self.within.saturating_sub(self.began.elapsed());
        if left.is_zero() { Err(ConnectionError::TooLate(self.within)) } else { Ok(left) }
    }

    /// Waits until `file` can be read or written, as `flags` say.
    ///
    /// # Errors
    /// As [`Self::left`].
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

    /// Reads a JSON text and returns at most `most` bytes of it. It ends with its outermost object or array, since some agents keep
    /// their end of the pipe open; what has arrived behind that is part of it, and so makes it unreadable. Bytes beyond `most` are
    /// read and forgotten: their writer could be ended by a pipe that closes.
    ///
    /// # Errors
    /// As [`Self::wait`], and where the system says no.
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

    /// Writes all.
    ///
    /// # Errors
    /// As [`Self::wait`], and where the system says no.
    pub fn write_all(&self, to: &mut (impl Write + AsFd), mut bytes: &[u8]) -> Result<(), ConnectionError> {
        while !bytes.is_empty() {
            self.wait(to, PollFlags::POLLOUT)?;
            // A pipe that can be written to has room for so much: a write of more could wait for ever.
            match to.write(bytes.get(..PIPE_BUF).unwrap_or(bytes)) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(error) if is_for_later(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Returns true if a read would not wait.
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

impl Connection {
    /// Connects. The program behind the socket must be of the same user, or root's.
    ///
    /// # Errors
    /// [`ConnectionError::NotThere`] where nobody is behind the socket, and others.
    pub fn open(place: &Place, deadline: Deadline<'_>) -> Result<Self, ConnectionError> {
        Ok(Self { stream: open(place, deadline)? })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If it is not taken in time.
    pub fn send(&mut self, request: &Request, deadline: Deadline<'_>) -> Result<(), ConnectionError> {
        deadline.write_all(&mut self.stream, &request.to_frame()).map_err(closed)
    }

    /// Waits for the next response.
    ///
    /// # Errors
    /// If there is none in time, or it is not one.
    pub fn receive(&mut self, deadline: Deadline<'_>) -> Result<Response, ConnectionError> {
        receive_from(&mut self.stream, deadline)
    }

    /// Waits for the next response of a resident host that is at work on an event, and so is not silent for long.
    ///
    /// # Errors
    /// As [`Self::receive`], and [`ConnectionError::Silent`].
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

    /// Returns the process behind the socket, where the system names it.
    #[must_use]
    pub fn process(&self) -> Option<u32> {
        peer_process(&self.stream)
    }
}

/// A connected socket that does not block, for a program with a runtime. Who is behind it was looked at.
///
/// # Errors
/// As [`Connection::open`].
pub fn open(place: &Place, deadline: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    let socket = place.socket();
    let stream = connect(place, deadline).map_err(|error| match error {
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

/// Waits for the next response from a connection or a pipe.
///
/// # Errors
/// If there is none in time, or it is not one.
pub fn receive_from(from: &mut (impl Read + AsFd), deadline: Deadline<'_>) -> Result<Response, ConnectionError> {
    let length = read_exactly(from, 4, deadline)?;
    let length = length.first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > MAX_FRAME {
        return Err(FrameError::Garbage.into());
    }
    Ok(Response::from_body(&read_exactly(from, length, deadline)?)?)
}

fn read_exactly(
    from: &mut (impl Read + AsFd),
    count: usize,
    deadline: Deadline<'_>,
) -> Result<Vec<u8>, ConnectionError> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; count.min(CHUNK_SIZE)];
    while bytes.len() < count {
        deadline.wait(from, PollFlags::POLLIN)?;
        let room = (count - bytes.len()).min(CHUNK_SIZE);
        match from.read(piece.get_mut(..room).unwrap_or_default()) {
            Ok(0) => return Err(ConnectionError::Closed),
            Ok(read) => bytes.extend_from_slice(piece.get(..read).unwrap_or_default()),
            Err(error) if is_for_later(&error) => {}
            Err(error) => return Err(closed(error.into())),
        }
    }
    Ok(bytes)
}

/// A connection that the other side has closed while it was written or read.
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

/// Connects to the socket in the place's directory, or to the one that the place names where its file system holds no socket.
fn connect(place: &Place, deadline: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    match connect_below(place, deadline) {
        Err(ConnectionError::Io(error)) if error.kind() == io::ErrorKind::NotFound => match place.other_socket() {
            Some(socket) => connect_to(&socket, deadline),
            None => Err(error.into()),
        },
        connected => connected,
    }
}

/// A socket whose path is too long for its address is reached by the directory that is open.
fn connect_below(place: &Place, deadline: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    let socket = place.socket();
    if socket.as_os_str().len() <= MAX_SOCKET_PATH {
        return connect_to(&socket, deadline);
    }
    let directory = std::fs::File::open(place.directory())?;
    connect_to(&short(&directory), deadline)
}

/// Connects without being held: where a host hangs, and as many wait for it as may, connecting would otherwise take for ever.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn connect_to(socket: &Path, deadline: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket as new_socket};
    use std::os::fd::AsRawFd as _;
    let address = UnixAddr::new(socket).map_err(io::Error::from)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let stream = new_socket(AddressFamily::Unix, SockType::Stream, flags, None).map_err(io::Error::from)?;
    loop {
        match connect(stream.as_raw_fd(), &address) {
            Ok(()) => return Ok(stream.into()),
            // There is nothing by which to wait for a place in the queue.
            Err(Errno::EAGAIN) => std::thread::sleep(deadline.left()?.min(QUEUE_INTERVAL)),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}

/// Elsewhere a full queue refuses at once.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn connect_to(socket: &Path, _: Deadline<'_>) -> Result<UnixStream, ConnectionError> {
    Ok(UnixStream::connect(socket)?)
}

/// The socket below an open directory, as a path that is short.
#[must_use]
pub fn short(directory: &std::fs::File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}/host.sock", directory.as_raw_fd()))
}

/// Whether a process of this user may settle our events, or send us some: our own user, or root, who can do anything.
#[must_use]
pub fn is_trusted(user: u32) -> bool {
    user == nix::unistd::geteuid().as_raw() || user == 0
}

/// The user whose process is on the other side.
///
/// # Errors
/// If the system does not say.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn peer(stream: &impl AsFd) -> io::Result<u32> {
    let credentials = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::PeerCredentials)?;
    Ok(credentials.uid())
}

/// The process on the other side: of a listening socket, the one that has begun to listen.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn peer_process(stream: &impl AsFd) -> Option<u32> {
    let credentials = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::PeerCredentials).ok()?;
    u32::try_from(credentials.pid()).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn peer_process(_: &impl AsFd) -> Option<u32> {
    None
}

/// The user whose process is on the other side.
///
/// # Errors
/// If the system does not say.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn peer(stream: &impl AsFd) -> io::Result<u32> {
    let (user, _) = nix::unistd::getpeereid(stream)?;
    Ok(user.as_raw())
}
