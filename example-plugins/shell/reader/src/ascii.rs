//! Searches for ASCII characters in words, byte by byte. Because words are short, the searches of the standard library would need as much
//! time to start as these searches need in total.

/// Searches for ASCII bytes in a text.
pub trait Ascii {
    /// Returns true if the text contains this byte.
    fn has(&self, byte: u8) -> bool;

    /// Returns true if the text contains one of these bytes.
    fn has_one_of(&self, bytes: &[u8]) -> bool;

    /// Returns the parts before and after the first occurrence of this byte.
    fn halves(&self, byte: u8) -> Option<(&str, &str)>;
}

impl Ascii for str {
    fn has(&self, byte: u8) -> bool {
        place(self, byte).is_some()
    }

    fn has_one_of(&self, bytes: &[u8]) -> bool {
        self.bytes().any(|byte| bytes.contains(&byte))
    }

    fn halves(&self, byte: u8) -> Option<(&str, &str)> {
        let at = place(self, byte)?;
        Some((&self[..at], &self[at + 1..]))
    }
}

/// Returns the index of the first occurrence of this byte.
fn place(text: &str, byte: u8) -> Option<usize> {
    debug_assert!(byte.is_ascii(), "a part of a character");
    text.bytes().position(|other| other == byte)
}

#[cfg(test)]
mod tests {
    use super::Ascii as _;

    #[test]
    fn a_byte_is_found_as_the_character_is() {
        for text in ["", "a", "=", "a=b", "a=b=c", "é=ü", "==", "\u{1A}x", "a\n"] {
            for c in ['=', 'a', 'c', '\u{1A}', '\n', 'z'] {
                let byte = u8::try_from(c).unwrap();
                assert_eq!(text.has(byte), text.contains(c), "{text:?} {c:?}");
                assert_eq!(text.halves(byte), text.split_once(c), "{text:?} {c:?}");
                assert_eq!(text.has_one_of(&[byte, b'b']), text.contains([c, 'b']), "{text:?} {c:?}");
            }
        }
    }
}
