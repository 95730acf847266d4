//! Splits texts into SQL statements, without comments and the content of strings.

use super::pattern::Pattern;
use super::words::Pairs;
use shell_reader::Ascii as _;
use shell_reader::Command;

/// The SQL statements in a command's words and input. Text that is not SQL is harmless, because no rule matches the statement that it
/// becomes.
#[derive(Debug)]
pub(crate) struct Statements {
    /// All statements, one after the other.
    text: String,
    /// The end of each statement.
    ends: Vec<usize>,
    /// The pairs of bytes in all statements. With these pairs, most patterns can be ruled out fast. This matters because a database dump
    /// has thousands of statements.
    pairs: Pairs,
}

impl Statements {
    pub(super) fn of(command: &Command) -> Self {
        let words = command.args.iter().map(|word| value(&word.text));
        let input = command.input.iter().map(|word| word.text.as_str());
        // A single name is not a statement. A word with one of these characters may be a statement, or a command of the client, such as
        // `.shell` or `\!`.
        let texts = words.chain(input).filter(|text| text.has_one_of(b" \n\t.\\/("));
        let mut splitting = StatementSplitter::default();
        texts.for_each(|text| splitting.add(text));
        let StatementSplitter { text, ends } = splitting;
        Self { pairs: Pairs::of(&text), text, ends }
    }

    /// Returns true if a statement matches the first pattern and not the second.
    pub(super) fn have(&self, pattern: &Pattern, unlike: Option<&Pattern>) -> bool {
        pattern.may_match(&self.text, &self.pairs)
            && self.iter().any(|one| pattern.is_match(one) && unlike.is_none_or(|unlike| !unlike.is_match(one)))
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.text[begin..*end])
    }
}

/// Returns the value of an option in the option's own word.
fn value(word: &str) -> &str {
    match word.strip_prefix("--") {
        Some(long) => long.halves(b'=').map_or(word, |(_, value)| value),
        None if word.starts_with('-') => word.get(2..).unwrap_or_default(),
        None => word,
    }
}

/// The statements that were split so far. The content of strings is removed, but their quotation marks are kept.
#[derive(Default)]
struct StatementSplitter {
    text: String,
    ends: Vec<usize>,
}

impl StatementSplitter {
    /// Adds the statements of a text.
    fn add(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let plain = rest.find(['\'', '"', '`', '-', '/', '$', ';']).unwrap_or(rest.len());
            self.text.push_str(&rest[..plain]);
            rest = &rest[plain..];
            let Some(c) = rest.chars().next() else { break };
            let length = match c {
                '\'' => {
                    self.text.push_str("''");
                    quoted(rest)
                }
                // A quoted name is not a string, so it keeps its quotation marks and its content.
                '"' | '`' => {
                    let end = 1 + rest[1..].find(c).map_or(rest.len() - 1, |end| end + 1);
                    self.text.push_str(&rest[..end]);
                    end
                }
                '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
                // MySQL runs the content of `/*! … */`.
                '/' if rest.starts_with("/*!") => 3,
                '/' if rest.starts_with("/*") => {
                    self.text.push(' ');
                    rest.find("*/").map_or(rest.len(), |end| end + 2)
                }
                '$' => match dollars(rest) {
                    Some(length) => {
                        self.text.push_str("''");
                        length
                    }
                    None => 1,
                },
                ';' => {
                    self.end();
                    1
                }
                c => {
                    self.text.push(c);
                    1
                }
            };
            rest = &rest[length..];
        }
        self.end();
    }

    /// Ends the last statement. Drops the statement if it is empty or equals the previous one.
    fn end(&mut self) {
        let end = self.ends.last().copied().unwrap_or_default();
        let before = self.ends.len().checked_sub(2).map_or(0, |at| self.ends[at]);
        let last = &self.text[end..];
        if last.trim().is_empty() || last == &self.text[before..end] {
            self.text.truncate(end);
        } else {
            self.ends.push(self.text.len());
        }
    }
}

/// Returns the length of a string. A quotation mark within the string is doubled or follows a backslash.
fn quoted(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match (byte, bytes.get(at + 1)) {
            (b'\'', Some(b'\'')) => at += 2,
            (b'\'', _) => return at + 1,
            // In standard SQL, a backslash is an ordinary character, so the string may end here. If no further quotation mark follows, the
            // string does end here, and the rest of the text is read.
            (b'\\', Some(b'\'')) if text[at + 2..].has(b'\'') => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the length of `$tag$ … $tag$`.
fn dollars(text: &str) -> Option<usize> {
    let end = text[1..].find('$')? + 2;
    let tag = &text[..end];
    let is_tag = tag[1..end - 1].chars().all(|c| c.is_alphanumeric() || c == '_');
    is_tag.then(|| text[end..].find(tag).map_or(text.len(), |at| end + at + end))
}

#[cfg(test)]
mod tests {
    use super::{StatementSplitter, value};

    fn split(text: &str) -> Vec<String> {
        let mut splitting = StatementSplitter::default();
        splitting.add(text);
        let begins = [0].into_iter().chain(splitting.ends.iter().copied());
        begins.zip(&splitting.ends).map(|(begin, end)| splitting.text[begin..*end].to_owned()).collect()
    }

    #[test]
    fn statements_are_told_apart_and_strings_are_left_out() {
        for (text, expected) in [
            ("select 1; drop table x", vec!["select 1", " drop table x"]),
            ("select 'a; drop table x', \"b;\"", vec!["select '', \"b;\""]),
            ("select 'it''s; x' ; y", vec!["select '' ", " y"]),
            ("select 'it\\'s; drop' x; y", vec!["select '' x", " y"]),
            ("a -- drop; table\nb", vec!["a \nb"]),
            ("a /* drop; */ b /*! drop table x */", vec!["a   b  drop table x */"]),
            ("do $x$ drop; $$ table $x$ b; c $1", vec!["do '' b", " c 1"]),
            ("'open; x", vec!["''"]),
            ("`a;b` c", vec!["`a;b` c"]),
            (" ; ; ", vec![]),
            ("a; a; a;b; a", vec!["a", " a", "b", " a"]),
            ("é;'ü';ö", vec!["é", "''", "ö"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn an_option_may_hold_its_value() {
        let words = [
            ("-eDROP x", "DROP x"),
            ("--execute=a=b", "a=b"),
            ("--x", "--x"),
            ("-q", ""),
            ("select 1", "select 1"),
            ("-", ""),
        ];
        for (word, expected) in words {
            assert_eq!(value(word), expected, "{word}");
        }
    }
}
