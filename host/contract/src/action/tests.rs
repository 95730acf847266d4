use super::{ActionMap, ToolShape, WriteBackError};
use crate::{Action, ShellCommand, ShellDialect, ToolOrigin};
use serde_json::{Value, json};

fn action(tool: &str, arguments: &Value) -> Action {
    ActionMap::default().of("my-agent").action(tool, arguments, &ToolOrigin::Builtin, "/work")
}

fn shell(command: &str) -> Action {
    Action::Shell(ShellCommand { command: command.into(), cwd: "/work".into(), dialect: ShellDialect::Posix })
}

fn write_back(tool: &str, arguments: &Value, action: &Action) -> Result<Value, WriteBackError> {
    ActionMap::default().of("my-agent").write_back(tool, arguments, &ToolOrigin::Builtin, "/work", action)
}

#[test]
fn a_shell_command_is_found_whatever_its_argument_is_called() {
    for arguments in [json!({"command": "ls -l"}), json!({"cmd": "ls -l"}), json!({"script": "ls -l"})] {
        for tool in ["bash", "Bash", "run_shell_command", "run-command"] {
            assert_eq!(action(tool, &arguments), shell("ls -l"), "{tool} {arguments}");
        }
    }
}

#[test]
fn an_argv_that_runs_a_script_is_the_script() {
    assert_eq!(action("shell", &json!({"command": ["bash", "-lc", "rm -rf / # x"]})), shell("rm -rf / # x"));
    assert_eq!(action("shell", &json!({"command": ["/bin/sh", "-c", "a; b"]})), shell("a; b"));
    assert_eq!(action("shell", &json!({"command": ["echo", "a b", "it's"]})), shell(r"echo 'a b' 'it'\''s'"));
    assert_eq!(action("shell", &json!({"command": ["sh", "-c", "echo $1", "x", "y"]})), shell("sh -c 'echo $1' x y"));
}

#[test]
fn only_texts_and_flat_lists_of_texts_are_commands() {
    for command in [
        json!({"command": "rm -rf /etc"}),
        json!([["rm", "-rf", "/etc"]]),
        json!(["rm", {"a": "/etc"}]),
        json!(["kill", 1]),
        json!(3),
        json!(true),
    ] {
        assert_eq!(action("bash", &json!({ "command": command })), Action::Other("shell".into()), "{command}");
    }
    assert_eq!(action("bash", &json!({"command": "ls", "cmd": ["a", ["b"]]})), Action::Other("shell".into()));
}

#[test]
fn a_rewritten_command_goes_back_where_it_came_from() {
    let bounded = shell("timeout 9 x");
    assert_eq!(
        write_back("bash", &json!({"cmd": "x", "keep": 1}), &bounded),
        Ok(json!({"cmd": "timeout 9 x", "keep": 1}))
    );
    assert_eq!(
        write_back("shell", &json!({"command": ["bash", "-lc", "x"]}), &bounded),
        Ok(json!({"command": ["bash", "-lc", "timeout 9 x"]}))
    );
    assert_eq!(
        write_back("shell", &json!({"command": ["x"]}), &bounded),
        Ok(json!({"command": ["sh", "-c", "timeout 9 x"]}))
    );
}

#[test]
fn an_action_of_another_kind_cannot_be_written_back() {
    let other = WriteBackError::OtherKind { tool: "bash".into() };
    assert_eq!(write_back("bash", &json!({"command": "x"}), &Action::Fetch("http://x".into())), Err(other));
    assert!(write_back("nobody_knows", &json!({}), &shell("x")).is_err());
    assert!(
        write_back("write_file", &json!({"path": "a"}), &Action::WriteFiles(vec!["a".into(), "b".into()])).is_err()
    );
    let patch = json!({"input": "*** Update File: a\n"});
    assert!(write_back("apply_patch", &patch, &Action::WriteFiles(vec!["b".into()])).is_err());
    assert_eq!(write_back("apply_patch", &patch, &Action::WriteFiles(vec!["a".into()])), Ok(patch));
}

#[test]
fn a_patch_names_every_file_that_it_touches() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@\n*** Add File: c\n+x\n*** Delete File: d\n*** End Patch";
    assert_eq!(
        action("apply_patch", &json!({"input": patch})),
        Action::WriteFiles(["src/a.rs", "src/b.rs", "c", "d"].map(String::from).to_vec())
    );
    let diff = "--- a/x.rs\t2026-01-01\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/new.rs\n";
    assert_eq!(
        action("apply_patch", &json!({"patch": diff})),
        Action::WriteFiles(["x.rs", "new.rs"].map(String::from).to_vec())
    );
}

#[test]
fn a_patch_names_what_it_copies_and_deletes_however_git_quotes_it() {
    let diff = "diff --git a/empty b/empty\ndeleted file mode 100644\ndiff --git \"a/infra/\\303\\244.tf\" \"b/infra/\\303\\244.tf\"\n--- \"a/infra/\\303\\244.tf\"\ncopy from x\ncopy to infra/y\n";
    assert_eq!(
        action("apply_patch", &json!({"patch": diff})),
        Action::WriteFiles(["empty", "infra/ä.tf", "x", "infra/y"].map(String::from).to_vec())
    );
}

#[test]
fn an_argv_that_is_more_than_its_script_is_shown_whole() {
    for words in [
        &["bash", "/tmp/evil.sh", "-c", "ls"][..],
        &["bash", "--rcfile", "evil", "-ic", "ls"],
        &["/tmp/evil/bash", "-c", "ls"],
        &["bash", "-xc", "ls"],
    ] {
        assert_eq!(action("shell", &json!({ "command": words })), shell(&words.join(" ")));
    }
}

#[test]
fn arguments_that_cannot_be_read_are_known_by_their_kind() {
    for (tool, arguments, kind) in [
        ("bash", json!({"commandLine": "rm x"}), "shell"),
        ("bash", json!({"command": "x", "cwd": ["a"]}), "shell"),
        ("write_file", json!({"path": ["infra/x"]}), "write-files"),
        ("write_file", json!({"path": "a", "file_path": 1}), "write-files"),
        ("apply_patch", json!({"input": "nothing"}), "write-files"),
        ("read_file", json!({"path": "a", "file_path": "b"}), "read-file"),
        ("web_fetch", json!({}), "fetch"),
    ] {
        assert_eq!(action(tool, &arguments), Action::Other(kind.into()), "{tool} {arguments}");
    }
    assert_eq!(action("read_file", &json!({"path": null, "file_path": "b"})), Action::ReadFile("b".into()));
}

#[test]
fn mcp_tools_are_known_by_their_origin_or_their_name() {
    let named = action("mcp__github__create_issue", &json!({}));
    let by_origin = ActionMap::default().of("my-agent").action(
        "create_issue",
        &json!({}),
        &ToolOrigin::Mcp("github".into()),
        "/work",
    );
    assert!(
        matches!(&named, Action::Mcp(tool) if tool.tool == "create_issue" && tool.server.as_deref() == Some("github"))
    );
    assert_eq!(named, by_origin);
}

#[test]
fn a_row_of_the_embedder_wins() {
    let mut map = ActionMap::default();
    map.insert("bash", ToolShape::Other("never a shell here".into()));
    map.insert("mcp__vm__run", ToolShape::Other("vm".into()));
    let named = map.of("claude-code").action("mcp__vm__run", &json!({}), &ToolOrigin::Mcp("vm".into()), "/");
    assert_eq!(named, Action::Other("vm".into()));
    let action = map.of("claude-code").action("BASH", &json!({"command": "ls"}), &ToolOrigin::Builtin, "/");
    assert_eq!(action, Action::Other("never a shell here".into()));
}

#[test]
fn a_guard_is_shown_every_spelling_of_an_argument_and_none_is_rewritten() {
    let arguments = json!({"command": "ls", "cmd": "rm -rf /"});
    assert_eq!(action("bash", &arguments), shell("ls\nrm -rf /"));
    assert!(write_back("bash", &arguments, &shell("timeout 9 ls")).is_err());
    let write = json!({"path": "a", "file_path": "infra/b"});
    assert_eq!(action("write_file", &write), Action::WriteFiles(vec!["a".into(), "infra/b".into()]));
    assert!(write_back("write_file", &write, &Action::WriteFiles(vec!["c".into()])).is_err());
}

#[test]
fn an_argument_that_rules_read_is_spelt_in_one_way_or_the_call_is_ambiguous() {
    let map = ActionMap::default();
    let is_ambiguous = |arguments: Value| map.ambiguity(&arguments).is_some();
    for arguments in [
        json!({ "command": "ls", "COMMAND": "rm" }),
        json!({ "command": "ls", "Command": "rm" }),
        json!({ "file_path": "a", "File_Path": "b" }),
        json!({ "url": "a", "URL": "b" }),
        json!({ "patch": "a", "PATCH": "b" }),
        json!({ "script": "a", "\u{17f}cript": "b" }),
        json!({ "task": "a", "tas\u{212a}": "b" }),
        json!({ "CWD": "a", "Cwd": "b" }),
        json!({ "commands": [{ "command": "ls", "Args": [], "args": ["-l"] }] }),
        json!({ "a": { "b": { "path": 1, "PATH": 2 } } }),
    ] {
        assert!(is_ambiguous(arguments.clone()), "{arguments}");
    }
    for arguments in [
        json!({ "guid": "a", "Guid": "b" }),
        json!({ "headers": { "Content-Type": "a", "content-type": "b" } }),
        json!({ "file_path": "a", "filePath": "b" }),
        json!(["command", "COMMAND"]),
    ] {
        assert!(!is_ambiguous(arguments.clone()), "{arguments}");
    }
}

#[test]
fn names_fold_as_in_go() {
    let folded = super::arguments::folded;
    for (one, other) in
        [("s", "\u{17f}"), ("K", "\u{212a}"), ("\u{df}", "\u{1e9e}"), ("\u{3c3}", "\u{3c2}"), ("Ab", "aB")]
    {
        assert_eq!(folded(one), folded(other), "{one} {other}");
    }
    assert_ne!(folded("file_path"), folded("filePath"));
}

#[test]
fn an_embedders_arguments_are_read_in_one_spelling() {
    let mut map = ActionMap::default();
    map.insert(
        "run_in_vm",
        ToolShape::Shell { command: vec!["line".into()], cwd: vec![], dialect: ShellDialect::Posix },
    );
    let twins = json!({ "line": "ls", "LINE": "rm" });
    assert!(map.ambiguity(&twins).is_some() && ActionMap::default().ambiguity(&twins).is_none());
    let action = |arguments: &Value| map.of("x").action("run_in_vm", arguments, &ToolOrigin::Builtin, "/work");
    for arguments in [twins, json!({ "LINE": "ls" })] {
        assert_eq!(action(&arguments), Action::Other("shell".into()), "{arguments}");
    }
}

#[test]
fn an_argument_that_is_misspelt_in_case_alone_cannot_be_read() {
    for (tool, arguments, kind) in [
        ("bash", json!({ "COMMAND": "ls" }), "shell"),
        ("bash", json!({ "command": "ls", "CWD": "/etc" }), "shell"),
        ("write_file", json!({ "path": "a", "Path": "b" }), "write-files"),
        ("read_file", json!({ "PATH": "a" }), "read-file"),
        ("fetch", json!({ "Url": "a" }), "fetch"),
    ] {
        assert_eq!(action(tool, &arguments), Action::Other(kind.into()), "{tool} {arguments}");
    }
    assert_eq!(action("bash", &json!({ "command": "ls", "CWD": null, "Guid": 1 })), shell("ls"));
}

#[test]
fn a_text_in_the_place_of_arguments_is_what_the_tool_takes_if_it_takes_one() {
    let map = ActionMap::default();
    let of = |tool: &str| map.of("codex").arguments_of_text(tool, "x");
    assert_eq!(of("apply_patch"), Some(json!({ "command": "x" })));
    assert_eq!(of("exec_command"), Some(json!({ "cmd": "x" })));
    assert_eq!((of("write_file"), of("mystery")), (None, None));
}

#[test]
fn a_tool_that_nobody_knows_may_run_what_its_arguments_call_a_command() {
    const PUSH: &str = "git push --force origin main";
    let words = json!(["git", "push", "--force", "origin", "main"]);
    for (tool, arguments) in [
        ("BashTool", json!({ "command": PUSH })),
        ("run_bash", json!({ "Command": PUSH })),
        ("unified_exec", json!({ "cmd": PUSH })),
        ("run_command_line", json!({ "command_line": PUSH })),
        ("run_script", json!({ "script": PUSH })),
        ("kimi_cli.tools.shell:Shell", json!({ "command": PUSH })),
        ("bash_tool", json!({ "input": PUSH })),
        ("mcp__box__run", json!({ "command": words })),
        ("mcp__box__run", json!({ "command": ["bash", "-lc", PUSH] })),
        ("mcp__box__run", json!({ "command": "git", "args": ["push", "--force", "origin", "main"] })),
        ("mcp__box__run", json!({ "options": { "commandLine": PUSH } })),
        ("mcp__box__run", json!({ "commands": ["ls", PUSH] })),
        ("mcp__box__run", json!({ "commands": [words] })),
        ("mcp__box__type", json!({ "chars": PUSH })),
    ] {
        let found = super::supposed_commands(tool, &arguments);
        assert!(found.iter().any(|command| command == PUSH), "{tool} {arguments}: {found:?}");
    }
    assert!(super::supposed_commands("mcp__db__query", &json!({ "sql": "DROP TABLE x", "input": "x" })).is_empty());
    for (arguments, expected) in [
        (json!({ "args": ["rm", "-rf", "/a b"] }), "rm -rf '/a b'"),
        (json!({ "arguments": "{\"command\":\"ls\"}" }), "ls"),
        (json!({ "command": "ls", "env": { "A": "b c", "D E": "f" } }), "A='b c' ls"),
        (json!({ "command": "ls", "args": ["x"], "env": { "A": "b" } }), "A=b ls x"),
    ] {
        let found = super::supposed_commands("mcp__box__run", &arguments);
        assert!(found.iter().any(|command| command == expected), "{arguments}: {found:?}");
    }
    assert!(super::supposed_commands("mcp__box__run", &json!({ "args": "ls", "arguments": "{" })).is_empty());
    let typed = json!({ "session_id": 1, "chars": "git push\n" });
    assert_eq!(action("write_stdin", &typed), shell("git push\n"));
}
