//! The engine with real components: what a plugin answers, how it fails, what a session promises, what is not loaded.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod asks;
mod audit;
mod binary;
mod call_override;
mod callbacks;
mod careless;
mod compiled_ahead;
mod configure_in_each_instance;
mod crash;
mod enforcement;
mod engines;
mod events;
mod examples;
mod facts;
mod failing_beside_others;
mod failure_kinds;
mod failure_table;
mod failures;
mod files;
mod first_gate;
mod hostile;
mod journal;
mod labels;
mod layers;
mod loading;
mod meanwhile;
mod misuse;
mod native;
mod nothing_hidden;
mod overload;
mod own_capabilities;
mod pending;
mod reloading;
mod replay;
mod requests;
mod require_plugins;
mod sessions;
mod shared_sessions;
mod stillborn;
mod streaming;
mod support;
mod tools;
mod tree;
mod yes;
