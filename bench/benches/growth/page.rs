//! Writes the page docs/growth.md from the data files.

use crate::data::{self, Provenance, SubjectData};
use bench::line::{Line, Point, Unit, number_text, slope_text};
use std::fmt::Write as _;
use std::path::Path;

/// A subject of the page, and its description.
struct Subject {
    /// The name of the subject's data file.
    name: &'static str,
    title: &'static str,
    /// The unit of the subject's sizes.
    sizes: Unit,
    /// The method of measurement.
    how: &'static str,
}

const SUBJECTS: [Subject; 6] = [
    Subject {
        name: "plugins",
        title: "Plugins of an event",
        sizes: Unit::Count,
        how: "The event is `before-tool-call` for a shell command of 50 bytes. Each plugin is the same component under another name, \
              gets a new instance and allows the call.",
    },
    Subject {
        name: "payload",
        title: "Bytes of a payload",
        sizes: Unit::Bytes,
        how: "The event is `before-tool-call` for a call of `write_file` with content of this size. The host copies the content into \
              the guest. The log keeps values up to `largest-value`, which is 256 KiB by default. Of a larger value it keeps only the \
              size and the digest.",
    },
    Subject {
        name: "sessions",
        title: "Open sessions",
        sizes: Unit::Count,
        how: "The host handles one event of each session, one session after the other. So an event finds the processor's caches filled \
              by the events of all other sessions.",
    },
    Subject {
        name: "append",
        title: "Records in the log: adding one",
        sizes: Unit::Count,
        how: "The first line is one event that one plugin judges and the host records. The second line is a host without plugins that \
              opens the log and ends. Neither time contains the creation of the engine.",
    },
    Subject {
        name: "show",
        title: "Records in the log: showing the last ten",
        sizes: Unit::Count,
        how: "The command prints the last ten records. The time contains the start of the command.",
    },
    Subject {
        name: "verify",
        title: "Records in the log: verifying all",
        sizes: Unit::Count,
        how: "The command reads the whole log and checks each record's hash. The time contains the start of the command.",
    },
];

const BEGIN: &str = "\
# How costs grow

This page shows how the cost of an event, and of the log, grows with a size, such as the number of plugins. The *slope* is the exponent in
this growth: at slope 0 the cost stays the same; at slope 1, ten times the size costs ten times as much; above 1, the cost grows faster
than the size. It is the slope of a straight line through the measured points, with the logarithms of size and cost as coordinates.

Each table has two slopes: one for all sizes, and one for the largest sizes, from a tenth of the maximum to the maximum. Times are medians.
The data file below each table also has the 5th and the 95th percentile. `cargo run -p bench -- growth` measures everything again, and
writes this page. Most of the measuring time is needed for the log of ten million records, which also needs several gigabytes of disk
space. Slopes that were measured on a busy machine are unreliable.
";

/// Writes the page, if there are data for every subject.
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
         | line | slope, all sizes | slope, largest sizes | from | to | the cost |\n|---|---|---|---|---|---|\n",
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
        let _ = write!(text, "\nThe largest log is verified at {rate} records per second.\n");
    }
    let _ = write!(
        text,
        "\n{}\n",
        wrapped(&format!("Measured on {date}, on {machine}. Data: [`{name}.tsv`](growth/{name}.tsv)."))
    );
    text
}

/// Describes how the cost grows at the largest sizes, in the words of the page.
fn meaning(line: &Line) -> &'static str {
    match line.last_slope() {
        ..-0.1 => "falls",
        -0.1..0.1 => "stays the same",
        0.1..0.9 => "grows more slowly than the size",
        0.9..1.1 => "grows in proportion to the size",
        _ => "grows faster than the size",
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
