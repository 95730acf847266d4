use super::*;
use hookhost_guest::testing::{call, session, shell, write_files};
use proptest::prelude::*;

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
fn every_path_of_a_call_counts_and_the_refusal_says_which() {
    usual();
    let ToolCallVerdict::Reject(refusal) = ask(&write_files(["src/a.rs", "./infra/x"])) else { panic!("allowed") };
    assert_eq!(refusal.reason, "`./infra/x` must not be written: it is protected by `infra/**`; ask Ada");
    assert_eq!(refusal.code.as_deref(), Some("path-guard.protected"));
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
fn an_exception_is_one_path_and_no_way_to_its_folder() {
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
    // Written into a file, a diff is text.
    assert!(!is_refused(&call(
        "write_file",
        json!({"path": "a.md", "content": diff}),
        Action::WriteFiles(vec!["a.md".into()])
    )));
    assert!(!is_refused(&call("read", json!({"path": diff}), Action::ReadFile("x".into()))));
    assert!(is_refused(&shell(&format!("apply_patch <<'EOF'\n{blocks}\nEOF"))));
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
fn windows_shells_are_read_by_their_own_escapes() {
    usual();
    for command in
        [r"Remove-Item -Recurse .\infra", r"del infra\main.tf", r"echo x > infra\x", r#"Set-Content -Path "infra\x" y"#]
    {
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
