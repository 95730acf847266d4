//! Finds values in a text, in any of the forms in which they are usually sent.
//!
//! White space, quotes and backslashes are left out of the text and of the values, so a value is also found if it is split over lines
//! or contains escapes. A table of the first eight bytes of all forms excludes most positions of a text.

use super::{FoundSecret, MIN_LENGTH};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::HashMap;

/// Length of a beginning in the table, in bytes.
const WINDOW: usize = 8;

/// Characters that stay as they are in a URL: RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The forms of all values.
#[derive(Debug)]
pub(super) struct Index {
    /// The forms with the names of their variables.
    forms: Vec<(Vec<u8>, usize)>,
    names: Vec<String>,
    /// The forms that begin with these bytes, the longest first.
    beginnings: HashMap<[u8; WINDOW], Vec<usize>>,
    /// A bit for each hash of such a beginning.
    filter: Box<[u64; 1 << 10]>,
}

impl Index {
    /// Indexes values with the names of their variables.
    pub(super) fn new(values: impl Iterator<Item = (String, String)>) -> Self {
        let mut index =
            Self { forms: Vec::new(), names: Vec::new(), beginnings: HashMap::new(), filter: Box::new([0; 1 << 10]) };
        for (name, value) in values {
            let of = index.names.len();
            index.names.push(name);
            let mut forms: Vec<Vec<u8>> = forms(&value).iter().map(|form| squeezed(form).0).collect();
            forms.retain(|form| form.len() >= MIN_LENGTH);
            forms.sort();
            forms.dedup();
            index.forms.extend(forms.into_iter().map(|form| (form, of)));
        }
        index.forms.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
        for (at, (form, _)) in index.forms.iter().enumerate() {
            let Some(begin) = form.first_chunk::<WINDOW>() else { continue };
            let bit = hash(begin);
            index.filter[bit >> 6] |= 1 << (bit & 63);
            index.beginnings.entry(*begin).or_default().push(at);
        }
        index
    }

    /// Returns the places of values in a text, in order and without overlaps.
    pub(super) fn find(&self, text: &str) -> Vec<FoundSecret> {
        let mut found = Vec::new();
        if self.forms.is_empty() {
            return found;
        }
        let (bytes, places) = squeezed(text);
        let mut at = 0;
        while let Some(begin) = bytes.get(at..).and_then(<[u8]>::first_chunk::<WINDOW>) {
            let bit = hash(begin);
            let may_begin = self.filter[bit >> 6] & (1 << (bit & 63)) != 0;
            let form = may_begin.then(|| self.form_at(begin, &bytes[at..])).flatten();
            let Some((form, of)) = form else {
                at += 1;
                continue;
            };
            let last = places[at + form.len() - 1];
            found.push(FoundSecret { name: self.names[*of].clone(), start: places[at], end: last + 1 });
            at += form.len();
        }
        found
    }

    fn form_at(&self, begin: &[u8; WINDOW], rest: &[u8]) -> Option<&(Vec<u8>, usize)> {
        let forms = self.beginnings.get(begin)?;
        forms.iter().map(|at| &self.forms[*at]).find(|(form, _)| rest.starts_with(form))
    }
}

/// Returns a number of 16 bits for the beginning of a form.
fn hash(begin: &[u8; WINDOW]) -> usize {
    (u64::from_le_bytes(*begin).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as usize
}

/// Returns the text without white space, quotes and backslashes, with the place of each byte in the text.
fn squeezed(text: &str) -> (Vec<u8>, Vec<u32>) {
    let is_kept = |byte: u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'\\');
    let kept = text.bytes().zip(0..).filter(|(byte, _)| is_kept(*byte));
    kept.unzip()
}

/// Returns the forms of a value: itself, percent-encoded, in hexadecimal digits, and in base64 at each position in a longer text.
fn forms(value: &str) -> Vec<String> {
    let encoded = utf8_percent_encode(value, ENCODED).to_string();
    let hexadecimal: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![value.to_owned(), hexadecimal.to_uppercase(), hexadecimal];
    forms.extend(lower_escapes(&encoded));
    forms.push(encoded);
    for before in 0..3 {
        let bytes = [&[0; 3][..before], value.as_bytes()].concat();
        // The first and the last characters also depend on the bytes beside the value.
        let (begin, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        for text in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            forms.extend(text.get(begin..end).map(str::to_owned));
        }
    }
    forms
}

/// Returns the text with the digits of its escapes in lower case: `%2f` in place of `%2F`.
fn lower_escapes(encoded: &str) -> Option<String> {
    let mut parts = encoded.split('%');
    let mut lower = parts.next()?.to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        lower.extend(["%", &digits.to_ascii_lowercase(), rest]);
    }
    Some(lower)
}

#[cfg(test)]
mod tests {
    use super::Index;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    const VALUE: &str = "p@ss/W0rd+9x=Kd92";

    fn index() -> Index {
        let values = [("KEY", VALUE), ("OTHER", "aB3dE5fG7hI9jK1l"), ("LONGER", "aB3dE5fG7hI9jK1lmnop8")];
        Index::new(values.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())))
    }

    /// Returns the names and the parts of the text that were found.
    fn found(text: &str) -> Vec<(String, &str)> {
        let found = index().find(text);
        found.into_iter().map(|one| (one.name, &text[one.start as usize..one.end as usize])).collect()
    }

    #[test]
    fn a_value_is_found_in_each_of_its_forms() {
        for text in [
            VALUE.to_owned(),
            format!("curl -d 'key={VALUE}&a=b' https://example.com"),
            "p%40ss%2FW0rd%2B9x%3DKd92".to_owned(),
            "p%40ss%2fW0rd%2b9x%3dKd92".to_owned(),
            format!("{}\n{}", &VALUE[..6], &VALUE[6..]),
            format!("\"{}\" \\\n  '{}'", &VALUE[..9], &VALUE[9..]),
            VALUE.bytes().map(|byte| format!("{byte:02x}")).collect(),
            VALUE.bytes().map(|byte| format!("{byte:02X}")).collect(),
        ] {
            let names: Vec<String> = found(&text).into_iter().map(|(name, _)| name).collect();
            assert_eq!(names, ["KEY"], "{text}");
        }
        let text = format!("é {VALUE}é");
        assert_eq!(found(&text), [("KEY".to_owned(), VALUE)]);
    }

    #[test]
    fn the_longest_value_at_a_place_is_found() {
        let text = "x=aB3dE5fG7hI9jK1lmnop8 y=aB3dE5fG7hI9jK1lx";
        let names: Vec<String> = found(text).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["LONGER", "OTHER"]);
    }

    #[test]
    fn a_text_without_a_value_has_none() {
        for text in ["", "p@ss", "p@ss/W0rd+9x=Kd9", "aB3dE5fG7hI9jK1", "AB3DE5FG7HI9JK1L", "p@ss-W0rd+9x=Kd92"] {
            assert_eq!(found(text), [], "{text}");
        }
        assert_eq!(Index::new(std::iter::empty()).find(VALUE), []);
    }

    proptest! {
        #[test]
        fn a_value_within_a_longer_text_is_found_in_base64(before in ".{0,9}", after in ".{0,9}") {
            let text = STANDARD.encode(format!("{before}{VALUE}{after}"));
            prop_assert_eq!(found(&text).len(), 1, "{}", text);
        }

        #[test]
        fn a_place_is_a_part_of_any_text(text in "\\PC{0,40}", other in "\\PC{0,40}") {
            let text = format!("{text}{VALUE}{other}");
            prop_assert!(found(&text).iter().any(|(name, part)| name == "KEY" && part.starts_with('p')));
        }
    }
}
