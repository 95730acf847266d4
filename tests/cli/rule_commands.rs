//! `hookhost rule`: rules from a sentence, from questions and from proposals, and what a person does with them.

use crate::pty::Session;
use hookhost_tests::{Ended, Reply, Server, User};
use serde_json::{Value, json};
use std::fs;

/// A rule that can be put into force.
const PUSH: &str = r#"[[rule]]
id = "push-main"
on = "shell"
program = "git push"
args = "main"
reject = "Nobody pushes to main"
stops = ["git push origin main"]
passes = ["git push origin topic"]
"#;

/// A rule that stops every command of the past.
const EVERYTHING: &str = "[[rule]]\nid = \"all\"\non = \"shell\"\nreject = \"no\"\n";

/// The same rule with an example that it does not stop.
fn mistaken() -> String {
    PUSH.replace("stops = [\"git push origin main\"]", "stops = [\"git push origin topic\"]")
}

fn judge(user: &User, command: &str) -> Option<i32> {
    user.run(["dispatch", "--shell", command]).code
}

/// A script that plays these answers of a model.
fn script(user: &User, answers: &[String]) {
    let turn = |answer: &String| format!("[[turn]]\ntext = {}\n", json!(answer));
    user.write("script.toml", answers.iter().map(turn).collect::<String>());
}

/// Has a model, which plays the script, make a rule of a sentence.
fn in_words(user: &User, more: &[&str]) -> Ended {
    user.run([&["rule", "never push to main", "--script", "script.toml"], more].concat())
}

fn propose(user: &User, rows: &str) -> Ended {
    user.run_with_input(["rule", "propose"], rows)
}

fn proposals(user: &User) -> Vec<Value> {
    let ended = user.run(["rule", "proposals", "--json"]);
    ended.expect(0, &[]);
    let listed: Value = serde_json::from_str(&ended.stdout).unwrap();
    listed["proposals"].as_array().unwrap().clone()
}

/// Writes a transcript of Claude Code of today, in which these commands ran in the project.
fn past(user: &User, commands: &[&str]) {
    let time = now();
    let project = user.project();
    let line = |(number, command): (usize, &&str)| {
        json!({
            "type": "assistant", "uuid": format!("u{number}"), "sessionId": "s", "cwd": project, "timestamp": time, "version": "2.1.330",
            "message": { "role": "assistant", "id": format!("m{number}"), "content": [
                { "type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": { "command": command } },
            ] },
        })
        .to_string()
    };
    let directory = user.path(".claude/projects/-p");
    fs::create_dir_all(&directory).unwrap();
    let lines: Vec<String> = commands.iter().enumerate().map(line).collect();
    fs::write(directory.join("s.jsonl"), lines.join("\n") + "\n").unwrap();
}

/// The time of now, as transcripts have it.
fn now() -> String {
    let output = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%S.000Z"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_sentence_becomes_a_rule_that_rejects_a_call_after_a_person_has_accepted_it() {
    let user = User::new();
    script(&user, &[format!("Here is the rule:\n```toml\n{PUSH}```\n")]);
    let ended = in_words(&user, &[]);
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("hookhost rule accept push-main"), "{ended:#?}");
    assert_eq!(judge(&user, "git push origin main"), Some(0), "nothing that a model wrote is in force");
    let ended = user.run(["rule", "accept", "--yes"]);
    ended.expect(0, &["+program = \"git push\"", "(tried on 2 examples)", "Your past: "]);
    assert_eq!([judge(&user, "git push origin main"), judge(&user, "git push origin topic")], [Some(3), Some(0)]);
    assert_eq!(fs::read_to_string(user.config_file()).unwrap(), PUSH);
    assert!(proposals(&user).is_empty());
    let actions: Vec<Value> = user.records().into_iter().filter(|record| record["kind"] == "operator").collect();
    assert_eq!((&actions[0]["action"], &actions[0]["rules"]), (&json!("rule-accept"), &json!(["push-main"])));
}

#[test]
fn a_model_gets_the_reference_the_rules_in_force_and_its_mistakes_and_repairs_them() {
    let text = |text: &str| {
        let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
        let stop = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        Reply::stream(&format!("data: {delta}\n\ndata: {stop}\n\ndata: [DONE]\n\n"))
    };
    let server = Server::start(vec![text(&mistaken()), text(PUSH)]);
    let user = User::new();
    let before = PUSH.replace("push-main", "earlier").replace("main", "trunk");
    user.configure(&format!(
        "[agent]\nprovider = \"openai\"\nmodel = \"m\"\nbase-url = \"{}/v1\"\nkey-variable = \"TEST_KEY\"\n\n{before}",
        server.url()
    ));
    let mut command = user.command(["rule", "never push to main", "--yes"]);
    Ended::of(command.env("TEST_KEY", "k")).expect(0, &["push-main by m of openai", "“never push to main”"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    for part in ["# How rules are written", "earlier rejects (shell, program git push", "never push to main"] {
        assert!(requests[0].contains(part), "{part}: {}", requests[0]);
    }
    assert!(requests[1].contains("`push-main` does not stop this example"), "{}", requests[1]);
    assert_eq!([judge(&user, "git push origin main"), judge(&user, "git push origin trunk")], [Some(3), Some(3)]);
}

#[test]
fn nonsense_of_a_model_is_shown_and_proposes_nothing() {
    let user = User::new();
    script(&user, &vec!["I would rather write a poem.".to_owned(); 3]);
    in_words(&user, &["--yes"]).expect(
        1,
        &["I would rather write a poem.", "wrote no valid rule in 3 answers", "the answer has no [[rule]] table"],
    );
    script(&user, &vec![mistaken(); 3]);
    in_words(&user, &["--yes"]).expect(1, &["`push-main` does not stop this example"]);
    // Only rules can be proposed: another table could allow a plugin.
    script(&user, &vec![format!("{PUSH}\n[settings]\nobserve = true\n"); 3]);
    in_words(&user, &["--yes"]).expect(1, &["`settings`: only `[[rule]]` tables are possible here"]);
    assert!(proposals(&user).is_empty() && !user.config_file().exists());
}

#[test]
fn rules_that_would_have_stopped_more_than_one_in_twenty_past_calls_need_a_person_who_insists() {
    let user = User::new();
    past(&user, &["ls", "git status", "make"]);
    script(&user, &[EVERYTHING.to_owned()]);
    in_words(&user, &["--yes"]).expect(
        3,
        &[
            "of 3 calls in 30 days, 3 would have been rejected",
            "3 of 3 past calls, more than 1 in 20: nothing was written",
        ],
    );
    assert_eq!((judge(&user, "ls"), proposals(&user).len()), (Some(0), 1));
    propose(&user, PUSH).expect(0, &[]);
    user.run(["rule", "accept", "push-main", "--yes"]).expect(0, &["0 would have been rejected"]);
    user.run(["rule", "accept", "all", "--yes", "--insist"]).expect(0, &[]);
    assert_eq!(judge(&user, "ls"), Some(3));
}

#[test]
fn an_agent_can_propose_rules_and_can_do_nothing_else_with_them() {
    let user = User::new();
    let mine = PUSH.replace("push-main", "mine").replace("main", "trunk");
    user.configure(&mine);
    let inside = |arguments: &[&str]| Ended::of(user.command(arguments).env("CLAUDECODE", "1"));
    user.write("rules.toml", PUSH);
    let ended = inside(&["rule", "propose", "rules.toml"]);
    ended.expect(0, &[]);
    assert!(
        ended.stdout.contains("after a person has run, in a terminal:\n  hookhost rule accept push-main\n"),
        "{ended:#?}"
    );
    assert_eq!(proposals(&user)[0]["by"], "Claude Code");
    for arguments in [
        &["rule", "accept", "--yes"][..],
        &["rule", "reject", "push-main"],
        &["rule", "off", "mine", "--for", "1h"],
        &["rule", "remove", "mine"],
        &["rule", "new"],
        &["rule", "never push to main", "--script", "s"],
    ] {
        inside(arguments).expect(3, &["this runs inside Claude Code", "is for a person: nothing was changed"]);
    }
    inside(&["rule", "list"]).expect(0, &[]);
    assert_eq!(fs::read_to_string(user.config_file()).unwrap(), mine);
}

#[test]
fn a_proposal_with_a_mistake_is_refused_at_its_line_and_an_id_that_is_taken_too() {
    let user = User::new();
    user.configure(PUSH);
    propose(&user, &mistaken().replace("push-main", "b")).expect(2, &["(input):7:10: `b` does not stop this example"]);
    propose(&user, PUSH).expect(2, &["(input):2:6: the id `push-main` is taken: the rule at "]);
    propose(&user, "").expect(2, &["(input) has no [[rule]] table"]);
    let inline = "rule = [{ id = 'c', on = 'web', reject = 'no' }]";
    propose(&user, inline).expect(2, &["(input):1:1: write each rule as a `[[rule]]` table"]);
    propose(&user, &"#".repeat(70_000)).expect(2, &["65536 are possible"]);
    assert!(proposals(&user).is_empty());
    propose(&user, &PUSH.replace("push-main", "b")).expect(2, &["`b` has no effect, because `push-main` before it"]);
    propose(&user, &PUSH.replace("push-main", "b").replace("main", "trunk")).expect(0, &[]);
    user.run(["rule", "reject", "c"]).expect(2, &["there is no proposal c"]);
    user.run(["rule", "reject", "b"]).expect(0, &[]);
    assert!(proposals(&user).is_empty());
}

#[test]
fn a_proposal_does_not_replace_a_rule_of_the_profile() {
    let user = User::new();
    user.run(["profile", "use", "developer", "--yes"]).expect(0, &[]);
    let proposed = PUSH.replace("push-main", "mcp-delete");
    propose(&user, &proposed).expect(2, &["(input):2:6: the id `mcp-delete` is taken: the rule at "]);
    assert!(proposals(&user).is_empty());
}

#[test]
fn accept_asks_a_person_and_no_leaves_everything_as_it_was() {
    let user = User::new();
    propose(&user, PUSH).expect(0, &[]);
    user.run(["rule", "accept"])
        .expect(2, &["there is no terminal on which to ask you whether to put these rules into force"]);
    for (answer, code) in [("n\n", 3), ("y\n", 0)] {
        let mut session = Session::start(user.command(["rule", "accept"]).env("TERM", "dumb"));
        session.sees("Put these rules into force? [y/N] ");
        session.types(answer);
        let (ended, screen) = session.end();
        assert_eq!(ended, Some(code), "{screen}");
        assert_eq!(judge(&user, "git push origin main"), Some(if code == 0 { 3 } else { 0 }), "{screen}");
    }
}

#[test]
fn a_rule_that_is_off_comes_back_by_itself_and_list_and_doctor_say_so() {
    let user = User::new();
    user.configure(PUSH);
    user.run(["rule", "off", "push-main", "--for", "1h"]).expect(0, &[]);
    assert_eq!(judge(&user, "git push origin main"), Some(0));
    for (command, says) in [("rule list", "  off until 20"), ("doctor", "the rule push-main is off until 20")] {
        let ended = user.run(command.split(' '));
        assert!(ended.stdout.contains(says), "{ended:#?}");
    }
    user.run(["rule", "on", "push-main"]).expect(0, &[]);
    assert_eq!(judge(&user, "git push origin main"), Some(3));
    user.run(["rule", "off", "push-main", "--for", "1s"]).expect(0, &[]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(judge(&user, "git push origin main"), Some(3));
    user.run(["rule", "off", "push-man", "--for", "1s"]).expect(2, &["try: hookhost rule off push-main"]);
    let actions: Vec<Value> = user.records().into_iter().filter(|record| record["kind"] == "operator").collect();
    let kinds: Vec<&Value> = actions.iter().map(|action| &action["action"]).collect();
    assert_eq!(kinds, ["rule-off", "rule-on", "rule-off"]);
}

#[test]
fn a_removed_rule_leaves_all_comments_of_others_and_a_rule_of_a_project_stays() {
    let user = User::new();
    let other = PUSH.replace("push-main", "other").replace("main", "trunk");
    user.configure(&format!("# mine\n\n# about main\n{PUSH}\n# about trunk\n{other}"));
    user.run(["rule", "remove", "push-main"]).expect(0, &[]);
    assert_eq!(fs::read_to_string(user.config_file()).unwrap(), format!("# mine\n\n# about trunk\n{other}"));
    user.write("hookhost.toml", PUSH);
    user.run(["trust", "--yes"]).expect(0, &[]);
    for command in [&["rule", "remove", "push-main"][..], &["rule", "off", "push-main", "--for", "1h"]] {
        user.run(command).expect(2, &["the rule push-main is of the project", "try: hookhost trust "]);
    }
    assert_eq!(judge(&user, "git push origin main"), Some(3));
}

#[test]
fn list_and_explain_show_each_rule_with_its_place_and_its_last_match() {
    let user = User::new();
    user.configure(PUSH);
    assert_eq!(judge(&user, "git push origin main"), Some(3));
    let ended = user.run(["rule", "list"]);
    for part in ["push-main rejects (shell, program git push, args main)", "hookhost.toml:1; matched last on 20"] {
        assert!(ended.stdout.contains(part), "{ended:#?}");
    }
    let listed: Value = serde_json::from_str(&user.run(["rule", "list", "--json"]).stdout).unwrap();
    let rule = &listed["rules"][0];
    assert_eq!(
        (&rule["id"], &rule["owner"], &rule["line"], &rule["answer"]),
        (&json!("push-main"), &json!("user"), &json!(1), &json!("reject"))
    );
    assert!(rule["last-match"].is_u64() && rule["off-until"].is_null(), "{rule}");
    let text = user.run(["rule", "explain", "push-main"]).stdout;
    for part in ["push-main rejects, of the user, at ", "  program  git push\n", "  stops    git push origin main\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    user.run(["rule", "explain", "push-man"]).expect(2, &["try: hookhost rule explain push-main"]);
}

#[test]
fn four_answers_make_a_rule_and_a_wrong_answer_is_asked_for_again() {
    let user = User::new();
    let answers = "shel\nshell\ngit push --force -f\nforbid it\nreject Nobody rewrites history\n\
                   git push\ngit pull\ngit push -f\ngit push\n";
    let ended = user.run_with_input(["rule", "new", "--yes"], answers);
    ended.expect(
        0,
        &[
            "1. What is the rule about?",
            "did you mean shell?",
            "begin with one of reject, ask",
            "does not stop this example",
            "+flags = [\"--force\", \"-f\"]",
        ],
    );
    assert_eq!([judge(&user, "git push -f x"), judge(&user, "git push x")], [Some(3), Some(0)]);
    let ended =
        user.run_with_input(["rule", "new"], "read\n.env* !.env.example\nask Read {path}?\n.env\n.env.example\n");
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("hookhost rule accept env-env-example"), "{ended:#?}");
    user.run_with_input(["rule", "new"], "shell\n").expect(2, &["the answers ended before the rule was complete"]);
}

#[test]
fn an_agent_on_this_machine_can_write_the_rule_and_its_hooks_are_off() {
    let user = User::new();
    let answer = user.write("answer", format!("```toml\n{PUSH}```"));
    let asked = user.path("asked");
    let program = user.write(
        "../bin/claude",
        format!("#!/bin/sh\necho \"$@\" > {0}.words\ncat > {0}\ncat {1}\n", asked.display(), answer.display()),
    );
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = user.command(["rule", "never", "push", "to", "main", "--agent", "claude-code", "--yes"]);
    Ended::of(command.env("PATH", path)).expect(0, &["push-main by Claude Code"]);
    let text = fs::read_to_string(&asked).unwrap();
    assert!(text.contains("# How rules are written") && text.contains("never push to main"), "{text}");
    assert!(fs::read_to_string(user.path("asked.words")).unwrap().contains("disableAllHooks"));
    assert_eq!(judge(&user, "git push origin main"), Some(3));
    let ended = user.run(["rule", "never push to main", "--agent", "cursor"]);
    ended.expect(2, &["cursor cannot be asked for rules; hookhost can ask claude-code, codex, gemini-cli"]);
}

#[test]
fn without_a_model_one_sentence_says_what_to_do_and_a_misspelt_command_is_named() {
    let user = User::new();
    user.run(["rule", "never push to main"]).expect(
        1,
        &[
            "no model is set up, and no agent is named",
            "try: hookhost rule new, which needs no model",
            "hookhost auth set PROVIDER",
        ],
    );
    user.run(["rule", "lits"]).expect(2, &["there is no command `hookhost rule lits`", "try: hookhost rule list\n"]);
    user.run(["rule", "curl"]).expect(2, &["curl is no sentence"]);
}
