//! The capabilities of a plugin, with one file for each capability. On wasm, each function calls the host. On other
//! targets, it calls the implementation that [`native`](crate::native) has set for the thread. This implementation is
//! the calling program or, in a test, the stand-in host.

pub mod effects;
pub mod event;
pub mod facts;
pub mod grants;
pub mod labels;
pub mod log;
pub mod model;
pub mod secrets;
pub mod state;
pub mod transcript;
