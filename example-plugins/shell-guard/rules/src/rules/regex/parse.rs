//! Parses an expression and generates its steps in one pass.

use super::set::{Set, named};
use super::{Class, Kind, Look, MAX_STEPS, Step};

/// Maximum nesting of groups.
const MAX_DEPTH: usize = 50;

const TOO_LARGE: &str = "it is too large";
const TOO_DEEP: &str = "its groups are nested too deeply";
const OPEN_GROUP: &str = "a `(` is not closed";
const CLOSED_GROUP: &str = "a `)` closes nothing";
const LOOK_AROUND: &str = "look-around is not supported";
const NAME: &str = "the name of a group is wrong";
const FLAGS: &str = "a flag is not known or missing";
const NOTHING_REPEATED: &str = "there is nothing to repeat";
const COUNT: &str = "a count in braces is wrong";
const CLASS: &str = "a `[` is not closed";
const CLASS_ITEM: &str = "a class holds what is not supported";
const RANGE: &str = "a range of characters is wrong";
const ESCAPE: &str = "an escape is not supported";
const NUMBER: &str = "the number of a character is wrong";

type Parsed<T> = Result<T, &'static str>;

/// Returns the steps, without the final one, and the classes that they use.
pub(super) fn parse(source: &str) -> Parsed<(Vec<Step>, Vec<Class>)> {
    let steps = Vec::with_capacity(source.len());
    let mut parser = Parser { rest: source, flags: Flags::default(), steps, classes: Vec::new() };
    parser.alternatives(0)?;
    if parser.rest.is_empty() { Ok((parser.steps, parser.classes)) } else { Err(CLOSED_GROUP) }
}

#[derive(Clone, Copy, Default)]
struct Flags {
    any_case: bool,
    lines: bool,
    dot_is_all: bool,
    /// A carriage return also ends a line.
    returns: bool,
    /// Blanks and comments are ignored.
    blanks: bool,
}

struct Parser<'a> {
    rest: &'a str,
    flags: Flags,
    /// The steps so far. Their distances are relative, so that they can be moved and repeated.
    steps: Vec<Step>,
    classes: Vec<Class>,
}

/// A part of an expression other than a group or a bracketed class.
enum Item {
    Char(char),
    Set(Set),
    Look(Look),
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips blanks and comments between two parts, if the flags say so.
    fn skip(&mut self) {
        while self.flags.blanks {
            let rest = self.rest.trim_start();
            self.rest = match rest.strip_prefix('#') {
                Some(comment) => comment.find('\n').map_or("", |end| &comment[end + 1..]),
                None => rest,
            };
            if self.rest.len() == rest.len() {
                return;
            }
        }
    }

    /// Returns the next character and skips blanks and comments after it.
    fn step(&mut self) -> Option<char> {
        let next = self.next();
        self.skip();
        next
    }

    /// Reads all alternatives up to the end or to a closing bracket.
    fn alternatives(&mut self, depth: usize) -> Parsed<()> {
        if depth > MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        let mut begin = self.steps.len();
        // The start of the last part.
        let mut last = None;
        // The last step of each alternative but the last. It jumps behind all of them.
        let mut ends = Vec::new();
        loop {
            let here = self.steps.len();
            if let Some(step) = self.letter() {
                self.steps.push(step);
                last = Some(here);
                continue;
            }
            self.skip();
            let Some(c) = self.peek().filter(|c| *c != ')') else { break };
            match c {
                '(' => {
                    if !self.group(depth)? {
                        continue;
                    }
                }
                '|' => {
                    self.next();
                    self.steps.insert(begin, Step::to(Kind::Split, here - begin + 2, true));
                    ends.push(self.steps.len());
                    self.steps.push(Step::MATCH);
                    begin = self.steps.len();
                    last = None;
                    continue;
                }
                '?' | '*' | '+' | '{' => {
                    let Some(last) = last else { return Err(NOTHING_REPEATED) };
                    let (least, most) = self.count()?;
                    self.repeat(last, least, most)?;
                    continue;
                }
                '[' => {
                    let class = self.class()?;
                    let step = self.one_of(class)?;
                    self.steps.push(step);
                }
                _ => {
                    let step = self.single()?;
                    self.steps.push(step);
                }
            }
            last = Some(here);
            if self.steps.len() > MAX_STEPS {
                return Err(TOO_LARGE);
            }
        }
        if self.steps.len() > MAX_STEPS {
            return Err(TOO_LARGE);
        }
        for end in ends {
            self.steps[end] = Step::to(Kind::Jump, self.steps.len() - end, true);
        }
        Ok(())
    }

    /// Returns the step of a letter, a digit or a slash. Fast path for most characters.
    fn letter(&mut self) -> Option<Step> {
        let (byte, rest) = self.rest.as_bytes().split_first()?;
        let is_letter = byte.is_ascii_alphabetic();
        if !is_letter && !byte.is_ascii_digit() && *byte != b'/' {
            return None;
        }
        self.rest = &self.rest[self.rest.len() - rest.len()..];
        let is_folded = is_letter && self.flags.any_case;
        let kind = if is_folded { Kind::Letter } else { Kind::Char };
        Some(Step::new(kind, u32::from(if is_folded { byte.to_ascii_lowercase() } else { *byte })))
    }

    /// Reads a group. Returns false if it only sets flags for the rest of the enclosing group.
    fn group(&mut self, depth: usize) -> Parsed<bool> {
        let outer = self.flags;
        self.step();
        if ["?=", "?!", "?<=", "?<!"].iter().any(|begin| self.rest.starts_with(begin)) {
            return Err(LOOK_AROUND);
        }
        if self.takes("?P<") || self.takes("?<") {
            let end = self.rest.find('>').ok_or(NAME)?;
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
            let name = &self.rest[..end];
            if !name.chars().all(is_part) || !name.starts_with(|c: char| c == '_' || c.is_alphabetic()) {
                return Err(NAME);
            }
            self.rest = &self.rest[end + 1..];
        } else if self.takes("?") && self.set_flags()? {
            return Ok(false);
        }
        self.alternatives(depth + 1)?;
        self.flags = outer;
        if self.takes(")") { Ok(true) } else { Err(OPEN_GROUP) }
    }

    /// Sets the flags of a group. Returns true if the group contains nothing else.
    fn set_flags(&mut self) -> Parsed<bool> {
        let (mut is_set, mut count) = (true, 0);
        loop {
            let c = self.next().ok_or(OPEN_GROUP)?;
            let flag = match c {
                'i' => &mut self.flags.any_case,
                'm' => &mut self.flags.lines,
                's' => &mut self.flags.dot_is_all,
                'R' => &mut self.flags.returns,
                'x' => &mut self.flags.blanks,
                // These have no effect: the length of a match does not matter, and all classes are ASCII.
                'U' | 'u' => &mut true,
                '-' if is_set => {
                    (is_set, count) = (false, 0);
                    continue;
                }
                ':' if is_set || count > 0 => return Ok(false),
                ')' if count > 0 => return Ok(true),
                _ => return Err(FLAGS),
            };
            *flag = is_set;
            count += 1;
        }
    }

    /// Returns the minimum and maximum count of a repetition.
    fn count(&mut self) -> Parsed<(usize, Option<usize>)> {
        let count = match self.next() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            _ => {
                self.skip();
                let least = self.number()?;
                let most = if self.peek() == Some(',') {
                    self.step();
                    if self.peek() == Some('}') { None } else { Some(self.number()?) }
                } else {
                    Some(least)
                };
                if self.step() != Some('}') || most.is_some_and(|most| most < least) {
                    return Err(COUNT);
                }
                (least, most)
            }
        };
        // Greedy and lazy repetition give the same answer here.
        self.takes("?");
        Ok(count)
    }

    fn number(&mut self) -> Parsed<usize> {
        self.rest = self.rest.trim_start();
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.step();
        }
        self.rest = self.rest.trim_start();
        self.skip();
        digits.parse().map_err(|_| COUNT)
    }

    /// Returns the step of one character.
    fn single(&mut self) -> Parsed<Step> {
        let flags = self.flags;
        let item = match self.next() {
            Some('\\') => self.escape()?,
            Some('.') => {
                let all = Set { ascii: [u32::MAX; 4], others: vec![('\u{80}', char::MAX)] };
                let ends = Set::of(if flags.returns { &[('\n', '\n'), ('\r', '\r')] } else { &[('\n', '\n')] });
                Item::Set(if flags.dot_is_all { all } else { ends.inverted() })
            }
            Some('^') => Item::Look(match flags {
                Flags { lines: true, returns: true, .. } => Look::StartOfAnyLine,
                Flags { lines: true, .. } => Look::StartOfLine,
                _ => Look::Start,
            }),
            Some('$') => Item::Look(match flags {
                Flags { lines: true, returns: true, .. } => Look::EndOfAnyLine,
                Flags { lines: true, .. } => Look::EndOfLine,
                _ => Look::End,
            }),
            Some(c) => Item::Char(c),
            None => return Err(ESCAPE),
        };
        Ok(match item {
            Item::Char(c) if flags.any_case && c.is_ascii_alphabetic() => {
                Step::new(Kind::Letter, u32::from(c.to_ascii_lowercase()))
            }
            Item::Char(c) => Step::new(Kind::Char, u32::from(c)),
            Item::Look(look) => Step::new(Kind::Look, look as u32),
            Item::Set(set) => {
                let class = Class { ascii: set.ascii, others: set.others.into(), all_but: false };
                self.one_of(class)?
            }
        })
    }

    fn one_of(&mut self, class: Class) -> Parsed<Step> {
        let known = self.classes.iter().position(|other| *other == class);
        let number = known.unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        });
        u32::try_from(number).map(|number| Step::new(Kind::Class, number)).map_err(|_| TOO_LARGE)
    }

    /// Reads the part after a backslash.
    fn escape(&mut self) -> Parsed<Item> {
        let c = self.next().ok_or(ESCAPE)?;
        let set = |name: &str| named(name).map(Item::Set).ok_or(ESCAPE);
        let all_but = |name: &str| named(name).map(|set| Item::Set(set.inverted())).ok_or(ESCAPE);
        Ok(match c {
            'x' => Item::Char(self.character(2)?),
            'u' => Item::Char(self.character(4)?),
            'U' => Item::Char(self.character(8)?),
            'd' => return set("digit"),
            's' => return set("space"),
            'w' => return set("word"),
            'D' => return all_but("digit"),
            'S' => return all_but("space"),
            'W' => return all_but("word"),
            'a' => Item::Char('\x07'),
            'f' => Item::Char('\x0C'),
            't' => Item::Char('\t'),
            'n' => Item::Char('\n'),
            'r' => Item::Char('\r'),
            'v' => Item::Char('\x0B'),
            'A' => Item::Look(Look::Start),
            'z' => Item::Look(Look::End),
            'b' => Item::Look(self.boundary()?),
            'B' => Item::Look(Look::NoBoundary),
            '<' => Item::Look(Look::WordStart),
            '>' => Item::Look(Look::WordEnd),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Item::Char(c),
            _ => return Err(ESCAPE),
        })
    }

    /// Reads `\b`, or `\b{start}` and its like. `\b{2}` is a repetition.
    fn boundary(&mut self) -> Parsed<Look> {
        let Some(inner) = self.rest.strip_prefix('{') else { return Ok(Look::Boundary) };
        let is_name = |c: char| c.is_ascii_alphabetic() || c == '-';
        if !inner.trim_start().starts_with(is_name) {
            return Ok(Look::Boundary);
        }
        let end = inner.find('}').ok_or(ESCAPE)?;
        self.rest = &inner[end + 1..];
        match inner[..end].trim() {
            "start" => Ok(Look::WordStart),
            "end" => Ok(Look::WordEnd),
            "start-half" => Ok(Look::NoWordBefore),
            "end-half" => Ok(Look::NoWordAfter),
            _ => Err(ESCAPE),
        }
    }

    /// Reads a character given by its number, with `digits` digits or in braces.
    fn character(&mut self, digits: usize) -> Parsed<char> {
        self.skip();
        let is_braced = self.takes("{");
        let mut text = String::new();
        while is_braced || text.len() < digits {
            self.skip();
            match self.next() {
                Some('}') if is_braced => break,
                Some(digit) if digit.is_ascii_hexdigit() => text.push(digit),
                _ => return Err(NUMBER),
            }
        }
        self.skip();
        u32::from_str_radix(&text, 16).ok().and_then(char::from_u32).ok_or(NUMBER)
    }

    /// Reads a class in brackets.
    fn class(&mut self) -> Parsed<Class> {
        self.step();
        let mut set = Set::default();
        let mut is_empty = true;
        let all_but = self.takes("^");
        self.skip();
        while self.takes("-") {
            self.skip();
            set.add('-', '-');
            is_empty = false;
        }
        if is_empty && self.takes("]") {
            set.add(']', ']');
        }
        loop {
            self.skip();
            match self.peek().ok_or(CLASS)? {
                '[' => set.extend(self.named_class().ok_or(CLASS_ITEM)?),
                ']' => break,
                _ if ["&&", "--", "~~"].iter().any(|joint| self.rest.starts_with(joint)) => return Err(CLASS_ITEM),
                _ => self.range(&mut set)?,
            }
        }
        self.next();
        if self.flags.any_case {
            set.fold();
        }
        let ascii = if all_but { set.ascii.map(|bits| !bits) } else { set.ascii };
        Ok(Class { ascii, others: set.others.into(), all_but })
    }

    /// Reads `[:alpha:]` or `[:^alpha:]`.
    fn named_class(&mut self) -> Option<Set> {
        let (name, rest) = self.rest.strip_prefix("[:")?.split_once(":]")?;
        let set = match name.strip_prefix('^') {
            Some(name) => named(name)?.inverted(),
            None => named(name)?,
        };
        self.rest = rest;
        Some(set)
    }

    /// Reads a character of a class, or a range.
    fn range(&mut self, set: &mut Set) -> Parsed<()> {
        let first = self.class_item()?;
        self.skip();
        // A dash before the end is an ordinary character.
        let before = self.rest;
        let is_range = self.takes("-") && {
            self.skip();
            !self.rest.starts_with([']', '-'])
        };
        if !is_range {
            self.rest = before;
            match first {
                Item::Char(c) => set.add(c, c),
                Item::Set(other) => set.extend(other),
                Item::Look(_) => return Err(CLASS_ITEM),
            }
            return Ok(());
        }
        match (first, self.class_item()?) {
            (Item::Char(first), Item::Char(last)) if first <= last => set.add(first, last),
            _ => return Err(RANGE),
        }
        Ok(())
    }

    fn class_item(&mut self) -> Parsed<Item> {
        match self.next().ok_or(CLASS)? {
            '\\' => self.escape(),
            c => Ok(Item::Char(c)),
        }
    }

    /// Repeats the steps from `begin` on.
    fn repeat(&mut self, begin: usize, least: usize, most: Option<usize>) -> Parsed<()> {
        let steps = &mut self.steps;
        let part = begin..steps.len();
        let length = part.len();
        let times = most.unwrap_or(least).max(1);
        if begin + times.saturating_mul(length + 2) > MAX_STEPS {
            return Err(TOO_LARGE);
        }
        // The steps already contain the part once.
        let optional = Step::to(Kind::Split, length + 1, true);
        match (least, most) {
            (_, Some(0)) => steps.truncate(begin),
            (0, None) => {
                steps.insert(begin, Step::to(Kind::Split, length + 2, true));
                steps.push(Step::to(Kind::Jump, length + 1, false));
            }
            (_, None) => {
                (1..least).for_each(|_| steps.extend_from_within(part.clone()));
                steps.push(Step::to(Kind::Split, length, false));
            }
            (0, Some(most)) => {
                steps.insert(begin, optional);
                (1..most).for_each(|_| steps.extend_from_within(begin..=begin + length));
            }
            (_, Some(most)) => {
                (1..least).for_each(|_| steps.extend_from_within(part.clone()));
                for _ in least..most {
                    steps.push(optional);
                    steps.extend_from_within(part.clone());
                }
            }
        }
        Ok(())
    }
}
