//! Rejected calls that a person lets pass once, at a terminal.

use super::{Home, Reply, policy, printed, wait_for};
use crate::pty::Session;
use hookhost_tests::Ended;
use rustix::process::Signal;
use serde_json::{Value, json};

/// Asks nobody: `touch asked.txt`, about which the plugin of [`policy`] asks, is rejected.
fn unattended() -> Home {
    Home::with(&format!("[settings]\non-question = \"reject\"\n{}", policy().to_toml()))
}

/// The code that the agent shows to its user alone.
#[track_caller]
fn code_of(reply: &Reply) -> String {
    let reason = reply.denial();
    let said: Value = serde_json::from_str(&reply.stdout).unwrap();
    let message = said["systemMessage"].as_str().unwrap_or_else(|| panic!("{reply:?}"));
    let (_, code) = message.split_once("hookhost allow-once ").unwrap_or_else(|| panic!("{message}"));
    let code = code.split('`').next().unwrap().to_owned();
    assert!(code.len() == 8 && !reason.contains(&code), "the model must not see the code: {reason}");
    code
}

/// What a person at a terminal sees, who gives this answer.
fn at_a_terminal(home: &Home, code: &str, answer: &str) -> (Option<i32>, String) {
    let mut session = Session::start(home.command(&["allow-once", code]).env("TERM", "dumb"));
    session.sees("Let exactly this call pass once? [y/N]");
    session.types(answer);
    session.end()
}

fn refused(home: &Home, code: &str) -> String {
    let (exit, screen) = Session::start(home.command(&["allow-once", code]).env("TERM", "dumb")).end();
    assert_eq!(exit, Some(2), "{screen}");
    screen
}

fn approvals(home: &Home, arguments: &[&str]) -> Ended {
    printed(&mut home.command(&[&["approvals"], arguments].concat()))
}

#[test]
fn a_person_lets_exactly_one_rejected_call_pass_and_all_of_it_is_recorded() {
    let home = unattended();
    let rejected = home.asked("s", "1", "touch asked.txt");
    let reason = rejected.denial();
    for said in ["asked-by-policy: may the file be written?", "The user can let exactly this call pass once"] {
        assert!(reason.contains(said), "{said:?} is not in {reason}");
    }
    let code = code_of(&rejected);
    assert_eq!(code_of(&home.asked("s", "2", "touch asked.txt")), code, "one code for one call");

    let (exit, screen) = at_a_terminal(&home, &code, "n\n");
    assert_eq!((exit, screen.contains("Nothing was allowed.")), (Some(3), true), "{screen}");
    code_of(&home.asked("s", "3", "touch asked.txt"));
    let (exit, screen) = at_a_terminal(&home, &code, "y\n");
    assert_eq!(exit, Some(0), "{screen}");
    for shown in ["policy asks: asked-by-policy: may the file be written?", "  $ touch asked.txt", "It may pass once"] {
        assert!(screen.contains(shown), "{shown:?} is not in {screen}");
    }
    assert!(refused(&home, &code).contains("no rejected call of the last ten minutes has the code"));

    home.asked("t", "4", "touch asked.txt").denial();
    home.asked("s", "5", "touch asked.txt ").denial();
    home.asked("s", "6", "touch asked.txt").passes();
    let next = code_of(&home.asked("s", "7", "touch asked.txt"));
    assert_ne!(next, code, "the yes was for one call");

    let [answer] = home.records(1, |record| record["kind"] == "answer").try_into().unwrap();
    assert_eq!((&answer["outcome"], &answer["answer"]["kind"]), (&json!("rejected"), &json!("approved")));
    assert_eq!(answer["answer"]["via"], "hookhost allow-once");
    let passed = home.records(1, |record| record["kind"] == "event" && !record["kept"].is_null());
    assert_eq!(passed[0]["kept"][0]["of"], answer["id"]);
    home.verify_log();
}

#[test]
fn without_a_terminal_or_inside_an_agent_nothing_is_allowed() {
    let home = unattended();
    let code = code_of(&home.asked("s", "1", "touch asked.txt"));
    printed(&mut home.command(&["allow-once", &code])).expect(2, &["this needs a terminal", "nothing was allowed"]);
    let (exit, screen) = Session::start(home.command(&["allow-once", &code]).env("CLAUDECODE", "1")).end();
    assert_eq!(exit, Some(3), "{screen}");
    assert!(
        screen.contains("a command that lets a rejected call pass is for a person: nothing was changed"),
        "{screen}"
    );
    assert!(refused(&home, "00000000").contains("ten minutes has the code \"00000000\""));
    assert!(refused(&home, &code[..4]).contains("is only a part of a code"));
    home.asked("s", "2", "touch asked.txt").denial();
}

#[test]
fn the_list_of_questions_shows_a_code_to_a_person_and_not_to_an_agent() {
    let home = unattended();
    let code = code_of(&home.asked("s", "1", "touch asked.txt"));
    let listed = approvals(&home, &[]);
    listed.expect(0, &[]);
    for said in [&code, "rejected; hookhost allow-once CODE lets it pass once", "touch asked.txt"] {
        assert!(listed.stdout.contains(said), "{said:?} is not in {listed:#?}");
    }
    for arguments in [&["approvals"][..], &["approvals", "--json"]] {
        let inside = printed(home.command(arguments).env("CLAUDECODE", "1"));
        inside.expect(0, &[]);
        assert!(inside.stdout.contains("touch asked.txt") && !inside.stdout.contains(&code), "{inside:#?}");
    }
    approvals(&home, &["yes", &code])
        .expect(2, &["this call was rejected", &format!("try: hookhost allow-once {code}")]);
    approvals(&home, &["no", &code]).expect(0, &[]);
    assert!(refused(&home, &code).contains("no rejected call of the last ten minutes has the code"));
}

#[test]
fn a_yes_ends_with_the_rules_under_which_the_call_was_rejected() {
    let home = unattended();
    let code = code_of(&home.asked("s", "1", "touch asked.txt"));
    assert_eq!(at_a_terminal(&home, &code, "y\n").0, Some(0));
    home.user.configure(&format!(
        "[settings]\non-question = \"reject\"\napproval-deadline = \"1m\"\n{}",
        policy().to_toml()
    ));
    assert_ne!(code_of(&home.asked("s", "2", "touch asked.txt")), code);
}

#[test]
fn a_yes_outlives_the_resident_host_and_counts_for_the_next_one() {
    let home = unattended();
    let resident = home.serve();
    let code = code_of(&home.asked("s", "1", "touch asked.txt"));
    super::end(resident, Signal::KILL);
    assert_eq!(at_a_terminal(&home, &code, "y\n").0, Some(0));
    home.asked("s", "2", "touch asked.txt").passes();
    wait_for("the records", || home.user.records().iter().any(|record| !record["kept"].is_null()));
    home.verify_log();
}

#[test]
fn the_rejection_of_a_plugin_has_no_code() {
    let home = unattended();
    let reply = home.asked("s", "1", "touch denied.txt");
    reply.is_denied_by_policy();
    assert!(!reply.stdout.contains("allow-once"), "{reply:?}");
    assert_eq!(approvals(&home, &["--json"]).stdout.trim(), "[]");
}
