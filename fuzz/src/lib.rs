//! Fuzz targets, as functions of bytes. For any bytes, none may panic, abort, or take long.
//!
//! The fuzzer calls them from `fuzz_targets/`. The tests of this crate call them with the files in `corpus/`, so that a fixed bug stays
//! fixed. `cargo xtask fuzz` runs the fuzzer; `docs/maintaining.md` explains it.

mod conditions;
mod configuration;
mod frames;
mod guest;
mod hostile;
mod lab;
mod loader;
mod log;
mod mcp;
mod messages;
mod payload;
mod provider;
mod rules;
mod schemas;
mod session;
mod shell;

pub use self::rules::rules;
pub use conditions::conditions;
pub use configuration::configuration;
pub use frames::frames;
pub use hostile::{hostile, hostile_is_refused};
pub use loader::{components, loader, loads};
pub use log::{log, logs};
pub use mcp::mcp;
pub use messages::messages;
pub use payload::payload;
pub use provider::provider;
pub use schemas::schemas;
pub use session::session;
pub use shell::shell;

/// A target with its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 15] = [
    ("loader", loader),
    ("components", components),
    ("hostile", hostile),
    ("configuration", configuration),
    ("payload", payload),
    ("provider", provider),
    ("log", log),
    ("schemas", schemas),
    ("session", session),
    ("shell", shell),
    ("messages", messages),
    ("frames", frames),
    ("mcp", mcp),
    ("conditions", conditions),
    ("rules", rules),
];
