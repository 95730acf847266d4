//! Keeps output of unknown length in bounded memory: the beginning and the end are kept, and the bytes between them are
//! counted.

use std::collections::VecDeque;

/// Collects output up to a cap.
#[derive(Debug)]
pub(super) struct CappedOutput {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    cut: usize,
}

impl CappedOutput {
    /// Creates a collector that keeps `cap` bytes: half from the beginning, half from the end.
    pub(super) fn new(cap: usize) -> Self {
        Self { half: cap.div_ceil(2), head: Vec::new(), tail: VecDeque::new(), cut: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..over);
        self.cut += over;
    }

    /// Returns the text. If bytes were cut, a line in the text gives their number. Invalid UTF-8 becomes U+FFFD.
    pub(super) fn into_text(self) -> String {
        let tail: Vec<u8> = self.tail.into();
        if self.cut == 0 {
            return String::from_utf8_lossy(&[self.head, tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        let cut = if self.cut == 1 { "1 byte was".into() } else { format!("{} bytes were", self.cut) };
        format!("{head}\n[{cut} cut here]\n{tail}")
    }
}

/// Cuts a text to `cap` bytes and adds a line with the number of cut bytes.
pub(crate) fn capped(text: String, cap: usize) -> String {
    if text.len() <= cap {
        return text;
    }
    let mut output = CappedOutput::new(cap);
    output.push(text.as_bytes());
    output.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_kept_whole_and_characters_are_not_split() {
        let mut output = CappedOutput::new(5);
        for byte in "aßc".bytes() {
            output.push(&[byte]);
        }
        assert_eq!(output.into_text(), "aßc");
    }

    #[test]
    fn the_middle_of_long_output_is_counted() {
        let mut output = CappedOutput::new(8);
        output.push(b"0123456");
        output.push(b"789");
        output.push(b"abcdef");
        assert_eq!(output.into_text(), "0123\n[8 bytes were cut here]\ncdef");
    }
}
