//! Adding rules in words to the user's file, and removing one from it or from a file of rules. All other bytes of the file stay unchanged.

use std::path::{Path, PathBuf};

use super::edit::{OpenFile, appended};
use super::project_file::is_rule_file;
use super::{Config, ConfigError, Layer, Problems, Rule, UserDirectories, file};
use crate::files::Guard;

/// A change of the rules of a file that is not written yet. No other process changes the file before this value is dropped.
#[derive(Debug)]
pub struct RulesEdit {
    file: OpenFile,
    new: String,
}

impl RulesEdit {
    /// Adds rules at the end of the user's own file. `rows` has only `[[rule]]` tables.
    ///
    /// # Errors
    /// - [`ConfigError::Invalid`] if the file would have mistakes.
    /// - [`ConfigError::Io`] or [`ConfigError::Refused`] if the file cannot be read.
    pub fn add(rows: &str, places: &UserDirectories, sections: &[&str]) -> Result<Self, ConfigError> {
        let file = OpenFile::open(&places.user_file(), places, Guard::OnlyMineToWrite)?;
        let source = places.source(file.path.clone(), Layer::User);
        file::parse_rules(rows, &source).map_err(Problems::of)?;
        let (new, _) = appended(&file.old, &format!("{}\n", rows.trim()));
        Config::parse(&new, &source, sections)?;
        Ok(Self { file, new })
    }

    /// Removes a rule from the user's own file, or from a file of rules of the user, with the comment directly above it.
    ///
    /// # Errors
    /// - The errors of [`Self::add`].
    /// - [`ConfigError::Entry`] if the file has no such rule, or if the rule is not a table of its own.
    pub fn remove(id: &str, file: &Path, places: &UserDirectories, sections: &[&str]) -> Result<Self, ConfigError> {
        let file = OpenFile::open(file, places, Guard::OnlyMineToWrite)?;
        let refused = |why: &str| ConfigError::Entry { name: id.to_owned(), why: why.to_owned() };
        let source = places.source(file.path.clone(), Layer::User);
        let parse = |text: &str| {
            let parsed = match is_rule_file(&source.file) {
                true => file::parse_rule_file(text, &source),
                false => file::parse(text, &source, sections),
            };
            parsed.map(|parsed| parsed.rules).map_err(Problems::of)
        };
        let before = parse(&file.old)?;
        let rule = before.iter().find(|rule| rule.row.id == id).ok_or_else(|| refused("it is not there"))?;
        let new = without(&file.old, rule);
        let rows = |rules: &[Rule]| rules.iter().map(|rule| rule.row.clone()).collect::<Vec<_>>();
        let mut expected = rows(&before);
        expected.retain(|row| row.id != id);
        if parse(&new).map_or(true, |after| rows(&after) != expected) {
            return Err(refused(&format!("it is not a table of its own: take it out at {}", rule.origin)));
        }
        Ok(Self { file, new })
    }

    /// Returns the path of the file, its text, and its new text.
    #[must_use]
    pub fn texts(&self) -> (&PathBuf, &str, &str) {
        (&self.file.path, &self.file.old, &self.new)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// [`ConfigError::Io`] if the file cannot be written. It is then unchanged.
    pub fn write(self) -> Result<(), ConfigError> {
        self.file.replace(&self.new)
    }
}

/// Returns the text without the lines of a rule, the comment directly above it, and the empty line after it. A comment that
/// begins the file belongs to the file.
fn without(text: &str, rule: &Rule) -> String {
    let range = rule.range();
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
    let head = line_start(range.start);
    let mut start = head;
    while start > 0 {
        let above = line_start(start - 1);
        if !text[above..start].trim_start().starts_with('#') {
            break;
        }
        start = above;
    }
    if start == 0 {
        start = head;
    }
    let after = &text[range.end..];
    let rest = after.find('\n').map_or("", |end| &after[end + 1..]);
    let empty = rest.find('\n').filter(|end| rest[..*end].trim().is_empty());
    let rest = empty.map_or(rest, |end| &rest[end + 1..]);
    let before = &text[..start];
    // The empty line above the last rule of a file goes, too.
    if rest.is_empty() { format!("{}\n", before.trim_end()).trim_start().to_owned() } else { format!("{before}{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    fn row(id: &str) -> String {
        format!("[[rule]]\nid = '{id}' # {id}\non = 'shell'\nprogram = 'x'\nchange = {{ a = [\n  1, # [[rule]]\n] }}\n")
    }

    fn left(text: &str, id: &str) -> String {
        let config = Config::parse(text, &Source::new("/h.toml", Layer::User), &[]).unwrap();
        without(text, config.rules().iter().find(|rule| rule.row.id == id).unwrap())
    }

    #[test]
    fn a_removed_rule_takes_its_own_comment_and_leaves_all_others() {
        let (a, b, c) = (row("a"), row("b"), row("c"));
        let text = format!("# mine\n\n# about a\n{a}\n# about b\n{b}# about c\n{c}\n# the end\n");
        assert_eq!(left(&text, "a"), format!("# mine\n\n# about b\n{b}# about c\n{c}\n# the end\n"));
        assert_eq!(left(&text, "b"), format!("# mine\n\n# about a\n{a}\n# about c\n{c}\n# the end\n"));
        assert_eq!(left(&text, "c"), format!("# mine\n\n# about a\n{a}\n# about b\n{b}# the end\n"));
        assert_eq!(left(&format!("# mine\n{a}"), "a"), "# mine\n");
        assert_eq!(left(&format!("{a}\n{b}"), "b"), a);
        assert_eq!(left(&a, "a"), "");
    }
}
