//! The README and the guides, held to the truth: what they show is run, parsed or compared.

mod acp;
mod agents;
mod cli;
mod contributing;
mod embedding;
mod glossary;
mod growth;
mod guide;
mod json;
mod pages;
mod public_items;
mod readme;
mod security;
mod tour;
mod using;
mod what_happens;
mod words;
mod writing_plugins;
