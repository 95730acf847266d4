//! `hookhost import` and `hookhost rule export`: rules of agents as rules in words, and back.

use hookhost_tests::{Ended, User};
use serde_json::{Value, json};

/// Claude Code's own rules, as a project has them.
const CLAUDE_CODE: &str = r#"{
  // what nobody may do
  "permissions": {
    "defaultMode": "acceptEdits",
    "allow": ["Bash(npm test)"],
    "ask": ["Bash(git push:*)"],
    "deny": [
      "Bash(rm -rf:*)",
      "Bash(npm publish *)",
      "Bash(mkfs*)",
      "Bash(git * main)",
      "Bash(make > log)",
      "Read(./.env)",
      "Edit(/infra/**)",
      "WebFetch(domain:evil.example)",
      "mcp__github__delete_repo"
    ]
  }
}
"#;

/// A user whose agent's files are these, below the project.
fn user_with(files: &[(&str, &str)]) -> User {
    let user = User::new();
    for (name, text) in files {
        user.write(name, text);
    }
    user
}

/// Imports a format, and puts the rows in force.
fn imported(user: &User, format: &str) -> Ended {
    let ended = user.run(["import", format]);
    ended.expect(0, &[]);
    user.configure(&ended.stdout);
    ended
}

/// The decision about a call, as the word of its outcome.
fn outcome(user: &User, tool: &str, arguments: &Value) -> String {
    let call = json!({ "id": "1", "name": tool, "arguments": arguments });
    let payload = json!({ "session": { "agent": "claude-code", "cwd": user.project() }, "call": call });
    let (_, outcome) = user.dispatch("before-tool-call", &payload);
    let is_question = outcome["reason"].as_str().is_some_and(|reason| reason.contains("not approved"));
    if is_question { "asked".to_owned() } else { outcome["outcome"].as_str().unwrap_or_default().to_owned() }
}

#[track_caller]
fn judges(user: &User, calls: &[(&str, Value, &str)]) {
    for (tool, arguments, expected) in calls {
        assert_eq!(outcome(user, tool, arguments), *expected, "{tool} {arguments}");
    }
}

fn command(text: &str) -> Value {
    json!({ "command": text })
}

#[test]
fn rules_of_claude_code_judge_the_same_calls_as_rows() {
    let user = user_with(&[(".claude/settings.json", CLAUDE_CODE)]);
    imported(&user, "claude-code");
    judges(
        &user,
        &[
            ("Bash", command("git push origin x"), "asked"),
            ("Bash", command("cd a && git push"), "asked"),
            ("Bash", command("git pushx"), "allowed"),
            ("Bash", command("git pull"), "allowed"),
            ("Bash", command("rm -rf build"), "rejected"),
            ("Bash", command("rm build"), "allowed"),
            ("Bash", command("npm publish --tag next"), "rejected"),
            ("Bash", command("npm publish"), "rejected"),
            ("Bash", command("npm test"), "allowed"),
            ("Bash", command("git merge main"), "rejected"),
            ("Bash", command("git merge maintenance"), "allowed"),
            ("Bash", command("mkfs.ext4 /dev/sda"), "rejected"),
            ("Read", json!({ "file_path": user.project().join(".env") }), "rejected"),
            ("Bash", command("cat .env"), "rejected"),
            ("Read", json!({ "file_path": user.project().join("env.md") }), "allowed"),
            (
                "Edit",
                json!({ "file_path": user.project().join("infra/a/b.tf"), "old_string": "a", "new_string": "b" }),
                "rejected",
            ),
            (
                "Edit",
                json!({ "file_path": user.project().join("src/infra.rs"), "old_string": "a", "new_string": "b" }),
                "allowed",
            ),
            ("WebFetch", json!({ "url": "https://evil.example/a", "prompt": "x" }), "rejected"),
            ("WebFetch", json!({ "url": "https://good.example/a", "prompt": "x" }), "allowed"),
            ("mcp__github__delete_repo", json!({}), "rejected"),
            ("mcp__github__list_repos", json!({}), "allowed"),
        ],
    );
}

#[test]
fn what_has_no_equal_and_what_differs_is_named_with_its_line() {
    let user = user_with(&[(".claude/settings.json", CLAUDE_CODE)]);
    let said = user.run(["import", "claude-code"]).stderr;
    for text in [
        ".claude/settings.json:4: permissions.defaultMode\n    it is a setting of the agent and no rule about calls",
        ".claude/settings.json:5: allow Bash(npm test)\n    a rule of hookhost allows nothing; the agent goes on applying its own rule",
        ".claude/settings.json:12: deny Bash(make > log)\n    a rule compares neither redirections nor variables",
        ".claude/settings.json:11: deny Bash(git * main)\n    stricter: it compares the words",
        ".claude/settings.json:8: deny Bash(rm -rf:*)\n    stricter: it finds `-rf` anywhere in the command",
        ".claude/settings.json:13: deny Read(./.env)\n    stricter: it stops this name in every directory",
        "9 rules of Claude Code imported, 4 with a difference; 3 not imported",
    ] {
        assert!(said.contains(text), "{text:?} is not in\n{said}");
    }
}

#[test]
fn rules_of_codex_judge_the_same_calls_and_keep_their_examples() {
    let user = user_with(&[(
        ".codex/rules/team.rules",
        r#"# by the team
prefix_rule(
    pattern = ["git", ["push", "fetch"]],
    decision = "prompt",
    justification = "It uses the network.",
    match = [["git", "push", "origin"], "git fetch --all"],
    not_match = ["git status", "git -C a push"],
)
prefix_rule(pattern = ["docker", "rm", "-f"], decision = "forbidden", justification = "Use docker stop.")
prefix_rule(pattern = ["ls"], decision = "allow")
for x in ["a"]:
    prefix_rule(pattern = [x])
"#,
    )]);
    let ended = imported(&user, "codex");
    judges(
        &user,
        &[
            ("Bash", command("git push origin main"), "asked"),
            ("Bash", command("git fetch"), "asked"),
            ("Bash", command("git status"), "allowed"),
            ("Bash", command("docker rm -f web"), "rejected"),
            ("Bash", command("docker rm web"), "allowed"),
            ("Bash", command("ls"), "allowed"),
        ],
    );
    assert!(ended.stdout.contains("stops = [\"git push origin\", \"git fetch --all\"]"), "{}", ended.stdout);
    for text in [
        "team.rules:2: prefix_rule( pattern",
        "stricter: it also stops `git -C a push`, which the original lets pass",
        "team.rules:10: prefix_rule(pattern = [\"ls\"], decision = \"allow\")\n    a rule of hookhost allows nothing",
        "team.rules:11: for x in",
    ] {
        assert!(ended.stderr.contains(text), "{text:?} is not in\n{}", ended.stderr);
    }
}

#[test]
fn policies_of_gemini_cli_judge_the_same_calls() {
    let user = user_with(&[(
        ".gemini/policies/team.toml",
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = ['terraform apply', 'terraform destroy']\ndecision = 'ask_user'\npriority = 100\n\
         [[rule]]\ntoolName = 'run_shell_command'\ncommandRegex = 'npm (publish|unpublish)'\ndecision = 'deny'\ndenyMessage = 'CI publishes.'\npriority = 200\n\
         [[rule]]\nmcpName = 'db'\ntoolName = 'drop_*'\ndecision = 'deny'\npriority = 10\n\
         [[rule]]\ntoolName = 'write_file'\nmodes = ['plan']\ndecision = 'deny'\npriority = 10\n",
    )]);
    let ended = imported(&user, "gemini-cli");
    judges(
        &user,
        &[
            ("Bash", command("terraform apply -auto-approve"), "asked"),
            ("Bash", command("terraform plan"), "allowed"),
            ("Bash", command("npm publish"), "rejected"),
            ("mcp__db__drop_table", json!({}), "rejected"),
            ("mcp__db__list", json!({}), "allowed"),
        ],
    );
    assert!(ended.stderr.contains("it holds only under its `modes`"), "{}", ended.stderr);
}

#[test]
fn rules_of_hookify_judge_the_same_commands_and_files() {
    let rule = |keys: &str| format!("---\nname: r\nenabled: true\n{keys}\n---\n\nNot here.\n");
    let user = user_with(&[
        (".claude/hookify.rm.local.md", &rule("event: bash\npattern: rm\\s+-rf\naction: block")),
        (
            ".claude/hookify.env.local.md",
            &rule(
                "event: file\nconditions:\n  - field: file_path\n    operator: regex_match\n    pattern: \\.env$\naction: block",
            ),
        ),
        (".claude/hookify.log.local.md", &rule("event: file\npattern: console\\.log\naction: warn")),
    ]);
    let ended = imported(&user, "hookify");
    judges(
        &user,
        &[
            ("Bash", command("rm -rf /tmp/x"), "rejected"),
            ("Bash", command("rm x"), "allowed"),
            ("Write", json!({ "file_path": user.project().join("a/prod.env"), "content": "x" }), "rejected"),
            ("Write", json!({ "file_path": user.project().join("a/env.md"), "content": "x" }), "allowed"),
        ],
    );
    assert!(ended.stdout.contains("reject = \"Not here.\""), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("narrower: it sees commands, and no text that only mentions one"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("hookify.log.local.md:2: r (event file, pattern console\\.log)"), "{}", ended.stderr);
}

#[test]
fn permissions_of_cursor_judge_the_same_calls() {
    let user = user_with(&[(
        ".cursor/cli.json",
        r#"{"permissions": {"allow": ["Shell(ls)"], "deny": ["Shell(curl)", "Write(.env*)"]}}"#,
    )]);
    imported(&user, "cursor");
    judges(
        &user,
        &[
            ("Bash", command("curl https://x.example"), "rejected"),
            ("Bash", command("ls"), "allowed"),
            ("Write", json!({ "file_path": user.project().join(".env.local"), "content": "x" }), "rejected"),
        ],
    );
}

#[test]
fn a_broken_file_has_a_position_and_nothing_is_imported() {
    let user = user_with(&[
        (".claude/settings.json", "{\n \"permissions\": {\"deny\": [\"Bash(rm:*)\"\n"),
        (".codex/rules/a.rules", "prefix_rule(\n pattern = [\"a\n"),
        (".gemini/policies/a.toml", "[[rule]]\ntoolName = \n"),
        (".claude/hookify.a.local.md", "no keys\n"),
    ]);
    for (format, at) in [
        ("claude-code", ".claude/settings.json:2:"),
        ("codex", ".codex/rules/a.rules:2:13: the text that begins here does not end"),
        ("gemini-cli", ".gemini/policies/a.toml:2:"),
        ("hookify", ".claude/hookify.a.local.md:1:1: the file does not begin with `---`"),
    ] {
        let ended = user.run(["import", format]);
        ended.expect(2, &[at]);
        assert_eq!(ended.stdout, "", "{format}");
    }
    user.run(["import", "cursor"])
        .expect(0, &["Cursor has no rules here: none of ~/.cursor/cli-config.json, .cursor/cli.json exists"]);
    user.run(["import", "cursor", "nowhere.json"]).expect(2, &["nowhere.json does not exist"]);
    user.run(["import", "vim"]).expect(2, &["invalid value 'vim'"]);
}

#[test]
fn very_many_rules_are_one_sentence() {
    let rules: Vec<String> = (0..10_000).map(|number| format!("Bash(program-{number}:*)")).collect();
    let text = json!({ "permissions": { "deny": rules } }).to_string();
    let user = user_with(&[(".claude/settings.json", &text)]);
    user.run(["import", "claude-code"]).expect(2, &["these are 10000 rules, and a configuration has at most 1000"]);
}

#[test]
fn a_narrow_rule_and_a_wide_one_are_both_kept_and_an_equal_one_is_named() {
    let rules = [
        "mcp__github__open",
        "mcp__github",
        "Edit(.git/**)",
        "Bash(find . -delete)",
        "Bash(git push:*)",
        "Bash(git push --force:*)",
        "WebSearch",
    ];
    let text = json!({ "permissions": { "deny": rules, "ask": ["Bash(git push:*)"] } }).to_string();
    let user = user_with(&[(".claude/settings.json", &text)]);
    let said = imported(&user, "claude-code").stderr;
    assert!(said.contains("7 rules of Claude Code imported"), "{said}");
    assert!(
        said.contains("ask Bash(git push:*)\n    the rule `claude-code.bash-git-push` already stops this"),
        "{said}"
    );
    judges(
        &user,
        &[
            ("mcp__github__close", json!({}), "rejected"),
            ("Bash", command("cd /tmp && find . -delete"), "rejected"),
            ("Bash", command("git push --force"), "rejected"),
            ("WebSearch", json!({ "query": "x" }), "rejected"),
        ],
    );
}

#[test]
fn a_new_file_gets_the_tables_and_no_file_is_replaced() {
    let user = user_with(&[(".claude/settings.json", CLAUDE_CODE)]);
    user.run(["import", "claude-code", "-o", "rules.toml"])
        .expect(0, &["put the rules of rules.toml into your hookhost.toml, or into the project's"]);
    let text = std::fs::read_to_string(user.project().join("rules.toml")).unwrap();
    assert!(
        text.starts_with(
            "# .claude/settings.json:6: ask Bash(git push:*)\n[[rule]]\nid = \"claude-code.bash-git-push\"\n"
        ),
        "{text}"
    );
    user.run(["import", "claude-code", "-o", "rules.toml"]).expect(2, &["rules.toml cannot be written"]);
}

#[test]
fn rows_that_an_agent_can_express_are_exported_and_the_others_named() {
    let user = User::new();
    user.configure(
        "[[rule]]\nid = 'publish'\non = 'shell'\nprogram = 'npm publish'\nreject = 'CI publishes'\nstops = ['npm publish']\npasses = ['npm test']\n\
         [[rule]]\nid = 'force'\non = 'shell'\nprogram = 'git push'\nflags = '-f'\nask = 'Really?'\nstops = ['git push -f']\npasses = ['git push']\n",
    );
    let ended = user.run(["rule", "export", "claude-code"]);
    ended.expect(0, &["force: the agent compares words in their order", "1 rule exported, 1 not"]);
    assert_eq!(
        serde_json::from_str::<Value>(&ended.stdout).unwrap(),
        json!({ "permissions": { "deny": ["Bash(npm publish:*)"] } })
    );
    let rules = user.run(["rule", "export", "codex"]).stdout;
    user.write(".codex/rules/back.rules", &rules);
    let back = user.run(["import", "codex"]);
    back.expect(0, &["1 rule of Codex imported, 0 with a difference; 0 not imported"]);
    assert!(back.stdout.contains("program = \"npm publish\"\nreject = \"CI publishes\""), "{rules}\n{}", back.stdout);
}
