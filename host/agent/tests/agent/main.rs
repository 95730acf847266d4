//! The agent as a whole: providers against a server on loopback, and the loop with the engine, each verdict of each event
//! taking effect.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod loopback;
mod support;

mod cancelling;
mod failing;
mod inference;
mod plugin_tools;
mod providers;
mod running;
mod served;
mod tasks;
mod text;
mod tools;
