//! Labels, counts and repeated calls, over several events of a run.

use super::{ask, findings, is_stopped, mistakes::of_row, refusal, rules, try_rules};
use crate::Rules;
use hookhost_guest::prelude::*;
use hookhost_guest::testing::{self, session, shell};

/// A command with an id of its own.
fn call(id: &str, command: &str) -> ToolCall {
    ToolCall { id: id.into(), ..shell(command) }
}

fn set_time(time: u64) {
    testing::inspect(|host| host.time = time);
}

#[test]
fn nothing_leaves_after_a_secret_was_read() {
    rules(
        r#"
        [[rule]]
        id = "secret"
        on = "read"
        path = [".env", "*.pem"]
        label = "read:secret"

        [[rule]]
        id = "leaves"
        on = "web"
        when = 'has("read:secret")'
        reject = "this session has read a secret"
        "#,
    );
    assert!(!is_stopped(&shell("curl https://example.com")));
    assert!(!is_stopped(&shell("cat sub/.env")));
    assert_eq!(findings().last().unwrap(), &("secret".to_owned(), "label".to_owned()));
    assert_eq!(refusal(&shell("curl https://example.com")).code.unwrap(), "leaves");
}

#[test]
fn the_same_call_stops_after_five_times_in_a_minute() {
    rules("[[rule]]\nid = \"loop\"\non = \"*\"\nwhen = 'same_call(5, \"1m\")'\nreject = \"again\"\n");
    set_time(1_000_000);
    for id in ["1", "2", "3", "4"] {
        assert!(!is_stopped(&call(id, "make")), "{id}");
        // A question about the call is a second event about it.
        assert!(!is_stopped(&call(id, "make")), "{id} again");
    }
    assert!(!is_stopped(&call("5", "make test")));
    assert!(is_stopped(&call("6", "make")));
    set_time(1_070_000);
    assert!(!is_stopped(&call("7", "make")));
}

#[test]
fn a_task_is_not_done_before_the_tests_ran() {
    rules(
        r#"
        [[rule]]
        id = "tests"
        on = "shell"
        program = ["cargo test", "npm test"]
        note = "the tests ran"

        [[rule]]
        id = "done"
        on = "task-complete"
        when = 'count("tests", "1h") == 0'
        reject = "run the tests"
        "#,
    );
    let complete = || {
        let completion = Completion { status: "success".into(), turns: 1, input_tokens: 1, output_tokens: 1 };
        Rules::task_complete(&session(), &completion)
    };
    assert!(matches!(complete(), CompletionVerdict::GoOn(_)));
    assert!(!is_stopped(&call("1", "cd a && cargo test --workspace")));
    assert!(matches!(complete(), CompletionVerdict::Finish), "{:?}", complete());
}

#[test]
fn a_rule_can_count_only_rules_that_there_are_and_only_a_valid_label_is_added() {
    let wrong = of_row("shell", "when = 'count(\"x\", \"1m\") > 2'\nreject = \"no\"");
    assert_eq!(wrong, ["0.: `r` counts the rule `x`, which does not exist"]);
    let wrong = of_row("shell", "label = \"Read Secret\"");
    assert!(wrong[0].starts_with("0.label: `Read Secret` is no label"), "{wrong:?}");
    let wrong = of_row("write", "when = 'created_by_agent(path)'\nreject = \"no\"");
    assert!(wrong[0].contains("`created_by_agent` cannot be answered yet"), "{wrong:?}");
}

#[test]
fn a_call_that_is_rejected_adds_no_label() {
    let reject = "[[rule]]\nid = \"b\"\non = \"shell\"\nprogram = \"rm\"\nreject = \"no\"\n";
    rules(&format!("[[rule]]\nid = \"a\"\non = \"shell\"\nlabel = \"x\"\n{reject}"));
    assert!(is_stopped(&shell("rm a")));
    assert!(testing::inspect(|host| host.labels.is_empty()));
    assert!(!is_stopped(&shell("ls")));
    assert!(testing::inspect(|host| host.labels.contains_key("x")));
}

#[test]
fn a_rule_that_is_only_observed_adds_no_label() {
    try_rules("[[rule]]\nid = \"a\"\non = \"shell\"\nlabel = \"x\"\nobserve = true\n").unwrap();
    ask(&shell("ls"));
    assert!(testing::inspect(|host| host.labels.is_empty()));
}
