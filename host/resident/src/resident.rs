//! The socket, and the beginning and end of the resident host's process.
//!
//! At most one resident host serves a user's state directory. The host holds a file lock, which the kernel releases when the
//! process ends for any reason. The host ends for one of four reasons: nobody has used the host for a while, the host is asked to
//! end, another version replaces its program, or its socket is removed. Before the host ends, it decides on pending events and on
//! events that arrive in the meantime.

use crate::connection::{HostState, serve};
use crate::http::{self, Endpoints, Token};
use crate::page_links::PageLinks;
use crate::peer::Supervisors;
use crate::settler::Settler;
use crate::successor::ProgramWatch;
use crate::unanswered_calls;
use data_encoding::HEXLOWER;
use hookhost_client::connection::{is_trusted, short};
use hookhost_client::paths::{self, HostPaths, MAX_SOCKET_PATH};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

/// Time for which a host that is ending waits for pending events.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(28);

/// Time after [`DRAIN_TIMEOUT`] in which events that are still pending are rejected.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(2);

/// Poll interval while a host that is about to end waits for pending events.
const DRAIN_INTERVAL: Duration = Duration::from_millis(5);

/// Interval at which the host checks whether there is a reason to end.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The reason why a process cannot be the resident host.
#[derive(Debug, thiserror::Error)]
pub enum ResidentError {
    /// The directory of the socket cannot be used.
    #[error("the directory {} of the resident host cannot be used: {why}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The reason, and the next step.
        why: String,
    },
    /// The socket cannot be created.
    #[error("the resident host cannot listen at {}: {error}", socket.display())]
    Socket {
        /// The socket.
        socket: PathBuf,
        /// The error.
        error: io::Error,
    },
}

/// The reason why a resident host has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// Nobody has used the host for a while.
    Idle,
    /// The host was asked to end.
    Stopped,
    /// Another version has replaced the host's program, and must take over.
    Replaced,
    /// The host's socket was removed, or another socket is in its place.
    SocketGone,
}

/// A resident host that holds the lock and listens on the socket.
pub struct ResidentHost {
    place: HostPaths,
    listener: UnixListener,
    socket_path: PathBuf,
    /// Device and inode of the socket's file.
    socket: (u64, u64),
    successor: Option<ProgramWatch>,
    is_on_demand: bool,
    http: Option<HttpSettings>,
    page: Option<Arc<dyn PageLinks>>,
    _lock: File,
}

/// The settings of the HTTP endpoint.
struct HttpSettings {
    listener: TcpListener,
    token: Token,
    endpoints: Endpoints,
    home: PathBuf,
}

impl ResidentHost {
    /// Creates the host's directory, takes its lock and listens on its socket. Returns `None` if another resident host runs.
    ///
    /// # Errors
    /// If other users can reach the directory, or no socket can be created.
    pub fn claim(place: &HostPaths) -> Result<Option<Self>, ResidentError> {
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
        let (listener, socket_path) =
            listen(place).map_err(|error| ResidentError::Socket { socket: place.socket(), error })?;
        let socket = identity(&socket_path).unwrap_or_default();
        Ok(Some(Self {
            place: place.clone(),
            listener,
            socket_path,
            socket,
            successor: ProgramWatch::new(),
            is_on_demand: false,
            http: None,
            page: None,
            _lock: lock,
        }))
    }

    /// Marks this host as started by a hook. If the user starts another host, that host replaces this host.
    #[must_use]
    pub fn on_demand(self) -> Self {
        Self { is_on_demand: true, ..self }
    }

    /// Also serves HTTP, with these additional endpoints of other crates. `home` is the directory for messages that name no
    /// directory.
    #[must_use]
    pub fn with_http(self, listener: TcpListener, token: Token, endpoints: Endpoints, home: PathBuf) -> Self {
        Self { http: Some(HttpSettings { listener, token, endpoints, home }), ..self }
    }

    /// Also makes links to this page. The host does not end for lack of use while the page is used.
    #[must_use]
    pub fn with_page(self, page: Arc<dyn PageLinks>) -> Self {
        Self { page: Some(page), ..self }
    }

    /// Serves until there is a reason to end, and returns the reason. The host also ends if `stop` is ready, or if nobody has used
    /// the host for the time `idle`. If `idle` is `None`, this time is not limited.
    ///
    /// # Errors
    /// If the host cannot listen on the socket.
    pub async fn serve(
        mut self,
        settler: Arc<Settler>,
        idle: Option<Duration>,
        stop: impl Future<Output = ()>,
    ) -> io::Result<EndReason> {
        self.listener.set_nonblocking(true)?;
        let listener = tokio::net::UnixListener::from_std(self.listener.try_clone()?)?;
        let shared = Arc::new(HostState {
            directories: paths::directories().variables(),
            is_on_demand: self.is_on_demand,
            socket: self.socket_path.clone(),
            http_address: self.http.as_ref().and_then(|http| http.listener.local_addr().ok()),
            settler,
            supervisors: Supervisors::default(),
            page: self.page.clone(),
            stop_requested: Notify::new(),
            active: AtomicUsize::new(0),
            message_done: Notify::new(),
            ending: watch::Sender::new(false),
            place_freed: Notify::new(),
        });
        let http = self.http.take().map(|HttpSettings { listener, token, endpoints, home }| {
            let (stop, stopped) = oneshot::channel::<()>();
            let stopped = async { drop(stopped.await) };
            let served = http::serve(listener, Arc::clone(&shared.settler), token, endpoints, home, stopped);
            (Some(stop), tokio::spawn(served))
        });
        // Unanswered calls are recorded in a separate task, because writing can take long if the log is locked. Meanwhile, a hook
        // would treat a host that sends nothing as dead.
        let place = self.place.clone();
        let record = || {
            let (place, settler) = (place.clone(), Arc::clone(&shared.settler));
            tokio::spawn(async move { unanswered_calls::record(&place, &settler).await })
        };
        let mut recording = record();
        let mut check = tokio::time::interval(CHECK_INTERVAL);
        let is_idle = || shared.active.load(Ordering::Acquire) == 0 && !shared.settler.idle().is_zero();
        let mut ended = None;
        let limit = tokio::time::sleep(DRAIN_TIMEOUT);
        tokio::pin!(stop, limit);
        // The loop continues until no event is pending. Events that arrive while other events are pending are decided too, because
        // the next host can start only after this host has ended.
        while ended.is_none() || !is_idle() {
            let reason = tokio::select! {
                accepted = listener.accept() => {
                    match accepted {
                        Ok((stream, _)) => serve(&shared, stream),
                        // The usual cause is that too many files are open. Some of them will soon be closed.
                        Err(error) => {
                            tracing::warn!(%error, "a connection could not be accepted");
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    }
                    None
                }
                _ = check.tick(), if ended.is_none() => {
                    if recording.is_finished() {
                        recording = record();
                    }
                    let page = self.page.as_ref().map_or(Duration::MAX, |page| page.unused());
                    let is_supervised = !shared.supervisors.is_empty();
                    let unused = if is_supervised { Duration::ZERO } else { shared.settler.idle().min(page) };
                    self.reason_to_end(unused, idle).await
                }
                () = shared.stop_requested.notified() => Some(EndReason::Stopped),
                () = &mut stop, if ended != Some(EndReason::Stopped) => Some(EndReason::Stopped),
                () = tokio::time::sleep(DRAIN_INTERVAL), if ended.is_some() => None,
                () = &mut limit, if ended.is_some() => break,
            };
            if let Some(reason) = reason {
                if ended.is_none() {
                    limit.as_mut().reset(Instant::now() + DRAIN_TIMEOUT);
                }
                ended = Some(reason);
            }
        }
        let ended = ended.unwrap_or(EndReason::Stopped);
        if ended != EndReason::SocketGone {
            let _ = fs::remove_file(&self.socket_path);
            let _ = fs::remove_file(self.place.socket_name());
        }
        while let Ok(Ok((stream, _))) = tokio::time::timeout(Duration::ZERO, listener.accept()).await {
            serve(&shared, stream);
        }
        shared.ending.send_replace(true);
        // Waits a short time for the connections that were just accepted.
        let settled_soon = async {
            while !is_idle() {
                tokio::time::sleep(DRAIN_INTERVAL).await;
            }
        };
        let _ = tokio::time::timeout(REJECTION_TIMEOUT, settled_soon).await;
        // Rejects events that are still pending, for example because they wait for a person.
        shared.settler.shut_down();
        let last = async {
            if let Some((stop, served)) = http {
                drop(stop);
                let _ = served.await;
            }
            while shared.active.load(Ordering::Acquire) > 0 {
                shared.message_done.notified().await;
            }
        };
        let _ = tokio::time::timeout(REJECTION_TIMEOUT, async { (last.await, recording.await) }).await;
        // The lock is released before clients learn that the host has ended.
        drop(self);
        shared.place_freed.notify_waiters();
        Ok(ended)
    }

    async fn reason_to_end(&mut self, unused: Duration, idle: Option<Duration>) -> Option<EndReason> {
        if identity(&self.socket_path) != Some(self.socket) {
            return Some(EndReason::SocketGone);
        }
        if let Some(successor) = &mut self.successor
            && successor.poll().await
        {
            return Some(EndReason::Replaced);
        }
        idle.is_some_and(|idle| unused >= idle).then_some(EndReason::Idle)
    }
}

impl std::fmt::Debug for ResidentHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResidentHost").field("socket", &self.socket_path).finish_non_exhaustive()
    }
}

/// Listens on the socket in the host's directory. Removes an existing socket file, because the lock proves that no other host uses
/// it. Some file systems (for example FAT) do not support sockets. In this case, the function listens in the user's runtime
/// directory, and writes a file that contains the path of the socket.
fn listen(place: &HostPaths) -> io::Result<(UnixListener, PathBuf)> {
    remove(&place.socket_name())?;
    let socket = place.socket();
    let error = match bind(&socket, place.directory()) {
        Ok(listener) => return Ok((listener, socket)),
        Err(error) => error,
    };
    let Some(runtime) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()) else {
        return Err(error);
    };
    let digest = Sha256::digest(place.directory().as_os_str().as_encoded_bytes());
    let socket = runtime.join(format!("hookhost-{}.sock", HEXLOWER.encode(&digest[..8])));
    // The returned error is about the host's own directory, because this is the directory that the user can fix.
    let Ok(listener) = bind(&socket, &runtime) else { return Err(error) };
    fs::write(place.socket_name(), socket.as_os_str().as_encoded_bytes())?;
    Ok((listener, socket))
}

/// Binds a socket. If its path is too long for a socket address, uses a short path that leads through a file descriptor of the
/// directory.
fn bind(socket: &Path, directory: &Path) -> io::Result<UnixListener> {
    remove(socket)?;
    if socket.as_os_str().len() <= MAX_SOCKET_PATH {
        return UnixListener::bind(socket);
    }
    let directory = File::open(directory)?;
    UnixListener::bind(short(&directory))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the device and inode of a file.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
