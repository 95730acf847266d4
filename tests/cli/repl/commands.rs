//! Each command after a slash.

use super::{runs, says, scripted, talk, talk_with, texts};
use hookhost_tests::Entry;
use serde_json::json;

#[test]
fn help_lists_every_command() {
    let user = scripted(&[&says("never")]);
    let mut session = talk(&user);
    session.says("/help");
    for command in ["/help", "/hooks", "/tools", "/session", "/model", "/approve", "/show", "/quit"] {
        session.looks_like(&format!("\n{command} "));
    }
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert!(user.sessions().is_empty(), "a session begins with the first prompt");
}

#[test]
fn hooks_and_tools_show_what_the_commands_of_that_name_show() {
    let user = scripted(&[&says("never")]);
    let config = json!({ "prompt-submit": { "verdict": "keep" } });
    user.configure(&Entry::all_events("guard", config).keys("events = [\"prompt-submit\"]").to_toml());
    let mut session = talk(&user);
    session.says("/hooks");
    session.says("/tools");
    session.says("/quit");
    let (code, _, looks) = session.end_looking();
    assert_eq!(code, Some(0));
    let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    // Long lines are wrapped on the terminal.
    let unwrapped = looks.replace('\n', "");
    for command in ["hooks", "tools"] {
        let printed = trimmed(&user.run([command]).stdout);
        assert!(unwrapped.contains(&printed.replace('\n', "")), "{printed}\nis not in\n{looks}");
    }
}

#[test]
fn hooks_of_one_event_shows_its_chain_in_order_and_no_other() {
    let user = scripted(&[&says("never")]);
    let entry = |name: &str, keys: &str| {
        let copy = user.write(&format!("{name}.wasm"), std::fs::read(hookhost_tests::plugin("all-events")).unwrap());
        let keys = format!("events = [\"before-tool-call\", \"turn-end\"]\n{keys}");
        Entry::new(name, &copy).grants(hookhost_tests::ALL_EVENTS_GRANTS).keys(&keys).to_toml()
    };
    let last = entry("last", "priority = 90\nmode = \"observe\"");
    user.configure(&(last + &entry("first", "priority = 10\nactions = [\"shell\"]")));
    let mut session = talk(&user);
    session.says("/hooks before-tool-call");
    session.looks_like("before-tool-call (gate)\n  1. first priority 10, enforce");
    session.says("/hooks sesion-end");
    session.looks_like("error: there is no event `sesion-end`: did you mean `session-end`?");
    session.says("/quit");
    let (_, _, looks) = session.end_looking();
    // Long lines are wrapped on the terminal.
    let printed = user.run(["hooks", "before-tool-call"]).stdout.replace('\n', "");
    assert!(printed.contains("2. last priority 90, observe") && printed.contains("only actions shell"), "{printed}");
    assert!(looks.replace('\n', "").contains(&printed), "{printed}\nis not in\n{looks}");
    assert!(!looks.contains("turn-end"), "{looks}");
}

#[test]
fn a_session_is_shown_left_for_a_new_one_and_continued() {
    let user = scripted(&[&says("One."), &says("Two."), &says("Three.")]);
    let mut session = talk(&user);
    session.says("/session");
    session.looks_like("the next prompt begins a session");
    session.says("/session list");
    session.looks_like("there are no sessions yet");
    session.says("first");
    session.sees("One.");
    session.says("/session");
    session.looks_like("  model     scripted of scripted");
    session.looks_like("1 model call, ");
    let first = user.sessions()[0]["id"].as_str().unwrap().to_owned();
    session.looks_like(&format!("/sessions/{first}"));
    session.says("/session new");
    session.says("second");
    session.sees("Two.");
    session.says("/session list");
    session.looks_like("\n  first");
    session.looks_like("\n  second");
    session.says(&format!("/session resume {first}"));
    session.looks_like(&format!("the next prompt continues {first}"));
    session.says("third");
    session.sees("Three.");
    session.says(&format!("/session resume {first}"));
    session.looks_like(&format!("{first} is this session"));
    session.says("/session resume nothing");
    session.looks_like("error: there is no session `nothing`");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    let sessions = user.sessions();
    assert_eq!(sessions.len(), 2);
    let resumed = sessions.iter().find(|session| session["id"] == first.as_str()).unwrap();
    assert_eq!(texts(resumed), ["first", "One.", "third", "Three."]);
}

#[test]
fn a_session_in_use_is_refused_with_a_sentence_and_the_talk_continues() {
    let user = scripted(&[&says("One."), &says("Two.")]);
    let mut other = talk(&user);
    other.says("mine");
    other.sees("One.");
    let id = user.sessions()[0]["id"].as_str().unwrap().to_owned();
    let mut session = talk_with(&user, &["--session", &id]);
    session.says("yours");
    session.looks_like("is in use by another process");
    session.says("/session new");
    session.says("yours");
    session.sees("One.");
    for mut session in [other, session] {
        session.says("/quit");
        assert_eq!(session.end().0, Some(0));
    }
}

#[test]
fn the_model_is_shown_and_an_unknown_provider_changes_nothing() {
    let user = scripted(&[&says("One.")]);
    let mut session = talk(&user);
    session.says("/model");
    session.looks_like("scripted of scripted\n>");
    session.says("/model nobody small");
    session.looks_like("error: there is no provider named `nobody`");
    session.says("/model openai");
    session.looks_like("error: the provider openai needs an API key");
    session.says("/model opnai");
    session
        .looks_like("error: there is no provider `opnai`: type /model openai for that one, or /model scripted opnai");
    session.says("/model openai-like");
    session.looks_like("openai-like of scripted from the next prompt on");
    session.says("/model other");
    session.looks_like("other of scripted from the next prompt on");
    session.says("go");
    session.sees("One.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(user.sessions()[0]["model"], "other");
}

#[test]
fn whether_questions_are_asked_is_shown_and_changed() {
    let user = scripted(&[&runs("touch made"), &says("No."), &runs("touch made"), &says("Yes.")]);
    user.configure("[[rule]]\nid = \"ask\"\non = \"shell\"\nask = \"Run this?\"\n");
    let mut session = talk_with(&user, &["--approve", "deny"]);
    session.says("/approve");
    session.looks_like("deny: all questions of plugins are answered with no");
    session.says("go");
    session.sees("No.");
    session.says("/approve always");
    session.looks_like("error: /approve takes [ask | deny], not `always`");
    session.says("/approve ask");
    session.looks_like("ask: you are asked all questions of plugins");
    session.says("go");
    session.sees("Continue? Press ");
    assert!(!user.project().join("made").exists());
    session.agrees();
    session.sees("Yes.");
    session.says("/quit");
    let (_, screen) = session.end();
    assert!(screen.contains("no question is shown: the answer is set to no"), "{screen}");
    assert!(user.project().join("made").exists());
}

#[test]
fn a_long_result_is_folded_and_shown_in_full_when_asked_for() {
    let user = scripted(&[&runs("seq 1 7"), &runs("seq 11 18"), &says("Done.")]);
    let mut session = talk(&user);
    session.says("/show");
    session.looks_like("error: nothing was shown in part so far");
    session.says("go");
    session.looks_like("  5\n  … 3 more lines (/show 1)\n");
    session.looks_like("  15\n  … 4 more lines (/show 2)\n");
    session.sees("Done.");
    session.says("/show 1");
    session.looks_like("> /show 1\n1\n2\n3\n4\n5\n6\n7\n[exit code 0]\n");
    session.says("/show");
    session.looks_like("> /show\n11\n12\n13\n14\n15\n16\n17\n18\n[exit code 0]\n");
    session.says("/show 9");
    session.looks_like("error: there is no text 9: 1 to 2 are stored");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
}

#[test]
fn a_typo_is_reported_with_the_nearest_command_and_is_not_a_prompt() {
    let user = scripted(&[&says("never")]);
    let mut session = talk(&user);
    session.says("/modle");
    session.looks_like("error: there is no command /modle: did you mean /model?");
    session.says("/tools please");
    session.looks_like("error: /tools takes no arguments");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert!(user.sessions().is_empty());
}

#[test]
fn a_path_and_what_begins_with_a_blank_are_prompts() {
    let user = scripted(&[&says("One."), &says("Two.")]);
    let mut session = talk(&user);
    session.says("/etc/hosts is wrong");
    session.sees("One.");
    session.says(" /help");
    session.sees("Two.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(texts(&user.sessions()[0]), ["/etc/hosts is wrong", "One.", " /help", "Two."]);
}
