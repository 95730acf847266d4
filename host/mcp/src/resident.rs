//! Asking the resident host, which settles the events of all proxies. Where none is there, one is started.

use hookhost_adapters::mcp_proxy::{Event, NAME, Settled};
use hookhost_hook::connection::{self, ConnectionError, Deadline};
use hookhost_hook::frame::{FrameError, HookRequest, MAX_FRAME, Request, Response};
use hookhost_hook::place::{self, Place};
use hookhost_hook::start;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout_at};

/// How long an event may take about which no person is asked.
const WITHIN: Duration = Duration::from_secs(10);

/// How long a connection may take that somebody accepts: others wait for this thread meanwhile.
const AT_ONCE: Duration = Duration::from_millis(50);

/// How long an answer may take on its way after a person's time is over.
const FOR_THE_ANSWER: Duration = Duration::from_secs(5);

/// The interval at which it is looked whether a resident host that was started is there.
const INTERVAL: Duration = Duration::from_millis(20);

/// Told for how many seconds a person is waited for.
pub type Waits<'a> = &'a (dyn Fn(u32) + Send + Sync);

/// Where the user's resident host is reached.
#[derive(Clone, Debug)]
pub struct Resident {
    place: Place,
    program: PathBuf,
}

impl Resident {
    /// The one at this place; `program` is `hookhost`, which starts it.
    #[must_use]
    pub fn new(place: Place, program: PathBuf) -> Self {
        Self { place, program }
    }

    /// Has an event settled. Where that is not possible, what comes is [`Settled::Failed`] and says why.
    pub async fn settle(&self, event: &Event, waits: Waits<'_>) -> Settled {
        let failed = |why: String| Settled::Failed { why };
        let message = match serde_json::to_vec(event) {
            Ok(message) => message,
            Err(error) => return failed(format!("the event cannot be written: {error}")),
        };
        let request = HookRequest {
            agent: NAME.to_owned(),
            point: String::new(),
            directory: event.cwd.clone(),
            // It settles only what belongs to its own settings.
            variables: place::directories(),
            message,
        };
        let frame = Request::Hook(request).to_frame();
        // The other side closes the connection on a longer one.
        if frame.len() > MAX_FRAME {
            return failed(format!("it has more than {MAX_FRAME} bytes"));
        }
        match self.ask(&frame, waits).await {
            Ok(Response::Reply { stdout, .. }) => serde_json::from_slice(&stdout)
                .unwrap_or_else(|error| failed(format!("the resident host's reply cannot be read: {error}"))),
            Ok(Response::Refused(why)) => failed(why),
            Ok(_) => failed("the resident host answered another question".to_owned()),
            Err(error) => failed(error.to_string()),
        }
    }

    async fn ask(&self, frame: &[u8], waits: Waits<'_>) -> Result<Response, ConnectionError> {
        let deadline = Instant::now() + WITHIN;
        loop {
            let stream = self.connect(deadline).await?;
            match converse(stream, frame, deadline, waits).await {
                // One that ended meanwhile has perhaps recorded the event. It is settled once more: never is it left unsettled.
                Err(ConnectionError::Closed) if Instant::now() < deadline => sleep(INTERVAL).await,
                answered => return answered,
            }
        }
    }

    /// Connects to the resident host, which is started where nobody is there.
    async fn connect(&self, deadline: Instant) -> Result<UnixStream, ConnectionError> {
        let mut starting = None;
        loop {
            let error = match connection::open(&self.place, Deadline::within(AT_ONCE, None)) {
                Ok(stream) => return Ok(UnixStream::from_std(stream)?),
                Err(error) => error,
            };
            let is_there = match &error {
                ConnectionError::NotThere(_) => false,
                // Too many ask at once.
                ConnectionError::TooLate(_) => true,
                _ => return Err(error),
            };
            if Instant::now() >= deadline {
                return Err(error);
            }
            if !is_there && starting.is_none() {
                starting = start::resident_host(&self.program, &self.place)?;
            }
            sleep(INTERVAL).await;
        }
    }
}

async fn converse(
    mut stream: UnixStream,
    frame: &[u8],
    mut deadline: Instant,
    waits: Waits<'_>,
) -> Result<Response, ConnectionError> {
    let too_late = |_| ConnectionError::TooLate(WITHIN);
    timeout_at(deadline, stream.write_all(frame)).await.map_err(too_late)?.map_err(closed)?;
    loop {
        match timeout_at(deadline, receive(&mut stream)).await.map_err(too_late)?? {
            Response::Waiting { seconds } => {
                waits(seconds);
                deadline = Instant::now() + Duration::from_secs(u64::from(seconds)) + FOR_THE_ANSWER;
            }
            response => return Ok(response),
        }
    }
}

async fn receive(stream: &mut UnixStream) -> Result<Response, ConnectionError> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.map_err(closed)?;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_FRAME {
        return Err(FrameError::Garbage.into());
    }
    // Not at once: a length that lies reserves nothing.
    let mut body = Vec::new();
    stream.take(length as u64).read_to_end(&mut body).await.map_err(closed)?;
    if body.len() < length { Err(ConnectionError::Closed) } else { Ok(Response::from_body(&body)?) }
}

/// The other side has gone.
fn closed(error: std::io::Error) -> ConnectionError {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionReset | UnexpectedEof => ConnectionError::Closed,
        _ => ConnectionError::Io(error),
    }
}
