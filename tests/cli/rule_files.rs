//! `[rules]` and `*.rules.toml`: what the commands say about them, and what an approval of a project covers.

use crate::pty::Session;
use hookhost_tests::User;
use serde_json::Value;
use std::fs;

/// A rule about a program, with this answer.
fn rule(program: &str, answer: &str) -> String {
    format!(
        "[[rule]]\nid = \"no-{program}\"\non = \"shell\"\nprogram = \"{program}\"\n{answer} = \"{program}?\"\n\
         stops = [\"{program} a\"]\npasses = [\"ls\"]\n"
    )
}

fn code(user: &User, command: &str) -> Option<i32> {
    user.run(["dispatch", "--shell", command]).code
}

/// The standard output of a command that ends with this code.
fn shown(user: &User, arguments: &[&str], code: i32) -> String {
    let ended = user.run(arguments);
    ended.expect(code, &[]);
    ended.stdout
}

/// The shown rules, those that apply and those that `rules.off` leaves out.
fn ids(user: &User) -> [Vec<String>; 2] {
    let listed: Value = serde_json::from_str(&user.run(["rule", "list", "--json"]).stdout).unwrap();
    ["rules", "off"].map(|key| {
        let rules = listed[key].as_array().unwrap().iter();
        rules.map(|rule| rule["id"].as_str().unwrap().to_owned()).collect()
    })
}

#[test]
fn rules_of_a_further_file_apply_and_are_listed_removed_and_switched_off() {
    let user = User::new();
    let config = user.configure("rules.files = [\"more.rules.toml\"]\n");
    let more = config.with_file_name("more.rules.toml");
    fs::write(&more, rule("make", "reject") + &rule("npm", "ask")).unwrap();
    assert_eq!((code(&user, "make a"), code(&user, "npm a"), code(&user, "ls")), (Some(3), Some(3), Some(0)));
    let listed = user.run(["rule", "list"]).stdout;
    assert!(listed.contains(&format!("{}:1; matched last", more.display())), "{listed}");
    let doctor = user.run(["doctor"]).stdout;
    assert!(doctor.contains("more.rules.toml"), "{doctor}");
    assert!(user.run(["update"]).stdout.contains("more.rules.toml"));
    user.run(["rule", "off", "no-make", "--for", "1h"]).expect(0, &[]);
    assert_eq!(code(&user, "make a"), Some(0));
    let removed = shown(&user, &["rule", "remove", "no-make"], 0);
    assert_eq!(removed, format!("removed no-make from {}\n", more.display()));
    assert_eq!(fs::read_to_string(&more).unwrap(), rule("npm", "ask"));
    fs::remove_file(&more).unwrap();
    user.run(["dispatch", "--shell", "ls"]).expect(5, &["hookhost.toml:1:16: `rules.files`: there is no file "]);
}

#[test]
fn rules_that_are_off_are_listed_and_the_section_says_what_is_wrong_in_it() {
    let user = User::new();
    let rows = rule("make", "reject") + &rule("npm", "ask");
    user.configure(&format!("rules.off = [\"no-make\"]\n{rows}"));
    assert_eq!((code(&user, "make a"), code(&user, "npm a")), (Some(0), Some(3)));
    assert_eq!(ids(&user), [["no-npm"], ["no-make"]]);
    assert!(user.run(["rule", "list"]).stdout.contains("off: your own hookhost.toml has it in `rules.off`"));
    user.run(["rule", "remove", "no-make"])
        .expect(2, &["`rules.off` in your own hookhost.toml leaves out the rule no-make"]);
    user.configure(&format!("rules.off = [\"no-mak\"]\n{rows}"));
    user.run(["hooks"]).expect(
        5,
        &["hookhost.toml:1:14: `rules.off`: none of your rules has the id `no-mak`: did you mean `no-make`?"],
    );
}

#[test]
fn a_mode_makes_a_question_a_rejection_and_two_rules_about_the_same_calls_stay_valid() {
    let user = User::new();
    let two = rule("make", "reject").replace("no-make", "all")
        + &rule("make", "ask").replace("make a", "make b").replace("passes", "args = \"b\"\npasses");
    let night = "[rules]\nmode = \"night\"\n[rules.modes.night]\nask = \"reject\"\n";
    user.configure(&format!("{night}{}", rule("npm", "ask")));
    assert!(shown(&user, &["dispatch", "--shell", "npm a"], 3).starts_with("rejected by rules\n"));
    let list = user.run(["rule", "list"]).stdout;
    assert!(list.contains("no-npm rejects (shell, program npm, in the mode night)"), "{list}");
    // Without a mode, the second rule would have no effect of its own.
    user.configure(&two);
    user.run(["hooks"]).expect(5, &["`no-make` has no effect, because `all` before it"]);
    user.configure(&format!("{night}{}", two.replacen("reject =", "ask =", 1)));
    user.run(["hooks"]).expect(0, &[]);
}

#[test]
fn an_approval_of_a_project_covers_its_files_of_rules() {
    let user = User::new();
    user.write("hookhost.toml", "rules.files = [\"team.rules.toml\"]\n");
    let team = user.write("team.rules.toml", rule("make", "reject"));
    assert_eq!(code(&user, "make a"), Some(0), "not approved");
    user.run(["trust", "--yes"]).expect(0, &["rule no-make rejects"]);
    assert_eq!(shown(&user, &["trust", "--yes"], 0), "Nothing to approve here.\n");
    assert_eq!(code(&user, "make a"), Some(3));
    fs::write(&team, rule("make", "note")).unwrap();
    let said = user.run(["dispatch", "--shell", "make a"]);
    let path = team.display();
    said.expect(3, &[&format!("{path} has changed since you approved it"), "hookhost trust "]);
    assert!(user.run(["trust", "--list"]).stdout.contains("has changed since: the approved content is used"));
    let shown = user.run(["trust", "--yes"]);
    shown.expect(
        0,
        &["it has changed since you approved it", "team.rules.toml", "reject = \"make?\"", "note = \"make?\""],
    );
    assert_eq!(code(&user, "make a"), Some(0));
    fs::remove_file(&team).unwrap();
    assert_eq!(code(&user, "make a"), Some(0));
    user.run(["trust", "--yes"]).expect(5, &["`rules.files`: there is no file ", "try: hookhost trust --revoke"]);
}

#[test]
fn a_file_of_rules_is_tested_and_tried_alone() {
    let user = User::new();
    user.configure("");
    user.write("a.rules.toml", rule("make", "reject"));
    let tested = user.run(["test", "a.rules.toml"]);
    tested.expect(0, &[]);
    assert!(tested.stdout.contains("2 examples of the rules hold"), "{tested:#?}");
    user.write("a.rules.toml", rule("make", "reject").replace("\"ls\"", "\"make b\""));
    let tested = user.run(["test", "a.rules.toml"]);
    assert!(tested.expect(6, &[]).stdout.contains("a.rules.toml:7:11: `no-make` stops this example"), "{tested:#?}");
    assert_eq!(code(&user, "make a"), Some(0));
    user.write("a.rules.toml", rule("make", "reject"));
    let replayed = user.run(["replay", "--with", "a.rules.toml"]);
    replayed.expect(6, &[]);
    assert!(replayed.stdout.contains("allowed → rejected"), "{replayed:#?}");
}

#[test]
fn a_rule_that_other_rules_count_is_observed_while_it_is_off_and_a_project_does_not_decide_what_they_count() {
    let user = User::new();
    let counting = "[[rule]]\nid = \"done\"\non = \"task-complete\"\nwhen = 'count(\"tests\", \"1h\") == 0'\nreject = \"no\"\n\
                    stops = [{ text = \"\", facts = { \"count(tests)\" = 0 } }]\n\
                    passes = [{ text = \"\", facts = { \"count(tests)\" = 1 } }]\n";
    let tests = rule("make", "note").replace("no-make", "tests");
    user.configure(&format!("{counting}{tests}"));
    user.run(["rule", "off", "tests", "--for", "1h"]).expect(0, &[]);
    user.run(["hooks"]).expect(0, &[]);
    user.run(["rule", "on", "tests"]).expect(0, &[]);
    user.run(["rule", "remove", "tests"]).expect(2, &["the rule tests stays, because `done` asks about it"]);
    user.run(["hooks"]).expect(0, &[]);
    user.configure(counting);
    user.write("hookhost.toml", &tests);
    user.run(["trust", "--yes"]).expect(5, &["`done` asks about `tests`, which is no rule"]);
}

#[test]
fn a_rule_that_is_off_comes_back_during_a_run() {
    let user = User::new();
    user.configure(&rule("touch", "ask"));
    user.write(
        "script.toml",
        "[[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch first\" } }]\n\
         [[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"sleep 6\" } }]\n\
         [[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch second\" } }]\n\
         [[turn]]\ntext = \"Bye.\"\n",
    );
    user.run(["hooks"]).expect(0, &[]);
    user.run(["rule", "off", "no-touch", "--for", "4s"]).expect(0, &[]);
    let mut session = Session::start(user.command(["run", "go", "--script", "script.toml"]).env("TERM", "dumb"));
    session.sees("touch?");
    assert!(!user.project().join("second").exists());
    session.types("n\n");
    let (_, screen) = session.end();
    assert!(!user.project().join("second").exists(), "{screen}");
}
