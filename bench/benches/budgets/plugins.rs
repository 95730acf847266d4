//! Creates many plugins from one component, with different names.

use crate::subject::component;
use hookhost::config::{Digest, Entry, ModelGrant, Settings, StateGrant};
use hookhost::{Config, Host};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Files with copies of one component. They are needed because two entries for the same file are an error.
pub(crate) struct Copies {
    directory: TempDir,
    digest: Digest,
    count: usize,
}

impl Copies {
    pub(crate) fn of(bytes: &[u8], count: usize) -> Self {
        let copies = Self { directory: tempfile::tempdir().unwrap(), digest: Digest::of_bytes(bytes), count };
        for number in 0..count {
            std::fs::write(copies.path(number), bytes).unwrap();
        }
        copies
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        (0..self.count).map(|number| Entry::new(format!("p{number}"), self.path(number), self.digest)).collect()
    }

    fn path(&self, number: usize) -> PathBuf {
        self.directory.path().join(format!("p{number}.wasm"))
    }
}

/// Creates a host with this number of plugins, each of which rejects forced pushes.
pub(crate) async fn host(count: usize, log: Option<&Path>) -> Host {
    let copies = Copies::of(&std::fs::read(component()).unwrap(), count);
    let builder = Host::builder(Config::from_entries(copies.entries(), Settings::default()).unwrap());
    let builder = if let Some(log) = log { builder.store(log) } else { builder };
    builder.build().await.unwrap()
}

/// Returns an entry for the test plugin, whose configuration defines its behaviour. The entry grants all capabilities that the plugin
/// imports.
pub(crate) fn all_events(path: &Path, behaviour: &Value) -> Entry {
    let mut entry = Entry::new("all-events", path, Digest::of_file(path).unwrap());
    entry.config = behaviour.as_object().unwrap().clone();
    let grants = &mut entry.grants;
    (grants.state, grants.transcript, grants.audit) = (Some(StateGrant::default()), true, true);
    grants.model = Some(ModelGrant::new("small"));
    entry.limits.deadline = Some(Duration::from_millis(100));
    entry
}
