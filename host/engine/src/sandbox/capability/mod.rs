//! What a guest can ask of the host: one file per capability of `wit/capabilities.wit`.
//!
//! The host traits come from the WIT by `bindgen!`, in a module of their own; everything else here is written by hand.
//! Every call of a capability is counted against `limits.capability-calls`.

mod effects;
mod event;
mod log;
mod model;
mod replayed;
mod state;
mod transcript;

pub use effects::{Finding, Reminder, Severity};
pub use log::{Level, LogLine, MAX_LOG_LINES};
pub use model::{Model, ModelRequest};
pub use transcript::{Message, Transcript};

pub(crate) use effects::Effects;
pub(crate) use event::EventFacts;
pub(crate) use log::Log;
pub(crate) use replayed::ReplayedInputs;
pub(crate) use transcript::NoTranscript;

use super::Linked;
use super::guest::Guest;
use crate::config::Grants;
use wasmtime::component::{HasSelf, Linker};

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

/// `types` has no functions, so there is nothing to link; its types are the contract's.
#[doc(hidden)]
#[expect(dead_code, unreachable_pub, reason = "the generated code names them, in bounds only")]
pub mod types {
    pub use crate::contract::*;

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

/// The capabilities of the contract that an entry must grant, and how.
pub(crate) const GRANTED: [(&str, &str); 3] = [
    ("state", r#"state = { quota = "1MiB" }"#),
    ("transcript", "transcript = true"),
    ("model", r#"model = { name = "small", max-calls = 10 }"#),
];

/// Whether `interface` is granted; `None` where no grant is needed, or there is no such capability.
pub(crate) fn granted(interface: &str, grants: &Grants) -> Option<bool> {
    match interface {
        "state" => Some(grants.state.is_some()),
        "transcript" => Some(grants.transcript),
        "model" => Some(grants.model.is_some()),
        _ => None,
    }
}

/// Links what every plugin has and what the grants give.
pub(super) fn link(linker: &mut Linker<Guest>, linked: Linked) -> wasmtime::Result<()> {
    fn itself(guest: &mut Guest) -> &mut Guest {
        guest
    }
    wit::event::add_to_linker::<_, HasSelf<Guest>>(linker, itself)?;
    wit::log::add_to_linker::<_, HasSelf<Guest>>(linker, itself)?;
    wit::effects::add_to_linker::<_, HasSelf<Guest>>(linker, itself)?;
    if linked.state {
        wit::state::add_to_linker::<_, HasSelf<Guest>>(linker, itself)?;
    }
    if linked.transcript {
        wit::transcript::add_to_linker::<_, HasSelf<Guest>>(linker, itself)?;
    }
    if linked.model {
        wit::model::add_to_linker::<_, HasSelf<Guest>>(linker, itself)?;
    }
    Ok(())
}
