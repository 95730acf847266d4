//! The regular expressions of rules.

use super::schema::{Expression, Place};
use super::text::Text;
use super::words::{Pairs, Words};
use regex_lite::Regex;
use std::sync::OnceLock;

/// Compiles an expression: [`Pattern::written`] or [`Pattern::embedded`].
pub(super) type Compile = fn(Expression) -> Result<Pattern, String>;

/// A compiled regular expression.
#[derive(Debug)]
pub(super) enum Pattern {
    /// `^(one|other)$`, `^word`, `\.(one|other)$`: comparing texts is enough for these.
    Texts { texts: Words, place: Place, any_case: bool },
    /// Searched for if one of `needed` occurs, and compiled at that moment. Few commands contain any of them, and compiling all patterns
    /// would be much of the cost of loading the guard.
    Search(Box<Search>),
}

/// An expression that needs a search.
#[derive(Debug)]
pub(super) struct Search {
    needed: Words,
    source: Text,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Returns a pattern from the config, which is always searched for.
    ///
    /// # Errors
    /// If the expression is not a pattern.
    pub(super) fn written(Expression { source, .. }: Expression) -> Result<Self, String> {
        match Regex::new(&source) {
            Ok(_) => Ok(Self::search(source, Words::default())),
            Err(error) => Err(format!("`{source}` is no pattern: {error}")),
        }
    }

    /// Returns a pattern that the build script has analysed.
    ///
    /// # Errors
    /// Never. The build script has refused invalid patterns.
    pub(super) fn embedded(expression: Expression) -> Result<Self, String> {
        let Expression { source, texts, place, any_case, needed } = expression;
        Ok(match texts {
            Some(texts) => Self::Texts { texts, place, any_case },
            None => Self::search(source, needed),
        })
    }

    fn search(source: Text, needed: Words) -> Self {
        Self::Search(Box::new(Search { needed, source, compiled: OnceLock::new() }))
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Texts { texts, place: Place::Whole, any_case: true } => texts.has_in_any_case(text),
            Self::Texts { texts, place: Place::Whole, .. } => texts.has(text),
            Self::Texts { texts, place, any_case } => texts.any(|word| place.has(text, word, *any_case)),
            Self::Search(search) => search.needed.occurs_in(text) && search.finds(text),
        }
    }

    /// Returns false if the pattern can match no part of a text with these pairs, because it lacks everything that a match needs.
    pub(super) fn may_match(&self, text: &str, pairs: &Pairs) -> bool {
        match self {
            Self::Texts { .. } => true,
            Self::Search(search) => search.needed.occurs_with(text, pairs),
        }
    }

    /// Like [`Pattern::is_match`], for a long text whose pairs are known.
    pub(super) fn is_match_of(&self, text: &str, pairs: &Pairs) -> bool {
        match self {
            Self::Texts { .. } => self.is_match(text),
            Self::Search(search) => search.needed.occurs_with(text, pairs) && search.finds(text),
        }
    }
}

impl Search {
    /// Returns true if the pattern matches. Compiles it for the first text.
    fn finds(&self, text: &str) -> bool {
        let regex = self.compiled.get_or_init(|| Regex::new(&self.source).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

impl Place {
    /// Returns true if `word` occurs at this place in `text`.
    fn has(self, text: &str, word: &[u8], any_case: bool) -> bool {
        let text = text.as_bytes();
        let same = |part: &[u8]| if any_case { part.eq_ignore_ascii_case(word) } else { part == word };
        match self {
            Self::Whole => same(text),
            Self::Begin => text.get(..word.len()).is_some_and(same),
            Self::End => text.len().checked_sub(word.len()).is_some_and(|begin| same(&text[begin..])),
            Self::Anywhere => word.is_empty() || text.windows(word.len()).any(same),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expression, Pattern, Place};
    use crate::rules::analysis::{self, patterns};
    use crate::rules::{Embedded, Text};
    use proptest::prelude::*;
    use regex_lite::Regex;
    use std::collections::BTreeSet;

    fn told(source: &str) -> Pattern {
        Pattern::embedded(analysis::expression(Text::new(source))).unwrap()
    }

    #[test]
    fn a_pattern_of_the_config_is_looked_at_before_it_is_asked() {
        let written =
            |source: &str| Pattern::written(Expression { source: Text::new(source), ..Expression::default() });
        let error = written("a(").unwrap_err();
        assert!(error.starts_with("`a(` is no pattern: "), "{error}");
        let pattern = written("^a+$").unwrap();
        assert!(pattern.is_match("aa") && !pattern.is_match("ab"));
    }

    #[test]
    fn what_has_one_of_the_needed_texts_is_searched() {
        let pattern = told(r"\bdrop\s+table\b");
        assert!(matches!(&pattern, Pattern::Search(search) if search.needed.iter().count() == 1));
        assert!(!pattern.is_match("drop index y") && !pattern.is_match("create table y"));
        assert!(pattern.is_match("x; drop  table y"));
    }

    #[test]
    fn one_of_the_needed_texts_is_the_longest_that_is_known() {
        for (source, wanted) in [
            (
                r"(^|/)(\.env(\.(local|dev))?|id_(rsa|dsa)|[^/]+\.(pem|key))$",
                [".env", "id_rsa", "id_dsa", ".pem", ".key"].as_slice(),
            ),
            (r"^(~|/home/[^/]+)/\.(ssh/.*|netrc)$", &["/.ssh/", "/.netrc"]),
            (r"\bdrop\s+(table|view)\b", &["drop"]),
            (r"a+bc*d{2,}(?:xyz)?", &["dd"]),
            (r"(?i)X-Api-Key:\s*[a-z]{3}|y+", &["y"]),
            (r"x*(a+|b?)", &[]),
        ] {
            let known = analysis::expression(Text::new(source));
            assert!(known.texts.is_none(), "{source}");
            assert_eq!(known.needed.iter().collect::<Vec<_>>(), wanted, "{source}");
        }
    }

    #[test]
    fn what_need_only_be_compared_is_not_searched_for() {
        let place = |source: &str| match told(source) {
            Pattern::Texts { place, any_case, .. } => Some((place, any_case)),
            Pattern::Search(_) => None,
        };
        assert_eq!(place("^(main|master)$"), Some((Place::Whole, false)));
        assert_eq!(place("^--"), Some((Place::Begin, false)));
        assert_eq!(place(r"(?i)\.(rs|py)$"), Some((Place::End, true)));
        assert_eq!(place("main"), Some((Place::Anywhere, false)));
        for source in
            [r"\bmain\b", "^a|b", "(^a|b)c", "a(?i)b", "a^", "$a", "(^)?a", "a|b$", "a+", "[^a]", "a{2,}", "(a|$)b"]
        {
            assert_eq!(place(source), None, "{source}");
        }
    }

    fn agrees(source: &str, text: &str) {
        let (pattern, regex) = (told(source), Regex::new(source).unwrap());
        assert_eq!(pattern.is_match(text), regex.is_match(text), "{source:?} of {text:?}");
    }

    #[test]
    fn a_pattern_means_what_it_means_as_a_regular_expression() {
        let texts = [
            "", "-", "--", "a", "ab", "ba", "a.b", "axb", "main", "main\n", "a|b", "(a)", "^a", "\0", "sh", "s", "A",
            "a:", "a]", "é", "Ã©", "Ã©x", "éx", "Ā", "xĀ", "ſ", "K", "É",
        ];
        for source in [
            "^--$",
            "^a",
            "^(a|main)$",
            "^(a|ba)",
            "^a\\.b$",
            "^a.b$",
            "^$",
            "^",
            "^(a|)$",
            "a$",
            "^(a|b)|ba$",
            "^sh$|^s$",
            "^(?i)A$",
            "(?i)^A$",
            "(?m)^a$",
            "(?s)a.$",
            "[]a]",
            "[^]a]",
            "\\Aa\\z",
            r"\xC3\xA9",
            r"[\xC3][\xA9]",
            r"(\xC3\xA9x)+",
            r"[^\x00-\xFF]",
            r"[^\x00-\x60b-\xFF]",
            r"\u00E9",
            "^(a|b)$",
            "(?i)é|s",
        ] {
            texts.iter().for_each(|text| agrees(source, text));
        }
    }

    #[test]
    fn a_long_list_means_the_same_whether_it_is_indexed_or_not() {
        for count in [1, 63, 64, 65, 70] {
            let words: Vec<String> = (0..count).map(|number| format!("w{number}x")).collect();
            for source in [format!("^({})$", words.join("|")), format!("({}).", words.join("|"))] {
                for text in
                    words.iter().flat_map(|word| [word.clone(), format!("{word}!")]).chain(["w".into(), "w70x".into()])
                {
                    agrees(&source, &text);
                }
            }
        }
    }

    /// Every pattern of the catalogues, of every word and command of the tables.
    #[test]
    fn the_documented_catalogues_are_what_the_files_say() {
        let read =
            |name: &str| std::fs::read_to_string(format!("{}/cases/{name}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let tables: String = ["harmful", "harmless", "floor"].map(read).concat();
        let texts: BTreeSet<&str> = tables.lines().chain(tables.split_whitespace()).collect();
        let (_, mut embedded) = Embedded::read().unwrap();
        let mut sources = BTreeSet::new();
        while embedded.next().is_some() {
            while let Some(rule) = embedded.rule() {
                let rule = rule.unwrap();
                let of_matches = rule.matches.iter().flat_map(|one| patterns(one));
                sources.extend(of_matches.chain(rule.pattern.as_deref()).map(|expression| expression.source.as_str()));
            }
        }
        assert!(sources.len() > 150 && texts.len() > 5_000, "{} patterns, {} texts", sources.len(), texts.len());
        for source in sources {
            let (pattern, regex) = (told(source), Regex::new(source).unwrap());
            for text in &texts {
                assert_eq!(pattern.is_match(text), regex.is_match(text), "{source:?} of {text:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_pattern_means_what_it_means_as_a_regular_expression(
            parts in proptest::collection::vec(prop_oneof![
                "[ab]", "\\PC", Just("^".to_owned()), Just("$".into()), Just("(".into()), Just(")".into()), Just("|".into()),
                Just("(?:a|b)".into()), Just("(?i)".into()), Just("(?i:A)".into()), Just("?".into()), Just("*".into()),
                Just("+".into()), Just("{2}".into()), Just("{0,1}".into()), Just("[^a]".into()), Just("[b]".into()),
                Just(r"\b".into()), Just(r"\x41".into()), Just(".".into()), Just("(?P<n>b)".into()), Just("(a|ab|)".into()),
                Just(r"\xC3".into()), Just(r"[^\x00-\xFF]".into()), Just("Ā".into()), Just("[[:alpha:]-]".into()), Just("(?s)".into()), Just("(?m)".into()), Just("??".into()), Just(r"\.".into()),
            ], 0..9),
            texts in proptest::collection::vec("[abAB.]{0,6}|[ab\\n]{0,4}|\\PC{0,4}", 1..8),
        ) {
            let source = parts.concat();
            if Regex::new(&source).is_ok() {
                texts.iter().for_each(|text| agrees(&source, text));
            }
        }
    }
}
