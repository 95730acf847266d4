//! A plugin: from bytes on disk to a component that is checked, compiled, configured and ready to be asked.
//!
//! Nothing of it runs before its digest is the allowlist's, its imports are granted and the types of its exports are
//! the contract's.

pub(crate) mod bounds;
pub(crate) mod cache;
mod call;
mod compiling;
mod contract_check;
pub(crate) mod error;
pub(crate) mod inspect;
mod link;
mod load;
mod native;
mod outline;
mod preinitialise;
mod tools;

pub(crate) use cache::Cache;
pub use contract_check::ContractError;
pub use error::LoadError;
pub(crate) use load::Compiler;
pub use native::NativePlugin;
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
    pub(crate) code: Code,
    /// The capabilities of the embedding program that it imports: name and interface.
    own: Arc<[(Arc<str>, String)]>,
    /// The tools that it brings.
    tools: Arc<[PluginTool]>,
    pub(crate) config: String,
    pub(crate) config_digest: Digest,
}

/// What runs.
#[derive(Clone)]
pub(crate) enum Code {
    Component(Linkable),
    Native(Arc<native::Rule>),
}

/// A component of which instances can be made, and what it exports.
#[derive(Clone)]
pub(crate) struct Linkable {
    sandbox: SharedSandbox,
    pre: InstancePre<Guest>,
    /// The events it subscribes to: those it exports, less what its entry leaves out.
    subscriptions: BTreeMap<EventKind, Handle>,
    /// `setup.configure`, where it could not be run beforehand and has to be in each instance.
    configure: Option<Handle>,
    /// The functions of its tools, where it exports them.
    tool_functions: Option<tools::ToolFunctions>,
}

impl Plugin {
    /// Its name in the allowlist.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// SHA-256 of its file; `None` for a rule of the program itself.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        match self.shared.code {
            Code::Component(_) => Some(self.shared.entry.digest),
            Code::Native(_) => None,
        }
    }

    /// The version of the program whose rule it is; `None` for a component.
    #[must_use]
    pub fn native_version(&self) -> Option<&str> {
        match &self.shared.code {
            Code::Component(_) => None,
            Code::Native(rule) => Some(&rule.version),
        }
    }

    /// A rule of the program itself.
    fn native(entry: Entry, rule: native::Rule) -> Self {
        let shared = Loaded {
            name: entry.name.as_str().into(),
            grants: Arc::default(),
            preopens: Arc::default(),
            servers: Arc::default(),
            is_denied_requests: false,
            own: Arc::default(),
            tools: Arc::default(),
            config: "{}".to_owned(),
            config_digest: Digest::of_bytes(b"{}"),
            code: Code::Native(Arc::new(rule)),
            entry,
        };
        Self { shared: Arc::new(shared) }
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
        let (exported, native) = match &self.shared.code {
            Code::Component(component) => (Some(component.subscriptions.keys().copied()), None),
            Code::Native(rule) => (None, Some(rule.events())),
        };
        exported.into_iter().flatten().chain(native.into_iter().flatten())
    }

    /// Whether each of its instances starts from the memory that `configure` left; else `configure` runs in each, which
    /// means the same and takes longer.
    #[must_use]
    pub fn is_preinitialised(&self) -> bool {
        match &self.shared.code {
            Code::Component(component) => component.configure.is_none(),
            Code::Native(_) => true,
        }
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
