//! Patterns of names, in which `*` matches any text, including the empty text.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A pattern of a tool's name, in which `*` matches any text, including the empty text. A pattern is not empty and has
/// no spaces or control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolPattern(String);

/// A pattern of a key of a JSON object, in which `*` matches any text, including the empty text. A pattern is not empty
/// and has no control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyPattern(String);

/// The text is not a valid pattern.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPattern(&'static str);

impl ToolPattern {
    /// Returns true if the tool's name matches. Ignores upper and lower case.
    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        fits(&self.0.to_lowercase(), &tool.to_lowercase())
    }

    fn rule(text: &str) -> Result<(), InvalidPattern> {
        if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(InvalidPattern(
                "a tool pattern is a tool's name, with `*` for any text: it cannot be empty or hold spaces or control \
                 characters",
            ));
        }
        Ok(())
    }
}

impl KeyPattern {
    /// Returns true if the key matches. Ignores upper and lower case of ASCII letters: `*password*` also matches
    /// `dbPassword`.
    #[must_use]
    pub fn matches(&self, key: &str) -> bool {
        fits(&self.0.to_ascii_lowercase(), &key.to_ascii_lowercase())
    }

    fn rule(text: &str) -> Result<(), InvalidPattern> {
        if text.is_empty() || text.contains(char::is_control) {
            return Err(InvalidPattern(
                "a key pattern is a key's name, with `*` for any text: it cannot be empty or hold control characters",
            ));
        }
        Ok(())
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    // Let each piece take its first match, because this leaves the most text for the next pieces.
    let between = text.strip_prefix(head).and_then(|text| text.strip_suffix(tail));
    let left = between.and_then(|text| {
        middle.split('*').try_fold(text, |text, piece| text.find(piece).map(|at| &text[at + piece.len()..]))
    });
    left.is_some()
}

macro_rules! texts {
    ($($pattern:ident)*) => {$(
        impl $pattern {
            /// Returns the pattern as written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $pattern {
            type Err = InvalidPattern;

            fn from_str(text: &str) -> Result<Self, InvalidPattern> {
                text.to_owned().try_into()
            }
        }

        impl TryFrom<String> for $pattern {
            type Error = InvalidPattern;

            fn try_from(text: String) -> Result<Self, InvalidPattern> {
                Self::rule(&text)?;
                Ok(Self(text))
            }
        }

        impl From<$pattern> for String {
            fn from(pattern: $pattern) -> Self {
                pattern.0
            }
        }

        impl fmt::Display for $pattern {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

texts! { ToolPattern KeyPattern }
