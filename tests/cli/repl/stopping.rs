//! Ctrl-C, once and twice, and what else ends a conversation.

use super::{runs, says, scripted, talk_with, texts};
use crate::pty::Session;
use hookhost_tests::User;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(60);

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < TIMEOUT, "{what} did not happen");
        sleep(Duration::from_millis(10));
    }
}

/// A user whose agent waits in a tool for longer than any test, and then says something.
fn waiting() -> User {
    scripted(&[&runs("echo $$ > pid; touch started; sleep 3600"), &says("Well.")])
}

/// Begins to talk with an agent whose tools have the process numbers that the test sees.
fn talk(user: &User) -> Session {
    talk_with(user, &["--no-sandbox"])
}

#[track_caller]
fn interrupt(session: &Session) {
    kill_process(Pid::from_child(&session.child), Signal::INT).unwrap();
}

/// Whether the process whose id the file holds still does anything.
fn tool_runs(user: &User) -> bool {
    let pid = std::fs::read_to_string(user.project().join("pid")).unwrap();
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid.trim()]).output().unwrap();
    let state = String::from_utf8(state.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

#[test]
fn ctrl_c_stops_what_runs_and_the_talk_continues() {
    let user = waiting();
    let mut session = talk(&user);
    session.says("wait");
    wait_for("the tool's start", || user.project().join("started").exists());
    interrupt(&session);
    session.looks_like("stopped: what ran was ended, and the session continues");
    wait_for("the tool's end", || !tool_runs(&user));
    session.says("on");
    session.sees("Well.");
    session.says("/quit");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    let sessions = user.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!(texts(&sessions[0]), ["wait", "", "aborted: the run was cancelled", "on", "Well."]);
    assert_eq!(sessions[0]["status"], "success");
}

/// Typed at a terminal that is the process's own, Ctrl-C is what a person types.
#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_as_it_is_typed_stops_what_runs() {
    let user = waiting();
    let command = user.command([""; 0]);
    let mut own = Command::new("setsid");
    own.arg("--ctty").arg(hookhost_tests::hookhost()).args(["--script", "script.toml"]).current_dir(user.project());
    own.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "xterm");
    let mut session = Session::start(&mut own);
    session.says("wait");
    wait_for("the tool's start", || user.project().join("started").exists());
    session.looks_like(" bash 1 s, ");
    session.types("\u{3}");
    session.looks_like("\nstopped: what ran was ended, and the session continues");
    session.says("on");
    session.sees("Well.");
    session.is_asked();
    session.types("half a line\u{3}");
    session.looks_like("Ctrl-C once more leaves, and so does Ctrl-D");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn ctrl_c_twice_in_a_turn_leaves_a_session_that_can_be_continued() {
    let user = waiting();
    // What keeps the turn from ending in order: a plugin that takes an hour over its end.
    let slow = serde_json::json!({ "task-complete": { "misbehave": "sleep" } });
    let entry = hookhost_tests::Entry::all_events("slow", slow);
    user.configure(&entry.limits("deadline = \"1h\"\n").keys("events = [\"task-complete\"]").to_toml());
    let mut session = talk(&user);
    session.says("wait");
    wait_for("the tool's start", || user.project().join("started").exists());
    interrupt(&session);
    wait_for("the tool's end", || !tool_runs(&user));
    interrupt(&session);
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen}");
    user.configure("");
    let id = user.sessions()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(user.sessions()[0]["status"], Value::Null);
    user.write("script.toml", "[[turn]]\ntext = \"On again.\"\n");
    let mut session = talk_with(&user, &["--session", &id]);
    session.says("on");
    session.sees("On again.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(texts(&user.sessions()[0]), ["wait", "", "aborted: the run was cancelled", "on", "On again."]);
}

#[test]
fn ctrl_c_gives_a_line_up_and_twice_it_leaves() {
    let user = scripted(&[&says("One.")]);
    let mut session = talk(&user);
    session.says("hi");
    session.sees("One.");
    session.is_asked();
    session.types("never sent\u{3}");
    session.looks_like("Ctrl-C once more leaves, and so does Ctrl-D");
    // Something else between them: it is the first one again.
    session.says("/model");
    session.is_asked();
    session.types("\u{3}");
    session.is_asked();
    session.types("\u{3}");
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen}");
    let sessions = user.sessions();
    assert_eq!(texts(&sessions[0]), ["hi", "One."]);
    assert_eq!(sessions[0]["status"], "success", "it was ended in order");
    let records = user.records();
    assert_eq!(records.last().unwrap()["kind"], "session-ended", "{records:#?}");
}

#[test]
fn ctrl_c_at_a_question_is_a_no_and_what_is_typed_next_is_a_prompt() {
    let user = scripted(&[&runs("touch made"), &says("Well.")]);
    user.configure("[[rule]]\nid = \"ask\"\non = \"shell\"\nask = \"Run this?\"\n");
    let mut session = talk(&user);
    session.says("go");
    session.sees("Continue? Press ");
    interrupt(&session);
    session.looks_like("no longer asked: the answer is no");
    session.says("yes");
    session.sees("Well.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert!(!user.project().join("made").exists());
    let sessions = user.sessions();
    let prompts = sessions[0]["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
    assert_eq!(prompts.map(|message| &message["text"]).collect::<Vec<_>>(), ["go", "yes"]);
}

#[test]
fn on_a_terminal_that_cannot_edit_lines_ctrl_c_twice_leaves_too() {
    let user = scripted(&[&says("never")]);
    let mut session = Session::start(user.command(["--script", "script.toml"]).env("TERM", "dumb"));
    session.sees("> ");
    interrupt(&session);
    session.sees("Ctrl-C once more leaves, and so does Ctrl-D");
    interrupt(&session);
    assert_eq!(session.end().0, Some(130));
}

#[test]
fn a_request_to_terminate_ends_the_session_in_order_and_gives_the_terminal_back() {
    for signal in [Signal::TERM, Signal::HUP] {
        let user = scripted(&[&says("One.")]);
        let mut session = talk(&user);
        let modes = session.modes_before;
        session.says("hi");
        session.sees("One.");
        session.is_asked();
        session.types("half a li");
        session.looks_like("> half a li");
        assert_ne!(session.modes(), modes, "a line is edited");
        kill_process(Pid::from_child(&session.child), signal).unwrap();
        wait_for("its end", || session.child.try_wait().unwrap().is_some());
        assert_eq!(session.modes(), modes);
        let (code, screen) = session.end();
        assert_eq!(code, Some(130), "{screen}");
        let last = |text: &str| screen.rfind(text).unwrap();
        assert!(last("\u{1b}[?2004h") < last("\u{1b}[?2004l"), "{screen:?}");
        assert_eq!(user.sessions()[0]["status"], "success");
    }
}

#[test]
fn a_request_to_terminate_in_a_turn_stops_what_runs_and_leaves() {
    let user = waiting();
    let mut session = talk(&user);
    session.says("wait");
    wait_for("the tool's start", || user.project().join("started").exists());
    kill_process(Pid::from_child(&session.child), Signal::TERM).unwrap();
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen}");
    wait_for("the tool's end", || !tool_runs(&user));
    assert_eq!(user.sessions()[0]["status"], "cancelled");
    assert_eq!(user.records().last().unwrap()["kind"], "session-ended");
}
