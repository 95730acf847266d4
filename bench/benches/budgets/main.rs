//! Measures every budget of the product, in one run and one table: the measured value, its reference from the same run, the ratio, and the
//! budget. `cargo run -p bench -- budgets --only engine` runs this benchmark. Do not rely on figures that were measured on a busy machine.
//!
//! Batches of a subject alternate with batches of its reference, so that a disturbance of the machine affects both. The table contains the
//! median of the subject, the median of the reference, and the median of the ratios of neighbouring batches.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

#[path = "../subject/bare.rs"]
mod bare;
#[path = "../subject/concurrent_sessions.rs"]
mod concurrent_sessions;
#[path = "../subject/mod.rs"]
mod subject;
/// The types with which the engine passes the contract's values to wasmtime. They are private in the engine, so the file is included here
/// for the bare call.
#[expect(dead_code, reason = "one event of all is called")]
#[path = "../../../host/engine/src/wire/mod.rs"]
mod wire;

mod events;
#[path = "../home.rs"]
#[expect(dead_code, reason = "the hook and the proxy need more of it")]
mod home;
mod hostile;
mod limits;
mod loading;
mod plugins;
mod processes;
mod rules;
mod schemas;
mod sessions;
mod shell;
mod telemetry;

use bench::table::Table;
use hookhost::contract;

/// A part of the table.
type Part<'a> = &'a dyn Fn(&mut Table);

fn main() {
    // `--quick` shortens the row that takes minutes. The name of a part, such as `--schemas`, measures only the rows of this part.
    // `--schemas` also prints each schema.
    let is_given = |argument: &str| std::env::args().any(|given| given.strip_prefix("--") == Some(argument));
    let many = if is_given("quick") { 20_000 } else { 1_000_000 };
    let schemas_alone = is_given("schemas");
    let mut table = Table::begin();
    let parts: [(&str, Part<'_>); 9] = [
        // This part comes first, because later parts allocate memory that is not returned to the system.
        ("sessions", &|table| sessions::rows(table, many)),
        ("schemas", &|table| schemas::rows(table, schemas_alone)),
        ("events", &|table| events::rows(table)),
        ("shell", &|table| shell::rows(table)),
        ("rules", &|table| rules::rows(table)),
        ("loading", &|table| loading::rows(table)),
        ("processes", &|table| processes::rows(table)),
        ("hostile", &|table| hostile::rows(table)),
        ("telemetry", &|table| telemetry::rows(table)),
    ];
    let is_one_given = parts.iter().any(|(name, _)| is_given(name));
    for (name, part) in parts {
        if !is_one_given || is_given(name) {
            part(&mut table);
        }
    }
    table.end();
}
