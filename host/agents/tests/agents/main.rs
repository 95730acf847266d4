//! Tests all adapters with their fixtures. The tests check the event of each message and the exact reply for each
//! outcome.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod actions;
mod bad_input;
mod broken_messages;
mod canaries;
mod data;
mod goldens;
mod guarded;
mod judge;
mod model;
mod own_plugins;
mod plans;
mod refusals;
mod rejections;
mod strictness;
