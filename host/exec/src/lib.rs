//! Runs a program where the kernel keeps guarded files, keys and processes out of its reach.
//!
//! A [`MountPlan`] says which paths are guarded. [`run`] starts three processes of a helper, which is the calling program
//! itself with another command line ([`helper_exit`]), so that nothing here needs `unsafe`:
//!
//! 1. This process, the supervisor, stays outside. It has the terminal, and passes signals and the exit code on.
//! 2. The keeper has a mount namespace of its own, in which it mounts what the plan says, and repairs it.
//! 3. The first process inside sees no process of outside. It seals the mounts in a second user namespace, filters
//!    system calls, and starts the program.
//!
//! Where the system has no namespaces for the user, Landlock enforces less, and a [`Notice`] says so. Where it has
//! neither, the program is not started. [`probe`] finds out which it is.
//!
//! What a mount cannot guard, because it does not exist yet or the agent writes it itself, is watched from outside
//! ([`WatchList`]).
//!
//! A program whose network is limited has a network namespace of its own. This process serves it as a proxy, which
//! connects to the hosts of a list.
//!
//! A [`policy::Policy`] says which paths these are. The agents' own sandboxes get the same policy ([`export`]), and so
//! does macOS ([`seatbelt`]).
//!
//! Data flows down this list of modules: `plan`, [`policy`], [`export`] and [`seatbelt`], `error` and `settings`,
//! `machine`, `failure` and `channel`, `ruleset` and `filter`, `session`, `namespace` and `confined`, `terminal`,
//! `notices`, `watch` and `watch_process`, `network`, `services`, `supervise`, `ability`; and `place` for the resident host.

#![deny(missing_docs)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test that cannot continue fails"))]

mod error;
pub mod export;
mod plan;
pub mod policy;
pub mod seatbelt;
mod settings;

#[cfg(target_os = "linux")]
mod ability;
#[cfg(target_os = "linux")]
mod channel;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod failure;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod notices;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod ruleset;
#[cfg(target_os = "linux")]
mod services;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod watch_process;

#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod supervise;

pub use error::{ExecError, Notice};
pub use plan::{Guard, MountPlan, PlanError, Treatment};
pub use settings::{Settings, WatchList};
pub use supervise::run;
#[cfg(target_os = "linux")]
pub use {
    ability::{Ability, probe},
    place::{PeerPlace, peer_place},
};

use std::ffi::OsString;
use std::process::ExitCode;

/// Serves as the helper if the command line says so, and returns the exit code then. Call it first in `main`, while the
/// process has one thread, in each program that calls [`run`] with itself as the helper.
pub fn helper_exit() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != settings::HELPER_WORD {
        return None;
    }
    // The mode, `--` and the command.
    let mode = arguments.next().unwrap_or_default();
    #[cfg(target_os = "linux")]
    let command: Vec<OsString> = arguments.skip(1).collect();
    Some(match mode.to_str() {
        #[cfg(target_os = "linux")]
        Some("keep") => namespace::keeper::run(&command).into(),
        #[cfg(target_os = "linux")]
        Some("init") => namespace::init::run(&command).into(),
        #[cfg(target_os = "linux")]
        Some("confine") => confined::run(&command).into(),
        #[cfg(target_os = "linux")]
        Some("watch") => watch::run().into(),
        #[cfg(target_os = "linux")]
        Some("launch") => session::launch(&command).into(),
        Some("probe") => ExitCode::SUCCESS,
        _ => {
            eprintln!(
                "exec-helper is a part of `hookhost exec`, and is not called by itself: run hookhost exec --help"
            );
            ExitCode::from(2)
        }
    })
}
