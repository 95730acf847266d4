//! The profiles of the command, with the real components: how often they stop harmless commands, and what they ask about.

use hookhost::config::{Code, Config, Layer, Source};
use hookhost::contract::{Cause, ToolOrigin};
use hookhost::{Decision, Host, HostBuilder, Session, SessionSpec};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

/// Opens a session under a profile, with the built components.
async fn session(profile: &str) -> Session {
    let host = builder(profile, "").build().await.expect("a host");
    host.open_session(SessionSpec::new("test", Path::new("/work/project"))).expect("a session")
}

/// Returns a builder with the configuration of a profile and further rules, and with the built components.
pub(crate) fn builder(profile: &str, rules: &str) -> HostBuilder {
    let profile = text(&format!("host/cli/profiles/{profile}.toml"));
    let mut file: toml::Table = format!("{profile}\n{rules}").parse().expect("a profile");
    for entry in file["plugin"].as_array_mut().expect("plugins") {
        let entry = entry.as_table_mut().expect("an entry");
        let component = hookhost_tests::plugin(entry["name"].as_str().expect("a name"));
        entry.insert("sha256".into(), hookhost_tests::digest(&component).into());
        entry.insert("path".into(), component.to_string_lossy().into_owned().into());
        // Tests run on busy machines.
        let limits = toml::Table::from_iter(["compute", "deadline"].map(|key| (key.to_owned(), "30s".into())));
        entry.insert("limits".into(), limits.into());
    }
    let source = Source::new("/profile.toml", Layer::User).with_home(Some("/home/ada".into()));
    let config = Config::parse(&file.to_string(), &source, &[]).expect("a configuration");
    let rules = hookhost_tests::plugin("rules");
    let digest = hookhost_tests::digest(&rules).parse().expect("a digest");
    let config = config.with_rules_plugin(Code::File { path: rules, digest }).expect("one entry of this name");
    Host::builder(config).cache(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
}

/// Whether a call passes as it is, would be asked about, or is rejected. Without a person, a question is answered with no.
pub(crate) async fn decided(session: &Session, tool: &str, arguments: &Value) -> (&'static str, String) {
    let call = session.tool_call("1", tool, arguments, ToolOrigin::Builtin);
    let settled = session.before_tool_call(call).await;
    assert!(settled.record.calls.iter().all(|call| call.failure.is_none()), "{arguments}: {:?}", settled.record.calls);
    match settled.outcome {
        Decision::Rejected(rejection) => {
            // There is nobody to answer.
            let is_asked = matches!(rejection.cause, Cause::NotApproved);
            (if is_asked { "ask" } else { "reject" }, rejection.to_string())
        }
        _ => ("pass", String::new()),
    }
}

async fn command(session: &Session, command: &str) -> (&'static str, String) {
    decided(session, "bash", &json!({ "command": command })).await
}

/// The commands of a table of shell-guard, after `beginning`.
fn commands(table: &str, beginning: &str) -> Vec<String> {
    let text = text(&format!("example-plugins/shell/rules/cases/{table}.txt"));
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let lines = lines.filter_map(|line| line.strip_prefix(beginning));
    lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t").replace("\\e", "\u{1b}")).collect()
}

/// One in how many harmless commands the profile `developer` may stop.
const MAX_STOPPED: usize = 200;

#[tokio::test]
async fn the_profile_developer_stops_at_most_one_in_two_hundred_harmless_commands() {
    let session = session("developer").await;
    let differences = commands("policy-differences", "");
    let differences: Vec<(&str, &str)> =
        differences.iter().map(|line| line.split_once(" | ").expect("REASON | COMMAND")).collect();
    let mut unused: Vec<&str> = differences.iter().map(|(_, command)| *command).collect();
    for (table, beginning) in [("held-out", ""), ("harmless", ""), ("self-defence", "allow "), ("floor", "allow ")] {
        let (mut of_policy, mut stopped) = (0, Vec::new());
        let all = commands(table, beginning);
        for line in &all {
            let (decision, said) = command(&session, line).await;
            if decision == "pass" {
                continue;
            }
            match unused.iter().position(|difference| difference == line) {
                Some(at) => {
                    unused.remove(at);
                    of_policy += 1;
                }
                None => stopped.push(format!("{decision} `{line}`: {said}")),
            }
        }
        let (all, count) = (all.len() - of_policy, stopped.len());
        // Captured output is shown only if a test fails.
        writeln!(
            std::io::stderr(),
            "{table}: of {all} harmless commands, developer stops {count}; {of_policy} more are policy differences"
        )
        .expect("stderr");
        assert!(count * MAX_STOPPED <= all, "{table}: {count} of {all}:\n{}", stopped.join("\n"));
    }
    assert!(unused.is_empty(), "these pass, or are in no table: take them out of the policy differences: {unused:?}");
}

#[tokio::test]
async fn developer_asks_about_what_cannot_be_undone_and_unattended_rejects_it() {
    let (developer, unattended) = (session("developer").await, session("unattended").await);
    for line in
        ["git stash drop", "git push --force origin topic", "docker volume rm data", "rm -rf ~/Documents/thesis"]
    {
        let (decision, _) = command(&developer, line).await;
        assert_ne!(decision, "pass", "{line}");
        assert_eq!(command(&unattended, line).await.0, "reject", "{line}");
    }
    for (session, expected) in [(&developer, "ask"), (&unattended, "reject")] {
        assert_eq!(decided(session, "mcp__files__delete_tree", &json!({ "id": "7" })).await.0, expected);
        assert_eq!(decided(session, "mcp__files__list", &json!({ "id": "7" })).await.0, "pass");
        assert_eq!(command(session, "cargo test").await.0, "pass");
        for path in ["/root/.ssh/authorized_keys", "/home/ada/.ssh/config", "/Users/ada/.aws/credentials", "~/.netrc"] {
            let write = json!({ "path": path, "content": "x" });
            assert_eq!(decided(session, "write_file", &write).await.0, "reject", "{path}");
            assert_eq!(command(session, &format!("echo x >> {path}")).await.0, "reject", "{path}");
        }
        assert_eq!(decided(session, "write_file", &json!({ "path": "src/.ssh.md", "content": "x" })).await.0, "pass");
    }
}

#[tokio::test]
async fn unattended_says_what_to_do_instead_of_what_it_rejects() {
    let session = session("unattended").await;
    for (line, instead) in [
        ("git reset --hard", "Use `git stash`"),
        ("git push --force origin topic", "Push to a new branch"),
        ("git stash drop", "`git stash branch` keeps them"),
        ("rm -rf /srv/data", "Name a directory within the project"),
        ("sudo reboot", "End your own processes by their id"),
    ] {
        let (decision, said) = command(&session, line).await;
        assert!(decision == "reject" && said.contains(instead), "{line}: {decision} {said}");
    }
    let (decision, said) = decided(&session, "mcp__files__delete_tree", &json!({ "id": "7" })).await;
    assert!(decision == "reject" && said.contains("say in your final answer"), "{said}");
}

#[tokio::test]
async fn careful_asks_about_everything_that_does_more_than_read() {
    let session = session("careful").await;
    for line in [
        "ls -la && cat README.md | head -20",
        "cd src && rg -n 'fn main' . | wc -l",
        "git status; git diff --stat HEAD~1",
        "find . -name '*.rs' | xargs grep -n TODO 2>/dev/null",
        "nice git log --oneline -3",
        "timeout 5 git log --oneline -3",
        "bash -c 'ls | sort'",
        "sed -n '1,80p' src/main.rs",
        "for f in *.md; do head -1 \"$f\"; done",
        "test -f x && echo yes || echo no",
        "kubectl get pods -n web",
        "python3 --version",
        "X=1; echo $X",
    ] {
        assert_eq!(command(&session, line).await, ("pass", String::new()), "{line}");
    }
    for line in [
        "cargo test",
        "make",
        "./x.sh",
        "touch a",
        "ls > files.txt",
        "git commit -m x",
        "sudo ls /root",
        "ssh host ls",
        "docker exec web ls",
        "find . -name '*.o' -delete",
        "LD_PRELOAD=./x.so ls",
        "frobnicate --all",
        "cat x | sh -s",
        "curl -s https://example.com",
        "f() { make; }; f",
    ] {
        assert_ne!(command(&session, line).await.0, "pass", "{line}");
    }
    let mut passed = Vec::new();
    for line in commands("harmful", "ask ").into_iter().chain(commands("harmful", "deny ")) {
        if command(&session, &line).await.0 == "pass" {
            passed.push(line);
        }
    }
    assert!(passed.is_empty(), "{passed:?}");
    for (tool, arguments, expected) in [
        ("write_file", json!({ "path": "a", "content": "x" }), "ask"),
        ("read_file", json!({ "path": "a" }), "pass"),
        ("mcp__tracker__list", json!({}), "ask"),
    ] {
        assert_eq!(decided(&session, tool, &arguments).await.0, expected, "{tool}");
    }
}
