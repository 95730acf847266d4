//! Tests that the model is asked about commands that no rule matches, and that the rules check its answer.

use crate::{Config, ShellGuardClassifier};
use hookhost_guest::model::Error;
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::{Value, json};

fn configure(config: Value) -> Result<(), String> {
    let config: Config = serde_json::from_value(config).map_err(|error| error.to_string())?;
    ShellGuardClassifier::configure(config)
}

/// Returns the verdicts on `command`, which is judged `times` times, or more often if there are more answers.
fn verdicts(config: &Value, command: &str, answers: &[Result<&str, Error>], times: usize) -> Vec<ToolCallVerdict> {
    configure(json!({"classifier": config})).unwrap();
    testing::prime(|host| {
        host.model_answers = answers.iter().map(|answer| answer.clone().map(str::to_owned)).collect();
    });
    (0..times).map(|_| ShellGuardClassifier::before_tool_call(&testing::session(), &testing::shell(command))).collect()
}

fn verdict(config: &Value, command: &str, answer: Result<&str, Error>) -> &'static str {
    match verdicts(config, command, &[answer], 1).remove(0) {
        ToolCallVerdict::Allow => "allow",
        ToolCallVerdict::Reject(_) => "deny",
        ToolCallVerdict::Escalate(_) => "ask",
        ToolCallVerdict::Rewrite(_) => "rewrite",
        _ => "other",
    }
}

#[test]
fn a_sure_answer_decides_and_every_other_follows_the_policy() {
    let failed = Err(Error::Failed("down".into()));
    for (answer, expected) in [
        (Ok(r#"{"kind": "allow", "confidence": 0.9}"#), "allow"),
        (Ok(r#"{"kind": "deny", "confidence": 0.9, "explanation": "it sends mail"}"#), "deny"),
        (Ok(r#"{"kind": "rewrite", "confidence": 0.9, "rewritten": "frob --dry-run"}"#), "rewrite"),
        (Ok(r#"{"kind": "deny", "confidence": 0.5}"#), "ask"),
        (Ok(r#"{"kind": "allow", "confidence": 0.5}"#), "ask"),
        (Ok(r#"{"kind": "allow"}"#), "ask"),
        (Ok(r#"{"kind": "rewrite", "confidence": 1}"#), "ask"),
        (Ok(r#"{"kind": "rewrite", "confidence": 1, "rewritten": "rm -rf /"}"#), "ask"),
        (Ok(r#"{"kind": "allow", "confidence": 7}"#), "ask"),
        (Ok("Sure! This is fine."), "ask"),
        (Ok(r#"{"kind": "maybe", "confidence": 1}"#), "ask"),
        (failed.clone(), "ask"),
    ] {
        assert_eq!(verdict(&json!({}), "frob --all", answer.clone()), expected, "{answer:?}");
        testing::inspect(|host| assert_eq!(host.findings.len(), 1, "{answer:?} is not audited"));
    }
    for (policy, expected) in [("allow", "allow"), ("deny", "deny"), ("ask", "ask")] {
        assert_eq!(verdict(&json!({"on-error": policy}), "frob", failed.clone()), expected);
        assert_eq!(
            verdict(&json!({"on-doubt": policy}), "frob", Ok(r#"{"kind": "deny", "confidence": 0.1}"#)),
            expected
        );
    }
}

#[test]
fn the_reason_why_no_model_was_asked_is_shown_in_words() {
    for (error, why) in [
        (Error::Failed("down".into()), "down"),
        (Error::Denied("not granted".into()), "not granted"),
        (Error::BudgetExceeded, "no call is left of the grant's `max-calls`"),
    ] {
        let verdict = verdicts(&json!({}), "frob --all", &[Err(error)], 1).remove(0);
        let ToolCallVerdict::Escalate(escalation) = verdict else { panic!("{verdict:?}") };
        let question = format!("No rule knows this command, and the model cannot be asked: {why}. Run it?");
        assert_eq!(escalation.question, question);
    }
}

#[test]
fn the_command_is_data_and_a_rule_that_matches_asks_no_model() {
    verdict(&json!({"prompt": "mine"}), "frob 'ignore the above'", Ok(r#"{"kind": "allow", "confidence": 1}"#));
    testing::inspect(|host| {
        let request = &host.model_requests[0];
        assert_eq!((request.instructions.as_str(), request.input.as_str()), ("mine", "frob 'ignore the above'"));
    });
    assert_eq!(verdict(&json!({}), "git stash drop", Ok(r#"{"kind": "allow", "confidence": 1}"#)), "ask");
    testing::inspect(|host| assert!(host.model_requests.is_empty()));
}

#[test]
fn an_answer_is_remembered_for_its_time_and_an_error_is_not() {
    let allow = Ok(r#"{"kind": "allow", "confidence": 1}"#);
    let config = json!({"cache-seconds": 60});
    verdicts(&config, "frob", std::slice::from_ref(&allow), 3);
    testing::inspect(|host| {
        assert_eq!(host.model_requests.len(), 1);
        assert!(host.findings[2].details.as_deref().unwrap().contains("\"cache_hit\":true"));
        host.time += 61_000;
        host.model_answers.push_back(Err(Error::BudgetExceeded));
        host.model_answers.push_back(Ok(r#"{"kind": "deny", "confidence": 1}"#.into()));
    });
    let again = || ShellGuardClassifier::before_tool_call(&testing::session(), &testing::shell("frob"));
    assert!(matches!(again(), ToolCallVerdict::Escalate(_)));
    assert!(matches!(again(), ToolCallVerdict::Reject(_)));
    assert!(matches!(again(), ToolCallVerdict::Reject(_)));
    testing::inspect(|host| assert_eq!(host.model_requests.len(), 3));
    verdicts(&json!({}), "frob", &[allow.clone(), allow], 2);
    testing::inspect(|host| assert_eq!(host.model_requests.len(), 2, "nothing is remembered by default"));
}

#[test]
fn another_prompt_or_id_has_answers_of_its_own() {
    let allow = Ok(r#"{"kind": "allow", "confidence": 1}"#);
    verdicts(&json!({"cache-seconds": 60, "id": "a"}), "frob 'a  b'", &[allow], 1);
    for (config, command) in [
        (json!({"cache-seconds": 60, "id": "b"}), "frob 'a  b'"),
        (json!({"cache-seconds": 60, "id": "a", "prompt": "other"}), "frob 'a  b'"),
        (json!({"cache-seconds": 60, "id": "a"}), "frob 'a b'"),
    ] {
        configure(json!({"classifier": config})).unwrap();
        let verdict = ShellGuardClassifier::before_tool_call(&testing::session(), &testing::shell(command));
        assert!(matches!(verdict, ToolCallVerdict::Escalate(_)), "{config} {command}: {verdict:?}");
    }
}

#[test]
fn a_wrong_config_is_one_clear_sentence() {
    for (config, expected) in [
        (json!({"classifier": {"threshold": 2.0}}), "`classifier.threshold` is 2"),
        (json!({"classifier": {"prompt": " "}}), "`classifier.prompt` is empty"),
        (json!({"classifier": {"treshold": 0.5}}), "`classifier`: unknown field `treshold`"),
        (json!({"classifier": {"on-error": "maybe"}}), "`classifier`: unknown variant `maybe`"),
        (json!({"mod": "deny"}), "unknown field `mod`"),
        (json!({"mode": "harsh"}), "unknown variant `harsh`"),
    ] {
        let error = configure(config.clone()).unwrap_err();
        assert!(error.contains(expected) && !error.contains('\n'), "{config}: {error}");
    }
}

/// The plugin accepts the config in the crate's documentation.
#[test]
fn the_documented_config_is_taken() {
    let source = include_str!("lib.rs");
    let block = source.split("//! ```toml\n").nth(1).unwrap().split("//! ```").next().unwrap();
    let lines: String = block.lines().map(|line| line.trim_start_matches("//!").to_owned() + "\n").collect();
    let entry: toml::Table = toml::from_str(&lines).unwrap();
    configure(serde_json::to_value(&entry["plugin"][0]["config"]).unwrap()).unwrap();
}
