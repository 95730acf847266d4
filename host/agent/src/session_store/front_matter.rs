//! Lines of key and value, in `session.conf` and in the front matter of messages.
//!
//! A value with control characters or invalid UTF-8, such as a path with a line break, is percent-encoded under `key*`,
//! like parameters of HTTP headers (RFC 8187). So no value can end the front matter or add a key.

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// Encoded characters: everything that could end a line or a word.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'"').add(b'`');

/// Keys and values, in writing order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    /// Parses lines and skips those without the separator. The last value of a repeated key counts.
    pub(super) fn parse(lines: &str, separator: char) -> Self {
        let mut fields = Self::default();
        for line in lines.split('\n') {
            let Some((key, value)) = line.split_once(separator) else { continue };
            // The space of `key: value` is not part of the value.
            let value = if separator == ':' { value.strip_prefix(' ').unwrap_or(value) } else { value };
            match key.strip_suffix('*') {
                Some(key) => fields.set_bytes(key, percent_decode_str(value).collect()),
                None => fields.set_bytes(key, value.as_bytes().to_vec()),
            }
        }
        fields
    }

    /// Returns one line per field.
    pub(super) fn text(&self, separator: &str) -> String {
        let mut text = String::new();
        for (key, value) in &self.0 {
            let _ = match std::str::from_utf8(value) {
                Ok(plain) if is_plain(plain) => writeln!(text, "{key}{separator}{plain}"),
                _ => writeln!(text, "{key}*{separator}{}", percent_encode(value, NON_ALPHANUMERIC)),
            };
        }
        text
    }

    pub(super) fn set(&mut self, key: &str, value: &(impl ToString + ?Sized)) {
        self.set_bytes(key, value.to_string().into_bytes());
    }

    pub(super) fn set_path(&mut self, key: &str, value: &OsStr) {
        self.set_bytes(key, value.as_bytes().to_vec());
    }

    fn set_bytes(&mut self, key: &str, value: Vec<u8>) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.0.retain(|(known, _)| known != key);
    }

    /// Returns the value of a key, if it is UTF-8.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        std::str::from_utf8(self.bytes(key)?).ok()
    }

    /// Returns the value of a key, if it is not empty.
    pub(super) fn word(&self, key: &str) -> Option<String> {
        self.get(key).filter(|value| !value.is_empty()).map(str::to_owned)
    }

    /// Returns the number under a key; 0 if there is none.
    pub(super) fn number(&self, key: &str) -> u64 {
        self.get(key).and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    }

    pub(super) fn path(&self, key: &str) -> Option<OsString> {
        self.bytes(key).map(|value| OsString::from_vec(value.to_vec()))
    }

    fn bytes(&self, key: &str) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_slice())
    }
}

fn is_plain(value: &str) -> bool {
    !value.contains(char::is_control)
}

/// Writes a word of a fence: `key=value`, or `key*=` and the encoded value if it is empty or has white space.
pub(super) fn word(key: &str, value: &str) -> String {
    if !value.is_empty() && is_plain(value) && !value.contains(char::is_whitespace) {
        return format!("{key}={value}");
    }
    format!("{key}*={}", percent_encode(value.as_bytes(), ENCODED))
}

/// Returns the value of such a word.
pub(super) fn unword(key: &str, word: &str) -> Option<String> {
    let rest = word.strip_prefix(key)?;
    match rest.strip_prefix("*=") {
        Some(encoded) => percent_decode_str(encoded).decode_utf8().ok().map(std::borrow::Cow::into_owned),
        None => rest.strip_prefix('=').filter(|value| !value.is_empty()).map(str::to_owned),
    }
}
