//! The shapes of known secrets, and a matcher for these shapes. The matcher is written by hand and costs only a few units of fuel per byte.
//! `regex-lite` costs about 500 units per byte, and a result may contain long base64 texts.

use crate::value;
use std::ops::Range;

/// The text that must follow the beginning of a match.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// These parts in sequence. The secret is the start together with all parts.
    Parts(&'static [Part]),
    /// These parts in sequence. The start is public, and the secret is the rest.
    After(&'static [Part]),
    /// The start is a name, followed by `=` or `:` and the secret.
    Assigned,
    /// The start is a name, followed by `=` or `:`, the scheme of an `Authorization` header, and the secret.
    Header,
    /// `user:secret@` in a URL.
    Url,
    /// A private key, from its first line to its last line.
    Key,
}

/// A part of a secret.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    /// This text.
    Text(&'static str),
    /// A run of bytes in the set, with this minimum length.
    Run(Set, usize),
    /// Exactly this number of bytes in the set, with no further such byte after them.
    Just(Set, usize),
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// `A-Z2-7`: base32.
    Base32,
    /// Letters and digits.
    Alnum,
    /// Letters, digits and `_`.
    Word,
    /// Letters, digits, `_` and `-`: base64url.
    Token,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Letters, digits, `+`, `/` and `=`: base64.
    Base64,
    /// Letters, digits, `_` and `/`.
    Path,
    /// The characters of a bearer token (RFC 6750).
    Bearer,
    /// Spaces and tabs.
    Blank,
}

/// The schemes of an `Authorization` header.
const SCHEMES: [&str; 6] = ["bearer", "basic", "token", "apikey", "bot", "digest"];
/// Maximum length of the user and of the password in a URL, in bytes.
const MAX_USER: usize = 64;
const MAX_PASSWORD: usize = 128;
/// Maximum distance of the words `PRIVATE KEY` from the start of a key's first line, in bytes.
const MAX_LABEL: usize = 48;

impl Shape {
    /// Returns the secret that begins with the start at `from..to`.
    pub(crate) fn find(self, text: &str, from: usize, to: usize, check: fn(&str) -> bool) -> Option<Range<usize>> {
        let place = match self {
            Self::Parts(parts) => from..follow(text, to, parts)?,
            Self::After(parts) => to..follow(text, to, parts)?,
            Self::Assigned => return value::place(text, value::beginning(text, to)?, check),
            Self::Header => header(text, value::beginning(text, to)?)?,
            Self::Url => url_password(text, to)?,
            Self::Key => from..key_end(text, to)?,
        };
        check(&text[place.clone()]).then_some(place)
    }
}

impl Set {
    fn holds(self, byte: u8) -> bool {
        match self {
            Self::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Token => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/'),
            Self::Bearer => byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte),
            Self::Blank => matches!(byte, b' ' | b'\t'),
        }
    }

    fn run(self, text: &str, at: usize) -> usize {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        rest.iter().position(|byte| !self.holds(*byte)).unwrap_or(rest.len())
    }
}

/// Returns the position after these parts if the text at `at` consists of them.
fn follow(text: &str, mut at: usize, parts: &[Part]) -> Option<usize> {
    for part in parts {
        at += match *part {
            Part::Text(part) => text.get(at..)?.starts_with(part).then_some(part.len())?,
            Part::Run(set, least) => Some(set.run(text, at)).filter(|length| *length >= least)?,
            Part::Just(set, length) => (set.run(text, at) == length).then_some(length)?,
        };
    }
    Some(at)
}

fn header(text: &str, at: usize) -> Option<Range<usize>> {
    let scheme = Set::Alnum.run(text, at);
    if !SCHEMES.iter().any(|known| text[at..at + scheme].eq_ignore_ascii_case(known)) {
        return None;
    }
    let blank = Set::Blank.run(text, at + scheme);
    let start = at + scheme + blank;
    let length =
        text[start..].find(|c: char| c.is_whitespace() || "\"'`,;\\".contains(c)).unwrap_or(text.len() - start);
    (blank > 0 && length >= 8).then_some(start..start + length)
}

fn url_password(text: &str, at: usize) -> Option<Range<usize>> {
    // These characters end a user name or a password. If none of them follows within the maximum length, the text is too long to be a user
    // name or a password.
    let end = |from: usize, longest: usize| {
        let rest = text.as_bytes().get(from..)?;
        let stop = |byte: &u8| byte.is_ascii_whitespace() || b"/:@\"'`<>".contains(byte);
        rest.iter().take(longest + 1).position(stop).map(|length| from + length)
    };
    let user = end(at, MAX_USER)?;
    let start = (text.as_bytes()[user] == b':').then_some(user + 1)?;
    let password = end(start, MAX_PASSWORD)?;
    (text.as_bytes()[password] == b'@' && password - start >= 3).then_some(start..password)
}

/// Returns the end of a key. A key without its last line extends to the end of the text.
fn key_end(text: &str, at: usize) -> Option<usize> {
    let label = &text[at..text.floor_char_boundary(text.len().min(at + MAX_LABEL))];
    if !label.split("-----").next()?.contains("PRIVATE KEY") {
        return None;
    }
    let Some(end) = text[at..].find("-----END ") else { return Some(text.len()) };
    let last = at + end + "-----END ".len();
    Some(text[last..].find("-----").map_or(text.len(), |dashes| last + dashes + "-----".len()))
}
