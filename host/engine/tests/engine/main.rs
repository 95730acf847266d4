//! The engine with real components: what a plugin answers, how it fails, what a session promises, what is not loaded.

mod events;
mod failures;
mod loading;
mod sessions;
mod support;
