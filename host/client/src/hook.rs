//! The hook of an agent. The hook reads one message and always returns a reply, even if the resident host fails.

use crate::connection::{Connection, ConnectionError, Deadline, SILENCE_TIMEOUT};
use crate::frame::{FrameError, HookRequest, Request, Response};
use crate::paths::{self, HostPaths};
use crate::start::{self, START_TIMEOUT};
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

/// Time limit of a call. It is shorter if the agent waits for less time, and longer if the resident host announces a long wait.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the part of an agent's waiting time that is reserved for the reply: a quarter of that time, at most 15 seconds.
pub fn reply_reserve(wait: Duration) -> Duration {
    Duration::from_secs(15).min(wait / 4)
}

/// Maximum number of resident hosts that are started for one event. Another host is started only if the previous host has died or does not
/// respond.
pub(crate) const MAX_HOSTS: u32 = 3;

/// A hook, configured by its command line.
#[derive(Debug)]
pub struct Hook<'a> {
    /// The agent that the command line names.
    pub adapter: &'static Adapter,
    /// The hook point that the command line names.
    pub point: Option<&'a str>,
    /// The reply if no resident host answers.
    pub on_failure: OnFailure,
    /// The directories that the command line sets.
    pub fixed: Directories,
    /// A flag that is set when the process is asked to end.
    pub interrupted: &'a AtomicBool,
}

/// The reply of a hook, and the record that is written after the agent has the reply.
#[derive(Debug)]
pub struct HookReply {
    /// The reply.
    pub reply: Reply,
    /// The record of the call, if no resident host answered the call.
    pub unanswered: Option<UnansweredCall>,
}

impl Hook<'_> {
    /// Reads the message and returns the reply.
    pub fn run(&self, mut input: impl Read + AsFd) -> HookReply {
        let deadline = Deadline::within(self.call_timeout(), Some(self.interrupted));
        let directory = std::env::current_dir().unwrap_or_default();
        // Reads one byte more than the limit, because otherwise a message that is too long could not be recognised.
        let message = match deadline.read_json(&mut input, MAX_BYTES + 1) {
            Ok(message) => message,
            Err(error) => {
                return self.unanswered(&[], &directory, &format!("the agent's message did not arrive: {error}"));
            }
        };
        if let Some(contradiction) = self.fixed.contradiction(&|name| std::env::var_os(name)) {
            let why = self.contradicted(&contradiction);
            // The hook denies the call even with `--on-failure=allow`. Otherwise, a program that can set variables could make the hook
            // allow a call.
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
        let why = match self.ask(&request, deadline) {
            Ok(Response::Reply(reply)) => return HookReply { reply, unanswered: None },
            Ok(Response::Refused(why)) => why,
            Ok(_) => "the resident host sent a response of the wrong kind".to_owned(),
            Err(error) => error.to_string(),
        };
        self.unanswered(&request.message, &directory, &why)
    }

    /// Returns the directories of hookhost's files. The command line takes precedence over the environment.
    fn directories(&self) -> Directories {
        self.fixed.clone().or(paths::directories())
    }

    /// Returns the paths of the resident host, or `None` if no state directory is known.
    pub fn paths(&self) -> Option<HostPaths> {
        self.directories().state.map(|state| HostPaths::below(&state))
    }

    fn contradicted(&self, Contradiction { variable, leads_to, fixed, .. }: &Contradiction) -> String {
        format!(
            "the variable {variable} leads hookhost to {}, but this hook is installed for {}: unset it, or run `hookhost install {}` \
             where it is set",
            leads_to.display(),
            fixed.display(),
            self.adapter.agent().name
        )
    }

    /// Returns the time limit of a call for which no person is asked.
    fn call_timeout(&self) -> Duration {
        CALL_TIMEOUT.min(self.agent_timeout())
    }

    /// Returns the maximum time for this call: 70 % of the time that the agent waits.
    fn agent_timeout(&self) -> Duration {
        let point = self.point.and_then(|point| self.adapter.agent().point(point));
        point.map_or(CALL_TIMEOUT, |point| Duration::from_secs(u64::from(point.timeout))).mul_f32(0.7)
    }

    /// Returns the time after which the agent gets a denial even if a person is still being asked. This time is a little shorter than the
    /// agent's timeout, so that the agent gets the denial in time.
    fn reply_timeout(&self) -> Duration {
        let agent = self.adapter.agent();
        let seconds = match self.point.and_then(|point| agent.point(point)) {
            Some(point) => point.timeout,
            // The command line does not name a known hook point, and this time is needed before the message is decoded. So the result is
            // based on the longest timeout of all hook points.
            None => agent.points.iter().map(|point| point.timeout).max().unwrap_or_default(),
        };
        let timeout = Duration::from_secs(seconds.into());
        timeout - reply_reserve(timeout) / 2
    }

    /// Sends the message to the resident host, and starts a host if none runs. If the host dies before it answers, starts another host and
    /// sends the same message to that host. The new host reads the outcomes of earlier calls from the store.
    fn ask(&self, request: &HookRequest, mut deadline: Deadline<'_>) -> Result<Response, ConnectionError> {
        let began = Instant::now();
        let Some(paths) = self.paths() else {
            return Err(io::Error::other("no directory for it is known: set HOME or HOOKHOST_STATE_DIR").into());
        };
        let reply = Deadline::within(self.reply_timeout(), Some(self.interrupted));
        let (mut connection, mut log_length) = (None, None);
        for started in 0..=MAX_HOSTS {
            match send_event(&paths, connection.take(), request, deadline, reply) {
                Attempt::Answered(answered) => return answered,
                _ if started == MAX_HOSTS => break,
                Attempt::Died => {
                    log_length.get_or_insert_with(|| start::log_length(&paths));
                    connection = Some(self.connect_to_new_host(&paths, None)?);
                }
                Attempt::Stuck { process } => {
                    start::end_stuck(process, &paths);
                    connection = Some(self.connect_to_new_host(&paths, process)?);
                }
            }
            deadline =
                deadline.restarted(self.call_timeout().min(self.agent_timeout().saturating_sub(began.elapsed())));
        }
        // A host listens before it opens its log, so a host that cannot start may have accepted the connection.
        let error = log_length.and_then(|length| start::last_error(&paths.log(), length));
        Err(error.map_or(ConnectionError::Closed, ConnectionError::NotStarted))
    }

    /// Connects to a resident host that this hook or another process starts. Ignores the process `stuck`, which does not respond.
    fn connect_to_new_host(&self, paths: &HostPaths, stuck: Option<u32>) -> Result<Connection, ConnectionError> {
        let deadline = Deadline::within(START_TIMEOUT.min(self.agent_timeout()), Some(self.interrupted));
        start::connect(&start::program()?, &self.fixed, paths, stuck, deadline).map(Connection::from)
    }

    /// Returns the reply to a call that no resident host answered. The reply is a denial, unless the operator chose to allow such calls.
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

/// The result of sending a message to one resident host.
enum Attempt {
    Answered(Result<Response, ConnectionError>),
    /// No host runs, or the host ended before its answer.
    Died,
    /// The host accepts connections but sends nothing, or it uses another version of the protocol.
    Stuck {
        process: Option<u32>,
    },
}

/// Sends a message to the resident host, over the open connection or a new connection.
fn send_event<'a>(
    paths: &HostPaths,
    connection: Option<Connection>,
    request: &HookRequest,
    mut deadline: Deadline<'a>,
    reply: Deadline<'a>,
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
            // A host that replaced another host gives the person the full time again. The agent does not extend its own timeout, so
            // the deadline `reply` still applies.
            Ok(Response::Waiting { seconds }) => deadline = deadline.extended_by(seconds).earlier(reply),
            received => return classify(received, deadline, process),
        }
    }
}

fn classify(received: Result<Response, ConnectionError>, deadline: Deadline<'_>, process: Option<u32>) -> Attempt {
    match received {
        Err(ConnectionError::NotThere(_) | ConnectionError::Closed) => Attempt::Died,
        Err(ConnectionError::Silent { .. } | ConnectionError::Frame(_)) => Attempt::Stuck { process },
        // Only the deadline of a single step has passed, not the event's deadline. A healthy host completes each step in time, so this host
        // is stuck.
        Err(ConnectionError::TooLate(_)) if deadline.left().is_ok() => Attempt::Stuck { process },
        Ok(Response::Refused(why)) if why == FrameError::OtherVersion.to_string() => Attempt::Stuck { process },
        answered => Attempt::Answered(answered),
    }
}

#[cfg(test)]
mod tests {
    use super::{Deadline, Directories, Hook, HookRequest, OnFailure};
    use crate::connection::ConnectionError;
    use crate::frame::Response;
    use hookhost_agents::by_name;
    use serde_json::json;
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    #[test]
    fn a_reply_that_never_comes_is_a_denial_before_the_agent_stops_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let fixed = Directories { state: Some(directory.path().to_owned()), ..Directories::default() };
        let interrupted = AtomicBool::new(false);
        let adapter = by_name("claude-code").unwrap();
        // The agent waits for one second at this point.
        let point = Some("SessionEnd");
        let hook = Hook { adapter, point, on_failure: OnFailure::Deny, fixed, interrupted: &interrupted };
        std::fs::create_dir(directory.path().join("run")).unwrap();
        let listener = UnixListener::bind(hook.paths().unwrap().socket()).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // A person is asked, and never answers.
            while stream.write_all(&Response::Waiting { seconds: 600 }.to_frame()).is_ok() {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let message = json!({
            "session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": "ls" },
        });
        let request = HookRequest { message: message.to_string().into_bytes(), ..HookRequest::default() };
        let began = Instant::now();
        let answered = hook.ask(&request, Deadline::within(hook.call_timeout(), None));
        let too_late = matches!(answered, Err(ConnectionError::TooLate(within)) if within == hook.reply_timeout());
        assert!(too_late, "{answered:?}");
        assert!(began.elapsed() >= hook.call_timeout() && began.elapsed() < Duration::from_secs(1));
        let denied = hook.unanswered(&request.message, directory.path(), "too late");
        assert!(adapter.denies("PreToolUse", &denied.reply) && denied.unanswered.is_some());
    }
}
