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
mod limits;
mod loading;
mod plugins;
mod processes;
mod schemas;
mod sessions;
mod shell;

use hookhost::contract;
use hookhost_bench_table::table::Table;

/// Rows of the table.
type Part<'a> = &'a dyn Fn(&mut Table);

fn main() {
    // `--quick` shortens the row that takes minutes. `--schemas` and the other names measure those rows alone; `--schemas`
    // prints each schema, too.
    let is_given = |argument: &str| std::env::args().any(|given| given.strip_prefix("--") == Some(argument));
    let many = if is_given("quick") { 20_000 } else { 1_000_000 };
    let schemas_alone = is_given("schemas");
    let mut table = Table::begin();
    let parts: [(&str, Part<'_>); 7] = [
        // First, since the rows after it leave memory of their own behind.
        ("sessions", &|table| sessions::rows(table, many)),
        ("schemas", &|table| schemas::rows(table, schemas_alone)),
        ("events", &|table| events::rows(table)),
        ("shell", &|table| shell::rows(table)),
        ("loading", &|table| loading::rows(table)),
        ("processes", &|table| processes::rows(table)),
        ("hostile", &|table| hostile::rows(table)),
    ];
    let is_one_given = parts.iter().any(|(name, _)| is_given(name));
    for (name, part) in parts {
        if !is_one_given || is_given(name) {
            part(&mut table);
        }
    }
    table.end();
}
