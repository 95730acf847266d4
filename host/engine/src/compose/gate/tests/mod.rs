//! Tests the rules of `docs/composition.md` for gates with random events. Each rule has a test with its name, and all
//! rules together are compared with a [`model`].

mod consent;
mod consequences;
mod events;
mod model;
mod rules;
mod situations;
