//! Code that the benchmarks share: timing of two subjects in turns, the memory of this process, the built plugins,
//! lines of growth, and the table of figures, each beside its reference from the same run.
//!
//! The benchmarks are in `benches/`. The program `bench` builds what they need and runs them: `cargo run -p bench -- --help`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

pub mod line;
pub mod measure;
pub mod memory;
pub mod plugins;
pub mod table;
pub mod turns;
