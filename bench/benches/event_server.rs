//! Runs events on request of another process, so that the engine can be compared with programs that must be built separately from it.
//! `cargo run -p bench -- peers` runs this program.
//!
//! Each line of standard input is a JSON object: the `rule` to apply (`component`, `plugin`, `closure` or `rows`), the shell `command`, and the
//! number of `events`. The answer is also a line with a JSON object: the `nanoseconds` that all events took together, and `rejected`, which
//! is true if they were rejected.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

use bench::plugins::built;
use hookhost::config::{Code, Digest, Entry, Layer, Settings, Source};
use hookhost::contract::{Action, Refusal, ToolCall, ToolOrigin};
use hookhost::{Config, Decision, Host, Rule, Session, SessionSpec};
use no_force_push::NoForcePush;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

fn main() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let sessions = ["component", "plugin", "closure", "rows"]
        .map(|rule| (rule, runtime.block_on(session_of(configuration(rule)))));
    for line in std::io::stdin().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (_, session) = sessions.iter().find(|(rule, _)| request["rule"] == *rule).unwrap();
        let command = request["command"].as_str().unwrap();
        let events = request["events"].as_u64().unwrap();
        println!("{}", settle(&runtime, session, command, events));
    }
}

fn settle(runtime: &Runtime, session: &Session, command: &str, events: u64) -> Value {
    let call = session.tool_call("call-1", "bash", &json!({ "command": command }), ToolOrigin::Builtin);
    let is_rejected = || match runtime.block_on(session.before_tool_call(call.clone())).outcome {
        Decision::Allowed { .. } => false,
        Decision::Rejected(_) => true,
        Decision::Responded { .. } => panic!("the rule does not respond"),
    };
    let rejected = is_rejected();
    let began = Instant::now();
    for _ in 0..events {
        assert_eq!(is_rejected(), rejected);
    }
    json!({ "nanoseconds": began.elapsed().as_nanos() as u64, "rejected": rejected })
}

/// Returns the same rule as a component, as a native plugin, as a closure, or as the last of 200 rules in words.
fn configuration(rule: &str) -> Config {
    let is_force_push =
        |call: &ToolCall| matches!(&call.action, Action::Shell(shell) if shell.command.contains("push --force"));
    let mut entry = match rule {
        "component" => {
            Entry::new("subject", built("no_force_push.wasm"), Digest::of_file(&built("no_force_push.wasm")).unwrap())
        }
        "plugin" => Entry::from_rule("subject", Rule::of::<NoForcePush>()),
        "closure" => {
            let refusal = || Refusal::new("force-push rewrites shared history").code("git.force-push");
            let rule = Rule::new().before_tool_call(move |_, call| is_force_push(call).then(refusal));
            Entry::from_rule("subject", rule)
        }
        _ => return rows(),
    };
    // Set generous limits, because the machine may be busy.
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(10)), Some(Duration::from_secs(10)));
    Config::from_entries(vec![entry], Settings::default()).unwrap()
}

fn rows() -> Config {
    let row = |program: &str| {
        format!(
            "[[rule]]\nid = '{program}'\non = 'shell'\nprogram = '{program} push'\nflags = '--force'\nreject = 'no'\nstops = ['{program} push --force']\npasses = ['{program} push']\n"
        )
    };
    let text: String = (1..200).map(|at| row(&format!("tool{at}"))).chain([row("git")]).collect();
    let config = Config::parse(&text, &Source::new("/h.toml", Layer::User), &[]).unwrap();
    let path = built("rules.wasm");
    let digest = Digest::of_file(&path).unwrap();
    config.with_rules_plugin(Code::File { path, digest }).unwrap()
}

/// Opens a session without a log, under this rule.
async fn session_of(config: Config) -> Session {
    let host = Host::builder(config).without_cache().build().await.unwrap();
    host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap()
}
