//! Tests that rewritten commands do the same as the original commands. Real programs run both commands, each in its own directory tree, and
//! the tests compare output, exit codes and files. A rewrite that is not tested here must be a hint.

use super::{configure, registry, word};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The results of a command.
#[derive(Debug, PartialEq, Eq)]
struct CommandResults {
    status: Option<i32>,
    printed: Vec<String>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Returns true if the machine has a program.
fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Runs `command` in a directory tree that `prepare` has made. The results leave out the files that a build creates again.
fn run(prepare: &str, command: &str) -> CommandResults {
    let directory = tempfile::tempdir().unwrap();
    let sh = |text: &str| {
        let mut sh = Command::new("sh");
        sh.args(["-c", text])
            .current_dir(directory.path())
            .env_remove("CARGO_TARGET_DIR")
            .env("CARGO_NET_OFFLINE", "true");
        sh.env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", directory.path().join("home"));
        // The compiler is found through the home directory of rustup.
        for (name, inner) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
            let known =
                std::env::var_os(name).or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(inner).into()));
            sh.envs(known.map(|value| (name, value)));
        }
        sh.output().unwrap()
    };
    let prepared = sh(prepare);
    assert!(prepared.status.success(), "{prepare}: {prepared:?}");
    let output = sh(command);
    let text = String::from_utf8(output.stdout).unwrap();
    let mut printed: Vec<String> =
        text.lines().map(|line| line.split(" finished in ").next().unwrap().to_owned()).collect();
    printed.sort();
    let mut files = BTreeMap::new();
    read(directory.path(), directory.path(), &mut files);
    CommandResults { status: output.status.code(), printed, files }
}

fn read(root: &Path, directory: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            if !["target", "target-shared", ".git", "home"].contains(&name.as_str()) {
                read(root, &path, files);
            }
        } else {
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn each_kind_of_rewrite_does_what_the_command_did() {
    const TREE: &str = "git init -q . && mkdir -p src/inner && echo needle > src/a.txt && echo hay > src/inner/b.txt && printf 'needle\\nhay\\n' > c.txt \
                        && git add . && git -c user.name=x -c user.email=x@x.example commit -qm first && echo more >> c.txt";
    assert!(["git", "grep", "find", "sed"].into_iter().all(is_there), "the programs of this test");
    // If a rule also matches its own rewritten command, it makes no rewrite.
    let rule = |program: &str, rewrite: Value| {
        let made = if program == "git" { "^--no-pager$|^src/inner$|^\\.$" } else { "^--no-messages$|^-xdev$" };
        let rule = json!({"id": "ours.x", "rewrite": rewrite, "match": [{"program": [program], "no-word": made}]});
        json!({"stacks": [], "custom-rules": [rule]})
    };
    for (program, rewrite, command, rewritten) in [
        ("git", json!({"after-program": ["--no-pager"]}), "git log --format=%s", "git --no-pager log --format=%s"),
        (
            "git",
            json!({"after-program": ["--no-pager"]}),
            "cd src && git status --short > ../out",
            "cd src && git --no-pager status --short > ../out",
        ),
        (
            "grep",
            json!({"append": ["--no-messages"]}),
            "grep -rn needle src/inner c.txt",
            "grep -rn needle src/inner c.txt --no-messages",
        ),
        ("grep", json!({"append": ["--no-messages"]}), "grep -c -- hay c.txt", "grep -c --no-messages -- hay c.txt"),
        ("git", json!({"after-dashes": ["."]}), "git diff --stat", "git diff --stat -- ."),
        ("git", json!({"after-dashes": ["src/inner"]}), "git diff -- c.txt", "git diff -- c.txt src/inner"),
        (
            "find",
            json!({"replace": "find . -xdev -name a.txt", "of": [". -name a.txt"]}),
            "find . -name 'a.txt'",
            "find . -xdev -name a.txt",
        ),
        (
            "grep",
            json!({"append": ["--no-messages"]}),
            "for f in c.txt; do grep -n hay \"$f\"; done | sed s/hay/straw/",
            "for f in c.txt; do grep -n hay \"$f\" --no-messages; done | sed s/hay/straw/",
        ),
    ] {
        configure(rule(program, rewrite)).unwrap();
        assert_eq!(word(command), rewritten);
        assert_eq!(run(TREE, command), run(TREE, rewritten), "{command} => {rewritten}");
    }
}

/// A crate without dependencies.
const CRATE: &str = "mkdir src && printf '[package]\\nname = \"harn\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' > Cargo.toml \
                     && printf 'fn main() { println!(\"ran\"); }\\n' > src/main.rs";

/// The rules of the catalogues that rewrite commands, each with a command that the rule rewrites.
const EMBEDDED: [(&str, &str, &str); 1] = [("harn", "harn.cargo_run_quiet", "cargo run --bin harn")];

/// Commands that must not be rewritten, because they did something else when they were.
const LEFT: [&str; 15] = [
    "cargo build",
    "cargo build && ./target/debug/app",
    "cargo build && ./run.sh",
    "cargo build --release && make install",
    "cargo build && docker build .",
    "cargo build && git add -A && git commit -m x",
    "cargo build --release && zip -r x.zip .",
    "cargo build && npm run e2e",
    "cargo run",
    "cargo check && cargo clippy",
    "cargo test",
    "cargo test --bench b",
    "cargo test --test it -- -q",
    "cargo test -p x && cargo run",
    "cargo run --bin harn 2>&1 | grep Compiling",
];

#[test]
fn what_may_do_something_else_when_rewritten_runs_as_it_is() {
    configure(json!({"stacks": ["rust", "python", "ts", "harn"]})).unwrap();
    for command in LEFT {
        assert_eq!(word(command), "allow", "{command}");
        assert!(!super::rules().is_empty(), "{command}: no rule gives a hint");
    }
}

#[test]
fn a_rule_that_rewrites_leaves_the_outcome_and_every_file_as_they_were() {
    if !is_there("cargo") {
        return;
    }
    for rule in registry().rules() {
        let is_made =
            rule.rule.rewrite.is_some() && rule.rule.action.as_deref().is_none_or(|action| action == "rewrite");
        let is_shown = EMBEDDED.iter().any(|(_, id, _)| *id == &*rule.rule.id);
        assert_eq!(is_made, is_shown, "{}: what is not shown to be equal is a hint", rule.rule.id);
    }
    for (stack, id, command) in EMBEDDED {
        configure(json!({"stacks": [stack]})).unwrap();
        let rewritten = word(command);
        assert!(rewritten != command && rewritten != "allow", "{id}: {rewritten}");
        let (before, after) = (run(CRATE, command), run(CRATE, &rewritten));
        assert_eq!(before.status, Some(0), "{command}: {before:?}");
        assert_eq!(before, after, "{command} => {rewritten}");
    }
}
