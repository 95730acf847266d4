//! Loading: read, compare the digest, check, compile, configure.

use super::cache::{Cache, Cached, Code};
use super::compiling::{WITHIN, compile_within};
use super::contract_check::{Surface, kind_of_file, surface};
use super::{ContractError, LoadError, Loaded, Plugin, bounds, preinitialise, tools};
use crate::allowlist::{Digest, Entry};
use crate::sandbox::{Folders, SharedSandbox, Unopened, capability, http};
use std::sync::Arc;
use wasmtime::component::Component;

impl Plugin {
    /// Loads what an entry of the allowlist names. Where `before` is the same, it is taken as it is.
    ///
    /// # Errors
    /// If the file is not the one that was allowed, not a component of the contract, or refuses its configuration.
    pub(crate) async fn load(
        sandbox: &SharedSandbox,
        cache: Option<&Cache>,
        entry: &Entry,
        before: Option<&Self>,
    ) -> Result<Self, LoadError> {
        // Also where it is loaded already: a file that is no longer the allowed one is not to be passed over.
        let bytes = read(entry)?;
        if let Some(before) = before.filter(|before| before.is_of(sandbox, entry)) {
            return Ok(Self { shared: Arc::new(Loaded { entry: entry.clone(), ..(*before.shared).clone() }) });
        }
        let folders = folders(entry)?;
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
        loaded.folders = Arc::new(folders);
        if is_image {
            // What `configure` left is in the image.
            loaded.configure = None;
        }
        loaded.tools = tools::listed(&loaded).await?;
        if let Some(events) = &entry.events {
            if let Some(event) = events.iter().find(|event| !loaded.handles.contains_key(event)) {
                let hears = loaded.handles.keys().map(|event| event.name()).collect::<Vec<_>>().join(", ");
                return Err(LoadError::NotExported { name: entry.name.clone(), event: event.name(), hears });
            }
            loaded.handles.retain(|event, _| events.contains(event));
        }
        Ok(Self { shared: Arc::new(loaded) })
    }

    fn is_of(&self, sandbox: &SharedSandbox, entry: &Entry) -> bool {
        Arc::ptr_eq(&self.shared.sandbox, sandbox) && self.entry().says_the_same(entry)
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
        // None while it is configured.
        folders: Arc::default(),
        servers: http::servers(&entry.grants),
        sandbox: Arc::clone(sandbox),
        pre: linker.instantiate_pre(component).map_err(link_error)?,
        handles: surface.handles,
        configure: surface.configure,
        tool_functions: surface.tools,
        // None while it is configured.
        tools: Arc::default(),
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

fn folders(entry: &Entry) -> Result<Folders, LoadError> {
    Folders::open(&entry.grants).map_err(|Unopened { grant, guest, folder, source }| LoadError::NoFolder {
        name: entry.name.clone(),
        grant,
        guest,
        folder,
        source,
    })
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
    if let Some(import) = &surface.http
        && entry.grants.http.is_empty()
    {
        return Err(LoadError::NotGranted {
            name: entry.name.clone(),
            import: import.clone(),
            line: http::GRANT.to_owned(),
        });
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
