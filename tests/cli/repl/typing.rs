//! The line that is typed: edited, completed, remembered, on terminals of all kinds.

use super::{runs, says, scripted, talk, texts};
use crate::pty::Session;
use std::os::unix::fs::PermissionsExt as _;

const UP: &str = "\u{1b}[A";
const LEFT: &str = "\u{1b}[D";
const ALT_ENTER: &str = "\u{1b}\r";

#[test]
fn what_was_typed_is_remembered_from_one_conversation_to_the_next_for_the_user_alone() {
    let user = scripted(&[&says("One."), &says("Two.")]);
    let mut session = talk(&user);
    session.says("the first prompt");
    session.sees("One.");
    session.says(" a secret prompt");
    session.sees("Two.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    let file = user.path("state/history");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("the first prompt") && !kept.contains("secret"), "{kept}");

    let mut session = talk(&user);
    session.is_asked();
    session.types(UP);
    session.looks_like("> /quit");
    session.types(UP);
    session.looks_like("> the first prompt");
    session.types("\r");
    session.sees("One.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(texts(&user.sessions()[0])[0], "the first prompt");
}

#[test]
fn no_more_is_remembered_than_a_thousand_lines() {
    let user = scripted(&[&says("never")]);
    std::fs::create_dir_all(user.path("state")).unwrap();
    let lines: String = (0..1500).map(|number| format!("line {number}\n")).collect();
    std::fs::write(user.path("state/history"), format!("#V2\n{lines}")).unwrap();
    let mut session = talk(&user);
    session.says("/help");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    let kept = std::fs::read_to_string(user.path("state/history")).unwrap();
    let kept: Vec<_> = kept.lines().skip(1).collect();
    assert_eq!((kept.len(), kept[0], kept[999]), (1000, "line 502", "/quit"));
}

#[test]
fn a_history_that_cannot_be_written_is_reported_once_and_the_talk_continues() {
    let user = scripted(&[&says("One.")]);
    std::fs::create_dir_all(user.path("state/history")).unwrap();
    let mut session = talk(&user);
    session.says("hi");
    session.sees("One.");
    session.says("/quit");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0));
    assert_eq!(screen.matches("what you type is not remembered in ").count(), 1, "{screen}");
}

#[test]
fn tab_completes_commands_sessions_and_models() {
    let user = scripted(&[&says("One.")]);
    let mut session = talk(&user);
    session.says("first words");
    session.sees("One.");
    let id = user.sessions()[0]["id"].as_str().unwrap().to_owned();
    session.is_asked();
    session.types("/ap\t de\t\r");
    session.looks_like("> /approve deny\ndeny: ");
    session.is_asked();
    session.types("/session res\t \t\r");
    session.looks_like(&format!("> /session resume {id}\n{id} is this session"));
    session.is_asked();
    session.types("/model sc\t\r");
    session.looks_like("> /model scripted\nscripted of scripted from the next prompt on");
    session.is_asked();
    // One Tab shows both.
    session.types("/s\t");
    session.looks_like("/session  /show");
    session.types("how\r");
    session.looks_like("error: nothing was shown in part so far");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn a_prompt_has_several_lines_where_it_is_told_to_and_where_it_is_pasted() {
    let user = scripted(&[&says("One."), &says("Two."), &says("Three.")]);
    let mut session = talk(&user);
    session.is_asked();
    session.types("one\\\rtwo\r");
    session.sees("One.");
    session.is_asked();
    session.types(&format!("three{ALT_ENTER}four\r"));
    session.sees("Two.");
    session.is_asked();
    session.types("\u{1b}[200~five\r\nsix\u{1b}[201~\r");
    session.sees("Three.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(texts(&user.sessions()[0]), ["one\ntwo", "One.", "three\nfour", "Two.", "five\nsix", "Three."]);
}

#[test]
fn wide_and_combined_characters_are_edited_as_they_are_seen() {
    let user = scripted(&[&says("One.")]);
    let mut session = talk(&user);
    session.is_asked();
    // After `日` comes an x: one step left is one character of two columns.
    session.types(&format!("日本{LEFT}x e\u{301} 🎉"));
    session.looks_like("> 日x e\u{301} 🎉本");
    session.types("\r");
    session.sees("One.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(texts(&user.sessions()[0])[0], "日x e\u{301} 🎉本");
}

#[test]
fn a_line_longer_than_the_terminal_stays_whole_where_that_is_resized() {
    let user = scripted(&[&says("One.")]);
    let mut session = talk(&user);
    session.is_asked();
    session.resize((10, 20));
    let long = "a long line of many words that wraps again and again".to_owned();
    session.types(&long[..30]);
    session.resize((30, 50));
    session.types(&long[30..]);
    session.types("\r");
    session.sees("One.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(texts(&user.sessions()[0])[0], long);
}

#[test]
fn a_terminal_that_cannot_edit_lines_takes_them_whole() {
    let user = scripted(&[&runs("sleep 2"), &says("One."), &says("Two.")]);
    let mut session = Session::start(user.command(["--script", "script.toml"]).env("TERM", "dumb"));
    session.sees_times("> ", 1);
    session.types("hi\\\nthere\n");
    session.sees_times("> ", 2);
    session.types("/modle\n");
    session.sees("did you mean /model?");
    session.sees_times("> ", 3);
    session.types("more\n");
    session.sees("Two.");
    session.types("\u{4}");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains('\u{1b}') && !screen.contains('⠋'), "{screen:?}");
    assert_eq!(texts(&user.sessions()[0])[0], "hi\nthere");
}

#[test]
fn a_note_comes_above_the_line_that_is_typed() {
    let user = scripted(&[&says("One.")]);
    user.configure("");
    let mut session = talk(&user);
    session.is_asked();
    session.types("half a li");
    session.looks_like("> half a li");
    user.configure("[[rule]]\nid = \"ask\"\non = \"web\"\nask = \"Send this?\"\n");
    session.looks_like("other rules apply from now on: ");
    session.looks_like("\n> half a li");
    session.types("ne\r");
    session.sees("One.");
    session.says("/quit");
    let (_, _, looks) = session.end_looking();
    let lines: Vec<_> = looks.lines().filter(|line| line.contains("half a line")).collect();
    assert_eq!(lines, ["> half a line"], "{looks}");
    assert_eq!(texts(&user.sessions()[0])[0], "half a line");
}
