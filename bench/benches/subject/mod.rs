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
    // Set generous limits, because under valgrind everything takes fifty times as long as usual.
    (entry.limits.compute, entry.limits.deadline) = (Some(Duration::from_secs(10)), Some(Duration::from_secs(10)));
    entry
}

/// Opens a session with this entry. `log` is the path of its log, and `cache` is the directory of compiled code. Without `cache`, each run
/// compiles the component, so that a run does not depend on earlier runs.
pub(crate) async fn session_of(entry: Entry, log: Option<&Path>, cache: Option<&Path>) -> hookhost::Session {
    // Allow only a few concurrent calls, so that their reserved address space fits into a process under valgrind.
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
