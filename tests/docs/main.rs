//! The README and the guides, held to the truth: what they show is run, parsed or compared.

mod acp;
mod agents;
mod cli;
mod contract;
mod embedding;
mod glossary;
mod growth;
mod guide;
mod json;
mod maintaining;
mod pages;
mod plugin_settings;
mod public_items;
mod readme;
mod rules;
mod security;
mod tour;
mod using;
mod what_happens;
mod workflows;
mod writing_plugins;
