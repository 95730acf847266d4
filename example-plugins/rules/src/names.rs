//! Patterns of names, with exceptions.

use hookhost_conditions::glob::{Comparison, Glob};

/// A list of patterns. A pattern after `!` is an exception. If all patterns are exceptions, every other name matches.
#[derive(Debug, Default)]
pub(crate) struct Names(Vec<NamePattern>);

#[derive(Debug)]
struct NamePattern {
    glob: Glob,
    is_exception: bool,
}

impl Names {
    /// Compiles patterns that were checked before. A pattern that is no glob is left out.
    pub(crate) fn new<'a>(patterns: impl IntoIterator<Item = &'a String>) -> Self {
        let compiled = patterns.into_iter().filter_map(|pattern| {
            let exception = pattern.strip_prefix('!');
            let glob = Glob::new(exception.unwrap_or(pattern)).ok()?;
            Some(NamePattern { glob, is_exception: exception.is_some() })
        });
        Self(compiled.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn wanted(&self) -> impl Iterator<Item = &Glob> {
        self.0.iter().filter(|pattern| !pattern.is_exception).map(|pattern| &pattern.glob)
    }

    /// Returns true if a thing that may have any of these names matches. A thing without a name is unknown, and an unknown thing is no
    /// exception.
    pub(crate) fn match_any<T: AsRef<str>>(&self, names: &[T]) -> bool {
        self.want_any(names) && !self.except_all(names)
    }

    /// Returns true if one of these names is wanted.
    pub(crate) fn want_any<T: AsRef<str>>(&self, names: &[T]) -> bool {
        let is_wanted = |name: &T| self.wanted().any(|glob| glob.matches(name.as_ref(), Comparison::Name));
        self.wanted().next().is_none() || names.iter().any(is_wanted)
    }

    /// Returns true if there are names, and each is an exception.
    pub(crate) fn except_all<T: AsRef<str>>(&self, names: &[T]) -> bool {
        let exceptions = self.0.iter().filter(|pattern| pattern.is_exception).map(|pattern| &pattern.glob);
        !names.is_empty()
            && names.iter().all(|name| exceptions.clone().any(|glob| glob.matches(name.as_ref(), Comparison::Name)))
    }

    /// Returns the pattern that matches a name exactly as it is spelt.
    pub(crate) fn naming(&self, name: &str) -> Option<&str> {
        self.wanted().find(|pattern| pattern.matches(name, Comparison::Word)).map(Glob::as_str)
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
