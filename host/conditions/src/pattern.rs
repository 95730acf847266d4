//! Patterns of paths and texts, compiled at load, whose cost is bounded by the length of what they are compared with.

use crate::glob::Glob;
use regex_lite::{Regex, RegexBuilder};

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 1024;
/// Maximum number of wildcards in a glob.
const MAX_WILDCARDS: usize = 32;
/// Maximum size of a compiled regular expression, in bytes.
const MAX_COMPILED: usize = 32 * 1024;
/// Maximum depth of groups and repetitions of a regular expression. Its parser has 48 KiB of stack.
const MAX_NESTING: u32 = 16;

/// Reads a pattern of a path.
///
/// # Errors
/// Returns an error if the pattern is too long or is no glob.
pub(crate) fn glob(pattern: &str) -> Result<Glob, String> {
    check_length(pattern)?;
    if pattern.matches(['*', '?', '[']).count() > MAX_WILDCARDS {
        return Err(format!("the pattern has more than {MAX_WILDCARDS} wildcards"));
    }
    Glob::new(pattern).map_err(|why| format!("this is no pattern of paths: {why}"))
}

/// A regular expression.
#[derive(Debug)]
pub(crate) struct Expression {
    regex: Regex,
    /// The text with which each match begins, or the empty string if matches begin differently.
    beginning: String,
    /// Approximate number of states, to which the time per byte is proportional.
    pub(crate) states: usize,
}

impl Expression {
    /// # Errors
    /// Returns an error if the pattern is too long, is no regular expression, or becomes too large.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        /// Bytes of a compiled state.
        const STATE: usize = 16;
        check_length(pattern)?;
        let compile = |size| RegexBuilder::new(pattern).size_limit(size).nest_limit(MAX_NESTING).build();
        let mut size = 256;
        loop {
            match compile(size) {
                Ok(regex) => {
                    return Ok(Self { regex, beginning: beginning(pattern).to_owned(), states: size / STATE });
                }
                Err(_) if size < MAX_COMPILED => size *= 2,
                Err(error) => return Err(format!("this is no regular expression: {error}")),
            }
        }
    }

    /// Returns true if a part of the text matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        text.contains(&self.beginning) && self.regex.is_match(text)
    }
}

/// Returns the text with which each match of a regular expression begins: the characters before the first one that has a meaning.
fn beginning(pattern: &str) -> &str {
    const WITH_MEANING: [char; 13] = ['\\', '.', '+', '*', '?', '(', ')', '[', ']', '{', '}', '^', '$'];
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    let literal = pattern.split(WITH_MEANING).next().unwrap_or_default();
    let mut characters = literal.chars();
    match pattern[literal.len()..].chars().next() {
        // Alternatives begin differently.
        _ if pattern.contains('|') => "",
        // The last character may be absent, also if a repetition is repeated (`x+*`) or flags precede it (`x(?i)*`).
        Some('*' | '?' | '{' | '+' | '(') => {
            characters.next_back();
            characters.as_str()
        }
        _ => literal,
    }
}

fn check_length(pattern: &str) -> Result<(), String> {
    match pattern.len() {
        0 => Err("the pattern is empty".to_owned()),
        length if length > MAX_PATTERN => {
            Err(format!("the pattern has {length} bytes; at most {MAX_PATTERN} are possible"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Expression, beginning};

    #[test]
    fn an_expression_begins_with_the_text_before_the_first_character_that_has_a_meaning() {
        for (pattern, expected) in [
            ("x1+y?$", "x"),
            ("^git push", "git push"),
            ("tokens?", "token"),
            ("a{0}b", ""),
            ("é*", ""),
            ("(?i)rm", ""),
            ("\\brm", ""),
            ("rm|mv", ""),
            ("[ab]c", ""),
            ("", ""),
        ] {
            assert_eq!(beginning(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn the_beginning_excludes_no_text_that_matches() {
        for (pattern, text, expected) in [
            ("x1+y?$", "a x11y", true),
            ("x1+y?$", "x2", false),
            ("^git push", "git push", true),
            ("^git push", " git push", false),
            ("ab*c", "ac", true),
            ("é{0,1}x", "x", true),
            ("(?x) a b", "ab", true),
            ("^ab+*c", "ac", true),
            ("^ab(?i)*c", "ac", true),
        ] {
            assert_eq!(Expression::new(pattern).unwrap().matches(text), expected, "{pattern} {text}");
        }
    }
}
