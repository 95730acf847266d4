//! Prompts and answers, in one session.

use super::{runs, says, scripted, talk, talk_with, texts};
use crate::pty::Session;
use hookhost_tests::{Entry, Reply, Server, User};
use serde_json::json;

#[test]
fn prompts_are_answered_in_one_session_that_starts_and_ends_once() {
    let user = scripted(&[&says("Hello.\n"), &says("And hello again.\n")]);
    let mut session = talk(&user);
    session.says("hi");
    session.sees("Hello.");
    session.says("again");
    session.sees("And hello again.");
    session.is_asked();
    session.types("\u{4}");
    let (code, _, looks) = session.end_looking();
    assert_eq!(code, Some(0), "{looks}");
    let sessions = user.sessions();
    let [stored] = sessions.as_slice() else { panic!("{} sessions", sessions.len()) };
    assert_eq!(texts(stored), ["hi", "Hello.\n", "again", "And hello again.\n"]);
    assert_eq!(stored["status"], "success");
    let id = stored["id"].as_str().unwrap();
    assert!(looks.ends_with(&format!("\nto continue this session: hookhost --session {id}")), "{looks}");
    let events = |name: &str| user.records().iter().filter(|record| record["event"] == name).count();
    assert_eq!([events("session-start"), events("prompt-submit"), events("session-end")], [1, 2, 1]);
}

/// An answer of a server that speaks OpenAI's protocol.
fn answer(text: &str) -> Reply {
    let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": "stop" }] });
    Reply::stream(&format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

#[test]
fn the_model_has_what_was_said_before_also_after_a_switch_to_another_provider() {
    let (one, two) = (Server::start(vec![answer("From one.")]), Server::start(vec![answer("From two.")]));
    let user = User::new();
    let provider = |name: &str, server: &Server| {
        let url = server.url();
        format!("[agent.providers.{name}]\nkind = \"openai\"\nbase-url = \"{url}/v1\"\nmodel = \"{name}-small\"\n")
    };
    user.configure(&format!("[agent]\nprovider = \"one\"\n{}{}", provider("one", &one), provider("two", &two)));
    let mut session = Session::start(user.command([""; 0]).env("TERM", "xterm"));
    session.says("first");
    session.sees("From one.");
    session.says("/model two two-large");
    session.sees("two-large of two from the next prompt on");
    session.says("second");
    session.sees("From two.");
    session.says("/quit");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(
        screen.contains("the session continues with two-large of two; so far it was with one-small of one"),
        "{screen}"
    );
    let asked = two.requests().pop().unwrap();
    assert!(asked.contains("first") && asked.contains("From one.") && asked.contains("two-large"), "{asked}");
    let sessions = user.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!(texts(&sessions[0]), ["first", "From one.", "second", "From two."]);
}

#[test]
fn a_session_is_continued_where_one_is_named() {
    let user = scripted(&[&says("One.")]);
    user.run(["run", "first", "--script", "script.toml"]).expect(0, &[]);
    let id = user.sessions()[0]["id"].as_str().unwrap().to_owned();
    let mut session = talk_with(&user, &["--session", &id]);
    session.says("second");
    session.sees(&format!("session {id}"));
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(texts(&user.sessions()[0]), ["first", "One.", "second", "One."]);
    let (code, screen) = talk_with(&user, &["--session", "nothing"]).end();
    assert_eq!(code, Some(2));
    assert!(screen.contains("there is no session `nothing`"), "{screen}");
}

#[test]
fn a_question_is_asked_between_the_lines_and_its_answer_is_not_a_prompt() {
    let user = scripted(&[&runs("touch made"), &says("Well."), &runs("touch more"), &says("So.")]);
    user.configure("[[rule]]\nid = \"ask\"\non = \"shell\"\nask = \"Run this command?\"\n");
    let mut session = talk(&user);
    session.says("go");
    session.sees("Continue? Press ");
    assert!(!user.project().join("made").exists());
    session.agrees();
    session.sees("Well.");
    session.says("more");
    session.sees_again("Continue? Press ");
    session.types("n\n");
    session.sees("So.");
    session.says("/quit");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(user.project().join("made").exists() && !user.project().join("more").exists());
    assert!(screen.contains("not approved, asked by the configuration"), "{screen}");
    assert_eq!(texts(&user.sessions()[0]).iter().filter(|text| **text == "y" || **text == "n").count(), 0);
}

#[test]
fn questions_of_agents_that_run_beside_each_other_are_asked_one_after_the_other() {
    let agents = "call = [{ tool = \"agent\", arguments = { prompt = \"one\" } }, { tool = \"agent\", arguments = { prompt = \"two\" } }]";
    let text = says("So.");
    let user = scripted(&[agents, &runs("touch made"), &runs("touch more"), &text, &text, &says("Well.")]);
    user.configure("[[rule]]\nid = \"ask\"\non = \"bash\"\nask = \"May the tool {tool} run?\"\n");
    let mut session = talk(&user);
    session.says("go");
    session.sees("Continue? Press ");
    // The other one asks as well.
    let asked = || user.records().iter().filter(|record| record["outcome"] == "escalated").count();
    let began = std::time::Instant::now();
    while asked() < 2 {
        assert!(began.elapsed().as_secs() < 60, "the other one does not ask");
    }
    session.agrees();
    session.sees_again("Continue? Press ");
    session.agrees();
    session.sees("Well.");
    session.says("/quit");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(user.project().join("made").exists() && user.project().join("more").exists(), "{screen}");
    // Each says which agent asks, and what that one works on.
    let sessions = user.sessions();
    for task in ["one", "two"] {
        let of_task = |session: &&serde_json::Value| texts(session)[0] == task;
        let id = sessions.iter().find(of_task).unwrap()["id"].as_str().unwrap();
        let asks = format!("of the sub-agent {id} (depth 1), whose task begins “{task}”:");
        assert_eq!(screen.matches(&asks).count(), 1, "{asks}: {screen}");
    }
}

#[test]
fn what_a_plugin_refuses_and_changes_is_shown_as_it_happens_and_the_talk_continues() {
    let user = scripted(&[&runs("echo hi"), &says("Done."), &says("Fine.")]);
    let config = json!({
        "before-tool-call": { "when": { "lacks": "true &&" }, "verdict": "modify", "value": { "command": "true && {command}" } },
        "prompt-submit": { "when": { "contains": "bad" }, "verdict": "reject", "reason": "not that word", "stop": true },
    });
    let only = "events = [\"before-tool-call\", \"prompt-submit\"]";
    user.configure(&Entry::all_events("guard", config).keys(only).to_toml());
    let mut session = talk(&user);
    session.says("go");
    session.looks_like("changed bash by guard\n  command: was echo hi\n  command: now true && echo hi\n");
    session.looks_like("Done.");
    session.says("bad");
    session.looks_like("error: Rejected by guard: not that word");
    session.says("good");
    session.looks_like("Fine.");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(user.sessions().len(), 1);
}

#[test]
fn a_session_that_can_no_longer_be_written_is_reported_and_continued_once_it_can() {
    let user = scripted(&[&runs("mv ../state/sessions/*.jsonl .."), &says("never"), &says("Back.")]);
    // Inside, the file could not be moved.
    let mut session = talk_with(&user, &["--no-sandbox"]);
    session.says("go");
    session.looks_like("error: the session ");
    session.says("/session");
    session.looks_like("the next prompt continues ");
    let files = std::fs::read_dir(user.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    let file = files.into_iter().find(|name| name.to_string_lossy().ends_with(".jsonl")).unwrap();
    std::fs::rename(user.path(".").join(&file), user.path("state/sessions").join(&file)).unwrap();
    session.says("on");
    session.sees("never");
    session.says("/quit");
    assert_eq!(session.end().0, Some(0));
    assert_eq!(user.sessions()[0]["status"], "success");
}

#[test]
fn without_a_terminal_there_is_help_and_the_missing_option_is_named() {
    let user = scripted(&[&says("never")]);
    let ended = user.run([""; 0]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("Usage: hookhost") && ended.stderr.contains("Start here"), "{}", ended.stderr);
    let ended = user.run(["--script", "script.toml"]);
    ended.expect(2, &["error: there is no terminal to talk at: give the prompt to `run`\n  try: hookhost run"]);
}

#[test]
fn a_provider_that_cannot_be_used_is_reported_before_anything_is_typed() {
    let user = User::new();
    let (code, screen) = Session::start(user.command(["--provider", "anthropic"]).env("TERM", "xterm")).end();
    assert_eq!(code, Some(1), "{screen}");
    assert!(screen.contains("set the environment variable ANTHROPIC_API_KEY"), "{screen}");
}

/// Whether a line is what the guide shows, where `…` matches any text, or itself.
fn fits(shown: &str, line: &str) -> bool {
    let mut rest = Some(line);
    for (place, piece) in shown.split('…').enumerate() {
        rest = rest.and_then(|rest| match place {
            0 => rest.strip_prefix(piece),
            _ => rest.find(piece).map(|at| &rest[at + piece.len()..]),
        });
    }
    rest.is_some_and(|rest| rest.is_empty() || shown.ends_with('…'))
}

#[test]
fn the_conversation_of_the_guide_is_as_it_is_shown() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/run-agent.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let section = guide.split_once("## At the terminal\n").unwrap().1.split("\n## ").next().unwrap();
    let block = |fence: &str| section.split_once(fence).unwrap().1.split_once("```").unwrap().0;
    let user = User::new();
    let made = std::process::Command::new("sh").args(["-ec", block("```sh\n")]).current_dir(user.project()).status();
    assert!(made.unwrap().success());
    let shown: Vec<&str> = block("```text\n").lines().collect();
    let arguments = shown[0].strip_prefix("$ hookhost ").unwrap().split(' ');
    let mut session = Session::start(user.command(arguments).env("TERM", "xterm"));
    for line in shown.iter().filter_map(|line| line.strip_prefix("> ")) {
        session.says(line);
    }
    let (code, _, looks) = session.end_looking();
    assert_eq!(code, Some(0));
    let lines: Vec<_> = looks.lines().collect();
    assert_eq!(lines.len(), shown.len() - 1, "{looks}");
    for (shown, line) in shown[1..].iter().zip(lines) {
        assert!(fits(shown, line), "the guide shows {shown:?}, and on the screen is {line:?}");
    }
}

#[test]
fn a_result_after_a_question_has_the_name_of_its_tool() {
    // The first call ends while the second one is asked about.
    let call = |command: &str| format!("{{ tool = \"bash\", arguments = {{ command = {command:?} }} }}");
    let both = format!(
        "call = [{}, {}]",
        call("until [ -e asked ]; do sleep 0.02; done; echo early; touch ended"),
        call("touch made")
    );
    let user = scripted(&[&both, &says("So.")]);
    let ask =
        json!({ "before-tool-call": { "when": { "contains": "made" }, "verdict": "escalate", "question": "Really?" } });
    user.configure(&Entry::all_events("guard", ask).keys("events = [\"before-tool-call\"]").to_toml());
    let mut session = talk(&user);
    session.says("go");
    session.yes();
    user.write("asked", "");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !user.project().join("ended").exists() {
        assert!(std::time::Instant::now() < deadline, "the first call does not end");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    session.agrees();
    session.sees("So.");
    session.says("/quit");
    let (code, _, looks) = session.end_looking();
    assert_eq!(code, Some(0), "{looks}");
    // It comes after its call or, if the question came between, after the beginning of its call.
    let shown_after = ["touch ended\"\n  early\n", " answered\n  early\n"];
    assert!(shown_after.iter().any(|shown| looks.contains(shown)), "{looks}");
}
