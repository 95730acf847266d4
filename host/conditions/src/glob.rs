//! Patterns of paths and names, compared in a time that is at most the product of both lengths.

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
    Literal(u8),
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
        let glob = Self { text: pattern.into(), is_word: false };
        let mut at = 0;
        while let Some((token, next)) = glob.token(at) {
            if matches!(token, Token::Literal(b'[')) {
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
        Self { text: word.into(), is_word: true }
    }

    /// Returns the pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
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
        let bytes = text.as_bytes();
        let crosses = matches!(comparison, Comparison::Word | Comparison::Name);
        let is_hidden = |at: usize| {
            comparison == Comparison::VisiblePath && bytes.get(at) == Some(&b'.') && (at == 0 || bytes[at - 1] == b'/')
        };
        let (mut pattern, mut at) = (0, 0);
        // Where to continue if something does not fit: after the last `*`, which then matches one character more, or after the last `**`,
        // which then matches one directory more. An earlier wildcard could not match more than these.
        let (mut any, mut directories): (Option<(usize, usize)>, Option<(usize, usize)>) = (None, None);
        loop {
            let is_fit = match self.token(pattern) {
                None if at == bytes.len() || (covers && bytes[at] == b'/') => return true,
                None => false,
                Some((Token::Any, next)) => {
                    any = Some((next, at));
                    if crosses {
                        directories = None;
                    }
                    pattern = next;
                    continue;
                }
                Some((Token::Directories, next)) => {
                    if next == self.text.len() {
                        return true;
                    }
                    (any, directories) = (None, Some((next, at)));
                    pattern = next;
                    continue;
                }
                Some((token, next)) => {
                    let fit = token.fit(text, at, comparison).filter(|_| {
                        // A literal dot is no wildcard.
                        matches!(token, Token::Literal(_)) || !is_hidden(at)
                    });
                    if let Some(length) = fit {
                        if !crosses && bytes[at] == b'/' {
                            any = None;
                        }
                        (pattern, at) = (next, at + length);
                    }
                    fit.is_some()
                }
            };
            if is_fit {
                continue;
            }
            let more = any.filter(|(_, from)| *from < bytes.len() && (crosses || bytes[*from] != b'/'));
            if let Some((next, from)) = more.filter(|(_, from)| !is_hidden(*from)) {
                (pattern, at) = (next, from + length_at(text, from));
                any = Some((next, at));
                continue;
            }
            let more = directories.and_then(|(next, from)| Some((next, from + text[from..].find('/')? + 1)));
            let Some((next, from)) = more else { return false };
            (pattern, at) = (next, from);
            (any, directories) = (None, more);
        }
    }

    /// Returns the part of the pattern at an offset, and the offset after it.
    fn token(&self, at: usize) -> Option<(Token<'_>, usize)> {
        let bytes = self.text.as_bytes();
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
            b'[' => self.class(at).unwrap_or((Token::Literal(b'['), at + 1)),
            literal => (Token::Literal(*literal), at + 1),
        })
    }

    /// Reads the class at an offset. A `]` at its beginning is one of its characters.
    fn class(&self, at: usize) -> Option<(Token<'_>, usize)> {
        let is_negated = |sign: &u8| *sign == b'!' || (self.is_word && *sign == b'^');
        let is_negated = self.text.as_bytes().get(at + 1).is_some_and(is_negated);
        let begin = at + 1 + usize::from(is_negated);
        let first = begin + self.text[begin..].chars().next()?.len_utf8();
        let end = first + self.text[first..].find(']')?;
        let class = &self.text[begin..end];
        if self.is_word && ["[:", "[.", "[="].iter().any(|named| class.contains(named)) {
            // `[[:alpha:]_]`
            let end = end + 1 + self.text[end + 1..].find(']')?;
            return Some((Token::One, end + 1));
        }
        Some((Token::Class(class, is_negated), end + 1))
    }
}

impl Token<'_> {
    /// Returns how many bytes at an offset the token matches, if it matches there.
    fn fit(self, text: &str, at: usize, comparison: Comparison) -> Option<usize> {
        let byte = *text.as_bytes().get(at)?;
        let ignores_case = comparison == Comparison::Name;
        if let Token::Literal(literal) = self {
            let is_same = literal == byte || (ignores_case && literal.eq_ignore_ascii_case(&byte));
            return is_same.then_some(1);
        }
        if byte == b'/' && !matches!(comparison, Comparison::Word | Comparison::Name) {
            return None;
        }
        let length = length_at(text, at);
        if let Token::Class(class, is_negated) = self {
            let letter = text[at..].chars().next()?;
            let is_of_class = is_of(class, letter)
                || (ignores_case
                    && (is_of(class, letter.to_ascii_lowercase()) || is_of(class, letter.to_ascii_uppercase())));
            return (is_of_class != is_negated).then_some(length);
        }
        Some(length)
    }
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

/// Returns the length of the character at an offset.
fn length_at(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
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
