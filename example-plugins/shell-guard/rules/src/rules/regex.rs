//! Regular expressions with the syntax and meaning of the crate regex-lite, for a single question: does a text match? A program has four
//! bytes per step, so it fits into the memory image that each event starts from, and no event compiles one.

mod parse;
mod set;

/// Maximum number of steps in a program.
const MAX_STEPS: usize = 16 * 1024;

/// A compiled regular expression.
#[derive(Debug)]
pub(super) struct Regex {
    steps: Box<[Step]>,
    classes: Box<[Class]>,
    /// True if it can match only at the start of the text.
    is_anchored: bool,
    /// The first characters of a match after the start of the text: a bit for each ASCII character. All bits are set if it matches the
    /// empty text.
    firsts: [u32; 4],
    /// The same for matches that follow a word character, where most cannot begin.
    inner: [u32; 4],
}

/// One step of a program: its kind, in three bits, and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Matches this character.
    Char,
    /// Matches this ASCII letter in either case.
    Letter,
    /// Matches a character of the class with this number.
    Class,
    /// Checks a condition on the position.
    Look,
    /// Continues at the next step and at the target.
    Split,
    /// Continues at the target.
    Jump,
    /// The whole expression matched.
    Match,
}

/// A condition on the position between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Start,
    End,
    StartOfLine,
    EndOfLine,
    /// Like `StartOfLine`, but a carriage return also ends a line.
    StartOfAnyLine,
    EndOfAnyLine,
    Boundary,
    NoBoundary,
    WordStart,
    WordEnd,
    NoWordBefore,
    NoWordAfter,
}

/// A set of characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Class {
    /// A bit for each ASCII character.
    ascii: [u32; 4],
    /// Ranges beyond ASCII: the members or, with `all_but`, the exceptions.
    others: Box<[(char, char)]>,
    all_but: bool,
}

/// The ASCII characters that are not word characters.
const NO_WORD: [u32; 4] = [u32::MAX, 0xFC00_FFFF, 0x7800_0001, 0xF800_0001];
const PAYLOAD: u32 = (1 << 29) - 1;
const HERE: i32 = 1 << 28;

impl Step {
    const MATCH: Self = Self::new(Kind::Match, 0);

    const fn new(kind: Kind, payload: u32) -> Self {
        Self((kind as u32) << 29 | payload)
    }

    /// Makes a step that refers to another one by its distance. Programs are short enough for that.
    fn to(kind: Kind, distance: usize, forth: bool) -> Self {
        let distance = i32::try_from(distance).unwrap_or_default();
        let distance = if forth { distance } else { -distance };
        Self::new(kind, (HERE + distance).cast_unsigned())
    }

    fn kind(self) -> Kind {
        match self.0 >> 29 {
            0 => Kind::Char,
            1 => Kind::Letter,
            2 => Kind::Class,
            3 => Kind::Look,
            4 => Kind::Split,
            5 => Kind::Jump,
            _ => Kind::Match,
        }
    }

    fn payload(self) -> u32 {
        self.0 & PAYLOAD
    }

    /// Returns the target of the step at index `at`.
    fn target(self, at: u32) -> u32 {
        at.wrapping_add_signed(self.payload().cast_signed() - HERE)
    }
}

impl Look {
    const ALL: [Self; 12] = [
        Self::Start,
        Self::End,
        Self::StartOfLine,
        Self::EndOfLine,
        Self::StartOfAnyLine,
        Self::EndOfAnyLine,
        Self::Boundary,
        Self::NoBoundary,
        Self::WordStart,
        Self::WordEnd,
        Self::NoWordBefore,
        Self::NoWordAfter,
    ];

    /// Returns true if the condition never holds after a word character.
    fn is_outer(self) -> bool {
        matches!(self, Self::Start | Self::StartOfLine | Self::StartOfAnyLine | Self::WordStart | Self::NoWordBefore)
    }

    /// Returns true if the condition holds between two characters. `None` stands for the start or the end of the text.
    fn holds(self, before: Option<char>, after: Option<char>) -> bool {
        match self {
            Self::Start => before.is_none(),
            Self::End => after.is_none(),
            Self::StartOfLine => matches!(before, None | Some('\n')),
            Self::EndOfLine => matches!(after, None | Some('\n')),
            Self::StartOfAnyLine => {
                matches!(before, None | Some('\n')) || (before == Some('\r') && after != Some('\n'))
            }
            Self::EndOfAnyLine => matches!(after, None | Some('\r')) || (after == Some('\n') && before != Some('\r')),
            Self::Boundary => is_word(before) != is_word(after),
            Self::NoBoundary => is_word(before) == is_word(after),
            Self::WordStart => !is_word(before) && is_word(after),
            Self::WordEnd => is_word(before) && !is_word(after),
            Self::NoWordBefore => !is_word(before),
            Self::NoWordAfter => !is_word(after),
        }
    }
}

/// Returns true for a word character.
fn is_word(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Class {
    fn has(&self, c: char) -> bool {
        match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() => has_bit(&self.ascii, byte),
            _ => self.others.iter().any(|(first, last)| (*first..=*last).contains(&c)) != self.all_but,
        }
    }
}

fn has_bit(bits: &[u32; 4], byte: u8) -> bool {
    bits[usize::from(byte >> 5 & 3)] >> (byte & 31) & 1 == 1
}

fn set_bit(bits: &mut [u32; 4], byte: u8) {
    bits[usize::from(byte >> 5 & 3)] |= 1 << (byte & 31);
}

impl Regex {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Returns the reason if the expression is invalid.
    pub(super) fn new(source: &str) -> Result<Self, &'static str> {
        let (mut steps, classes) = parse::parse(source)?;
        steps.push(Step::MATCH);
        let is_anchored = steps[0] == Step::new(Kind::Look, Look::Start as u32);
        let mut regex =
            Self { steps: steps.into(), classes: classes.into(), is_anchored, firsts: [0; 4], inner: [0; 4] };
        regex.firsts = regex.firsts(false);
        regex.inner = regex.firsts(true);
        Ok(regex)
    }

    /// Returns the possible first characters of a match, anywhere or after a word character.
    fn firsts(&self, is_inner: bool) -> [u32; 4] {
        let mut firsts = [0; 4];
        let (mut open, mut seen) = (vec![0], Seen::new(self.steps.len()));
        while let Some(at) = open.pop() {
            if !seen.is_new(at) {
                continue;
            }
            let step = self.steps[at as usize];
            match step.kind() {
                Kind::Char | Kind::Letter => {
                    if let Ok(byte) = u8::try_from(step.payload()) {
                        set_bit(&mut firsts, byte);
                        if step.kind() == Kind::Letter {
                            set_bit(&mut firsts, byte.to_ascii_uppercase());
                        }
                    }
                }
                Kind::Class => {
                    let class = &self.classes[step.payload() as usize];
                    firsts.iter_mut().zip(class.ascii).for_each(|(all, more)| *all |= more);
                }
                // At the start of the text, every character is tried.
                Kind::Look if Look::ALL[step.payload() as usize] == Look::Start => {}
                Kind::Look if is_inner && Look::ALL[step.payload() as usize].is_outer() => {}
                // After a word character, a boundary comes before a character that is not one.
                Kind::Look if is_inner && Look::ALL[step.payload() as usize] == Look::Boundary => {
                    firsts.iter_mut().zip(NO_WORD).for_each(|(all, more)| *all |= more);
                }
                Kind::Look => open.push(at + 1),
                Kind::Split => open.extend([step.target(at), at + 1]),
                Kind::Jump => open.push(step.target(at)),
                Kind::Match => return [u32::MAX; 4],
            }
        }
        firsts
    }

    /// Returns true if a part of `text` matches. All possible steps advance together by one character, so the time is bounded by the length
    /// times the number of steps.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let mut seen = Seen::new(self.steps.len());
        let (mut open, mut next) = (Vec::new(), Vec::new());
        let mut at = 0;
        let mut before = None;
        loop {
            if !self.is_anchored || before.is_none() {
                // Skip to the next possible start. Most of a long text has none.
                let begin =
                    if open.is_empty() && before.is_some() { self.next_begin(text.as_bytes(), at, before) } else { at };
                if begin > at {
                    at = begin;
                    // For a character beyond ASCII, the last byte is enough to know that.
                    before = Some(char::from(text.as_bytes()[at - 1]));
                }
            } else if open.is_empty() {
                return false;
            }
            let after = text[at..].chars().next();
            if (!self.is_anchored || before.is_none()) && self.may_begin(before, after) {
                open.push(0);
            }
            if !open.is_empty() {
                seen.forget();
            }
            while let Some(at) = open.pop() {
                if !seen.is_new(at) {
                    continue;
                }
                let step = self.steps[at as usize];
                let is_there = match step.kind() {
                    Kind::Char => after.is_some_and(|c| u32::from(c) == step.payload()),
                    Kind::Letter => after.is_some_and(|c| u32::from(c.to_ascii_lowercase()) == step.payload()),
                    Kind::Class => after.is_some_and(|c| self.classes[step.payload() as usize].has(c)),
                    Kind::Look => {
                        if Look::ALL[step.payload() as usize].holds(before, after) {
                            open.push(at + 1);
                        }
                        continue;
                    }
                    Kind::Split => {
                        open.push(step.target(at));
                        open.push(at + 1);
                        continue;
                    }
                    Kind::Jump => {
                        open.push(step.target(at));
                        continue;
                    }
                    Kind::Match => return true,
                };
                if is_there {
                    next.push(at + 1);
                }
            }
            let Some(c) = after else { return false };
            at += c.len_utf8();
            before = after;
            std::mem::swap(&mut open, &mut next);
        }
    }

    /// Returns true if a match may begin between these characters.
    fn may_begin(&self, before: Option<char>, after: Option<char>) -> bool {
        let firsts = if is_word(before) { &self.inner } else { &self.firsts };
        match after.map(u8::try_from) {
            Some(Ok(byte)) if byte.is_ascii() && before.is_some() => has_bit(firsts, byte),
            _ => true,
        }
    }

    /// Returns the next index at which a match may begin: a possible first character, a character beyond ASCII, or the end.
    fn next_begin(&self, text: &[u8], from: usize, before: Option<char>) -> usize {
        let mut is_inner = is_word(before);
        let begins = |byte: &u8| {
            let firsts = if is_inner { &self.inner } else { &self.firsts };
            is_inner = byte.is_ascii_alphanumeric() || *byte == b'_';
            !byte.is_ascii() || has_bit(firsts, *byte)
        };
        text[from..].iter().position(begins).map_or(text.len(), |at| from + at)
    }
}

/// A set of the steps visited at one position.
struct Seen(Vec<u32>);

impl Seen {
    fn new(steps: usize) -> Self {
        Self(vec![0; steps.div_ceil(32)])
    }

    fn is_new(&mut self, step: u32) -> bool {
        let (word, bit) = (&mut self.0[step as usize / 32], 1 << (step % 32));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn forget(&mut self) {
        self.0.fill(0);
    }
}

#[cfg(test)]
mod tests;
