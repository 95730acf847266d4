//! The hook: takes one message of an agent and always returns a reply, even if the resident host fails meanwhile.

use crate::connection::{CONNECT_TIMEOUT, Connection, ConnectionError, Deadline, SILENCE_TIMEOUT};
use crate::frame::{FrameError, HookRequest, Request, Response};
use crate::paths::{self, HostPaths};
use crate::start::{self, StartingHost};
use crate::unanswered_calls::UnansweredCall;
use hookhost_agents::directories::{Contradiction, Directories};
use hookhost_agents::json::MAX_BYTES;
use hookhost_agents::message::VARIABLES;
use hookhost_agents::plan::OnFailure;
use hookhost_agents::{Adapter, Message, Reply, detect, reason};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Time limit of a call, unless the agent waits for less time or the resident host says that this call takes long.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time before the end of the agent's wait that is reserved for the reply. Less is reserved for agents that wait for a short time.
pub const MAX_REPLY_TIME: Duration = Duration::from_secs(15);

/// Time that a resident host may take to listen after a hook or a proxy has started it. This time does not count towards the event's
/// deadline.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Poll intervals while a resident host starts: the first and the longest one. Each interval is twice the one before.
const START_INTERVALS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];

/// Maximum number of resident hosts that are started for one event, each after the one before has died.
pub(crate) const MAX_HOSTS: u32 = 3;

/// A hook, configured by its command line.
pub struct Hook<'a> {
    /// The agent that the command line names.
    pub adapter: &'static Adapter,
    /// The hook point that the command line names.
    pub point: Option<&'a str>,
    /// The reply if no resident host answers.
    pub on_failure: OnFailure,
    /// The directories that the command line fixes.
    pub fixed: Directories,
    /// Set when the process is asked to end.
    pub interrupted: &'a AtomicBool,
}

/// The reply of a hook, and the record to write once the agent has the reply.
#[derive(Debug)]
pub struct HookReply {
    /// The reply.
    pub reply: Reply,
    /// The call, if no resident host answered it.
    pub unanswered: Option<UnansweredCall>,
}

impl Hook<'_> {
    /// Reads the message and returns the reply.
    pub fn run(&self, mut input: impl Read + AsFd) -> HookReply {
        let deadline = Deadline::within(self.call_timeout(), Some(self.interrupted));
        let directory = std::env::current_dir().unwrap_or_default();
        // One byte above the limit, so that a message that is too long is recognised as such.
        let message = match deadline.read_json(&mut input, MAX_BYTES + 1) {
            Ok(message) => message,
            Err(error) => {
                return self.unanswered(&[], &directory, &format!("the agent's message did not come: {error}"));
            }
        };
        if let Some(contradiction) = self.fixed.contradiction(&|name| std::env::var_os(name)) {
            let why = self.contradicted(&contradiction);
            // A program that can set the environment must not get the call allowed.
            return Self { on_failure: OnFailure::Deny, fixed: self.fixed.clone(), ..*self }
                .unanswered(&message, &directory, &why);
        }
        let agent_variables = VARIABLES.iter().filter_map(|&name| Some((name.to_owned(), std::env::var(name).ok()?)));
        let request = HookRequest {
            agent: self.adapter.agent().name.to_owned(),
            point: self.point.unwrap_or_default().to_owned(),
            directory: directory.clone(),
            variables: agent_variables.chain(self.directories().variables()).collect(),
            message,
        };
        let response = self.ask(&request, deadline);
        match response {
            Ok(Response::Reply { exit, stdout, stderr }) => {
                match (String::from_utf8(stdout), String::from_utf8(stderr)) {
                    (Ok(stdout), Ok(stderr)) => {
                        let mut reply = Reply::empty();
                        (reply.exit, reply.stdout, reply.stderr) = (exit, stdout, stderr);
                        HookReply { reply, unanswered: None }
                    }
                    _ => self.unanswered(&request.message, &directory, "the reply is not UTF-8"),
                }
            }
            Ok(Response::Refused(why)) => self.unanswered(&request.message, &directory, &why),
            Ok(_) => self.unanswered(&request.message, &directory, "the resident host answered another question"),
            Err(error) => self.unanswered(&request.message, &directory, &error.to_string()),
        }
    }

    /// Returns the directories of hookhost's files. Those of the command line take precedence over those of the environment.
    fn directories(&self) -> Directories {
        self.fixed.clone().or(paths::directories())
    }

    /// Returns the paths of the resident host, or `None` if no state directory is known.
    #[must_use]
    pub fn paths(&self) -> Option<HostPaths> {
        self.directories().state.map(|state| HostPaths::below(&state))
    }

    fn contradicted(&self, Contradiction { variable, leads_to, fixed, .. }: &Contradiction) -> String {
        format!(
            "the variable {variable} leads hookhost to {}, and this hook is installed for {}: unset it, or run `hookhost install {}` \
             where it is set",
            leads_to.display(),
            fixed.display(),
            self.adapter.agent().name
        )
    }

    /// Returns the time limit of a call about which no person is asked.
    fn call_timeout(&self) -> Duration {
        CALL_TIMEOUT.min(self.agent_timeout())
    }

    /// Returns the maximum time for this call: 70 % of the time that the agent waits.
    fn agent_timeout(&self) -> Duration {
        let point = self.point.and_then(|point| self.adapter.agent().point(point));
        point.map_or(CALL_TIMEOUT, |point| Duration::from_secs(u64::from(point.timeout))).mul_f32(0.7)
    }

    /// Returns the time after which the agent gets a denial although a person is still asked. It waits no longer than this for a reply.
    fn reply_timeout(&self) -> Duration {
        let agent = self.adapter.agent();
        let seconds = match self.point.and_then(|point| agent.point(point)) {
            Some(point) => point.timeout,
            // The message names the point.
            None => agent.points.iter().map(|point| point.timeout).max().unwrap_or_default(),
        };
        let timeout = Duration::from_secs(seconds.into());
        timeout - MAX_REPLY_TIME.min(timeout / 4) / 2
    }

    /// Has the resident host settle the message, and starts a host if none runs. If the host dies meanwhile, the next one gets the
    /// same message. The store knows the calls that are already settled.
    fn ask(&self, request: &HookRequest, mut deadline: Deadline<'_>) -> Result<Response, ConnectionError> {
        let began = Instant::now();
        let Some(paths) = self.paths() else {
            return Err(io::Error::other("no directory for it is known: set HOME or HOOKHOST_STATE_DIR").into());
        };
        let reply = Deadline::within(self.reply_timeout(), Some(self.interrupted));
        let mut connection = None;
        for started in 0..=MAX_HOSTS {
            match send_event(&paths, connection.take(), request, deadline, reply) {
                Attempt::Answered(answered) => return answered,
                _ if started == MAX_HOSTS => break,
                Attempt::Died => connection = Some(self.connect_to_new_host(&paths, None)?),
                Attempt::Stuck { process } => {
                    start::end_stuck(process, &paths);
                    connection = Some(self.connect_to_new_host(&paths, process)?);
                }
            }
            deadline =
                deadline.restarted(self.call_timeout().min(self.agent_timeout().saturating_sub(began.elapsed())));
        }
        Err(ConnectionError::Closed)
    }

    /// Connects to a resident host that this hook or another one starts. Ignores the process that is `stuck`.
    fn connect_to_new_host(&self, paths: &HostPaths, stuck: Option<u32>) -> Result<Connection, ConnectionError> {
        let deadline = Deadline::within(START_TIMEOUT.min(self.agent_timeout()), Some(self.interrupted));
        let program = start::program()?;
        let [mut interval, longest] = START_INTERVALS;
        let mut host = StartingHost::spawn(&program, &self.fixed, paths)?;
        loop {
            match Connection::open(paths, deadline.at_most(CONNECT_TIMEOUT)) {
                Ok(connection) if stuck.is_none() || connection.process() != stuck => return Ok(connection),
                Ok(_) | Err(ConnectionError::NotThere(_) | ConnectionError::TooLate(_)) => {}
                Err(error) => return Err(error),
            }
            match host.take() {
                None => host = StartingHost::spawn(&program, &self.fixed, paths)?,
                Some(mut starting) => host = if starting.has_yielded()? { None } else { Some(starting) },
            }
            let left = deadline.left().map_err(|error| match error {
                ConnectionError::TooLate(within) => {
                    ConnectionError::NotStarted(format!("it does not listen after {} seconds", within.as_secs()))
                }
                other => other,
            })?;
            std::thread::sleep(interval.min(left));
            interval = longest.min(interval * 2);
        }
    }

    /// Returns the reply to a call that no resident host answered: a denial, unless the operator chose otherwise.
    #[must_use]
    pub fn unanswered(&self, message: &[u8], directory: &Path, why: &str) -> HookReply {
        let mut sent = Message::new(message, directory);
        sent.point = self.point;
        let adapter = detect(self.adapter, &sent);
        let read = adapter.decode(&sent);
        let point = match &read {
            Ok(call) => Some(call.point.clone()),
            Err(unreadable) => unreadable.point.clone().or_else(|| self.point.map(str::to_owned)),
        };
        let name = adapter.agent().name;
        let allows = self.on_failure == OnFailure::Allow;
        let unanswered = UnansweredCall::now(name, point.as_deref().unwrap_or_default(), why, allows);
        let why = reason::not_settled(name, why);
        let reply = match &read {
            _ if allows => adapter.neutral(point.as_deref()),
            Ok(call) => adapter.unsettled(call, &why),
            Err(_) => adapter.fail(point.as_deref(), &why),
        };
        HookReply { reply, unanswered: Some(unanswered) }
    }
}

/// The result of sending an event to one resident host.
enum Attempt {
    Answered(Result<Response, ConnectionError>),
    /// No host runs, or it ended before its answer.
    Died,
    /// The host accepts connections and sends nothing, or speaks another version of the protocol.
    Stuck {
        process: Option<u32>,
    },
}

/// Has the resident host settle a message, over the open connection or a new one.
fn send_event(
    paths: &HostPaths,
    connection: Option<Connection>,
    request: &HookRequest,
    mut deadline: Deadline<'_>,
    reply: Deadline<'_>,
) -> Attempt {
    let reached = deadline.at_most(SILENCE_TIMEOUT);
    let opened = connection.map_or_else(|| Connection::open(paths, reached), Ok);
    let mut connection = match opened {
        Ok(connection) => connection,
        Err(error) => return classify(Err(error), deadline, None),
    };
    let process = connection.process();
    if let Err(error) = connection.send(&Request::Hook(request.clone()), reached) {
        return classify(Err(error), deadline, process);
    }
    loop {
        match connection.receive_at_work(deadline) {
            Ok(Response::Waiting { seconds }) => match reply.left() {
                // A host that took the place of another one gives a person the whole time again.
                Ok(left) => deadline = deadline.extended_by(seconds).at_most(left),
                Err(error) => return Attempt::Answered(Err(error)),
            },
            received => return classify(received, deadline, process),
        }
    }
}

fn classify(received: Result<Response, ConnectionError>, deadline: Deadline<'_>, process: Option<u32>) -> Attempt {
    match received {
        Err(ConnectionError::NotThere(_) | ConnectionError::Closed) => Attempt::Died,
        Err(ConnectionError::Silent { .. } | ConnectionError::Frame(_)) => Attempt::Stuck { process },
        // The event's deadline has not passed, only that of a single step, which a healthy host meets.
        Err(ConnectionError::TooLate(_)) if deadline.left().is_ok() => Attempt::Stuck { process },
        Ok(Response::Refused(why)) if why == FrameError::OtherVersion.to_string() => Attempt::Stuck { process },
        answered => Attempt::Answered(answered),
    }
}

impl std::fmt::Debug for Hook<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hook")
            .field("agent", &self.adapter.agent().name)
            .field("point", &self.point)
            .finish_non_exhaustive()
    }
}
