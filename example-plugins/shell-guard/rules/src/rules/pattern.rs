//! The regular expressions of rules.

use super::words::Words;
use regex_lite::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::sync::OnceLock;

/// A regular expression, as the config writes it, or with what `build/patterns.rs` tells of an embedded one.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Written(String),
    Told(Box<Told>),
}

/// What `build/patterns.rs` tells.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Told {
    texts: Option<Words>,
    at: Place,
    any_case: bool,
    search: Box<str>,
    needed: Words,
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(pattern: D) -> Result<Self, D::Error> {
        match Value::deserialize(pattern)? {
            Value::String(source) => Ok(Self::Written(source)),
            told @ Value::Object(_) => Told::deserialize(told).map(Box::new).map(Self::Told).map_err(D::Error::custom),
            other => Err(D::Error::custom(format!("a pattern is a string, and not `{other}`"))),
        }
    }
}

/// A regular expression that can be asked.
#[derive(Debug)]
pub(super) enum Pattern {
    /// `^(one|other)$`, `^word`, `\.(one|other)$`: to compare is all that these need.
    Texts { texts: Words, at: Place, any_case: bool },
    /// Searched for where one of `needed` stands, and compiled when that is first the case: few commands have any of them, and all
    /// patterns compiled would be half of the memory that each event starts with.
    Search { needed: Words, source: Box<str>, compiled: OnceLock<Option<Regex>> },
}

/// Where a text has to stand in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Place {
    Whole,
    Begin,
    End,
    #[default]
    Anywhere,
}

impl Pattern {
    /// # Errors
    /// If it is no pattern.
    pub(super) fn new(expression: Expression) -> Result<Self, String> {
        let (needed, source) = match expression {
            Expression::Written(source) => match Regex::new(&source) {
                Ok(_) => (Words::default(), source.into()),
                Err(error) => return Err(format!("`{source}` is no pattern: {error}")),
            },
            Expression::Told(told) => match *told {
                Told { texts: Some(texts), at, any_case, .. } => return Ok(Self::Texts { texts, at, any_case }),
                Told { needed, search, .. } => (needed, search),
            },
        };
        Ok(Self::Search { needed, source, compiled: OnceLock::new() })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Texts { texts, at, any_case } => texts.iter().any(|word| at.has(text, word, *any_case)),
            Self::Search { needed, source, compiled } => {
                let compiled = || compiled.get_or_init(|| Regex::new(source).ok()).as_ref();
                needed.stands_in(text) && compiled().is_some_and(|regex| regex.is_match(text))
            }
        }
    }
}

impl Place {
    /// Whether `word` stands here in `text`.
    fn has(self, text: &str, word: &str, any_case: bool) -> bool {
        let (text, word) = (text.as_bytes(), word.as_bytes());
        let same = |part: &[u8]| if any_case { part.eq_ignore_ascii_case(word) } else { part == word };
        match self {
            Self::Whole => same(text),
            Self::Begin => text.get(..word.len()).is_some_and(same),
            Self::End => text.len().checked_sub(word.len()).is_some_and(|begin| same(&text[begin..])),
            Self::Anywhere => word.is_empty() || text.windows(word.len()).any(same),
        }
    }
}

/// What makes [`Told`].
#[cfg(test)]
#[path = "../../build/patterns.rs"]
pub(super) mod build;

#[cfg(test)]
mod tests {
    use super::{Expression, Pattern, Place, build};
    use proptest::prelude::*;
    use regex_lite::Regex;
    use serde_json::{Value, json};

    fn pattern(expression: &Value) -> Result<Pattern, String> {
        Pattern::new(serde_json::from_value::<Expression>(expression.clone()).map_err(|error| error.to_string())?)
    }

    #[test]
    fn a_pattern_is_looked_at_before_it_is_asked() {
        let error = pattern(&json!("a(")).unwrap_err();
        assert!(error.starts_with("`a(` is no pattern: "), "{error}");
        assert_eq!(pattern(&json!(5)).unwrap_err(), "a pattern is a string, and not `5`");
        let pattern = pattern(&json!("^a+$")).unwrap();
        assert!(pattern.is_match("aa") && !pattern.is_match("ab"));
    }

    #[test]
    fn brackets_only_group() {
        for (pattern, grouped) in [
            ("(a|b(c))?", "(?:a|b(?:c))?"),
            (r"\((?i)x|(?:y)", r"\((?i)x|(?:y)"),
            (r"[(](x)", r"[(](?:x)"),
            (r"[])(](x)[^](](y)", r"[])(](?:x)[^](](?:y)"),
            ("(?x) ( a ) [ ](]", "(?x) ( a ) [ ](]"),
            (r"[[:alpha:](](z)[\](](w)", r"[[:alpha:](](?:z)[\](](?:w)"),
        ] {
            assert_eq!(build::without_captures(pattern), grouped);
            assert!(Regex::new(grouped).is_ok(), "{grouped}");
        }
        // Not compiled otherwise, it would fit nothing.
        assert!(pattern(&build::known("(?x) ( ?i: FROB ) +")).unwrap().is_match("frob x"));
    }

    #[test]
    fn one_of_the_needed_texts_is_the_longest_that_is_known() {
        for (source, wanted) in [
            (
                r"(^|/)(\.env(\.(local|dev))?|id_(rsa|dsa)|[^/]+\.(pem|key))$",
                json!([".env", "id_rsa", "id_dsa", ".pem", ".key"]),
            ),
            (r"^(~|/home/[^/]+)/\.(ssh/.*|netrc)$", json!(["ssh/", "netrc"])),
            (r"\bdrop\s+(table|view)\b", json!(["drop"])),
            (r"a+bc*d{2,}(?:xyz)?", json!(["a"])),
            (r"(?i)X-Api-Key:\s*[a-z]{3}|y+", json!(["x-api-key:", "y"])),
            (r"x*(a+|b?)", json!([])),
        ] {
            let known = build::known(source);
            assert!(known["search"].is_string(), "{source}");
            assert_eq!(known["needed"], wanted, "{source}");
        }
    }

    #[test]
    fn what_need_only_be_compared_is_not_searched_for() {
        let place = |source: &str| match pattern(&build::known(source)).unwrap() {
            Pattern::Texts { at, any_case, .. } => Some((at, any_case)),
            Pattern::Search { .. } => None,
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
        let (pattern, regex) = (pattern(&build::known(source)).unwrap(), Regex::new(source).unwrap());
        assert_eq!(pattern.is_match(text), regex.is_match(text), "{source:?} of {text:?}");
    }

    #[test]
    fn a_pattern_means_what_it_means_as_a_regular_expression() {
        let texts = [
            "", "-", "--", "a", "ab", "ba", "a.b", "axb", "main", "main\n", "a|b", "(a)", "^a", "\0", "sh", "s", "A",
            "a:", "a]",
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
        ] {
            texts.iter().for_each(|text| agrees(source, text));
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
                Just("[[:alpha:]-]".into()), Just("(?s)".into()), Just("(?m)".into()), Just("??".into()), Just(r"\.".into()),
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
