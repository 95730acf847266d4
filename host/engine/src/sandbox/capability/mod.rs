//! The capabilities that the host offers to a guest: one file per capability of `wit/capabilities.wit`.
//!
//! The host traits come from the WIT by `bindgen!`, in a module of their own; everything else here is written by hand.
//! Those of the contract and those of an embedding program are loaded and linked by one trait, [`Interface`].
//! Every call of a capability is counted against `limits.capability-calls`.

mod effects;
mod embedder;
mod embedder_json;
mod event;
mod log;
mod model;
mod replayed;
mod state;
mod transcript;

pub use effects::{Finding, Reminder, Severity};
pub use embedder::{Capability, CapabilityAnswer, CapabilityCall, CapabilityReply};
pub use log::{Level, LogLine};
pub use model::{Model, ModelRequest};
pub use transcript::{Message, Transcript};

pub(crate) use effects::Effects;
pub(crate) use embedder::{Own, OwnCall, OwnCapabilities};
pub(crate) use event::EventFacts;
pub(crate) use log::Log;
pub(crate) use replayed::ReplayedInputs;
pub(crate) use transcript::NoTranscript;

use super::guest::Guest;
use crate::config::Grants;
use wasmtime::component::Linker;

pub(crate) mod generated {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "capabilities",
        imports: {
            "hookhost:hooks/model.complete": async | trappable,
            default: trappable,
        },
        with: { "hookhost:hooks/types": crate::sandbox::capability::types },
    });
}

/// `types` has no functions, so there is nothing to link; of its types the capabilities use the one for JSON.
#[doc(hidden)]
#[cfg_attr(
    all(
        feature = "compile",
        feature = "config-file",
        feature = "http",
        feature = "json-schema",
        feature = "native",
        feature = "replay",
        feature = "store"
    ),
    expect(dead_code, reason = "the generated code names them, in bounds only")
)]
#[expect(unreachable_pub, reason = "the generated code names them, in bounds only")]
pub mod types {
    /// Given to the plugin, or taken from it and not checked yet.
    pub type Json = String;

    pub trait HostWithStore<T> {}
    impl<T, D: ?Sized> HostWithStore<T> for D {}
    pub trait Host {}
    impl<D: ?Sized> Host for D {}

    #[expect(
        clippy::unnecessary_wraps,
        clippy::extra_unused_type_parameters,
        reason = "the generated code's signature"
    )]
    pub fn add_to_linker<T, D>(_: &mut wasmtime::component::Linker<T>, _: impl Sized) -> wasmtime::Result<()> {
        Ok(())
    }
}

use generated::hookhost::hooks as wit;

/// A capability as loading and linking see it. Ours have a file each; [`Own`] is one of the embedding program.
pub(crate) trait Interface: Sync {
    /// Its name: of ours, that of the interface.
    fn name(&self) -> &str;

    /// The line that grants it; `None` for a capability of every plugin.
    fn line(&self) -> Option<String>;

    /// Returns true if these grants contain it.
    fn is_granted(&self, grants: &Grants) -> bool;

    /// Adds its functions to a linker.
    ///
    /// # Errors
    /// If the linker has them already.
    fn link(&self, linker: &mut Linker<Guest>) -> wasmtime::Result<()>;
}

/// The capabilities of the contract.
const OURS: [&dyn Interface; 6] = [
    &event::Facts,
    &log::Lines,
    &effects::EffectsCapability,
    &state::Values,
    &transcript::Conversation,
    &model::SideCalls,
];

/// The capability of the contract that has this name.
pub(crate) fn of_contract(name: &str) -> Option<&'static dyn Interface> {
    OURS.into_iter().find(|ours| ours.name() == name)
}

/// The contract's capabilities in a set of grants. Plugins with the same capabilities share a linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkedCapabilities([bool; OURS.len()]);

impl LinkedCapabilities {
    pub(super) fn by(grants: &Grants) -> Self {
        Self(OURS.map(|ours| ours.is_granted(grants)))
    }
}

/// Links the capabilities of the contract that are given.
pub(super) fn link(linker: &mut Linker<Guest>, LinkedCapabilities(given): LinkedCapabilities) -> wasmtime::Result<()> {
    OURS.into_iter().zip(given).filter(|(_, is_given)| *is_given).try_for_each(|(ours, _)| ours.link(linker))
}

/// Implements [`Interface`] for a capability of the contract, by the functions that wasmtime generates from the WIT.
macro_rules! of_the_contract {
    ($type:ident = $interface:ident, $name:literal, $line:expr, $granted:expr) => {
        impl $crate::sandbox::capability::Interface for $type {
            fn name(&self) -> &str {
                $name
            }

            fn line(&self) -> Option<String> {
                let line: Option<&str> = $line;
                line.map(str::to_owned)
            }

            fn is_granted(&self, grants: &$crate::config::Grants) -> bool {
                let granted: fn(&$crate::config::Grants) -> bool = $granted;
                granted(grants)
            }

            fn link(&self, linker: &mut wasmtime::component::Linker<Guest>) -> wasmtime::Result<()> {
                fn itself(guest: &mut Guest) -> &mut Guest {
                    guest
                }
                wit::$interface::add_to_linker::<_, wasmtime::component::HasSelf<Guest>>(linker, itself)
            }
        }
    };
}

use of_the_contract;
