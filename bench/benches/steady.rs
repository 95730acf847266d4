//! Runs a given number of events of one kind. Tools count the instructions of this process (`valgrind --tool=callgrind`) or its system
//! calls (`strace -c -f`).
//!
//! `steady hookhost|shell|recorded|recorded-at-once|without-subscribers|recorded-without-subscribers|bare EVENTS
//! [CACHE]` needs the components that `cargo xtask plugins` builds. `steady load HOSTS CACHE` instead builds this number of hosts. The cost
//! of compiling differs from run to run, so count only a second run with the same directory CACHE, which compiles nothing.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

#[path = "subject/bare.rs"]
mod bare;
#[path = "subject/concurrent_sessions.rs"]
#[expect(dead_code, reason = "nothing is timed here")]
mod concurrent_sessions;
mod subject;
/// The types with which the engine passes the contract's values to wasmtime. They are private in the engine, so the file is included here
/// for the bare call.
#[expect(dead_code, reason = "one event of all is called")]
#[path = "../../host/engine/src/wire/mod.rs"]
mod wire;

use bare::Bare;
use bench::plugins::built;
use concurrent_sessions::{ConcurrentSessions, SESSIONS};
use hookhost::Decision;
use hookhost::config::Entry;
use hookhost::contract;
use std::path::Path;
use subject::{call, component, entry, session_of};

/// Returns the plugin's entry. For `shell`, this is the entry of `shell-guard`, a plugin of a megabyte that computes a lot.
fn asked(kind: &str) -> Entry {
    if kind != "shell" {
        return entry(&component());
    }
    let mut entry = entry(&built("shell_guard.wasm"));
    entry.config.insert("stacks".into(), serde_json::json!([]));
    entry
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (kind, events, cache) = match arguments.as_slice() {
        [kind, events] => (kind, events, None),
        [kind, events, cache] => (kind, events, Some(Path::new(cache))),
        _ => return eprintln!("usage: steady KIND EVENTS [CACHE]"),
    };
    let events: u32 = events.parse().unwrap();
    if kind == "recorded-at-once" {
        let directory = tempfile::tempdir().unwrap();
        return ConcurrentSessions::new(Some(&directory.path().join("hookhost.db"))).events(events / SESSIONS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if kind == "load" {
            for _ in 0..events {
                drop(session_of(asked(kind), None, cache).await);
            }
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let log = kind.starts_with("recorded").then(|| directory.path().join("hookhost.db"));
        let session = session_of(asked(kind), log.as_deref(), cache).await;
        let event = call(&session);
        let bare = (kind == "bare").then(Bare::new);
        let info = bare::info();
        for _ in 0..events {
            match (kind.as_str(), &bare) {
                (_, Some(bare)) => drop(bare.call(&info, &event).await),
                ("without-subscribers" | "recorded-without-subscribers", _) => {
                    drop(session.stream_end("text".into()).await);
                }
                _ => {
                    let outcome = session.before_tool_call(event.clone()).await.outcome;
                    assert!(matches!(outcome, Decision::Allowed { .. }));
                }
            }
        }
    });
}
