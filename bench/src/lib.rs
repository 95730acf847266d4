//! Code that the benchmarks share. It times two subjects alternately, measures the memory of this process, finds the built plugins, and
//! computes lines of growth. It also prints the table of results, in which each value is beside its reference from the same run.
//!
//! The benchmarks are in `benches/`. The program `bench` builds what they need and runs them: `cargo run -p bench -- --help`.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

pub mod line;
pub mod measure;
pub mod memory;
pub mod plugins;
pub mod rules;
pub mod table;
pub mod turns;
