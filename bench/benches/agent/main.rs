//! Measures the time and the memory that the agent's loop needs in addition to its model and its tools. The table contains the measured
//! value, its reference from the same run, and the ratio. There are no budgets for these values. `cargo run -p bench -- budgets --only
//! agent` runs this benchmark. Do not rely on values that were measured on a busy machine.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

mod calls;
mod idle;
mod subject;
mod turns;

use bench::table::Table;

fn main() {
    // `--quick` shortens the parts that take minutes.
    let quick = std::env::args().any(|argument| argument == "--quick");
    let mut table = Table::begin();
    turns::rows(&mut table, if quick { 100 } else { 1_000 });
    calls::rows(&mut table, if quick { 20 } else { 200 });
    idle::rows(&mut table, if quick { 100 } else { 1_000 });
}
