//! What rules are made of, small: a guest's memory is made anew for each event, and all of it is copied.

use regex_lite::Regex;
use serde::{Deserialize, Deserializer};
use std::sync::OnceLock;

/// A list of words in one block of memory, a line each.
#[derive(Clone, Debug, Default)]
pub(super) struct Words(Box<str>);

impl Words {
    /// # Errors
    /// If a word is empty, or of more than one line.
    pub(super) fn new(words: &[String]) -> Result<Self, String> {
        match words.iter().find(|word| word.is_empty() || word.contains('\n')) {
            Some(word) => Err(format!("{word:?} is not one word of a list: it is empty, or of several lines")),
            None => Ok(Self(words.join("\n").into())),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.split_terminator('\n')
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Self::new(&Vec::deserialize(list)?).map_err(serde::de::Error::custom)
    }
}

/// A pattern, compiled when it is first asked. Most commands ask few of them, and all of them compiled would be half of the memory
/// that each event starts with.
#[derive(Debug)]
pub(super) struct Pattern {
    source: Box<str>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// # Errors
    /// If it is no pattern.
    pub(super) fn new(source: String) -> Result<Self, String> {
        match Regex::new(&source) {
            Ok(_) => Ok(Self { source: source.into(), compiled: OnceLock::new() }),
            Err(error) => Err(format!("`{source}` is no pattern: {error}")),
        }
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.source).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, Words};

    #[test]
    fn a_list_gives_back_its_words() {
        let words = |words: &[&str]| Words::new(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let given = |of: &[&str]| words(of).unwrap().iter().map(str::to_owned).collect::<Vec<_>>();
        assert!(words(&[]).unwrap().is_empty());
        assert_eq!(given(&[]), Vec::<String>::new());
        assert_eq!(given(&["system prune", "x"]), ["system prune", "x"]);
        assert_eq!(words(&["a", ""]).unwrap_err(), "\"\" is not one word of a list: it is empty, or of several lines");
        assert!(words(&["a\nb"]).is_err());
    }

    #[test]
    fn a_pattern_is_looked_at_before_it_is_asked() {
        let error = Pattern::new("a(".into()).unwrap_err();
        assert!(error.starts_with("`a(` is no pattern: "), "{error}");
        let pattern = Pattern::new("^a+$".into()).unwrap();
        assert!(pattern.is_match("aa") && !pattern.is_match("ab"));
    }
}
