//! The capabilities of a plugin, one file for each. On wasm, each function calls the host. On other targets, it calls
//! the implementation that [`native`](crate::native) finds on the thread: the calling program, or the stand-in host of
//! a test.

pub mod effects;
pub mod event;
pub mod log;
pub mod model;
pub mod state;
pub mod transcript;
