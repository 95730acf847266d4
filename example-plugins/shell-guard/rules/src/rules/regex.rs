//! Regular expressions, with the syntax and the meaning of the crate regex-lite, and one question: whether a text matches. A program of
//! four bytes a step is small enough to lie in the memory that each event starts with, so that no event compiles one.

mod parse;
mod set;

/// Maximum number of steps of a program.
const MAX_STEPS: usize = 16 * 1024;

/// A regular expression, compiled.
#[derive(Debug)]
pub(super) struct Regex {
    steps: Box<[Step]>,
    classes: Box<[Class]>,
    /// Whether it matches from the text's begin, or not at all.
    is_anchored: bool,
    /// What a match may begin with after the text's begin: a bit for each character of ASCII. Any may where it matches the empty text.
    firsts: [u32; 4],
    /// The same after a letter of a word, where most cannot begin.
    inner: [u32; 4],
}

/// One step of a program: what it does, in three bits, and with what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// This character.
    Char,
    /// This letter of ASCII, in either case.
    Letter,
    /// One of a class, by its number.
    Class,
    /// A condition on the place.
    Look,
    /// The next step, and the one so many steps further.
    Split,
    /// The one so many steps further.
    Jump,
    /// All of it matched.
    Match,
}

/// A condition on the place between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Start,
    End,
    StartOfLine,
    EndOfLine,
    /// The same, where a line may end with a carriage return.
    StartOfAnyLine,
    EndOfAnyLine,
    Boundary,
    NoBoundary,
    WordStart,
    WordEnd,
    NoWordBefore,
    NoWordAfter,
}

/// Characters of which one is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Class {
    /// A bit for each of ASCII.
    ascii: [u32; 4],
    /// Further ones, or all but these.
    others: Box<[(char, char)]>,
    all_but: bool,
}

/// The characters of ASCII that are no letters of words.
const NO_WORD: [u32; 4] = [u32::MAX, 0xFC00_FFFF, 0x7800_0001, 0xF800_0001];
const PAYLOAD: u32 = (1 << 29) - 1;
const HERE: i32 = 1 << 28;

impl Step {
    const MATCH: Self = Self::new(Kind::Match, 0);

    const fn new(kind: Kind, payload: u32) -> Self {
        Self((kind as u32) << 29 | payload)
    }

    /// A step to another one, relative to itself. Programs are short enough.
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

    /// The step that it leads to from `at`.
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

    /// Whether it never holds after a letter of a word.
    fn is_outer(self) -> bool {
        matches!(self, Self::Start | Self::StartOfLine | Self::StartOfAnyLine | Self::WordStart | Self::NoWordBefore)
    }

    /// Whether it holds between two characters, of which the text's begin and its end have one.
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

/// Whether it is a letter of a word.
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
    /// Says what is wrong with it.
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

    /// What a match may begin with, anywhere or after a letter of a word.
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
                // At the text's begin any is tried.
                Kind::Look if Look::ALL[step.payload() as usize] == Look::Start => {}
                Kind::Look if is_inner && Look::ALL[step.payload() as usize].is_outer() => {}
                // After the letter of a word, what follows its end is no letter of one.
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

    /// Whether a part of `text` matches. All steps that a part may be at go forward together, a character at a time: so the time is
    /// bounded by the length and the number of steps.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let mut seen = Seen::new(self.steps.len());
        let (mut open, mut next) = (Vec::new(), Vec::new());
        let mut at = 0;
        let mut before = None;
        loop {
            if !self.is_anchored || before.is_none() {
                // To where one may begin: there is none in most of a long text.
                let begin =
                    if open.is_empty() && before.is_some() { self.next_begin(text.as_bytes(), at, before) } else { at };
                if begin > at {
                    at = begin;
                    // Of a character beyond ASCII it is enough that it is one.
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

    /// Whether a match may begin between these characters.
    fn may_begin(&self, before: Option<char>, after: Option<char>) -> bool {
        let firsts = if is_word(before) { &self.inner } else { &self.firsts };
        match after.map(u8::try_from) {
            Some(Ok(byte)) if byte.is_ascii() && before.is_some() => has_bit(firsts, byte),
            _ => true,
        }
    }

    /// Where a match may begin from a place on: at the latest at the end, or at a character beyond ASCII.
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

/// The steps that were taken at a place.
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
