//! A connection to the resident host: one request and its responses, or many messages and their responses.

use crate::proxies;
use crate::settle::{Settler, Waits};
use hookhost_adapters::directories::DIRECTORY_VARIABLES;
use hookhost_adapters::{Message, by_name};
use hookhost_client::connection::{is_trusted, peer};
use hookhost_client::frame::{HookRequest, MAX_FRAME, NumberedRequest, Request, Response};
use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};

/// Time that a request may take to arrive.
const FOR_A_REQUEST: Duration = Duration::from_secs(10);

/// Interval of `waiting` frames while a message is under way. The hook ends a host that sends none.
const WAITING_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of messages under way on one connection.
const MAX_UNDER_WAY: usize = 4096;

/// Maximum number of bytes of these messages together, if there is more than one.
const MAX_BYTES_UNDER_WAY: usize = 64 * 1024 * 1024;

/// Maximum number of response bytes that the other side has not read yet. Beyond it, its next message is not read.
const MAX_UNREAD: usize = 1 << 20;

/// Minimum free capacity at each read, in bytes.
const PIECE: usize = 8 * 1024;

/// Maximum capacity that a connection keeps between two messages, in bytes.
const MAX_KEPT: usize = 64 * 1024;

/// The state that all connections share.
pub(crate) struct Shared {
    pub(crate) settler: Arc<Settler>,
    /// The directories of hookhost's files by this process's own environment.
    pub(crate) directories: Vec<(String, String)>,
    pub(crate) is_on_demand: bool,
    pub(crate) socket: PathBuf,
    /// The address of the HTTP endpoint, if there is one.
    pub(crate) http_address: Option<std::net::SocketAddr>,
    /// Notified when the process must end.
    pub(crate) told: Notify,
    pub(crate) at_work: AtomicUsize,
    pub(crate) done: Notify,
    /// Set when the process ends: kept connections then take no further message.
    pub(crate) ending: watch::Sender<bool>,
    /// Notified when the place is free for another resident host.
    pub(crate) ended: Notify,
}

/// Counts one served connection, or one message of a kept connection, while it exists.
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

/// Serves a connection on its own task.
pub(crate) fn serve_soon(shared: &Arc<Shared>, stream: UnixStream) {
    let at_work = AtWork::begin(shared);
    tokio::spawn(async move {
        if let Err(error) = converse(at_work, stream).await {
            tracing::debug!(%error, "a hook has gone before it had its answer");
        }
    });
}

/// Serves one connection: one request and its responses, or many messages.
async fn converse(at_work: AtWork, stream: UnixStream) -> io::Result<()> {
    let shared = Arc::clone(&at_work.0);
    if !is_trusted(peer(&stream)?) {
        tracing::warn!("a process of another user has connected, and gets no answer");
        return Ok(());
    }
    let (input, mut output) = stream.into_split();
    let mut input = Input { stream: input, bytes: Vec::new() };
    let body = match tokio::time::timeout(FOR_A_REQUEST, input.frame()).await {
        Ok(body) => body?,
        Err(_) => return Ok(()),
    };
    match Request::from_body(&body) {
        Err(error) => say(&mut output, &Response::Refused(error.to_string())).await,
        Ok(Request::Stop) => {
            let ended = shared.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            // The end of the host waits for all connections at work, and this connection waits for that end.
            drop(at_work);
            shared.told.notify_one();
            // The connection closes after this, which tells the sender that the host has ended.
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
        Ok(Request::Hook(request)) => hook(&shared, input, output, &request).await,
        Ok(Request::Keep) => {
            // A kept connection counts as at work only while one of its messages is.
            drop(at_work);
            keep(&shared, input, output).await
        }
    }
}

/// Settles the message of one hook.
async fn hook(shared: &Shared, mut input: Input, mut output: OwnedWriteHalf, request: &HookRequest) -> io::Result<()> {
    let (send, mut waits) = mpsc::unbounded_channel();
    let waits_for = |seconds| _ = send.send(seconds);
    let gone = async {
        // A hook sends nothing after its request. Any result means that it has gone or breaks the protocol.
        let _ = input.stream.read(&mut [0]).await;
    };
    let mut settled = pin!(settled(shared, request, &waits_for, gone));
    let mut interval = waiting_interval();
    loop {
        tokio::select! {
            biased;
            // A failed write is ignored: the read above notices when the hook has gone.
            Some(seconds) = waits.recv() => {
                let _ = say(&mut output, &Response::Waiting { seconds }).await;
            }
            response = &mut settled => return match response {
                Some(response) => say(&mut output, &response).await,
                None => Ok(()),
            },
            _ = interval.tick() => {
                let _ = say(&mut output, &Response::Waiting { seconds: 0 }).await;
            }
        }
    }
}

/// Returns an interval that ticks first after one period and skips late ticks.
fn waiting_interval() -> Interval {
    let mut interval = tokio::time::interval_at(Instant::now() + WAITING_INTERVAL, WAITING_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// A message that is being settled: its response, unless the sender no longer waits, and the channel to the other side.
type Settling = Pin<Box<dyn Future<Output = (Option<Said>, mpsc::UnboundedSender<Said>)> + Send>>;

/// Settles the messages of a kept connection concurrently, until the other side closes it or this process ends.
async fn keep(shared: &Arc<Shared>, mut input: Input, output: OwnedWriteHalf) -> io::Result<()> {
    let (send, mut said) = mpsc::unbounded_channel();
    // `Some` as long as messages are taken.
    let mut send = Some(send);
    let mut output = Output { stream: output, bytes: Vec::new(), written: 0, at_work: Vec::new() };
    let under_way = UnderWay::default();
    // Cancels all messages when this function ends, whatever the cause.
    let _nobody_waits = NobodyWaits(&under_way);
    let mut ending = shared.ending.subscribe();
    // A message that arrives alone is settled on this task. Handing it to another task and its response back takes longer than most
    // events.
    let mut here: Option<Settling> = None;
    let mut interval = waiting_interval();
    loop {
        let is_read = send.is_some() && output.unread() < MAX_UNREAD;
        let is_at_work = !under_way.all().by_number.is_empty();
        let body = tokio::select! {
            biased;
            settled = settled_here(&mut here), if here.is_some() => {
                here = None;
                // Frames that announced a long wait must precede the response.
                while let Ok(earlier) = said.try_recv() {
                    output.add(earlier);
                }
                settled.into_iter().for_each(|said| output.add(said));
                continue;
            }
            Some(said) = said.recv() => {
                output.add(said);
                continue;
            }
            written = output.write(), if output.unread() > 0 => {
                // If the write fails, the other side has gone.
                written?;
                continue;
            }
            // Messages sent from now on are for the next resident host.
            _ = ending.wait_for(|ending| *ending), if send.is_some() => {
                send = None;
                continue;
            }
            body = input.frame(), if is_read => body,
            _ = interval.tick(), if is_at_work && output.unread() < MAX_UNREAD => {
                for number in under_way.all().by_number.keys() {
                    let frame = Response::Waiting { seconds: 0 }.to_numbered_frame(*number);
                    output.add(Said { frame, at_work: None });
                }
                continue;
            }
            else => return Ok(()),
        };
        let numbered = body.map_err(drop).and_then(|body| NumberedRequest::from_body(&body).map_err(drop));
        match (numbered, &send) {
            (Ok(NumberedRequest::Hook { number, request }), Some(send)) => {
                let at_work = AtWork::begin(shared);
                if !is_at_work {
                    interval.reset();
                }
                let Some(gone) = under_way.begin(number, request.message.len()) else {
                    let most = MAX_BYTES_UNDER_WAY / 1024 / 1024;
                    let why = format!("{MAX_UNDER_WAY} messages, or {most} MiB, are under way, and no more are taken");
                    let frame = Response::Refused(why).to_numbered_frame(number);
                    output.add(Said { frame, at_work: Some(at_work) });
                    continue;
                };
                let (shared, send, under_way) = (Arc::clone(shared), send.clone(), under_way.clone());
                let message = Box::pin(async move {
                    let waits = |seconds| {
                        let frame = Response::Waiting { seconds }.to_numbered_frame(number);
                        let _ = send.send(Said { frame, at_work: None });
                    };
                    let response = settled(&shared, &request, &waits, gone).await;
                    under_way.end(number);
                    let said =
                        |response: Response| Said { frame: response.to_numbered_frame(number), at_work: Some(at_work) };
                    (response.map(said), send)
                });
                if here.is_none() {
                    here = Some(message);
                } else {
                    tokio::spawn(async move {
                        if let (Some(said), send) = message.await {
                            let _ = send.send(said);
                        }
                    });
                }
            }
            (Ok(NumberedRequest::Gone { number }), _) => under_way.end(number),
            // The other side has gone, or breaks the protocol.
            (Err(()), _) | (Ok(NumberedRequest::Hook { .. }), None) => {
                under_way.clear();
                send = None;
            }
        }
    }
}

/// Returns the response of the message that the connection's own task settles. If settling panics, there is no response, as on a
/// separate task, and other messages continue.
async fn settled_here(here: &mut Option<Settling>) -> Option<Said> {
    let Some(message) = here else { return std::future::pending().await };
    let polled = poll_fn(|context| {
        let poll = || message.as_mut().poll(context);
        catch_unwind(AssertUnwindSafe(poll)).map_or(Poll::Ready(None), |polled| polled.map(|(said, _)| said))
    });
    polled.await
}

/// Cancels all messages of a connection when it is dropped.
struct NobodyWaits<'a>(&'a UnderWay);

impl Drop for NobodyWaits<'_> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

/// The messages of one connection that are under way, by their numbers. Removing a message cancels it.
#[derive(Clone, Default)]
struct UnderWay(Arc<Mutex<Messages>>);

#[derive(Default)]
struct Messages {
    /// The cancel handle and the length of each message.
    by_number: HashMap<u64, (oneshot::Sender<()>, usize)>,
    bytes: usize,
}

impl UnderWay {
    /// Adds a message of this length. The returned future ends when the sender no longer waits. Returns `None` if too many messages
    /// are under way, or the number is taken.
    fn begin(&self, number: u64, length: usize) -> Option<impl Future<Output = ()> + use<>> {
        let mut all = self.all();
        let has_room = all.by_number.is_empty() || all.bytes.saturating_add(length) <= MAX_BYTES_UNDER_WAY;
        if !has_room || all.by_number.len() >= MAX_UNDER_WAY || all.by_number.contains_key(&number) {
            return None;
        }
        let (waits, gone) = oneshot::channel();
        all.by_number.insert(number, (waits, length));
        all.bytes += length;
        Some(async move {
            let _ = gone.await;
        })
    }

    fn end(&self, number: u64) {
        let mut all = self.all();
        if let Some((_, length)) = all.by_number.remove(&number) {
            all.bytes -= length;
        }
    }

    fn clear(&self) {
        *self.all() = Messages::default();
    }

    fn all(&self) -> MutexGuard<'_, Messages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A frame to the other side.
struct Said {
    frame: Vec<u8>,
    /// The message that this frame answers. It counts as under way until the frame is written.
    at_work: Option<AtWork>,
}

/// The write half of a kept connection, with its buffer.
struct Output {
    stream: OwnedWriteHalf,
    /// Encoded frames, in order.
    bytes: Vec<u8>,
    /// Number of bytes in `bytes` that are written.
    written: usize,
    /// The messages that these frames answer.
    at_work: Vec<AtWork>,
}

impl Output {
    /// Returns the number of bytes that the other side has not taken.
    fn unread(&self) -> usize {
        self.bytes.len() - self.written
    }

    fn add(&mut self, said: Said) {
        self.bytes.extend(said.frame);
        self.at_work.extend(said.at_work);
    }

    /// Writes as many bytes as the other side takes. Cancel-safe.
    async fn write(&mut self) -> io::Result<()> {
        let written = self.stream.write(&self.bytes[self.written..]).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written += written;
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(MAX_KEPT);
            self.written = 0;
            self.at_work.clear();
        }
        Ok(())
    }
}

/// The read half of a connection, with its buffer.
struct Input {
    stream: OwnedReadHalf,
    /// Bytes that were read beyond the last frame.
    bytes: Vec<u8>,
}

impl Input {
    /// Reads the body of the next frame. Cancel-safe.
    async fn frame(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let mut missing = PIECE;
            if let Some((length, rest)) = self.bytes.split_first_chunk::<4>() {
                let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
                if length > MAX_FRAME {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
                }
                if rest.len() >= length {
                    let after = self.bytes.split_off(4 + length);
                    // Avoids a second copy of a long message.
                    let mut body = std::mem::replace(&mut self.bytes, after);
                    body.drain(..4);
                    return Ok(body);
                }
                // The buffer at most doubles per read: a false length reserves nothing.
                missing = (length - rest.len()).min(self.bytes.len()).max(PIECE);
            }
            self.bytes.reserve(missing);
            if self.stream.read_buf(&mut self.bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Settles a message and returns the response. Returns `None` if `gone` ends first; the event is then dropped.
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

/// Returns true if a hook's environment leads to other directories than this process's own. This process then settles under other
/// settings.
fn is_elsewhere(variables: &[(String, String)], own: &[(String, String)]) -> bool {
    let as_paths = |(name, value): &(String, String)| (name.clone(), PathBuf::from(value));
    let theirs = variables.iter().filter(|(name, _)| DIRECTORY_VARIABLES.contains(&name.as_str()));
    !theirs.map(as_paths).eq(own.iter().map(as_paths))
}

async fn say(stream: &mut OwnedWriteHalf, response: &Response) -> io::Result<()> {
    stream.write_all(&response.to_frame()).await?;
    stream.flush().await
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES_UNDER_WAY, UnderWay};

    #[test]
    fn the_messages_of_a_connection_that_are_under_way_have_a_bound_in_bytes() {
        let under_way = UnderWay::default();
        let large = MAX_BYTES_UNDER_WAY / 2 + 1;
        assert!(under_way.begin(1, large).is_some());
        assert!(under_way.begin(2, large).is_none());
        under_way.end(1);
        assert!(under_way.begin(2, large).is_some() && under_way.begin(3, 1).is_some());
        under_way.clear();
        // One alone always has room.
        assert!(under_way.begin(4, 2 * MAX_BYTES_UNDER_WAY).is_some());
    }
}
