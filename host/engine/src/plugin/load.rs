//! Loading: read, compare the digest, check, compile, configure.

use super::cache::{Cache, Cached, Code};
use super::compiling::{WITHIN, compile_within};
use super::contract_check::{Surface, kind_of_file, surface};
use super::{ContractError, LoadError, Loaded, Plugin, bounds, preinitialise};
use crate::allowlist::{Digest, Entry};
use crate::sandbox::{SharedSandbox, capability};
use std::sync::Arc;
use wasmtime::component::Component;

impl Plugin {
    /// Loads what an entry of the allowlist names.
    ///
    /// # Errors
    /// If the file is not the one that was allowed, not a component of the contract, or refuses its configuration.
    pub(crate) async fn load(sandbox: &SharedSandbox, cache: Option<&Cache>, entry: &Entry) -> Result<Self, LoadError> {
        check_grants(entry)?;
        let bytes = read(entry)?;
        let cached = cache.and_then(|cache| cache.get(sandbox.engine(), Code::Configured(entry)));
        let (mut loaded, is_image) = match cached {
            Some(Cached { component, is_image }) => (link(sandbox, entry, &component)?, is_image),
            None => {
                let bounded = kind_of_file(&bytes).and_then(|()| bounds::check(&bytes));
                bounded.map_err(|problem| unfit(entry, problem))?;
                let image = preinitialise::image(sandbox, cache, entry, &bytes).await?;
                let component = compiled(sandbox, entry, image.as_deref().unwrap_or(&bytes)).await?;
                let loaded = link(sandbox, entry, &component)?;
                if image.is_none() {
                    preinitialise::try_out(&loaded).await?;
                }
                // Only what has taken its configuration is kept.
                if let Some(cache) = cache {
                    cache.put(sandbox.engine(), Code::Configured(entry), &component, image.is_some());
                }
                (loaded, image.is_some())
            }
        };
        if is_image {
            // What `configure` left is in the image.
            loaded.configure = None;
        }
        if let Some(events) = &entry.events {
            if let Some(event) = events.iter().find(|event| !loaded.handles.contains_key(event)) {
                let hears = loaded.handles.keys().map(|event| event.name()).collect::<Vec<_>>().join(", ");
                return Err(LoadError::NotExported { name: entry.name.clone(), event: event.name(), hears });
            }
            loaded.handles.retain(|event, _| events.contains(event));
        }
        Ok(Self { shared: Arc::new(loaded) })
    }
}

/// Compiles a component. Nothing of it runs.
pub(super) async fn compiled(sandbox: &SharedSandbox, entry: &Entry, bytes: &[u8]) -> Result<Component, LoadError> {
    compile_within(sandbox.engine(), bytes, WITHIN).await.map_err(|problem| unfit(entry, problem))
}

/// Links a compiled component, after its surface and its imports are found to be what the contract and the entry permit.
/// Nothing of it runs.
pub(super) fn link(sandbox: &SharedSandbox, entry: &Entry, component: &Component) -> Result<Loaded, LoadError> {
    let link_error = |error: wasmtime::Error| unfit(entry, ContractError::ImportType(format!("{error:#}")));
    let surface = surface(sandbox.engine(), component).map_err(|problem| unfit(entry, problem))?;
    check_imports(entry, &surface)?;
    let linker = sandbox.linker(&entry.grants).map_err(link_error)?;
    let config = serde_json::Value::Object(entry.config.clone()).to_string();
    Ok(Loaded {
        name: entry.name.as_str().into(),
        grants: Arc::new(entry.grants.clone()),
        sandbox: Arc::clone(sandbox),
        pre: linker.instantiate_pre(component).map_err(link_error)?,
        handles: surface.handles,
        configure: surface.configure,
        config_digest: Digest::of_bytes(config.as_bytes()),
        config,
        entry: entry.clone(),
    })
}

fn unfit(entry: &Entry, problem: ContractError) -> LoadError {
    LoadError::Unfit { name: entry.name.clone(), path: entry.path.clone(), problem }
}

fn read(entry: &Entry) -> Result<Vec<u8>, LoadError> {
    let Entry { name, path, digest: allowed, .. } = entry;
    let bytes = bounds::read(path).map_err(|source| LoadError::Unreadable {
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
