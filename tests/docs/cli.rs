//! Pages that are followed literally: every command of their console blocks, in order, as one user, and what it prints.
//!
//! In the expected output `…` matches any text within a line, and a line of only `…` for any further lines;
//! `[exit N]` is the exit code where it is not 0.

use hookhost_tests::{Ended, User, hookhost, plugin};
use std::path::Path;
use std::process::{Command, Stdio};

/// A command and the lines that it is to print.
#[derive(Debug, Default)]
struct Example {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            examples.push(Example { line: number + 1, command: command.to_owned(), expected: Vec::new() });
        } else if inside {
            examples.last_mut().expect("a command before its output").expected.push(line.to_owned());
        }
    }
    examples
}

/// What a command prints, both streams as they come, and its exit code.
fn run(user: &User, command: &str) -> Vec<String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec 2>&1; {command}")]).current_dir(user.project()).stdin(Stdio::null());
    for (key, value) in user.command([""; 0]).get_envs().filter_map(|(key, value)| Some((key, value?))) {
        shell.env(key, value);
    }
    let directory = hookhost().parent().expect("its directory").to_owned();
    let own = user.path("bin");
    shell.env("PATH", format!("{}:{}:{}", directory.display(), own.display(), std::env::var("PATH").expect("PATH")));
    shell.env("HOOKHOST_HOOK_PROGRAM", own.join("hookhost-hook"));
    let Ended { code, stdout, .. } = Ended::of(&mut shell);
    let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
    if code != Some(0) {
        lines.push(format!("[exit {}]", code.map_or("by a signal".into(), |code| code.to_string())));
    }
    lines
}

/// Makes a program that is a script.
fn program(user: &User, name: &str, script: &str) {
    let path = user.write(&format!("../bin/{name}"), format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program of the test can be made executable");
}

fn fits(pattern: &str, line: &str) -> bool {
    let mut pieces = pattern.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        last = Some(piece);
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    match last {
        None | Some("") => last.is_some() || rest.is_empty(),
        Some(piece) => line.ends_with(piece),
    }
}

fn all_fit(patterns: &[String], lines: &[String]) -> bool {
    match (patterns.split_first(), lines.split_first()) {
        (None, None) => true,
        (Some((pattern, rest)), _) if pattern == "…" => {
            all_fit(rest, lines) || lines.split_first().is_some_and(|(_, lines)| all_fit(patterns, lines))
        }
        (Some((pattern, patterns)), Some((line, lines))) => fits(pattern, line) && all_fit(patterns, lines),
        _ => false,
    }
}

/// Types the commands of a page's console blocks one after the other, and compares what they print.
fn follow(user: &User, page: &str, at_least: usize) {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(page)).expect("the page");
    let examples = examples(&text);
    assert!(examples.len() >= at_least, "the examples were not found: {examples:#?}");
    for Example { line, command, expected } in &examples {
        let printed = run(user, command);
        assert!(
            all_fit(expected, &printed),
            "{page}:{line}: $ {command}\n--- expected\n{}\n--- printed\n{}",
            expected.join("\n"),
            printed.join("\n")
        );
    }
}

/// A user with these plugins in `plugins/`.
fn user_with(plugins: &[&str]) -> User {
    let user = User::new();
    for name in plugins {
        user.write(&format!("plugins/{name}.wasm"), std::fs::read(plugin(name)).expect("the plugin"));
    }
    user
}

#[test]
fn every_command_of_the_reference_prints_what_the_reference_says() {
    let user = user_with(&["path_guard", "bounded_shell", "token_budget", "shell_guard"]);
    // Stand-ins for an agent and for the hook with the resident host behind it.
    let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}"#;
    program(&user, "claude", "echo '2.1.330 (Claude Code)'");
    program(&user, "hookhost-hook", &format!("case $(cat) in *canary-denied*) echo '{deny}';; esac"));
    // What the real hook would start.
    program(&user, "hookhost", "exit 1");
    follow(&user, "docs/cli.md", 12);
}

#[test]
fn every_rule_that_needs_no_code_does_what_its_page_says() {
    follow(&user_with(&["path_guard", "tool_policy", "shell_guard"]), "docs/rules-without-code.md", 9);
}

#[test]
fn every_case_file_and_every_command_of_the_page_about_tests_does_what_the_page_says() {
    let user = user_with(&["path_guard", "shell_guard", "tool_policy"]);
    let page = crate::guide::page("docs/testing-rules.md");
    for block in crate::guide::blocks(&page) {
        if let Some(file) = &block.file {
            user.write(file, &block.text);
        }
    }
    follow(&user, "docs/testing-rules.md", 6);
}

#[test]
fn every_rule_of_an_agent_is_imported_as_its_page_says() {
    follow(&user_with(&[]), "docs/importing.md", 12);
}

#[test]
fn every_command_of_the_page_about_telemetry_prints_what_the_page_says() {
    follow(&user_with(&[]), "docs/telemetry.md", 6);
}

#[test]
fn the_reference_has_every_command_and_every_exit_code_of_the_help() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md")).unwrap();
    let help = User::new().run(["--help"]).stdout;
    let commands = help.split_once("Start here").unwrap().1.split_once("Without a command").unwrap().0;
    let names = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    assert!(names.clone().count() > 20, "the commands were not found: {help}");
    for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        assert!(text.contains(&format!("| `hookhost {name}")), "{name} is not in docs/cli.md");
    }
    let codes = help.split_once("Exit codes:").unwrap().1;
    let codes =
        codes.lines().filter_map(|line| line.split_whitespace().next()).filter_map(|word| word.parse::<u8>().ok());
    assert_eq!(codes.clone().count(), 8);
    for code in codes {
        assert!(text.contains(&format!("\n| {code} | ")), "{code} is not in docs/cli.md");
    }
}

#[test]
fn patterns_fit_as_they_say() {
    assert!(fits("a … c", "a b c") && fits("a …", "a b") && fits("a", "a"));
    assert!(!fits("a", "a b") && !fits("a … c", "a b") && !fits("b …", "a b"));
    let lines = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert!(all_fit(&lines(&["a", "…", "d"]), &lines(&["a", "b", "c", "d"])));
    assert!(!all_fit(&lines(&["a"]), &lines(&["a", "b"])));
}
