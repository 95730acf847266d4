//! The rules of `docs/composition.md` for gates, each by name over random events, and all at once against a [`model`].

mod consent;
mod consequences;
mod events;
mod model;
mod rules;
mod situations;
