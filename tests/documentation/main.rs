//! The README and the guides, held to the truth: what they show is run, parsed or compared.

mod embedding;
mod guide;
mod readme;
mod using;
mod writing_plugins;
