//! Writes the page docs/growth.md from the data files.

use crate::data::{self, Provenance, SubjectData};
use bench::line::{Line, Point, Unit, number_text, slope_text};
use std::fmt::Write as _;
use std::path::Path;

/// A subject of the page, and its description.
struct Subject {
    /// The name of its data file.
    name: &'static str,
    title: &'static str,
    /// The unit of its sizes.
    sizes: Unit,
    /// The method of measurement.
    how: &'static str,
}

const SUBJECTS: [Subject; 6] = [
    Subject {
        name: "plugins",
        title: "Plugins that are asked",
        sizes: Unit::Count,
        how: "`before-tool-call`, about a shell command of 50 bytes. Each plugin is the same component under a name of its own, \
              gets a pristine instance, and allows the call.",
    },
    Subject {
        name: "payload",
        title: "Bytes of a payload",
        sizes: Unit::Bytes,
        how: "`before-tool-call`, about a `write_file` with so much content. The content is copied into the guest. The log keeps \
              values up to `largest-value`, which is 256 KiB by default, and of a larger one its size and its digest.",
    },
    Subject {
        name: "sessions",
        title: "Open sessions",
        sizes: Unit::Count,
        how: "An event of each session in turn, so that each event finds what the events of all other sessions left in the \
              processor's caches.",
    },
    Subject {
        name: "append",
        title: "Records in the log: one more",
        sizes: Unit::Count,
        how: "One recorded event of a plugin, and, apart from it, a host without plugins that opens the log and ends. The engine \
              is there before.",
    },
    Subject {
        name: "show",
        title: "Records in the log: the last ten",
        sizes: Unit::Count,
        how: "The command prints the last ten records. Its start is part of the time.",
    },
    Subject {
        name: "verify",
        title: "Records in the log: verify all",
        sizes: Unit::Count,
        how: "The command reads the whole log and checks each record's hash. Its start is part of the time.",
    },
];

const BEGIN: &str = "\
# How costs grow

This page shows the cost of an event and of the log as things become many. Cost and size are compared by their logarithms: if the cost
is a power of the size, its slope is the exponent. At 0 the cost stays the same. At 1, ten times as many cost ten times as much.
Above 1, each one more costs more than the one before.

Each table has two slopes: that of all sizes, and that of the largest ones, from a tenth of the largest on. Times are medians. The data
file below each table has them with the 5th and the 95th percentile. `cargo run -p bench -- growth` measures again and writes this page;
most of its time and several gigabytes are the log of ten million records. Slopes of a busy machine say little.
";

/// Writes the page if each subject has its data.
pub(crate) fn write(docs: &Path) {
    if let Some(missing) = SUBJECTS.iter().find(|subject| !data::file(docs, subject.name).exists()) {
        return println!("the page has to wait: `{}` is not measured yet", missing.name);
    }
    let mut page = BEGIN.to_owned();
    for subject in &SUBJECTS {
        let file = data::file(docs, subject.name);
        page += &section(subject, &SubjectData::parse(&std::fs::read_to_string(file).unwrap()));
    }
    std::fs::write(docs.join("growth.md"), page).unwrap();
}

fn section(subject: &Subject, measured: &SubjectData) -> String {
    let Subject { name, title, how, sizes } = subject;
    let Provenance { date, machine } = &measured.provenance;
    let mut text = format!(
        "\n## {title}\n\n{}\n\n\
         | line | slope, all sizes | slope, largest sizes | from | to | it |\n|---|---|---|---|---|---|\n",
        wrapped(how)
    );
    for line in &measured.lines {
        let [first, last] = [line.points.first(), line.points.last()].map(Option::unwrap);
        let at = |point: &Point| {
            format!("{} at {}", number_text(point.median, Unit::Nanoseconds), number_text(point.size, *sizes))
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            line.name,
            slope_text(line.slope()),
            slope_text(line.last_slope()),
            at(first),
            at(last),
            meaning(line)
        );
    }
    if *name == "verify" {
        let last = measured.lines[0].points.last().unwrap();
        let rate = number_text(last.size / (last.median / 1e9), Unit::Count);
        let _ = write!(text, "\nAt the largest log these are {rate} records a second.\n");
    }
    let _ = write!(
        text,
        "\n{}\n",
        wrapped(&format!("Measured on {date}, on {machine}. Data: [`{name}.tsv`](growth/{name}.tsv)."))
    );
    text
}

/// Describes the slope of the largest sizes.
fn meaning(line: &Line) -> &'static str {
    match line.last_slope() {
        ..-0.1 => "gets less",
        -0.1..0.1 => "stays the same",
        0.1..0.9 => "grows more slowly than its size",
        0.9..1.1 => "grows as its size does",
        _ => "grows faster than its size",
    }
}

/// Wraps a text into lines of at most 120 bytes.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().unwrap();
        if line.len() + word.len() >= 120 {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.join("\n")
}
