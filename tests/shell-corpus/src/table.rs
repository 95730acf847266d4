//! The table: a line for each command, `block` or `allow`, a tab, and the command.

use anyhow::{Context as _, Result, bail};
use std::collections::HashSet;

/// What somebody says should happen to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A guard should refuse it or ask about it.
    Block,
    /// It should run.
    Allow,
}

/// One line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What should happen.
    pub label: Label,
    /// The command, as an agent would send it.
    pub command: String,
}

/// Reads a table. Empty lines and lines that begin with `#` are left out, and so is a command that was there before with the
/// same label. A command that is a JSON string is that string: `"a\nb"` has two lines.
///
/// # Errors
/// Names the line that has no label, has no command, or gives a known command the other label; or says that there is no command.
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
