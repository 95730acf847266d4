//! Which rules count, and when others do.

use crate::support::{Lab, bash, decision, of_rule};
use hookhost::contract::{Refusal, ToolCall};
use hookhost::native::Rule;
use serde_json::Value;

fn denies() -> Rule {
    Rule::new().before_tool_call(|_, _: &ToolCall| Some(Refusal::new("no")))
}

#[tokio::test]
async fn changed_rules_count_from_the_next_event_on_and_those_that_cannot_be_loaded_change_nothing() {
    let lab = Lab::new(Rule::new()).await;
    assert_eq!(lab.said(&bash("PreToolUse", "1", "ls")).await, Value::Null);
    *lab.configuration.config.lock().unwrap() = Ok(of_rule(denies()));
    assert_eq!(lab.said(&bash("PreToolUse", "2", "ls")).await, Value::Null, "its file is as it was");
    std::fs::write(&lab.configuration.file, "22").unwrap();
    assert_eq!(decision(&lab.said(&bash("PreToolUse", "3", "ls")).await), "deny");
    *lab.configuration.config.lock().unwrap() = Err("line 3 is wrong".to_owned());
    std::fs::remove_file(&lab.configuration.file).unwrap();
    let said = lab.said(&bash("PreToolUse", "4", "ls")).await;
    assert_eq!(decision(&said), "deny");
    assert!(said["systemMessage"].as_str().unwrap().contains("line 3 is wrong"), "{said}");
}

#[tokio::test]
async fn where_no_rules_could_ever_be_loaded_nothing_runs() {
    let lab = Lab::new(Rule::new()).await;
    *lab.configuration.config.lock().unwrap() = Err("line 3 is wrong".to_owned());
    let said = lab.said(&bash("PreToolUse", "1", "ls")).await;
    assert_eq!(decision(&said), "deny");
    assert!(said.to_string().contains("line 3 is wrong"), "{said}");
    *lab.configuration.config.lock().unwrap() = Ok(of_rule(Rule::new()));
    std::fs::write(&lab.configuration.file, "333").unwrap();
    assert_eq!(lab.said(&bash("PreToolUse", "2", "ls")).await, Value::Null);
}

#[tokio::test]
async fn the_user_is_told_of_plugins_that_a_changed_configuration_has_no_more() {
    let lab = Lab::new(denies()).await;
    assert_eq!(decision(&lab.said(&bash("PreToolUse", "1", "ls")).await), "deny");
    *lab.configuration.config.lock().unwrap() = Ok(hookhost::Config::empty());
    std::fs::write(&lab.configuration.file, "").unwrap();
    let said = lab.said(&bash("PreToolUse", "2", "ls")).await;
    assert!(said["systemMessage"].as_str().unwrap().contains("no longer has rule: no plugin is asked now"), "{said}");
}
