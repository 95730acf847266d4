//! The socket, and the life of the process behind it.
//!
//! One resident host serves a user: it holds a lock of the kernel's, which is free when the process has ended, however it
//! ended. It ends when nobody has used it for a while, when it is told to, when its program was replaced by another version,
//! and when its socket is not its own any more. Before it ends it settles what is under way; a hook that comes meanwhile
//! settles its call by itself.

use crate::acs::Acs;
use crate::http::{self, Token};
use crate::proxies;
use crate::settle::{Settler, Waits};
use crate::successor::Watch;
use hookhost_adapters::{Message, by_name};
use hookhost_hook::connection::{is_trusted, peer, short};
use hookhost_hook::frame::{HookRequest, MAX_FRAME, Numbered, Request, Response};
use hookhost_hook::place::{self, MAX_SOCKET_PATH, Place};
use hookhost_hook::unanswered::Noted;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// How long a request may take to come.
const FOR_A_REQUEST: Duration = Duration::from_secs(10);

/// How long the events under way are waited for at the end.
const FOR_THE_LAST: Duration = Duration::from_secs(28);

/// How long it takes at most until those that are still under way have their no.
const FOR_ITS_NO: Duration = Duration::from_secs(2);

/// The interval at which it is looked whether events are still under way.
const END_INTERVAL: Duration = Duration::from_millis(5);

/// Upper bound of the messages of one connection that are under way.
const MAX_UNDER_WAY: usize = 4096;

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
            directories: place::directories(),
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

/// What the connections share.
struct Shared {
    settler: Arc<Settler>,
    /// Where this process's own environment has hookhost's files.
    directories: Vec<(String, String)>,
    is_on_demand: bool,
    socket: PathBuf,
    /// Where it serves HTTP, if it does.
    http_address: Option<std::net::SocketAddr>,
    /// Notified when the process has to end.
    told: Notify,
    at_work: AtomicUsize,
    done: Notify,
    /// Set when the process ends: a connection that is kept brings no further message.
    ending: watch::Sender<bool>,
    /// The place is free for another resident host.
    ended: Notify,
}

/// Counts a connection that is served, and a message of one that is kept.
struct AtWork(Arc<Shared>);

impl AtWork {
    fn begin(shared: &Arc<Shared>) -> Self {
        shared.at_work.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(shared))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::AcqRel);
        self.0.done.notify_one();
    }
}

fn serve_soon(shared: &Arc<Shared>, stream: UnixStream) {
    let at_work = AtWork::begin(shared);
    tokio::spawn(async move {
        if let Err(error) = converse(at_work, stream).await {
            tracing::debug!(%error, "a hook has gone before it had its answer");
        }
    });
}

/// What comes over a connection.
type Input = BufReader<OwnedReadHalf>;

/// Serves one connection: one request and its responses, or many messages.
async fn converse(at_work: AtWork, stream: UnixStream) -> io::Result<()> {
    let shared = Arc::clone(&at_work.0);
    if !is_trusted(peer(&stream)?) {
        tracing::warn!("a process of another user has connected, and gets no answer");
        return Ok(());
    }
    let (input, mut output) = stream.into_split();
    // A frame is a length and its bytes: without a buffer each would be several system calls.
    let mut input = BufReader::new(input);
    let body = match tokio::time::timeout(FOR_A_REQUEST, read_frame(&mut input)).await {
        Ok(body) => body?,
        Err(_) => return Ok(()),
    };
    match Request::from_body(&body) {
        Err(error) => say(&mut output, &Response::Refused(error.to_string())).await,
        Ok(Request::Stop) => {
            let ended = shared.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            // Its end waits for all that are at work, and this one waits for its end.
            drop(at_work);
            shared.told.notify_one();
            // The connection closes then, and so tells that it has ended.
            ended.await;
            Ok(())
        }
        Ok(Request::Status { directory }) => {
            let mut status = shared.settler.status(&directory).await;
            status["on-demand"] = shared.is_on_demand.into();
            status["socket"] = shared.socket.display().to_string().into();
            if let Some(address) = shared.http_address {
                status["http"] = address.to_string().into();
            }
            let status = status.to_string();
            say(&mut output, &Response::Status(status)).await
        }
        Ok(Request::Hook(request)) => {
            hook(&shared, input, output, &request).await;
            Ok(())
        }
        Ok(Request::Keep) => {
            // It is at work as long as a message of it is.
            drop(at_work);
            keep(&shared, input, output).await
        }
    }
}

/// Settles the message of a hook, and ends.
async fn hook(shared: &Shared, mut input: Input, output: OwnedWriteHalf, request: &HookRequest) {
    let (send, written) = writer(output);
    let gone = async {
        // The hook says nothing more. It has gone, or it breaks the protocol.
        let _ = input.read(&mut [0]).await;
    };
    let say = |response: &Response| {
        let _ = send.send(Said { frame: response.to_frame(), _at_work: None });
    };
    if let Some(response) = settled(shared, request, &|seconds| say(&Response::Waiting { seconds }), gone).await {
        say(&response);
    }
    drop(send);
    let _ = written.await;
}

/// Settles the messages of a connection that is kept, beside each other, until the other side has gone or this process ends.
async fn keep(shared: &Arc<Shared>, mut input: Input, output: OwnedWriteHalf) -> io::Result<()> {
    let (send, written) = writer(output);
    let under_way = UnderWay::default();
    let mut ending = shared.ending.subscribe();
    loop {
        let body = tokio::select! {
            body = read_frame(&mut input) => body,
            // What it sends now is for the next resident host.
            _ = ending.wait_for(|ending| *ending) => break,
        };
        let numbered = body.map_err(drop).and_then(|body| Numbered::from_body(&body).map_err(drop));
        match numbered {
            Ok(Numbered::Hook { number, request }) => {
                let at_work = AtWork::begin(shared);
                let Some(gone) = under_way.begin(number) else {
                    let why = format!("{MAX_UNDER_WAY} messages are under way, and no more are taken");
                    let frame = Response::Refused(why).to_numbered_frame(number);
                    let _ = send.send(Said { frame, _at_work: Some(at_work) });
                    continue;
                };
                let (shared, send, under_way) = (Arc::clone(shared), send.clone(), under_way.clone());
                tokio::spawn(async move {
                    let waits = |seconds| {
                        let frame = Response::Waiting { seconds }.to_numbered_frame(number);
                        let _ = send.send(Said { frame, _at_work: None });
                    };
                    let response = settled(&shared, &request, &waits, gone).await;
                    under_way.end(number);
                    if let Some(response) = response {
                        let frame = response.to_numbered_frame(number);
                        let _ = send.send(Said { frame, _at_work: Some(at_work) });
                    }
                });
            }
            Ok(Numbered::Gone { number }) => under_way.end(number),
            // It has gone, or it breaks the protocol.
            Err(()) => {
                under_way.all().clear();
                break;
            }
        }
    }
    drop(send);
    written.await.unwrap_or(Ok(()))
}

/// The messages of one connection that are under way, by their numbers. Nobody waits for one that is taken out.
#[derive(Clone, Default)]
struct UnderWay(Arc<Mutex<HashMap<u64, oneshot::Sender<()>>>>);

impl UnderWay {
    /// Takes a message up. What is returned ends when nobody waits for it any more; absent where there are too many, or its number
    /// is taken.
    fn begin(&self, number: u64) -> Option<impl Future<Output = ()> + use<>> {
        let mut all = self.all();
        if all.len() >= MAX_UNDER_WAY || all.contains_key(&number) {
            return None;
        }
        let (waits, gone) = oneshot::channel();
        all.insert(number, waits);
        Some(async move {
            let _ = gone.await;
        })
    }

    fn end(&self, number: u64) {
        self.all().remove(&number);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A frame on its way to the other side.
struct Said {
    frame: Vec<u8>,
    /// The message that it answers, which is under way until it is written.
    _at_work: Option<AtWork>,
}

/// Writes frames in order, until nobody has one more to send, or the other side has gone.
fn writer(mut output: OwnedWriteHalf) -> (mpsc::UnboundedSender<Said>, JoinHandle<io::Result<()>>) {
    let (send, mut frames) = mpsc::unbounded_channel::<Said>();
    let written = tokio::spawn(async move {
        while let Some(said) = frames.recv().await {
            output.write_all(&said.frame).await?;
        }
        Ok(())
    });
    (send, written)
}

/// The response to a message; absent where `gone` ended first: then nothing of the event runs.
async fn settled(
    shared: &Shared,
    request: &HookRequest,
    waits: Waits<'_>,
    gone: impl Future<Output = ()>,
) -> Option<Response> {
    let HookRequest { agent, point, directory, variables, message } = request;
    let Some(adapter) = proxies::by_name(agent).or_else(|| by_name(agent)) else {
        let why = format!("the resident host knows no agent {agent:?}: it is of another version than the hook");
        return Some(Response::Refused(why));
    };
    if is_elsewhere(variables, &shared.directories) {
        let why = "the resident host was started with other directories for hookhost's files";
        return Some(Response::Refused(why.to_owned()));
    }
    let mut sent = Message::new(message, directory);
    sent.point = (!point.is_empty()).then_some(point.as_str());
    sent.variables = variables;
    let reply = tokio::select! {
        biased;
        reply = shared.settler.reply(adapter, &sent, waits) => reply,
        () = gone => return None,
    };
    let (exit, stdout, stderr) = (reply.exit, reply.stdout.into_bytes(), reply.stderr.into_bytes());
    Some(Response::Reply { exit, stdout, stderr })
}

/// Whether a hook's environment leads to other settings than this process's own. Then they are not those under which this
/// process settles.
fn is_elsewhere(variables: &[(String, String)], own: &[(String, String)]) -> bool {
    let theirs = variables.iter().filter(|(name, _)| place::DIRECTORIES.contains(&name.as_str()));
    !theirs.eq(own)
}

async fn read_frame(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
    }
    // Not at once: a length that lies reserves nothing.
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body).await?;
    if body.len() < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(body) }
}

async fn say(stream: &mut OwnedWriteHalf, response: &Response) -> io::Result<()> {
    stream.write_all(&response.to_frame()).await?;
    stream.flush().await
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
