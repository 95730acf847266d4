//! What a plugin can ask of the host, one file a capability. Each speaks to the host where the target is wasm, and to
//! what [`native`](crate::native) finds on the thread natively: the program that calls it, or the stand-in host of a test.

pub mod effects;
pub mod event;
pub mod log;
pub mod model;
pub mod state;
pub mod transcript;
