//! Sets of characters.

use super::set_bit;

/// A class under construction.
#[derive(Default)]
pub(super) struct Set {
    pub(super) ascii: [u32; 4],
    pub(super) others: Vec<(char, char)>,
}

impl Set {
    pub(super) fn add(&mut self, first: char, last: char) {
        let low = first.min('\u{80}') as u8..(last.min('\u{7F}') as u8 + 1);
        low.for_each(|byte| set_bit(&mut self.ascii, byte));
        if last >= '\u{80}' {
            self.others.push((first.max('\u{80}'), last));
        }
    }

    pub(super) fn of(ranges: &[(char, char)]) -> Self {
        let mut set = Self::default();
        ranges.iter().for_each(|(first, last)| set.add(*first, *last));
        set
    }

    /// Returns the complement of a set that has only ASCII characters.
    pub(super) fn inverted(self) -> Self {
        Self { ascii: self.ascii.map(|bits| !bits), others: vec![('\u{80}', char::MAX)] }
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.ascii.iter_mut().zip(other.ascii).for_each(|(bits, more)| *bits |= more);
        self.others.extend(other.others);
    }

    /// Adds the other case of each ASCII letter. The last two words contain the letters, capitals in the first of them.
    pub(super) fn fold(&mut self) {
        const LETTERS: u32 = 0x07FF_FFFE;
        let letters = (self.ascii[2] | self.ascii[3]) & LETTERS;
        self.ascii[2] |= letters;
        self.ascii[3] |= letters;
    }
}

/// Returns the characters of a named class.
pub(super) fn named(name: &str) -> Option<Set> {
    Some(Set::of(match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\u{7F}')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\u{1F}'), ('\u{7F}', '\u{7F}')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "word" => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    }))
}
