//! Loads plugins: turns the bytes of a file into a component that is checked, compiled, configured and ready for
//! events.
//!
//! Code of a plugin runs only after three checks have succeeded: the plugin's digest is in the allowlist, its imports
//! are granted, and the types of its exports match the contract.

#[cfg(feature = "cache")]
pub(crate) mod cache;
mod call;
#[cfg(feature = "compile")]
pub(crate) mod compile;
#[cfg(feature = "cache")]
pub(crate) mod component_file;
mod configure;
mod contract_check;
pub(crate) mod error;
mod link;
mod load;
mod native;
#[cfg(feature = "cache")]
mod stamp;
mod tools;

#[cfg(feature = "cache")]
pub(crate) use cache::Cache;
#[cfg(feature = "compile")]
pub(crate) use compile::FunctionsOfThread;
pub use contract_check::ContractError;
pub use error::LoadError;
pub(crate) use load::Compiler;
pub use tools::{MAX_TOOLS, PluginTool};

use crate::config::{CodeId, Digest, Entry, Mode, OnFailure, Server};
use crate::contract::{EventKind, ToolCall};
use crate::sandbox::{Guest, Handle, Preopens, SharedSandbox};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wasmtime::component::InstancePre;

/// A loaded plugin.
#[derive(Clone)]
pub struct Plugin {
    pub(crate) shared: Arc<ConfiguredPlugin>,
}

/// A plugin that was configured and whose tools were listed.
#[derive(Clone)]
pub(crate) struct ConfiguredPlugin {
    pub(crate) name: Arc<str>,
    pub(crate) entry: Entry,
    pub(crate) id: CodeId,
    pub(crate) grants: Arc<crate::config::Grants>,
    /// The events to which the plugin subscribes: the events for which it has a function, except the events that its
    /// entry excludes.
    events: BTreeSet<EventKind>,
    runs: Runs,
    /// The plugin's tools.
    tools: Arc<[PluginTool]>,
    pub(crate) config_digest: Digest,
}

/// The code of a plugin.
#[derive(Clone)]
enum Runs {
    Component(Component),
    Native(native::Native),
}

/// A component that is [linked](link::LinkedComponent) and configured.
#[derive(Clone)]
struct Component {
    preopens: Arc<Preopens>,
    servers: Arc<[Server]>,
    is_denied_requests: bool,
    wants_binary: bool,
    sandbox: SharedSandbox,
    pre: InstancePre<Guest>,
    handles: BTreeMap<EventKind, Handle>,
    /// `setup.configure`, if it must run in each instance because it could not run beforehand.
    configure: Option<Handle>,
    /// The functions of the plugin's tools, if it exports them.
    tool_functions: Option<tools::ToolFunctions>,
    /// The imported capabilities of the embedding program: name and interface.
    own: Arc<[(Arc<str>, String)]>,
    /// The input of `configure`, as JSON.
    config: String,
}

impl Plugin {
    /// Returns the name in the allowlist.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns the digest of the component, or the version of a native rule.
    #[must_use]
    pub fn code_id(&self) -> &CodeId {
        &self.shared.id
    }

    /// Returns the entry in the allowlist.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.shared.entry
    }

    /// Returns true if the plugin imports `wasi:http` but is granted no server. Each of its requests is then denied.
    #[must_use]
    pub fn is_denied_requests(&self) -> bool {
        matches!(&self.shared.runs, Runs::Component(component) if component.is_denied_requests)
    }

    /// Returns the events to which the plugin subscribes, in the order of the contract.
    pub fn events(&self) -> impl Iterator<Item = EventKind> {
        self.shared.events.iter().copied()
    }

    /// Returns true if `configure` ran only once, when the plugin was loaded. Otherwise `configure` runs in each
    /// instance. The result is the same, but each call takes longer.
    #[must_use]
    pub fn is_preinitialised(&self) -> bool {
        match &self.shared.runs {
            Runs::Component(component) => component.configure.is_none(),
            Runs::Native(_) => true,
        }
    }

    /// Returns the granted directories and servers.
    pub(crate) fn outside(&self) -> (Arc<Preopens>, Arc<[Server]>) {
        match &self.shared.runs {
            Runs::Component(component) => (Arc::clone(&component.preopens), Arc::clone(&component.servers)),
            Runs::Native(_) => Default::default(),
        }
    }

    /// Returns true if the events for this plugin contain images and other binary data. This is the case for a native
    /// rule. It is also the case for a component that imports the agent's original message, because this message
    /// contains the data.
    pub(crate) fn wants_binary(&self) -> bool {
        match &self.shared.runs {
            Runs::Component(component) => component.wants_binary,
            Runs::Native(_) => true,
        }
    }

    /// Returns true if the plugin's answers have an effect. In observe mode, they are only recorded.
    pub(crate) fn enforces(&self) -> bool {
        self.shared.entry.mode == Mode::Enforce
    }

    /// Returns what happens to an event if this plugin fails. The default is `reject` for gates and transforms, and
    /// `skip` for other events.
    #[must_use]
    pub fn on_failure(&self, event: EventKind) -> OnFailure {
        OnFailure::for_shape(self.shared.entry.on_failure, event.shape())
    }

    /// Returns true if `actions` and `tools` of the plugin's entry select any of these calls, or if `calls` is `None`
    /// because the event is not about calls.
    pub(crate) fn is_concerned(&self, calls: Option<&[ToolCall]>) -> bool {
        // An empty list of calls is treated as if `actions` and `tools` selected it.
        let Some(calls) = calls.filter(|calls| !calls.is_empty()) else { return true };
        calls.iter().any(|call| self.shared.entry.narrowing().concerns(call))
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin").field("name", &self.name()).field("code", &self.code_id()).finish_non_exhaustive()
    }
}
