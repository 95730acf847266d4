//! Inside an agent the commands that loosen rules refuse.

use super::Person;
use hookhost_tests::{Ended, hookhost};
use std::process::Command;

/// The commands that loosen rules, and what each says that it does.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["allow", "x.wasm", "--yes"], "allows a plugin"),
    (&["trust", "--yes"], "changes which files are trusted"),
    (&["trust", "--revoke"], "changes which files are trusted"),
    (&["install", "claude-code"], "changes the settings of agents"),
    (&["uninstall", "claude-code"], "removes the hook from the settings of agents"),
    (&["approvals", "yes", "claude-code:1.2"], "answers a question of an agent"),
    (&["passkey", "add"], "registers a passkey"),
    (&["passkey", "remove"], "removes a passkey"),
    (&["allow-once", "1f3a9c07"], "lets a rejected call pass"),
];

#[test]
fn a_mark_of_an_agent_in_the_environment_refuses_them() {
    let person = Person::new("2.1.330");
    for mark in ["CLAUDECODE", "CURSOR_AGENT", "GEMINI_CLI", "CODEX_SANDBOX"] {
        for (arguments, does) in COMMANDS {
            let ended = Ended::of(person.command(arguments).env(mark, "1"));
            let says = format!("({mark} is set), and a command that {does} is for a person: nothing was changed");
            ended.expect(
                3,
                &[&says, &format!("try: hookhost {}, in a terminal that no agent has opened", arguments.join(" "))],
            );
        }
        let ended = Ended::of(person.command(&["install", "claude-code"]).env(mark, ""));
        ended.expect(0, &[]);
        let uninstall = person.run(&["uninstall", "claude-code"]);
        uninstall.expect(0, &[]);
    }
    assert!(!person.settings().exists());
}

#[test]
fn commands_that_loosen_nothing_run_inside_an_agent() {
    let person = Person::new("2.1.330");
    for arguments in [
        &["install", "claude-code", "--dry-run"][..],
        &["uninstall", "claude-code", "--dry-run"],
        &["trust", "--list"],
        &["agents"],
        &["allow"],
        &["approvals"],
        &["passkey"],
    ] {
        Ended::of(person.command(arguments).env("CLAUDECODE", "1")).expect(0, &[]);
    }
}

/// Runs a command below a shell that has the name of a program.
fn below(person: &Person, program: &str, arguments: &str) -> Ended {
    let copy = person.user.path("bin").join(program);
    // A shell of its own, so that it has the name. This process never has the file open, because a test beside this one could then inherit
    // it, and the program would be busy.
    assert!(Command::new("cp").arg("/bin/sh").arg(&copy).status().unwrap().success());
    let mut command = Command::new(&copy);
    command.args(["-c", &format!("sh -c '\"{}\" {arguments}; exit $?'; exit $?", hookhost().display())]);
    command.env_clear().current_dir(person.user.project());
    for (key, value) in person.command(&[]).get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    Ended::of(&mut command)
}

#[test]
#[cfg(target_os = "linux")]
fn a_parent_that_is_an_agent_refuses_them_and_another_does_not() {
    let person = Person::without_agent();
    for program in ["claude", "codex", "gemini", "hookhost"] {
        let ended = below(&person, program, "install claude-code");
        ended.expect(3, &[&format!("this runs below the agent `{program}`, and a command that changes")]);
        assert!(!person.settings().exists());
    }
    for program in ["cursor", "my-shell"] {
        below(&person, program, "install claude-code").expect(0, &[]);
        below(&person, program, "uninstall claude-code").expect(0, &[]);
    }
}
