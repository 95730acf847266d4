//! A connection to the resident host. The connection is used either for one request and its responses, or it is kept open for many
//! messages and their responses.

use crate::deadlines::WaitCallback;
use crate::page_links::PageLinks;
use crate::peer::{Peer, Supervisors};
use crate::settler::{Settler, proxy};
use hookhost_agents::ancestry::{AgentSign, has_terminal};
use hookhost_agents::directories::DIRECTORY_VARIABLES;
use hookhost_agents::{Message, by_name};
use hookhost_client::connection::{is_trusted, peer};
use hookhost_client::frame::{HookRequest, LinkPurpose, MAX_FRAME, NumberedRequest, Request, Response};
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
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval of `waiting` frames while a message is pending. The hook ends a host that sends no frames.
const WAITING_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of pending messages of one connection.
const MAX_PENDING: usize = 4096;

/// Maximum total size of the pending messages of one connection, in bytes. A single message may be larger.
const MAX_PENDING_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of response bytes that the other side has not read yet. If there are more, no further message is read from the
/// other side.
const MAX_UNREAD: usize = 1 << 20;

/// Minimum free capacity of the buffer at each read, in bytes.
const CHUNK_SIZE: usize = 8 * 1024;

/// Maximum capacity of the buffer that a connection keeps between two messages, in bytes.
const MAX_KEPT_CAPACITY: usize = 64 * 1024;

/// The state that all connections share.
pub(crate) struct HostState {
    pub(crate) settler: Arc<Settler>,
    /// The supervisors of programs in `hookhost exec`.
    pub(crate) supervisors: Supervisors,
    /// The environment variables of this process that name the directories of hookhost's files.
    pub(crate) directories: Vec<(String, String)>,
    pub(crate) is_on_demand: bool,
    pub(crate) socket: PathBuf,
    /// The address of the HTTP endpoint, if there is one.
    pub(crate) http_address: Option<std::net::SocketAddr>,
    /// The page, if there is one.
    pub(crate) page: Option<Arc<dyn PageLinks>>,
    /// Notified when the process must end.
    pub(crate) stop_requested: Notify,
    /// Number of connections and messages that are being served. A connection that is kept open does not count, but its pending
    /// messages do.
    pub(crate) active: AtomicUsize,
    /// Notified when `active` falls.
    pub(crate) message_done: Notify,
    /// Set to true when the process is ending. Kept connections then accept no further messages.
    pub(crate) ending: watch::Sender<bool>,
    /// Notified when this host has released its lock, so that another resident host can start.
    pub(crate) place_freed: Notify,
}

/// Counts one served connection, or one message of a kept connection, as active until this value is dropped.
struct ActiveGuard(Arc<HostState>);

impl ActiveGuard {
    fn begin(shared: &Arc<HostState>) -> Self {
        shared.active.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(shared))
    }
}

impl Drop for ActiveGuard {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::AcqRel);
        self.0.message_done.notify_one();
    }
}

/// Serves a connection in a new task.
pub(crate) fn serve(shared: &Arc<HostState>, stream: UnixStream) {
    let active = ActiveGuard::begin(shared);
    tokio::spawn(async move {
        if let Err(error) = converse(active, stream).await {
            tracing::debug!(%error, "a hook has gone before it had its answer");
        }
    });
}

/// Serves one connection, with one request or with many messages.
async fn converse(active: ActiveGuard, stream: UnixStream) -> io::Result<()> {
    let shared = Arc::clone(&active.0);
    if !is_trusted(peer(&stream)?) {
        tracing::warn!("a process of another user has connected, and gets no answer");
        return Ok(());
    }
    let peer = Peer::of(&stream);
    let (input, mut output) = stream.into_split();
    let mut input = Input { stream: input, bytes: Vec::new() };
    let body = match tokio::time::timeout(REQUEST_TIMEOUT, input.frame()).await {
        Ok(body) => body?,
        Err(_) => return Ok(()),
    };
    match Request::from_body(&body) {
        Err(error) => send(&mut output, &Response::Refused(error.to_string())).await,
        Ok(Request::Stop | Request::Page { .. } | Request::Supervise) if peer.is_confined => {
            let why = "the program that asks runs in hookhost exec, or in another sandbox or container: ask in a terminal outside";
            send(&mut output, &Response::Refused(why.to_owned())).await
        }
        Ok(Request::Stop) => {
            let ended = shared.place_freed.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            // Before the host ends, it waits for all active connections, so this connection must not count as active while it waits
            // for the host to end.
            drop(active);
            shared.stop_requested.notify_one();
            // The connection is closed after this wait. This tells the sender that the host has ended.
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
            send(&mut output, &Response::Status(status)).await
        }
        Ok(Request::Page { directory, purpose }) => {
            let link = match &shared.page {
                Some(page) => may_open(peer.process, purpose).and_then(|()| page.link(&directory, purpose)),
                None => Err("this host has no page".to_owned()),
            };
            send(&mut output, &link.map_or_else(Response::Refused, Response::Link)).await
        }
        Ok(Request::Hook(request)) => hook(&shared, input, output, &request, peer).await,
        Ok(Request::Keep) => {
            // A kept connection counts as active only while one of its messages is pending.
            drop(active);
            keep(&shared, input, output, peer).await
        }
        Ok(Request::Supervise) => {
            drop(active);
            supervise(&shared, input, output, peer).await
        }
    }
}

/// Registers the supervisor of a program in `hookhost exec` until it closes the connection or this process ends. The frames show the
/// supervisor that this process is alive.
async fn supervise(shared: &HostState, mut input: Input, mut output: OwnedWriteHalf, peer: Peer) -> io::Result<()> {
    let Some(process) = peer.process else { return Ok(()) };
    let _registration = shared.supervisors.register(process);
    let mut ending = shared.ending.subscribe();
    let mut interval = waiting_interval();
    let (mut is_over, mut byte) = (false, [0]);
    while !is_over {
        send(&mut output, &Response::Waiting { seconds: 0 }).await?;
        is_over = tokio::select! {
            _ = ending.wait_for(|ending| *ending) => true,
            // The supervisor sends nothing more.
            _ = input.stream.read(&mut byte) => true,
            _ = interval.tick() => false,
        };
    }
    Ok(())
}

/// Refuses a tab that may register the first passkey, unless a person's terminal asks for it.
fn may_open(process: Option<u32>, purpose: LinkPurpose) -> Result<(), String> {
    if purpose != LinkPurpose::Passkeys {
        return Ok(());
    }
    let Some(process) = process else {
        // Only Linux says which program asks. There, it is a program of another container.
        let why = "the program that asks is in another container: run hookhost passkey add where the host runs";
        return if cfg!(target_os = "linux") { Err(why.to_owned()) } else { Ok(()) };
    };
    let why = match AgentSign::of_process(process) {
        Some(sign) => format!("it runs {sign}"),
        None if !has_terminal(process) => "it has no terminal".to_owned(),
        None => return Ok(()),
    };
    Err(format!(
        "a person registers a passkey, and the program that asks may be an agent's: {why}. Run hookhost passkey add in a terminal"
    ))
}

/// Processes the message of one hook, and sends the responses.
async fn hook(
    shared: &HostState,
    mut input: Input,
    mut output: OwnedWriteHalf,
    request: &HookRequest,
    peer: Peer,
) -> io::Result<()> {
    let (sender, mut waits) = mpsc::unbounded_channel();
    let on_wait = |seconds| _ = sender.send(seconds);
    let gone = async {
        // A hook sends nothing after its request. Therefore, any result of this read means that the hook has exited or violates the
        // protocol.
        let _ = input.stream.read(&mut [0]).await;
    };
    let mut settled = pin!(respond(shared, request, peer, &on_wait, gone));
    let mut interval = waiting_interval();
    loop {
        tokio::select! {
            biased;
            // A failed write is ignored, because the read above notices when the hook has exited.
            Some(seconds) = waits.recv() => {
                let _ = send(&mut output, &Response::Waiting { seconds }).await;
            }
            response = &mut settled => return match response {
                Some(response) => send(&mut output, &response).await,
                None => Ok(()),
            },
            _ = interval.tick() => {
                let _ = send(&mut output, &Response::Waiting { seconds: 0 }).await;
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

/// The future of a pending message. It returns the response, or `None` if the sender no longer waits. It also returns the channel
/// to the other side.
type MessageFuture =
    Pin<Box<dyn Future<Output = (Option<OutgoingFrame>, mpsc::UnboundedSender<OutgoingFrame>)> + Send>>;

/// Processes the messages of a kept connection concurrently, until the other side closes the connection or this process ends.
async fn keep(shared: &Arc<HostState>, mut input: Input, output: OwnedWriteHalf, peer: Peer) -> io::Result<()> {
    let (sender, mut outgoing) = mpsc::unbounded_channel();
    // `Some` as long as new messages are accepted.
    let mut sender = Some(sender);
    let mut output = Output { stream: output, bytes: Vec::new(), written: 0, active: Vec::new() };
    let pending = PendingMessages::default();
    // Cancels all messages when this function ends, whatever the cause.
    let _cancel = CancelOnDrop(&pending);
    let mut ending = shared.ending.subscribe();
    // If no other message is pending, a message is processed in this task. Moving the message to another task, and moving its
    // response back, would take longer than most events.
    let mut inline: Option<MessageFuture> = None;
    let mut interval = waiting_interval();
    loop {
        let is_read = sender.is_some() && output.unread() < MAX_UNREAD;
        let is_active = !pending.all().by_number.is_empty();
        let body = tokio::select! {
            biased;
            settled = poll_inline(&mut inline), if inline.is_some() => {
                inline = None;
                // Frames that announced a long wait must be sent before the response.
                while let Ok(earlier) = outgoing.try_recv() {
                    output.add(earlier);
                }
                settled.into_iter().for_each(|outgoing| output.add(outgoing));
                continue;
            }
            Some(outgoing) = outgoing.recv() => {
                output.add(outgoing);
                continue;
            }
            written = output.write(), if output.unread() > 0 => {
                // If the write fails, the other side has closed the connection.
                written?;
                continue;
            }
            // No more messages are accepted, because the sender can send them to the next resident host.
            _ = ending.wait_for(|ending| *ending), if sender.is_some() => {
                sender = None;
                continue;
            }
            body = input.frame(), if is_read => body,
            _ = interval.tick(), if is_active && output.unread() < MAX_UNREAD => {
                for number in pending.all().by_number.keys() {
                    let frame = Response::Waiting { seconds: 0 }.to_numbered_frame(*number);
                    output.add(OutgoingFrame { frame, active: None });
                }
                continue;
            }
            else => return Ok(()),
        };
        let numbered = body.map_err(drop).and_then(|body| NumberedRequest::from_body(&body).map_err(drop));
        match (numbered, &sender) {
            (Ok(NumberedRequest::Hook { number, request }), Some(sender)) => {
                let active = ActiveGuard::begin(shared);
                if !is_active {
                    interval.reset();
                }
                let Some(gone) = pending.begin(number, request.message.len()) else {
                    let most = MAX_PENDING_BYTES / 1024 / 1024;
                    let why = format!("{MAX_PENDING} messages, or {most} MiB, are pending, and no more are accepted");
                    let frame = Response::Refused(why).to_numbered_frame(number);
                    output.add(OutgoingFrame { frame, active: Some(active) });
                    continue;
                };
                let (shared, sender, pending) = (Arc::clone(shared), sender.clone(), pending.clone());
                let message = Box::pin(async move {
                    let on_wait = |seconds| {
                        let frame = Response::Waiting { seconds }.to_numbered_frame(number);
                        let _ = sender.send(OutgoingFrame { frame, active: None });
                    };
                    let response = respond(&shared, &request, peer, &on_wait, gone).await;
                    pending.end(number);
                    let outgoing = |response: Response| OutgoingFrame {
                        frame: response.to_numbered_frame(number),
                        active: Some(active),
                    };
                    (response.map(outgoing), sender)
                });
                if inline.is_none() {
                    inline = Some(message);
                } else {
                    tokio::spawn(async move {
                        if let (Some(outgoing), sender) = message.await {
                            let _ = sender.send(outgoing);
                        }
                    });
                }
            }
            (Ok(NumberedRequest::Gone { number }), _) => pending.end(number),
            // The other side has closed the connection or violates the protocol.
            (Err(()), _) | (Ok(NumberedRequest::Hook { .. }), None) => {
                pending.clear();
                sender = None;
            }
        }
    }
}

/// Returns the response of the message that the connection's task itself processes. If processing panics, this message gets no
/// response, but other messages continue. The same would happen if a separate task processed the message.
async fn poll_inline(message: &mut Option<MessageFuture>) -> Option<OutgoingFrame> {
    let Some(message) = message else { return std::future::pending().await };
    let polled = poll_fn(|context| {
        let poll = || message.as_mut().poll(context);
        catch_unwind(AssertUnwindSafe(poll)).map_or(Poll::Ready(None), |polled| polled.map(|(outgoing, _)| outgoing))
    });
    polled.await
}

/// Cancels all messages of a connection when it is dropped.
struct CancelOnDrop<'a>(&'a PendingMessages);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.clear();
    }
}

/// The pending messages of one connection, by their numbers. Removing a message cancels it.
#[derive(Clone, Default)]
struct PendingMessages(Arc<Mutex<PendingState>>);

#[derive(Default)]
struct PendingState {
    /// The cancel handle and the length of each message.
    by_number: HashMap<u64, (oneshot::Sender<()>, usize)>,
    bytes: usize,
}

impl PendingMessages {
    /// Adds a message of this length. The returned future ends when the sender no longer waits. Returns `None` if too many messages
    /// are pending, or if the number is already in use.
    fn begin(&self, number: u64, length: usize) -> Option<impl Future<Output = ()> + use<>> {
        let mut all = self.all();
        let has_room = all.by_number.is_empty() || all.bytes.saturating_add(length) <= MAX_PENDING_BYTES;
        if !has_room || all.by_number.len() >= MAX_PENDING || all.by_number.contains_key(&number) {
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
        *self.all() = PendingState::default();
    }

    fn all(&self) -> MutexGuard<'_, PendingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A frame to the other side.
struct OutgoingFrame {
    frame: Vec<u8>,
    /// The guard of the message that this frame answers. The message is counted as active until the frame is written.
    active: Option<ActiveGuard>,
}

/// The write half of a kept connection, with its buffer.
struct Output {
    stream: OwnedWriteHalf,
    /// Encoded frames, in order.
    bytes: Vec<u8>,
    /// Number of bytes at the beginning of `bytes` that are already written.
    written: usize,
    /// The guards of the messages that these frames answer.
    active: Vec<ActiveGuard>,
}

impl Output {
    /// Returns the number of bytes that are not written yet.
    fn unread(&self) -> usize {
        self.bytes.len() - self.written
    }

    fn add(&mut self, outgoing: OutgoingFrame) {
        self.bytes.extend(outgoing.frame);
        self.active.extend(outgoing.active);
    }

    /// Writes as many bytes as the other side accepts. Cancel-safe.
    async fn write(&mut self) -> io::Result<()> {
        let written = self.stream.write(&self.bytes[self.written..]).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.written += written;
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(MAX_KEPT_CAPACITY);
            self.written = 0;
            self.active.clear();
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
            let mut missing = CHUNK_SIZE;
            if let Some((length, rest)) = self.bytes.split_first_chunk::<4>() {
                let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
                if length > MAX_FRAME {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
                }
                if rest.len() >= length {
                    let after = self.bytes.split_off(4 + length);
                    // The long part stays in its buffer, which avoids a second copy of a long message.
                    let mut body = std::mem::replace(&mut self.bytes, after);
                    body.drain(..4);
                    return Ok(body);
                }
                // The buffer at most doubles with each read, so that a frame with a false length cannot reserve much memory.
                missing = (length - rest.len()).min(self.bytes.len()).max(CHUNK_SIZE);
            }
            self.bytes.reserve(missing);
            if self.stream.read_buf(&mut self.bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Processes a message and returns the response. If `gone` is ready first, drops the event and returns `None`.
async fn respond(
    shared: &HostState,
    request: &HookRequest,
    peer: Peer,
    on_wait: WaitCallback<'_>,
    gone: impl Future<Output = ()>,
) -> Option<Response> {
    let HookRequest { agent, point, directory, variables, message } = request;
    let Some(adapter) = proxy(agent).or_else(|| by_name(agent)) else {
        let why = format!("the resident host knows no agent {agent:?}: the host and the hook have different versions");
        return Some(Response::Refused(why));
    };
    if is_elsewhere(variables, &shared.directories) {
        let why = "the resident host was started with other directories for hookhost's files";
        return Some(Response::Refused(why.to_owned()));
    }
    let mut sent = Message::new(message, directory);
    sent.point = (!point.is_empty()).then_some(point.as_str());
    sent.variables = variables;
    sent.process = peer.process;
    sent.is_sandboxed = shared.supervisors.confine(peer);
    tokio::select! {
        biased;
        reply = shared.settler.reply(adapter, &sent, on_wait) => Some(Response::Reply(reply)),
        () = gone => None,
    }
}

/// Returns true if a hook's environment and the environment of this process name different directories. In this case, this process
/// would use other settings than the hook.
fn is_elsewhere(variables: &[(String, String)], own: &[(String, String)]) -> bool {
    let as_paths = |(name, value): &(String, String)| (name.clone(), PathBuf::from(value));
    let theirs = variables.iter().filter(|(name, _)| DIRECTORY_VARIABLES.contains(&name.as_str()));
    !theirs.map(as_paths).eq(own.iter().map(as_paths))
}

async fn send(stream: &mut OwnedWriteHalf, response: &Response) -> io::Result<()> {
    stream.write_all(&response.to_frame()).await?;
    stream.flush().await
}

#[cfg(test)]
mod tests {
    use super::{MAX_PENDING_BYTES, PendingMessages, may_open};
    use hookhost_client::frame::LinkPurpose;
    use std::process::Command;

    #[test]
    fn pending_messages_have_a_bound_in_bytes() {
        let pending = PendingMessages::default();
        let large = MAX_PENDING_BYTES / 2 + 1;
        assert!(pending.begin(1, large).is_some());
        assert!(pending.begin(2, large).is_none());
        pending.end(1);
        assert!(pending.begin(2, large).is_some() && pending.begin(3, 1).is_some());
        pending.clear();
        // If no other message is pending, a message of any size is accepted.
        assert!(pending.begin(4, 2 * MAX_PENDING_BYTES).is_some());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_a_terminal_outside_an_agent_registers_the_first_passkey() {
        // `setsid` takes the terminal away, if this test has one.
        let mut child = Command::new("setsid").args(["sleep", "60"]).env("GOOSE_TERMINAL", "1").spawn().unwrap();
        let asks = |process, purpose| may_open(process, purpose).err().unwrap_or_default();
        let refusals = (0..1000).map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            asks(Some(child.id()), LinkPurpose::Passkeys)
        });
        let refused = refusals.into_iter().find(|why| why.contains("inside goose"));
        let view = asks(Some(child.id()), LinkPurpose::View);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(refused.is_some_and(|why| why.contains("Run hookhost passkey add in a terminal")));
        assert_eq!(view, "");
        assert!(asks(None, LinkPurpose::Passkeys).contains("in another container"));
    }
}
