//! What the benchmarks of the crates share: two things timed in turns, this process's memory, and the table of figures,
//! each beside its reference from the same run.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

pub mod measure;
pub mod memory;
pub mod table;
