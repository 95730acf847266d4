//! Rewrites a JSON text before the text is parsed, if two parsers could read its numbers or characters differently.

use serde_json::Value;

/// Maximum depth of nested values. In tolerant mode, a value that is nested deeper becomes a string that contains its
/// JSON.
pub(super) const MAX_DEPTH: usize = 100;

/// Returns the position after the JSON string that begins at `at`.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        if bytes.get(at + found) == Some(&b'"') {
            return at + found + 1;
        }
        // The character after a backslash belongs to the escape.
        at += found + 2;
    }
    bytes.len()
}

/// Returns the position after the JSON number that begins at `at`.
fn end_of_number(bytes: &[u8], at: usize) -> usize {
    let is_of_number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    at + bytes.iter().skip(at).take_while(is_of_number).count()
}

/// Returns true if a number does not fit an `i64`, `u64` or `f64`. Some parsers refuse such a number, and other parsers
/// round it in different ways.
fn is_long(number: &str) -> bool {
    /// An integer that does not fit into 64 bits has at least this number of digits.
    const MIN_DIGITS: usize = 19;
    let is_integer = !number.contains(['.', 'e', 'E']);
    if is_integer {
        number.len() >= MIN_DIGITS && number.parse::<i64>().is_err() && number.parse::<u64>().is_err()
    } else {
        number.parse::<f64>().is_ok_and(f64::is_infinite)
    }
}

/// Returns true if a valid JSON text has a number that does not fit an `i64`, `u64` or `f64`.
pub(super) fn has_long_number(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_text(bytes, at),
            b'-' | b'0'..=b'9' => {
                let end = end_of_number(bytes, at);
                if text.get(at..end).is_some_and(is_long) {
                    return true;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    false
}

/// A valid JSON text in which each number that a parser would round is replaced by a string. In tolerant mode, two more
/// things are replaced: U+FFFD replaces an unpaired surrogate escape, and a string replaces a value that is nested too
/// deep.
pub(super) struct RewrittenJson {
    pub(super) text: String,
    pub(super) has_long_numbers: bool,
    pub(super) has_half_characters: bool,
    pub(super) is_deep: bool,
}

impl RewrittenJson {
    pub(super) fn of(text: &str, is_tolerant: bool) -> Self {
        let mut all = Self {
            text: String::with_capacity(text.len()),
            has_long_numbers: false,
            has_half_characters: false,
            is_deep: false,
        };
        let bytes = text.as_bytes();
        let (mut at, mut depth) = (0, 0_usize);
        while let Some(byte) = bytes.get(at) {
            let mut end = at + 1;
            let part = |end: usize| text.get(at..end).unwrap_or_default();
            match byte {
                b'"' => {
                    end = end_of_text(bytes, at);
                    if is_tolerant { all.push_whole(part(end)) } else { all.text.push_str(part(end)) }
                }
                b'-' | b'0'..=b'9' => {
                    end = end_of_number(bytes, at);
                    let number = part(end);
                    if is_long(number) {
                        all.has_long_numbers = true;
                        all.text.extend(["\"", number, "\""]);
                    } else {
                        all.text.push_str(number);
                    }
                }
                b'[' | b'{' if is_tolerant && depth >= MAX_DEPTH => {
                    end = end_of_nested(bytes, at);
                    all.is_deep = true;
                    all.text.push_str(&Value::from(part(end)).to_string());
                }
                _ => {
                    match byte {
                        b'[' | b'{' => depth += 1,
                        b']' | b'}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    all.text.push_str(part(end));
                }
            }
            at = end;
        }
        all
    }

    /// Appends a JSON string, with U+FFFD in place of each unpaired surrogate escape.
    fn push_whole(&mut self, text: &str) {
        let unit = |at: usize| {
            let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
            u16::from_str_radix(digits, 16).ok()
        };
        let mut at = 0;
        while let Some(escape) = text.get(at..).and_then(|rest| rest.find('\\')).map(|before| at + before) {
            self.text.push_str(&text[at..escape]);
            let length = match unit(escape) {
                Some(0xd800..=0xdbff) if matches!(unit(escape + 6), Some(0xdc00..=0xdfff)) => 12,
                Some(0xd800..=0xdfff) => {
                    self.has_half_characters = true;
                    self.text.push_str("\\ufffd");
                    at = escape + 6;
                    continue;
                }
                Some(_) => 6,
                None => 2,
            };
            self.text.push_str(text.get(escape..escape + length).unwrap_or_default());
            at = escape + length;
        }
        self.text.push_str(text.get(at..).unwrap_or_default());
    }
}

/// Returns the position after the JSON array or object that begins at `at`.
fn end_of_nested(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_text(bytes, at);
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}
