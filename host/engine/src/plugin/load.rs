//! Loading: read, compare the digest, check, compile, configure.

use super::cache::{Cache, Outcome};
use super::compiling::compile_within;
use super::contract_check::{Surface, kind_of_file, surface};
use super::outline::outline;
use super::{ContractError, LoadError, Loaded, Plugin, bounds, preinitialise, tools};
use crate::config::{Digest, Entry};
use crate::sandbox::{PreopenError, Preopens, SharedSandbox, capability, http};
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::Component;

impl Plugin {
    /// Loads what an entry of the allowlist names. Where `known` is the same, it is taken as it is.
    ///
    /// # Errors
    /// If the file is not the one that was allowed, not a component of the contract, or refuses its configuration.
    pub(crate) async fn load(compiler: &Compiler<'_>, entry: &Entry, known: Option<Self>) -> Result<Self, LoadError> {
        let Compiler { sandbox, cache, .. } = *compiler;
        // Also if it is loaded already: a file that is no longer the allowed one must be reported.
        let bytes = read(entry)?;
        match known.filter(|known| known.is_of(sandbox, entry)) {
            Some(known) if known.entry() == entry => return Ok(known),
            // It is written elsewhere.
            Some(known) => {
                let shared = Loaded { entry: entry.clone(), ..(*known.shared).clone() };
                return Ok(Self { shared: Arc::new(shared) });
            }
            None => {}
        }
        let preopens = preopens(entry)?;
        let kept = cache.and_then(|cache| {
            let outcome = cache.outcome(sandbox.engine(), entry)?;
            Some((cache.code(sandbox.engine(), entry, &outcome.code)?, outcome.is_image))
        });
        let (mut loaded, is_image) = match kept {
            Some((component, is_image)) => (link(sandbox, entry, &component)?, is_image),
            None => {
                let bounded = kind_of_file(&bytes).and_then(|()| bounds::check(&bytes));
                bounded.map_err(|problem| unfit(entry, problem))?;
                compiler.check_outline(entry, &bytes).await?;
                let image = preinitialise::image(compiler, entry, &bytes).await?;
                let component = compiler.compiled(entry, image.as_deref().unwrap_or(&bytes)).await?;
                let loaded = link(sandbox, entry, &component)?;
                if image.is_none() {
                    preinitialise::try_out(&loaded).await?;
                }
                // The outcome is kept only for a plugin that has taken its configuration.
                if let Some(cache) = cache {
                    let code = image.as_deref().map_or(entry.digest, Digest::of_bytes);
                    cache.put_outcome(sandbox.engine(), entry, &Outcome { code, is_image: image.is_some() });
                }
                (loaded, image.is_some())
            }
        };
        loaded.preopens = Arc::new(preopens);
        if is_image {
            // What `configure` left is in the image.
            loaded.configure = None;
        }
        loaded.tools = tools::listed(&loaded).await?;
        if let Some(events) = &entry.events {
            if let Some(event) = events.iter().find(|event| !loaded.subscriptions.contains_key(event)) {
                let subscribes = loaded.subscriptions.keys().map(|event| event.name()).collect::<Vec<_>>().join(", ");
                return Err(LoadError::NotExported { name: entry.name.clone(), event: event.name(), subscribes });
            }
            loaded.subscriptions.retain(|event, _| events.contains(event));
        }
        Ok(Self { shared: Arc::new(loaded) })
    }

    /// Whether it is what this entry would be loaded to.
    pub(crate) fn is_of(&self, sandbox: &SharedSandbox, entry: &Entry) -> bool {
        Arc::ptr_eq(&self.shared.sandbox, sandbox) && self.entry().says_the_same(entry)
    }
}

/// The engine and bounds for compiling components.
pub(crate) struct Compiler<'a> {
    pub(crate) sandbox: &'a SharedSandbox,
    pub(crate) cache: Option<&'a Cache>,
    /// `settings.compile-time`.
    pub(crate) within: Duration,
}

impl Compiler<'_> {
    /// Compiles a component, unless that is done already. Nothing of it runs.
    pub(super) async fn compiled(&self, entry: &Entry, bytes: &[u8]) -> Result<Component, LoadError> {
        let (engine, digest) = (self.sandbox.engine(), Digest::of_bytes(bytes));
        if let Some(component) = self.cache.and_then(|cache| cache.code(engine, entry, &digest)) {
            return Ok(component);
        }
        let compiled = compile_within(engine, &entry.name, bytes, self.within).await;
        let component = compiled.map_err(|problem| unfit(entry, problem))?;
        if let Some(cache) = self.cache {
            cache.put_code(engine, entry, &digest, &component);
        }
        Ok(component)
    }

    /// Rejects a component by its imports and exports, before its code is compiled.
    async fn check_outline(&self, entry: &Entry, bytes: &[u8]) -> Result<(), LoadError> {
        let engine = self.sandbox.engine();
        let unfit = |problem| unfit(entry, problem);
        let outline = outline(bytes).map_err(unfit)?;
        let component = compile_within(engine, &entry.name, &outline, self.within).await.map_err(unfit)?;
        let surface = surface(engine, &component).map_err(unfit)?;
        check_imports(entry, &surface)
    }
}

/// Links a compiled component, after its surface and its imports are found to be what the contract
/// and the entry permit. Nothing of it runs.
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
        preopens: Arc::default(),
        servers: http::servers(&entry.grants),
        is_denied_requests: surface.http.is_some() && entry.grants.http.is_empty(),
        sandbox: Arc::clone(sandbox),
        pre: linker.instantiate_pre(component).map_err(link_error)?,
        subscriptions: surface.subscriptions,
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

fn preopens(entry: &Entry) -> Result<Preopens, LoadError> {
    Preopens::open(&entry.grants).map_err(|PreopenError { grant, guest, directory, source }| LoadError::NoDirectory {
        name: entry.name.clone(),
        grant,
        guest,
        directory,
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
    if surface.subscriptions.contains_key(&crate::contract::EventKind::AuditRecord) && !entry.grants.audit {
        return Err(LoadError::NotGranted {
            name: entry.name.clone(),
            import: "audit-record (by exporting it)".into(),
            line: "audit = true".into(),
        });
    }
    Ok(())
}
