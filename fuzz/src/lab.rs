//! A host that loads any plugins, and the events that it sends them.

use crate::guest::{EVENTS, Script};
use hookhost::capability::{Model, ModelRequest};
use hookhost::config::{Config, Digest, Entry, ModelGrant, Settings, StateGrant};
use hookhost::contract::{EventKind, ToolSpec};
use hookhost::session::{DispatchOptions, SessionSpec};
use hookhost::{Host, Session};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// The name of the lab's log in its directory.
pub(crate) const LOG: &str = "log.db";

pub(crate) struct Lab {
    pub(crate) runtime: Runtime,
    pub(crate) host: Host,
    pub(crate) directory: TempDir,
    used: u32,
}

/// Runs `work` with this thread's lab. The lab is replaced from time to time, so that its log does not grow without limit.
pub(crate) fn with<T>(work: impl FnOnce(&mut Lab) -> T) -> T {
    const RUNS_PER_LAB: u32 = 500;
    thread_local!(static LAB: RefCell<Option<Lab>> = const { RefCell::new(None) });
    LAB.with_borrow_mut(|lab| {
        if lab.as_ref().is_none_or(|lab| lab.used >= RUNS_PER_LAB) {
            *lab = None;
        }
        let lab = lab.get_or_insert_with(Lab::new);
        lab.used += 1;
        work(lab)
    })
}

/// A model that returns its input.
struct Echo;

impl Model for Echo {
    fn complete<'a>(
        &'a self,
        _: &'a str,
        request: ModelRequest,
    ) -> futures_util::future::BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Ok(request.input) })
    }
}

impl Lab {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let directory = tempfile::tempdir().expect("a directory");
        let builder = Host::builder(config(&[])).model(Arc::new(Echo)).store(directory.path().join(LOG));
        let host = runtime.block_on(builder.build()).expect("an empty host");
        Self { runtime, host, directory, used: 0 }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns an entry of a plugin with small limits and every grant that reaches nothing outside.
    pub(crate) fn entry(&self, name: &str, component: &[u8]) -> Entry {
        let path = self.directory.path().join(format!("{name}.wasm"));
        std::fs::write(&path, component).expect("a file");
        let mut entry = Entry::new(name, path, Digest::of_bytes(component));
        let grants = &mut entry.grants;
        grants.state = Some(StateGrant::default());
        grants.model = Some(ModelGrant::new("echo"));
        (grants.transcript, grants.approve, grants.audit, grants.clock, grants.random) = (true, true, true, true, true);
        entry.limits.fuel = const { NonZeroU64::new(1_000_000).unwrap() };
        entry.limits.compute = Some(Duration::from_millis(100));
        entry.limits.deadline = Some(Duration::from_millis(200));
        entry
    }

    /// Loads these plugins in place of the current ones. Returns the error message if one cannot be loaded.
    pub(crate) fn take_up(&self, entries: &[Entry]) -> Result<(), String> {
        let taken = self.runtime.block_on(self.host.reload(&config(entries)));
        taken.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Makes sure that a plugin subscribes to every event. It objects to nothing.
    pub(crate) fn have_a_quiet_plugin(&self) {
        if self.host.plugins().is_empty() {
            let quiet = self.entry("quiet", &Script::default().component(&EVENTS));
            self.take_up(&[quiet]).expect("a plugin of the contract");
        }
    }

    pub(crate) fn session(&self) -> Session {
        let mut spec = SessionSpec::new("fuzz", Path::new("/work"));
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
        spec.tools = vec![ToolSpec::new("write_file", schema)];
        self.host.open_session(spec).expect("a session")
    }

    /// Settles one event with any payload.
    pub(crate) fn dispatch(&self, session: &Session, event: EventKind, payload: Value) {
        let options = DispatchOptions::awaiting_observers();
        if let Ok(settled) = self.runtime.block_on(session.dispatch_event(event, payload, options)) {
            let record = serde_json::to_string(&settled.record).expect("a record is JSON");
            assert!(record.len() > 2);
        }
    }

    /// Settles one event of each kind.
    pub(crate) fn dispatch_all(&self, session: &Session) {
        let (last, others): (Vec<EventKind>, Vec<EventKind>) =
            EventKind::ALL.iter().partition(|event| **event == EventKind::SessionEnd);
        for event in others.into_iter().chain(last) {
            let payload = serde_json::from_str(event.example()).expect("an example is JSON");
            self.dispatch(session, event, payload);
        }
    }
}

fn config(entries: &[Entry]) -> Config {
    let mut settings = Settings::default();
    settings.concurrent_calls = const { NonZeroU32::new(2).unwrap() };
    Config::from_entries(entries.to_vec(), settings).expect("entries that may be")
}
