//! `setup.configure`: a plugin takes its configuration before it is asked about anything.

use super::LoadError;
use super::link::LinkedComponent;
use crate::contract::{Failure, FailureKind};
use crate::sandbox::{CallLimits, Guest, GuestSetup};
use wasmtime::Store;
use wasmtime::component::Instance;

/// Calls `configure` in a temporary instance, so that a wrong configuration is reported now and not at the first event.
///
/// # Errors
/// If no instance can be made, or `configure` refuses or fails.
pub(super) async fn try_out(linked: &LinkedComponent) -> Result<(), LoadError> {
    configured(linked).await.map(|_| ())
}

/// An instance that has taken its configuration.
pub(super) async fn configured(linked: &LinkedComponent) -> Result<(Store<Guest>, Instance), LoadError> {
    let name = || linked.entry.name.clone();
    let failed = |failure| LoadError::Failed { name: name(), failure };
    let limits = CallLimits::of(&linked.entry);
    let sandbox = &linked.sandbox;
    let instance = sandbox.instantiate(&linked.pre, GuestSetup::to_configure(linked.name.clone()), limits).await;
    let (mut store, instance) = instance.map_err(failed)?;
    if let Some(configure) = &linked.surface.configure {
        let config = (linked.config.as_str(),);
        let called: Result<(Result<(), String>,), Failure> =
            sandbox.call_kept(&mut store, &instance, configure, config, limits).await;
        let (accepted,) = called.map_err(failed)?;
        accepted.map_err(|message| LoadError::Refused { name: name(), message })?;
        if linked.entry.grants.has_directories() && store.data().has_looked_for_directories() {
            // In its memory there is now that it has none, and it would not ask again.
            let detail = "looked for files before its first event, when there are none yet, and so would not find its \
                          directories in any: have it use files in events, not in `configure`";
            return Err(failed(Failure::new(FailureKind::NotInstantiated, detail)));
        }
    }
    Ok((store, instance))
}
