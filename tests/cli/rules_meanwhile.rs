//! Rules that change while a question is open: the yes does not count for what the new rules reject.

use crate::pty::Session;
use hookhost_tests::{Entry, User};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The rule about calls of one plugin.
fn rule(behaviour: &Value) -> String {
    let config = json!({ "before-tool-call": behaviour });
    Entry::all_events("guard", config).keys("events = [\"before-tool-call\"]").to_toml()
}

/// A person who is asked by that plugin whether a command may run, while the rules change to these.
fn asked_while_the_rules_change(user: &User, to: &Value) -> Session {
    let session = asked(user);
    user.configure(&rule(to));
    // The note about it comes after the question, which is alone on the screen.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !user.records().iter().any(|record| record["kind"] == "rules-changed") {
        assert!(Instant::now() < deadline, "the rules are not taken up");
    }
    assert!(!user.project().join("made").exists(), "it ran before anybody answered");
    session
}

/// A person who is asked by that plugin whether a command may run.
fn asked(user: &User) -> Session {
    user.configure(&rule(&json!({ "verdict": "escalate", "question": "Run it?" })));
    user.write(
        "script.toml",
        "[[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch made\" } }]\n[[turn]]\ntext = \"Bye.\"\n",
    );
    let mut session = Session::start(user.command(["run", "go", "--script", "script.toml"]).env("TERM", "dumb"));
    session.sees("guard asks: Run it?");
    session.yes();
    session
}

#[test]
fn a_yes_waits_for_rules_that_have_changed_a_moment_before() {
    let user = User::new();
    let mut session = asked(&user);
    user.configure(&rule(&json!({ "verdict": "reject", "reason": "not any more" })));
    session.agrees();
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!user.project().join("made").exists() && screen.contains("did not count"), "{screen}");
}

#[test]
fn a_yes_to_what_new_rules_reject_runs_nothing_and_that_is_reported() {
    let user = User::new();
    let mut session = asked_while_the_rules_change(&user, &json!({ "verdict": "reject", "reason": "not any more" }));
    session.agrees();
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "the model continues with the refusal: {screen}");
    assert!(!user.project().join("made").exists(), "{screen}");
    let place = |text: &str| screen.find(text).unwrap_or_else(|| panic!("{text:?} is not in {screen}"));
    let changed = place("note: other rules apply from now on: changed guard\n");
    let refused = place("rejected bash command=\"touch made\" by guard: not any more\n");
    let why = place(
        "note: your yes to before-tool-call did not count: the rules had changed by then, and it was rejected: \
         Rejected by guard: not any more\n",
    );
    assert!(changed < refused && refused < why, "{screen}");
    assert_eq!(screen.matches("Continue? Press ").count(), 1, "{screen}");
}

#[test]
fn a_yes_to_what_new_rules_ask_about_is_followed_by_their_question() {
    for (answer, runs) in [(None, true), (Some("n\n"), false)] {
        let user = User::new();
        let other = json!({ "verdict": "escalate", "question": "Even today?" });
        let mut session = asked_while_the_rules_change(&user, &other);
        session.agrees();
        session.sees("guard asks: Even today?");
        assert!(!user.project().join("made").exists(), "the first yes was no answer to the second question");
        session.sees_times("Continue? Press ", 2);
        match answer {
            Some(no) => session.types(no),
            None => session.agrees(),
        }
        let (code, screen) = session.end();
        assert_eq!(code, Some(0), "{screen}");
        assert_eq!(user.project().join("made").exists(), runs, "{screen}");
        // Their own no needs no explanation.
        assert!(!screen.contains("did not count"), "{screen}");
    }
}
