//! From bytes to compiled code: read, bounded, compiled on threads of their own, pre-initialised, and kept.

pub(crate) mod cache;
pub(crate) mod compile_bounds;
mod compiling;
pub(crate) mod inspect;
mod outline;
mod preinitialise;

pub(crate) use cache::Cache;

use super::contract_check::kind_of_file;
use super::link::{Checked, Linked, unfit};
use super::{Compiler, ContractError, LoadError, configure};
use crate::config::{Code, CompiledComponent, Digest, Entry};
use cache::Outcome;
use compiling::compile_within;
use outline::outline;
use std::borrow::Cow;
use wasmtime::component::Component;

/// The component of an entry, linked, and whether it is an image that `configure` has left.
pub(super) async fn linked(
    compiler: &Compiler<'_>,
    entry: &Entry,
    bytes: &[u8],
    digest: Digest,
) -> Result<(Linked, bool), LoadError> {
    let Compiler { sandbox, cache, own, .. } = *compiler;
    let kept = cache.and_then(|cache| {
        let outcome = cache.outcome(sandbox.engine(), entry)?;
        Some((cache.code(sandbox.engine(), entry, &outcome.code)?, outcome.is_image))
    });
    let linked = |component: &_| Checked::new(sandbox, entry, component, own)?.link();
    if let Some((component, is_image)) = kept {
        return Ok((linked(&component)?, is_image));
    }
    compiler.check(entry, bytes).await?;
    let image = preinitialise::image(compiler, entry, bytes).await?;
    let component = compiler.compiled(entry, image.as_deref().unwrap_or(bytes)).await?;
    let linked = linked(&component)?;
    if image.is_none() {
        configure::try_out(&linked).await?;
    }
    // The outcome is kept only for a plugin that has taken its configuration.
    if let Some(cache) = cache {
        let code = image.as_deref().map_or(digest, Digest::of_bytes);
        cache.put_outcome(sandbox.engine(), entry, &Outcome { code, is_image: image.is_some() });
    }
    Ok((linked, image.is_some()))
}

impl Compiler<'_> {
    /// Compiles an entry's component for [`Entry::from_compiled`].
    ///
    /// # Errors
    /// If it is no component of the contract, or takes too long.
    pub(crate) async fn ahead(&self, entry: &Entry) -> Result<CompiledComponent, LoadError> {
        let (bytes, digest) = read(entry)?;
        // Its imports are checked when it is loaded: the host may bring capabilities of its own.
        bounded(entry, &bytes)?;
        let component = self.compiled(entry, &bytes).await?;
        let code = component.serialize().map_err(|error| unfit(entry, ContractError::Invalid(format!("{error:#}"))))?;
        Ok(CompiledComponent::new(digest, &code))
    }

    /// Rejects a component by its size and shape, and by its imports and exports, before its code is compiled.
    async fn check(&self, entry: &Entry, bytes: &[u8]) -> Result<(), LoadError> {
        bounded(entry, bytes)?;
        self.check_outline(entry, bytes).await
    }

    /// Compiles a component, unless that is done already. Nothing of it runs.
    async fn compiled(&self, entry: &Entry, bytes: &[u8]) -> Result<Component, LoadError> {
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

/// # Errors
/// If it is no component, or is too large or too complex to be compiled.
fn bounded(entry: &Entry, bytes: &[u8]) -> Result<(), LoadError> {
    let bounded = kind_of_file(bytes).and_then(|()| compile_bounds::check(bytes));
    bounded.map_err(|problem| unfit(entry, problem))
}

/// The component of an entry, with its digest.
pub(super) fn read(entry: &Entry) -> Result<(Cow<'_, [u8]>, Digest), LoadError> {
    let (path, allowed) = match &entry.code {
        Code::File { path, digest } => (path, digest),
        Code::Bytes(held) => {
            let (bytes, digest) = (held.bytes(), held.digest());
            return compile_bounds::check_size(bytes)
                .map(|()| (bytes.into(), digest))
                .map_err(|problem| unfit(entry, problem));
        }
        Code::Compiled(_) | Code::Native(_) => return Err(unfit(entry, ContractError::NotWasm)),
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
