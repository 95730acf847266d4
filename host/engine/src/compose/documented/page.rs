//! Reads the rules and the examples of the page.

use std::fmt::Display;

/// A rule, which is a list item of the page.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) line: usize,
    pub(crate) heading: String,
    /// The mark of the list item, such as `5.` or `-`.
    pub(crate) mark: String,
    pub(crate) examples: usize,
}

/// A line of an example. A line that begins with white space has the label of the previous line.
pub(crate) struct Row<'a> {
    pub(crate) line: usize,
    pub(crate) label: &'a str,
    pub(crate) cells: Vec<&'a str>,
}

#[derive(Default)]
pub(crate) struct Page<'a> {
    pub(crate) rules: Vec<Rule>,
    pub(crate) examples: Vec<Vec<Row<'a>>>,
}

/// A flaw in an example, and the line of the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "docs/composition.md:{}: {}", self.line, self.what)
    }
}

pub(crate) fn read(text: &str) -> Page<'_> {
    let mut page = Page::default();
    let mut heading = String::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((line, text)) = lines.next() {
        let indentation = text.len() - text.trim_start().len();
        let mark = text.split(' ').next().unwrap_or_default();
        let numbered = mark.strip_suffix('.').is_some_and(|number| number.parse::<u32>().is_ok());
        if let Some(title) = text.strip_prefix('#') {
            heading = title.trim_matches(['#', ' ']).to_owned();
        } else if mark == "-" || numbered {
            page.rules.push(Rule { line, heading: heading.clone(), mark: mark.to_owned(), examples: 0 });
        } else if text.trim() == "```chain" {
            let mut rows: Vec<Row<'_>> = Vec::new();
            for (line, text) in lines.by_ref().take_while(|(_, text)| text.trim() != "```") {
                let text = text.get(indentation..).unwrap_or_default();
                let mut cells = text.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
                let label = match rows.last() {
                    Some(before) if text.starts_with(' ') => before.label,
                    _ => cells.next().unwrap_or_default(),
                };
                rows.push(Row { line, label, cells: cells.collect() });
            }
            page.examples.push(rows);
            // An example that is indented belongs to the list item above it.
            if let Some(rule) = page.rules.last_mut().filter(|rule| indentation > 0 && rule.heading == heading) {
                rule.examples += 1;
            }
        }
    }
    page
}

impl Row<'_> {
    pub(crate) fn wrong(&self, what: impl Display) -> Wrong {
        Wrong { line: self.line, what: what.to_string() }
    }

    pub(crate) fn text(&self) -> String {
        [&[self.label], &self.cells[..]].concat().join("  ")
    }

    /// Fails unless the outcome in the example (`expected`) is the outcome of the host (`actual`).
    pub(crate) fn is(&self, expected: &str, actual: &str) -> Result<(), Wrong> {
        if expected == actual {
            Ok(())
        } else {
            Err(self.wrong(format!("expected `{expected}`, but the host says `{actual}`")))
        }
    }

    /// Returns the three cells of a row about a plugin that is asked: its name, the value and its answer.
    pub(crate) fn asked(&self) -> Result<(&str, &str, &str), Wrong> {
        match self.cells[..] {
            [name, value, answer] => Ok((name, value, answer)),
            _ => Err(self.wrong("there should be a name, a value and an answer")),
        }
    }

    pub(crate) fn not_an_answer(&self, answer: &str) -> Wrong {
        self.wrong(format!("`{answer}` is not an answer"))
    }
}
