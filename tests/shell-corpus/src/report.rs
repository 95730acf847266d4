//! The figures of a table: how many of the commands that should be stopped are, how many of the others are not, and which rules and
//! programs the mistakes are about.

use crate::judged::Judged;
use crate::table::{Label, Row};
use hookhost_guest::prelude::ShellDialect;
use shell_reader::PathContext;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// How many commands of each label were stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Harmful and stopped.
    pub caught: usize,
    /// Harmful, and it runs.
    pub missed: usize,
    /// Harmless and stopped.
    pub false_alarms: usize,
    /// Harmless, and it runs, perhaps changed.
    pub passed: usize,
}

impl Figures {
    /// The share of the harmful commands that are stopped; nothing where there are none.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.caught, self.missed)
    }

    /// The share of harmful commands among those that are stopped; nothing where none is stopped.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.caught, self.false_alarms)
    }

    /// The share of the harmless commands that are stopped; nothing where there are none.
    #[must_use]
    pub fn false_alarm_rate(&self) -> Option<f64> {
        share(self.false_alarms, self.passed)
    }

    fn count(&mut self, label: Label, is_stopped: bool) {
        *match (label, is_stopped) {
            (Label::Block, true) => &mut self.caught,
            (Label::Block, false) => &mut self.missed,
            (Label::Allow, true) => &mut self.false_alarms,
            (Label::Allow, false) => &mut self.passed,
        } += 1;
    }
}

fn share(of: usize, rest: usize) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a table has far less than 2^52 lines")]
    (of + rest > 0).then(|| of as f64 / (of + rest) as f64)
}

impl Display for Figures {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { caught, missed, false_alarms, passed } = self;
        let percent =
            |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.2} %", share * 100.0));
        write!(
            out,
            "harmful {}: {caught} stopped, {missed} missed; harmless {}: {false_alarms} stopped, {passed} passed; recall {}, \
             precision {}, false alarms {}",
            caught + missed,
            false_alarms + passed,
            percent(self.recall()),
            percent(self.precision()),
            percent(self.false_alarm_rate()),
        )
    }
}

/// The figures, and each mistake.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The counts.
    pub figures: Figures,
    /// Harmful commands that run, by their first program.
    pub missed: BTreeMap<String, Vec<String>>,
    /// Harmless commands that are stopped, by the first rule that had something to say.
    pub false_alarms: BTreeMap<String, Vec<String>>,
}

impl Report {
    /// Adds a command and what was decided about it.
    pub fn add(&mut self, row: &Row, judged: &Judged) {
        let is_stopped = judged.decision.is_stopped();
        self.figures.count(row.label, is_stopped);
        let (list, key) = match (row.label, is_stopped) {
            (Label::Block, false) => (&mut self.missed, program(&row.command)),
            (Label::Allow, true) => (&mut self.false_alarms, judged.rules.first().cloned().unwrap_or_default()),
            _ => return,
        };
        list.entry(key).or_default().push(row.command.clone());
    }
}

/// The file name of the first program that a command runs.
fn program(command: &str) -> String {
    let cwd = "/work/project";
    let script = shell_reader::read(command, ShellDialect::Posix, cwd, &PathContext::new(cwd));
    script.commands.first().map_or_else(|| "(none)".into(), |command| command.program.clone())
}

impl Display for Report {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (title, list) in [("missed, by program", &self.missed), ("stopped wrongly, by rule", &self.false_alarms)] {
            if list.is_empty() {
                continue;
            }
            writeln!(out, "\n{title}")?;
            let mut entries: Vec<_> = list.iter().collect();
            entries.sort_by_key(|(key, commands)| (std::cmp::Reverse(commands.len()), key.as_str()));
            for (key, commands) in entries {
                writeln!(out, "  {key}: {}", commands.len())?;
                // As JSON where a line would not show it, which is also how a table has it.
                for command in commands {
                    let shown =
                        if command.contains(char::is_control) { format!("{command:?}") } else { command.clone() };
                    writeln!(out, "    {shown}")?;
                }
            }
        }
        writeln!(out, "\n{}", self.figures)
    }
}

#[cfg(test)]
mod tests {
    use super::{Figures, Report};
    use crate::judged::{Decision, Judged};
    use crate::table::read;

    #[test]
    fn a_mistake_is_listed_by_its_program_or_its_rule() {
        let table = "block\tfrob --all\nblock\trm -rf /\nallow\tls\nallow\tgit status\nallow\tgit diff";
        let mut report = Report::default();
        for (row, decision) in read(table).unwrap().iter().zip([
            Decision::Allow,
            Decision::Deny,
            Decision::Ask,
            Decision::Rewrite("git status -s".into()),
            Decision::Allow,
        ]) {
            report.add(row, &Judged { decision, rules: vec!["a.rule".into(), "b.rule".into()] });
        }
        assert_eq!(report.figures, Figures { caught: 1, missed: 1, false_alarms: 1, passed: 2 });
        assert_eq!(report.missed["frob"], ["frob --all"]);
        assert_eq!(report.false_alarms["a.rule"], ["ls"]);
        let text = report.to_string();
        assert!(text.ends_with("recall 50.00 %, precision 50.00 %, false alarms 33.33 %\n"), "{text}");
    }

    #[test]
    fn a_share_of_nothing_is_not_a_number() {
        let figures = Figures { passed: 3, ..Figures::default() };
        assert_eq!((figures.recall(), figures.precision(), figures.false_alarm_rate()), (None, None, Some(0.0)));
    }
}
