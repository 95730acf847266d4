//! What a plugin can ask of the host, one file a capability. Each speaks to the host where the target is wasm, and to
//! the thread's stand-in host ([`testing`](crate::testing)) natively.

pub mod effects;
pub mod event;
pub mod log;
pub mod model;
pub mod state;
pub mod transcript;
