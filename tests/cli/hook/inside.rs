//! Hooks in `hookhost exec`: the resident host stays outside, and takes only events from inside.

use super::{Home, end, is_root, printed, runs, wait_for};
use hookhost_tests::Ended;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A shell inside that reads commands, and ends each answer with a line of its own.
struct Inside {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The line that ends an answer.
const END: &str = "-- end --";

impl Inside {
    fn start(home: &Home) -> Self {
        let mut command = exec(home, &["bash"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut inside = Self { child, input, output };
        assert_eq!(inside.told("echo $HOOKHOST_INSIDE"), "1\n");
        inside
    }

    /// What a command prints.
    fn told(&mut self, command: &str) -> String {
        writeln!(self.input, "{{ {command}; }} 2>&1; echo '{END}'").unwrap();
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the shell has ended: {printed}");
            match line.strip_suffix(&format!("{END}\n")) {
                Some(rest) => return printed + rest,
                None => printed += &line,
            }
        }
    }

    /// The answer of the hook to a shell command.
    fn hook(&mut self, home: &Home, id: &str, command: &str) -> String {
        let message = home.user.project().join(format!("{id}.json"));
        fs::write(&message, home.call("inside", id, command).to_string()).unwrap();
        self.told(&format!("hookhost-hook claude-code PreToolUse < {}", message.display()))
    }

    fn end(mut self) {
        drop(self.input);
        self.child.wait().unwrap();
    }
}

/// `hookhost exec -- PROGRAM`, with the programs of the home on the PATH.
fn exec(home: &Home, program: &[&str]) -> Command {
    let mut command = home.command(&[&["exec", "--"], program].concat());
    command.env("PATH", format!("{}:/usr/bin:/bin", home.user.path("bin").display()));
    command
}

fn ran(home: &Home, script: &str) -> Ended {
    printed(&mut exec(home, &["bash", "-c", script]))
}

/// The resident host that runs.
fn host(home: &Home) -> Pid {
    let hosts = home.processes("serve");
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    hosts[0]
}

#[test]
fn a_hook_inside_gets_the_verdict_and_its_record_says_where_it_ran() {
    let home = Home::new();
    let mut inside = Inside::start(&home);
    assert!(inside.hook(&home, "1", "touch denied.txt").contains("denied-by-policy"));
    let passes = inside.hook(&home, "2", "ls");
    assert!(!passes.contains("deny") && passes.contains("additionalContext"), "{passes}");
    inside.end();
    home.asked("outside", "3", "ls").passes();
    let events = home.events("before-tool-call", 3);
    assert_eq!(events[0]["sandboxed"], true);
    assert_eq!(events[1]["sandboxed"], true);
    assert_eq!(events[2]["sandboxed"], Value::Null);
    let report = printed(&mut home.command(&["report"]));
    assert!(report.stdout.contains("claude-code partly ("), "{report:#?}");
    home.verify_log();
}

#[test]
fn another_sandbox_does_not_count_as_the_second_line() {
    let home = Home::new();
    home.serve();
    let message = home.user.project().join("m.json");
    fs::write(&message, home.call("s", "1", "ls").to_string()).unwrap();
    let script = format!("{} claude-code PreToolUse < {}", home.program("hookhost-hook").display(), message.display());
    let mut unshare = home.of_program("unshare".as_ref(), &["-Urpf", "bash", "-c", &script]);
    printed(&mut unshare).expect(0, &[]);
    assert_eq!(home.events("before-tool-call", 1)[0]["sandboxed"], Value::Null);
}

#[test]
fn nothing_inside_stops_the_host_or_changes_what_it_reads() {
    let home = Home::new();
    fs::write(home.user.path("config/keys.toml"), "# secret-canary\n").unwrap();
    let configured = fs::read(home.user.path("config/hookhost.toml")).unwrap();
    let mut inside = Inside::start(&home);
    let host = host(&home);
    let stopped = inside.told("hookhost serve --stop");
    assert!(stopped.contains("runs in hookhost exec, or in another sandbox"), "{stopped}");
    // The marks by which a command recognises an agent can be removed, but not what the kernel says.
    let stopped = inside.told("env -u HOOKHOST_INSIDE setsid hookhost serve --stop");
    assert!(stopped.contains("runs in hookhost exec, or in another sandbox"), "{stopped}");
    let page = inside.told("env -u HOOKHOST_INSIDE setsid hookhost ui --no-open");
    assert!(!page.contains("http://"), "{page}");
    let (config, state) = (home.user.path("config"), home.user.path("state"));
    let (config, state) = (config.display(), state.display());
    inside.told(&format!("kill -9 {}; pkill -9 hookhost", host.as_raw_nonzero()));
    inside.told(&format!("echo x >> {config}/hookhost.toml; rm -rf {config} {state}; mv {config} {config}2"));
    inside.told(&format!("echo > {state}/pause.json; echo > {state}/rules-off.json; chmod -R 777 {config}"));
    let key = inside.told(&format!("cat {config}/keys.toml"));
    assert!(!key.contains("secret-canary"), "{key}");
    let allowed = inside.told("hookhost off --for 10m");
    assert!(allowed.contains("this runs inside hookhost exec"), "{allowed}");
    assert!(runs(host), "it cannot be reached");
    assert_eq!(fs::read(home.user.path("config/hookhost.toml")).unwrap(), configured);
    assert!(!home.user.path("state/pause.json").exists());
    assert!(inside.hook(&home, "1", "touch denied.txt").contains("denied-by-policy"));
    inside.end();
}

#[test]
fn the_supervisor_starts_the_next_host_when_one_is_killed_or_hangs() {
    let home = Home::new();
    let mut inside = Inside::start(&home);
    for (id, signal) in [("killed", Signal::KILL), ("hangs", Signal::STOP)] {
        let old = host(&home);
        kill_process(old, signal).unwrap();
        wait_for("the next host", || home.processes("serve").iter().any(|host| *host != old && runs(*host)));
        wait_for("the end of the old host", || !runs(old));
        let answer = inside.hook(&home, id, "touch denied.txt");
        assert!(answer.contains("denied-by-policy"), "{answer}");
    }
    inside.end();
}

#[test]
fn a_call_that_no_host_answers_is_denied_and_noted_from_outside() {
    let home = Home::new();
    let mut inside = Inside::start(&home);
    let notes = home.run_directory().join("unanswered.jsonl");
    let old = host(&home);
    fs::rename(home.program("hookhost"), home.program("gone")).unwrap();
    end(old, Signal::KILL);
    let answer = inside.hook(&home, "1", "ls");
    assert!(answer.contains("\"deny\"") && answer.contains("hookhost could not decide"), "{answer}");
    assert!(!answer.contains("could not note"), "{answer}");
    wait_for("the note", || fs::read_to_string(&notes).is_ok_and(|text| text.contains("claude-code")));
    fs::rename(home.program("gone"), home.program("hookhost")).unwrap();
    assert!(inside.told("true").is_empty());
    inside.end();
}

#[test]
fn the_exit_code_is_that_of_the_program_and_a_mistake_starts_nothing() {
    let home = Home::new();
    ran(&home, "exit 7").expect(7, &[]);
    ran(&home, "kill -TERM $$").expect(143, &[]);
    let missing = printed(&mut exec(&home, &["no-such-program"]));
    missing.expect(127, &["no-such-program is not found: check its name and PATH"]);
    printed(&mut home.command(&["exec"])).expect(2, &[]);
    let listed = printed(&mut home.command(&["exec", "--list"]));
    listed.expect(0, &[]);
    for part in ["Cannot be changed:", "(configuration of hookhost)", "(program of hookhost)"] {
        assert!(listed.stdout.contains(part), "{part}: {listed:#?}");
    }
    let file = home.user.path("config/hookhost.toml");
    let text = fs::read_to_string(&file).unwrap();
    for (section, says) in [
        ("[sandbox]\ndockr = true\n", "dockr"),
        ("[sandbox]\nwrite = ['/']\n", "opens everything below it"),
        ("[sandbox]\nnetwork = ['https://x']\n", "is no name of a host"),
    ] {
        fs::write(&file, format!("{text}\n{section}")).unwrap();
        let ended = ran(&home, "echo started");
        assert!(!ended.stdout.contains("started"), "{ended:#?}");
        ended.expect(5, &[says]);
    }
}

#[test]
fn paths_of_rules_and_of_the_settings_are_guarded_and_opened() {
    let home = Home::new();
    let project = home.user.project();
    fs::create_dir_all(project.join(".git/hooks")).unwrap();
    for name in ["secret.txt", "prod.txt", "free.txt"] {
        fs::write(project.join(name), "old\n").unwrap();
    }
    let file = home.user.path("config/hookhost.toml");
    let rules = r#"
[[rule]]
id = "secret"
on = "read"
path = "secret.txt"
reject = "no"
stops = ["secret.txt"]
passes = ["free.txt"]

[[rule]]
id = "prod"
on = "write"
path = "prod.txt"
reject = "no"
stops = ["prod.txt"]
passes = ["free.txt"]
"#;
    fs::write(&file, rules).unwrap();
    home.compile(&project);
    let script = "cat secret.txt; for file in prod.txt free.txt .git/hooks/x; do echo new > $file && echo $file; done";
    let ended = ran(&home, script);
    // Root may read everything, except what a mount hides.
    assert_eq!(ended.stdout, "free.txt\n", "{ended:#?} {}", is_root());
    fs::write(&file, format!("{rules}\n[sandbox]\nwrite = ['.git/hooks']\n")).unwrap();
    let ended = ran(&home, script);
    assert_eq!(ended.stdout, "free.txt\n.git/hooks/x\n", "{ended:#?}");
}
