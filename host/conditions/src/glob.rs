//! Patterns of paths and names, compared in a time that is at most the product of both lengths.

use std::borrow::Cow;
use std::cell::Cell;

/// A pattern: `*` stands for any characters, `?` for one, `[a-z]` and `[!a-z]` for one of a class, and `**` for any number of directories.
///
/// ```
/// use hookhost_conditions::glob::{Comparison, Glob};
///
/// let sources = Glob::new("src/**/*.rs")?;
/// assert!(sources.matches("src/a/b.rs", Comparison::Path) && sources.matches("src/b.rs", Comparison::Path));
/// assert!(Glob::new("*.example.com")?.matches("a.b.EXAMPLE.com", Comparison::Name));
/// assert!(Glob::new("infra")?.covers("infra/main.tf"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    text: Box<str>,
    /// True for a word of a shell, which is never wrong.
    is_word: bool,
    /// True if there is no wildcard.
    is_literal: bool,
}

/// The pairs of neighbouring ASCII letters and signs of a text, in few bits: most patterns are known not to match without a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pairs(u64);

impl Pairs {
    /// Returns the pairs of a text. The case of letters does not matter.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let pair = |pair: &[u8]| match pair {
            [first, second] if pair.is_ascii() => {
                let (first, second) = (first.to_ascii_lowercase(), second.to_ascii_lowercase());
                1 << (u64::from(first).wrapping_mul(37).wrapping_add(u64::from(second).wrapping_mul(11)) % 64)
            }
            _ => 0,
        };
        Self(text.as_bytes().windows(2).map(pair).fold(0, |pairs, pair| pairs | pair))
    }

    /// Returns the pairs of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns false if the other has a pair that this one does not have.
    #[must_use]
    pub fn may_contain(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }
}

/// What the wildcards of a [`Glob`] match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Comparison {
    /// A path: `*`, `?` and classes match within a component.
    Path,
    /// A path in a shell: `?`, classes, and `*` at the beginning of a component do not match a dot there.
    VisiblePath,
    /// Any text: wildcards also match `/`.
    Word,
    /// A name: wildcards also match `/`, and the case of ASCII letters does not matter.
    Name,
}

/// A part of a pattern.
#[derive(Clone, Copy)]
enum Token<'a> {
    Literal(&'a str),
    One,
    Any,
    Directories,
    /// The characters and ranges of a class, and whether it is negated.
    Class(&'a str, bool),
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// Returns one sentence if `**` is only a part of a component, or a `[` has no end.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let glob = Self { text: pattern.into(), is_word: false, is_literal: !pattern.contains(['*', '?', '[']) };
        let mut at = 0;
        while let Some((token, next)) = token(&glob.text, at, false) {
            if matches!(token, Token::Literal("[")) {
                return Err(format!("`{}` has no `]`", &pattern[at..]));
            }
            if matches!(token, Token::Any) && next > at + 1 {
                return Err("`**` stands for directories only as a whole component, such as `a/**/b`".to_owned());
            }
            at = next;
        }
        Ok(glob)
    }

    /// Reads a word of a shell. What is no pattern there stands for itself, and what only some shells understand matches more.
    #[must_use]
    pub fn of_shell(word: &str) -> Self {
        Self { text: word.into(), is_word: true, is_literal: false }
    }

    /// Returns the pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the pairs that each text has which the pattern matches.
    #[must_use]
    pub fn pairs(&self) -> Pairs {
        let (mut pairs, mut at) = (Pairs::default(), 0);
        while let Some((token, next)) = token(&self.text, at, self.is_word) {
            if let Token::Literal(literal) = token {
                pairs = pairs.and(Pairs::of(literal));
            }
            at = next;
        }
        pairs
    }

    /// Returns true if the pattern matches all of a text.
    #[must_use]
    pub fn matches(&self, text: &str, comparison: Comparison) -> bool {
        self.fits(text, comparison, false)
    }

    /// Returns true if the pattern matches a path, or a directory above it.
    #[must_use]
    pub fn covers(&self, path: &str) -> bool {
        self.fits(path, Comparison::Path, true)
    }

    fn fits(&self, text: &str, comparison: Comparison, covers: bool) -> bool {
        let is_name = comparison == Comparison::Name;
        if self.is_literal && !covers {
            return if is_name { self.text.eq_ignore_ascii_case(text) } else { *self.text == *text };
        }
        let has_capitals = |text: &str| is_name && text.bytes().any(|byte| byte.is_ascii_uppercase());
        let (pattern, text) = (lower(&self.text, has_capitals(&self.text)), lower(text, has_capitals(text)));
        let found = Cell::new((0, 0));
        Matching { pattern: &pattern, is_word: self.is_word, text: &text, comparison, found }.fits(covers)
    }
}

fn lower(text: &str, has_capitals: bool) -> Cow<'_, str> {
    if has_capitals { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) }
}

/// A comparison of a pattern with a text.
struct Matching<'a> {
    pattern: &'a str,
    is_word: bool,
    text: &'a str,
    comparison: Comparison,
    /// Where the literal text at an offset of the pattern was found last.
    found: Cell<Place>,
}

/// An offset in the pattern, and an offset in the text.
type Place = (usize, usize);

/// Where a `*` can end.
enum End {
    At(usize),
    /// Not here, but perhaps after a later `**`.
    NotHere,
    /// Nowhere after this.
    Nowhere,
}

impl<'a> Matching<'a> {
    fn fits(&self, covers: bool) -> bool {
        let (mut pattern, mut at) = (0, 0);
        // Where to continue if something does not fit: after the last `*`, which then matches one character more, or after the last `**`,
        // which then matches one directory more. An earlier wildcard could not match more than these.
        let (mut any, mut directories): (Option<Place>, Option<Place>) = (None, None);
        loop {
            let next = match self.token(pattern) {
                None if at == self.text.len() || (covers && self.text[at..].starts_with('/')) => return true,
                None => None,
                Some((Token::Any, next)) => {
                    if self.crosses() {
                        directories = None;
                    }
                    any = match self.end_of_any(next, at) {
                        End::At(end) => Some((next, end)),
                        End::NotHere => None,
                        End::Nowhere => return false,
                    };
                    any
                }
                Some((Token::Directories, next)) => {
                    if next == self.pattern.len() {
                        return true;
                    }
                    (any, directories) = (None, Some((next, at)));
                    directories
                }
                Some((token, next)) => self.end_of(token, at).map(|end| {
                    if !self.crosses() && self.text[at..end].contains('/') {
                        any = None;
                    }
                    (next, end)
                }),
            };
            if let Some(next) = next {
                (pattern, at) = next;
                continue;
            }
            any = match any.and_then(|(next, from)| Some((next, from + self.absorbed(from)?))) {
                None => None,
                Some((next, from)) => match self.end_of_any(next, from) {
                    End::At(end) => Some((next, end)),
                    End::NotHere => None,
                    End::Nowhere => return false,
                },
            };
            if any.is_none() {
                directories =
                    directories.and_then(|(next, from)| Some((next, from + self.text[from..].find('/')? + 1)));
            }
            let Some(next) = any.or(directories) else { return false };
            (pattern, at) = next;
        }
    }

    /// Returns true if `*` matches `/`.
    fn crosses(&self) -> bool {
        matches!(self.comparison, Comparison::Word | Comparison::Name)
    }

    fn token(&self, at: usize) -> Option<(Token<'a>, usize)> {
        token(self.pattern, at, self.is_word)
    }

    /// Returns the length of the character at an offset, if a wildcard matches it.
    fn absorbed(&self, at: usize) -> Option<usize> {
        let letter = self.text[at..].chars().next()?;
        let begins = || at == 0 || self.text.as_bytes()[at - 1] == b'/';
        let is_absorbed = match (self.comparison, letter) {
            (Comparison::Path | Comparison::VisiblePath, '/') => false,
            (Comparison::VisiblePath, '.') => !begins(),
            _ => true,
        };
        is_absorbed.then(|| letter.len_utf8())
    }

    /// Returns the first offset from `from` at which `*` can end, judging by the literal text after it.
    fn end_of_any(&self, next: usize, from: usize) -> End {
        let Some((Token::Literal(literal), _)) = self.token(next) else { return End::At(from) };
        let end = match self.found.get() {
            (of, end) if of == next && end >= from => end,
            _ => match find(&self.text[from..], literal) {
                Some(length) => from + length,
                None => return End::Nowhere,
            },
        };
        self.found.set((next, end));
        let is_absorbed =
            end == from || (self.absorbed(from).is_some() && (self.crosses() || !self.text[from..end].contains('/')));
        if is_absorbed { End::At(end) } else { End::NotHere }
    }

    /// Returns the offset after a token that is no star, if it matches at an offset.
    fn end_of(&self, token: Token<'_>, at: usize) -> Option<usize> {
        match token {
            Token::Literal(literal) => self.text[at..].starts_with(literal).then(|| at + literal.len()),
            Token::Class(class, is_negated) => {
                let length = self.absorbed(at)?;
                (is_of(class, self.text[at..].chars().next()?) != is_negated).then_some(at + length)
            }
            _ => Some(at + self.absorbed(at)?),
        }
    }
}

/// Finds a part of a text. For a short part, this takes less than the preparation of the standard search, which is linear.
fn find(text: &str, part: &str) -> Option<usize> {
    const SHORT: usize = 16;
    let (first, bytes) = (*part.as_bytes().first()?, text.as_bytes());
    if part.len() > SHORT {
        return text.find(part);
    }
    (0..bytes.len()).find(|at| bytes[*at] == first && bytes[*at..].starts_with(part.as_bytes()))
}

/// Returns the part of a pattern at an offset, and the offset after it.
fn token(pattern: &str, at: usize, is_word: bool) -> Option<(Token<'_>, usize)> {
    let bytes = pattern.as_bytes();
    Some(match bytes.get(at)? {
        b'?' => (Token::One, at + 1),
        b'*' => {
            let length = bytes[at..].iter().take_while(|byte| **byte == b'*').count();
            let next = at + length;
            match (length, at == 0 || bytes[at - 1] == b'/', bytes.get(next)) {
                // The slash after `**` is a part of it.
                (2, true, None | Some(b'/')) => (Token::Directories, (next + 1).min(bytes.len())),
                _ => (Token::Any, next),
            }
        }
        b'[' => class(pattern, at, is_word).unwrap_or((Token::Literal("["), at + 1)),
        _ => {
            let end = pattern[at..].find(['*', '?', '[']).map_or(pattern.len(), |length| at + length);
            (Token::Literal(&pattern[at..end]), end)
        }
    })
}

/// Reads the class at an offset. A `]` at its beginning is one of its characters.
fn class(pattern: &str, at: usize, is_word: bool) -> Option<(Token<'_>, usize)> {
    let is_negated = |sign: &u8| *sign == b'!' || (is_word && *sign == b'^');
    let is_negated = pattern.as_bytes().get(at + 1).is_some_and(is_negated);
    let begin = at + 1 + usize::from(is_negated);
    let first = begin + pattern[begin..].chars().next()?.len_utf8();
    let end = first + pattern[first..].find(']')?;
    let class = &pattern[begin..end];
    if is_word && ["[:", "[.", "[="].iter().any(|named| class.contains(named)) {
        // `[[:alpha:]_]`
        let end = end + 1 + pattern[end + 1..].find(']')?;
        return Some((Token::One, end + 1));
    }
    Some((Token::Class(class, is_negated), end + 1))
}

/// Returns true if a class has a letter, alone or in a range.
fn is_of(class: &str, letter: char) -> bool {
    let mut rest = class.chars();
    while let Some(first) = rest.next() {
        let mut range = rest.clone();
        let last = match (range.next(), range.next()) {
            (Some('-'), Some(last)) => {
                rest = range;
                last
            }
            _ => first,
        };
        if (first..=last).contains(&letter) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Glob};

    #[test]
    fn a_word_of_a_shell_matches_at_least_what_a_shell_would() {
        for (word, path) in [
            ("inf**a", "infra"),
            ("inf***", "infra"),
            ("**", "a/b"),
            ("inf[^x]a", "infra"),
            ("inf[[:alpha:]]a", "infra"),
            ("infra[", "infra["),
            ("a/*.x", "a/.x"),
        ] {
            assert!(Glob::of_shell(word).matches(path, Comparison::VisiblePath), "{word} {path}");
        }
        for (word, path) in [("*", ".env"), ("?env", ".env"), ("[.]env", ".env"), ("a/*", "a/.b"), ("*", "a/b")] {
            assert!(!Glob::of_shell(word).matches(path, Comparison::VisiblePath), "{word} {path}");
        }
    }

    #[test]
    fn a_pattern_covers_what_is_below() {
        for (pattern, path) in
            [("infra", "infra/a/b"), ("infra", "infra"), ("**/a*", "x/ab/c"), ("a/**/c", "a/c/d"), ("**", "x")]
        {
            assert!(Glob::new(pattern).unwrap().covers(path), "{pattern} {path}");
        }
        for (pattern, path) in [("infra", "infrastructure/a"), ("a/*.txt", "a/b/c.txt"), ("a/b", "a")] {
            assert!(!Glob::new(pattern).unwrap().covers(path), "{pattern} {path}");
        }
    }

    #[test]
    fn a_wrong_pattern_has_a_sentence() {
        for (pattern, sentence) in [
            ("a/[", "`[` has no `]`"),
            ("[!]", "`[!]` has no `]`"),
            ("a**b", "`**` stands for directories only as a whole component, such as `a/**/b`"),
            ("a/***", "`**` stands for directories only as a whole component, such as `a/**/b`"),
        ] {
            assert_eq!(Glob::new(pattern).unwrap_err(), sentence);
        }
    }
}
