//! Turns compiled code into a plugin, in three steps: check, link, load. The result of each step has a separate type.
//! Code of a component runs only after the component is linked, and a component gets events only after it is loaded.

use super::contract_check::{Surface, surface};
use super::{ConfiguredPlugin, ContractError, LoadError, PluginTool, Runs};
use crate::config::{CodeId, Digest, Entry};
use crate::contract::EventKind;
use crate::sandbox::capability::{Interface, OwnCapabilities};
use crate::sandbox::{Guest, Handle, OptionalWasi, Preopens, SharedSandbox, capability, http};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use wasmtime::component::{Component, InstancePre};

/// A component whose exports fit the contract and whose imports its entry permits.
pub(super) struct CheckedComponent<'a> {
    sandbox: &'a SharedSandbox,
    entry: &'a Entry,
    component: &'a Component,
    surface: Surface,
}

/// A component of which instances can be created.
pub(super) struct LinkedComponent {
    pub(super) name: Arc<str>,
    pub(super) entry: Entry,
    pub(super) sandbox: SharedSandbox,
    pub(super) pre: InstancePre<Guest>,
    pub(super) surface: Surface,
    /// The argument of `setup.configure`, as JSON.
    pub(super) config: String,
}

impl<'a> CheckedComponent<'a> {
    /// # Errors
    /// Fails if the component does not fit the contract, or imports a capability that is not granted.
    pub(super) fn new(
        sandbox: &'a SharedSandbox,
        entry: &'a Entry,
        component: &'a Component,
        own: &OwnCapabilities,
    ) -> Result<Self, LoadError> {
        let surface = surface(sandbox.engine(), component, own).map_err(|problem| unfit(entry, problem))?;
        check_imports(entry, &surface)?;
        Ok(Self { sandbox, entry, component, surface })
    }

    /// # Errors
    /// Fails if the type of an import differs from the host's interface.
    pub(super) fn link(self) -> Result<LinkedComponent, LoadError> {
        let Self { sandbox, entry, component, surface } = self;
        let link_error = |error: wasmtime::Error| unfit(entry, ContractError::ImportType(format!("{error:#}")));
        let types = component.component_type();
        let imported = OptionalWasi::of(types.imports(sandbox.engine()).map(|(import, _)| import));
        let mut linker = sandbox.linker(&entry.grants, imported).map_err(link_error)?;
        for own in &surface.own {
            own.link(Arc::make_mut(&mut linker)).map_err(link_error)?;
        }
        Ok(LinkedComponent {
            name: entry.name.as_str().into(),
            entry: entry.clone(),
            sandbox: Arc::clone(sandbox),
            pre: linker.instantiate_pre(component).map_err(link_error)?,
            surface,
            config: serde_json::Value::Object(entry.config.clone()).to_string(),
        })
    }
}

impl LinkedComponent {
    /// Returns the plugin of the component with this digest. Each instance first calls `configure`. If the component is
    /// an image, the argument `configure` is `None`, because the image already contains the result of that call.
    ///
    /// # Errors
    /// Fails if the entry names an event that the component does not export.
    pub(super) fn loaded(
        self,
        digest: Digest,
        configure: Option<Handle>,
        preopens: Preopens,
        tools: Arc<[PluginTool]>,
    ) -> Result<ConfiguredPlugin, LoadError> {
        let Self { name, entry, sandbox, pre, surface, config } = self;
        let events = subscribed(&entry, surface.subscriptions.keys().copied())?;
        let component = super::Component {
            preopens: Arc::new(preopens),
            servers: http::servers(&entry.grants),
            is_denied_requests: surface.http.is_some() && entry.grants.http.is_empty(),
            wants_binary: surface.wants_raw,
            sandbox,
            pre,
            handles: surface.subscriptions,
            configure,
            tool_functions: surface.tools,
            own: surface.own.into_iter().map(|own| (own.name, own.interface)).collect(),
            config,
        };
        Ok(ConfiguredPlugin {
            name,
            id: CodeId::Component(digest),
            grants: Arc::new(entry.grants.clone()),
            events,
            config_digest: Digest::of_bytes(component.config.as_bytes()),
            runs: Runs::Component(component),
            tools,
            entry,
        })
    }
}

/// Returns the events to which a plugin subscribes: the events for which it has a function, except the events that its
/// entry excludes.
///
/// # Errors
/// Fails if the entry names an event for which the plugin has no function.
pub(super) fn subscribed(
    entry: &Entry,
    has: impl Iterator<Item = EventKind>,
) -> Result<BTreeSet<EventKind>, LoadError> {
    let mut subscribed: BTreeSet<_> = has.collect();
    if let Some(events) = &entry.events {
        if let Some(event) = events.iter().find(|event| !subscribed.contains(event)) {
            let subscribes = subscribed.iter().map(|event| event.name()).collect::<Vec<_>>().join(", ");
            return Err(LoadError::NotExported { name: entry.name.clone(), event: event.name(), subscribes });
        }
        subscribed.retain(|event| events.contains(event));
    }
    Ok(subscribed)
}

pub(super) fn unfit(entry: &Entry, problem: ContractError) -> LoadError {
    let path = entry.code.path().map(Path::to_owned);
    LoadError::Unfit { name: entry.name.clone(), path, problem }
}

impl super::Component {
    /// Returns `configure` and the configuration, if `configure` must run in each instance.
    pub(super) fn configuring(&self) -> Option<(&Handle, &str)> {
        self.configure.as_ref().map(|configure| (configure, self.config.as_str()))
    }
}

fn check_imports(entry: &Entry, surface: &Surface) -> Result<(), LoadError> {
    if cfg!(not(feature = "http")) && !entry.grants.http.is_empty() {
        return Err(LoadError::NotBuilt { name: entry.name.clone(), grant: "http", feature: "http" });
    }
    let of_contract = surface
        .capabilities
        .iter()
        .filter_map(|(name, import)| Some((capability::of_contract(name)?, import.as_str())));
    let own = surface.own.iter().map(|own| (own as &dyn Interface, own.interface.as_str()));
    for (capability, import) in of_contract.chain(own) {
        if surface.needs(capability) && !capability.is_granted(&entry.grants) {
            return Err(LoadError::NotGranted {
                name: entry.name.clone(),
                import: import.to_owned(),
                line: capability.line().unwrap_or_default(),
            });
        }
    }
    check_observing(entry, surface.subscriptions.contains_key(&EventKind::AuditRecord))
}

/// # Errors
/// Fails if the plugin observes records without the grant `audit`.
pub(super) fn check_observing(entry: &Entry, observes_records: bool) -> Result<(), LoadError> {
    if !observes_records || entry.grants.audit {
        return Ok(());
    }
    Err(LoadError::NotGranted {
        name: entry.name.clone(),
        import: "audit-record (by exporting it)".into(),
        line: "audit = true".into(),
    })
}
