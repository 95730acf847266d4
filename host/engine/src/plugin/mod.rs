//! A plugin: from bytes on disk to a component that is checked, compiled, configured and ready to be asked.
//!
//! Nothing of it runs before its digest is the allowlist's, its imports are granted and the types of its exports are
//! the contract's.

mod bounds;
mod cache;
mod call;
mod compiling;
mod contract_check;
mod error;
mod inspect;
mod link;
mod load;
mod outline;
mod preinitialise;
mod tools;

pub use bounds::read;
pub(crate) use cache::Cache;
pub use cache::{CacheFiles, cache_files, clear_cache};
pub use contract_check::ContractError;
pub use error::{Advice, LoadError};
pub use inspect::{Inspection, inspect};
pub(crate) use load::Compiler;
pub use tools::{MAX_TOOLS, PluginTool};

use crate::config::{Digest, Entry, Mode, OnFailure};
use crate::contract::{EventKind, Shape, ToolCall};
use crate::sandbox::{Guest, Handle, Preopens, SharedSandbox};
use std::collections::BTreeMap;
use std::sync::Arc;
use wasmtime::component::InstancePre;

/// A loaded plugin.
#[derive(Clone)]
pub struct Plugin {
    pub(crate) shared: Arc<Loaded>,
}

/// A plugin in its last state: it is [linked](link::Linked), configured, and its tools are listed.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) name: Arc<str>,
    pub(crate) entry: Entry,
    pub(crate) grants: Arc<crate::config::Grants>,
    pub(crate) preopens: Arc<Preopens>,
    pub(crate) servers: Arc<[crate::config::Server]>,
    is_denied_requests: bool,
    pub(crate) sandbox: SharedSandbox,
    pub(crate) pre: InstancePre<Guest>,
    /// The events it subscribes to: those it exports, less what its entry leaves out.
    pub(crate) subscriptions: BTreeMap<EventKind, Handle>,
    /// `setup.configure`, where it could not be run beforehand and has to be in each instance.
    pub(crate) configure: Option<Handle>,
    /// The functions of its tools, where it exports them.
    tool_functions: Option<tools::ToolFunctions>,
    /// The capabilities of the embedding program that it imports: name and interface.
    own: Arc<[(Arc<str>, String)]>,
    /// The tools that it brings.
    tools: Arc<[PluginTool]>,
    pub(crate) config: String,
    pub(crate) config_digest: Digest,
}

impl Plugin {
    /// Its name in the allowlist.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// SHA-256 of its file.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.shared.entry.digest
    }

    /// Its entry in the allowlist.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.shared.entry
    }

    /// Whether it imports `wasi:http` and is granted no server, so that each of its requests is denied.
    #[must_use]
    pub fn is_denied_requests(&self) -> bool {
        self.shared.is_denied_requests
    }

    /// The events that it subscribes to, in the order of the contract.
    pub fn events(&self) -> impl Iterator<Item = EventKind> {
        self.shared.subscriptions.keys().copied()
    }

    /// Whether each of its instances starts from the memory that `configure` left; else `configure` runs in each, which
    /// means the same and takes longer.
    #[must_use]
    pub fn is_preinitialised(&self) -> bool {
        self.shared.configure.is_none()
    }

    /// Whether its answers count.
    pub(crate) fn enforces(&self) -> bool {
        self.shared.entry.mode == Mode::Enforce
    }

    /// What happens to an event when this plugin fails: by default `reject` on gates and transforms, else `skip`.
    #[must_use]
    pub fn on_failure(&self, event: EventKind) -> OnFailure {
        match event.shape() {
            Shape::Gate | Shape::Transform => self.shared.entry.on_failure.unwrap_or(OnFailure::Reject),
            Shape::Collect | Shape::Observe => OnFailure::Skip,
        }
    }

    /// Whether the entry's `actions` and `tools` admit any of these calls. `None` if the event is not about calls.
    pub(crate) fn is_concerned(&self, calls: Option<&[ToolCall]>) -> bool {
        // An empty batch counts as a batch of any calls.
        let Some(calls) = calls.filter(|calls| !calls.is_empty()) else { return true };
        calls.iter().any(|call| self.shared.entry.narrowing().admits(call))
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("name", &self.name()).field("digest", &self.digest()).finish_non_exhaustive()
    }
}
