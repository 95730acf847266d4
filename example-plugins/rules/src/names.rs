//! Patterns of names, with exceptions.

use hookhost_conditions::glob::{Comparison, Glob};

/// A list of patterns. A pattern after `!` is an exception. If all patterns are exceptions, every other name matches.
#[derive(Debug, Default)]
pub(crate) struct Names {
    wanted: Vec<Glob>,
    excepted: Vec<Glob>,
}

impl Names {
    /// Compiles patterns that were checked before. A pattern that is no glob is left out.
    pub(crate) fn new<'a>(patterns: impl IntoIterator<Item = &'a String>) -> Self {
        let mut names = Self::default();
        for pattern in patterns {
            let (list, pattern) = match pattern.strip_prefix('!') {
                Some(exception) => (&mut names.excepted, exception),
                None => (&mut names.wanted, pattern.as_str()),
            };
            list.extend(Glob::new(pattern));
        }
        names
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty() && self.excepted.is_empty()
    }

    /// Returns true if a thing that may have any of these names matches. A thing without a name is unknown, and an unknown thing is no
    /// exception.
    pub(crate) fn match_any<T: AsRef<str>>(&self, names: &[T]) -> bool {
        self.want_any(names) && !self.except_all(names)
    }

    /// Returns true if one of these names is wanted.
    pub(crate) fn want_any<T: AsRef<str>>(&self, names: &[T]) -> bool {
        self.wanted.is_empty() || names.iter().any(|name| fits(&self.wanted, name.as_ref()))
    }

    /// Returns true if there are names, and each is an exception.
    pub(crate) fn except_all<T: AsRef<str>>(&self, names: &[T]) -> bool {
        !names.is_empty() && names.iter().all(|name| fits(&self.excepted, name.as_ref()))
    }

    /// Returns the pattern that matches a name exactly as it is spelt.
    pub(crate) fn naming(&self, name: &str) -> Option<&str> {
        self.wanted.iter().find(|pattern| pattern.matches(name, Comparison::Word)).map(Glob::as_str)
    }
}

fn fits(patterns: &[Glob], name: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(name, Comparison::Name))
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
