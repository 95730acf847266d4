use super::*;
use crate::bound::quote;
use hookhost_guest::testing::{call, session, shell};
use proptest::prelude::*;
use std::process::Command;

fn configure(config: impl serde::Serialize) -> Result<(), String> {
    let config = hookhost_guest::parse(&json!(config).to_string()).map_err(|error| error.to_string())?;
    BoundedShell::configure(config)
}

fn ask(command: &str) -> ToolCallVerdict {
    BoundedShell::before_tool_call(&session(), &shell(command))
}

fn rewritten(command: &str) -> String {
    match ask(command) {
        ToolCallVerdict::Rewrite(Action::Shell(shell)) => shell.command,
        other => panic!("{command}: {other:?}"),
    }
}

#[test]
fn a_command_is_put_under_the_limit_once() {
    configure(json!({"limit-seconds": 30, "kill-after-seconds": 2})).unwrap();
    let bounded = rewritten("echo 'hi there'");
    assert_eq!(bounded, r"timeout -k 2 30 sh -c 'echo '\''hi there'\'''");
    assert_eq!(ask(&bounded), ToolCallVerdict::Allow);
}

#[test]
fn what_only_begins_like_a_bounded_command_is_bounded_as_a_whole() {
    configure(json!({})).unwrap();
    for command in [
        "timeout -k 5 60 sh -c 'true'; sleep 9999",
        "timeout -k 5 60 sh -c 'true' 'x'",
        "timeout -k 5 60 sh -c 'a'; sleep 9999; 'b'",
        "timeout -k 5 60 sh -c '",
        "timeout -k 5 60 sh -c true",
        "timeout -k 5 61 sh -c 'true'",
        " timeout -k 5 60 sh -c 'true'",
    ] {
        assert!(rewritten(command).ends_with(&quote(command)), "{command}");
    }
}

#[test]
fn directory_and_dialect_stay_as_they_are() {
    configure(json!({})).unwrap();
    let ToolCallVerdict::Rewrite(Action::Shell(after)) = ask("ls") else { panic!("not rewritten") };
    assert_eq!(after.cwd, session().cwd);
    assert_eq!(after.dialect, ShellDialect::Posix);
}

#[test]
fn other_actions_are_left_alone() {
    configure(json!({"on-other-dialects": "reject"})).unwrap();
    let read = call("read_file", json!({}), Action::ReadFile("a".into()));
    assert_eq!(BoundedShell::before_tool_call(&session(), &read), ToolCallVerdict::Allow);
}

#[test]
fn other_dialects_do_as_configured() {
    let other = |dialect| {
        let shell = ShellCommand { command: "dir".into(), cwd: "C:/".into(), dialect };
        BoundedShell::before_tool_call(&session(), &call("run", json!({}), shell.into()))
    };
    configure(json!({})).unwrap();
    assert_eq!(other(ShellDialect::Powershell), ToolCallVerdict::Allow);
    configure(json!({"on-other-dialects": "reject"})).unwrap();
    for dialect in [ShellDialect::Powershell, ShellDialect::Cmd, ShellDialect::Unknown] {
        assert!(matches!(other(dialect), ToolCallVerdict::Reject(_)), "{dialect:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_its_name() {
    for (config, name) in [
        (json!({"limit-seconds": 0}), "limit-seconds"),
        (json!({"limit-seconds": 86_401}), "limit-seconds"),
        (json!({"kill-after-seconds": 0}), "kill-after-seconds"),
        (json!({"shell": "sh; rm -rf /"}), "shell"),
        (json!({"timeout": ""}), "timeout"),
        (json!({"timeout": "-x"}), "timeout"),
        (json!({"limit": 1}), "limit"),
    ] {
        let error = configure(&config).unwrap_err();
        assert!(error.contains(name), "{config}: {error}");
    }
}

fn run(command: &str) -> (Vec<u8>, Option<i32>) {
    let output = Command::new("sh").args(["-c", command]).output().unwrap();
    (output.stdout, output.status.code())
}

#[test]
fn a_bounded_command_does_what_the_command_does() {
    configure(json!({})).unwrap();
    for command in
        ["echo \"a  b\" 'c'\necho $((1+2))", "exit 3", "cat <<'X'\n it's \\ $here\nX", "printf %s \"$0\"", ""]
    {
        assert_eq!(run(&rewritten(command)), run(command), "{command}");
    }
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    configure(json!({"limit-seconds": 1, "kill-after-seconds": 1})).unwrap();
    assert_eq!(run(&rewritten("sleep 30")).1, Some(124));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_real_shell_reads_a_quoted_text_as_that_text(text in "[^\0]{0,40}") {
        let (out, _) = run(&format!("printf %s {}", quote(&text)));
        prop_assert_eq!(out, text.into_bytes());
    }

    #[test]
    fn whatever_is_bounded_is_recognised_and_nothing_else_is(command in any::<String>(), tail in "[^']{1,5}") {
        configure(json!({})).unwrap();
        let bounded = match ask(&command) {
            ToolCallVerdict::Rewrite(Action::Shell(shell)) => shell.command,
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        prop_assert_eq!(ask(&bounded), ToolCallVerdict::Allow);
        prop_assert_ne!(ask(&format!("{bounded}{tail}")), ToolCallVerdict::Allow);
    }
}
