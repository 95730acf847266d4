//! Turns the bytes of a component into compiled code. This module checks the bounds of the component, compiles it on
//! separate threads, pre-initialises it, and stores the result in the cache.

pub(crate) mod compile_bounds;
mod compiling;
mod functions;
pub(crate) mod inspect;
mod outline;
mod preinitialise;

use super::cache::Outcome;
use super::component_file::{self, Allowed};
use super::contract_check::kind_of_file;
use super::link::{CheckedComponent, LinkedComponent, unfit};
use super::{Compiler, ContractError, LoadError, configure};
use crate::config::{CompiledComponent, Digest, Entry};
use compiling::compile_within;
pub(in crate::plugin) use functions::CompiledFunctions;
pub(crate) use functions::FunctionsOfThread;
use outline::outline;
use std::sync::Arc;
use wasmtime::component::Component;

/// Returns the component of an entry, compiled and linked. The flag is true if the component is an image, which
/// contains the state after `configure`.
pub(super) async fn linked(
    compiler: &Compiler<'_>,
    entry: &Entry,
    allowed: &Allowed<'_>,
) -> Result<(LinkedComponent, bool), LoadError> {
    let Compiler { sandbox, cache, own, .. } = *compiler;
    let Allowed { bytes, digest, .. } = allowed;
    let digest = *digest;
    compiler.check(entry, bytes).await?;
    let functions = compiler.functions(entry, &digest);
    let image = preinitialise::image(compiler, entry, bytes, &functions).await?;
    let component = compiler.compiled(entry, image.as_deref().unwrap_or(bytes), &functions).await?;
    let linked = CheckedComponent::new(sandbox, entry, &component, own)?.link()?;
    if image.is_none() {
        configure::try_out(&linked).await?;
    }
    // The outcome is stored here, because the plugin has now accepted its configuration.
    if let Some(cache) = cache {
        if image.is_some() {
            // The image of another configuration will have the same functions.
            cache.put_functions(entry, &digest, &functions);
        }
        let code = image.as_deref().map_or(digest, Digest::of_bytes);
        cache.put_outcome(entry, &Outcome { code, is_image: image.is_some() });
    }
    Ok((linked, image.is_some()))
}

impl Compiler<'_> {
    /// Compiles an entry's component for [`Entry::from_compiled`].
    ///
    /// # Errors
    /// Fails if the file is not a component of the contract, or takes too long to compile.
    pub(crate) async fn ahead(&self, entry: &Entry) -> Result<CompiledComponent, LoadError> {
        let Allowed { bytes, digest, .. } = component_file::of(entry)?;
        // The imports are checked only when the component is loaded, because the host may have capabilities of the
        // embedding program.
        bounded(entry, &bytes)?;
        let component = self.compiled(entry, &bytes, &Arc::default()).await?;
        let code =
            component.serialize().map_err(|error| unfit(entry, ContractError::NotCompiled(format!("{error:#}"))))?;
        Ok(CompiledComponent::new(digest, &code))
    }

    /// Checks the size, structure, imports and exports of a component, before its code is compiled.
    async fn check(&self, entry: &Entry, bytes: &[u8]) -> Result<(), LoadError> {
        bounded(entry, bytes)?;
        self.check_outline(entry, bytes).await
    }

    /// Returns the functions that were compiled in earlier loads of the component with this digest.
    fn functions(&self, entry: &Entry, component: &Digest) -> Arc<CompiledFunctions> {
        self.cache.and_then(|cache| cache.functions(entry, component)).map(Arc::new).unwrap_or_default()
    }

    /// Compiles a component, or returns it from the cache. No code of the component runs.
    async fn compiled(
        &self,
        entry: &Entry,
        bytes: &[u8],
        functions: &Arc<CompiledFunctions>,
    ) -> Result<Component, LoadError> {
        let (engine, digest) = (self.sandbox.engine(), Digest::of_bytes(bytes));
        if let Some(component) = self.cache.and_then(|cache| cache.code(engine, entry, &digest)) {
            return Ok(component);
        }
        let compiled = compile_within(engine, &entry.name, bytes, functions, self.within).await;
        let component = compiled.map_err(|problem| unfit(entry, problem))?;
        if let Some(cache) = self.cache {
            cache.put_code(entry, &digest, &component);
        }
        Ok(component)
    }

    /// Checks the imports and exports of a component, before its code is compiled.
    async fn check_outline(&self, entry: &Entry, bytes: &[u8]) -> Result<(), LoadError> {
        let engine = self.sandbox.engine();
        let unfit = |problem| unfit(entry, problem);
        let outline = outline(bytes).map_err(unfit)?;
        let component =
            compile_within(engine, &entry.name, &outline, &Arc::default(), self.within).await.map_err(unfit)?;
        CheckedComponent::new(self.sandbox, entry, &component, self.own).map(|_| ())
    }
}

/// # Errors
/// Fails if the file is not a component, or is too large or too complex to be compiled.
fn bounded(entry: &Entry, bytes: &[u8]) -> Result<(), LoadError> {
    let bounded = kind_of_file(bytes).and_then(|()| compile_bounds::check(bytes));
    bounded.map_err(|problem| unfit(entry, problem))
}
