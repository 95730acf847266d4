//! The README and the guides, held to the truth: what they show is run, parsed or compared.

mod embedding;
mod guide;
mod json;
mod readme;
mod security;
mod tour;
mod using;
#[path = "../wat_plugin/mod.rs"]
mod wat_plugin;
mod writing_plugins;
