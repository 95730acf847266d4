//! A person at a terminal: is asked, sees what would happen, and what they answer counts.

#![expect(clippy::unwrap_used, reason = "what a test sets up fails by panicking")]

use hookhost_tests::{Entry, User, plugin};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// A command whose standard streams are a terminal.
struct Session {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Session {
    fn start(command: &mut Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = std::ffi::OsStr::from_bytes(name.to_bytes());
        let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let child = command
            .stdin(terminal.try_clone().unwrap())
            .stdout(terminal.try_clone().unwrap())
            .stderr(terminal)
            .spawn()
            .unwrap();
        // The command holds the terminal's streams until here; while anybody does, the screen does not end.
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let mut reader = File::from(master.try_clone().unwrap());
        let (to, screen) = channel();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                let _ = to.send(piece[..length].to_vec());
            }
        });
        Self { child, keyboard: File::from(master), screen, seen: String::new() }
    }

    /// Reads until this is on the screen.
    #[track_caller]
    fn sees(&mut self, text: &str) {
        while !self.seen.contains(text) {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(piece) => self.seen.push_str(&String::from_utf8_lossy(&piece)),
                Err(_) => panic!("{text:?} did not come: {}", self.seen),
            }
        }
    }

    fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// How it ended, and all that was on the screen.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        while let Ok(piece) = self.screen.recv_timeout(Duration::from_secs(5)) {
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        (code, self.seen.replace("\r\n", "\n"))
    }
}

/// A user whose plugin changes a call and asks about it, and a script that makes one.
fn asked() -> User {
    let user = User::new();
    let config = json!({ "before-tool-call": [
        { "when": { "round": 1, "lacks": "true &&" }, "verdict": "modify", "value": { "command": "true && {command}" } },
    ] });
    let ask = json!({ "before-tool-call": { "verdict": "escalate", "question": "Is {command} right?" } });
    let copy = user.write("asks.wasm", std::fs::read(plugin("all-events")).unwrap());
    let asks = Entry::new("careful", &copy).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(ask);
    let only = "events = [\"before-tool-call\"]";
    user.configure(&format!(
        "{}{}",
        Entry::all_events("changes", config).keys(only).to_toml(),
        asks.keys(only).to_toml()
    ));
    user.write(
        "script.toml",
        "[[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch made\" } }]\n[[turn]]\ntext = \"Bye.\"\n",
    );
    user
}

const RUN: [&str; 4] = ["run", "go", "--script", "script.toml"];

#[test]
fn a_question_shows_the_final_value_what_was_changed_by_whom_and_a_yes_lets_it_run() {
    let user = asked();
    let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
    session.sees("Go on? [y/N] ");
    assert!(!user.project().join("made").exists(), "it ran before anybody answered");
    session.types("y\n");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    for text in [
        "careful asks: Is true && touch made right?\n",
        "  arguments: {\"command\":\"true && touch made\"}\n",
        "changed by changes; it came as\n",
        "  arguments: {\"command\":\"touch made\"}\n",
        "Bye.",
    ] {
        assert!(screen.contains(text), "{text:?} is not in {screen}");
    }
    assert!(user.project().join("made").exists());
}

#[test]
fn anything_but_a_yes_is_a_no() {
    for answer in ["n\n", "\n", "yep\n", "\u{4}"] {
        let user = asked();
        let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
        session.sees("Go on? [y/N] ");
        session.types(answer);
        let (code, screen) = session.end();
        assert_eq!(code, Some(0), "the model goes on with the refusal: {screen}");
        assert!(screen.contains("not approved, asked by careful"), "{screen}");
        assert!(!user.project().join("made").exists());
    }
}

#[test]
fn nobody_is_asked_where_the_answer_is_to_be_no() {
    let user = asked();
    let session = Session::start(user.command(RUN.into_iter().chain(["--approve", "deny"])).env("TERM", "dumb"));
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("Go on?") && screen.contains("nobody is there to answer"), "{screen}");
}

#[test]
fn ctrl_c_at_a_question_ends_the_run_with_130() {
    let user = asked();
    let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
    session.sees("Go on? [y/N] ");
    kill_process(Pid::from_child(&session.child), Signal::INT).unwrap();
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen}");
    assert!(!user.project().join("made").exists());
    assert_eq!(user.transcripts()[0].last().unwrap()["status"], "cancelled");
}

#[test]
fn allow_and_trust_write_after_a_yes_and_nothing_after_a_no() {
    for (answer, code, written) in [("y\n", 0, true), ("n\n", 3, false)] {
        let user = User::new();
        user.write("guard.wasm", std::fs::read(plugin("all-events")).unwrap());
        let allow = ["allow", "guard.wasm", "--grant", "model = { name = \"small\" }"];
        let mut session = Session::start(user.command(allow).env("TERM", "dumb"));
        session.sees("Allow it? [y/N] ");
        assert!(!user.config_file().exists());
        session.types(answer);
        let (ended, screen) = session.end();
        assert_eq!(ended, Some(code), "{screen}");
        assert_eq!(user.config_file().exists(), written);

        user.write("hookhost.toml", "");
        let mut session = Session::start(user.command(["trust"]).env("TERM", "dumb"));
        session.sees("names no plugin");
        session.sees("Approve it? [y/N] ");
        session.types(answer);
        let (ended, screen) = session.end();
        assert_eq!(ended, Some(code), "{screen}");
        assert_eq!(!user.run(["trust", "--list"]).stdout.is_empty(), written);
    }
}

#[test]
fn colour_is_for_terminals_unless_it_is_not_wanted() {
    let user = User::new();
    let screen = |variables: &[(&str, &str)]| {
        let mut command = user.command(["hooks"]);
        let (code, screen) = Session::start(command.envs(variables.iter().copied())).end();
        assert_eq!(code, Some(0));
        screen
    };
    assert!(screen(&[("TERM", "xterm")]).contains('\u{1b}'));
    assert!(!screen(&[("TERM", "xterm"), ("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(!screen(&[("TERM", "dumb")]).contains('\u{1b}'));
    assert!(!user.run(["hooks"]).stdout.contains('\u{1b}'));
}

#[test]
fn without_a_prompt_a_person_is_told_how_to_give_one() {
    let user = User::new();
    let (code, screen) = Session::start(user.command(["run"]).env("TERM", "dumb")).end();
    assert_eq!(code, Some(2));
    assert!(screen.contains("there is nothing to do: give a prompt"), "{screen}");
}
