//! Patterns of names, with exceptions.

use glob::{MatchOptions, Pattern};

/// A list of patterns. A pattern after `!` is an exception. If all patterns are exceptions, every other name matches.
#[derive(Debug, Default)]
pub(crate) struct Names {
    wanted: Vec<Pattern>,
    excepted: Vec<Pattern>,
}

/// The comparison of names. `*` also matches `/`.
const OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: false, require_literal_separator: false, require_literal_leading_dot: false };

impl Names {
    /// Compiles patterns that were checked before. A pattern that is no glob is left out.
    pub(crate) fn new<'a>(patterns: impl IntoIterator<Item = &'a String>) -> Self {
        let mut names = Self::default();
        for pattern in patterns {
            let (list, pattern) = match pattern.strip_prefix('!') {
                Some(exception) => (&mut names.excepted, exception),
                None => (&mut names.wanted, pattern.as_str()),
            };
            list.extend(Pattern::new(pattern));
        }
        names
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.excepted.is_empty()
    }

    /// Returns true if a thing that may have any of these names matches. A thing without a name is unknown, and an unknown thing is no
    /// exception.
    pub(crate) fn match_any<T: AsRef<str>>(&self, names: &[T]) -> bool {
        let fits = |patterns: &[Pattern], name: &T| patterns.iter().any(|one| one.matches_with(name.as_ref(), OPTIONS));
        let is_wanted = self.wanted.is_empty() || names.iter().any(|name| fits(&self.wanted, name));
        let is_excepted = !names.is_empty() && names.iter().all(|name| fits(&self.excepted, name));
        is_wanted && !is_excepted
    }

    /// Returns the pattern that matches a name exactly as it is spelt.
    pub(crate) fn naming(&self, name: &str) -> Option<&str> {
        self.wanted.iter().find(|pattern| pattern.matches(name)).map(Pattern::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    fn matches(patterns: &[&str], names: &[&str]) -> bool {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        Names::new(&patterns).match_any(names)
    }

    #[test]
    fn a_list_of_exceptions_matches_everything_else_and_the_unknown() {
        assert!(matches(&["!github.com"], &["evil.com"]) && matches(&["!github.com"], &[]));
        assert!(!matches(&["!github.com"], &["GitHub.com"]));
        assert!(
            matches(&["*.com", "!github.com"], &["evil.com"]) && !matches(&["*.com", "!github.com"], &["github.com"])
        );
    }

    #[test]
    fn an_unknown_name_matches_no_pattern() {
        assert!(!matches(&["evil.com"], &[]) && matches(&[], &[]));
    }

    #[test]
    fn a_thing_with_two_possible_names_is_an_exception_only_under_both() {
        assert!(matches(&["!a"], &["a", "b"]) && matches(&["b"], &["a", "b"]));
    }
}
