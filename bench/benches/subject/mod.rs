//! The subject of the benchmarks: one event of about 200 bytes through one plugin.

use bench::plugins::built;
use hookhost::config::{Digest, Entry, Settings};
use hookhost::contract::ToolOrigin;
use hookhost::{Config, Host, SessionSpec};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A common command to which the plugin has no objection.
const COMMAND: &str = "cargo test --workspace --all-targets && git status";

/// Returns the path of the subject's component.
pub(crate) fn component() -> PathBuf {
    built("no_force_push.wasm")
}

/// Returns an entry for a component.
pub(crate) fn entry(component: &Path) -> Entry {
    let mut entry = Entry::new("subject", component, Digest::of_file(component).unwrap());
    // Generous limits: under valgrind everything takes fifty times as long.
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(10)), Some(Duration::from_secs(10)));
    entry
}

/// Opens a session under this entry, with its log and its compiled code at these paths. Without a directory for compiled code each run
/// compiles, so that nothing depends on earlier runs.
pub(crate) async fn session_of(entry: Entry, log: Option<&Path>, cache: Option<&Path>) -> hookhost::Session {
    // Only a few concurrent calls, so that valgrind has room for their reserved memory.
    let mut settings = Settings::default();
    settings.concurrent_calls = const { NonZeroU32::new(4).unwrap() };
    let config = Config::from_entries(vec![entry], settings).unwrap();
    let mut builder = match cache {
        Some(cache) => Host::builder(config).cache(cache),
        None => Host::builder(config).without_cache(),
    };
    if let Some(log) = log {
        builder = builder.store(log);
    }
    let host = builder.build().await.unwrap();
    host.open_session(SessionSpec::new("bench", Path::new("/work"))).unwrap()
}

pub(crate) fn call(session: &hookhost::Session) -> hookhost::PreparedCall {
    session.tool_call("call-1", "bash", &serde_json::json!({ "command": COMMAND }), ToolOrigin::Builtin)
}
