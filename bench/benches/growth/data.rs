//! The data files below `docs/growth/`. A file begins with the date and the machine. Each further line is a point, whose fields are
//! separated by tabs.

use bench::line::{Line, Point};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const HEADER: &str = "line\tsize\tmedian-ns\tlow-ns\thigh-ns";

/// The date and the machine of a measurement, as shown to readers of the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Provenance {
    pub(crate) date: String,
    pub(crate) machine: String,
}

/// The measurements of one subject of the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SubjectData {
    pub(crate) provenance: Provenance,
    pub(crate) lines: Vec<Line>,
}

/// Returns the data file of a subject.
pub(crate) fn file(docs: &Path, subject: &str) -> PathBuf {
    docs.join("growth").join(subject).with_extension("tsv")
}

impl Provenance {
    pub(crate) fn now() -> Self {
        let date: String = jiff::Timestamp::now().to_string().chars().take(10).collect();
        let processors = std::thread::available_parallelism().unwrap();
        let memory = first_number("/proc/meminfo")
            .map_or(String::new(), |kib| format!(", {:.0} GiB of memory", kib / 1048576.0));
        let load = first_number("/proc/loadavg").map_or(String::new(), |load| match load {
            0.5.. => format!(", busy with other programs: its load was {load:.1} at the start"),
            _ => ", idle at the start".to_owned(),
        });
        let (architecture, system) = (std::env::consts::ARCH, std::env::consts::OS);
        let machine = format!("a machine of {processors} processors ({architecture}, {system}{memory}){load}");
        Self { date, machine }
    }
}

/// Returns the first number in a file through which the kernel reports data.
fn first_number(file: &str) -> Option<f64> {
    let text = std::fs::read_to_string(file).ok()?;
    text.split_whitespace().find_map(|word| word.parse().ok())
}

impl SubjectData {
    pub(crate) fn text(&self) -> String {
        let Provenance { date, machine } = &self.provenance;
        let mut text = format!("# {date}\n# {machine}\n{HEADER}\n");
        for line in &self.lines {
            for Point { size, median, low, high } in &line.points {
                let _ = writeln!(text, "{}\t{size:.0}\t{median:.0}\t{low:.0}\t{high:.0}", line.name);
            }
        }
        text
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut rows = text.lines();
        let mut comment = || rows.next().unwrap().strip_prefix("# ").unwrap().to_owned();
        let provenance = Provenance { date: comment(), machine: comment() };
        assert_eq!(rows.next(), Some(HEADER));
        let mut lines: Vec<Line> = Vec::new();
        for row in rows {
            let fields: Vec<&str> = row.split('\t').collect();
            let number = |at: usize| fields[at].parse().unwrap();
            let point = Point { size: number(1), median: number(2), low: number(3), high: number(4) };
            match lines.last_mut().filter(|line| line.name == fields[0]) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { name: fields[0].to_owned(), points: vec![point] }),
            }
        }
        Self { provenance, lines }
    }
}
