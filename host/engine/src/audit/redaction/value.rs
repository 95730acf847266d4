//! Redacts one value for the log. The values of masked keys are masked, and a value that is too large is cut.
//!
//! A value is masked before it is cut. So the recorded beginning of a cut value contains no masked value, and the
//! digest cannot be used to guess a masked value. Masking works on the JSON text and does not recurse into nested
//! values, so values can be nested to any depth. Masking leaves every other byte unchanged, including repeated keys and
//! the spelling of numbers.

use crate::audit::raw;
use crate::config::{AuditSettings, Digest, KeyPattern};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// The JSON string that replaces a masked value.
const MASKED: &str = r#""(masked)""#;
/// Maximum number of bytes of a cut value that are recorded.
const BEGINNING: usize = 1024;
/// Maximum number of masked values that are listed, and maximum size in bytes of the pointer to each of them. Without
/// these limits, the list could make the log large.
const MAX_LISTED: usize = 64;
const MAX_POINTER_BYTES: usize = 256;

/// The parts of a value that the log leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct Redacted {
    /// JSON pointers (RFC 6901) to the values that were replaced by `"(masked)"`. There are at most 64 pointers of at
    /// most 256 bytes each. A pointer can continue into a string that contains JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<String>,
    /// Number of masked values that are not in `masked`.
    #[serde(skip_serializing_if = "is_zero")]
    pub masked_unlisted: u64,
    /// True if the value was too large. In this case the log contains `{"cut": {"bytes": …, "sha256": …, "begins": …}}`
    /// in place of the value. These members are the size, the digest and up to 1 KiB of the beginning of the masked
    /// JSON text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl Redacted {
    /// Returns true if the value is in the log unchanged.
    #[must_use]
    pub(crate) fn is_nothing(&self) -> bool {
        self.masked.is_empty() && self.masked_unlisted == 0 && !self.cut
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Returns the value in the form in which it is logged, and the parts that are left out. If the configuration masks no
/// keys, this function only checks the length.
pub(crate) fn redact<'a>(value: &'a RawValue, settings: &AuditSettings) -> (Cow<'a, RawValue>, Redacted) {
    let mut mask = Mask { keys: &settings.mask, redacted: Redacted::default() };
    let masked = if mask.keys.is_empty() { None } else { mask.apply(value.get(), "") };
    let mut redacted = mask.redacted;
    let recorded = match masked {
        None => Cow::Borrowed(value),
        Some(text) => match RawValue::from_string(text) {
            Ok(masked) => Cow::Owned(masked),
            // If masking fails, no part of the value is recorded.
            Err(_) => {
                redacted.cut = true;
                return (Cow::Owned(cut("")), redacted);
            }
        },
    };
    if recorded.get().len() <= settings.largest_value.get() {
        return (recorded, redacted);
    }
    redacted.cut = true;
    (Cow::Owned(cut(recorded.get())), redacted)
}

/// Returns the replacement for a JSON text that is too large.
fn cut(text: &str) -> Box<RawValue> {
    #[derive(Serialize)]
    struct CutValue<'a> {
        cut: Cut<'a>,
    }
    #[derive(Serialize)]
    struct Cut<'a> {
        bytes: usize,
        sha256: Digest,
        begins: &'a str,
    }
    let begins = &text[..text.floor_char_boundary(BEGINNING)];
    raw(&CutValue { cut: Cut { bytes: text.len(), sha256: Digest::of_bytes(text.as_bytes()), begins } })
}

struct Mask<'k> {
    keys: &'k [KeyPattern],
    redacted: Redacted,
}

/// One level of nesting.
enum Level<'t> {
    /// In an object, before a key.
    Key,
    /// In an object, at the value of this key. The key is spelled as in the text.
    Member(&'t str),
    /// In an array, at this index.
    Item(usize),
}

impl Mask<'_> {
    /// Masks a JSON text that contains one or more values. Returns `None` if no value in it is masked. `at` is the
    /// pointer to the string that contains the text.
    ///
    /// The function calls itself for JSON in strings. The recursion is not deep, because each further string around a
    /// JSON text at least doubles the length of the text.
    fn apply(&mut self, text: &str, at: &str) -> Option<String> {
        let mut spliced = Spliced { text, copied: 0, new: String::new() };
        let mut levels: Vec<Level<'_>> = Vec::new();
        let mut position = 0;
        while let Some(byte) = text.as_bytes().get(position) {
            let begin = position;
            position += 1;
            match byte {
                b'{' => levels.push(Level::Key),
                b'[' => levels.push(Level::Item(0)),
                b'}' | b']' => {
                    levels.pop();
                }
                b',' => match levels.last_mut() {
                    Some(Level::Item(index)) => *index += 1,
                    Some(object) => *object = Level::Key,
                    None => {}
                },
                b'"' => {
                    position = string_end(text, begin);
                    let string = &text[begin..position];
                    if let Some(level @ Level::Key) = levels.last_mut() {
                        *level = Level::Member(string);
                        if self.is_masked(string) {
                            let value = value_after(text, position);
                            position = value.end;
                            spliced.replace(value, MASKED);
                            self.list(at, &levels);
                        }
                    } else if let Some(masked) = self.apply_inside(string, at, &levels) {
                        spliced.replace(begin..position, &masked);
                    }
                }
                _ => {}
            }
        }
        spliced.finish()
    }

    /// Returns true if a key is masked. A key with escapes may not be valid Unicode. Such a key is masked, because it
    /// cannot be compared with the patterns.
    fn is_masked(&self, key: &str) -> bool {
        unescaped(key).is_none_or(|key| self.keys.iter().any(|pattern| pattern.matches(&key)))
    }

    /// Masks the JSON in a string. Returns `None` if no value in the string is masked.
    fn apply_inside(&mut self, string: &str, at: &str, levels: &[Level<'_>]) -> Option<String> {
        // A backslash is accepted, because it may begin an escaped white space, bracket or quote.
        if !string[1..].trim_ascii_start().starts_with(['{', '[', '\\']) {
            return None;
        }
        let Some(inside) = unescaped(string) else {
            self.list(at, levels);
            return Some(MASKED.to_owned());
        };
        if !inside.trim_ascii_start().starts_with(['{', '[', '"']) {
            return None;
        }
        if serde_json::Deserializer::from_str(&inside).into_iter::<&RawValue>().any(|value| value.is_err()) {
            return None;
        }
        // A pointer that is too long for the list stays too long at deeper levels.
        let at = pointer(at, levels).unwrap_or_else(|| "/".repeat(MAX_POINTER_BYTES + 1));
        let masked = self.apply(&inside, &at)?;
        Some(raw(&masked).get().to_owned())
    }

    fn list(&mut self, at: &str, levels: &[Level<'_>]) {
        let room = self.redacted.masked.len() < MAX_LISTED;
        match pointer(at, levels).filter(|_| room) {
            Some(pointer) => self.redacted.masked.push(pointer),
            None => self.redacted.masked_unlisted += 1,
        }
    }
}

/// Returns the pointer to the value below these levels, in the string at `at`; `None` if it is too long for the list.
fn pointer(at: &str, levels: &[Level<'_>]) -> Option<String> {
    let mut pointer = at.to_owned();
    for level in levels {
        pointer.push('/');
        match level {
            Level::Key => {}
            // The key is too long for the list even if it consists only of escapes of six bytes. So it is not
            // unescaped.
            Level::Member(key) if key.len() > 6 * MAX_POINTER_BYTES + 2 => return None,
            Level::Member(key) => {
                let key = unescaped(key).unwrap_or(Cow::Borrowed("\u{fffd}"));
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Level::Item(index) => pointer.push_str(&index.to_string()),
        }
        if pointer.len() > MAX_POINTER_BYTES {
            return None;
        }
    }
    (pointer.len() <= MAX_POINTER_BYTES).then_some(pointer)
}

/// A copy of a text in which parts are replaced, from the first to the last. The rest is copied unchanged.
struct Spliced<'t> {
    text: &'t str,
    copied: usize,
    new: String,
}

impl Spliced<'_> {
    fn replace(&mut self, range: Range<usize>, with: &str) {
        self.new.push_str(&self.text[self.copied..range.start]);
        self.new.push_str(with);
        self.copied = range.end;
    }

    fn finish(mut self) -> Option<String> {
        if self.copied == 0 {
            return None;
        }
        self.new.push_str(&self.text[self.copied..]);
        Some(self.new)
    }
}

/// Returns the text of a JSON string; `None` if it is not valid Unicode.
fn unescaped(string: &str) -> Option<Cow<'_, str>> {
    if string.contains('\\') {
        serde_json::from_str(string).ok().map(Cow::Owned)
    } else {
        string.get(1..string.len() - 1).map(Cow::Borrowed)
    }
}

/// Returns the end of the string that begins at `begin`.
fn string_end(text: &str, begin: usize) -> usize {
    let bytes = text.as_bytes();
    let mut position = begin + 1;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'"' => return position + 1,
            b'\\' => position += 2,
            _ => position += 1,
        }
    }
    text.len()
}

/// Returns the range of the value that follows the key with this end.
fn value_after(text: &str, key_end: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let between = |byte: &u8| *byte == b':' || byte.is_ascii_whitespace();
    let begin = key_end + bytes[key_end..].iter().take_while(|byte| between(byte)).count();
    let mut position = begin;
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'"' => {
                position = string_end(text, position);
                if depth == 0 {
                    return begin..position;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            // A number or a word ends at a comma, or at the end of the array or object around it.
            b'}' | b']' | b',' if depth == 0 => return begin..position,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return begin..position + 1;
                }
            }
            byte if depth == 0 && byte.is_ascii_whitespace() => return begin..position,
            _ => {}
        }
        position += 1;
    }
    begin..text.len()
}

#[cfg(test)]
mod tests;
