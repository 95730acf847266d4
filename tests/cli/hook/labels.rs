//! The labels of a session: who added them, and how a person removes them.

use super::{Home, printed};
use crate::pty::Session;
use hookhost_tests::Ended;
use serde_json::Value;

/// Marks a session that reads `.env`, and then rejects each request.
const RULES: &str = "
[[rule]]
id = \"secret\"
on = \"read\"
path = \".env\"
label = \"read:secret\"

[[rule]]
id = \"leak\"
on = \"web\"
when = 'has(\"read:secret\")'
reject = \"This session has read a secret\"
stops = [\"https://example.com\"]
passes = [{ url = \"https://example.com\", facts = { \"has(read:secret)\" = false } }]
";

/// A home in which the session `s` has read `.env`.
fn labelled() -> Home {
    let home = Home::with(RULES);
    home.asked("s", "1", "curl https://example.com").passes();
    home.asked("s", "2", "cat .env").passes();
    let reason = home.asked("s", "3", "curl https://example.com").denial();
    assert!(reason.contains("This session has read a secret"), "{reason}");
    home
}

fn labels(home: &Home, arguments: &[&str]) -> Ended {
    printed(&mut home.command(&[&["session", "labels"], arguments].concat()))
}

#[track_caller]
fn assert_shows(ended: &Ended, shown: &[&str]) {
    ended.expect(0, &[]);
    for shown in shown {
        assert!(ended.stdout.contains(shown), "{shown:?} is not in {ended:#?}");
    }
}

#[test]
fn a_label_is_shown_with_the_call_that_added_it() {
    let home = labelled();
    let listed = labels(&home, &["--json"]);
    listed.expect(0, &[]);
    let all: Value = serde_json::from_str(&listed.stdout).unwrap();
    let label = &all[0];
    assert_eq!(
        (&label["name"], &label["plugin"], all.as_array().unwrap().len()),
        (&"read:secret".into(), &"rules".into(), 1)
    );
    let (session, event) = (label["session"].as_str().unwrap(), label["event"].as_str().unwrap());
    let why = format!("hookhost why {event}");
    assert_shows(&labels(&home, &[session]), &[session, "read:secret", "rules: Bash", "cat .env", &why]);
    assert_shows(&labels(&home, &["other"]), &["No session has a label."]);
    assert_shows(&printed(&mut home.command(&["why", event])), &["added the label read:secret"]);
    assert_shows(&printed(&mut home.command(&["why"])), &["the session had the label read:secret"]);
}

#[test]
fn a_person_at_a_terminal_removes_a_label_and_the_log_says_so() {
    let home = labelled();
    let all: Value = serde_json::from_str(&labels(&home, &["--json"]).stdout).unwrap();
    let (session, event) = (all[0]["session"].as_str().unwrap(), all[0]["event"].as_str().unwrap());
    let unlabel = |more: &[&str]| home.command(&[&["session", "unlabel"], more].concat());
    printed(&mut unlabel(&[session])).expect(2, &["this needs a terminal", "nothing was removed"]);
    let (exit, screen) = Session::start(unlabel(&[session]).env("CLAUDECODE", "1")).end();
    assert_eq!(exit, Some(3), "{screen}");
    assert!(screen.contains("a command that removes labels of a session is for a person"), "{screen}");
    for (more, said) in [(&["other"][..], "has no labels of its own"), (&[session, "a"], "has no label a")] {
        let (exit, screen) = Session::start(unlabel(more).env("TERM", "dumb")).end();
        assert_eq!((exit, screen.contains(said)), (Some(2), true), "{screen}");
    }
    for (answer, exit, said) in [("n\n", 3, "Nothing was removed."), ("y\n", 0, "The labels are removed.")] {
        home.asked("s", &format!("before {answer}"), "curl https://example.com").denial();
        let mut terminal = Session::start(unlabel(&[session, "read:secret"]).env("TERM", "dumb"));
        terminal.sees("Remove these labels from the session? [y/N]");
        terminal.types(answer);
        let (ended, screen) = terminal.end();
        assert_eq!((ended, screen.contains(said)), (Some(exit), true), "{screen}");
    }
    home.asked("s", "4", "curl https://example.com").passes();
    let removed = "hookhost removed labels: read:secret";
    assert_shows(
        &printed(&mut home.command(&["why", event])),
        &["added the label read:secret", "later, record", removed],
    );
    assert_shows(&printed(&mut home.command(&["audit", "show"])), &[removed]);
    home.verify_log();
}
