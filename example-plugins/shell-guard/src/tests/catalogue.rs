//! Every rule catches what it says and leaves what it says.

use super::{decided, registry};
use crate::rules::{Compiled, Subject};
use crate::shell::{Places, read};
use hookhost_guest::prelude::ShellDialect;

fn matches(rule: &Compiled, command: &str) -> bool {
    let registry = registry();
    let places = Places::new("/work/project");
    let script = read(command, ShellDialect::Posix, "/work/project", &places);
    let subject = Subject { text: command, script: &script, places: &places };
    registry.matching(&subject).iter().any(|hit| hit.rule.rule.id == rule.rule.id)
}

#[test]
fn each_rule_catches_and_leaves_what_it_says() {
    let mut wrong = Vec::new();
    for rule in registry().rules() {
        assert!(!rule.rule.catches.is_empty() && !rule.rule.leaves.is_empty(), "{} has no examples", rule.rule.id);
        assert!(!rule.rule.explanation.is_empty(), "{} explains nothing", rule.rule.id);
        wrong.extend(
            rule.rule
                .catches
                .iter()
                .filter(|command| !matches(rule, command))
                .map(|command| format!("{} misses `{command}`", rule.rule.id)),
        );
        wrong.extend(
            rule.rule
                .leaves
                .iter()
                .filter(|command| matches(rule, command))
                .map(|command| format!("{} catches `{command}`", rule.rule.id)),
        );
    }
    assert!(wrong.is_empty(), "{} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_a_floor_rule_catches_is_denied_in_every_mode() {
    for rule in registry().rules().iter().filter(|rule| rule.is_floor()) {
        for command in &rule.rule.catches {
            for mode in ["rewrite-with-audit", "deny", "audit"] {
                assert_eq!(decided(serde_json::json!({"mode": mode}), command), "deny", "{command} in {mode}");
            }
        }
    }
}
