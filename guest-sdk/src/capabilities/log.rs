//! Writes lines to the operator's log. Every plugin has this capability. Lines beyond the limit are dropped, and the
//! host records their number.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_1::log as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::log as host;

pub use crate::generated::v0_1::log::Level;

/// Writes one line.
pub fn write(level: Level, message: impl AsRef<str>) {
    host::write(level, message.as_ref());
}

/// Writes one line of level `debug`.
pub fn debug(message: impl AsRef<str>) {
    write(Level::Debug, message);
}

/// Writes one line of level `info`.
pub fn info(message: impl AsRef<str>) {
    write(Level::Info, message);
}

/// Writes one line of level `warn`.
pub fn warn(message: impl AsRef<str>) {
    write(Level::Warn, message);
}

/// Writes one line of level `error`.
pub fn error(message: impl AsRef<str>) {
    write(Level::Error, message);
}
