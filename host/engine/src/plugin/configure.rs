//! Calls `setup.configure`, which gives a plugin its configuration before its first event.

use super::LoadError;
use super::link::LinkedComponent;
use crate::contract::{Failure, FailureKind};
use crate::sandbox::{CallLimits, Guest, GuestSetup};
use wasmtime::Store;
use wasmtime::component::Instance;

/// Creates a temporary instance and passes it the configuration. So an error is found when the plugin is loaded and not
/// at its first event.
///
/// # Errors
/// Fails if the instance cannot be created, or if `configure` rejects the configuration or fails.
pub(super) async fn try_out(linked: &LinkedComponent) -> Result<(), LoadError> {
    configured(linked).await.map(|_| ())
}

/// Creates an instance that has accepted its configuration.
pub(super) async fn configured(linked: &LinkedComponent) -> Result<(Store<Guest>, Instance), LoadError> {
    let name = || linked.entry.name.clone();
    let failed = |failure| LoadError::Failed { name: name(), failure };
    let limits = CallLimits::to_configure(&linked.entry);
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
            // The plugin has stored in its memory that there are no directories. It would not ask again at its first
            // event.
            let detail = "looked for files before its first event, when no directory is available yet, and would not look \
                          again later: let it use files in events, not in `configure`";
            return Err(failed(Failure::new(FailureKind::NotInstantiated, detail)));
        }
    }
    Ok((store, instance))
}
