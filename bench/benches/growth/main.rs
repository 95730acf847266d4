//! Measures how the cost of an event grows with the number of plugins, the size of the payload, the number of sessions, and the number of
//! records in the log. It writes docs/growth.md, and a data file for each subject. `cargo run -p bench -- growth` runs this benchmark.
//!
//! The arguments are `growth DOCS [--quick] [--only plugins|payload|sessions|log] [--page]`. With `--quick`, the largest log has a million
//! records. `--page` measures nothing, and writes the page again from earlier data.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot continue stops")]

#[path = "../budgets/plugins.rs"]
#[expect(dead_code, reason = "the budgets need more of it")]
mod plugins;
#[path = "../subject/mod.rs"]
#[expect(dead_code, reason = "the budgets need more of it")]
mod subject;

mod data;
mod events;
mod log;
mod page;

use bench::line::Line;
use data::SubjectData;
use std::path::{Path, PathBuf};

/// The name of one subject, and its lines in the page.
type Lines = (&'static str, Vec<Line>);

/// The name of a group of subjects, and the function that measures them.
type Group = (&'static str, fn(quick: bool) -> Vec<Lines>);

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
        return eprintln!("usage: growth DOCS [--quick] [--only NAME] [--page]");
    };
    let only = arguments.iter().position(|argument| argument == "--only").map(|at| arguments[at + 1].as_str());
    let wanted = GROUPS.into_iter().filter(|(name, _)| !has("--page") && only.is_none_or(|only| only == *name));
    for (name, measure) in wanted {
        println!("measuring: {name}");
        let provenance = data::Provenance::now();
        for (subject, lines) in measure(has("--quick")) {
            write(&docs, subject, &SubjectData { provenance: provenance.clone(), lines });
        }
    }
    page::write(&docs);
}

/// Stores and prints the data of a subject.
fn write(docs: &Path, subject: &str, measured: &SubjectData) {
    let file = data::file(docs, subject);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, measured.text()).unwrap();
    print!("{subject}\n{}", measured.text());
}
