//! The agent as a whole: providers against a server on loopback, and the loop with the engine, each verdict of each event
//! taking effect.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod loopback;
mod support;

mod cancelling;
mod dialogue;
mod events_order;
mod events_table;
mod examples;
mod failing;
mod inference;
mod limits;
mod plans;
mod plugin_tools;
mod programs;
mod providers;
mod running;
mod served;
mod sessions;
mod streaming;
mod subagents;
mod tasks;
mod text;
mod thinking;
mod tools;
