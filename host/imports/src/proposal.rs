//! A row with comments, and its text in TOML.

use hookhost_contract::rule::RuleRow;
use serde_json::Value;
use std::fmt::Write as _;

/// A line of the written text is broken if it is longer than this, in characters.
const MAX_LINE: usize = 100;

/// A row for a person to read.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The row.
    pub row: RuleRow,
    /// The lines above the row, without `#`.
    pub comments: Vec<String>,
}

/// Returns the rows as `[[rule]]` tables, and the number of the line of each row's `[[rule]]`, from 1.
#[must_use]
pub fn to_toml<'a>(proposals: impl IntoIterator<Item = &'a Proposal>) -> (String, Vec<usize>) {
    let (mut text, mut lines) = (String::new(), Vec::new());
    for proposal in proposals {
        if !text.is_empty() {
            text.push('\n');
        }
        for comment in proposal.comments.iter().flat_map(|comment| comment.lines()) {
            let _ = writeln!(text, "# {}", visible(comment));
        }
        lines.push(text.matches('\n').count() + 1);
        text.push_str("[[rule]]\n");
        if let Ok(Value::Object(keys)) = serde_json::to_value(&proposal.row) {
            keys.iter().for_each(|(key, value)| write_key(&mut text, key, value));
        }
    }
    (text, lines)
}

/// Returns a line without characters that TOML does not allow in comments.
fn visible(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect()
}

fn write_key(text: &mut String, key: &str, value: &Value) {
    let is_example = matches!(key, "stops" | "passes");
    let value = match value {
        Value::Array(values) if values.len() == 1 && !is_example => &values[0],
        value => value,
    };
    let line = format!("{key} = {}", inline(value));
    match value {
        Value::Array(values) if line.chars().count() > MAX_LINE => {
            let _ = writeln!(text, "{key} = [");
            values.iter().for_each(|value| {
                let _ = writeln!(text, "    {},", inline(value));
            });
            text.push_str("]\n");
        }
        _ => {
            let _ = writeln!(text, "{line}");
        }
    }
}

/// Returns a value on one line. TOML has no null, and rows have none.
fn inline(value: &Value) -> String {
    toml::Value::try_from(value).map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Proposal, to_toml};
    use hookhost_contract::rule::RuleRow;

    #[test]
    fn a_row_is_written_with_its_comments_and_read_as_the_same_row() {
        let json = r#"{"id":"a","on":["read","write"],"path":[".env"],"reject":"no \"secrets\"",
            "stops":[".env",{"command":"cat .env"}],"passes":["a"]}"#;
        let row: RuleRow = serde_json::from_str(json).unwrap();
        let proposal = Proposal { row: row.clone(), comments: vec!["a\u{1b}b\nc".into()] };
        let (text, lines) = to_toml([&proposal, &proposal]);
        assert!(
            text.starts_with("# a b\n# c\n[[rule]]\nid = \"a\"\non = [\"read\", \"write\"]\npath = \".env\"\n"),
            "{text}"
        );
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| text.lines().nth(line - 1) == Some("[[rule]]")), "{lines:?} {text}");
        let tables: toml::Table = toml::from_str(&text).unwrap();
        let again: RuleRow = tables["rule"].as_array().unwrap()[1].clone().try_into().unwrap();
        assert_eq!(again, row);
    }
}
