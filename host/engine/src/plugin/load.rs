//! Loading: read, compare the digest, check, compile, configure.

use super::contract_check::{Surface, compile, surface};
use super::preinitialise::{self, Preinitialised};
use super::{ContractError, LoadError, Loaded, Plugin};
use crate::allowlist::{Digest, Entry};
use crate::sandbox::{GuestSetup, SharedSandbox, capability};
use std::sync::Arc;

impl Plugin {
    /// Loads what an entry of the allowlist names.
    ///
    /// # Errors
    /// If the file is not the one that was allowed, not a component of the contract, or refuses its configuration.
    pub(crate) async fn load(sandbox: &SharedSandbox, entry: &Entry) -> Result<Self, LoadError> {
        let name = &entry.name;
        let unfit = |problem| LoadError::Unfit { name: name.clone(), path: entry.path.clone(), problem };
        let bytes = read(entry)?;
        check_grants(entry)?;
        let engine = sandbox.engine();
        let component = compile(engine, &bytes).map_err(unfit)?;
        let surface = surface(engine, &component).map_err(unfit)?;
        check_imports(entry, &surface)?;

        let linker = sandbox.linker(&entry.grants);
        let linker = linker.map_err(|error| unfit(ContractError::ImportType(format!("{error:#}"))))?;
        let pre = linker.instantiate_pre(&component);
        let pre = pre.map_err(|error| unfit(ContractError::ImportType(format!("{error:#}"))))?;
        let config = serde_json::Value::Object(entry.config.clone()).to_string();

        let mut loaded = Loaded {
            name: name.as_str().into(),
            grants: Arc::new(entry.grants.clone()),
            sandbox: Arc::clone(sandbox),
            pre,
            handles: surface.handles,
            configure: surface.configure,
            config,
            entry: entry.clone(),
        };
        if let Some(events) = &entry.events {
            loaded.handles.retain(|event, _| events.contains(event));
        }
        if loaded.configure.is_some() {
            match preinitialise::run(&loaded, &bytes).await? {
                Preinitialised::Component(bytes) => {
                    let component = compile(engine, &bytes).map_err(unfit)?;
                    let surface = super::contract_check::surface(engine, &component).map_err(unfit)?;
                    loaded.handles.retain(|event, handle| match surface.handles.get(event) {
                        Some(found) => {
                            *handle = *found;
                            true
                        }
                        None => false,
                    });
                    let pre = linker.instantiate_pre(&component);
                    loaded.pre = pre.map_err(|error| unfit(ContractError::ImportType(format!("{error:#}"))))?;
                    loaded.configure = None;
                }
                Preinitialised::EachTime => {}
            }
        } else {
            // An instance that cannot be made should be known now, not at the first event.
            let instance = loaded.sandbox.instantiate(&loaded.pre, loaded.guest_for_setup(), &entry.limits).await;
            instance.map_err(|failure| LoadError::Failed { name: name.clone(), failure })?;
        }
        Ok(Self { shared: Arc::new(loaded) })
    }
}

impl Loaded {
    /// What a guest has while it is set up: the log, and nothing of any event.
    pub(super) fn guest_for_setup(&self) -> GuestSetup {
        GuestSetup {
            plugin: Arc::clone(&self.name),
            event: capability::EventFacts::default(),
            grants: Arc::default(),
            state: None,
            transcript: Arc::new(capability::NoTranscript),
            model: None,
            model_calls: Arc::default(),
        }
    }
}

fn read(entry: &Entry) -> Result<Vec<u8>, LoadError> {
    let Entry { name, path, digest: allowed, .. } = entry;
    let bytes = std::fs::read(path).map_err(|source| LoadError::Unreadable {
        name: name.clone(),
        path: path.clone(),
        source,
    })?;
    let found = Digest::of_bytes(&bytes);
    if found == *allowed {
        return Ok(bytes);
    }
    Err(LoadError::OtherDigest { name: name.clone(), path: path.clone(), allowed: *allowed, found })
}

fn check_grants(entry: &Entry) -> Result<(), LoadError> {
    let grants = &entry.grants;
    let unsupported = [
        ("read-dirs", !grants.read_dirs.is_empty()),
        ("write-dirs", !grants.write_dirs.is_empty()),
        ("http", !grants.http.is_empty()),
    ];
    match unsupported.iter().find(|(_, asked)| *asked) {
        Some((grant, _)) => Err(LoadError::Unsupported { name: entry.name.clone(), grant }),
        None => Ok(()),
    }
}

fn check_imports(entry: &Entry, surface: &Surface) -> Result<(), LoadError> {
    for (capability, import) in &surface.capabilities {
        if capability::granted(capability, &entry.grants) == Some(false) {
            let line = capability::GRANTED.iter().find(|(name, _)| name == capability).map_or("", |(_, line)| line);
            return Err(LoadError::NotGranted {
                name: entry.name.clone(),
                import: import.clone(),
                line: line.to_owned(),
            });
        }
    }
    if surface.handles.contains_key(&crate::event::EventKind::AuditRecord) && !entry.grants.audit {
        return Err(LoadError::NotGranted {
            name: entry.name.clone(),
            import: "audit-record (by exporting it)".into(),
            line: "audit = true".into(),
        });
    }
    Ok(())
}
