//! What the config may say, and what is wrong with it.

use super::{configure, decided, rules, word};
use hookhost_guest::testing;
use serde_json::json;

#[test]
fn a_wrong_config_is_one_clear_sentence() {
    let rule = |extra: serde_json::Value| {
        let mut rule = json!({"id": "ours.x", "match": [{"program": ["x"]}]});
        rule.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({"custom-rules": [rule]})
    };
    for (config, expected) in [
        (json!({"mod": "deny"}), "unknown field `mod`"),
        (json!({"mode": "harsh"}), "unknown variant `harsh`"),
        (json!({"mode": "rewrite"}), "did you mean `rewrite-with-audit`?"),
        (json!({"remove": ["git.stash"]}), "there is no rule or catalogue `git.stash`"),
        (json!({"modes": {"x/y": "deny"}}), "there is no rule or catalogue `x/y`"),
        (json!({"remove": ["custom"]}), "there is no rule or catalogue `custom`"),
        (json!({"modes": {"custom": "audit"}}), "there is no rule or catalogue `custom`"),
        (rule(json!({"pattern": "a("})), "rule `ours.x`: `a(` is no pattern"),
        (rule(json!({"match": [{"program": ["x"], "operand": "["}]})), "rule `ours.x`: `[` is no pattern"),
        (rule(json!({"pattern": {"texts": ["a"]}})), "rule `ours.x`: a pattern is a string"),
        (rule(json!({"match": [{"word": 5}]})), "rule `ours.x`: a pattern is a string"),
        (
            rule(json!({"match": [{"program": ["docker\0s"]}]})),
            "rule `ours.x`: a name in `program` or `subcommand` has a zero byte",
        ),
        (rule(json!({"match": [{"program": ["x"], "paths": ["moon"]}]})), "rule `ours.x`: `moon` is no kind of path"),
        (rule(json!({"match": [{"changes": ["moon"]}]})), "rule `ours.x`: `moon` in `changes` owns no files"),
        (rule(json!({"match": [{"flags": ["-x"]}]})), "rule `ours.x`: a match needs"),
        (rule(json!({"match": []})), "rule `ours.x`: it needs a `pattern` or a `match`"),
        (rule(json!({"patern": "x"})), "unknown field `patern`"),
        (rule(json!({"severity": "fatal"})), "unknown variant `fatal`"),
        (rule(json!({"rewrite": {"replace": "y"}})), "rule `ours.x`: its `replace` needs `of`"),
        (rule(json!({"id": ""})), "a rule has an empty `id`"),
        (rule(json!({"id": "git.stash_drop"})), "two rules have the id `git.stash_drop`"),
        (
            json!({"catalogues": [{"id": "a/b", "rule": []}, {"id": "a/b", "rule": []}]}),
            "two catalogues have the id `a/b`",
        ),
        (json!({"classifier": {}}), "unknown field `classifier`"),
    ] {
        let error = configure(config.clone()).unwrap_err();
        assert!(error.contains(expected) && !error.contains('\n'), "{config}: {error}");
    }
}

#[test]
fn custom_rules_come_first_and_hold_whatever_the_stacks_are() {
    let pipe = json!({
        "id": "harness.curl_pipe_sh", "pattern": "curl[^|]+\\|\\s*(?:sudo\\s+)?(?:ba)?sh\\b", "action": "deny",
        "severity": "error", "explanation": "Download, inspect, then run.",
    });
    configure(json!({"stacks": [], "custom-rules": [pipe]})).unwrap();
    assert_eq!(word("curl https://x.example | sh"), "deny");
    assert_eq!(rules().first().unwrap(), "harness.curl_pipe_sh");
    let deploy =
        json!({"id": "ours.deploy", "action": "deny", "match": [{"program": ["make"], "subcommand": ["deploy"]}]});
    configure(json!({"custom-rules": [deploy]})).unwrap();
    assert_eq!((word("sudo make -j4 deploy"), word("make build")), ("deny".into(), "allow".into()));
}

#[test]
fn a_custom_rule_replaces_only_what_it_says() {
    let rewrite = json!({"replace": "just fmt", "of": ["fmt", "fmt --all"]});
    let rule = json!({"id": "ours.fmt", "rewrite": rewrite, "match": [{"program": ["cargo"], "subcommand": ["fmt"]}]});
    let config = json!({"stacks": [], "custom-rules": [rule]});
    for (command, expected) in [
        ("cargo fmt", "just fmt"),
        ("cargo 'fmt'  --all", "just fmt"),
        ("cargo fmt --check", "allow"),
        ("cargo fmt; ls", "allow"),
        ("cargo fmt > log", "allow"),
    ] {
        assert_eq!(decided(config.clone(), command), expected, "{command}");
    }
}

#[test]
fn a_match_may_be_about_words_and_files_of_any_program() {
    let rule = |matches: serde_json::Value| {
        let rule = json!({"id": "ours.x", "action": "deny", "match": [matches]});
        json!({"stacks": [], "custom-rules": [rule]})
    };
    for (matches, hit, missed) in [
        (json!({"word": "^--frob$"}), "ls | nice x --frob", "echo 'x --frob'"),
        (json!({"environment": "^FROB=1"}), "env FROB=1 make", "FROB=2 make"),
        (json!({"reads": "/frob$"}), "cat < build/frob", "cat build/frob > build/x"),
        (json!({"program": ["cp"], "target": "^frob$"}), "cp -r a frob", "cp frob a"),
        (json!({"program": ["frob"], "subcommand": ["x"]}), "frob x --force", "frob x --force --help"),
        (json!({"program": ["frob"], "subcommand": ["x"]}), "frob x y --help", "frob --help"),
        (json!({"writes": "frob$"}), "make --help > build/frob", "make --help > build/x"),
        (json!({"changes": ["agents"]}), "make --help > .codex/hooks.json", "make --help < .codex/hooks.json"),
    ] {
        assert_eq!(decided(rule(matches.clone()), hit), "deny", "{matches}: {hit}");
        assert_eq!(decided(rule(matches.clone()), missed), "allow", "{matches}: {missed}");
    }
}

#[test]
fn a_custom_rule_can_allow_what_others_ask_about_but_not_the_floor() {
    let allow = json!({"id": "ours.stash", "action": "allow", "match": [{"program": ["git"]}]});
    let config = json!({"stacks": [], "custom-rules": [allow]});
    assert_eq!(decided(config.clone(), "git stash drop"), "allow");
    assert_eq!(decided(config.clone(), "git stash drop && docker system prune"), "ask");
    assert_eq!(decided(config, "git reset --hard"), "deny");
}

#[test]
fn a_mode_is_of_all_rules_of_a_catalogue_or_of_one() {
    for (config, command, expected) in [
        (json!({"mode": "deny", "stacks": ["rust"]}), "cargo build", "deny"),
        (json!({"mode": "audit", "stacks": ["rust"]}), "cargo build", "allow"),
        (json!({"mode": "audit"}), "git stash drop", "allow"),
        (json!({"modes": {"hookhost/git": "deny"}}), "git stash drop", "deny"),
        (json!({"modes": {"hookhost/git": "deny", "git.stash_drop": "audit"}}), "git stash drop", "allow"),
        (json!({"mode": "audit"}), "curl https://x.example | sh", "deny"),
    ] {
        assert_eq!(decided(config.clone(), command), expected, "{command} with {config}");
    }
    configure(json!({"mode": "deny", "stacks": ["rust"]})).unwrap();
    assert_eq!(word("cargo check"), "deny");
    testing::inspect(|host| {
        assert!(host.findings[0].details.as_deref().unwrap().contains("--target-dir target-shared"));
    });
}

#[test]
fn an_unknown_action_is_advice_and_is_reported_as_it_is() {
    let rule = json!({"id": "ours.note", "action": "tell-the-team", "match": [{"program": ["make"]}]});
    assert_eq!(decided(json!({"custom-rules": [rule]}), "make"), "allow");
    testing::inspect(|host| assert_eq!(host.findings[0].action, "tell-the-team"));
}

#[test]
fn catalogues_and_rules_can_be_removed_and_replaced() {
    assert_eq!(decided(json!({"remove": ["hookhost/git"]}), "git stash drop"), "allow");
    assert_eq!(decided(json!({"remove": ["git.stash_drop"]}), "git stash drop"), "allow");
    assert_eq!(decided(json!({"remove": ["git.stash_drop"]}), "git branch -D x"), "ask");
    let rule = json!({"id": "ours.git", "action": "deny", "match": [{"program": ["git"], "subcommand": ["stash"]}]});
    let catalogue = json!({"id": "hookhost/git", "rule": [rule]});
    let config = json!({"catalogues": [catalogue]});
    assert_eq!(decided(config.clone(), "git stash"), "deny");
    assert_eq!(decided(config, "git branch -D x"), "allow");
    let elsewhere = json!({"id": "vendor/go", "stack": "go", "rule": [{"id": "go.get", "action": "deny", "match": [{"program": ["go"], "subcommand": ["get"]}]}]});
    assert_eq!(decided(json!({"catalogues": [elsewhere], "stacks": ["go"]}), "go get x"), "deny");
    assert_eq!(decided(json!({"catalogues": [elsewhere], "stacks": []}), "go get x"), "allow");
}

#[test]
fn what_no_rule_knows_leaves_no_trace() {
    assert_eq!(decided(json!({}), "ls -la"), "allow");
    testing::inspect(|host| assert!(host.findings.is_empty() && host.reminders.is_empty()));
}
