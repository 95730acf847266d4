//! A person at a terminal: is asked, sees what would happen, and what they answer counts.

use crate::pty::Session;
use hookhost_tests::{Entry, User, plugin};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

/// A user whose plugin changes a call and asks about it, and a script that makes one.
fn asked() -> User {
    let user = User::new();
    let config = json!({ "before-tool-call": [
        { "when": { "round": 1, "lacks": "true &&" }, "verdict": "modify", "value": { "command": "true && {command}" } },
    ] });
    let ask = json!({ "before-tool-call": { "verdict": "escalate", "question": "Is {command} right?" } });
    let copy = user.write("asks.wasm", std::fs::read(plugin("all-events")).unwrap());
    let asks = Entry::new("careful", &copy).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(ask);
    let only = "events = [\"before-tool-call\"]";
    user.configure(&format!(
        "{}{}",
        Entry::all_events("changes", config).keys(only).to_toml(),
        asks.keys(only).to_toml()
    ));
    user.write(
        "script.toml",
        "[[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch made\" } }]\n[[turn]]\ntext = \"Bye.\"\n",
    );
    user
}

const RUN: [&str; 4] = ["run", "go", "--script", "script.toml"];

#[test]
fn a_question_shows_the_final_value_what_was_changed_by_whom_and_a_yes_lets_it_run() {
    let user = asked();
    let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
    session.sees("Continue? Press ");
    assert!(!user.project().join("made").exists(), "it ran before anybody answered");
    session.agrees();
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    for text in [
        "careful asks: Is true && touch made right?\n",
        "bash\n  $ true && touch made\n",
        "changed by changes:\n    - arguments.command: touch made\n    + arguments.command: true && touch made\n",
        "If you do not answer within 5 min, the answer is no.\n",
        "Bye.",
    ] {
        assert!(screen.contains(text), "{text:?} is not in {screen}");
    }
    assert!(user.project().join("made").exists());
}

#[test]
fn anything_but_a_yes_is_a_no() {
    // A slip is asked about once more, a second one is a no.
    for answers in [&["n\n"][..], &["\n"], &["yep\n", "yep\n"], &["\u{4}"]] {
        let user = asked();
        let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
        for (index, answer) in answers.iter().enumerate() {
            session.sees_times("Continue? Press ", index + 1);
            session.types(answer);
        }
        let (code, screen) = session.end();
        assert_eq!(code, Some(0), "the model continues with the refusal: {screen}");
        assert!(screen.contains("not approved, asked by careful"), "{screen}");
        assert!(!user.project().join("made").exists());
    }
}

#[test]
fn a_key_that_is_not_that_of_the_question_is_asked_again_and_is_not_a_yes() {
    // Habit, and what is typed on although a question is there: keys that follow each other at once.
    for is_habit in [true, false] {
        let user = asked();
        let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
        let yes = session.yes();
        session.types(&if is_habit { "y".to_owned() } else { format!("as{yes}") });
        session.sees("That is not the key of this question.");
        assert_eq!(session.yes(), yes, "it is the same question");
        assert!(!user.project().join("made").exists());
        session.agrees();
        let (_, screen) = session.end();
        assert!(user.project().join("made").exists(), "{screen}");
    }
    let user = asked();
    let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
    for times in 1..=2 {
        session.sees_times("Continue? Press ", times);
        session.types("y");
    }
    let (_, screen) = session.end();
    assert!(screen.contains("the key of the question was not pressed"), "{screen}");
    assert!(!user.project().join("made").exists(), "{screen}");
}

#[test]
fn after_a_question_the_terminal_treats_keys_as_before() {
    let ends: [fn(&mut Session); 2] =
        [|session| session.types("n"), |session| kill_process(Pid::from_child(&session.child), Signal::INT).unwrap()];
    for end in ends {
        let user = asked();
        let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
        session.sees("Continue? Press ");
        assert_ne!(session.modes(), session.modes_before, "it takes single keys");
        end(&mut session);
        session.sees("model call");
        assert_eq!(session.modes(), session.modes_before);
        session.end();
    }
}

#[test]
fn what_was_typed_before_allow_and_trust_ask_is_not_an_answer() {
    let user = User::new();
    user.write("guard.wasm", std::fs::read(plugin("all-events")).unwrap());
    user.write("hookhost.toml", "");
    let allow = ["allow", "guard.wasm", "--grant", "model = { name = \"small\" }"];
    for (command, question) in [(&allow[..], "Allow it? [y/N] "), (&["trust"], "Approve it? [y/N] ")] {
        let mut session = Session::start_typed(user.command(command).env("TERM", "dumb"), "y\n");
        session.sees(question);
        session.types("n\n");
        let (code, screen) = session.end();
        assert_eq!(code, Some(3), "{screen}");
    }
}

#[test]
fn what_was_typed_before_the_question_is_not_an_answer_to_it() {
    let user = asked();
    let script = "[[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch made\" } }]\ntext = \"Hm.\\n\"\n[[turn]]\ntext = \"Bye.\"\n";
    user.write("script.toml", script);
    let mut command = user.command(RUN);
    let mut session = Session::start_typed(command.env("TERM", "dumb"), "\n");
    session.agrees();
    let (_, screen) = session.end();
    assert!(user.project().join("made").exists(), "Enter, typed earlier, was taken for a no: {screen}");
}

#[test]
fn a_question_that_is_not_answered_in_time_is_a_no_and_the_next_one_can_be_answered() {
    let user = asked();
    let config = std::fs::read_to_string(user.config_file()).unwrap();
    user.configure(&format!("[settings]\napproval-deadline = \"1s\"\n{config}"));
    let call = "call = [{ tool = \"bash\", arguments = { command = \"touch made\" } }]";
    user.write("script.toml", format!("[[turn]]\n{call}\n[[turn]]\n{call}\n[[turn]]\ntext = \"Bye.\"\n"));
    let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
    session.sees("no longer asked: the answer is no");
    session.sees("nobody answered within 1s");
    assert!(!user.project().join("made").exists());
    session.sees_again("Continue? Press ");
    session.agrees();
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(user.project().join("made").exists(), "{screen}");
}

#[test]
fn a_question_of_a_rule_is_asked_by_run_and_by_dispatch() {
    let user = User::new();
    user.configure("[[rule]]\nid = \"ask\"\non = \"shell\"\nask = \"Run this command?\"\n");
    user.write(
        "script.toml",
        "[[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch made\" } }]\n[[turn]]\ntext = \"Bye.\"\n",
    );
    user.write(
        "call.json",
        json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": "ls" } } }).to_string(),
    );
    let dispatch = ["dispatch", "before-tool-call", "--payload", "call.json"];
    for (arguments, answer, code, said) in [
        (&RUN[..], "y", 0, "Bye."),
        (&RUN[..], "n\n", 0, "not approved, asked by the configuration"),
        (&dispatch[..], "y", 0, "\"outcome\": \"allowed\""),
        (&dispatch[..], "n\n", 3, "\"cause\": \"not-approved\""),
    ] {
        let mut session = Session::start(user.command(arguments).env("TERM", "dumb"));
        session.sees("the configuration asks: Run this command?");
        session.sees("Continue? Press ");
        if answer == "y" {
            session.agrees();
        } else {
            session.types(answer);
        }
        let (ended, screen) = session.end();
        assert_eq!(ended, Some(code), "{screen}");
        assert!(screen.contains(said), "{screen}");
    }
    for arguments in [&RUN[..], &dispatch[..]] {
        let denied = arguments.iter().copied().chain(["--approve", "deny"]);
        let (_, screen) = Session::start(user.command(denied).env("TERM", "dumb")).end();
        assert!(!screen.contains("Continue?") && screen.contains("nobody is there to answer"), "{screen}");
        // Without a terminal nobody is asked either.
        let ended = user.run(arguments);
        assert!(format!("{}{}", ended.stdout, ended.stderr).contains("nobody is there to answer"), "{ended:#?}");
    }
    // What was answered is in the log.
    let log = user.run(["audit", "show", "--all", "--event", "before-tool-call"]).stdout;
    for said in ["answered: approved", "answered: denied", "answered: nobody there"] {
        assert!(log.contains(said), "{log}");
    }
}

#[test]
fn a_yes_for_the_session_is_asked_for_once_and_each_use_is_in_the_log() {
    let user = User::new();
    user.configure("[[rule]]\nid = \"ask\"\non = \"shell\"\nask = \"Run this command?\"\n");
    let call = |command: &str| {
        format!("[[turn]]\ncall = [{{ tool = \"bash\", arguments = {{ command = \"{command}\" }} }}]\n")
    };
    let same = call("echo >> made");
    let script = format!("{same}{same}{}{same}[[turn]]\ntext = \"Bye.\"\n", call("touch other"));
    user.write("script.toml", script);
    let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
    let always = session.yes().to_uppercase();
    session.sees(&format!("{always} to agree to this same call for the rest of the session"));
    session.types(&always);
    session.sees_times("Continue? Press ", 2);
    session.sees("touch other");
    session.types("n\n");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(screen.matches("Continue? Press ").count(), 2, "{screen}");
    assert_eq!(std::fs::read_to_string(user.project().join("made")).unwrap(), "\n\n\n");
    assert!(!user.project().join("other").exists());
    let log = user.run(["audit", "show", "--all", "--event", "before-tool-call"]).stdout;
    assert_eq!(log.matches("answered: approved for the session from hookhost").count(), 1, "{log}");
    assert_eq!(log.matches("the configuration was answered for the session at ").count(), 2, "{log}");
}

#[test]
fn where_a_plugin_asks_no_yes_for_the_session_is_taken() {
    let user = asked();
    let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
    let always = session.yes().to_uppercase();
    session.types(&always);
    session.sees("A plugin asks, so a yes is valid only this time.");
    assert!(!user.project().join("made").exists());
    session.agrees();
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("rest of the session"), "{screen}");
    assert!(user.project().join("made").exists());
}

#[test]
fn ctrl_c_at_a_question_of_dispatch_ends_it_with_130_and_a_whole_log() {
    let user = User::new();
    user.configure("[[rule]]\nid = \"ask\"\non = \"*\"\nask = \"May the tool {tool} run?\"\n");
    user.write(
        "call.json",
        json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": "ls" } } }).to_string(),
    );
    let dispatch = ["dispatch", "before-tool-call", "--payload", "call.json"];
    let mut session = Session::start(user.command(dispatch).env("TERM", "dumb"));
    session.sees("Continue? Press ");
    kill_process(Pid::from_child(&session.child), Signal::INT).unwrap();
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen}");
    let log = user.run(["audit", "show", "--all"]).stdout;
    assert!(log.contains("answered: cancelled") && log.contains("session ended"), "{log}");
}

#[test]
fn nobody_is_asked_where_the_answer_is_to_be_no() {
    let user = asked();
    let session = Session::start(user.command(RUN.into_iter().chain(["--approve", "deny"])).env("TERM", "dumb"));
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("Continue?") && screen.contains("nobody is there to answer"), "{screen}");
}

#[test]
fn ctrl_c_at_a_question_ends_the_run_with_130() {
    let user = asked();
    let mut session = Session::start(user.command(RUN).env("TERM", "dumb"));
    session.sees("Continue? Press ");
    kill_process(Pid::from_child(&session.child), Signal::INT).unwrap();
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen}");
    assert!(!user.project().join("made").exists());
    assert_eq!(user.sessions()[0]["status"], "cancelled");
}

#[test]
fn allow_and_trust_write_after_a_yes_and_nothing_after_a_no() {
    for (answer, code, written) in [("y\n", 0, true), ("n\n", 3, false)] {
        let user = User::new();
        user.write("guard.wasm", std::fs::read(plugin("all-events")).unwrap());
        let allow = ["allow", "guard.wasm", "--grant", "model = { name = \"small\" }"];
        let mut session = Session::start(user.command(allow).env("TERM", "dumb"));
        session.sees("Allow it? [y/N] ");
        assert!(!user.config_file().exists());
        session.types(answer);
        let (ended, screen) = session.end();
        assert_eq!(ended, Some(code), "{screen}");
        assert_eq!(user.config_file().exists(), written);

        user.write("hookhost.toml", "");
        let mut session = Session::start(user.command(["trust"]).env("TERM", "dumb"));
        session.sees("names no plugin");
        session.sees("Approve it? [y/N] ");
        session.types(answer);
        let (ended, screen) = session.end();
        assert_eq!(ended, Some(code), "{screen}");
        assert_eq!(!user.run(["trust", "--list"]).stdout.is_empty(), written);
    }
}

#[test]
fn nothing_recorded_steers_the_terminal_also_as_json() {
    let user = User::new();
    user.write("prompt.json", json!({ "prompt": "a\u{9b}2Jb\u{7f}\u{202e}" }).to_string());
    for arguments in
        [&["dispatch", "prompt-submit", "--payload", "prompt.json"][..], &["audit", "show", "--all", "--json"]]
    {
        let (code, screen) = Session::start(user.command(arguments).env("TERM", "xterm")).end();
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains("a\u{fffd}2Jb\u{fffd}\u{fffd}") && !screen.contains('\u{9b}'), "{screen:?}");
    }
}

#[test]
fn colour_is_for_terminals_unless_it_is_not_wanted() {
    let user = User::new();
    let screen = |variables: &[(&str, &str)]| {
        let mut command = user.command(["hooks"]);
        let (code, screen) = Session::start(command.envs(variables.iter().copied())).end();
        assert_eq!(code, Some(0));
        screen
    };
    assert!(screen(&[("TERM", "xterm")]).contains('\u{1b}'));
    assert!(!screen(&[("TERM", "xterm"), ("NO_COLOR", "1")]).contains('\u{1b}'));
    assert!(!screen(&[("TERM", "dumb")]).contains('\u{1b}'));
    assert!(!user.run(["hooks"]).stdout.contains('\u{1b}'));
}

#[test]
fn without_a_prompt_a_person_is_told_how_to_give_one() {
    let user = User::new();
    let (code, screen) = Session::start(user.command(["run"]).env("TERM", "dumb")).end();
    assert_eq!(code, Some(2));
    assert!(screen.contains("there is nothing to do: give a prompt"), "{screen}");
}

#[test]
fn a_key_is_typed_at_a_terminal_that_does_not_show_it() {
    let key = "sk-typed-8c1f";
    let user = User::new();
    let mut session = Session::start(user.command(["auth", "set", "openai"]).env("TERM", "dumb"));
    session.sees("The key of openai (it is not shown; Ctrl-C to leave): ");
    // What was pressed by mistake is taken back, as anywhere else.
    session.types(&format!("{key}x\u{7f}\n"));
    session.sees("stored a key of openai for https://api.openai.com in ");
    session.child.wait().unwrap();
    assert_eq!(session.modes(), session.modes_before, "the terminal stays silent");
    let (code, screen) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(!screen.contains("sk-typed"), "{screen}");
    let kept = std::fs::read_to_string(user.path("config/keys.toml")).unwrap();
    assert!(kept.contains(&format!("\"{key}\"")), "{}", kept.replace(key, "[key]"));
}

#[test]
fn ctrl_c_in_the_middle_of_a_key_keeps_nothing() {
    let user = User::new();
    let mut session = Session::start(user.command(["auth", "set", "openai"]).env("TERM", "dumb"));
    session.sees("(it is not shown; Ctrl-C to leave): ");
    session.types("sk-half\u{3}");
    let (code, screen) = session.end();
    assert_eq!(code, Some(130), "{screen}");
    assert!(!screen.contains("sk-half") && !user.path("config/keys.toml").exists(), "{screen}");
}
