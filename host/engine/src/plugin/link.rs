//! From compiled code to a plugin: checked, linked, loaded. Each state is a type; nothing of a component runs before it
//! is linked, and nothing is asked before it is loaded.

use super::contract_check::{Surface, surface};
use super::{Code, ContractError, Linkable, LoadError, Loaded, PluginTool};
use crate::config::{Digest, Entry};
use crate::sandbox::capability::{Interface, OwnCapabilities};
use crate::sandbox::{Guest, Handle, Preopens, SharedSandbox, capability, http};
use std::sync::Arc;
use wasmtime::component::{Component, InstancePre};

/// A component whose surface and imports are what the contract and its entry permit.
pub(super) struct Checked<'a> {
    sandbox: &'a SharedSandbox,
    entry: &'a Entry,
    component: &'a Component,
    surface: Surface,
}

/// A component of which instances can be made.
pub(super) struct Linked {
    pub(super) name: Arc<str>,
    pub(super) entry: Entry,
    pub(super) sandbox: SharedSandbox,
    pub(super) pre: InstancePre<Guest>,
    pub(super) surface: Surface,
    /// What `setup.configure` gets, as JSON.
    pub(super) config: String,
}

impl<'a> Checked<'a> {
    /// # Errors
    /// If the component is not one of the contract, or imports what is not granted.
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
    /// If an import has another type than the host's.
    pub(super) fn link(self) -> Result<Linked, LoadError> {
        let Self { sandbox, entry, component, surface } = self;
        let link_error = |error: wasmtime::Error| unfit(entry, ContractError::ImportType(format!("{error:#}")));
        let mut linker = sandbox.linker(&entry.grants).map_err(link_error)?;
        for own in &surface.own {
            own.link(Arc::make_mut(&mut linker)).map_err(link_error)?;
        }
        Ok(Linked {
            name: entry.name.as_str().into(),
            entry: entry.clone(),
            sandbox: Arc::clone(sandbox),
            pre: linker.instantiate_pre(component).map_err(link_error)?,
            surface,
            config: serde_json::Value::Object(entry.config.clone()).to_string(),
        })
    }
}

impl Linked {
    /// The plugin. `configure` is what each instance has to run first: nothing, where the component is an image of one that
    /// has run it.
    ///
    /// # Errors
    /// If the entry names an event that the component does not export.
    pub(super) fn loaded(
        self,
        configure: Option<Handle>,
        preopens: Preopens,
        tools: Arc<[PluginTool]>,
    ) -> Result<Loaded, LoadError> {
        let Self { name, entry, sandbox, pre, surface, config } = self;
        let mut subscriptions = surface.subscriptions;
        if let Some(events) = &entry.events {
            if let Some(event) = events.iter().find(|event| !subscriptions.contains_key(event)) {
                let subscribes = subscriptions.keys().map(|event| event.name()).collect::<Vec<_>>().join(", ");
                return Err(LoadError::NotExported { name: entry.name, event: event.name(), subscribes });
            }
            subscriptions.retain(|event, _| events.contains(event));
        }
        Ok(Loaded {
            name,
            grants: Arc::new(entry.grants.clone()),
            preopens: Arc::new(preopens),
            servers: http::servers(&entry.grants),
            is_denied_requests: surface.http.is_some() && entry.grants.http.is_empty(),
            code: Code::Component(Linkable { sandbox, pre, subscriptions, configure, tool_functions: surface.tools }),
            own: surface.own.into_iter().map(|own| (own.name, own.interface)).collect(),
            tools,
            config_digest: Digest::of_bytes(config.as_bytes()),
            config,
            entry,
        })
    }
}

pub(super) fn unfit(entry: &Entry, problem: ContractError) -> LoadError {
    LoadError::Unfit { name: entry.name.clone(), path: entry.path.clone(), problem }
}

fn check_imports(entry: &Entry, surface: &Surface) -> Result<(), LoadError> {
    let of_contract = surface
        .capabilities
        .iter()
        .filter_map(|(name, import)| Some((capability::of_contract(name)?, import.as_str())));
    let own = surface.own.iter().map(|own| (own as &dyn Interface, own.interface.as_str()));
    for (capability, import) in of_contract.chain(own) {
        if !capability.is_granted(&entry.grants) {
            return Err(LoadError::NotGranted {
                name: entry.name.clone(),
                import: import.to_owned(),
                line: capability.line().unwrap_or_default(),
            });
        }
    }
    if surface.subscriptions.contains_key(&crate::contract::EventKind::AuditRecord) && !entry.grants.audit {
        return Err(LoadError::NotGranted {
            name: entry.name.clone(),
            import: "audit-record (by exporting it)".into(),
            line: "audit = true".into(),
        });
    }
    Ok(())
}
