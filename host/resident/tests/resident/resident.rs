//! Tests of the socket, and of the beginning and the end of the host's process.

use crate::support::{Lab, bash, decision};
use hookhost::contract::{Escalation, Refusal, ToolCall, ToolCallVerdict};
use hookhost::native::Rule;
use hookhost_agents::Reply;
use hookhost_client::connection::{Connection, ConnectionError, Deadline};
use hookhost_client::control;
use hookhost_client::frame::{HookRequest, NumberedRequest, Request, Response};
use hookhost_client::paths::HostPaths;
use hookhost_client::unanswered_calls::UnansweredCall;
use hookhost_resident::{EndReason, ResidentHost};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::{JoinHandle, spawn_blocking};

const LONG: Duration = Duration::from_secs(20);

/// Time in which a responsive host answers. It is shorter than the time for which a hook waits.
const SHORT: Duration = Duration::from_secs(3);

fn rule() -> Rule {
    Rule::new().before_tool_call(|_, call: &ToolCall| match &call.arguments {
        text if text.contains("denied") => Refusal::new("it is denied").into(),
        text if text.contains("asked") => Escalation::new("may it?").into(),
        _ => ToolCallVerdict::Allow,
    })
}

struct Running {
    lab: Lab,
    place: HostPaths,
    ended: JoinHandle<std::io::Result<EndReason>>,
}

impl Running {
    async fn new(idle: Option<Duration>) -> Self {
        let lab = Lab::new(rule()).await;
        let place = HostPaths::below(lab.directory.path());
        let resident = ResidentHost::claim(&place).unwrap().unwrap();
        let settler = Arc::clone(&lab.settler);
        let ended = tokio::spawn(async move { resident.serve(settler, idle, std::future::pending()).await });
        Self { lab, place, ended }
    }

    async fn ask(&self, message: Value) -> Result<Response, ConnectionError> {
        let place = self.place.clone();
        spawn_blocking(move || ask(&place, &message)).await.unwrap()
    }
}

fn ask(place: &HostPaths, message: &Value) -> Result<Response, ConnectionError> {
    let deadline = Deadline::within(LONG, None);
    let mut connection = Connection::open(place, deadline)?;
    connection.send(&request(message), deadline)?;
    loop {
        match connection.receive(deadline)? {
            // The host sends this frame if the machine is busy.
            Response::Waiting { seconds: 0 } => {}
            response => return Ok(response),
        }
    }
}

fn request(message: &Value) -> Request {
    let message = message.to_string().into_bytes();
    Request::Hook(HookRequest {
        agent: "claude-code".into(),
        directory: "/work".into(),
        message,
        variables: hookhost_client::paths::directories().variables(),
        ..HookRequest::default()
    })
}

fn said(response: Response) -> Value {
    let Response::Reply(Reply { exit: 0, stdout, .. }) = response else { panic!("{response:?}") };
    if stdout.is_empty() { Value::Null } else { serde_json::from_str(&stdout).unwrap() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_has_one_resident_host_and_it_ends_when_it_is_told_to() {
    let running = Running::new(None).await;
    assert!(ResidentHost::claim(&running.place).unwrap().is_none());
    let response = running.ask(bash("PreToolUse", "1", "echo denied")).await.unwrap();
    assert_eq!(decision(&said(response)), "deny");
    let place = running.place.clone();
    let status = spawn_blocking(move || control::status(&place, Path::new("/work"), LONG)).await.unwrap().unwrap();
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["rules"]["plugins"][0]["name"], "rule");
    let place = running.place.clone();
    spawn_blocking(move || control::stop(&place, LONG)).await.unwrap().unwrap();
    assert_eq!(running.ended.await.unwrap().unwrap(), EndReason::Stopped);
    assert!(matches!(ask(&running.place, &bash("PreToolUse", "2", "ls")), Err(ConnectionError::NotThere(_))));
    // The lock is released, so another host can start.
    assert!(ResidentHost::claim(&running.place).unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_ends_when_nobody_uses_it_and_when_its_socket_is_gone() {
    let running = Running::new(Some(Duration::from_millis(1))).await;
    assert_eq!(running.ended.await.unwrap().unwrap(), EndReason::Idle);
    assert!(!running.place.socket().exists());
    let running = Running::new(None).await;
    std::fs::remove_file(running.place.socket()).unwrap();
    assert_eq!(running.ended.await.unwrap().unwrap(), EndReason::SocketGone);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_hooks_at_once_over_twenty_sessions_each_get_their_own_answer() {
    let running = Running::new(None).await;
    let asked = (0..200).map(|number| {
        let word = if number % 3 == 0 { "denied" } else { "hello" };
        let mut message = bash("PreToolUse", &number.to_string(), &format!("echo {word}"));
        message["session_id"] = format!("s{}", number % 20).into();
        let place = running.place.clone();
        let answer = spawn_blocking(move || said(ask(&place, &message).unwrap()));
        async move { (number, answer.await.unwrap()) }
    });
    for asked in asked.collect::<Vec<_>>() {
        let (number, answer) = asked.await;
        assert_eq!(decision(&answer) == "deny", number % 3 == 0, "{number}: {answer}");
    }
    assert_eq!(running.lab.events("before-tool-call").len(), 200);
    assert_eq!(running.lab.settler.sessions().count(), 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_a_connection_that_is_kept_each_get_their_own_answer_however_they_are_cut() {
    const MESSAGES: u64 = 60;
    let running = Running::new(None).await;
    let mut bytes = Request::Keep.to_frame();
    for number in 0..MESSAGES {
        let word = if number % 3 == 0 { "denied" } else { "hello" };
        // The last message is far longer than a single read.
        let more = "x".repeat(if number == MESSAGES - 1 { 300_000 } else { 0 });
        let mut message = bash("PreToolUse", &number.to_string(), &format!("echo {word} {more}"));
        message["session_id"] = format!("s{}", number % 4).into();
        let Request::Hook(request) = request(&message) else { panic!("it is a message") };
        bytes.extend(NumberedRequest::Hook { number, request }.to_frame());
    }
    // The last frame is incomplete. It gets no answer, but all other messages are still answered.
    bytes.extend(b"\x10\0\0\0short");
    let socket = running.place.socket();
    let answers = spawn_blocking(move || {
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        let mut input = std::io::BufReader::new(stream.try_clone().unwrap());
        let writer = std::thread::spawn(move || {
            // Most chunks end in the middle of a message, and some in the middle of its length field.
            bytes.chunks(977).for_each(|piece| stream.write_all(piece).unwrap());
            stream
        });
        let responses = std::iter::repeat_with(|| numbered(&mut input));
        let answers = responses.filter(|(_, response)| !matches!(response, Response::Waiting { .. }));
        let answers: Vec<(u64, Value)> = answers.take(60).map(|(number, response)| (number, said(response))).collect();
        writer.join().unwrap().shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(input.read(&mut [0]).unwrap(), 0, "it says no more");
        answers
    });
    let mut answers = answers.await.unwrap();
    answers.sort_by_key(|(number, _)| *number);
    for (expected, (number, answer)) in (0..MESSAGES).zip(&answers) {
        assert_eq!(expected, *number, "each has one answer");
        assert_eq!(decision(answer) == "deny", number % 3 == 0, "{number}: {answer}");
    }
    assert_eq!(running.lab.events("before-tool-call").len(), 60);
}

/// Reads the next response on a kept connection.
fn numbered(input: &mut impl std::io::Read) -> (u64, Response) {
    let mut length = [0; 4];
    input.read_exact(&mut length).unwrap();
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    input.read_exact(&mut body).unwrap();
    Response::from_numbered_body(&body).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_under_way_is_told_so_each_second_on_both_kinds_of_connection() {
    let running = Running::new(None).await;
    let Request::Hook(request) = request(&bash("PreToolUse", "1", "echo asked")) else { panic!("a hook's request") };
    // Claude Code would ask its user itself, so the test uses Codex.
    let request = HookRequest { agent: "codex".into(), ..request };
    let (place, other) = (running.place.clone(), request.clone());
    let hook = spawn_blocking(move || {
        let deadline = Deadline::within(LONG, None);
        let mut connection = Connection::open(&place, deadline).unwrap();
        connection.send(&Request::Hook(other), deadline).unwrap();
        [(); 3].map(|()| connection.receive(deadline).unwrap())
    });
    let socket = running.place.socket();
    let proxy = spawn_blocking(move || {
        let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
        let message = String::from_utf8(request.message.clone()).unwrap().replace("\"1\"", "\"2\"");
        let request = HookRequest { message: message.into_bytes(), ..request };
        stream.write_all(&Request::Keep.to_frame()).unwrap();
        stream.write_all(&NumberedRequest::Hook { number: 7, request }.to_frame()).unwrap();
        [(); 3].map(|()| {
            let (number, response) = numbered(&mut stream);
            assert_eq!(number, 7);
            response
        })
    });
    for responses in [hook.await.unwrap(), proxy.await.unwrap()] {
        let seconds = responses.map(|response| match response {
            Response::Waiting { seconds } => seconds,
            response => panic!("{response:?}"),
        });
        // The first frame announces the wait for a person. After that, a frame is sent each second.
        assert!(seconds[0] > 0 && seconds[1..] == [0, 0], "{seconds:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_another_version_and_a_client_that_vanishes_harm_nobody_else() {
    let running = Running::new(None).await;
    for bytes in [&b"\x04\0\0\0HKH\x09"[..], b"\x05\0\0\0HKH\x01\x77", b"\xff\xff\xff\xff", b"\x10\0\0\0short", b""] {
        let mut stream = std::os::unix::net::UnixStream::connect(running.place.socket()).unwrap();
        stream.write_all(bytes).unwrap();
    }
    let mut gone = std::os::unix::net::UnixStream::connect(running.place.socket()).unwrap();
    gone.write_all(&request(&bash("PreToolUse", "1", "ls")).to_frame()).unwrap();
    drop(gone);
    let response = running.ask(bash("PreToolUse", "2", "echo denied")).await.unwrap();
    assert_eq!(decision(&said(response)), "deny");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_whose_hook_has_gone_is_in_the_log() {
    let running = Running::new(None).await;
    for number in 0..20 {
        let mut gone = std::os::unix::net::UnixStream::connect(running.place.socket()).unwrap();
        gone.write_all(&request(&bash("PreToolUse", &number.to_string(), &format!("echo {number}"))).to_frame())
            .unwrap();
    }
    let is_told = |number: usize, told: &[String]| told.iter().any(|event| event.contains(&format!("echo {number}\"")));
    let deadline = Instant::now() + LONG;
    loop {
        let told: Vec<String> =
            running.lab.events("before-tool-call").iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        let events = (0..20).filter(|&number| is_told(number, &told)).count();
        let gone = running.lab.deliveries().await.iter().filter(|delivery| delivery.note.contains("has gone")).count();
        if events + gone >= 20 {
            break;
        }
        assert!(Instant::now() < deadline, "{events} events and {gone} that had gone");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_whose_environment_names_other_directories_is_not_served_under_the_hosts_own() {
    let running = Running::new(None).await;
    for change in [
        |variables: &mut Vec<(String, String)>| variables.push(("HOOKHOST_CONFIG_DIR".into(), "/elsewhere".into())),
        |variables: &mut Vec<(String, String)>| variables.clear(),
    ] {
        let Request::Hook(mut asked) = request(&bash("PreToolUse", "1", "ls")) else { panic!("a hook's request") };
        change(&mut asked.variables);
        let place = running.place.clone();
        let response = spawn_blocking(move || {
            let deadline = Deadline::within(LONG, None);
            let mut connection = Connection::open(&place, deadline)?;
            connection.send(&Request::Hook(asked), deadline)?;
            connection.receive(deadline)
        });
        let response = response.await.unwrap().unwrap();
        assert!(matches!(&response, Response::Refused(why) if why.contains("other directories")), "{response:?}");
    }
    assert!(running.lab.events("before-tool-call").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_answers_while_the_log_is_locked_and_has_calls_to_record() {
    let running = Running::new(None).await;
    let other = rusqlite::Connection::open(running.lab.directory.path().join("hookhost.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    UnansweredCall::now("claude-code", "PreToolUse", "no resident host answered", false).note(&running.place).unwrap();
    // This time is longer than the interval at which the host looks for such calls, and shorter than the timeout for a locked log.
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        let began = Instant::now();
        let place = running.place.clone();
        let status = spawn_blocking(move || control::status(&place, Path::new("/work"), SHORT)).await.unwrap();
        assert!(status.is_ok(), "{status:?} after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    while running.lab.deliveries().await.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_answered_is_recorded_when_a_resident_host_is_there_again() {
    let directory = tempfile::tempdir().unwrap();
    let place = HostPaths::below(directory.path());
    UnansweredCall::now("claude-code", "PreToolUse", "no resident host answered", false).note(&place).unwrap();
    let lab = Lab::new(rule()).await;
    let resident = ResidentHost::claim(&place).unwrap().unwrap();
    let settler = Arc::clone(&lab.settler);
    let idle = Some(Duration::from_millis(1));
    assert_eq!(resident.serve(settler, idle, std::future::pending()).await.unwrap(), EndReason::Idle);
    let [delivery] = lab.deliveries().await.try_into().unwrap();
    assert!(delivery.note.contains("no resident host answered") && delivery.note.contains("the agent got a denial"));
}
