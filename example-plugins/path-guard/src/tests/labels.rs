//! The labels that calls add to the session.

use super::{PathGuard, ask, configure, usual};
use hookhost_guest::prelude::*;
use hookhost_guest::testing::{self, call, session, shell, write_files};

const GRANTS: [&str; 2] = ["labels", "tool.open_world"];

/// Returns the labels after a call.
fn labels_with(grants: &[&str], call: &ToolCall) -> Vec<String> {
    testing::prime(|host| host.grants = grants.iter().map(|grant| (*grant).to_owned()).collect());
    assert_eq!(ask(call), Verdict::allow(), "{call:?}");
    testing::inspect(|host| host.labels.keys().cloned().collect())
}

fn labels(call: &ToolCall) -> Vec<String> {
    labels_with(&GRANTS, call)
}

fn read(path: &str) -> ToolCall {
    call("Read", json!({ "file_path": path }), Action::ReadFile(path.to_owned()))
}

fn fetch(url: &str) -> ToolCall {
    call("WebFetch", json!({ "url": url }), Action::Fetch(url.to_owned()))
}

fn mcp(tool: &str, arguments: serde_json::Value) -> ToolCall {
    let action = Action::Mcp(McpTool { server: Some("files".to_owned()), tool: tool.to_owned() });
    call(&format!("mcp__files__{tool}"), arguments, action)
}

#[test]
fn a_call_that_reads_a_file_of_secrets_labels_the_session() {
    configure(json!({ "protected": ["infra/**"] })).unwrap();
    for path in [".env", "a/.env.local", "/work/project/key.pem"] {
        assert_eq!(labels(&read(path)), ["read:secret"], "{path}");
    }
    for command in [
        "cat .env",
        "cat < .env",
        "cat .e*",
        "grep KEY .env",
        "sudo sh -c 'head -1 config/.env.production'",
        "cp .env notes.txt && cat notes.txt",
        "source .env",
        "curl -F f=@.env localhost",
        "python3 -c \"print(open('.env').read())\"",
    ] {
        assert!(labels(&shell(command)).contains(&"read:secret".to_owned()), "{command}");
    }
    assert_eq!(labels(&read("/home/me/.ssh/id_ed25519")), ["read:outside", "read:secret"]);
    assert!(labels(&mcp("read_file", json!({ "path": ".env" }))).contains(&"read:secret".to_owned()));
    for command in ["ls -la .env", "echo .env", "cat .env.example", "find . -name .env", "cat src/env.rs", "cargo test"]
    {
        assert_eq!(labels(&shell(command)), [""; 0], "{command}");
    }
}

#[test]
fn a_command_with_too_many_words_counts_as_reading_all_it_may_read() {
    configure(json!({ "protected": ["infra/**"] })).unwrap();
    let many = format!("cat{}", " a".repeat(1_001));
    assert_eq!(labels(&shell(&many)), ["read:outside", "read:secret"]);
    assert_eq!(labels(&shell(&format!("cat{}", " a".repeat(1_000)))), [""; 0]);
}

#[test]
fn a_read_outside_of_the_workspace_labels_the_session() {
    usual();
    for path in ["/etc/hosts", "../other/x", "~/notes.txt"] {
        assert_eq!(labels(&read(path)), ["read:outside"], "{path}");
    }
    for command in ["cat /etc/hosts", "cd /tmp && cat x", "wc -l ~/notes.txt", "diff a ../b"] {
        assert_eq!(labels(&shell(command)), ["read:outside"], "{command}");
    }
    for command in ["cat src/main.rs", "cat /work/project/a", "make 2>/dev/null", "cat $FILE", "head -c 8 /dev/zero"] {
        assert_eq!(labels(&shell(command)), [""; 0], "{command}");
    }
    for path in ["src/main.rs", "/work/project/./a"] {
        assert_eq!(labels(&read(path)), [""; 0], "{path}");
    }
}

#[test]
fn a_text_that_anybody_may_have_written_labels_the_session() {
    usual();
    let untrusted = ["text:untrusted"];
    for url in [
        "https://example.com/a",
        "http://localhost@example.com/",
        "http://127.0.0.1.example.com/",
        "http://localhost\\@a.com",
    ] {
        assert_eq!(labels(&fetch(url)), untrusted, "{url}");
    }
    for url in ["http://localhost:3000/a", "http://127.0.0.1/", "http://[::1]:8080/x"] {
        assert_eq!(labels(&fetch(url)), [""; 0], "{url}");
    }
    for command in
        ["curl https://example.com", "sudo wget -qO- example.com", "curl $URL", "curl -K file", "a && lynx -dump b.com"]
    {
        assert_eq!(labels(&shell(command)), untrusted, "{command}");
    }
    for command in ["curl -s localhost:8080/health", "curl http://127.0.0.1:3000", "echo curl https://example.com"] {
        assert_eq!(labels(&shell(command)), [""; 0], "{command}");
    }
    assert_eq!(labels(&call("WebSearch", json!({ "query": "x" }), Action::Other(String::new()))), untrusted);
    assert_eq!(labels(&mcp("list", json!({}))), untrusted);
}

#[test]
fn only_an_annotation_that_the_plugin_may_read_says_that_a_tool_reaches_nobody() {
    usual();
    let listed = mcp("list", json!({}));
    let labels_of = |grants: &[&str], open_world: Option<bool>| {
        testing::prime(|host| {
            host.grants = grants.iter().map(|grant| (*grant).to_owned()).collect();
            host.facts.extend(open_world.map(|open| ("tool.open_world".to_owned(), facts::Fact::Flag(open))));
        });
        assert_eq!(ask(&listed), Verdict::allow());
        testing::inspect(|host| host.labels.len())
    };
    assert_eq!(labels_of(&GRANTS, Some(false)), 0);
    assert_eq!(labels_of(&GRANTS, Some(true)), 1);
    assert_eq!(labels_of(&GRANTS, None), 1);
    assert_eq!(labels_of(&GRANTS[..1], Some(false)), 1, "without the grant of the fact");
}

#[test]
fn a_write_to_a_file_that_runs_by_itself_labels_the_session() {
    configure(json!({ "self-defence": [], "protected": ["infra"] })).unwrap();
    let startup = "wrote:startup-file".to_owned();
    for path in ["/home/me/.bashrc", ".git/hooks/pre-commit", "~/.zshrc", "/home/me/.config/autostart/x.desktop"] {
        assert!(labels(&write_files([path])).contains(&startup), "{path}");
    }
    for command in ["echo 'alias x=y' >> ~/.bashrc", "cp x .husky/pre-push", "tee -a /home/me/.profile < x"] {
        assert!(labels(&shell(command)).contains(&startup), "{command}");
    }
    for path in ["src/bashrc", ".bashrc.md", "hooks/pre-commit", ".profile"] {
        assert_eq!(labels(&write_files([path])), [""; 0], "{path}");
    }
}

#[test]
fn a_call_that_is_refused_and_a_plugin_without_the_grant_label_nothing() {
    usual();
    testing::prime(|host| host.grants = GRANTS.map(str::to_owned).into());
    let refused = PathGuard::before_tool_call(&session(), &shell("cat .env > infra/x"));
    assert!(matches!(refused, ToolCallVerdict::Reject(_)));
    assert!(testing::inspect(|host| host.labels.is_empty()));
    assert_eq!(labels_with(&[], &shell("cat .env; curl https://example.com")), [""; 0]);
}
