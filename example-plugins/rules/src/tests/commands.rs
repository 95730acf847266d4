//! Rules about commands.

use super::{ask, findings, is_stopped, mcp, question, rules, stops_and_passes};
use hookhost_guest::prelude::*;
use hookhost_guest::testing::shell;

const FORCE: &str = r#"
    [[rule]]
    id = "force"
    on = "shell"
    program = ["git push", "hub push"]
    flags = ["--force", "-f"]
    reject = "no"
    stops = ["git push -f"]
    passes = ["git push"]
"#;

#[test]
fn a_command_is_found_in_any_spelling_and_inside_anything_that_runs_it() {
    rules(FORCE);
    stops_and_passes(
        &[
            "git push origin main --force",
            "git push -uf origin x",
            "git push --forc",
            "cd a && sudo git push --force",
            "echo $(git push -f)",
            "sh -c 'git push -f'",
            "bash -lc \"git push -f\"",
            "git -C dir push -f",
            "git -c push.default=x push -f",
            "git push ; git push '-f'",
            "if true; then git push -f; fi",
            "/usr/bin/git push -f",
            "env A=b timeout 5 git push -f",
            "echo a | xargs git push -f",
            "hub push -f",
            "eval 'git push -f'",
            "\\git p\"us\"h $'-f'",
            "git push \\\n  -f",
            "GIT=git; $GIT push -f",
            "( ! git push -f>/dev/null )",
            "find . -exec git push -f \\;",
            "bash <<< 'git push -f'",
            "sh <<EOF\ngit push -f\nEOF",
            "trap 'git push -f' EXIT",
            "f() { git push \"$@\"; }; f -f",
            "ssh host git push -f",
        ],
        &[
            "git push origin topic",
            "echo 'git push -f'",
            "git commit -m 'git push -f'",
            "git pull -f",
            "git push; rm -f x",
            "git push $FORCE",
            "git push -- -f",
            "grep -f x git push",
            "git push --force-with-lease",
        ],
    );
}

#[test]
fn an_argument_is_an_operand_after_the_subcommand_and_never_an_unknown_word() {
    rules(
        r#"
        [[rule]]
        id = "main"
        on = "shell"
        program = "git push"
        args = ["main", "release/*", "*:main"]
        ask = "Push {command}?"
        stops = ["git push origin main"]
        passes = ["git push origin topic"]
        "#,
    );
    stops_and_passes(
        &["git push -u origin 'main'", "git push origin release/1/2", "git push origin HEAD:main"],
        &["git push origin mainly", "git push origin $BRANCH", "git checkout main", "git push origin Main"],
    );
    assert_eq!(question(&shell("git push origin main")).question, "Push git push origin main?");
}

#[test]
fn all_matchers_hold_for_one_simple_command() {
    rules(
        r#"
        [[rule]]
        id = "r"
        on = "shell"
        program = "kubectl delete"
        flags = "--context=prod"
        args = "pod*"
        reject = "no"
        stops = ["kubectl --context prod delete pods x"]
        passes = ["kubectl --context test delete pods x"]
        "#,
    );
    stops_and_passes(
        &["kubectl delete pod x --context=prod", "frob; kubectl delete pod/x --context prod"],
        &["kubectl delete pod x; kubectl get x --context=prod", "kubectl delete deployment x --context=prod"],
    );
}

#[test]
fn a_program_without_a_table_has_its_subcommand_after_options() {
    rules(
        r#"
        [[rule]]
        id = "r"
        on = "shell"
        program = ["frob delete", "mkfs*"]
        reject = "no"
        stops = ["frob -r x delete", "mkfs.ext4 /dev/sda"]
        passes = ["frob list"]
        "#,
    );
    stops_and_passes(&["frob delete", "frob --mode=fast delete a"], &["frob list delete", "frobx delete"]);
}

#[test]
fn a_rule_without_a_matcher_is_about_every_command() {
    rules("[[rule]]\nid = \"all\"\non = \"shell\"\nask = \"Run {program}?\"");
    assert_eq!(question(&shell("ls; rm x")).question, "Run ls?");
    assert_eq!(findings(), [("all".into(), "ask".into())]);
}

#[test]
fn a_command_that_cannot_be_read_is_asked_about_if_it_names_the_program() {
    rules(FORCE);
    let asked = question(&shell("git push 'x"));
    assert!(asked.question.contains("cannot be read") && asked.code.as_deref() == Some("force"), "{asked:?}");
    // A shell runs the lines before the one that it cannot read.
    assert!(is_stopped(&shell("g\\it push -f\necho 'x")));
    assert!(is_stopped(&shell(&("g\\it push -f\necho 'x".to_owned() + &"\nx".repeat(20)))));
    assert_eq!(ask(&shell("echo 'x")), ToolCallVerdict::Allow);
    assert_eq!(ask(&shell("echo legit-x 'x")), ToolCallVerdict::Allow);
}

#[test]
fn a_command_in_the_arguments_of_an_unknown_tool_is_found() {
    rules(FORCE);
    assert!(is_stopped(&mcp("sh", "run", json!({ "command": "git push -f" }))));
    assert!(is_stopped(&mcp("sh", "run", json!({ "command": ["git", "push", "-f"] }))));
    assert!(!is_stopped(&mcp("sh", "run", json!({ "note": "git push -f" }))));
    let unread = hookhost_guest::testing::call("Bash", json!({ "x": "git" }), Action::Other("shell".into()));
    assert!(is_stopped(&unread));
}

#[test]
fn a_rule_about_a_whole_kind_of_calls_misses_none_of_them() {
    use hookhost_guest::testing::call;
    let unread = |kind: &str| call("Tool", json!({}), Action::Other(kind.into()));
    let of_kinds = [
        ("shell", shell("> file"), unread("shell")),
        ("shell", shell("A=1"), unread("shell")),
        (
            "write",
            call("Write", json!({ "file_path": "a" }), Action::WriteFiles(vec!["a".into()])),
            unread("write-files"),
        ),
        ("read", call("Read", json!({ "file_path": "a" }), Action::ReadFile("a".into())), unread("read-file")),
        ("web", call("WebFetch", json!({ "url": "x" }), Action::Fetch("x".into())), unread("fetch")),
        ("mcp", mcp("db", "drop", json!({})), unread("mcp")),
        ("spawn", call("Task", json!({}), Action::SpawnAgent("x".into())), unread("spawn-agent")),
        ("*", unread(""), shell("ls")),
    ];
    for (on, read, unread) in of_kinds {
        rules(&format!("[[rule]]\nid = 'a'\non = '{on}'\nask = 'May it?'"));
        assert_eq!(question(&read).question, "May it?", "{on}");
        assert!(is_stopped(&unread), "{on} {unread:?}");
        assert!(on == "*" || !is_stopped(&call("Tool", json!({}), Action::Other(String::new()))), "{on}");
    }
}

#[test]
fn a_device_that_keeps_nothing_is_no_file() {
    rules("[[rule]]\nid = 'a'\non = 'write'\nask = 'May it?'");
    stops_and_passes(&["ls > a", "ls 2> a >/dev/null"], &["ls 2>/dev/null", "echo x > /dev/stderr", "ls &> /dev/null"]);
}

#[test]
fn a_script_or_module_that_a_program_starts_counts_as_a_program() {
    rules(
        "[[rule]]\nid = \"r\"\non = \"shell\"\nprogram = [\"deploy.sh\", \"twine upload\", \"manage.py migrate\"]\nreject = \"no\"\n",
    );
    stops_and_passes(
        &[
            "./deploy.sh",
            "bash -x ./bin/deploy.sh prod",
            "cd a && . deploy.sh",
            "python -m twine upload dist/*",
            "sudo python3 -u manage.py migrate",
            "sh -c 'bash deploy.sh'",
        ],
        &[
            "cat deploy.sh",
            "bash -c 'echo deploy.sh'",
            "python -m twine check",
            "python -c deploy.sh",
            "python manage.py shell",
        ],
    );
}
