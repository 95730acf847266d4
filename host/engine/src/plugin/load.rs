//! Loading: read, compare the digest, check, compile, configure.

use super::link::{Checked, Linked, unfit};
use super::{ContractError, LoadError, Loaded, Plugin, Runs, configure, tools};
use crate::config::{Code, CompiledComponent, Digest, Entry};
use crate::sandbox::capability::OwnCapabilities;
use crate::sandbox::{PreopenError, Preopens, SharedSandbox};
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::Component;

impl Plugin {
    /// Loads what an entry of the allowlist names. Where `known` is the same, it is taken as it is.
    ///
    /// # Errors
    /// If the file is not the one that was allowed, not a component of the contract, or refuses its configuration.
    pub(crate) async fn load(compiler: &Compiler<'_>, entry: &Entry, known: Option<Self>) -> Result<Self, LoadError> {
        let Compiler { sandbox, own, .. } = *compiler;
        // Also if it is loaded already: a file that is no longer the allowed one must be reported.
        let source = Source::of(entry)?;
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
        let (linked, is_image, digest) = match source {
            Source::Compiled(compiled) => (compiler.linked_ahead(entry, compiled).await?, false, compiled.digest()),
            #[cfg(feature = "cache")]
            Source::Component(bytes, digest) => {
                let (linked, is_image) = match compiler.kept(entry)? {
                    Some(kept) => kept,
                    None => compiler.linked_now(entry, &bytes, digest).await?,
                };
                (linked, is_image, digest)
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
    #[cfg(feature = "cache")]
    pub(crate) cache: Option<&'a super::Cache>,
    /// Whether what is not in the cache is compiled.
    #[cfg(feature = "compile")]
    pub(crate) compiles: bool,
    /// What plugins may import beside the contract.
    pub(crate) own: &'a OwnCapabilities,
    /// `settings.compile-time`.
    pub(crate) within: Duration,
}

impl Compiler<'_> {
    /// The component of an entry whose compiled code is in the cache, linked, and whether it is an image that `configure` has
    /// left.
    #[cfg(feature = "cache")]
    fn kept(&self, entry: &Entry) -> Result<Option<(Linked, bool)>, LoadError> {
        let engine = self.sandbox.engine();
        let kept = self.cache.and_then(|cache| {
            let outcome = cache.outcome(entry)?;
            Some((cache.code(engine, entry, &outcome.code)?, outcome.is_image))
        });
        let Some((component, is_image)) = kept else { return Ok(None) };
        Ok(Some((Checked::new(self.sandbox, entry, &component, self.own)?.link()?, is_image)))
    }

    #[cfg(feature = "compile")]
    async fn linked_now(&self, entry: &Entry, bytes: &[u8], digest: Digest) -> Result<(Linked, bool), LoadError> {
        if !self.compiles {
            return Err(LoadError::NoCompiler { name: entry.name.clone() });
        }
        // It is long, and rarely needed: what waits for a plugin to be loaded does not hold its state.
        let linked: crate::BoxFuture<'_, _> = Box::pin(super::compile::linked(self, entry, bytes, digest));
        linked.await
    }

    #[cfg(all(feature = "cache", not(feature = "compile")))]
    async fn linked_now(&self, entry: &Entry, _: &[u8], _: Digest) -> Result<(Linked, bool), LoadError> {
        Err(LoadError::NoCompiler { name: entry.name.clone() })
    }

    /// Checks and links a component, and has it take its configuration.
    async fn linked_ahead(&self, entry: &Entry, compiled: &CompiledComponent) -> Result<Linked, LoadError> {
        #[expect(unsafe_code, reason = "wasmtime cannot check compiled code, so the program vouches for it")]
        // SAFETY: who makes a `CompiledComponent` of bytes vouches that `to_bytes` has given them, and those are of
        // `Component::serialize`. What another version or another engine has compiled, wasmtime refuses.
        let component = unsafe { Component::deserialize(self.sandbox.engine(), compiled.code()) };
        let component = component.map_err(|error| {
            let why = format!("was compiled for another engine: compile it again with this version ({error:#})");
            unfit(entry, ContractError::Invalid(why))
        })?;
        let linked = Checked::new(self.sandbox, entry, &component, self.own)?.link()?;
        configure::try_out(&linked).await?;
        Ok(linked)
    }
}

/// What an entry's code is made of.
enum Source<'a> {
    /// Compiled code.
    Compiled(&'a CompiledComponent),
    /// A component, and its digest.
    #[cfg(feature = "cache")]
    Component(std::borrow::Cow<'a, [u8]>, Digest),
}

impl<'a> Source<'a> {
    fn of(entry: &'a Entry) -> Result<Self, LoadError> {
        match &entry.code {
            Code::Compiled(compiled) => Ok(Self::Compiled(compiled)),
            Code::Native(_) => Err(unfit(entry, ContractError::NotWasm)),
            #[cfg(feature = "cache")]
            Code::File { .. } | Code::Bytes(_) => {
                super::component_file::of(entry).map(|(bytes, digest)| Self::Component(bytes, digest))
            }
            #[cfg(not(feature = "cache"))]
            Code::File { .. } | Code::Bytes(_) => Err(LoadError::NoCompiler { name: entry.name.clone() }),
        }
    }
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
