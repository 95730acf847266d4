//! What takes long is shown in the last line, and leaves no trace.

use super::{runs, says, scripted, talk};
use crate::pty::Session;

/// A command that runs until the test ends it.
const UNTIL: &str = "while [ ! -e continue ]; do sleep 0.05; done; echo continued";

#[test]
fn a_tool_that_takes_long_is_shown_with_its_time_and_leaves_no_trace() {
    for variables in [&[("TERM", "xterm")][..], &[("TERM", "xterm"), ("NO_COLOR", "1")]] {
        let user = scripted(&[&format!("text = \"I wait.\\n\"\n{}", runs(UNTIL)), &says("Done.")]);
        let mut command = user.command(["run", "go", "--script", "script.toml"]);
        let mut session = Session::start(command.envs(variables.iter().copied()));
        session.looks_like(" bash 1 s, ");
        session.looks_like(" bash 2 s, ");
        session.looks_like(" tokens in, ");
        user.write("continue", "");
        let (code, screen, looks) = session.end_looking();
        assert_eq!(code, Some(0), "{screen}");
        let shown = looks.split_once("played, no model is asked.\n").unwrap().1;
        let expected =
            format!("I wait.\nbash command=\"{UNTIL}\"\n  continued\n  [exit code 0]\nDone.\n2 model calls, ");
        assert!(shown.starts_with(&expected), "{looks}");
        assert_eq!(screen.contains('\u{1b}'), variables.len() == 1, "{screen:?}");
    }
}

#[test]
fn a_question_is_alone_on_the_screen_until_it_is_answered() {
    let turn = format!(
        "call = [{{ tool = \"bash\", arguments = {{ command = \"{UNTIL}; touch gone\" }} }}, {{ tool = \"write_file\", arguments = {{ path = \"made\", content = \"\" }} }}]"
    );
    let user = scripted(&[&turn, &says("Done.")]);
    user.configure("[[rule]]\nid = \"ask\"\non = \"write_file\"\nask = \"Write this?\"\n");
    let mut session = talk(&user);
    session.says("go");
    let yes = session.yes();
    // Beside it a tool runs, for long enough to be shown as under way, and ends.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    user.write("continue", "");
    while !user.project().join("gone").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    session.looks_like("n for no:");
    session.types(&yes);
    let answered = "n for no: yes";
    session.looks_like(answered);
    session.sees("Done.");
    session.says("/quit");
    let (code, _, looks) = session.end_looking();
    assert_eq!(code, Some(0));
    assert!(user.project().join("made").exists());
    let (before, after) = looks.split_once(&format!("{answered}\n")).unwrap();
    assert!(!before.contains("continued\n") && after.contains("  continued\n"), "{looks}");
    assert!(!looks.contains(" s, "), "what was under way has left a trace: {looks}");
}

#[test]
fn nothing_is_shown_of_it_on_a_dumb_terminal_in_a_pipe_and_as_json() {
    let user = scripted(&[&runs("sleep 2"), &says("Done.")]);
    let run = ["run", "go", "--script", "script.toml"];
    let dumb = Session::start(user.command(run).env("TERM", "dumb")).end().1;
    let json = Session::start(user.command(run.iter().chain(&["--json"])).env("TERM", "xterm")).end().1;
    let piped = user.run(run);
    for screen in [dumb, json, piped.stderr, piped.stdout] {
        assert!(!screen.contains("bash 1 s") && !screen.contains('\u{8}'), "{screen}");
    }
}

#[test]
fn on_a_narrow_terminal_what_is_under_way_is_cut_and_never_wrapped() {
    let user = scripted(&[&runs(UNTIL), &says("Done.")]);
    let mut session = talk(&user);
    session.is_asked();
    session.resize((24, 20));
    session.types("go\r");
    session.sees("bash 1 s, ");
    session.sees("bash 2 s, ");
    user.write("continue", "");
    session.sees("Done.");
    session.says("/quit");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0));
    let mut shown = screen.split('\r').filter(|line| line.contains("bash 1 s, ")).peekable();
    assert!(shown.peek().is_some());
    for line in shown {
        let seen = line.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
        assert_eq!(seen.chars().count(), 19, "{seen:?}");
    }
}
