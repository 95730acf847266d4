//! Loading: read, compare the digest, check, compile, configure.

use super::cache::{Cache, Outcome};
use super::compiling::compile_within;
use super::contract_check::kind_of_file;
use super::link::{Checked, unfit};
use super::outline::outline;
use super::{ContractError, LoadError, Loaded, Plugin, Runs, compile_bounds, preinitialise, tools};
use crate::config::{Code, Digest, Entry};
use crate::sandbox::capability::OwnCapabilities;
use crate::sandbox::{PreopenError, Preopens, SharedSandbox};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::Component;

impl Plugin {
    /// Loads what an entry of the allowlist names. Where `known` is the same, it is taken as it is.
    ///
    /// # Errors
    /// If the file is not the one that was allowed, not a component of the contract, or refuses its configuration.
    pub(crate) async fn load(compiler: &Compiler<'_>, entry: &Entry, known: Option<Self>) -> Result<Self, LoadError> {
        let Compiler { sandbox, cache, own, .. } = *compiler;
        // Also if it is loaded already: a file that is no longer the allowed one must be reported.
        let (bytes, digest) = read(entry)?;
        if let Some(capability) = own.missing(entry.grants.capabilities.iter()) {
            return Err(LoadError::NoCapability {
                name: entry.name.clone(),
                capability: capability.to_owned(),
                known: own.names().join(", "),
            });
        }
        match known.filter(|known| known.is_of(sandbox, entry, own)) {
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
        let linked = |component: &_| Checked::new(sandbox, entry, component, own)?.link();
        let (linked, is_image) = match kept {
            Some((component, is_image)) => (linked(&component)?, is_image),
            None => {
                let bounded = kind_of_file(&bytes).and_then(|()| compile_bounds::check(&bytes));
                bounded.map_err(|problem| unfit(entry, problem))?;
                compiler.check_outline(entry, &bytes).await?;
                let image = preinitialise::image(compiler, entry, &bytes).await?;
                let component = compiler.compiled(entry, image.as_deref().unwrap_or(&bytes)).await?;
                let linked = linked(&component)?;
                if image.is_none() {
                    preinitialise::try_out(&linked).await?;
                }
                // The outcome is kept only for a plugin that has taken its configuration.
                if let Some(cache) = cache {
                    let code = image.as_deref().map_or(digest, Digest::of_bytes);
                    cache.put_outcome(sandbox.engine(), entry, &Outcome { code, is_image: image.is_some() });
                }
                (linked, image.is_some())
            }
        };
        // What `configure` left is in the image.
        let configure = linked.surface.configure.filter(|_| !is_image);
        let tools = tools::listed(&linked, configure.as_ref()).await?;
        let loaded = linked.loaded(digest, configure, preopens, tools)?;
        Ok(Self { shared: Arc::new(loaded) })
    }

    /// Whether it is what this entry would be loaded to.
    pub(crate) fn is_of(&self, sandbox: &SharedSandbox, entry: &Entry, own: &OwnCapabilities) -> bool {
        let is_brought = |(name, interface): &(Arc<str>, String)| {
            own.of_interface(interface).is_some_and(|capability| capability.name == *name)
        };
        match &self.shared.runs {
            Runs::Component(component) => {
                Arc::ptr_eq(&component.sandbox, sandbox)
                    && self.entry().says_the_same(entry)
                    && component.own.iter().all(is_brought)
            }
            Runs::Native(_) => false,
        }
    }
}

/// The engine and bounds for compiling components.
pub(crate) struct Compiler<'a> {
    pub(crate) sandbox: &'a SharedSandbox,
    pub(crate) cache: Option<&'a Cache>,
    /// What plugins may import beside the contract.
    pub(crate) own: &'a OwnCapabilities,
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
        Checked::new(self.sandbox, entry, &component, self.own).map(|_| ())
    }
}

/// The component of an entry, with its digest.
fn read(entry: &Entry) -> Result<(Cow<'_, [u8]>, Digest), LoadError> {
    let (path, allowed) = match &entry.code {
        Code::File { path, digest } => (path, digest),
        Code::Bytes(held) => {
            let (bytes, digest) = (held.bytes(), held.digest());
            return compile_bounds::check_size(bytes)
                .map(|()| (bytes.into(), digest))
                .map_err(|problem| unfit(entry, problem));
        }
        Code::Native(_) => return Err(unfit(entry, ContractError::NotWasm)),
    };
    let name = &entry.name;
    let bytes = compile_bounds::read(path).map_err(|source| LoadError::Unreadable {
        name: name.clone(),
        path: path.clone(),
        source,
    })?;
    let found = Digest::of_bytes(&bytes);
    if found == *allowed {
        return Ok((bytes.into(), found));
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
