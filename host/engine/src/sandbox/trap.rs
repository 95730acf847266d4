//! Converts errors of wasmtime to the kinds of failures of a plugin.

use super::guest::DeniedResource;
use crate::config::Limits;
use crate::contract::{Failure, FailureKind};
use wasmtime::Trap;
use wasmtime::component::ResourceTableError;

/// The error of a call that exceeded a limit of the host. When the call returns, [`classify`] recognises the
/// error by its type.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Limit(pub(crate) Failure);

/// Classifies an error of wasmtime from a call. `denied` is the resource that the guest was denied before.
pub(super) fn classify(error: &wasmtime::Error, denied: Option<DeniedResource>, limits: &Limits) -> Failure {
    if let Some(limit) = error.downcast_ref::<Limit>() {
        return limit.0.clone();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            Failure::new(FailureKind::OutOfFuel, format!("used up its fuel of {} (limits.fuel)", limits.fuel))
        }
        Some(trap) => {
            refused(denied, limits).unwrap_or_else(|| Failure::new(FailureKind::Trap, format!("trapped: {trap}")))
        }
        None if is_out_of_handles(error) => Failure::new(
            FailureKind::OutOfMemory,
            format!("held more than {} handles at once (limits.handles)", limits.handles),
        ),
        None if says(error, "fuel allocated for hostcalls has been exhausted") => {
            let detail = format!("handed the host more than {} bytes at once (limits.output)", limits.output);
            Failure::new(FailureKind::AnswerTooLarge, detail)
        }
        None if error.is::<wasmtime_wasi::I32Exit>() => Failure::new(FailureKind::Trap, "exited instead of answering"),
        None => Failure::invalid(format!("gave the host something invalid: {}", error.root_cause())),
    }
}

/// Classifies an error of wasmtime from the creation of an instance.
pub(super) fn not_instantiated(error: &wasmtime::Error, denied: Option<DeniedResource>, limits: &Limits) -> Failure {
    if error.is::<Limit>() || error.is::<Trap>() || is_out_of_handles(error) {
        return classify(error, denied, limits);
    }
    if let Some(refused) = refused(denied, limits) {
        return refused;
    }
    let made_of = |count, of, key| {
        Failure::new(FailureKind::NotInstantiated, format!("has more {of} than the allowed {count} (limits.{key})"))
    };
    match () {
        () if says(error, "instance count too high") => made_of(limits.instances, "core instances", "instances"),
        () if says(error, "table count too high") => made_of(limits.tables, "tables", "tables"),
        () => Failure::new(FailureKind::NotInstantiated, format!("could not be instantiated: {}", error.root_cause())),
    }
}

/// Returns the failure of a guest that asked for more memory or larger tables than it may have.
fn refused(denied: Option<DeniedResource>, limits: &Limits) -> Option<Failure> {
    let detail = match denied? {
        DeniedResource::Memory => format!("asked for more than its {} bytes of memory (limits.memory)", limits.memory),
        DeniedResource::Tables => {
            format!("asked for more than its {} elements of tables (limits.table-elements)", limits.table_elements)
        }
    };
    Some(Failure::new(FailureKind::OutOfMemory, detail))
}

/// Returns true if the host's table of handles or wasmtime's table of the guest's handles is full.
fn is_out_of_handles(error: &wasmtime::Error) -> bool {
    matches!(error.downcast_ref(), Some(ResourceTableError::Full)) || says(error, "store handle limit exceeded")
}

/// Returns true if the message of the error contains `text`. Some error types of wasmtime are private, so only the
/// message identifies them; a test checks each message.
fn says(error: &wasmtime::Error, text: &str) -> bool {
    error.root_cause().to_string().contains(text)
}
