//! Writes the page docs/growth.md and its plots, from the data files beside them.

use crate::data::{self, Measured, Taken};
use hookhost_bench_table::plot::{Axis, Line, Plot, Unit, said, written};
use std::fmt::Write as _;
use std::path::Path;

/// A plot and its description.
struct Subject {
    /// The name of its files.
    name: &'static str,
    title: &'static str,
    x: Axis,
    y: &'static str,
    /// The method of measurement.
    how: &'static str,
}

const fn count(label: &'static str) -> Axis {
    Axis { label, unit: Unit::Count }
}

const SUBJECTS: [Subject; 6] = [
    Subject {
        name: "plugins",
        title: "Plugins that are asked",
        x: count("plugins that are asked about the event"),
        y: "one event",
        how: "`before-tool-call`, about a shell command of 50 bytes. Each plugin is the same component under a name of its own, \
              gets a pristine instance, and allows the call.",
    },
    Subject {
        name: "payload",
        title: "Bytes of a payload",
        x: Axis { label: "bytes of the call's content", unit: Unit::Bytes },
        y: "one event, one plugin",
        how: "`before-tool-call`, about a `write_file` with so much content. The content is copied into the guest. The log keeps \
              values up to `largest-value`, which is 256 KiB by default, and of a larger one its size and its digest.",
    },
    Subject {
        name: "sessions",
        title: "Open sessions",
        x: count("open sessions of one host"),
        y: "one event, one plugin",
        how: "An event of each session in turn, so that each event finds what the events of all other sessions left in the \
              processor's caches.",
    },
    Subject {
        name: "append",
        title: "Records in the log: one more",
        x: count("records in the log"),
        y: "one recorded event, and opening",
        how: "One recorded event of a plugin, and, apart from it, a host without plugins that opens the log and ends. The engine \
              is there before.",
    },
    Subject {
        name: "show",
        title: "Records in the log: the last ten",
        x: count("records in the log"),
        y: "the whole process",
        how: "The command prints the last ten records. Its start is part of the time.",
    },
    Subject {
        name: "verify",
        title: "Records in the log: verify all",
        x: count("records in the log"),
        y: "the whole process",
        how: "The command reads the whole log and checks each record's hash. Its start is part of the time.",
    },
];

const BEGIN: &str = "\
# How costs grow

What an event and the log cost as things become many. Both axes of each plot are logarithmic: what grows as a power of the size is a
straight line, and its slope is the exponent. At 0 the cost stays the same; at 1 ten times as many cost ten times as much; above 1
each one more costs more than the one before.

Two slopes are stated: that of all sizes, and that of the largest ones, from a tenth of the largest on. Points are medians; a bar is
where 90 % of the measurements are. The file below each plot has the figures. `cargo xtask growth` measures again and writes this
page; most of its time and several gigabytes are the log of ten million records. Slopes of a busy machine say little.
";

/// Writes the plots and the page if each plot has its data.
pub(crate) fn write(docs: &Path) {
    if let Some(missing) = SUBJECTS.iter().find(|subject| !data::file(docs, subject.name).exists()) {
        return println!("the page has to wait: `{}` is not measured yet", missing.name);
    }
    let mut page = BEGIN.to_owned();
    for subject in &SUBJECTS {
        let file = data::file(docs, subject.name);
        let measured = Measured::parse(&std::fs::read_to_string(&file).unwrap());
        let y = Axis { label: subject.y, unit: Unit::Time };
        let plot = Plot { title: subject.title, x: subject.x, y, lines: &measured.lines };
        std::fs::write(file.with_extension("svg"), plot.svg()).unwrap();
        page += &section(subject, &measured);
    }
    std::fs::write(docs.join("growth.md"), page).unwrap();
}

fn section(subject: &Subject, measured: &Measured) -> String {
    let Subject { name, title, how, x, .. } = subject;
    let Taken { date, machine } = &measured.taken;
    let mut text = format!(
        "\n## {title}\n\n{}\n\n![{title}](growth/{name}.svg)\n\n\
         | line | slope, all sizes | slope, largest sizes | from | to | it |\n|---|---|---|---|---|---|\n",
        wrapped(how)
    );
    for line in &measured.lines {
        let [first, last] = [line.points.first(), line.points.last()].map(Option::unwrap);
        let at = |point: &hookhost_bench_table::plot::Point| {
            format!("{} at {}", said(point.y, Unit::Time), said(point.x, x.unit))
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            line.name,
            written(line.slope()),
            written(line.last_slope()),
            at(first),
            at(last),
            meaning(line)
        );
    }
    if *name == "verify" {
        let last = measured.lines[0].points.last().unwrap();
        let rate = said(last.x / (last.y / 1e9), Unit::Count);
        let _ = write!(text, "\nAt the largest log these are {rate} records a second.\n");
    }
    let _ = write!(
        text,
        "\n{}\n",
        wrapped(&format!("Measured on {date}, on {machine}. Figures: [`{name}.tsv`](growth/{name}.tsv)."))
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
