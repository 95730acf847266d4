//! Tests of the whole agent. The providers talk to a server on the loopback interface, and the loop runs with the engine. The tests check
//! that each verdict on each event takes effect.

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
