//! All adapters against their fixtures: what each message means, and each outcome's reply, byte for byte.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod actions;
mod bad_input;
mod goldens;
mod model;
mod own_plugins;
mod plans;
mod rejections;
