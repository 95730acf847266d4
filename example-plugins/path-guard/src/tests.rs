use super::*;
use hookhost_guest::testing::{call, session, shell, write_files};
use proptest::prelude::*;

mod labels;
mod self_defence;

fn configure(config: impl serde::Serialize) -> Result<(), String> {
    let config = hookhost_guest::parse(&json!(config).to_string()).map_err(|error| error.to_string())?;
    PathGuard::configure(config)
}

fn usual() {
    configure(json!({"protected": ["infra/**", ".env*"], "allow": ["infra/README.md"], "reason": "ask Ada"})).unwrap();
}

fn ask(call: &ToolCall) -> ToolCallVerdict {
    PathGuard::before_tool_call(&session(), call)
}

fn is_refused(call: &ToolCall) -> bool {
    matches!(ask(call), ToolCallVerdict::Reject(_))
}

#[test]
fn a_protected_path_is_refused_however_it_is_spelt() {
    usual();
    for path in [
        "infra/main.tf",
        "./infra/main.tf",
        "src/../infra//main.tf",
        "/work/project/infra/main.tf",
        "/work/./project/../project/infra/x",
        "INFRA/main.tf",
        "infra",
        "infra/",
        "infra\\main.tf",
        "~/anything/infra/main.tf",
        "file:///work/project/infra/x",
        ".env",
        "deep/down/.env.local",
        ".ENV",
    ] {
        assert!(is_refused(&write_files([path])), "{path}");
    }
    for path in ["src/main.rs", "infrastructure/x", "src/infra.rs", "/tmp/x", "environment", "../infra/x", "x/infra/y"]
    {
        assert!(!is_refused(&write_files([path])), "{path}");
    }
}

#[test]
fn a_shell_pattern_may_match_a_protected_path() {
    usual();
    for command in ["rm -r inf*", "rm -r inf**", "rm -r i[^x]fra", "rm -r [[:lower:]]nfra", "rm -r */main.tf in?ra/*"] {
        assert!(is_refused(&shell(command)), "{command}");
    }
    for command in ["rm -r x*", "rm i[!n]fra", "rm -r src/*"] {
        assert!(!is_refused(&shell(command)), "{command}");
    }
}

#[test]
fn every_path_of_a_call_counts_and_the_refusal_says_which() {
    usual();
    let ToolCallVerdict::Reject(refusal) = ask(&write_files(["src/a.rs", "./infra/x"])) else { panic!("allowed") };
    assert_eq!(refusal.reason, "`./infra/x` must not be written: it is protected by `infra/**`; ask Ada");
    assert_eq!(refusal.code.as_deref(), Some("path-guard.protected"));
}

#[test]
fn a_path_that_some_programs_end_early_is_refused() {
    usual();
    let ToolCallVerdict::Reject(refusal) = ask(&write_files(["infra\0.txt"])) else { panic!("allowed") };
    assert_eq!(refusal.code.as_deref(), Some("path-guard.unreadable"));
}

#[test]
fn a_relative_path_is_meant_from_the_directory_or_the_workspace() {
    usual();
    let within = Session { cwd: "/work/project/infra".into(), ..session() };
    assert!(matches!(PathGuard::before_tool_call(&within, &write_files(["main.tf"])), ToolCallVerdict::Reject(_)));
    assert!(matches!(PathGuard::before_tool_call(&within, &write_files(["infra/x"])), ToolCallVerdict::Reject(_)));
    let elsewhere = Session { cwd: "/tmp".into(), ..session() };
    assert!(matches!(
        PathGuard::before_tool_call(&elsewhere, &shell_in("/tmp", "rm -r infra")),
        ToolCallVerdict::Allow
    ));
}

fn shell_in(cwd: &str, command: &str) -> ToolCall {
    let shell = ShellCommand { command: command.into(), cwd: cwd.into(), dialect: ShellDialect::Posix };
    call("bash", json!({"command": command}), shell.into())
}

#[test]
fn an_exception_is_one_path_and_no_way_to_its_directory() {
    usual();
    assert!(!is_refused(&write_files(["./infra/README.md"])));
    assert!(is_refused(&write_files(["infra/readme.md"])));
    assert!(is_refused(&shell("rm -rf infra")));
    assert!(is_refused(&shell("rm infra/README*")));
    assert!(!is_refused(&shell("rm infra/README.md")));
}

#[test]
fn patches_in_the_arguments_are_read() {
    usual();
    let blocks = "*** Begin Patch\n*** Update File: infra/a.tf\n@@\n-x\n+y\n*** End Patch";
    let diff = "--- a/infra/a.tf\n+++ b/infra/a.tf\n@@ -1 +1 @@\n-x\n+y\n";
    let other = || Action::Other(String::new());
    for text in [blocks, diff] {
        assert!(is_refused(&call("apply", json!({"input": text}), other())), "{text}");
        assert!(is_refused(&call("apply", json!({"edits": [{"patch": text}]}), Action::WriteFiles(vec!["b".into()]))));
    }
    // A diff that is the content of a file is only text.
    assert!(!is_refused(&call(
        "write_file",
        json!({"path": "a.md", "content": diff}),
        Action::WriteFiles(vec!["a.md".into()])
    )));
    assert!(!is_refused(&call("read", json!({"path": diff}), Action::ReadFile("x".into()))));
    assert!(is_refused(&shell(&format!("apply_patch <<'EOF'\n{blocks}\nEOF"))));
}

/// Returns a call of an unknown tool.
fn unknown(name: &str, arguments: Value) -> ToolCall {
    let tool = name.rsplit("__").next().unwrap_or(name).to_owned();
    let server = name.strip_prefix("mcp__").and_then(|rest| rest.split("__").next()).map(str::to_owned);
    let action = if server.is_some() { Action::Mcp(McpTool { server, tool }) } else { Action::Other(String::new()) };
    call(name, arguments, action)
}

#[test]
fn a_patch_is_read_in_every_form_that_programs_take() {
    usual();
    for command in [
        "patch -p0 <<'E'\n*** infra/a.tf\n--- infra/a.tf\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\nE",
        "patch -p0 <<'E'\nIndex: infra/a.tf\n===\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\nE",
        "patch -p0 <<'E'\n  --- infra/a.tf\n  +++ infra/a.tf\n  @@ -1 +1 @@\n  -a\n  +b\nE",
        "git apply <<'E'\n--- \"a/in\\146ra/a.tf\"\n+++ \"b/in\\146ra/a.tf\"\n@@ -1 +1 @@\n-a\n+b\nE",
        "patch -p3 <<'E'\n--- a/x/y/infra/a.tf\n+++ b/x/y/infra/a.tf\n@@ -1 +1 @@\n-a\n+b\nE",
        "git apply --directory=infra <<'E'\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nE",
        "git apply --directory=infra p",
        "git apply --directory infra p",
        "patch -d infra <<'E'\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\nE",
    ] {
        assert!(is_refused(&shell(command)), "{command}");
    }
    for text in ["*** infra/a\n--- infra/a\n", "Index: infra/a\n", "--- \"a/in\\146ra/a\"\n+++ \"b/in\\146ra/a\"\n"] {
        assert!(is_refused(&unknown("apply", json!({ "input": text }))), "{text}");
    }
    for command in ["git apply --directory=src p", "patch -p1 < p", "echo '--- infra/a'"] {
        assert!(!is_refused(&shell(command)), "{command}");
    }
}

#[test]
fn what_a_program_is_told_to_write_in_its_own_language_is_written() {
    usual();
    for command in [
        "ed -s <<'E'\ne infra/a.tf\n1d\nw\nq\nE",
        "ed -s x <<< 'w infra/a.tf'",
        "printf '%s\\n' 'e infra/a.tf' '1d' 'w' | ed -s",
        "sqlite3 x.db '.output infra/a' 'select 1'",
        "sqlite3 x.db <<E\n.once infra/a\nselect 1;\nE",
        "vim -es -c 'w! infra/a' -c q x",
    ] {
        assert!(is_refused(&shell(command)), "{command}");
    }
    for command in ["ed -s x <<< 'w src/a'", "sqlite3 x.db '.output src/a'", "sqlite3 x.db 'select 1'"] {
        assert!(!is_refused(&shell(command)), "{command}");
    }
}

#[test]
fn an_argument_that_is_a_protected_path_counts_whatever_it_and_its_tool_are_called() {
    for protects in [json!({ "protected": ["infra/**", ".claude/settings.json"] }), json!({})] {
        configure(&protects).unwrap();
        for (tool, arguments) in [
            ("mcp__filesystem__write_file", json!({ "path": "a\nb/../.claude/settings.json", "content": "x" })),
            ("mcp__filesystem__write_file", json!({ "path": "a\nb/../../.claude/settings.json\n", "content": "x" })),
            ("mcp__filesystem__write_file", json!({ "path": ".claude/settings.json\n", "content": "x" })),
            ("mcp__fs__write", json!({ "uri": "file:///work/project/%2eclaude/settings.json" })),
            ("mcp__fs__write", json!({ "uri": "FILE://localhost/work/project/.claude/settings%2Ejson" })),
            ("mcp__fs__save", json!({ "directory": ".claude", "name": "settings.json", "text": "x" })),
            ("mcp__fs__put", json!({ "folder": "/work/project/.claude/", "filename": "settings.json" })),
            ("mcp__fs__store", json!({ "location": ".claude/settings.json" })),
            ("mcp__fs__copy_file", json!({ "from": "x", "to": ".claude/settings.json" })),
            ("mcp__fs__save_as", json!({ "name": ".claude/settings.json" })),
            ("mcp__fs__rm", json!({ "f": ".claude/settings.json" })),
            ("mcp__fs__unlink", json!({ "x": ["a", ".claude/settings.json"] })),
            ("mcp__fs__set_content", json!({ "key": ".claude/settings.json", "content": "x" })),
            ("mcp__net__download", json!({ "url": "https://x.example/a", "as": ".claude/settings.json" })),
            ("fs_op", json!({ "op": "chmod", "arg": "./.claude/settings.json" })),
            ("fs_op", json!({ "files": { ".claude/settings.json": "x" } })),
            ("mcp__search__apply", json!({ "changes": [{ "where": ".claude/settings.json" }] })),
        ] {
            assert!(is_refused(&unknown(tool, arguments.clone())), "{tool} {arguments}");
        }
        for (tool, arguments) in [
            ("mcp__fs__read_file", json!({ "path": ".claude/settings.json" })),
            ("mcp__fs__getFileInfo", json!({ "path": ".claude/settings.json" })),
            ("mcp__fs__list_directory", json!({ "path": ".claude" })),
            ("mcp__git__create_issue", json!({ "title": ".claude/settings.json", "body": "see infra/a" })),
            ("mcp__git__create_branch", json!({ "branch": "infra/fix" })),
            ("mcp__fs__write_file", json!({ "path": "src/a", "content": "infra/x" })),
            ("mcp__fs__edit", json!({ "path": "src/a", "old_string": "infra/x", "newText": ".claude/settings.json" })),
            ("mcp__web__navigate", json!({ "url": "https://x.example/.claude/settings.json" })),
            ("mcp__box__add_label", json!({ "name": "infra-team", "count": 3 })),
            ("mcp__fs__write_file", json!({ "directory": "src", "name": "settings.json", "content": "x" })),
            ("mcp__fs__move_file", json!({ "source": "a", "destination": "b" })),
        ] {
            assert!(!is_refused(&unknown(tool, arguments.clone())), "{tool} {arguments}");
        }
    }
}

#[test]
fn a_tool_that_moves_or_removes_takes_what_lies_below() {
    configure(json!({ "protected": ["a/infra/*.tf"] })).unwrap();
    for (tool, arguments) in [
        ("mcp__filesystem__move_file", json!({ "source": "/home/me/.claude", "destination": "/tmp/x" })),
        ("mcp__filesystem__move_file", json!({ "source": "a", "destination": "b" })),
        ("mcp__fs__rename", json!({ "from": "a/infra", "to": "b" })),
        ("mcp__fs__deleteDirectory", json!({ "path": "~/.claude" })),
        ("mcp__fs__remove", json!({ "path": ".claude" })),
        ("mcp__fs__rm", json!({ "path": "a" })),
        ("fs_op", json!({ "op": "delete", "path": "~/.codex" })),
    ] {
        assert!(is_refused(&unknown(tool, arguments.clone())), "{tool} {arguments}");
    }
    let known =
        call("delete_file", json!({ "path": "/home/me/.claude" }), Action::WriteFiles(vec!["/home/me/.claude".into()]));
    assert!(is_refused(&known));
    for (tool, arguments) in [
        ("mcp__fs__write_file", json!({ "path": "a/x" })),
        ("mcp__fs__create_directory", json!({ "path": "a" })),
        ("mcp__fs__move_file", json!({ "source": "b", "destination": "a" })),
        ("mcp__fs__rm", json!({ "path": "a/x" })),
    ] {
        assert!(!is_refused(&unknown(tool, arguments.clone())), "{tool} {arguments}");
    }
}

#[test]
fn what_an_unknown_tool_may_run_is_read_as_a_command() {
    configure(json!({})).unwrap();
    for (tool, arguments) in [
        ("mcp__shell__execute", json!({ "command": "rm ~/.claude/settings.json" })),
        ("mcp__box__run", json!({ "cmd": ["rm", ".claude/settings.json"] })),
        ("mcp__box__run", json!({ "script": "cd .claude\nrm settings.json" })),
        ("run_bash", json!({ "steps": [{ "command_line": "echo x > hookhost.toml" }] })),
    ] {
        assert!(is_refused(&unknown(tool, arguments.clone())), "{tool} {arguments}");
    }
    for (tool, arguments) in [
        ("mcp__db__execute", json!({ "command": "DELETE FROM users WHERE name = 'it''s' AND (" })),
        ("mcp__box__run", json!({ "command": "cat ~/.claude/settings.json" })),
        ("mcp__box__start", json!({ "command": "restart" })),
    ] {
        assert!(!is_refused(&unknown(tool, arguments.clone())), "{tool} {arguments}");
    }
}

#[test]
fn a_tool_that_nobody_knows_is_judged_by_its_name_and_its_arguments() {
    usual();
    let mcp = || Action::Mcp(McpTool { server: Some("files".into()), tool: "x".into() });
    assert!(is_refused(&call("mcp__files__write_file", json!({"file_path": "infra/x", "content": "y"}), mcp())));
    assert!(is_refused(&call(
        "mcp__files__move",
        json!({"moves": [{"source": "a", "destination": "infra/x"}]}),
        mcp()
    )));
    assert!(!is_refused(&call("mcp__files__read_file", json!({"path": "infra/x"}), mcp())));
    assert!(!is_refused(&call("mcp__files__write_file", json!({"path": "x", "content": "infra/x"}), mcp())));
}

#[test]
fn reading_is_never_refused() {
    usual();
    assert!(!is_refused(&call("read_file", json!({"path": ".env"}), Action::ReadFile(".env".into()))));
    for command in [
        "cat infra/main.tf",
        "ls -la infra > listing.txt",
        "grep -r x infra | tee out.txt",
        "cp infra/main.tf /tmp/",
        "sed 's/a/b/' infra/main.tf",
        "git diff infra/",
        "find infra -name '*.tf'",
        "diff infra/a infra/b 2>&1",
        "echo 'rm -rf infra'",
        "echo \"> infra/x\"",
        "cat <<'EOF' > notes.md\nrm -rf infra\nEOF",
        "terraform -chdir=infra plan",
        "mkdir -p build && touch build/x",
        "curl -s https://x/infra/y -o out",
        "tar -czf /tmp/x.tgz infra",
        "# rm -rf infra",
        "ssh host 'rm -rf infra'",
        "rm -rf build/{a,b}",
        "for f in a b; do rm \"build/$f\"; done",
        "cat <<'EOF' > notes.md\n$(rm infra/x)\nEOF",
    ] {
        assert!(!is_refused(&shell(command)), "{command}");
    }
}

#[test]
fn shell_commands_that_obviously_write_are_refused() {
    usual();
    for command in [
        "echo x > infra/main.tf",
        "echo x >>infra/main.tf",
        "echo x 2> infra/log",
        "echo x &> infra/log",
        "cat a>|infra/x",
        "rm infra/main.tf",
        "rm -rf infra",
        "rm -rf .",
        "rm -rf *",
        "rm -rf in*",
        "rm -rf ./in*/main.tf",
        "rm -rf /work",
        "\\rm infra/x",
        "/bin/rm infra/x",
        "r'm' \"infra\"/x",
        "mv infra old",
        "mv a.tf infra/",
        "cp a.tf infra",
        "cp -t infra a.tf",
        "cp x/.env .",
        "cp --target-directory=infra a",
        "echo x | tee -a infra/x",
        "sed -i 's/a/b/' infra/main.tf",
        "sed -i.bak s/a/b/ infra/main.tf",
        "perl -pi -e s/a/b/ infra/x",
        "touch .env",
        "dd if=/dev/zero of=infra/x",
        "curl -o infra/x https://x",
        "curl https://x --output=infra/x",
        "git checkout -- infra/x",
        "git rm -r infra",
        "git -C . restore infra/x",
        "find infra -delete",
        "find . -name '*.tf' -exec rm {} +",
        "find infra -type f | xargs rm -f infra/x",
        "sudo -u root rm infra/x",
        "env A=1 rm infra/x",
        "timeout -k 5 60 sh -c 'rm infra/x'",
        "bash -lc \"rm infra/x\"",
        "eval 'rm infra/x'",
        "echo $(rm infra/x)",
        "echo `rm infra/x`",
        "diff <(rm infra/x) y",
        "cd infra && rm main.tf",
        "cd src && rm ../infra/x",
        "(cd /tmp); rm infra/x",
        "cd src || true; cd ../infra; echo x > main.tf",
        "D=infra; rm -rf $D/x",
        "D=infra && rm -rf \"${D}\"",
        "rm -rf $SOMEWHERE/infra/x",
        "rm -rf $PWD/infra",
        "true; if true; then rm infra/x; fi",
        "for f in a; do rm infra/x; done",
        "bash <<EOF\nrm infra/x\nEOF",
        "rm -- infra/x",
        "ln -sf /tmp/x infra/x",
        "{ rm infra/x; }",
    ] {
        assert!(is_refused(&shell(command)), "{command}");
    }
}

#[test]
fn what_may_have_happened_before_counts_as_if_it_had() {
    usual();
    for command in [
        "cd nowhere; rm infra/x",
        "cd a; cd b; rm ../infra/x",
        "cd nowhere || cd /work/project/infra; rm main.tf",
        "for d in */; do (cd \"$d\" && rm main.tf); done",
        "if true; then D=infra; fi; rm -rf $D",
        "(D=infra); rm -rf $D/x",
        "false && D=infra; rm -rf $D",
        "D=infra; read D; rm -rf $D",
        "sh -c 'D=infra'; rm -rf $D",
        "sudo frob rm infra/x",
        "nice frob sh -c 'rm infra/x'",
        "find . -name x -exec sudo cat {} +",
    ] {
        assert!(is_refused(&shell(command)), "{command}");
    }
}

#[test]
fn commands_are_read_as_shells_read_them() {
    usual();
    for command in [
        "rm infra/{a,b}",
        "rm $'\\x69nfra/x'",
        "rm ${X:-infra}/x",
        "for f in infra; do rm -rf $f; done",
        "f() { rm \"$1\"; }; f infra/x",
        "alias r=rm; r infra/x",
        "echo infra/x | xargs rm",
        "echo 'rm infra/x' | sh",
        "echo 'rm infra/x' > x.sh; sh x.sh",
        "cat <<EOF\n$(rm infra/x)\nEOF",
        "rm \"$(echo infra)/x\"",
        "rm -r \"$(git rev-parse --show-toplevel)/infra\"",
        "env -C infra rm main.tf",
        "git -C infra rm main.tf",
        "git -C src -C ../infra restore main.tf",
        "npx -c 'rm infra/x'",
        "tmux new 'rm infra/x'",
        "docker exec app rm /app/infra/x",
        "powershell -c 'Remove-Item infra/x'",
        "cmd /c 'del infra\\x'",
        "iex 'rm infra/x'",
        "rm /proc/self/root/work/project/infra/x",
        "rm /proc/$$/cwd/infra/x",
        "rm /proc/*/cwd/infra/x",
        "apply_patch '*** Begin Patch\n*** Delete File: infra/x\n*** End Patch'",
    ] {
        assert!(is_refused(&shell(command)), "{command}");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    usual();
    for command in ["rm 'src/x", "if true; then ls", "echo $(ls"] {
        let ToolCallVerdict::Reject(refusal) = ask(&shell(command)) else { panic!("allowed: {command}") };
        assert_eq!(refusal.code.as_deref(), Some("path-guard.unreadable"), "{command}");
        assert!(refusal.retryable && refusal.reason.starts_with("the command cannot be read: "), "{}", refusal.reason);
    }
    // The part of the command that could be read gives a more precise reason.
    let ToolCallVerdict::Reject(refusal) = ask(&shell("rm infra/x; sh -c \"'\"")) else { panic!("allowed") };
    assert_eq!(refusal.code.as_deref(), Some("path-guard.protected"));
}

#[test]
fn windows_shells_are_read_by_their_own_escapes() {
    usual();
    for command in [
        r"Remove-Item -Recurse .\infra",
        r"del infra\main.tf",
        r"echo x > infra\x",
        r#"Set-Content -Path "infra\x" y"#,
        r"echo x 2>$null >>infra\x",
        r"rm $DIR\infra\x",
        r"rm (Get-Location)\infra\x",
        r#"echo "$(Remove-Item infra\x)""#,
        r"cd infra; rm x",
        r"sudo rm infra\x",
        r"if ($true) { rm infra\x }",
    ] {
        let shell = ShellCommand { command: command.into(), cwd: r"C:\w".into(), dialect: ShellDialect::Powershell };
        let session = Session { cwd: r"C:\w".into(), workspace: r"C:\w".into(), ..session() };
        let verdict = PathGuard::before_tool_call(&session, &call("pwsh", json!({}), shell.into()));
        assert!(matches!(verdict, ToolCallVerdict::Reject(_)), "{command}");
    }
}

#[test]
fn what_is_nested_too_deep_to_be_read_is_refused() {
    usual();
    let mut command = "true".to_owned();
    for _ in 0..20 {
        command = format!("echo $({command})");
    }
    let ToolCallVerdict::Reject(refusal) = ask(&shell(&command)) else { panic!("allowed") };
    assert_eq!(refusal.code.as_deref(), Some("path-guard.unreadable"));
}

#[test]
fn a_command_that_is_made_to_be_slow_is_refused_or_read_in_time() {
    usual();
    assert!(is_refused(&shell(&"cd a; rm b; ".repeat(10_000))));
    let files = |count: usize| (0..count).map(|at| format!(" a{at}")).collect::<String>();
    assert!(is_refused(&shell(&format!("rm{}", files(1_500)))) && !is_refused(&shell(&format!("rm{}", files(900)))));
    assert!(is_refused(&shell(&format!("rm {}", "*a".repeat(1_000)))));
    assert!(!is_refused(&shell(&format!("A=aaaa; {} rm $A", "A=$A$A; ".repeat(40)))));
    assert!(!is_refused(&shell(&format!("perl -pi -e '{}' src/x", "s/infra/x/;".repeat(1_000)))));
    for command in [
        format!("rm $X{}", "/a".repeat(2_000)),
        "rm a ".repeat(5_000),
        "$(".repeat(20_000),
        "\"`".repeat(20_000),
        format!("sudo {}", "rm ".repeat(2_000)),
        format!("sudo frob {}", "sudo frob ".repeat(1_000)),
    ] {
        let _ = ask(&shell(&command));
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_its_name() {
    for (config, name) in [
        (json!({"protected": []}), "protected"),
        (json!({"protected": ["a/["]}), "a/["),
        (json!({"protected": ["a"], "allow": ["b**c"]}), "b**c"),
        (json!({"protect": ["a"]}), "protect"),
    ] {
        let error = configure(&config).unwrap_err();
        assert!(error.contains(name), "{config}: {error}");
    }
}

proptest! {
    #[test]
    fn no_command_makes_it_panic(command in any::<String>()) {
        usual();
        let _ = ask(&shell(&command));
        let _ = ask(&write_files([command.as_str()]));
        let _ = ask(&call("edit", json!({"path": &command, "patch": &command}), Action::Other(String::new())));
    }

    #[test]
    fn a_detour_leads_to_the_same_refusal(parts in prop::collection::vec("[a-z]{1,5}", 0..5), dots in prop::collection::vec(0..3_usize, 0..5)) {
        usual();
        let there: String = parts.iter().map(|part| format!("{part}/")).collect();
        let back = "../".repeat(parts.len());
        let dots: String = dots.iter().map(|n| ["./", "/", ".//"][*n]).collect();
        let path = format!("./{there}{back}{dots}infra/x");
        prop_assert!(is_refused(&write_files([path.as_str()])), "{}", path);
        let command = format!("rm '{path}'");
        prop_assert!(is_refused(&shell(&command)), "{}", command);
    }
}

#[test]
fn a_call_that_writes_who_knows_what_is_refused() {
    usual();
    for (tool, arguments, kind) in [
        ("bash", json!({"commandLine": "rm x"}), "shell"),
        ("write_file", json!({"content": "x"}), "write-files"),
        ("write_file", json!({"path": ["infra/x"]}), "write-files"),
    ] {
        assert!(is_refused(&call(tool, arguments.clone(), Action::Other(kind.into()))), "{tool} {arguments}");
    }
    let elsewhere = json!({"path": ["src/x"]});
    assert!(!is_refused(&call("write_file", elsewhere, Action::Other("write-files".into()))));
}

/// Returns the commands in the tables of shell-guard's cases.
fn cases() -> Vec<String> {
    let tables = [
        include_str!("../../shell/rules/cases/harmless.txt"),
        include_str!("../../shell/rules/cases/harmful.txt"),
        include_str!("../../shell/rules/cases/floor.txt"),
        include_str!("../../shell/rules/cases/seed-rules.txt"),
        include_str!("../../shell/rules/cases/self-defence.txt"),
    ];
    let lines = tables.iter().enumerate().flat_map(|(table, text)| {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
        lines.map(move |line| match table {
            0 => line,
            3 => line.split(" | ").nth(1).unwrap(),
            _ => line.split_once(' ').unwrap().1,
        })
    });
    lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t").replace("\\e", "\u{1b}")).collect()
}

/// Returns the pattern that matches only this path.
fn escaped(path: &str) -> String {
    let escape = |c: char| if "?*[]".contains(c) { format!("[{c}]") } else { c.to_string() };
    path.chars().map(escape).collect()
}

/// If a path is protected and the reader of shell-guard finds that a command writes this path, the command must be
/// refused. Scripts, modes and branches are no paths.
#[test]
fn what_shell_guard_reads_as_written_is_what_is_judged() {
    let session = session();
    let context = PathContext::new(&session.workspace);
    let mut judged = 0;
    for command in cases() {
        for dialect in [ShellDialect::Posix, ShellDialect::Powershell] {
            let script = shell_reader::read(&command, dialect, &session.cwd, &context);
            for part in script.commands.iter().filter(|part| part.location == shell_reader::Location::Here) {
                for write in call_paths::written(part) {
                    let (Normal::Absolute(path) | Normal::Below(path)) =
                        context.resolve(&write.path, part.cwd.as_deref());
                    // A config cannot protect these paths, because they are not valid patterns.
                    if path.is_empty() || path == "/" || path.contains(['{', '}']) {
                        continue;
                    }
                    configure(json!({"protected": [escaped(&path)]})).unwrap();
                    let shell = ShellCommand { command: command.clone(), cwd: session.cwd.clone(), dialect };
                    assert!(is_refused(&call("bash", json!({}), shell.into())), "`{command}` writes {path}");
                    judged += 1;
                }
            }
        }
    }
    assert!(judged > 1_000, "only {judged} paths are written");
}

/// If a rule of shell-guard finds that a command writes a file, path-guard must find that, too.
#[test]
fn a_finding_of_shell_guard_about_a_file_that_is_written_is_a_path_that_is_judged() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../shell/rules/catalogues");
    let mut of_writes: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let catalogue: toml::Table = toml::from_str(&text).unwrap();
        for rule in catalogue.get("rule").and_then(toml::Value::as_array).into_iter().flatten() {
            let matches = rule.get("match").and_then(toml::Value::as_array);
            if matches.is_some_and(|matches| matches.iter().any(|wanted| wanted.get("writes").is_some())) {
                of_writes.push(rule["id"].as_str().unwrap().to_owned());
            }
        }
    }
    let guard = shell_guard_rules::Guard::new(serde_json::from_value(json!({"stacks": []})).unwrap()).unwrap();
    let context = PathContext::new("/work/project");
    let mut found = 0;
    for command in cases() {
        hookhost_guest::testing::prime(|_| {});
        let call = shell(&command);
        let _ = guard.verdict(&session(), &call);
        let findings: Vec<String> =
            hookhost_guest::testing::inspect(|host| host.findings.iter().map(|finding| finding.code.clone()).collect());
        let script = shell_reader::read(&command, ShellDialect::Posix, "/work/project", &context);
        let is_here = |part: &&shell_reader::Command| part.location == shell_reader::Location::Here;
        let writes = script.commands.iter().filter(is_here).any(|part| part.outputs().next().is_some());
        if writes && findings.iter().any(|rule| of_writes.contains(rule)) {
            assert!(
                !ReadCall::new(&session(), &call).touched(Touch::WRITES).targets.is_empty(),
                "`{command}`: {findings:?}"
            );
            found += 1;
        }
    }
    assert!(of_writes.len() >= 3 && found >= 20, "{of_writes:?} found {found}");
}

#[test]
fn a_command_of_a_tool_that_nobody_knows_writes_what_a_shells_would() {
    usual();
    let mcp = |arguments: Value| {
        let action = Action::Mcp(McpTool { server: Some("shell".into()), tool: "execute".into() });
        call("mcp__shell__execute", arguments, action)
    };
    for arguments in [
        json!({ "command": "rm infra/main.tf" }),
        json!({ "cmd": "echo x > infra/main.tf" }),
        json!({ "command": ["tee", "infra/main.tf"] }),
        json!({ "command": "rm ~/.claude/settings.json" }),
    ] {
        assert!(is_refused(&mcp(arguments.clone())), "{arguments}");
    }
    for arguments in [
        json!({ "command": "SELECT a FROM t WHERE b > 3" }),
        json!({ "command": "what is `this" }),
        json!({ "command": "rm src/a.rs" }),
    ] {
        assert!(!is_refused(&mcp(arguments.clone())), "{arguments}");
    }
}

#[test]
fn a_path_of_another_system_may_have_any_of_its_ends() {
    usual();
    for path in [
        r"C:\Users\me\proj\infra\main.tf",
        "/c/Users/me/proj/infra/main.tf",
        "C:/users/ME/proj/INFRA/main.tf",
        r"\\?\C:\Users\me\proj\infra\main.tf",
    ] {
        assert!(is_refused(&write_files([path])), "{path}");
    }
    for path in [r"C:\Users\me\proj\src\main.rs", "/c/Users/me/proj/src/main.rs", "/srv/x/infra/y"] {
        assert!(!is_refused(&write_files([path])), "{path}");
    }
}

/// Harmless commands of shell-guard's tables that this plugin stops, because it takes a mode that lets others read for a write, and does not
/// know `-WhatIf`.
const STOPPED: [&str; 3] = [
    "chmod 644 ~/.ssh/id_rsa.pub ~/.ssh/known_hosts",
    "set -- '~'; rm -rf \"$@\"",
    "Remove-Item ~/.claude -Recurse -WhatIf",
];

#[test]
fn with_allow_private_rights_on_a_protected_file_may_be_taken_from_everybody_but_the_owner() {
    let modes = ["600", "0600", "400", "700", "500", "go-rwx", "o-r,g-w", "go=", "-R go-rwx"];
    let others =
        ["644", "000", "+x", "u-r", "go=r", "go+", "a-w", "-R 777", "4700", "--reference=600", "g=u", "600 x >"];
    for allowed in [false, true] {
        configure(json!({ "protected": ["~/.ssh/**"], "allow-private": allowed })).unwrap();
        for mode in modes {
            assert_eq!(is_refused(&shell(&format!("sudo chmod {mode} ~/.ssh/id_rsa"))), !allowed, "{mode}");
        }
        for mode in others {
            assert!(is_refused(&shell(&format!("chmod {mode} ~/.ssh/id_rsa"))), "{mode}");
        }
        // Self-defence has its own files.
        assert!(is_refused(&shell("chmod 400 ~/.claude/settings.json")));
    }
}

#[test]
fn the_patterns_of_the_profiles_stop_few_harmless_commands() {
    let profile = include_str!("../../../host/cli/profiles/developer.toml");
    let list = profile.lines().find_map(|line| line.strip_prefix("protected = ")).unwrap();
    let protected: Vec<String> = serde_json::from_str(list).unwrap();
    configure(json!({ "protected": protected, "allow-private": true })).unwrap();
    let tables =
        [include_str!("../../shell/rules/cases/harmless.txt"), include_str!("../../shell/rules/cases/held-out.txt")];
    let lines = tables.into_iter().flat_map(str::lines).filter(|line| !line.is_empty() && !line.starts_with("# "));
    let lines = lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t").replace("\\e", "\u{1b}"));
    let stopped: Vec<String> = lines.filter(|line| is_refused(&shell(line))).collect();
    assert_eq!(stopped, STOPPED);
    for command in ["echo x >> ~/.ssh/authorized_keys", "cp key /Users/me/.ssh/id_ed25519", "rm -rf ~/.gnupg"] {
        assert!(is_refused(&shell(command)), "{command}");
    }
}
