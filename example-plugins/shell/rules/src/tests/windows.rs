//! Tests of commands of `cmd.exe` and PowerShell, with the tables `cases/cmd.txt` and `cases/powershell.txt`.

use super::{GUARD, configure, expect_none_wrong, rules};
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::json;

const CMD: &str = include_str!("../../cases/cmd.txt");
const POWERSHELL: &str = include_str!("../../cases/powershell.txt");

/// Minimum number of commands in a table that must be stopped.
const MIN_STOPPED: usize = 150;

/// Returns `stop` or `pass`, and the command, for each line. A backslash is an ordinary character, because paths
/// contain it.
fn cases(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table.lines().filter(|line| !line.starts_with("# ")).map(|line| line.split_once(' ').unwrap())
}

fn is_stopped(command: &str, dialect: ShellDialect) -> bool {
    testing::prime(|_| {});
    let shell = ShellCommand { command: command.into(), cwd: "/work/project".into(), dialect };
    let verdict = GUARD.get().verdict(&testing::session(), &testing::call("x", json!({}), shell.into()));
    matches!(verdict, Some(ToolCallVerdict::Reject(_) | ToolCallVerdict::Escalate(_)))
}

/// Returns the number of commands of a table that are stopped. Fails if a decision differs from the table.
fn stopped(table: &str, dialect: ShellDialect, given_as: impl Fn(&str) -> Option<String>) -> usize {
    configure(json!({"stacks": []})).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for (expected, case) in cases(table) {
        let Some(command) = given_as(case) else { continue };
        let is_stopped = is_stopped(&command, dialect);
        if is_stopped != (expected == "stop") {
            wrong.push(format!("`{command}` is to {expected}: {:?}", rules()));
        }
        count += usize::from(is_stopped);
    }
    expect_none_wrong(&wrong);
    count
}

#[test]
fn the_tables_hold_each_command_once() {
    for table in [CMD, POWERSHELL] {
        let mut commands: Vec<String> = cases(table).map(|(_, command)| command.to_lowercase()).collect();
        let count = commands.len();
        commands.sort();
        commands.dedup();
        assert_eq!(commands.len(), count);
        assert!(cases(table).all(|(expected, _)| matches!(expected, "stop" | "pass")));
    }
}

#[test]
fn commands_of_cmd_are_stopped_or_pass_as_the_table_says() {
    let count = stopped(CMD, ShellDialect::Cmd, |command| Some(command.to_owned()));
    assert!(count >= MIN_STOPPED, "{count} are stopped");
}

#[test]
fn commands_of_powershell_are_stopped_or_pass_as_the_table_says() {
    let count = stopped(POWERSHELL, ShellDialect::Powershell, |command| Some(command.to_owned()));
    assert!(count >= MIN_STOPPED, "{count} are stopped");
}

/// Returns the command in quotes, as another shell passes it on. Returns `None` if the command contains a quote.
fn quoted(begin: &str, command: &str) -> Option<String> {
    (!command.contains('\'')).then(|| format!("{begin} '{command}'"))
}

#[test]
fn another_shell_may_start_the_shell_of_windows() {
    let count = stopped(CMD, ShellDialect::Posix, |command| quoted("cmd /c", command));
    assert!(count >= MIN_STOPPED, "{count} of cmd are stopped");
    let count = stopped(POWERSHELL, ShellDialect::Posix, |command| quoted("pwsh -NoProfile -Command", command));
    assert!(count >= MIN_STOPPED, "{count} of PowerShell are stopped");
}

/// Neither shell distinguishes upper and lower case.
#[test]
fn letters_may_be_in_either_case() {
    let (upper, any) = (|command: &str| Some(command.to_uppercase()), |command: &str| command.starts_with("Remove-"));
    let count = stopped(POWERSHELL, ShellDialect::Powershell, |command| upper(command).filter(|_| any(command)));
    assert!(count >= 40, "{count} are stopped");
    let wrong: Vec<&str> = cases(CMD)
        .filter(|(expected, command)| *expected == "stop" && !is_stopped(&command.to_uppercase(), ShellDialect::Cmd))
        .map(|(_, command)| command)
        .collect();
    assert!(wrong.is_empty(), "in upper case these pass: {wrong:?}");
}

#[test]
fn a_rule_may_name_a_verb_and_leave_out_some_of_its_cmdlets() {
    let of = |program: &[&str], left_out: &[&str]| {
        let wanted = json!({"program": program, "no-program": left_out});
        json!({"stacks": [], "custom-rules": [{"id": "ours.verbs", "action": "deny", "match": [wanted]}]})
    };
    let decided = |config, command| {
        configure(config).unwrap();
        is_stopped(command, ShellDialect::Powershell)
    };
    assert!(decided(of(&["measure-*"], &["measure-object"]), "Measure-Command { x }"));
    assert!(!decided(of(&["measure-*"], &["measure-object"]), "MEASURE-OBJECT x"));
    assert!(!decided(of(&["measure-*"], &["measure-o*"]), "Measure-Object x"));
    assert!(decided(of(&["measure-*"], &["measure-object"]), "Measure-Object x; Measure-Command { y }"));
}
