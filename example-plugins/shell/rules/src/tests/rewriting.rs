//! Tests that rewrites change only the intended part of a command. Both commands run with stand-in programs that print their arguments.

use super::{ask, configure, registry, rules, word};
use crate::rules::schema::Rewrite;
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Commands with other parts around the rewritten part. Each of the other parts must stay as it is.
const SURROUNDED: [&str; 21] = [
    "cargo build > out.log 2>&1",
    "cargo build --features \"a b\" -p 'x y'",
    "RUSTFLAGS='-C debuginfo=0' cargo build",
    "cargo build; cargo check # and why",
    "cargo build&&cargo test",
    "cargo run -- --target x 'a  b' \"$HOME\"",
    "cargo test -- --nocapture | cat",
    "cargo build 2>&1 | tail -n 5",
    "if cargo check; then echo yes; fi",
    "for x in 1 2; do cargo build; done",
    "time cargo build",
    "env A=1 cargo build --release",
    "nice -n 5 cargo test --lib",
    "cargo build \\\n  --release",
    "cargo  build   --release  ",
    "echo 'Grüße' && cargo build",
    "cargo build <<EOF\ncargo check\nEOF",
    "cargo test --target-dir x filter",
    "cargo run --bin harn -- run 'a b'",
    "cargo +nightly run --bin harn -- --bin 'x y'",
    "cargo +nightly test --target-dir x 'a b'",
];

/// Commands that are not rewritten, because the rewrite cannot be proven correct.
const LEFT: [&str; 40] = [
    // The inserted words would refer to another directory.
    "cd sub && cargo check",
    "(cd sub; cargo build)",
    "env -C sub cargo build",
    "cargo build --manifest-path sub/Cargo.toml",
    "cargo -C sub build",
    "pushd sub; cargo check",
    "cargo build $FLAGS",
    "cargo build \"$@\"",
    "sh -c 'cargo build'",
    "echo x | xargs cargo build",
    "cargo() { echo mine; }; cargo build",
    "find . -exec cargo build \\;",
    "echo $(cargo build)",
    "cargo build {a,b}",
    "find . -name '*.py' | wc -l",
    "find . -name '*.py' > files",
    "eval 'cargo build'",
    // A later command uses the built file at its old path.
    "cargo build && ./target/debug/app",
    "cargo build --release; cp target/release/app build/",
    "cargo clean && cargo build",
    "cargo check && du -sh target > size",
    // Another program or a file gets the output.
    "cargo test --target-dir x | grep -c ok",
    "cargo test --target-dir x > log",
    "{ cargo test --target-dir x; } > log",
    "exec > log; pytest",
    "pytest -q 2>&1 | tail -3",
    "pytest --junitxml=report.xml",
    // The command is for a part of the workspace.
    "cargo clippy --lib",
    "cargo clippy --test api -- -D warnings",
    "cd crates/a && cargo clippy",
    // With other words, `find` would list other files.
    "find . -name '*.py' -ls",
    "find . -name '*.py' -empty",
    "find . -name '*.py' -user me",
    "find . -name '*.py' ! -name 'a*'",
    "find . -type f -name '*.py'",
    "find . -type f -name '*.ts'",
    "find . -name '*.js'",
    "find . -name '*.jsx'",
    "find . -name '*.cjs'",
    // Cargo refuses the original command and the rewritten command.
    "cargo run --target-dir x -v --bin harn",
];

/// Returns a config in which rules about cargo rewrite commands. Without this config, these rules give only hints.
fn of_stacks(stacks: &[&str]) -> serde_json::Value {
    let rules = ["target_dir_conflict", "test_no_capture_default"].map(|rule| format!("rule:rust.cargo.{rule}"));
    let answers: serde_json::Map<_, _> = rules.into_iter().map(|rule| (rule, json!("rewrite"))).collect();
    json!({"stacks": stacks, "answers": answers})
}

fn stub(directory: &Path, name: &str) {
    let path = directory.join(name);
    std::fs::write(
        &path,
        "#!/bin/sh\nprintf '%s' \"${0##*/} in ${PWD##*/}\"\nfor a; do printf '\\036%s' \"$a\"; done\nprintf '\\n'\n",
    )
    .unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a command with stand-ins for programs. Returns one line for each program, in order: its name and directory, then its words. Lines of
/// other output and of files follow. The number is the exit code.
fn run(command: &str) -> (Vec<Vec<String>>, Option<i32>) {
    let directory = tempfile::tempdir().unwrap();
    let bin = directory.path().join("bin");
    let scratch = directory.path().join("scratch");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(scratch.join("sub")).unwrap();
    for name in ["cargo", "pytest", "python", "find", "rg", "uv"] {
        stub(&bin, name);
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let output = Command::new("bash").args(["-c", command]).current_dir(&scratch).env("PATH", path).output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(&scratch).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.is_file()) {
        text += &format!("{}:\n{}", file.display(), std::fs::read_to_string(file).unwrap())
            .replace(&scratch.display().to_string(), "");
    }
    let lines = text.lines().map(|line| line.split('\u{1e}').map(str::to_owned).collect());
    (lines.collect(), output.status.code())
}

/// Returns the words that a program should get after `rewrite`, if it got `words` before. Each new word is at its position, and all other
/// words are unchanged.
fn given_after(rewrite: &Rewrite, words: &[String]) -> Vec<String> {
    let Some(program) = words.first() else { return Vec::new() };
    if let Some(replacement) = &rewrite.replace {
        let (_, directory) = program.split_once(' ').unwrap();
        let mut new = replacement.split(' ').map(str::to_owned);
        return [format!("{} {directory}", new.next().unwrap())].into_iter().chain(new).collect();
    }
    let mut given = words.to_vec();
    let begin = if given.get(1).is_some_and(|word| word.starts_with('+')) { 2 } else { 1 };
    given.splice(begin..begin, rewrite.after_program.iter().cloned());
    let dashes = given.iter().position(|word| word == "--");
    let at = dashes.unwrap_or(given.len());
    given.splice(at..at, rewrite.append.iter().cloned());
    if !rewrite.after_dashes.is_empty() {
        given.extend(dashes.is_none().then(|| "--".to_owned()));
        given.extend(rewrite.after_dashes.iter().cloned());
    }
    given
}

/// Returns every command from the catalogues, from the tables and from above that is rewritten, with the rewritten command and the rewrite.
fn rewritten() -> Vec<(String, String, Box<Rewrite>)> {
    let mut commands: Vec<String> = SURROUNDED.map(str::to_owned).into();
    for rule in registry().rules().iter().filter(|rule| rule.rule.rewrite.is_some()) {
        commands.extend(rule.rule.catches.iter().cloned());
    }
    let table = include_str!("../../cases/seed-rules.txt").lines().filter(|line| !line.starts_with('#'));
    commands.extend(table.filter_map(|line| line.split_once(" | ")?.1.rsplitn(3, " | ").last()).map(str::to_owned));
    let mut all = Vec::new();
    for stacks in [["rust", "none"], ["python", "none"], ["ts", "none"], ["harn", "none"]] {
        configure(of_stacks(&stacks)).unwrap();
        for command in &commands {
            if let ToolCallVerdict::Rewrite(Action::Shell(shell)) = ask(command) {
                let id = testing::inspect(|host| {
                    host.findings.iter().find(|finding| finding.action == "rewrite").unwrap().code.clone()
                });
                let rule = registry().rules().iter().find(|rule| *rule.rule.id == id).unwrap();
                all.push((command.clone(), shell.command, rule.rule.rewrite.clone().unwrap()));
            }
        }
    }
    all
}

#[test]
fn a_rewrite_changes_what_it_means_to_and_each_other_word_reaches_its_program_as_it_was() {
    let all = rewritten();
    assert!(all.len() >= 30, "only {} commands are rewritten", all.len());
    for command in SURROUNDED {
        assert!(all.iter().any(|(before, ..)| before == command), "`{command}` is not rewritten");
    }
    for (before, after, rewrite) in all {
        let ((one, status), (other, other_status)) = (run(&before), run(&after));
        assert_eq!((one.len(), status), (other.len(), other_status), "{before} => {after}: {one:?} => {other:?}");
        let mut changed = 0;
        for (one, other) in one.iter().zip(&other).filter(|(one, other)| one != other) {
            assert_eq!(*other, given_after(&rewrite, one), "{before} => {after}");
            changed += 1;
        }
        assert!(changed > 0, "{before} => {after}: nothing changed");
        assert!(rewrite.replace.is_none() || one.len() == 1, "{before} => {after}: it ran more than one command");
    }
}

#[test]
fn a_rewrite_that_cannot_be_proven_right_is_not_made_and_says_what_it_would_have_done() {
    configure(of_stacks(&["rust", "python", "ts", "harn"])).unwrap();
    for command in LEFT {
        let decided = word(command);
        assert!(decided == "allow" || decided == "ask", "{command}: {decided}");
        assert!(!rules().is_empty(), "{command}");
        testing::inspect(|host| {
            assert!(
                host.findings.iter().any(|finding| finding
                    .details
                    .as_deref()
                    .unwrap_or_default()
                    .contains("rewrite it, but ")),
                "{command}: {:?}",
                host.findings
            );
            assert!(host.reminders.is_empty());
        });
    }
}

#[test]
fn a_rewrite_is_reported_field_by_field_and_the_model_is_reminded_for_one_turn() {
    configure(of_stacks(&["rust"])).unwrap();
    assert_eq!(word("echo a && cargo check"), "echo a && cargo check --target-dir target-shared");
    testing::inspect(|host| {
        let [finding] = host.findings.as_slice() else { panic!("{:?}", host.findings) };
        assert_eq!((finding.code.as_str(), finding.action.as_str()), ("rust.cargo.target_dir_conflict", "rewrite"));
        assert_eq!(finding.references.len(), 1);
        let details: serde_json::Value = serde_json::from_str(finding.details.as_deref().unwrap()).unwrap();
        assert_eq!(
            details,
            json!({
                "action": "rewrite",
                "command": "echo a && cargo check --target-dir target-shared",
                "original_command": "echo a && cargo check",
                "rule_id": "rust.cargo.target_dir_conflict",
                "catalogue_id": "harn-canon/rust",
                "severity": "warning",
                "explanation": finding.explanation,
                "references": finding.references,
                "kind": "tool_rewrite",
                "matched": "cargo check",
                "place": [10, 21],
            })
        );
        let [reminder] = host.reminders.as_slice() else { panic!("{:?}", host.reminders) };
        assert_eq!((reminder.ttl_turns, reminder.tags.as_slice()), (Some(1), ["tool_rewritten".to_owned()].as_slice()));
        assert!(reminder.body.contains("cargo check --target-dir target-shared"));
    });
}

#[test]
fn a_refusal_elsewhere_in_the_command_leaves_nothing_rewritten() {
    configure(of_stacks(&["rust"])).unwrap();
    assert_eq!(word("cargo build && rm -rf /"), "deny");
    testing::inspect(|host| {
        assert!(host.reminders.is_empty());
        assert!(host.findings.iter().all(|finding| finding.action != "rewrite"), "{:?}", host.findings);
    });
}

#[test]
fn a_refusal_quotes_the_command_of_windows_that_it_is_about() {
    configure(json!({"stacks": []})).unwrap();
    let ToolCallVerdict::Reject(refusal) = ask("Clear-Disk -Number 1") else { panic!("it is refused") };
    assert!(refusal.reason.starts_with("`Clear-Disk -Number 1`: "), "{}", refusal.reason);
}
