//! Shared by the benchmarks of all crates: timing of two subjects in turns, this process's memory, the table of figures (each
//! beside its reference from the same run), and plots of a cost against a size.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

pub mod measure;
pub mod memory;
pub mod plot;
pub mod table;
pub mod turns;
