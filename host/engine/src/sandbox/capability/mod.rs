//! The capabilities that the host offers to a guest: one file per capability of `wit/`.
//!
//! `bindgen!` generates the host traits from the WIT, in the module `generated`. Everything else here is written by
//! hand. Capabilities of the contract and of an embedding program are loaded and linked through one trait,
//! [`Interface`]. Every call of a capability counts against `limits.capability-calls`.

mod effects;
mod embedder;
mod embedder_json;
mod event;
mod facts;
mod grants;
mod labels;
mod log;
mod model;
mod replayed;
mod secrets;
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
pub(crate) use grants::GRANTS;
pub(crate) use log::Log;
pub(crate) use replayed::ReplayedInputs;
pub(crate) use transcript::NoTranscript;

use super::guest::Guest;
use crate::config::Grants;
use crate::contract::VERSION;
use wasmtime::component::Linker;

pub(crate) mod generated {
    wasmtime::component::bindgen!({
        path: "wit/0.1",
        world: "capabilities",
        imports: {
            "hookhost:hooks/model.complete": async | trappable,
            default: trappable,
        },
        with: { "hookhost:hooks/types": crate::sandbox::capability::types },
    });
}

/// The interfaces of version 0.2 of the contract.
pub(crate) mod generated_0_2 {
    wasmtime::component::bindgen!({
        path: "wit/0.2",
        world: "capabilities",
        imports: { default: trappable },
    });
}

/// The interface `types` of the contract. It has no functions, so there is nothing to link. The capabilities use only
/// its type for JSON.
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
    /// JSON for the plugin, or JSON from the plugin that is not checked yet.
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
use generated_0_2::hookhost::hooks as wit_0_2;

/// A capability that a plugin can import. Each capability of the contract implements this trait in a separate file;
/// [`Own`] is a capability of the embedding program.
pub(crate) trait Interface: Sync {
    /// Returns the name. For a capability of the contract, this is the name of its interface.
    fn name(&self) -> &str;

    /// Returns the version of the contract to which the capability belongs.
    fn version(&self) -> &'static str {
        VERSION
    }

    /// Returns the line that grants the capability, or `None` if every plugin has the capability.
    fn line(&self) -> Option<String>;

    /// Returns true if these grants contain the capability.
    fn is_granted(&self, grants: &Grants) -> bool;

    /// Returns true if a component that can find out its grants is loaded without the grant. The functions of the
    /// capability then check the grant themselves.
    fn can_be_optional(&self) -> bool {
        self.version() == VERSION_0_2
    }

    /// Adds the functions of the capability to a linker.
    ///
    /// # Errors
    /// Fails if the linker already has the functions.
    fn link(&self, linker: &mut Linker<Guest>) -> wasmtime::Result<()>;
}

/// The capabilities of the contract.
const OURS: [&dyn Interface; 10] = [
    &event::Facts,
    &log::Lines,
    &effects::EffectsCapability,
    &state::Values,
    &transcript::Conversation,
    &model::SideCalls,
    &facts::WorldFacts,
    &labels::SessionLabels,
    &grants::KnownGrants,
    &secrets::ProjectSecrets,
];

/// The versions of the contract that this host speaks.
pub(crate) const VERSIONS: [&str; 2] = [VERSION, VERSION_0_2];

/// The version of the contract that adds `facts`, `labels`, `grants` and `secrets`.
const VERSION_0_2: &str = "0.2.0";

/// Returns the capability of the contract with this name.
pub(crate) fn of_contract(name: &str) -> Option<&'static dyn Interface> {
    OURS.into_iter().find(|ours| ours.name() == name)
}

/// The capabilities of the contract that a plugin with a set of grants may import. Plugins with the same capabilities share a linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkedCapabilities([bool; OURS.len()]);

impl LinkedCapabilities {
    pub(super) fn by(grants: &Grants) -> Self {
        Self(OURS.map(|ours| ours.can_be_optional() || ours.is_granted(grants)))
    }
}

/// Links the granted capabilities of the contract.
pub(super) fn link(linker: &mut Linker<Guest>, LinkedCapabilities(given): LinkedCapabilities) -> wasmtime::Result<()> {
    OURS.into_iter().zip(given).filter(|(_, is_given)| *is_given).try_for_each(|(ours, _)| ours.link(linker))
}

/// Implements [`Interface`] for a capability of the contract, with the functions that wasmtime generates from the WIT.
macro_rules! of_the_contract {
    ($type:ident = $interface:ident, $name:expr, $line:expr, $granted:expr) => {
        $crate::sandbox::capability::of_the_contract!(
            $type = wit::$interface,
            $crate::contract::VERSION,
            $name,
            $line,
            $granted
        );
    };
    ($type:ident = $package:ident::$interface:ident, $version:expr, $name:expr, $line:expr, $granted:expr) => {
        impl $crate::sandbox::capability::Interface for $type {
            fn name(&self) -> &str {
                $name
            }

            fn version(&self) -> &'static str {
                $version
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
                $package::$interface::add_to_linker::<_, wasmtime::component::HasSelf<Guest>>(linker, itself)
            }
        }
    };
}

use of_the_contract;
