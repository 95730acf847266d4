//! The regular expressions of rules.

use super::schema::{Alternative, Expression, TextPosition};
use super::text::Text;
use super::words::{Pairs, Words};
use regex_lite::Regex;
use std::sync::OnceLock;

/// Compiles an expression: [`Pattern::written`] or [`Pattern::embedded`].
pub(super) type Compile = fn(Expression) -> Result<Pattern, String>;

/// A regular expression, as a list of alternatives. It matches if one of the alternatives matches.
#[derive(Debug)]
pub(super) struct Pattern(Box<[Branch]>);

/// An [`Alternative`], ready for use.
#[derive(Debug)]
enum Branch {
    Texts { texts: Words, place: TextPosition, any_case: bool },
    Search(Box<Search>),
}

/// An expression that is compiled as soon as a text contains the texts that a match needs. Few commands contain these texts, and the
/// compiled expressions of all rules would take much of the guest's memory.
#[derive(Debug)]
struct Search {
    source: Text,
    needed: Box<[Words]>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Returns a pattern from the config. Each text is searched for this pattern, because the pattern was not analysed.
    ///
    /// # Errors
    /// Returns an error if the expression is not a valid pattern.
    pub(super) fn written(expression: Expression) -> Result<Self, String> {
        for alternative in &expression.0 {
            if let Alternative::Search { source, .. } = alternative
                && let Err(error) = Regex::new(source)
            {
                return Err(format!("`{source}` is no pattern: {error}"));
            }
        }
        Self::embedded(expression)
    }

    /// Returns a pattern that the build script has analysed.
    ///
    /// # Errors
    /// Never returns an error, because the build script has refused invalid patterns.
    pub(super) fn embedded(Expression(alternatives): Expression) -> Result<Self, String> {
        let branch = |alternative| match alternative {
            Alternative::Texts { texts, place, any_case } => Branch::Texts { texts, place, any_case },
            Alternative::Search { source, needed } => {
                Branch::Search(Box::new(Search { source, needed: needed.into(), compiled: OnceLock::new() }))
            }
        };
        Ok(Self(alternatives.into_iter().map(branch).collect()))
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.iter().any(|branch| match branch {
            Branch::Texts { texts, place, any_case } => place.has_one_of(text, texts, *any_case),
            Branch::Search(search) => search.needed.iter().all(|words| words.occurs_in(text)) && search.finds(text),
        })
    }

    /// Returns false if the pattern cannot match, because the text does not contain what a match needs. `pairs` must be the pairs of
    /// `text`.
    pub(super) fn may_match(&self, text: &str, pairs: &Pairs) -> bool {
        self.0.iter().any(|branch| match branch {
            Branch::Texts { .. } => true,
            Branch::Search(search) => search.may_find(text, pairs),
        })
    }

    /// Like [`Pattern::is_match`], for a long text whose pairs are known.
    pub(super) fn is_match_of(&self, text: &str, pairs: &Pairs) -> bool {
        self.0.iter().any(|branch| match branch {
            Branch::Texts { texts, place, any_case } => place.has_one_of(text, texts, *any_case),
            Branch::Search(search) => search.may_find(text, pairs) && search.finds(text),
        })
    }
}

impl Search {
    fn may_find(&self, text: &str, pairs: &Pairs) -> bool {
        self.needed.iter().all(|words| words.occurs_with(text, pairs))
    }

    /// Returns true if the expression matches. The first call compiles the expression.
    fn finds(&self, text: &str) -> bool {
        let regex = self.compiled.get_or_init(|| Regex::new(&self.source).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

impl TextPosition {
    /// Returns true if one of `texts` occurs at this position in `text`.
    fn has_one_of(self, text: &str, texts: &Words, any_case: bool) -> bool {
        match self {
            Self::Whole if any_case => texts.has_in_any_case(text),
            Self::Whole => texts.has(text),
            _ => texts.any(|word| self.has(text, word, any_case)),
        }
    }

    /// Returns true if `word` occurs at this position in `text`.
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
    use super::{Alternative, Branch, Pattern, TextPosition};
    use crate::rules::analysis::{self, patterns};
    use crate::rules::{Catalogue, Text, expression};
    use proptest::prelude::*;
    use regex_lite::Regex;
    use std::collections::BTreeSet;

    fn told(source: &str) -> Pattern {
        Pattern::embedded(analysis::expression(Text::new(source))).unwrap()
    }

    #[test]
    fn a_pattern_of_the_config_is_looked_at_before_it_is_asked() {
        let written = |source: &str| Pattern::written(expression(Text::new(source)));
        let error = written("a(").unwrap_err();
        assert!(error.starts_with("`a(` is no pattern: "), "{error}");
        let pattern = written("^a+$").unwrap();
        assert!(pattern.is_match("aa") && !pattern.is_match("ab"));
    }

    #[test]
    fn what_has_one_of_the_needed_texts_is_searched() {
        let pattern = told(r"\bdrop\s+table\b");
        assert!(matches!(&*pattern.0, [Branch::Search(search)] if search.needed.len() == 2));
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
            (r"^(~|/home/[^/]+)/\.(ssh/.*|netrc)$", &["/.ssh/", "/.netr"]),
            (r"\bdrop\s+(table|view)\b", &["drop"]),
            (r"a+bc*d{2,}(?:xyz)?", &["dd"]),
            (r"(?i)X-Api-Key:\s*[a-z]{3}|y+", &["x-api-", "y"]),
            (r"x*(a+|b?)", &[]),
        ] {
            let needed = match analysis::expression(Text::new(source)).0.as_slice() {
                [Alternative::Search { needed, .. }] => needed.first().copied().unwrap_or_default(),
                other => panic!("{source}: {other:?}"),
            };
            assert_eq!(needed.iter().collect::<Vec<_>>(), wanted, "{source}");
        }
    }

    #[test]
    fn what_need_only_be_compared_is_not_searched_for() {
        let place = |source: &str| match told(source).0.as_ref() {
            [Branch::Texts { place, any_case, .. }] => Some((*place, *any_case)),
            _ => None,
        };
        assert_eq!(place("^(main|master)$"), Some((TextPosition::Whole, false)));
        assert_eq!(place("^--"), Some((TextPosition::Begin, false)));
        assert_eq!(place(r"(?i)\.(rs|py)$"), Some((TextPosition::End, true)));
        assert_eq!(place("main"), Some((TextPosition::Anywhere, false)));
        for source in
            [r"\bmain\b", "^a|b", "(^a|b)c", "a(?i)b", "a^", "$a", "(^)?a", "a|b$", "a+", "[^a]", "a{2,}", "(a|$)b"]
        {
            assert_eq!(place(source), None, "{source}");
        }
    }

    #[test]
    fn a_long_expression_is_divided_into_alternatives_with_texts_of_their_own() {
        let of_environment = "(A|B)_(TOKEN|SECRET)=.|[a-z]+(one|two)[0-9]+[a-z]+(one|two)[0-9]+|[A-Z]+x?|[0-9]+";
        let sources: Vec<String> = analysis::expression(Text::new(&format!("(?i){of_environment}")))
            .0
            .into_iter()
            .map(|alternative| match alternative {
                Alternative::Search { source, needed } => format!("{source} needs {}", needed.len()),
                other @ Alternative::Texts { .. } => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            sources,
            [
                "(?i)(A|B)_(TOKEN|SECRET)=. needs 2",
                "(?i)[a-z]+(one|two)[0-9]+[a-z]+(one|two)[0-9]+ needs 1",
                "(?i)[A-Z]+x?|[0-9]+ needs 0",
            ]
        );
        let of_files = "^[a-z]*(first[a-z]+|[a-z]{0,20}second|third|[a-z]{3,30}|fourth?|fifth+)$";
        let count = analysis::expression(Text::new(of_files)).0.len();
        assert_eq!(count, 6, "most of it is a group, and nothing is known of one of its alternatives");
        for text in ["a_token=x", "B_SECRET=", "1", "aone1btwo2"] {
            agrees(&format!("(?i){of_environment}"), text);
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

    /// Compares every pattern of the catalogues with the original expression, for every word and command of the tables.
    #[test]
    fn the_documented_catalogues_are_what_the_files_say() {
        let read =
            |name: &str| std::fs::read_to_string(format!("{}/cases/{name}.txt", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let tables: String = ["harmful", "harmless", "floor"].map(read).concat();
        let texts: BTreeSet<&str> = tables.lines().chain(tables.split_whitespace()).collect();
        let mut sources = BTreeSet::new();
        for catalogue in Catalogue::written() {
            for mut rule in catalogue.rules {
                let of_matches = rule.matches.iter_mut().flat_map(|one| patterns(one));
                sources.extend(of_matches.map(|pattern| analysis::source(pattern)));
                sources.extend(rule.pattern.map(|pattern| analysis::source(&pattern)));
            }
        }
        assert!(sources.len() > 150 && texts.len() > 5_000, "{} patterns, {} texts", sources.len(), texts.len());
        for source in sources.iter().map(|source| source.as_str()) {
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
