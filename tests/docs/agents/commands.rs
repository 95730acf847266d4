//! The commands of `docs/agents.md` are run for every agent, by the built programs, in a home directory in which no agent is.

use crate::guide::{blocks_of, page};
use hookhost_agents::{Adapter, all};
use hookhost_tests::{Ended, Entry, User, hookhost, plugin};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The commands that the overview shows for every agent.
const COMMANDS: [&str; 4] = [
    "hookhost install AGENT --dry-run",
    "hookhost install AGENT",
    "hookhost doctor AGENT --prove",
    "hookhost uninstall AGENT",
];

/// Problems that a page tells of, which only a person solves.
const TOLD: &[(&str, &str)] = &[("codex", "because you have not trusted them")];

/// The files of a user's agents, with what is in them.
fn files(user: &User) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(directory).expect("a directory of the user") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.insert(path.clone(), std::fs::read(&path).expect("a file of the user"));
            }
        }
    }
    let mut found = BTreeMap::new();
    let own = [user.path("state"), user.path("config")];
    for entry in std::fs::read_dir(user.path(".")).expect("the home directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !own.contains(&path.canonicalize().expect("a path")) {
            walk(&path, &mut found);
        }
    }
    found
}

fn run(user: &User, command: &str) -> Ended {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(user.project()).env_clear();
    shell.envs(user.command([""; 0]).get_envs().filter_map(|(key, value)| Some((key, value?))));
    // Of this machine's own agents none is asked.
    let programs = hookhost().parent().expect("its directory").to_owned();
    shell.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    Ended::of(&mut shell)
}

/// A person with one plugin, whose resident host ends with this value.
struct Person(User);

impl Person {
    fn new() -> Self {
        let hook = hookhost().with_file_name(format!("hookhost-hook{}", std::env::consts::EXE_SUFFIX));
        assert!(hook.exists(), "{} is not there: cargo build --workspace --bins", hook.display());
        let user = User::new();
        user.configure(&Entry::new("no-force-push", &plugin("no-force-push")).to_toml());
        Self(user)
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.0.run(["serve", "--stop"]);
    }
}

#[test]
fn the_commands_run_for_every_agent_and_uninstalling_leaves_nothing() {
    let shown = blocks_of(&page("docs/agents.md"), "text").concat();
    for command in COMMANDS {
        assert!(shown.lines().any(|line| line.starts_with(command)), "{command}");
    }
    let person = Person::new();
    let user = &person.0;
    let before = files(user);
    for adapter in all() {
        for command in COMMANDS.iter().filter(|command| !is_service(adapter) || !command.contains("uninstall")) {
            let command = &command.replace("AGENT", adapter.agent().name);
            let at_first = files(user);
            let ended = run(user, command);
            check(adapter, command, &ended);
            let is_changed = files(user) != at_first;
            let changes = command.starts_with("hookhost install ") || command.starts_with("hookhost uninstall ");
            let has_files = adapter.agent().points.iter().any(|point| point.installed) && !is_service(adapter);
            assert_eq!(is_changed, changes && has_files && !command.ends_with("--dry-run"), "{command}: {ended:#?}");
        }
        assert_eq!(files(user), before, "{}: something is left", adapter.agent().name);
    }
}

/// Whether a person sets it up.
fn is_service(adapter: &Adapter) -> bool {
    matches!(adapter.agent().name, "litellm" | "agentgateway" | "acs")
}

#[track_caller]
fn check(adapter: &Adapter, command: &str, ended: &Ended) {
    let name = adapter.agent().name;
    let problems: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("  ✗ ")).collect();
    let is_told = |line: &&str| TOLD.iter().any(|(agent, text)| *agent == name && line.contains(text));
    assert!(problems.iter().all(is_told), "{command}: {ended:#?}");
    ended.expect(i32::from(!problems.is_empty()), &[]);
    if command.starts_with("hookhost doctor") {
        assert!(command.ends_with("--prove"), "{command}");
        let says = match adapter.canary("", Path::new("/")) {
            Some(_) => "  ✓ the hook denied a forbidden test call, and allowed an ordinary one\n".to_owned(),
            None => {
                let title = adapter.agent().title;
                format!("  ? {title} runs the hook itself, so only {title} can test it\n")
            }
        };
        assert!(ended.stdout.contains(&says), "{command}: {ended:#?}");
    }
}

#[test]
fn the_commands_of_the_overview_run() {
    let person = Person::new();
    let user = &person.0;
    for command in blocks_of(&page("docs/agents.md"), "sh").concat().lines().filter(|line| !line.contains(" CODE")) {
        run(user, command).expect(0, &[]);
    }
    let listed = run(user, "hookhost agents").stdout;
    assert!(listed.contains("(claude-code)\n") && listed.contains("  tested    on 20"), "{listed}");
    // An identifier is that of a question, and there is none.
    for command in blocks_of(&page("docs/agents.md"), "sh").concat().lines().filter(|line| line.contains(" ID")) {
        let ended = run(user, command);
        assert!(ended.code != Some(0) && ended.stderr.contains("ID"), "{command}: {ended:#?}");
    }
}
