//! The socket, and the life of the process behind it.
//!
//! One resident host serves a user: it holds a lock of the kernel's, which is free when the process has ended, however it
//! ended. It ends when nobody has used it for a while, when it is told to, when its program was replaced by another version,
//! and when its socket is not its own any more. Before it ends it settles what is under way; a hook that comes meanwhile
//! settles its call by itself.

use crate::acs::Acs;
use crate::connection::{Shared, serve_soon};
use crate::http::{self, Token};
use crate::settle::Settler;
use crate::successor::Watch;
use hookhost_hook::connection::{is_trusted, short};
use hookhost_hook::place::{self, MAX_SOCKET_PATH, Place};
use hookhost_hook::unanswered::Noted;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Notify, oneshot, watch};

/// How long the events under way are waited for at the end.
const FOR_THE_LAST: Duration = Duration::from_secs(28);

/// How long it takes at most until those that are still under way have their no.
const FOR_ITS_NO: Duration = Duration::from_secs(2);

/// The interval at which it is looked whether events are still under way.
const END_INTERVAL: Duration = Duration::from_millis(5);

/// The interval at which it is looked whether the process has a reason to end.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Why a process is not the resident host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResidentError {
    /// The directory of the socket cannot be used.
    #[error("the directory {} of the resident host cannot be used: {why}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// The socket cannot be made.
    #[error("the resident host cannot listen at {}: {error}", socket.display())]
    Socket {
        /// The socket.
        socket: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Why a resident host has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// Nobody has used it for a while.
    Idle,
    /// It was told to.
    Stopped,
    /// Its program is another one now: one of that program is to take its place.
    Replaced,
    /// Its socket was removed, or another one is there.
    SocketGone,
}

/// The right to be the resident host, and its socket.
#[derive(Debug)]
pub struct Resident {
    place: Place,
    listener: std::os::unix::net::UnixListener,
    socket: (u64, u64),
    successor: Option<Watch>,
    is_on_demand: bool,
    http: Option<Http>,
    _lock: File,
}

/// What HTTP is served with.
#[derive(Debug)]
struct Http {
    listener: TcpListener,
    token: Token,
    acs: Acs,
    home: PathBuf,
}

impl Resident {
    /// Claims the place: makes its directory, takes its lock and listens. `None` where another resident host is there.
    ///
    /// # Errors
    /// If the directory is not the user's alone, or there can be no socket in it.
    pub fn claim(place: &Place) -> Result<Option<Self>, ResidentError> {
        let directory = place.directory();
        let unusable = |why: String| ResidentError::Directory { directory: directory.to_owned(), why };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|error| unusable(error.to_string()))?;
        let found = fs::metadata(directory).map_err(|error| unusable(error.to_string()))?;
        if !is_trusted(found.uid()) {
            return Err(unusable(format!("it belongs to another user (uid {}): remove it", found.uid())));
        }
        if found.mode() & 0o077 != 0 {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
                .map_err(|error| unusable(format!("others can reach it: {error}")))?;
        }
        let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(place.lock());
        let lock = lock.map_err(|error| unusable(error.to_string()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Ok(None),
            Err(fs::TryLockError::Error(error)) => return Err(unusable(error.to_string())),
        }
        let listener = listen(place).map_err(|error| ResidentError::Socket { socket: place.socket(), error })?;
        let socket = identity(&place.socket()).unwrap_or_default();
        Ok(Some(Self {
            place: place.clone(),
            listener,
            socket,
            successor: Watch::new(),
            is_on_demand: false,
            http: None,
            _lock: lock,
        }))
    }

    /// The same, started by a hook: one that the user starts takes its place.
    #[must_use]
    pub fn on_demand(self) -> Self {
        Self { is_on_demand: true, ..self }
    }

    /// The same, which also serves HTTP. `home` is the directory of messages that name none.
    #[must_use]
    pub fn with_http(self, listener: TcpListener, token: Token, acs: Acs, home: PathBuf) -> Self {
        Self { http: Some(Http { listener, token, acs, home }), ..self }
    }

    /// Serves until there is a reason to end. `idle` is how long it may be unused; absent: for ever. `stop` ends it, too.
    ///
    /// # Errors
    /// If the socket cannot be listened at.
    pub async fn serve(
        mut self,
        settler: Arc<Settler>,
        idle: Option<Duration>,
        stop: impl Future<Output = ()>,
    ) -> io::Result<Ended> {
        self.listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(self.listener.try_clone()?)?;
        let shared = Arc::new(Shared {
            directories: place::directories().variables(),
            is_on_demand: self.is_on_demand,
            socket: self.place.socket(),
            http_address: self.http.as_ref().and_then(|http| http.listener.local_addr().ok()),
            settler,
            told: Notify::new(),
            at_work: AtomicUsize::new(0),
            done: Notify::new(),
            ending: watch::Sender::new(false),
            ended: Notify::new(),
        });
        let http = self.http.take().map(|Http { listener, token, acs, home }| {
            let (stop, stopped) = oneshot::channel::<()>();
            let stopped = async { drop(stopped.await) };
            let served = http::serve(listener, Arc::clone(&shared.settler), token, acs, home, stopped);
            (Some(stop), tokio::spawn(served))
        });
        self.take_unanswered(&shared.settler).await;
        let mut look = tokio::time::interval(LOOK_INTERVAL);
        tokio::pin!(stop);
        let mut ended = loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => serve_soon(&shared, stream),
                    // Too many open files: those that are open will be closed.
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                },
                _ = look.tick() => {
                    if let Some(why) = self.reason_to_end(shared.settler.idle(), idle).await {
                        break why;
                    }
                    self.take_unanswered(&shared.settler).await;
                }
                () = shared.told.notified() => break Ended::Stopped,
                () = &mut stop => break Ended::Stopped,
            }
        };
        if ended != Ended::SocketGone {
            // From here on hooks settle their calls by themselves, or start another resident host.
            let _ = fs::remove_file(self.place.socket());
        }
        while let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::ZERO, listener.accept()).await {
            serve_soon(&shared, stream);
        }
        shared.ending.send_replace(true);
        let is_idle = || shared.at_work.load(Ordering::Acquire) == 0 && !shared.settler.idle().is_zero();
        let mut http = http;
        let limit = tokio::time::sleep(FOR_THE_LAST);
        tokio::pin!(limit);
        // A client that is turned away could let its call run: those of an update are served meanwhile.
        while !is_idle() {
            if ended != Ended::Replaced
                && let Some((stop, _)) = &mut http
            {
                drop(stop.take());
            }
            tokio::select! {
                () = tokio::time::sleep(END_INTERVAL) => {}
                () = &mut limit => break,
                () = &mut stop, if ended == Ended::Replaced => ended = Ended::Stopped,
            }
        }
        // What is still under way gets a no.
        shared.settler.end();
        let last = async {
            if let Some((stop, served)) = http {
                drop(stop);
                let _ = served.await;
            }
            while shared.at_work.load(Ordering::Acquire) > 0 {
                shared.done.notified().await;
            }
        };
        let _ = tokio::time::timeout(FOR_ITS_NO, last).await;
        // The place is free before anybody is told so.
        drop(self);
        shared.ended.notify_waiters();
        Ok(ended)
    }

    async fn reason_to_end(&mut self, unused: Duration, idle: Option<Duration>) -> Option<Ended> {
        if identity(&self.place.socket()) != Some(self.socket) {
            return Some(Ended::SocketGone);
        }
        if let Some(successor) = &mut self.successor
            && successor.look().await
        {
            return Some(Ended::Replaced);
        }
        idle.is_some_and(|idle| unused >= idle).then_some(Ended::Idle)
    }

    /// Records the calls that nobody answered before.
    async fn take_unanswered(&self, settler: &Settler) {
        let noted = match Noted::take(&self.place) {
            Ok(Some(noted)) => noted,
            Ok(None) => return,
            Err(error) => return tracing::warn!(%error, "the calls that nobody answered cannot be read"),
        };
        noted.calls.iter().for_each(|call| settler.note_unanswered(call));
        let recorded = match settler.host().flush().await {
            Ok(()) => noted.recorded().map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(why) = recorded {
            tracing::warn!(why, "the calls that nobody answered are recorded once more");
        }
    }
}

/// Listens at the place's socket; what was there is removed, since the lock says that nobody is behind it.
fn listen(place: &Place) -> io::Result<std::os::unix::net::UnixListener> {
    let socket = place.socket();
    match fs::remove_file(&socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if socket.as_os_str().len() <= MAX_SOCKET_PATH {
        return std::os::unix::net::UnixListener::bind(socket);
    }
    let directory = File::open(place.directory())?;
    std::os::unix::net::UnixListener::bind(short(&directory))
}

/// What tells a file from another one.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
