//! The built `hookhost-hook` and the built resident host, in a home of their own, with a real component: each fault leads to a no
//! in the agent's own words or to the right verdict, with one sentence, and the log loses nothing.

mod agent_plugin;
mod allow_once;
mod clock;
mod crowd;
mod directories;
mod every_agent;
mod full_disk;
mod inside;
mod labels;
mod limits;
mod locks;
mod messages;
mod observing;
mod pausing;
mod questions;
mod recorded;
mod replaced;
mod resident_host;
mod rules;
mod streams;

use hookhost_tests::{Ended, Entry, User, hookhost, plugin};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long something may take that is waited for.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A user with the programs in a directory of their own, and rules.
struct Home {
    user: User,
}

/// What the agent gets from its hook.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reply {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// The entry of the plugin under whose rules all of it happens: `denied.txt` is rejected, `original` becomes `rewritten`,
/// `asked.txt` is asked about.
fn policy() -> Entry {
    Entry::new("policy", &plugin("agent-policy")).grants("state = {}\n")
}

impl Home {
    /// Under the rules of [`policy`].
    fn new() -> Self {
        Self::with(&policy().to_toml())
    }

    fn with(configuration: &str) -> Self {
        let home = Self { user: User::new() };
        home.user.configure(configuration);
        fs::create_dir(home.user.path("bin")).unwrap();
        for name in ["hookhost", "hookhost-hook"] {
            home.put_program(name);
        }
        home.compile(&home.user.project());
        home
    }

    /// Has the plugins that count in a directory compiled: that can take longer than a hook waits.
    fn compile(&self, directory: &Path) {
        // Rules that are broken on purpose cannot be loaded.
        let _ = printed(self.command(&["hooks"]).current_dir(directory));
    }

    /// Puts a built program into the home: the same file where that is possible, since it is large.
    fn put_program(&self, name: &str) {
        let (from, to) = (hookhost().with_file_name(name), self.program(name));
        assert!(from.exists(), "{} is not there: run `cargo build --workspace --bins`", from.display());
        if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).unwrap();
        }
    }

    fn program(&self, name: &str) -> PathBuf {
        self.user.path("bin").join(name)
    }

    /// The hook, as an agent runs it.
    fn hook(&self, arguments: &[&str]) -> Command {
        self.of_program(&self.program("hookhost-hook"), arguments)
    }

    /// `hookhost`, of this home.
    fn command(&self, arguments: &[&str]) -> Command {
        self.of_program(&self.program("hookhost"), arguments)
    }

    fn of_program(&self, program: &Path, arguments: &[&str]) -> Command {
        let like = self.user.command(arguments);
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.user.project()).stdin(Stdio::null());
        command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// The reply of a hook to a message.
    fn told(&self, arguments: &[&str], message: impl AsRef<[u8]>) -> Reply {
        reply_to(&mut self.hook(arguments), message.as_ref())
    }

    /// The reply to a call of a shell command by Claude Code.
    fn asked(&self, session: &str, id: &str, command: &str) -> Reply {
        self.told(&["claude-code", "PreToolUse"], self.call(session, id, command).to_string())
    }

    /// The message about a call of a shell command; Codex and Claude Code have the same.
    fn call(&self, session: &str, id: &str, command: &str) -> Value {
        json!({
            "session_id": session, "cwd": self.user.project(), "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": { "command": command }, "tool_use_id": id,
        })
    }

    /// Starts the resident host as a hook does, and waits until it listens.
    fn serve(&self) -> Pid {
        let mut child =
            self.command(&["serve", "--on-demand"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        // So that it is not kept as a zombie after its end.
        std::thread::spawn(move || child.wait());
        wait_for("the resident host", || self.socket().exists());
        pid
    }

    fn run_directory(&self) -> PathBuf {
        self.user.path("state/run")
    }

    fn socket(&self) -> PathBuf {
        self.run_directory().join("host.sock")
    }

    /// The processes of this home's `hookhost` that do this.
    fn processes(&self, command: &str) -> Vec<Pid> {
        let program = self.program("hookhost");
        let is_it = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = line.split(|&byte| byte == 0);
            words.next() == Some(program.as_os_str().as_encoded_bytes()) && words.next() == Some(command.as_bytes())
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(is_it).filter_map(Pid::from_raw).collect()
    }

    /// Keeps anyone from becoming the resident host, as long as what is returned is there: each hook then says no.
    fn without_resident_host(&self) -> fs::File {
        fs::create_dir_all(self.run_directory()).unwrap();
        let lock = fs::File::create(self.run_directory().join("host.lock")).unwrap();
        lock.try_lock().unwrap();
        lock
    }

    /// The records of events of this name, once there are so many. More are a failure.
    #[track_caller]
    fn events(&self, name: &str, count: usize) -> Vec<Value> {
        self.records(count, |record| record["kind"] == "event" && record["event"] == name)
    }

    /// The deliveries, once there are so many.
    #[track_caller]
    fn deliveries(&self, count: usize) -> Vec<Value> {
        // The resident host may have seen, too, that a hook has gone: it depends on which of the two is first.
        let has_gone = |record: &Value| record["note"].as_str().is_some_and(|note| note.contains("its hook has gone"));
        self.records(count, |record| record["kind"] == "delivery" && !has_gone(record))
    }

    #[track_caller]
    fn records(&self, count: usize, is_one: impl Fn(&Value) -> bool) -> Vec<Value> {
        // The file is there a moment before it is a log.
        let is_log = || self.user.run(["audit", "show", "--json"]).code != Some(5);
        wait_for("the log", || self.user.log_file().exists() && is_log());
        let began = Instant::now();
        loop {
            let found: Vec<Value> = self.user.records().into_iter().filter(&is_one).collect();
            if found.len() >= count || began.elapsed() > TIMEOUT {
                assert_eq!(found.len(), count, "{found:#?}");
                return found;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Fails unless the log is as it was written.
    #[track_caller]
    fn verify_log(&self) {
        self.user.run(["audit", "verify"]).expect(0, &[]);
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for pid in self.processes("serve") {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Reply {
    fn of(child: Child) -> Self {
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// What it decides about a call, in the language of Claude Code.
    fn decision(&self) -> &'static str {
        if self.code != Some(0) || !self.stderr.is_empty() {
            return "failed";
        }
        let said: Value = serde_json::from_str(&self.stdout).unwrap_or_default();
        match said["hookSpecificOutput"]["permissionDecision"].as_str() {
            Some("deny") => "deny",
            Some("ask") => "ask",
            Some("allow") => "allow",
            _ => "none",
        }
    }

    /// Why it says no: one line, for the model.
    #[track_caller]
    fn denial(&self) -> String {
        assert_eq!(self.decision(), "deny", "{self:?}");
        let said: Value = serde_json::from_str(&self.stdout).unwrap();
        said["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap().to_owned()
    }

    /// Fails unless the rules say no.
    #[track_caller]
    fn is_denied_by_policy(&self) {
        let reason = self.denial();
        assert!(reason.starts_with("Rejected by policy: denied-by-policy"), "{reason}");
    }

    /// Fails unless the rules let it pass.
    #[track_caller]
    fn passes(&self) {
        assert!(self.decision() == "none" && !self.stdout.contains("hookhost could not"), "{self:?}");
    }

    /// Fails unless it says no because it could not be settled, in one sentence that holds this and one that says what to do.
    #[track_caller]
    fn could_not_be_settled(&self, why: &str) {
        let reason = self.denial();
        let sentence = reason.strip_prefix("hookhost could not decide (`hookhost doctor claude-code` says more): ");
        let sentence = sentence.unwrap_or_else(|| panic!("{reason}"));
        assert!(sentence.contains(why) && sentence.ends_with('.') && !sentence.contains('\n'), "{reason}");
    }
}

/// Starts a hook, and writes the message to it.
fn started(command: &mut Command, message: &[u8]) -> Child {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(message).expect("the hook reads its whole message");
    child
}

fn reply_to(command: &mut Command, message: &[u8]) -> Reply {
    Reply::of(started(command, message))
}

#[track_caller]
fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < TIMEOUT, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process runs.
fn runs(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Ends a process, and waits for its end.
fn end(pid: Pid, signal: Signal) {
    kill_process(pid, signal).unwrap();
    wait_for("the end of a process", || !runs(pid));
}

/// Waits until a hook waits for the resident host.
fn wait_for_question_of(hook: &Child) {
    let files = PathBuf::from(format!("/proc/{}/fd", hook.id()));
    wait_for("the hook's connection", || {
        let files = fs::read_dir(&files).into_iter().flatten().flatten();
        let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
        targets.into_iter().any(|target| target.to_string_lossy().starts_with("socket:"))
    });
}

/// Whether this program may do what only root may.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a command printed.
fn printed(command: &mut Command) -> Ended {
    Ended::of(command)
}
