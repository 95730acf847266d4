//! Ctrl-C: what runs dies, the session is whole, and the exit code is 130.

use hookhost_tests::{Entry, User};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A time for `sleep` that is longer than any test, and that no other process has on its command line.
struct Hour(String);

impl Hour {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self(format!("3600.{}{:04}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// Whether a process with it on its command line still does anything.
    fn runs(&self) -> bool {
        let lines = Command::new("ps").args(["-ww", "-eo", "stat=,args="]).output().unwrap();
        let lines = String::from_utf8_lossy(&lines.stdout).into_owned();
        lines.lines().any(|line| line.contains(&self.0) && !line.starts_with('Z'))
    }
}

/// A script with one command that begins children and then waits for longer than any test, and beside it a call that
/// waits for its turn, since it writes.
fn waiting_script(user: &User) -> Hour {
    let hour = Hour::new();
    let command = format!("sleep {0} & touch started; sleep {0}", hour.0);
    let text = format!(
        "[[turn]]\ntext = \"I wait.\\n\"\ncall = [{{ tool = \"bash\", arguments = {{ command = \"{command}\" }} }}, {{ tool = \"write_file\", arguments = {{ path = \"second\", content = \"2\" }} }}]\n[[turn]]\ntext = \"Never said.\"\n"
    );
    user.write("script.toml", text);
    hour
}

fn start(user: &User) -> Child {
    let mut command = user.command(["run", "go", "--script", "script.toml"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < TIMEOUT, "{what} did not happen");
        sleep(Duration::from_millis(10));
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[track_caller]
fn interrupted_by(signal: Signal) {
    let user = User::new();
    let hour = waiting_script(&user);
    let child = start(&user);
    let project = user.project();
    wait_for("the command's start", || project.join("started").exists());
    assert!(hour.runs());
    send(&child, signal);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "I wait.\n");
    wait_for("the end of the children", || !hour.runs());
    assert!(!project.join("second").exists(), "a further call ran");

    let sessions = user.sessions();
    let [session] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    let lines = session["messages"].as_array().unwrap();
    let calls: Vec<_> =
        lines.iter().filter_map(|line| line["tool-calls"].as_array()).flatten().map(|call| &call["id"]).collect();
    let results: Vec<_> = lines.iter().filter(|line| line["role"] == "tool").collect();
    assert_eq!(calls, results.iter().map(|line| &line["call-id"]).collect::<Vec<_>>(), "each call has a result");
    assert!(results.iter().all(|line| line["text"].as_str().unwrap().starts_with("aborted: ")), "{results:?}");
    assert_eq!(session["status"], "cancelled");
    assert_eq!(user.records().last().unwrap()["kind"], "session-ended", "the log has the session's end");
}

#[test]
fn ctrl_c_in_the_middle_of_a_tool_kills_what_it_started_and_leaves_the_session_whole() {
    interrupted_by(Signal::INT);
}

#[test]
fn a_request_to_terminate_counts_as_ctrl_c() {
    interrupted_by(Signal::TERM);
}

#[test]
fn a_second_ctrl_c_ends_the_process_at_once() {
    let user = User::new();
    let hour = waiting_script(&user);
    // What keeps the run from ending in order: a plugin that takes an hour over the task's end.
    let entry = Entry::all_events("slow", json!({ "task-complete": { "misbehave": "sleep" } }));
    let entry = entry.limits("deadline = \"1h\"\n").keys("events = [\"task-complete\"]").to_toml();
    // An MCP server that has started something, which does not end with its standard input.
    let of_server = Hour::new();
    let server = format!("sleep {} & exec {} good", of_server.0, env!("CARGO_BIN_EXE_mcp_server"));
    user.configure(&format!("[mcp.test]\ncommand = \"sh\"\nargs = [\"-c\", {}]\n{entry}", Value::from(server)));
    let mut child = start(&user);
    let project = user.project();
    wait_for("the command's start", || project.join("started").exists());
    assert!(of_server.runs());
    send(&child, Signal::INT);
    // The children die at the first one.
    wait_for("the end of the children", || !hour.runs());
    assert!(child.try_wait().unwrap().is_none(), "the run does not wait for the plugin");
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    wait_for("the end of the server's children", || !of_server.runs());
    // It has no end, and every message that is there is whole.
    let session = user.sessions().remove(0);
    assert_eq!(session["messages"].as_array().unwrap().last().unwrap()["role"], Value::from("tool"));
    assert_eq!(session["status"], Value::Null);
}

#[test]
fn ctrl_backslash_ends_the_process_at_once_with_all_that_was_started() {
    let user = User::new();
    let hour = waiting_script(&user);
    let of_server = Hour::new();
    let server = format!("sleep {} & exec {} good", of_server.0, env!("CARGO_BIN_EXE_mcp_server"));
    user.configure(&format!("[mcp.test]\ncommand = \"sh\"\nargs = [\"-c\", {}]\n", Value::from(server)));
    let mut child = start(&user);
    let project = user.project();
    wait_for("the command's start", || project.join("started").exists());
    send(&child, Signal::QUIT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    wait_for("the end of what was started", || !hour.runs() && !of_server.runs());
    // It did not end in order.
    assert_eq!(user.sessions().remove(0)["status"], Value::Null);
}

#[test]
fn ctrl_c_while_a_server_starts_ends_the_command_and_the_server() {
    for command in [["run", "go", "--script", "script.toml"].as_slice(), &["tools"]] {
        let user = User::new();
        user.write("script.toml", "[[turn]]\ntext = \"Never said.\"\n");
        // It never answers; what it has started does not end with its standard input.
        let hour = Hour::new();
        let server = format!("sleep {} & touch started; wait", hour.0);
        user.configure(&format!(
            "[mcp.test]\ncommand = \"sh\"\nargs = [\"-c\", {}]\nstart-seconds = 600\n",
            Value::from(server)
        ));
        let child = user.command(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let project = user.project();
        wait_for("the server's start", || project.join("started").exists());
        send(&child, Signal::INT);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{command:?}: {output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("interrupted during startup"), "{said}");
        wait_for("the end of what the server started", || !hour.runs());
    }
}
