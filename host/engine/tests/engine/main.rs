//! The engine with real components: what a plugin answers, how it fails, what a session promises, what is not loaded.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod asks;
mod audit;
mod crash;
mod events;
mod failures;
mod loading;
mod replay;
mod sessions;
mod support;
