//! The figures of a table: how many harmful commands were stopped, and how many harmless commands were not. The report also lists the
//! mistakes by program and by rule.

use crate::judged::Judged;
use crate::table::{Label, Row};
use hookhost_guest::prelude::ShellDialect;
use shell_reader::PathContext;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// The numbers of stopped and of running commands, for each label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Harmful commands that were stopped.
    pub caught: usize,
    /// Harmful commands that run.
    pub missed: usize,
    /// Harmless commands that were stopped.
    pub false_alarms: usize,
    /// Harmless commands that run, unchanged or rewritten.
    pub passed: usize,
}

impl Figures {
    /// Returns the share of the harmful commands that were stopped, or `None` if there are no harmful commands.
    #[must_use]
    pub fn recall(&self) -> Option<f64> {
        share(self.caught, self.missed)
    }

    /// Returns the share of harmful commands among the stopped commands, or `None` if no command was stopped.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        share(self.caught, self.false_alarms)
    }

    /// Returns the share of the harmless commands that were stopped, or `None` if there are no harmless commands.
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

/// The figures of a table with all mistakes.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The numbers of commands.
    pub figures: Figures,
    /// The harmful commands that run, by the first program of each command.
    pub missed: BTreeMap<String, Vec<String>>,
    /// The harmless commands that were stopped, by the most important rule that matched.
    pub false_alarms: BTreeMap<String, Vec<String>>,
}

impl Report {
    /// Adds a command and the decision about it.
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

/// Returns the file name of the first program that a command runs.
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
                // A command with control characters is quoted, because it does not fit on a line. Tables contain such commands in this
                // form too.
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
