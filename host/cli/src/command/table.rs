//! The table of `hookhost on` and `hookhost off`: one row for each agent, with what happened.

use crate::exit::CliError;
use crate::output::{
    self, printable,
    style::{ADVICE, DIM, ERROR, GOOD, NAME, WARNING},
    wrap::{wrapped, wrapped_with_aside},
};
use std::fmt::Write as _;

/// Minimum width of the first column.
const MIN_WIDTH: usize = 11;

/// A row.
#[derive(Debug)]
pub(super) struct Row {
    label: String,
    mark: Mark,
    text: String,
    /// The next step, or the command that says more.
    next: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    None,
    Done,
    Incomplete,
    Failed,
}

impl Row {
    /// The row of something that is done.
    pub(super) fn done(label: &str, text: &str) -> Self {
        Self { label: label.to_owned(), mark: Mark::Done, text: text.to_owned(), next: None }
    }

    /// The row of something that a person must complete.
    pub(super) fn incomplete(label: &str, text: &str) -> Self {
        Self { mark: Mark::Incomplete, ..Self::done(label, text) }
    }

    /// The row of something that failed.
    pub(super) fn problem(label: &str, text: &str) -> Self {
        Self { mark: Mark::Failed, ..Self::done(label, text) }
    }

    /// The row of an agent that is left as it is.
    pub(super) fn failed(label: &str, error: &CliError) -> Self {
        Self::problem(label, &error.message())
    }

    /// A row that only tells.
    pub(super) fn note(label: &str, text: &str) -> Self {
        Self { mark: Mark::None, ..Self::done(label, text) }
    }

    /// Adds the next step.
    #[must_use]
    pub(super) fn next(self, next: impl Into<String>) -> Self {
        Self { next: Some(next.into()), ..self }
    }
}

/// The rows so far.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Text that precedes the rows, such as the changes of a dry run.
    before: String,
    rows: Vec<Row>,
}

impl Table {
    pub(super) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub(super) fn extend(&mut self, rows: impl IntoIterator<Item = Row>) {
        self.rows.extend(rows);
    }

    /// Adds text that precedes the rows.
    pub(super) fn show(&mut self, text: &str) {
        self.before.push_str(text);
    }

    pub(super) fn has_failure(&self) -> bool {
        self.rows.iter().any(|row| row.mark == Mark::Failed)
    }

    /// Returns true if a person need not do anything more.
    pub(super) fn is_complete(&self) -> bool {
        self.rows.iter().all(|row| matches!(row.mark, Mark::None | Mark::Done))
    }

    pub(super) fn print(&self) -> Result<(), CliError> {
        output::print(&self.text())
    }

    fn text(&self) -> String {
        let width = self.rows.iter().map(|row| row.label.len()).max().unwrap_or_default().max(MIN_WIDTH);
        let mut text = self.before.clone();
        for Row { label, mark, text: says, next } in &self.rows {
            let sign = match mark {
                Mark::None => String::new(),
                Mark::Done => format!("{GOOD}✓{GOOD:#} "),
                Mark::Incomplete => format!("{WARNING}!{WARNING:#} "),
                Mark::Failed => format!("{ERROR}✗{ERROR:#} "),
            };
            let says = format!("{sign}{}", printable(says));
            // The following lines of a message stand below its first line.
            let indent = width + 4;
            let lines = says.split('\n').map(|line| wrapped(line, indent));
            let lines = lines.collect::<Vec<_>>().join(&format!("\n{:indent$}", ""));
            let _ = write!(text, "  {NAME}{label:width$}{NAME:#}  ");
            let _ = match next.as_deref().map(printable) {
                None => writeln!(text, "{lines}"),
                Some(next) if matches!(mark, Mark::Incomplete | Mark::Failed) => {
                    let next = wrapped(&format!("{ADVICE}try:{ADVICE:#} {next}"), indent + 2);
                    writeln!(text, "{lines}\n{:1$}{next}", "", indent + 2)
                }
                Some(next) => {
                    writeln!(text, "{}", wrapped_with_aside(&says, &format!("{DIM}({next}){DIM:#}"), indent))
                }
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, Table};

    #[test]
    fn rows_stand_below_each_other_with_their_marks_and_next_steps() {
        let mut table = Table::default();
        table.push(Row::note("profile", "developer: 3 rules ask or reject").next("hookhost profile"));
        table.push(Row::done("claude-code", "denied a forbidden test call, and allowed an ordinary one"));
        table.push(Row::incomplete("gemini-cli", "installed, but too old").next("update it"));
        table.push(Row::problem("codex", "left as it is\nas it was").next("hookhost doctor codex"));
        assert!(table.has_failure());
        assert_eq!(
            anstream::adapter::strip_str(&table.text()).to_string(),
            "  profile      developer: 3 rules ask or reject     (hookhost profile)\n\
             \x20 claude-code  ✓ denied a forbidden test call, and allowed an ordinary one\n\
             \x20 gemini-cli   ! installed, but too old\n                 try: update it\n\
             \x20 codex        ✗ left as it is\n               as it was\n                 try: hookhost doctor codex\n"
        );
    }
}
