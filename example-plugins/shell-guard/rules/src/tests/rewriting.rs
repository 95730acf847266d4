//! Rewrites change what they mean to, and nothing else: both commands are run, with programs in the place of the real
//! ones that print what they are given.

use super::{ask, configure, registry, rules, word};
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Commands around a rewrite, each of which must come through unharmed.
const SURROUNDED: [&str; 24] = [
    "cargo build > out.log 2>&1",
    "cargo build --features \"a b\" -p 'x y'",
    "RUSTFLAGS='-C debuginfo=0' cargo build",
    "cd sub && cargo check",
    "(cd sub; cargo build)",
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
    "pytest tests/a b -k 'x or y' > log",
    "python -m pytest 'a b'",
    "cargo clippy --all-targets -- -D warnings",
    "cargo test --target-dir x filter",
    "cargo run --bin harn -- run 'a b'",
];

/// Commands in which a rewrite cannot be proven right, so that none is made.
const LEFT: [&str; 11] = [
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
];

fn stub(folder: &Path, name: &str) {
    let path = folder.join(name);
    std::fs::write(
        &path,
        "#!/bin/sh\nprintf '%s' \"${0##*/} in ${PWD##*/}\"\nfor a; do printf '\\036%s' \"$a\"; done\nprintf '\\n'\n",
    )
    .unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What the programs were given, in order: each its name and folder, then its words.
fn run(command: &str) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    let scratch = folder.path().join("scratch");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::create_dir_all(scratch.join("sub")).unwrap();
    for name in ["cargo", "pytest", "python", "find", "rg", "uv"] {
        stub(&bin, name);
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let output = Command::new("bash").args(["-c", command]).current_dir(&scratch).env("PATH", path).output().unwrap();
    let mut text = String::from_utf8(output.stdout).unwrap();
    for file in ["out.log", "log"] {
        text += &std::fs::read_to_string(scratch.join(file)).unwrap_or_default();
    }
    text.lines().map(|line| line.split('\u{1e}').map(str::to_owned).collect()).collect()
}

/// Every command that the catalogues and the tables rewrite, and those above.
fn rewritten() -> Vec<(String, String, Vec<String>)> {
    let mut commands: Vec<String> = SURROUNDED.map(str::to_owned).into();
    for rule in registry().rules().iter().filter(|rule| rule.rule.rewrite.is_some()) {
        commands.extend(rule.rule.catches.iter().cloned());
    }
    let table = include_str!("../../cases/seed-rules.txt").lines().filter(|line| !line.starts_with('#'));
    commands.extend(table.filter_map(|line| line.split_once(" | ")?.1.rsplitn(3, " | ").last()).map(str::to_owned));
    let mut all = Vec::new();
    for stacks in [["rust", "none"], ["python", "none"], ["ts", "none"], ["harn", "none"]] {
        configure(json!({"stacks": stacks})).unwrap();
        for command in &commands {
            if let ToolCallVerdict::Rewrite(Action::Shell(shell)) = ask(command) {
                let rule = testing::inspect(|host| {
                    host.findings.iter().find(|finding| finding.action == "rewrite").unwrap().code.clone()
                });
                let rule = registry()
                    .rules()
                    .iter()
                    .find(|other| other.rule.id == rule)
                    .unwrap()
                    .rule
                    .rewrite
                    .clone()
                    .unwrap();
                let inserted = [rule.after_program, rule.append, rule.after_dashes].concat();
                all.push((command.clone(), shell.command, inserted));
            }
        }
    }
    all
}

#[test]
fn only_the_words_that_a_rewrite_adds_reach_the_programs_in_addition() {
    let all = rewritten();
    assert!(all.len() >= 40, "only {} commands are rewritten", all.len());
    for (before, after, inserted) in all {
        let (one, other) = (run(&before), run(&after));
        if inserted.is_empty() {
            let words: Vec<&str> = other[0].iter().skip(1).map(String::as_str).collect();
            assert!(
                one.len() == 1 && other.len() == 1 && words[..2] == ["--files", "-t"],
                "{before} => {after}: {other:?}"
            );
            continue;
        }
        assert_eq!(one.len(), other.len(), "{before} => {after}");
        let mut changed = 0;
        for (one, other) in one.iter().zip(&other) {
            let mut rest = other.clone();
            for word in inserted.iter().filter(|_| one != other) {
                let at = rest
                    .iter()
                    .rposition(|other| other == word)
                    .unwrap_or_else(|| panic!("{before} => {after}: {other:?} lacks {word}"));
                rest.remove(at);
            }
            // `--` is added where the words go behind it.
            let dashes = !one.contains(&"--".to_owned());
            rest.retain(|word| !(dashes && word == "--"));
            assert_eq!(&rest, one, "{before} => {after}");
            changed += usize::from(one != other);
        }
        assert!(changed > 0, "{before} => {after}: nothing changed");
    }
}

#[test]
fn a_rewrite_that_cannot_be_proven_right_is_not_made_and_says_what_it_would_have_done() {
    configure(json!({"stacks": ["rust", "python"]})).unwrap();
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
    configure(json!({"stacks": ["rust"]})).unwrap();
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
    configure(json!({"stacks": ["rust"]})).unwrap();
    assert_eq!(word("cargo build && rm -rf /"), "deny");
    testing::inspect(|host| {
        assert!(host.reminders.is_empty());
        assert!(host.findings.iter().all(|finding| finding.action != "rewrite"), "{:?}", host.findings);
    });
}
