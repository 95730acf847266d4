//! A proxy's connection to the resident host, which decides on the proxy's events. The connection stays open and carries all events
//! of the proxy concurrently. If no resident host runs, the proxy starts a resident host.

use crate::connection::{
    self, CONNECT_TIMEOUT, ConnectionError, DELIVERY_TIMEOUT, Deadline, RESUME_TIMEOUT, SILENCE_TIMEOUT,
};
use crate::frame::{FrameError, HookRequest, MAX_FRAME, NumberedRequest, Request, Response};
use crate::hook::{CALL_TIMEOUT, MAX_HOSTS};
use crate::paths::{self, HostPaths};
use crate::start::{self, START_TIMEOUT};
use hookhost_agents::directories::Directories;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// Pause between the end of a resident host and the next attempt to send the event.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Called if the wait for the reply can be long. The argument is the maximum number of seconds until the reply.
pub type LongWaitCallback<'a> = &'a (dyn Fn(u32) + Send + Sync);

/// A client of the user's resident host.
#[derive(Debug)]
pub struct AsyncClient {
    paths: HostPaths,
    program: PathBuf,
    numbers: AtomicU64,
    connection: tokio::sync::Mutex<Option<SharedConnection>>,
}

impl AsyncClient {
    /// Creates a client for the resident host at these paths. `program` is the path of the program `hookhost`, which the client runs to
    /// start the host.
    pub fn new(paths: HostPaths, program: PathBuf) -> Self {
        Self { paths, program, numbers: AtomicU64::new(0), connection: tokio::sync::Mutex::default() }
    }

    /// Sends an event of the proxy `agent` to the resident host, and returns the reply. The rules that apply in `directory` decide on the
    /// event. `S` is the reply type of the proxy's adapter.
    ///
    /// # Errors
    /// One sentence, if the host makes no decision.
    pub async fn ask<S: DeserializeOwned>(
        &self,
        agent: &str,
        directory: &Path,
        event: &impl Serialize,
        on_wait: LongWaitCallback<'_>,
    ) -> Result<S, String> {
        let message = serde_json::to_vec(event).map_err(|error| format!("the event cannot be written: {error}"))?;
        let request = HookRequest {
            agent: agent.to_owned(),
            point: String::new(),
            directory: directory.to_owned(),
            // The host refuses events of a process that uses other directories than the host itself.
            variables: paths::directories().variables(),
            message,
        };
        match self.send(request, on_wait).await {
            Ok(Response::Reply(reply)) => serde_json::from_str(&reply.stdout)
                .map_err(|error| format!("the resident host's reply cannot be read: {error}")),
            Ok(Response::Refused(why)) => Err(why),
            Ok(_) => Err("the resident host sent a response of the wrong kind".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn send(&self, request: HookRequest, on_wait: LongWaitCallback<'_>) -> Result<Response, ConnectionError> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let frame = NumberedRequest::Hook { number, request }.to_frame();
        // The host would close the connection if it got a longer frame.
        if frame.len() > MAX_FRAME {
            return Ok(Response::Refused(format!("the event has more than {MAX_FRAME} bytes")));
        }
        for _ in 0..MAX_HOSTS {
            let started = Instant::now() + START_TIMEOUT;
            let not_started = |_| ConnectionError::TooLate(START_TIMEOUT);
            let connection = timeout_at(started, self.connection()).await.map_err(not_started)??;
            match connection.converse(number, frame.clone(), Instant::now() + CALL_TIMEOUT, on_wait).await {
                // The host has ended, perhaps after it recorded the event. The event is sent again, because it must get a decision.
                Err(ConnectionError::Closed) => sleep(RETRY_INTERVAL).await,
                // Unlike a hook, a proxy does not end a host that uses another version of the protocol. A proxy runs for a long time, so
                // the proxy may be older than the host.
                Err(ConnectionError::Silent { process }) => start::end_stuck(process, &self.paths),
                answered => return answered,
            }
        }
        Err(ConnectionError::Closed)
    }

    /// Returns the open connection. If there is none, opens a new connection.
    async fn connection(&self) -> Result<SharedConnection, ConnectionError> {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| !connection.has_ended()) {
            return Ok(connection.clone());
        }
        let connection = SharedConnection::over(self.connect().await?);
        *kept = Some(connection.clone());
        Ok(connection)
    }

    /// Connects to the resident host. Starts a host if none runs.
    async fn connect(&self) -> Result<UnixStream, ConnectionError> {
        let stream = match connection::open(&self.paths, Deadline::within(CONNECT_TIMEOUT, None)) {
            Err(ConnectionError::NotThere(_) | ConnectionError::TooLate(_)) => {
                let (paths, program) = (self.paths.clone(), self.program.clone());
                let (send, connected) = oneshot::channel();
                // This work does not use a thread of the runtime, because the runtime would wait for that thread when the runtime shuts
                // down.
                std::thread::spawn(move || {
                    let deadline = Deadline::within(START_TIMEOUT, None);
                    let _ = send.send(start::connect(&program, &Directories::default(), &paths, None, deadline));
                });
                connected.await.map_err(|_| ConnectionError::Closed)??
            }
            opened => opened?,
        };
        Ok(UnixStream::from_std(stream)?)
    }
}

/// An open connection, which carries the events of all tasks of the proxy.
#[derive(Clone, Debug)]
struct SharedConnection {
    frames: mpsc::UnboundedSender<Vec<u8>>,
    /// The process of the resident host, if the system reports it.
    process: Option<u32>,
    waiting: Arc<Mutex<PendingResponses>>,
}

/// The tasks that wait for responses, by the numbers of their events.
#[derive(Debug, Default)]
struct PendingResponses {
    events: HashMap<u64, mpsc::UnboundedSender<Response>>,
    /// True if no more responses will arrive.
    has_ended: bool,
}

impl PendingResponses {
    fn end(&mut self) {
        self.has_ended = true;
        self.events.clear();
    }
}

impl SharedConnection {
    /// Starts the reader and the writer of a new stream. Must be called within the async runtime.
    fn over(stream: UnixStream) -> Self {
        let process = connection::peer_process(&stream);
        let (input, output) = stream.into_split();
        let (send, frames) = mpsc::unbounded_channel();
        let connection = Self { frames: send, process, waiting: Arc::default() };
        tokio::spawn(write(output, frames));
        tokio::spawn(read(input, Arc::clone(&connection.waiting)));
        let _ = connection.frames.send(Request::Keep.to_frame());
        connection
    }

    fn has_ended(&self) -> bool {
        lock(&self.waiting).has_ended || self.frames.is_closed()
    }

    /// Sends an event and waits for its final response.
    async fn converse(
        &self,
        number: u64,
        frame: Vec<u8>,
        mut deadline: Instant,
        on_wait: LongWaitCallback<'_>,
    ) -> Result<Response, ConnectionError> {
        let (send, mut responses) = mpsc::unbounded_channel();
        {
            let mut waiting = lock(&self.waiting);
            if waiting.has_ended {
                return Err(ConnectionError::Closed);
            }
            waiting.events.insert(number, send);
        }
        let wait = ResponseWait { connection: self, number };
        self.frames.send(frame).map_err(|_| ConnectionError::Closed)?;
        loop {
            let silent = Instant::now() + SILENCE_TIMEOUT;
            let mut response = timeout_at(deadline.min(silent), responses.recv()).await;
            if response.is_err() && silent < deadline {
                // If this process was suspended, the timeout can pass before the process reads frames that have already arrived.
                response = timeout(RESUME_TIMEOUT, responses.recv()).await;
                if response.is_err() {
                    // The connection is marked as ended, because the next event must open a new connection.
                    lock(&self.waiting).end();
                    return Err(ConnectionError::Silent { process: self.process });
                }
            }
            let response = response.map_err(too_late)?;
            match response {
                Some(Response::Waiting { seconds: 0 }) => {}
                Some(Response::Waiting { seconds }) => {
                    on_wait(seconds);
                    deadline = Instant::now() + Duration::from_secs(u64::from(seconds)) + DELIVERY_TIMEOUT;
                }
                Some(response) => {
                    wait.answered();
                    return Ok(response);
                }
                None => return Err(ConnectionError::Closed),
            }
        }
    }
}

/// Waits for the response to an event. If this value is dropped before the response arrives, the resident host gets a message that no task
/// waits for the response.
struct ResponseWait<'a> {
    connection: &'a SharedConnection,
    number: u64,
}

impl ResponseWait<'_> {
    fn answered(self) {
        lock(&self.connection.waiting).events.remove(&self.number);
    }
}

impl Drop for ResponseWait<'_> {
    fn drop(&mut self) {
        if lock(&self.connection.waiting).events.remove(&self.number).is_some() {
            let _ = self.connection.frames.send(NumberedRequest::Gone { number: self.number }.to_frame());
        }
    }
}

fn lock(waiting: &Mutex<PendingResponses>) -> MutexGuard<'_, PendingResponses> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn write(mut output: OwnedWriteHalf, mut frames: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = frames.recv().await {
        if output.write_all(&frame).await.is_err() {
            return;
        }
    }
}

/// Hands each response to the task that waits for it, until the stream ends.
async fn read(input: OwnedReadHalf, waiting: Arc<Mutex<PendingResponses>>) {
    // Without a buffer, each frame would take several system calls.
    let mut input = BufReader::new(input);
    while let Ok((number, response)) = receive(&mut input).await {
        // If the table has no entry for the event, its task no longer waits.
        if let Some(event) = lock(&waiting).events.get(&number) {
            let _ = event.send(response);
        }
    }
    lock(&waiting).end();
}

async fn receive(input: &mut BufReader<OwnedReadHalf>) -> Result<(u64, Response), ConnectionError> {
    let mut length = [0; 4];
    input.read_exact(&mut length).await?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_FRAME {
        return Err(FrameError::Garbage.into());
    }
    // The buffer grows only as bytes arrive, so that a false length reserves no memory.
    let mut body = Vec::new();
    input.take(length as u64).read_to_end(&mut body).await?;
    if body.len() < length { Err(ConnectionError::Closed) } else { Ok(Response::from_numbered_body(&body)?) }
}

fn too_late<E>(_: E) -> ConnectionError {
    ConnectionError::TooLate(CALL_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::{AsyncClient, HostPaths};
    use std::os::unix::net::UnixListener;
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// The variable with the path of the socket of [`stand_in_to_serve`]. If the variable is not set, the function does nothing.
    const SOCKET: &str = "HOOKHOST_TEST_SOCKET";

    /// Acts as a resident host that accepts connections but sends nothing. The test below runs this function in a separate process.
    #[test]
    fn stand_in_to_serve() {
        let Some(socket) = std::env::var_os(SOCKET) else { return };
        let _listener = UnixListener::bind(socket).unwrap();
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn a_host_that_sends_nothing_is_ended_and_the_event_gets_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let paths = HostPaths::below(directory.path());
        std::fs::create_dir(paths.directory()).unwrap();
        let mut host = Command::new(std::env::current_exe().unwrap());
        // The argument `serve` makes the test program run only those tests whose names contain this word.
        host.arg0("hookhost").arg("serve").env(SOCKET, paths.socket()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut host = host.spawn().unwrap();
        while std::os::unix::net::UnixStream::connect(paths.socket()).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let client = AsyncClient::new(paths, directory.path().join("missing"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked = runtime.block_on(client.ask::<()>("mcp-proxy", directory.path(), &(), &|_| {}));
        assert!(asked.unwrap_err().contains("cannot be reached"));
        assert_eq!(host.wait().unwrap().signal(), Some(9));
    }
}
