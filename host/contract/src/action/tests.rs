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
