//! Questions that no agent can show: they wait for a person, who answers in another process.

use super::{Home, Reply, policy, printed, started, wait_for};
use hookhost_tests::{Ended, Entry};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::Child;

const HOOK: [&str; 2] = ["codex", "PreToolUse"];

fn ask(home: &Home, id: &str, command: &str) -> Child {
    started(&mut home.hook(&HOOK), home.call("s", id, command).to_string().as_bytes())
}

fn approvals(home: &Home, arguments: &[&str]) -> Ended {
    printed(&mut home.command(&[&["approvals"], arguments].concat()))
}

fn open(home: &Home) -> Vec<Value> {
    serde_json::from_str(&approvals(home, &["--json"]).stdout).unwrap_or_default()
}

/// The code of the only question that waits.
fn waiting(home: &Home) -> String {
    wait_for("the question", || open(home).len() == 1);
    open(home)[0]["code"].as_str().unwrap().to_owned()
}

#[test]
fn a_question_is_listed_and_shown_exactly_and_the_answer_of_another_process_counts() {
    let home = Home::new();
    home.serve();
    let hook = ask(&home, "1", "touch asked.txt && echo 'a  b' \u{1b}[31m");
    let code = waiting(&home);
    let listed = approvals(&home, &[]);
    listed.expect(0, &[]);
    for text in [&code, "policy asks: asked-by-policy: may the file be written?"] {
        assert!(listed.stdout.contains(text), "{text:?} is not in {listed:#?}");
    }
    let shown = approvals(&home, &["show", &code]);
    // All of it, and no control character that could hide a part.
    assert!(shown.stdout.contains("  $ touch asked.txt && echo 'a  b' \u{fffd}[31m\n"), "{shown:#?}");
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:#?}");
    approvals(&home, &["yes", &code]).expect(0, &[]);
    let reply = Reply::of(hook);
    assert!(reply.code == Some(0) && !reply.stdout.contains("deny"), "{reply:?}");
    // Once: the same question is asked again.
    let hook = ask(&home, "2", "touch asked.txt");
    let code = waiting(&home);
    approvals(&home, &["no", &code, "--because", "not on a Friday"]).expect(0, &[]);
    let reason = Reply::of(hook).denial();
    assert!(reason.contains("not on a Friday"), "{reason}");
    approvals(&home, &["yes", &code])
        .expect(2, &["no question that waits has the code", "its time is over, or it is answered"]);
    // A hook that has gone: nobody can let the call run any more.
    let mut hook = ask(&home, "3", "touch asked.txt");
    waiting(&home);
    kill_process(Pid::from_child(&hook), Signal::KILL).unwrap();
    hook.wait().unwrap();
    wait_for("the end of the question", || open(&home).is_empty());
    let answers = home.records(3, |record| record["kind"] == "answer");
    let outcomes: Vec<_> = answers.iter().map(|answer| answer["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["allowed", "rejected", "rejected"]);
    home.verify_log();
}

#[test]
fn a_question_without_an_answer_expires_into_no() {
    let home = Home::with(&format!("[settings]\napproval-deadline = \"1s\"\n{}", policy().to_toml()));
    let reason = Reply::of(ask(&home, "1", "touch asked.txt")).denial();
    assert!(reason.contains("asked-by-policy") && reason.contains("within 1s"), "{reason}");
    wait_for("the end of the question", || open(&home).is_empty());
    let [answer] = home.records(1, |record| record["kind"] == "answer").try_into().unwrap();
    assert_eq!(answer["outcome"], "rejected");
    home.verify_log();
}

#[test]
fn a_question_whose_host_is_killed_is_asked_once_more_and_the_first_can_not_be_answered() {
    let home = Home::new();
    let resident = home.serve();
    let hook = ask(&home, "1", "touch asked.txt");
    let first = waiting(&home);
    super::end(resident, Signal::KILL);
    wait_for("the second question", || open(&home).iter().any(|question| question["code"] != first.as_str()));
    let second = waiting(&home);
    approvals(&home, &["yes", &first]).expect(2, &["no question that waits has the code"]);
    approvals(&home, &["yes", &second]).expect(0, &[]);
    let reply = Reply::of(hook);
    assert!(reply.code == Some(0) && !reply.stdout.contains("deny"), "{reply:?}");
    home.records(2, |record| record["kind"] == "answer");
    home.verify_log();
}

#[test]
fn a_yes_counts_under_the_rules_of_its_moment_though_no_event_has_come_since_they_changed() {
    let rejects = |home: &Home| {
        let rule = json!({ "before-tool-call": { "verdict": "reject", "reason": "no shell at all" } });
        let all = Entry::all_events("later", rule).to_toml();
        home.user.configure(&format!("{}{all}", policy().to_toml()));
    };
    let home = Home::new();
    let hook = ask(&home, "1", "touch asked.txt");
    let id = waiting(&home);
    rejects(&home);
    approvals(&home, &["yes", &id]).expect(0, &[]);
    let reason = Reply::of(hook).denial();
    assert!(reason.contains("no shell at all"), "{reason}");
    home.verify_log();
    // Rules that ask something else: that is a question of its own.
    let home = Home::new();
    home.serve();
    let hook = ask(&home, "1", "touch asked.txt");
    let first = waiting(&home);
    home.user
        .configure(&format!("{}[[rule]]\nid = \"ask\"\non = \"Bash\"\nask = \"Even today?\"\n", policy().to_toml()));
    approvals(&home, &["yes", &first]).expect(0, &[]);
    wait_for("the second question", || open(&home).iter().any(|question| question["code"] != first.as_str()));
    let second = waiting(&home);
    approvals(&home, &["no", &second]).expect(0, &[]);
    assert!(Reply::of(hook).denial().contains("Even today?"));
}

#[test]
fn a_call_that_has_run_is_asked_about_again_where_its_number_comes_again() {
    let home = Home::new();
    home.asked("s", "call_0", "ls").passes();
    let mut ran = home.call("s", "call_0", "ls");
    ran["hook_event_name"] = "PostToolUse".into();
    ran["tool_response"] = json!({ "stdout": "", "stderr": "" });
    home.told(&["claude-code", "PostToolUse"], ran.to_string());
    home.asked("s", "call_0", "ls").passes();
    home.events("before-tool-call", 2);
    // Reported twice it is settled once, which the log says.
    home.asked("s", "call_0", "ls").passes();
    home.events("before-tool-call", 2);
    let [repeated] = home.deliveries(1).try_into().unwrap();
    assert_eq!(repeated["what"], "repeated");
    // Under other rules an answer is none.
    home.user.configure(&format!("{}[[rule]]\nid = \"ask\"\non = \"Bash\"\nask = \"Sure?\"\n", policy().to_toml()));
    home.compile(&home.user.project());
    assert_eq!(home.asked("s", "call_0", "ls").decision(), "ask");
    home.verify_log();
}

#[test]
fn a_yes_names_what_was_shown_and_neither_a_part_of_it_nor_another_question() {
    let home = Home::new();
    home.serve();
    let hook = ask(&home, "1", "touch asked.txt");
    let code = waiting(&home);
    let id = open(&home)[0]["id"].as_str().unwrap().to_owned();
    let (session, number) = id.rsplit_once('.').unwrap();
    // A part, an empty word, the number of the event, the session: each says what to give instead.
    for word in [&code[..7], &code[1..], "", " ", &id, &number[..1], session] {
        for answer in ["yes", "no", "show"] {
            let ended = approvals(&home, &[answer, word]);
            ended.expect(2, &["try: hookhost approvals"]);
        }
    }
    assert_eq!(open(&home).len(), 1, "something of it was an answer");
    let ended = approvals(&home, &["no", &code]);
    assert_eq!(ended.stdout, "It does not run: Bash command=\"touch asked.txt\"\n", "{ended:?}");
    Reply::of(hook).denial();
    // The same call once more is another question: the code of the first says nothing about it.
    let hook = ask(&home, "2", "touch asked.txt");
    assert_ne!(waiting(&home), code);
    approvals(&home, &["yes", &code]).expect(2, &["no question that waits has the code"]);
    let ended = approvals(&home, &["yes", &waiting(&home)]);
    assert_eq!(ended.stdout, "It may run, once: Bash command=\"touch asked.txt\"\n", "{ended:?}");
    let reply = Reply::of(hook);
    assert!(reply.code == Some(0) && !reply.stdout.contains("deny"), "{reply:?}");
}

#[test]
fn a_question_of_a_rule_that_goes_off_waits_for_its_answer_and_the_rules_of_then_judge_a_yes() {
    let asks = "[[rule]]\nid = 'touch'\non = 'shell'\nprogram = 'touch'\nask = 'Touch it?'\nstops = ['touch a']\npasses = ['ls']\n";
    let rejects = asks.replace("id = 'touch'", "id = 'never'").replace("ask =", "reject =");
    let home = Home::with(asks);
    home.serve();
    let switched_off = |id: &str| {
        let hook = ask(&home, id, "touch a");
        let code = waiting(&home);
        printed(&mut home.command(&["rule", "off", "touch", "--for", "1h"])).expect(0, &[]);
        assert_eq!(open(&home).len(), 1, "the call still waits");
        (hook, code)
    };
    let switch_on = || printed(&mut home.command(&["rule", "on", "touch"])).expect(0, &[]).code;

    let (hook, code) = switched_off("1");
    approvals(&home, &["no", &code, "--because", "not today"]).expect(0, &[]);
    assert!(Reply::of(hook).denial().contains("not today"));
    switch_on();

    let (hook, code) = switched_off("2");
    approvals(&home, &["yes", &code]).expect(0, &[]);
    Reply::of(hook).passes();
    switch_on();

    let (hook, code) = switched_off("3");
    home.user.configure(&rejects);
    approvals(&home, &["yes", &code]);
    assert!(Reply::of(hook).denial().contains("Touch it?"), "another rule rejects the call by now");
    home.user.configure(&format!("[settings]\napproval-deadline = '3s'\n{asks}"));
    switch_on();

    let (hook, _) = switched_off("4");
    Reply::of(hook).denial();
    home.verify_log();
}
