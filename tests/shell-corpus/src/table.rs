//! Reads a table of commands. Each line contains `block` or `allow`, a tab, and the command.

use anyhow::{Context as _, Result, bail};
use std::collections::HashSet;

/// The right decision about a command, according to the author of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A guard should refuse the command or ask about it.
    Block,
    /// The command should run.
    Allow,
}

/// One line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The right decision.
    pub label: Label,
    /// The command, as an agent would send it.
    pub command: String,
}

/// Reads a table. Empty lines, lines that begin with `#`, and repeated commands with the same label are left out. A command may be
/// written as a JSON string, so `"a\nb"` is a command of two lines.
///
/// # Errors
/// If a line has no label or no command, or if it gives the other label to a command of an earlier line. The error contains the number
/// of the line. An error is also returned if the table has no commands.
pub fn read(text: &str) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut blocked, mut allowed) = (HashSet::new(), HashSet::new());
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let row = row(line).with_context(|| format!("line {number}"))?;
        let (same, other) = match row.label {
            Label::Block => (&mut blocked, &allowed),
            Label::Allow => (&mut allowed, &blocked),
        };
        if other.contains(&row.command) {
            bail!("line {number}: `{}` has the other label on an earlier line", row.command);
        }
        if same.insert(row.command.clone()) {
            rows.push(row);
        }
    }
    if rows.is_empty() {
        bail!("it has no command: a line is `block` or `allow`, a tab, and a command");
    }
    Ok(rows)
}

fn row(line: &str) -> Result<Row> {
    let Some((label, command)) = line.split_once('\t') else {
        bail!("it has no tab: a line is `block` or `allow`, a tab, and a command");
    };
    let label = match label {
        "block" => Label::Block,
        "allow" => Label::Allow,
        other => bail!("`{other}` is not a label: it is `block` or `allow`"),
    };
    if command.trim().is_empty() {
        bail!("its command is empty");
    }
    let command = serde_json::from_str::<String>(command).unwrap_or_else(|_| command.to_owned());
    Ok(Row { label, command })
}

#[cfg(test)]
mod tests {
    use super::{Label, Row, read};

    #[test]
    fn a_line_is_a_label_a_tab_and_a_command() {
        let rows = read("# a comment\n\nblock\trm -rf /\nallow\techo 'a\\tb'\nblock\trm -rf /\n").unwrap();
        let row = |label, command: &str| Row { label, command: command.into() };
        assert_eq!(rows, [row(Label::Block, "rm -rf /"), row(Label::Allow, "echo 'a\\tb'")]);
    }

    #[test]
    fn a_json_string_is_a_command_of_several_lines() {
        assert_eq!(read("block\t\"cat <<E\\nx\\nE\"").unwrap()[0].command, "cat <<E\nx\nE");
        assert_eq!(read("block\t\"rm\" -rf /").unwrap()[0].command, "\"rm\" -rf /", "this is no JSON");
    }

    #[test]
    fn a_bad_line_is_named_with_what_it_lacks() {
        for (text, expected) in [
            ("allow\tls\nrm -rf /", "line 2: it has no tab"),
            ("deny\trm -rf /", "line 1: `deny` is not a label"),
            ("block\t ", "line 1: its command is empty"),
            ("allow\tls\nblock\tls", "line 2: `ls` has the other label"),
            ("# nothing", "it has no command"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
