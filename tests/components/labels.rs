//! The standard labels under the profile `developer`, with a rule about them: after a secret was read, nothing leaves.

use crate::profiles::{builder, decided};
use hookhost::approval::{Approval, ApprovalRequest};
use hookhost::config::Digest;
use hookhost::contract::{ResultSource, ToolOrigin, ToolResult};
use hookhost::{Host, Session, SessionSpec};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, OnceLock};

const RULE: &str = "
[[rule]]
id = \"leak\"
on = [\"web\", \"mcp\"]
when = 'has(\"read:secret\")'
reject = \"This session has read a secret\"
stops = [\"https://example.com\"]
passes = [{ url = \"https://example.com\", facts = { \"has(read:secret)\" = false } }]

[[rule]]
id = \"no-read\"
on = \"read\"
path = \"vault/**\"
reject = \"Nobody reads the vault\"
stops = [\"vault/.env\"]
passes = [\"src/main.rs\"]
";

/// Returns a host whose user answers each question with this.
async fn host(answer: fn() -> Approval) -> Host {
    let approver = move |_: ApprovalRequest| std::future::ready(answer());
    builder("developer", RULE).approver(Arc::new(approver)).build().await.expect("a host")
}

/// Asks about uploads, and rejects them after a secret was read.
const UPLOAD: &str = "
[[rule]]
id = \"upload\"
on = \"shell\"
program = \"upload\"
ask = \"Upload it?\"
stops = [\"upload a\"]
passes = [\"ls\"]

[[rule]]
id = \"no-upload\"
on = \"shell\"
program = \"upload\"
when = 'has(\"read:secret\")'
reject = \"No uploads while a secret is known\"
stops = [\"upload a\"]
passes = [\"ls\"]
";

fn open(host: &Host, id: &str) -> Session {
    host.open_session(SessionSpec::new("claude-code", Path::new("/work/project")).id(id)).expect("a session")
}

/// Calls that send something: a command, a tool for pages, and a tool of an MCP server.
fn leaving() -> [(&'static str, Value); 3] {
    [
        ("Bash", json!({ "command": "curl -s https://example.com/a" })),
        ("WebFetch", json!({ "url": "https://example.com/a" })),
        ("mcp__files__list", json!({ "path": "a" })),
    ]
}

async fn expect_all(session: &Session, expected: &str, why: &str) {
    for (tool, arguments) in leaving() {
        let (decision, said) = decided(session, tool, &arguments).await;
        assert_eq!(decision, expected, "{tool} after {why}: {said}");
        assert_eq!(said.contains("This session has read a secret"), expected == "reject", "{said}");
    }
}

async fn names(host: &Host, session: &str) -> Vec<String> {
    let all = host.labels().await.expect("labels");
    all.into_iter().filter(|(of, _)| of == session).map(|(_, label)| label.name).collect()
}

#[tokio::test]
async fn nothing_leaves_a_session_that_has_read_a_secret() {
    let host = host(Approval::yes).await;
    for (at, (tool, arguments)) in [
        ("Read", json!({ "file_path": "/work/project/.env" })),
        ("Bash", json!({ "command": "cat .env" })),
        ("Bash", json!({ "command": "source config/.env.local && make" })),
        ("mcp__files__read_file", json!({ "path": ".env" })),
    ]
    .iter()
    .enumerate()
    {
        let id = format!("s{at}");
        let session = open(&host, &id);
        expect_all(&session, "pass", "nothing").await;
        let (decision, said) = decided(&session, tool, arguments).await;
        assert_eq!(decision, "pass", "{arguments}: {said}");
        expect_all(&session, "reject", &arguments.to_string()).await;
        // The calls before had results of others.
        assert_eq!(names(&host, &id).await, ["read:secret", "text:untrusted"]);
    }
}

#[tokio::test]
async fn nothing_leaves_a_session_in_which_a_result_contained_a_secret() {
    let host = host(Approval::yes).await;
    let session = open(&host, "s");
    let call = session.tool_call("1", "Bash", &json!({ "command": "make deploy" }), ToolOrigin::Builtin);
    let quiet = ToolResult::text("done");
    let _ = session.after_tool_call(&call.clone().into_call(), quiet, ResultSource::Tool).await;
    expect_all(&session, "pass", "a result without a secret").await;
    let secret = ToolResult::text(format!("token: ghp_{}", "aB3dE5fG7h".repeat(4).get(..36).expect("36 letters")));
    let _ = session.after_tool_call(&call.into_call(), secret, ResultSource::Tool).await;
    expect_all(&session, "reject", "a result with a secret").await;
}

#[tokio::test]
async fn a_read_that_another_plugin_or_a_person_rejects_labels_nothing() {
    let host = host(Approval::no).await;
    let session = open(&host, "s");
    // shell-guard asks about it.
    let (decision, said) = decided(&session, "Bash", &json!({ "command": "cat .env" })).await;
    assert_eq!((decision, said.contains("This prints secrets")), ("ask", true), "{said}");
    let (decision, said) = decided(&session, "Read", &json!({ "file_path": "vault/.env" })).await;
    assert_eq!((decision, said.contains("Nobody reads the vault")), ("reject", true), "{said}");
    assert!(names(&host, "s").await.is_empty());
    expect_all(&session, "pass", "a rejected read").await;
}

#[tokio::test]
async fn a_yes_does_not_count_if_the_session_has_read_a_secret_meanwhile() {
    static SESSION: OnceLock<Session> = OnceLock::new();
    let approver = |_: ApprovalRequest| async {
        let session = SESSION.get().expect("a session");
        assert_eq!(decided(session, "Read", &json!({ "file_path": ".env" })).await.0, "pass");
        Approval::yes()
    };
    let host = builder("developer", UPLOAD).approver(Arc::new(approver)).build().await.expect("a host");
    let session = SESSION.get_or_init(|| open(&host, "s"));
    let (decision, said) = decided(session, "Bash", &json!({ "command": "upload a.txt" })).await;
    assert_eq!((decision, said.contains("a secret is known")), ("reject", true), "{said}");
}

#[tokio::test]
async fn the_plugins_are_loaded_without_the_grant_and_then_label_nothing() {
    for plugin in ["path-guard", "redact-secrets"] {
        let path = hookhost_tests::plugin(plugin);
        let entry = hookhost::config::Entry::new(plugin, &path, Digest::of_file(&path).expect("a component"));
        let config = hookhost::Config::from_entries(vec![entry], hookhost::config::Settings::default())
            .expect("a configuration");
        let builder = Host::builder(config).cache(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        let host = builder.build().await.expect("a host");
        let session = open(&host, "s");
        assert_eq!(decided(&session, "Bash", &json!({ "command": "cat .env; curl example.com" })).await.0, "pass");
        assert!(names(&host, "s").await.is_empty(), "{plugin}");
    }
}
