//! A home with a file for each row of the table of guarded files, and with hookhost.

use crate::support::{Layout, User, World, finish, process_state, text, text_of};
use hookhost_agents::guarded::{OWNERS, WrittenTreatment};
use hookhost_tests::hookhost;
use serde_json::Value;
use std::io::Write as _;
use std::ops::{Deref, DerefMut};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Files of the home that run later, outside, and files of hookhost.
const MORE_FILES: &[&str] = &[
    ".config/hookhost/hookhost.toml",
    ".config/hookhost/keys.toml",
    ".local/state/hookhost/held",
    ".local/state/hookhost/http.token",
    ".cache/hookhost/held",
    ".local/bin/hookhost-hook",
    ".local/bin/other",
    ".cargo/bin/hookhost-hook",
    ".cargo/config.toml",
    ".bash_logout",
    ".inputrc",
    ".vimrc",
    ".gitconfig",
    ".npmrc",
    ".config/git/config",
    ".config/systemd/user/a.service",
    ".config/autostart/a.desktop",
    ".ssh/config",
    ".ssh/rc",
    ".ssh/authorized_keys",
    ".ssh/id_ed25519",
    "project/hookhost.toml",
    "project/.envrc",
    "project/.mise.toml",
    "project/.git/hooks/pre-commit",
];

/// A rule without conditions, which the kernel enforces too, and one that asks.
const RULES: &str = "[[rule]]
id = \"keys\"
on = \"read\"
path = \"~/.keys/**\"
reject = \"secret\"
stops = [\"~/.keys/token\"]
passes = [\"~/.keyring\"]

[[rule]]
id = \"deploy\"
on = \"shell\"
program = \"make deploy\"
ask = \"Deploy?\"
stops = [\"make deploy\"]
passes = [\"make\"]
";

/// The stand-in agent's program.
const AGENT: &str = "scripted_agent";

/// Maximum time until the resident host has compiled its plugins.
const COMPILATION: Duration = Duration::from_secs(300);

/// Returns the files of the table, except those that their agents write themselves. A pattern stands for a file that it matches.
fn files_of_table() -> Vec<String> {
    let mut files = Vec::new();
    for owner in OWNERS.iter().filter(|owner| owner.name != "hookhost") {
        let is_written = |file: &str| {
            owner.written.iter().any(|written| written.file == file && written.treatment != WrittenTreatment::ReadOnly)
        };
        let is_here = |file: &&&str| {
            let is_of_other_system = ["/", "C:/", "AppData/", "Library/"].iter().any(|start| file.starts_with(start));
            !is_of_other_system && !is_written(file) && **file != ".env"
        };
        let named = |file: &str| file.replace("/**", "/held").replace('*', "");
        let of_project = owner.files.iter().filter(is_here).map(|file| format!("project/{}", named(file)));
        let of_home = owner.files.iter().chain(owner.in_home).chain(owner.alone).chain(owner.variables_in);
        files.extend(of_home.filter(is_here).map(|file| named(file)).chain(of_project));
    }
    files.sort();
    files.dedup();
    files
}

/// A home in which hookhost is at work.
pub(crate) struct Home {
    world: World,
    /// The number of the resident host's process, and what must not change of it.
    host: Option<(u32, String)>,
}

impl Home {
    pub(crate) fn new(user: User, has_rules: bool) -> Self {
        let bin = hookhost().parent().expect("a directory").to_owned();
        let programs = ["hookhost", "hookhost-hook"].map(|name| bin.join(name)).into();
        let mut files: Vec<String> = MORE_FILES.iter().map(|&file| file.to_owned()).chain(files_of_table()).collect();
        files.sort();
        files.dedup();
        let mut files: Vec<(String, String)> = files
            .into_iter()
            .enumerate()
            .map(|(index, file)| {
                let text = text_of(&file, index);
                (file, text)
            })
            .collect();
        if has_rules {
            files.push((".keys/token".to_owned(), text_of(".keys/token", 0)));
            files.iter_mut().filter(|(file, _)| file.ends_with("hookhost/hookhost.toml")).for_each(|(_, text)| {
                text.push_str(RULES);
            });
        }
        let setup = if has_rules { vec!["hookhost", "profile", "use", "developer", "--yes"] } else { Vec::new() };
        let launch = vec!["hookhost", "exec", "--"];
        let world = World::with(user, Layout { programs, launch, files, sockets: vec!["agent.sock"], setup });
        // It lies apart from hookhost's programs, as attacks may remove everything there that is not guarded.
        std::fs::copy(env!("CARGO_BIN_EXE_scripted_agent"), world.root().join(AGENT)).expect("the agent is built");
        Self { world, host: None }
    }

    /// A command of hookhost outside.
    pub(crate) fn hookhost(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.bin().join("hookhost"));
        command.args(arguments);
        self.of_user(command)
    }

    /// Waits until the resident host answers, and remembers its process.
    pub(crate) fn remember_host(&mut self) {
        let began = Instant::now();
        let process = loop {
            let status = finish(self.hookhost(&["serve", "--status"]), "status");
            let status: Value = serde_json::from_slice(&status.stdout).unwrap_or_default();
            if let Some(process) = status["process"].as_u64() {
                break u32::try_from(process).expect("a process");
            }
            assert!(began.elapsed() < COMPILATION, "no host has started: {status}");
            thread::sleep(Duration::from_millis(50));
        };
        self.host = Some((process, host_state(process)));
    }

    /// Returns what is no longer as it was, outside.
    pub(crate) fn damage(&mut self) -> Vec<String> {
        let mut damage = self.world.damage();
        if let Some((process, state)) = &self.host {
            let found = host_state(*process);
            if found != *state {
                damage.push(format!("the resident host was\n{state}\nand is\n{found}"));
                self.host = None;
            }
        }
        damage
    }

    /// The process of the resident host.
    pub(crate) fn host(&self) -> Option<u32> {
        self.host.as_ref().map(|(process, _)| *process)
    }
}

/// What must not change of the resident host: that it lives, its limits, and its priority.
fn host_state(process: u32) -> String {
    let state = process_state(process);
    // It works and waits in turns.
    ["R (running)", "D (disk sleep)", "S (sleeping)"].iter().fold(state, |state, word| state.replace(word, "lives"))
}

impl Deref for Home {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for Home {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let output = finish(self.hookhost(&["serve", "--stop"]), "stop");
        if !output.status.success() {
            eprintln!("{}", text(&output));
        }
    }
}

/// The stand-in agent, which runs inside.
pub(crate) struct Agent {
    child: Child,
    input: ChildStdin,
    answers: std::sync::mpsc::Receiver<String>,
    notices: std::sync::mpsc::Receiver<String>,
}

/// What the agent did with a call.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The hook's verdict, and the script's output if it ran.
    Answered { verdict: String, output: Option<String> },
    /// The agent has ended, which is the user's own affair.
    Ended,
}

impl Agent {
    pub(crate) fn start(home: &Home) -> Self {
        let agent = home.root().join(AGENT);
        let hook = home.bin().join("hookhost-hook");
        let mut command = home.command(&[agent, hook]);
        command.env("ROOT", home.root()).env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", home.bin().display()));
        command.env("HOST", home.host().map(|process| process.to_string()).unwrap_or_default());
        command.env("HOOKHOST_CACHE_DIR", home.home().join(".cache/hookhost")).env_remove("RUSTUP_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("hookhost can be started");
        let lines = |pipe: Box<dyn std::io::Read + Send>| {
            let (sender, receiver) = std::sync::mpsc::channel();
            thread::spawn(move || {
                for line in std::io::BufRead::split(std::io::BufReader::new(pipe), b'\n').map_while(Result::ok) {
                    if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                        return;
                    }
                }
            });
            receiver
        };
        let answers = lines(Box::new(child.stdout.take().expect("a pipe")));
        let notices = lines(Box::new(child.stderr.take().expect("a pipe")));
        Self { input: child.stdin.take().expect("a pipe"), child, answers, notices }
    }

    /// Has the agent ask its hook about a script, and run it if the hook agrees.
    pub(crate) fn call(&mut self, home: &Home, number: usize, script: &str) -> Answer {
        self.send(&serde_json::json!({ "script": script, "message": message(home, number, script) }))
    }

    /// Has the agent run a script without asking its hook.
    pub(crate) fn run(&mut self, script: &str) -> Answer {
        self.send(&serde_json::json!({ "script": script, "message": null }))
    }

    fn send(&mut self, call: &Value) -> Answer {
        if writeln!(self.input, "{call}").is_err() {
            return Answer::Ended;
        }
        match self.answers.recv_timeout(COMPILATION) {
            Ok(line) => {
                let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no answer: {line}"));
                let text = |name: &str| answer[name].as_str().map(str::to_owned);
                Answer::Answered { verdict: text("verdict").unwrap_or_default(), output: text("output") }
            }
            Err(_) => Answer::Ended,
        }
    }

    /// What hookhost has said so far.
    pub(crate) fn notices(&self) -> Vec<String> {
        self.notices.try_iter().collect()
    }
}

/// The message of an agent about a call of its shell tool.
pub(crate) fn message(home: &Home, number: usize, script: &str) -> Value {
    serde_json::json!({
        "session_id": "attack", "transcript_path": "/nowhere", "cwd": home.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": script }, "tool_use_id": format!("call-{number}"),
    })
}

impl Drop for Agent {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
