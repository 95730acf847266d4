//! Every budget of the product, in one run and one table: what was measured, its reference from the same run, and the
//! ratio, beside what it may be. `cargo xtask bench` runs it; figures of a busy machine are worth little.
//!
//! A subject and its reference take turns, batch by batch, so that what disturbs the machine disturbs both. Printed are the
//! median of a subject, the median of its reference, and the median of the ratios of neighbouring batches.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

#[path = "../subject/at_once.rs"]
mod at_once;
#[path = "../subject/mod.rs"]
mod subject;
/// The engine's own mirrors of the contract's types, which are private: the bare call passes the same.
#[expect(dead_code, reason = "one event of all is called")]
#[path = "../../src/wire/mod.rs"]
mod wire;

mod events;
mod hostile;
mod loading;
mod plugins;
mod processes;
mod schemas;
mod sessions;
mod shell;

use hookhost::contract;
use hookhost_bench_table::table::Table;

fn main() {
    // `--quick` shortens the row that takes minutes; `--schemas` measures those of schemas alone, and
    // prints each schema; `--loading` measures those of loading alone.
    let is_given = |argument: &str| std::env::args().any(|given| given == argument);
    let mut table = Table::begin();
    if is_given("--loading") {
        loading::rows(&mut table);
        return table.end();
    }
    let schemas_alone = is_given("--schemas");
    schemas::rows(&mut table, schemas_alone);
    if schemas_alone {
        return table.end();
    }
    events::rows(&mut table);
    shell::rows(&mut table);
    loading::rows(&mut table);
    processes::rows(&mut table);
    hostile::rows(&mut table);
    sessions::rows(&mut table, if is_given("--quick") { 20_000 } else { 1_000_000 });
    table.end();
}
