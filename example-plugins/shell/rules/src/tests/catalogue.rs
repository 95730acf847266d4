//! Tests that every rule catches its examples in `catches`, and does not catch its examples in `leaves`.

use super::{configure, decided, registry, word};
use crate::document;
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn each_rule_catches_and_leaves_what_it_says() {
    let mut wrong = Vec::new();
    // Without this setting, the catalogue of commands that only read is left out.
    configure(json!({"unknown": "ask"})).unwrap();
    for rule in registry().rules() {
        assert!(!rule.rule.catches.is_empty() && !rule.rule.leaves.is_empty(), "{} has no examples", rule.rule.id);
        assert!(!rule.rule.explanation.is_empty(), "{} explains nothing", rule.rule.id);
        wrong.extend(
            rule.rule
                .catches
                .iter()
                .filter(|command| !registry().catches(&rule.rule.id, command))
                .map(|command| format!("{} misses `{command}`", rule.rule.id)),
        );
        wrong.extend(
            rule.rule
                .leaves
                .iter()
                .filter(|command| registry().catches(&rule.rule.id, command))
                .map(|command| format!("{} catches `{command}`", rule.rule.id)),
        );
    }
    assert!(wrong.is_empty(), "{} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// An agent reads the explanation if nobody is there to answer the question.
#[test]
fn each_rule_that_asks_also_says_what_to_do_instead() {
    configure(json!({"stacks": []})).unwrap();
    let asking = registry().rules().iter().filter(|rule| rule.rule.action.as_deref() == Some("ask"));
    let silent: Vec<_> =
        asking.filter(|rule| !rule.rule.explanation.contains(". ")).map(|rule| &rule.rule.id).collect();
    assert!(silent.is_empty(), "these explanations are one sentence: {silent:?}");
}

#[test]
fn each_rule_says_by_labels_what_kind_of_harm_it_is_about() {
    let catalogues = document::catalogues().unwrap();
    let rules = catalogues.iter().flat_map(|catalogue| &catalogue.rules);
    let without: Vec<_> = rules.clone().filter(|rule| rule.labels.is_empty()).map(|rule| &rule.id).collect();
    assert!(without.is_empty(), "{without:?}");
    // Each label must be in this list, so that no label is a misspelling of another.
    let known = [
        "destroys",
        "elevates",
        "guard",
        "habits",
        "history",
        "loosens",
        "network",
        "publishes",
        "reads",
        "runs-later",
        "secrets",
        "stops",
        "unread",
    ];
    let used: BTreeSet<&str> = rules.flat_map(|rule| &rule.labels).map(String::as_str).collect();
    assert_eq!(used.into_iter().collect::<Vec<_>>(), known);
}

#[test]
fn what_a_floor_rule_catches_is_denied_in_every_mode() {
    for mode in ["rewrite-with-audit", "deny", "audit"] {
        configure(json!({"mode": mode})).unwrap();
        for rule in registry().rules().iter().filter(|rule| rule.is_floor()) {
            let expected = rule.rule.action.as_deref().filter(|_| mode != "deny").unwrap_or("deny");
            for command in &rule.rule.catches {
                assert_eq!(word(command), expected, "{command} in {mode}");
            }
        }
    }
}

#[test]
fn examples_of_a_custom_rule_are_checked_when_it_is_loaded() {
    let rule = |examples: serde_json::Value| {
        let mut rule =
            json!({"id": "ours.x", "action": "deny", "match": [{"program": ["make"], "subcommand": ["deploy"]}]});
        rule.as_object_mut().unwrap().extend(examples.as_object().unwrap().clone());
        json!({"custom-rules": [rule]})
    };
    assert_eq!(decided(rule(json!({"catches": ["sudo make deploy"], "leaves": ["make"]})), "make deploy"), "deny");
    let error = configure(rule(json!({"catches": ["make build"]}))).unwrap_err();
    assert_eq!(error, "rule `ours.x` does not catch `make build`, which is in its `catches`");
    let error = configure(rule(json!({"leaves": ["make deploy"]}))).unwrap_err();
    assert_eq!(error, "rule `ours.x` catches `make deploy`, which is in its `leaves`");
}

#[test]
fn the_listing_names_no_catalogue_without_rules_and_leaves_no_gaps() {
    let registry = registry();
    let listing = registry.listing();
    assert!(
        !listing.is_empty() && listing.iter().all(|line| !line.contains("custom") && !line.contains("  ")),
        "{listing:?}"
    );
}
