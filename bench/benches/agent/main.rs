//! What the agent's loop adds to its model and its tools, in one table: what was measured, its reference from the same run,
//! and the ratio. `cargo xtask bench` runs it; figures of a busy machine are worth little. There are no budgets for these.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

mod calls;
mod idle;
mod subject;
mod turns;

use hookhost_bench_table::table::Table;

fn main() {
    // `--quick` shortens what takes minutes.
    let quick = std::env::args().any(|argument| argument == "--quick");
    let mut table = Table::begin();
    turns::rows(&mut table, if quick { 100 } else { 1_000 });
    calls::rows(&mut table, if quick { 20 } else { 200 });
    idle::rows(&mut table, if quick { 100 } else { 1_000 });
}
