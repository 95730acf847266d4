//! One kind of event, as often as its argument says: for tools that count what a process does, such as instructions (`valgrind
//! --tool=callgrind`) or system calls (`strace -c -f`).
//!
//! `steady hookhost|shell|recorded|without-subscribers|bare EVENTS`, after `cargo xtask plugins`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

mod subject;

use hookhost::GateOutcome;
use subject::{Bare, built, call, entry, session, session_of};

/// A session of `shell-guard`, a plugin of a megabyte that works for its answer.
async fn shell_session() -> hookhost::Session {
    let mut entry = entry(&built("shell_guard.wasm"));
    entry.config.insert("stacks".into(), serde_json::json!([]));
    session_of(entry, None).await
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [kind, events] = arguments.as_slice() else { return eprintln!("usage: steady KIND EVENTS") };
    let events: u64 = events.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let directory = tempfile::tempdir().unwrap();
        let log = (kind == "recorded").then(|| directory.path().join("hookhost.db"));
        let session = if kind == "shell" { shell_session().await } else { session(log.as_deref()).await };
        let event = call(&session);
        let bare = Bare::new();
        let info = subject::info();
        for _ in 0..events {
            match kind.as_str() {
                "bare" => drop(bare.call(&info, &event).await),
                "without-subscribers" => drop(session.stream_end("text".into()).await),
                _ => {
                    let outcome = session.before_tool_call(event.clone()).await.outcome;
                    assert!(matches!(outcome, GateOutcome::Allowed { .. }));
                }
            }
        }
    });
}
