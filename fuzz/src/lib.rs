//! Fuzz targets, as functions of bytes: whatever these are, none may panic, abort, or take long.
//!
//! The fuzzer calls them from `fuzz_targets/`; the tests of this crate call them with what is in `corpus/`, so that what
//! was found once stays fixed. `cargo xtask fuzz` runs the fuzzer; `docs/maintaining.md` tells how.

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
mod schemas;
mod session;
mod shell;

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

/// A target by its name.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 13] = [
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
];
