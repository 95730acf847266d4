//! Measures the cost of an event as things grow: plugins, its payload, sessions, and the records in the log. `cargo xtask growth` runs
//! it. It writes docs/growth.md with a plot for each.
//!
//! `growth DOCS [--quick] [--only plugins|payload|sessions|log] [--draw]`: `--quick` ends with a log of a million records, and
//! `--draw` draws plots and page again from earlier data.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

#[path = "../budgets/plugins.rs"]
#[expect(dead_code, reason = "the budgets need more of it")]
mod plugins;
#[path = "../subject/mod.rs"]
#[expect(dead_code, reason = "nothing is compared with bare wasmtime here")]
mod subject;
/// The engine's private mirrors of the contract's types, which the subject uses.
#[expect(dead_code, reason = "one event of all is called")]
#[path = "../../src/wire/mod.rs"]
mod wire;

mod data;
mod events;
mod log;
mod page;

use data::Measured;
use hookhost::contract;
use hookhost_bench_table::plot::Line;
use std::path::{Path, PathBuf};

/// The name and the lines of one plot.
type Plotted = (&'static str, Vec<Line>);

/// The name of a growing thing, and its measurement.
type Group = (&'static str, fn(quick: bool) -> Vec<Plotted>);

const GROUPS: [Group; 4] = [
    ("plugins", |_| vec![("plugins", events::of_plugins())]),
    ("payload", |_| vec![("payload", events::of_payloads())]),
    ("sessions", |_| vec![("sessions", events::of_sessions())]),
    ("log", |quick| log::lines(if quick { 1_000_000 } else { 10_000_000 })),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let Some(docs) = arguments.first().map(PathBuf::from).filter(|docs| docs.is_dir()) else {
        return eprintln!("usage: growth DOCS [--quick] [--only NAME] [--draw]");
    };
    let only = arguments.iter().position(|argument| argument == "--only").map(|at| arguments[at + 1].as_str());
    let wanted = GROUPS.into_iter().filter(|(name, _)| !has("--draw") && only.is_none_or(|only| only == *name));
    for (name, measure) in wanted {
        println!("measuring: {name}");
        let taken = data::Taken::now();
        for (plot, lines) in measure(has("--quick")) {
            write(&docs, plot, &Measured { taken: taken.clone(), lines });
        }
    }
    page::write(&docs);
}

/// Stores and prints the data of a plot.
fn write(docs: &Path, plot: &str, measured: &Measured) {
    let file = data::file(docs, plot);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, measured.text()).unwrap();
    print!("{plot}\n{}", measured.text());
}
