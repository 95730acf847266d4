//! Tests of valid configs, and of the errors of invalid configs.

use super::{GUARD, configure, decided, rules, word};
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::{Value, json};

#[test]
fn a_wrong_config_is_one_clear_sentence() {
    let rule = |extra: Value| {
        let mut rule = json!({"id": "ours.x", "match": [{"program": ["x"]}]});
        rule.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({"custom-rules": [rule]})
    };
    for (config, expected) in [
        (json!({"mod": "deny"}), "unknown field `mod`"),
        (json!({"mode": "harsh"}), "unknown variant `harsh`"),
        (json!({"mode": "rewrite-with"}), "did you mean `rewrite-with-audit`?"),
        (
            json!({"answers": {"sevrity:info": "allow"}}),
            "`sevrity:info` in `answers` is no `KIND:NAME` with a known kind: did you mean `severity`?",
        ),
        (json!({"answers": {"info": "allow"}}), "`info` in `answers` is no `KIND:NAME`"),
        (
            json!({"answers": {"severity:info": "alow"}}),
            "`alow` of `severity:info` in `answers` is no answer: did you mean `allow`?",
        ),
        (
            json!({"answers": {"severity:infos": "allow"}}),
            "there is no severity `infos`, which `answers` names: did you mean `info`?",
        ),
        (
            json!({"answers": {"cause:runs-unkown": "deny"}}),
            "there is no cause `runs-unkown`, which `answers` names: did you mean `runs-unknown`?",
        ),
        (
            json!({"answers": {"rule:git.stash_drp": "deny"}}),
            "there is no rule `git.stash_drp`, which `answers` names: did you mean `git.stash_drop`?",
        ),
        (
            json!({"answers": {"catalogue:hookhost/gti": "ask"}}),
            "there is no catalogue `hookhost/gti`, which `answers` names: did you mean `hookhost/git`?",
        ),
        (
            json!({"answers": {"label:netwrok": "ask"}}),
            "there is no label `netwrok`, which `answers` names: did you mean `network`?",
        ),
        (json!({"answers": {"rule:floor.disk": "ask"}}), "`rule:floor.disk` in `answers` would loosen the floor"),
        (
            json!({"answers": {"catalogue:hookhost/self-defence": "audit"}}),
            "`catalogue:hookhost/self-defence` in `answers` would loosen the floor",
        ),
        (json!({"remove": ["git.stash"]}), "there is no rule or catalogue `git.stash`"),
        (json!({"modes": {"x/y": "deny"}}), "there is no rule or catalogue `x/y`"),
        (json!({"remove": ["custom"]}), "there is no rule or catalogue `custom`"),
        (json!({"modes": {"custom": "audit"}}), "there is no rule or catalogue `custom`"),
        (rule(json!({"pattern": "a("})), "rule `ours.x`: `a(` is no pattern"),
        (rule(json!({"match": [{"program": ["x"], "operand": "["}]})), "rule `ours.x`: `[` is no pattern"),
        (rule(json!({"pattern": {"texts": ["a"]}})), "rule `ours.x`: `pattern`: invalid type: map, expected a string"),
        (
            rule(json!({"match": [{"word": 5}]})),
            "rule `ours.x`: `match[0].word`: invalid type: integer `5`, expected a string",
        ),
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
    let rule = |matches: Value| {
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
        (json!({"program": ["dd"], "touches": ["home"]}), "dd if=x of=~/y", "dd if=~/y of=x"),
        (json!({"program": ["ls"], "paths": ["home"], "whole": true}), "ls ~/Documents", "ls ~/a/b"),
        (json!({"program": ["ls"], "paths": ["home"]}), "ls ~/a/b", "ls a/b"),
        (json!({"verbs": ["zap"]}), "frob user zap-all", "frob --zap user"),
        (json!({"verbs": ["zap"], "no-program": ["frob y"]}), "frob x zap", "frob y zap"),
        (json!({"verbs": ["zap"], "unnamed": true}), "nice frob zap", "git zap"),
        (
            json!({"program": ["psql"], "statement": "(?i)^\\s*frob"}),
            "psql -c 'select 1; frob x'",
            "psql -c \"select 'x; frob y'\"",
        ),
        (
            json!({"program": ["psql"], "statement": "frob", "no-statement": "safe"}),
            "psql -c 'frob x; safe'",
            "psql -c 'frob safe'",
        ),
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
    assert_eq!(decided(config.clone(), "git reset --hard"), "allow");
    let allow = json!({"id": "ours.rm", "action": "allow", "match": [{"program": ["rm"]}]});
    assert_eq!(decided(json!({"stacks": [], "custom-rules": [allow]}), "rm -rf /"), "deny");
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
fn answers_take_the_place_of_what_rules_say_and_the_most_specific_key_counts() {
    let drop = "git stash drop";
    for (answers, command, expected) in [
        (json!({}), drop, "ask"),
        (json!({"severity:warning": "allow"}), drop, "allow"),
        (json!({"severity:error": "allow"}), drop, "ask"),
        (json!({"severity:warning": "allow", "catalogue:hookhost/git": "deny"}), drop, "deny"),
        (json!({"catalogue:hookhost/git": "deny", "label:destroys": "audit"}), "git clean -f", "allow"),
        (json!({"label:destroys": "audit", "rule:git.clean": "deny"}), "git clean -f", "deny"),
        (json!({"cause:runs-unknown": "deny"}), "eval \"$X\"", "deny"),
        (json!({"cause:control-characters": "allow", "severity:error": "deny"}), "ls \u{7}", "allow"),
        (json!({"label:network": "deny"}), "git push -f origin x", "deny"),
        (json!({"severity:error": "audit", "severity:warning": "audit"}), "rm -rf /", "deny"),
        (json!({"severity:error": "audit"}), "hookhost trust", "deny"),
        (json!({"rule:python.find_versus_rg": "rewrite"}), "find . -name '*.py'", "rg --files -t py"),
        (json!({"severity:info": "rewrite"}), "rm Cargo.lock", "allow"),
        (json!({"rule:git.stash_drop": "rewrite"}), drop, "ask"),
    ] {
        let config = json!({"stacks": ["python"], "answers": answers});
        assert_eq!(decided(config, command), expected, "{command} with {answers}");
    }
    let config = json!({"mode": "audit", "answers": {"rule:git.stash_drop": "ask"}});
    assert_eq!(
        (decided(config.clone(), drop), decided(config, "git stash clear && git clean -f")),
        ("ask".into(), "ask".into())
    );
    assert_eq!(decided(json!({"mode": "audit", "answers": {"rule:git.stash_drop": "ask"}}), "git clean -f"), "allow");
    let allow = json!({"id": "ours.stash", "action": "allow", "match": [{"program": ["git"]}]});
    let config = json!({"custom-rules": [allow], "answers": {"severity:warning": "deny"}});
    assert_eq!(decided(config, drop), "allow", "a rule that allows does so whatever its severity");
    configure(json!({"answers": {"rule:git.stash_drop": "allow"}})).unwrap();
    assert_eq!(word(drop), "allow");
    assert!(rules().is_empty(), "what is allowed is not reported: {:?}", rules());
}

#[test]
fn the_mode_rewrite_rewrites_and_reports_refusals_and_questions_alone() {
    configure(json!({"mode": "rewrite", "stacks": ["harn"]})).unwrap();
    assert_eq!(word("cargo run --bin harn"), "cargo --quiet run --bin harn");
    assert!(rules().is_empty(), "{:?}", rules());
    configure(json!({"mode": "rewrite", "stacks": ["rust"]})).unwrap();
    assert_eq!((word("cargo fmt"), rules()), ("allow".into(), Vec::new()));
    assert_eq!((word("git stash drop"), rules()), ("ask".into(), vec!["git.stash_drop".to_owned()]));
    assert_eq!((word("git push -f origin main"), rules().is_empty()), ("deny".into(), false));
}

#[test]
fn the_rule_about_words_of_destruction_is_of_unnamed_programs_and_can_be_removed() {
    assert_eq!(decided(json!({}), "frob delete x"), "ask");
    assert_eq!(decided(json!({"remove": ["general.destroying_word"]}), "frob delete x"), "allow");
    assert_eq!(decided(json!({}), "f() { echo; }; f delete x"), "allow", "it is a function of the script");
    let deploy =
        json!({"id": "ours.deploy", "action": "deny", "match": [{"program": ["frob"], "subcommand": ["deploy"]}]});
    assert_eq!(
        decided(json!({"custom-rules": [deploy]}), "frob delete x"),
        "ask",
        "a rule of the config names it in vain"
    );
}

#[test]
fn a_hint_tells_of_a_rewrite_and_changes_nothing() {
    configure(json!({"stacks": ["python"]})).unwrap();
    assert_eq!(word("find . -name '*.py'"), "allow");
    testing::inspect(|host| {
        assert_eq!(host.findings[0].action, "hint");
        assert!(host.findings[0].details.as_deref().unwrap().contains("run `rg --files -t py`"));
    });
    assert_eq!(decided(json!({"mode": "deny", "stacks": ["python"]}), "find . -name '*.py'"), "deny");
}

#[test]
fn an_action_that_is_no_known_word_is_an_error_that_names_the_one_that_was_meant() {
    for (action, meant) in [
        ("reject", "deny"),
        ("Deny", "deny"),
        ("dney", "deny"),
        ("block", "deny"),
        ("confirm", "ask"),
        ("Ask", "ask"),
        ("rewrit", "rewrite"),
        ("warn", "audit"),
        ("permit", "allow"),
    ] {
        let rule = json!({"id": "ours.x", "action": action, "match": [{"program": ["make"]}]});
        for config in [json!({"custom-rules": [rule]}), json!({"catalogues": [{"id": "ours/x", "rule": [rule]}]})] {
            let error = configure(config).unwrap_err();
            assert!(error.contains(&format!("`{action}` of `action`: did you mean `{meant}`?")), "{error}");
        }
    }
    let rule = json!({"id": "ours.x", "action": "tell-the-team", "match": [{"program": ["make"]}]});
    let error = configure(json!({"custom-rules": [rule]})).unwrap_err();
    assert!(error.contains("the words here are `deny`, `ask`, `rewrite`, `hint`, `audit`, `allow`"), "{error}");
    let rule = json!({"id": "ours.x", "action": "rewrite", "match": [{"program": ["make"]}]});
    let error = configure(json!({"custom-rules": [rule]})).unwrap_err();
    assert!(error.contains("rule `ours.x`: its action is `rewrite`, and it has no `rewrite`"), "{error}");
}

#[test]
fn the_value_of_an_option_is_a_word_with_its_name_wherever_it_is_written() {
    let rule =
        json!({"id": "ours.x", "action": "deny", "match": [{"program": ["kubectl"], "word": "^--context=prod$"}]});
    configure(json!({"stacks": [], "remove": ["hookhost/kubernetes"], "custom-rules": [rule]})).unwrap();
    for command in [
        "kubectl --context=prod get x",
        "kubectl --context prod get x",
        "kubectl --context 'prod' get x",
        "kubectl get x --context prod",
        "sh -c 'kubectl --context prod get x'",
    ] {
        assert_eq!(word(command), "deny", "{command}");
    }
    for command in ["kubectl --context stage get prod", "kubectl --context=stage get x", "kubectl get prod --context"] {
        assert_eq!(word(command), "allow", "{command}");
    }
    let rule = json!({"id": "ours.x", "action": "deny", "match": [{"program": ["kubectl"], "no-word": "^--context=kind-dev$"}]});
    configure(json!({"stacks": [], "remove": ["hookhost/kubernetes"], "custom-rules": [rule]})).unwrap();
    for command in ["kubectl --context=kind-dev get x", "kubectl --context kind-dev get x"] {
        assert_eq!(word(command), "allow", "{command}");
    }
    assert_eq!(word("kubectl --context prod get x"), "deny");
}

#[test]
fn with_a_program_what_it_writes_by_its_words_is_written_too() {
    let rule = json!({"id": "ours.x", "action": "deny", "match": [{"program": ["tee", "sed", "cp"], "writes": "(^|/)conf/x$"}]});
    configure(json!({"stacks": [], "custom-rules": [rule]})).unwrap();
    for command in
        ["tee conf/x < y", "ls | tee -a conf/x", "sed -i s/a/b/ conf/x", "cp y conf/x", "cd conf && tee x < y"]
    {
        assert_eq!(word(command), "deny", "{command}");
    }
    for command in ["sed s/a/b/ conf/x", "cp conf/x y", "tee y < conf/x"] {
        assert_eq!(word(command), "allow", "{command}");
    }
}

#[test]
fn what_an_unknown_tool_may_run_is_judged_and_never_changed() {
    configure(json!({"stacks": ["harn"]})).unwrap();
    let ask = |name: &str, arguments: Value, action: Action| {
        testing::prime(|_| {});
        GUARD.get().verdict(&testing::session(), &testing::call(name, arguments, action)).unwrap_or_else(Verdict::allow)
    };
    let mcp = || Action::Mcp(McpTool { server: Some("box".into()), tool: "x".into() });
    let other = || Action::Other(String::new());
    for (name, arguments, action) in [
        ("BashTool", json!({"command": "git push --force origin main"}), other()),
        ("mcp__shell__run", json!({"cmd": ["git", "reset", "--hard"]}), mcp()),
        ("mcp__shell__run", json!({"steps": [{"script": "ls\nrm -rf /"}]}), mcp()),
        // If the tool's name is like the name of a shell, more argument names are taken for a command.
        ("mcp__shell__run", json!({"text": "rm -rf /"}), mcp()),
        ("run_command_line", json!({"command-line": "rm -rf /etc", "command": "ls"}), other()),
    ] {
        let verdict = ask(name, arguments.clone(), action);
        let is_stopped = matches!(verdict, ToolCallVerdict::Reject(_) | ToolCallVerdict::Escalate(_));
        assert!(is_stopped, "{name} {arguments}: {verdict:?}");
    }
    for (name, arguments, action) in [
        ("mcp__db__execute", json!({"command": "DROP TABLE users; DELETE FROM x WHERE name = 'it''s' AND ("}), mcp()),
        ("mcp__db__execute", json!({"command": "DELETE FROM users"}), mcp()),
        ("mcp__game__act", json!({"command": "destroy the castle"}), mcp()),
        ("mcp__shell__run", json!({"command": "ls -la"}), mcp()),
        ("mcp__shell__run", json!({"command": "cargo run --bin harn -- run x.harn"}), mcp()),
        ("mcp__notes__add", json!({"text": "rm -rf /"}), mcp()),
        ("read", json!({"command": "rm -rf /"}), Action::ReadFile("x".into())),
    ] {
        assert_eq!(ask(name, arguments.clone(), action), ToolCallVerdict::Allow, "{name} {arguments}");
    }
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
