//! What the benchmarks of the crates share: two things timed in turns, this process's memory, the table of figures,
//! each beside its reference from the same run, and plots of what a cost grows with.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

pub mod measure;
pub mod memory;
pub mod plot;
pub mod table;
pub mod turns;
