//! What rules are made of, small: a guest's memory is made anew for each event, and all of it is copied.

use regex_lite::Regex;
use serde::{Deserialize, Deserializer};
use std::sync::OnceLock;

/// The most bytes of a word in a list: the last number below those that stand for no character.
const LONGEST: usize = 0xD7FF;

/// A list of words in one block of memory: each behind its length in bytes, which is written as a character.
#[derive(Clone, Debug, Default)]
pub(super) struct Words(Box<str>);

impl Words {
    /// # Errors
    /// If a word is so long that no character stands for its length.
    pub(super) fn new(words: &[String]) -> Result<Self, String> {
        let mut list = String::new();
        for word in words {
            let length = u32::try_from(word.len()).ok().and_then(char::from_u32);
            let Some(length) = length.filter(|_| word.len() <= LONGEST) else {
                return Err(format!(
                    "a word of {} bytes is more than the {LONGEST} that a rule's may have",
                    word.len()
                ));
            };
            list.push(length);
            list.push_str(word);
        }
        Ok(Self(list.into()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (length, begin) = match rest.as_bytes().first()? {
                byte if byte.is_ascii() => (usize::from(*byte), 1),
                _ => rest.chars().next().map(|c| (c as usize, c.len_utf8()))?,
            };
            let (word, next) = rest[begin..].split_at(length);
            rest = next;
            Some(word)
        })
    }
}

/// What stands in a text or not, in any case.
#[derive(Debug)]
pub(super) struct Part {
    text: Box<str>,
    /// Its first and its last pair of bytes; none where it is shorter.
    ends: Option<[Pair; 2]>,
}

impl Part {
    pub(super) fn new(text: String) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes.first_chunk().zip(bytes.last_chunk());
        Self { ends: ends.map(|(first, last)| [Pair::of(*first), Pair::of(*last)]), text: text.into() }
    }

    /// Whether it stands in `text`, which has these `pairs`.
    pub(super) fn is_in(&self, text: &str, pairs: &Pairs) -> bool {
        let may_be = self.ends.is_none_or(|[first, last]| pairs.may_have(first) && pairs.may_have(last));
        may_be && contains(text.as_bytes(), self.text.as_bytes())
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    let Some(first) = part.first() else { return true };
    let begins = |at: usize| text[at..].get(..part.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(part));
    (0..text.len()).any(|at| text[at].eq_ignore_ascii_case(first) && begins(at))
}

/// The pairs of neighbouring bytes of a text, ASCII in lower case: a set that may hold more than was put into it.
pub(super) struct Pairs([u64; 16]);

impl Pairs {
    pub(super) fn of(text: &str) -> Self {
        let mut pairs = Self([0; 16]);
        for pair in text.as_bytes().array_windows() {
            let Pair(place) = Pair::of(*pair);
            pairs.0[usize::from(place / 64)] |= 1 << (place % 64);
        }
        pairs
    }

    fn may_have(&self, Pair(place): Pair) -> bool {
        self.0[usize::from(place / 64)] & (1 << (place % 64)) != 0
    }
}

/// Where a pair stands in the set: below 1 024.
#[derive(Clone, Copy, Debug)]
struct Pair(u16);

impl Pair {
    fn of(pair: [u8; 2]) -> Self {
        let [first, second] = pair;
        Self((u16::from(first.to_ascii_lowercase()) * 37 + u16::from(second.to_ascii_lowercase())) % 1024)
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        Self::new(&Vec::deserialize(list)?).map_err(serde::de::Error::custom)
    }
}

/// A regular expression.
#[derive(Debug)]
pub(super) enum Pattern {
    /// `^word$` or `^(one|other)$`: to compare is all that these need.
    Is(Words),
    /// `^word` or `^(one|other)`.
    Begins(Words),
    /// Compiled when it is first asked. Most commands ask few of these, and all of them compiled would be half of the memory that
    /// each event starts with.
    Other { source: Box<str>, compiled: OnceLock<Option<Regex>> },
}

impl Pattern {
    /// # Errors
    /// If it is no pattern.
    pub(super) fn new(source: &str) -> Result<Self, String> {
        if let Err(error) = Regex::new(source) {
            return Err(format!("`{source}` is no pattern: {error}"));
        }
        let anchored = source.strip_prefix('^').map(|rest| match rest.strip_suffix('$') {
            Some(whole) => (whole, Self::Is as fn(_) -> _),
            None => (rest, Self::Begins as fn(_) -> _),
        });
        match anchored.and_then(|(rest, form)| Some((literals(rest)?, form))) {
            Some((literals, form)) => Words::new(&literals).map(form),
            None => Ok(Self::Other { source: without_captures(source).into(), compiled: OnceLock::new() }),
        }
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Is(words) => words.iter().any(|word| word == text),
            Self::Begins(words) => words.iter().any(|word| text.starts_with(word)),
            Self::Other { source, compiled } => {
                let compiled = compiled.get_or_init(|| Regex::new(source).ok());
                compiled.as_ref().is_some_and(|regex| regex.is_match(text))
            }
        }
    }
}

/// The same pattern with brackets that only group: nobody asks what stood in them, and to note it for every state of the search is
/// most of the memory that a search takes.
fn without_captures(pattern: &str) -> String {
    let has_blanks = |flags: &str| flags.chars().take_while(|c| c.is_ascii_alphabetic() || *c == '-').any(|c| c == 'x');
    // `(?x)` lets blanks stand between the two characters that open a group, and within a class.
    if pattern.split("(?").skip(1).any(has_blanks) {
        return pattern.to_owned();
    }
    let mut text = String::new();
    let mut chars = pattern.chars().peekable();
    // How many characters of a class `[…]` have been seen; its first may be a `]`.
    let mut class: Option<usize> = None;
    while let Some(c) = chars.next() {
        text.push(c);
        class = match (c, class) {
            ('\\', class) => {
                text.extend(chars.next());
                class.map(|seen| seen + 1)
            }
            ('[', None) => {
                text.extend(chars.next_if_eq(&'^'));
                Some(0)
            }
            // `[[:alpha:]]`
            ('[', Some(_)) if chars.peek() == Some(&':') => {
                text.extend(chars.by_ref().take_while(|c| *c != ']'));
                text.push(']');
                Some(1)
            }
            (']', Some(1..)) => None,
            ('(', None) if chars.peek() != Some(&'?') => {
                text.push_str("?:");
                None
            }
            (_, class) => class.map(|seen| seen + 1),
        };
    }
    text
}

/// The texts that a pattern stands for, where it is a text, or some between brackets.
fn literals(pattern: &str) -> Option<Vec<String>> {
    let inner = pattern.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let alternatives = inner.map_or_else(|| vec![pattern], |inner| inner.split('|').collect());
    let literal = |source: &str| {
        let mut text = String::new();
        let mut chars = source.chars();
        while let Some(c) = chars.next() {
            let escaped = if c == '\\' { Some(chars.next()?) } else { None };
            text.push(match (c, escaped) {
                (_, Some('.')) => '.',
                (c, None) if c.is_ascii_alphanumeric() || "_-/:@,=~%<>\"' ".contains(c) => c,
                _ => return None,
            });
        }
        Some(text)
    };
    alternatives.into_iter().map(literal).collect()
}

#[cfg(test)]
mod tests {
    use super::{Pairs, Part, Pattern, Words, without_captures};

    #[test]
    fn a_list_gives_back_its_words() {
        let words = |words: &[&str]| Words::new(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let given = |of: &[&str]| words(of).unwrap().iter().map(str::to_owned).collect::<Vec<_>>();
        assert!(words(&[]).unwrap().is_empty());
        assert_eq!(given(&[]), Vec::<String>::new());
        let long = "é".repeat(0x6B00);
        let all = ["system prune", "", "a\nb", &long];
        assert_eq!(given(&all), all);
        let error = words(&[&"x".repeat(0xD800)]).unwrap_err();
        assert_eq!(error, "a word of 55296 bytes is more than the 55295 that a rule's may have");
    }

    #[test]
    fn a_part_is_found_in_any_case_wherever_it_stands() {
        let is_in = |part: &str, text: &str| Part::new(part.into()).is_in(text, &Pairs::of(text));
        assert!(is_in("DROP table", "xx drop TABLE"));
        assert!(is_in("=", "a=b") && is_in("", "") && is_in("ab", "AB") && is_in("é", "caf\u{e9}"));
        assert!(!is_in("ab", "ba") && !is_in("abc", "abxbc") && !is_in("=", "") && !is_in("ab", "a"));
    }

    #[test]
    fn a_pattern_is_looked_at_before_it_is_asked() {
        let error = Pattern::new("a(").unwrap_err();
        assert!(error.starts_with("`a(` is no pattern: "), "{error}");
        let pattern = Pattern::new("^a+$").unwrap();
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
            assert_eq!(without_captures(pattern), grouped);
            assert!(regex_lite::Regex::new(grouped).is_ok(), "{grouped}");
        }
    }

    #[test]
    fn a_pattern_means_what_it_means_as_a_regular_expression() {
        let texts =
            ["", "-", "--", "a", "ab", "ba", "a.b", "axb", "main", "main\n", "a|b", "(a)", "^a", "\0", "sh", "s"];
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
        ] {
            let (pattern, regex) = (Pattern::new(source).unwrap(), regex_lite::Regex::new(source).unwrap());
            for text in texts {
                assert_eq!(pattern.is_match(text), regex.is_match(text), "{source} of {text:?}");
            }
        }
        // Not compiled otherwise, it would fit nothing.
        assert!(Pattern::new("(?x) ( ?i: FROB )").unwrap().is_match("frob x"));
        let is_compared = |source: &str| !matches!(Pattern::new(source).unwrap(), Pattern::Other { .. });
        assert!(is_compared("^(main|master)$") && is_compared("^--") && !is_compared("main"));
    }
}
