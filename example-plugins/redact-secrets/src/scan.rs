//! Finding secrets in a text, in one pass: where two bytes may begin a known one, its rule is asked, and nowhere else.
//! Then the configured patterns, over the whole.

use crate::patterns::{Configured, Pattern};
use crate::rules::{ASSIGNED, Before, RULES, Rule, is_secret_name};
use crate::strength;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// The `[plugin.config]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Config {
    disable: Vec<String>,
    keep: Vec<String>,
    patterns: Vec<Configured>,
}

/// How a mark begins; the kind and a bracket follow.
const OPENING: &str = "[redacted: ";

/// How many secrets of each kind were masked.
pub(crate) type Counts = BTreeMap<String, usize>;

/// All that is looked for.
#[derive(Debug)]
pub(crate) struct Scanner {
    rules: Vec<Rule>,
    beginnings: Beginnings,
    patterns: Vec<Pattern>,
    keep: Vec<String>,
}

/// What may begin where: most places of a text are done with the first look, at two bytes.
#[derive(Debug)]
struct Beginnings {
    /// A bit for each pair of bytes that anything begins with.
    pairs: Vec<u64>,
    /// What begins with a pair of bytes, and the place of its rule: ordered by pair, and then by rule.
    starts: Vec<(u16, usize, &'static str)>,
}

impl Beginnings {
    fn new(rules: &[Rule]) -> Self {
        let mut all = Self { pairs: vec![0; (1 << 16) / 64], starts: Vec::new() };
        all.add(OPENING, false, None);
        for (index, rule) in rules.iter().enumerate() {
            rule.starts.iter().for_each(|start| all.add(start, rule.fold, Some(index)));
        }
        all.starts.sort_by_key(|(pair, rule, _)| (*pair, *rule));
        all.starts.dedup();
        all
    }

    fn add(&mut self, start: &'static str, fold: bool, rule: Option<usize>) {
        let &[one, two, ..] = start.as_bytes() else { return };
        let cases = |byte: u8| [byte, if fold { byte.to_ascii_uppercase() } else { byte }];
        for pair in cases(one).into_iter().flat_map(|one| cases(two).map(|two| u16::from_be_bytes([one, two]))) {
            self.pairs[usize::from(pair >> 6)] |= 1 << (pair & 63);
            self.starts.extend(rule.map(|rule| (pair, rule, start)));
        }
    }

    fn holds(&self, pair: u16) -> bool {
        self.pairs[usize::from(pair >> 6)] & (1 << (pair & 63)) != 0
    }

    fn of(&self, pair: u16) -> impl Iterator<Item = (usize, &'static str)> {
        let first = self.starts.partition_point(|(other, ..)| *other < pair);
        let rest = self.starts[first..].iter().take_while(move |(other, ..)| *other == pair);
        rest.map(|(_, rule, start)| (*rule, *start))
    }

    /// The first place from `at` on where anything may begin.
    fn next(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let rest = bytes.get(at..)?;
        rest.windows(2).position(|pair| self.holds(u16::from_be_bytes([pair[0], pair[1]]))).map(|skipped| at + skipped)
    }
}

/// A secret in a text.
struct Found<'a> {
    kind: &'a str,
    place: Range<usize>,
    prefix: usize,
}

impl Scanner {
    /// # Errors
    /// If a kind is unknown, a pattern has no name, or its regex does not compile or matches the empty text.
    pub(crate) fn new(config: Config) -> Result<Self, String> {
        if let Some(unknown) = config.disable.iter().find(|kind| !RULES.iter().any(|rule| rule.kind == *kind)) {
            let mut kinds: Vec<_> = RULES.iter().map(|rule| rule.kind).collect();
            kinds.dedup();
            return Err(format!(
                "`disable` names `{unknown}`, which is no kind of secret: they are {}",
                kinds.join(", ")
            ));
        }
        if config.keep.iter().any(String::is_empty) {
            return Err("`keep` holds an empty value".into());
        }
        let is_wanted = |rule: &&Rule| !config.disable.iter().any(|kind| kind == rule.kind);
        let rules: Vec<Rule> = RULES.iter().filter(is_wanted).copied().collect();
        let beginnings = Beginnings::new(&rules);
        let patterns = config.patterns.iter().map(Pattern::new).collect::<Result<_, _>>()?;
        Ok(Self { rules, beginnings, patterns, keep: config.keep })
    }

    /// The text with its secrets masked, or nothing where it holds none.
    pub(crate) fn mask(&self, text: &str, counts: &mut Counts) -> Option<String> {
        let known = self.mask_known(text, counts);
        let mut masked = known.unwrap_or_default();
        let mut changed = !masked.is_empty();
        for pattern in &self.patterns {
            let is_kept = |value: &str| self.is_kept(value);
            if let Some(next) = pattern.mask(if changed { &masked } else { text }, is_kept, counts) {
                masked = next;
                changed = true;
            }
        }
        changed.then_some(masked)
    }

    /// A value whose name says that it is a secret, whatever it looks like otherwise.
    pub(crate) fn mask_member(&self, name: &str, value: &str, counts: &mut Counts) -> Option<String> {
        let is_looked_for = self.rules.iter().any(|rule| rule.kind == ASSIGNED);
        if !is_looked_for
            || !is_secret_name(name)
            || value.len() < 8
            || !strength::is_strong(value)
            || self.is_kept(value)
        {
            return None;
        }
        Some(mark(ASSIGNED, counts))
    }

    /// For streamed text, where the frame of a private key is on other lines than its body.
    pub(crate) fn mask_key_lines(&self, text: &str) -> Option<String> {
        if !self.rules.iter().any(|rule| rule.kind == "private-key") || !text.lines().any(is_key_line) {
            return None;
        }
        let mask = |line: &str| {
            let end = &line[line.trim_end_matches(['\n', '\r']).len()..];
            if is_key_line(line) { format!("[redacted: private-key]{end}") } else { line.to_owned() }
        };
        Some(text.split_inclusive('\n').map(mask).collect())
    }

    fn mask_known(&self, text: &str, counts: &mut Counts) -> Option<String> {
        let bytes = text.as_bytes();
        let mut masked = String::new();
        let (mut copied, mut at) = (0, 0);
        while let Some(next) = self.beginnings.next(bytes, at) {
            at = next;
            if let Some(mark) = self.mark_at(text, at) {
                at += mark;
                continue;
            }
            let Some(found) = self.find(text, at) else {
                at += 1;
                continue;
            };
            let start = found.place.start + found.prefix;
            masked.push_str(&text[copied..start]);
            masked.push_str(&mark(found.kind, counts));
            (copied, at) = (found.place.end, found.place.end);
        }
        if copied == 0 {
            return None;
        }
        masked.push_str(&text[copied..]);
        Some(masked)
    }

    /// The length of the mark at this place: `[redacted: github-token]=` assigns nothing to a token.
    fn mark_at(&self, text: &str, at: usize) -> Option<usize> {
        if !text.as_bytes()[at..].starts_with(OPENING.as_bytes()) {
            return None;
        }
        let (kind, _) = text[at + OPENING.len()..].split_once(']')?;
        let is_kind =
            RULES.iter().any(|rule| rule.kind == kind) || self.patterns.iter().any(|pattern| pattern.name() == kind);
        is_kind.then_some(OPENING.len() + kind.len() + 1)
    }

    /// What begins at `at`: the secret itself, or the name that it is assigned to.
    fn find(&self, text: &str, at: usize) -> Option<Found<'_>> {
        let found = self.first(text, at)?;
        // `token=ghp_…` is a GitHub token, whatever its name says.
        let start = found.place.start;
        let known = if start > at { self.first(text, start) } else { None };
        let better = known.filter(|known| known.place.start == start && known.place.end >= found.place.end);
        Some(better.unwrap_or(found))
    }

    fn first(&self, text: &str, at: usize) -> Option<Found<'_>> {
        let bytes = text.as_bytes();
        let pair = u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]);
        let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied();
        self.beginnings.of(pair).find_map(|(rule, start)| {
            let rule = self.rules.get(rule)?;
            let end = at + start.len();
            let there = bytes.get(at..end)?;
            // Ends at the first byte that differs, unlike `eq_ignore_ascii_case`.
            let same = |one: &u8, other: &u8| one == other || (rule.fold && one.to_ascii_lowercase() == *other);
            let begins = there.iter().zip(start.as_bytes()).all(|(one, other)| same(one, other));
            let may_begin = begins && may_precede(rule.before, before);
            let place = if may_begin { rule.shape.find(text, at, end, rule.check) } else { None }?;
            let is_secret = !self.is_kept(&text[place.clone()]);
            is_secret.then_some(Found { kind: rule.kind, place, prefix: rule.prefix })
        })
    }

    fn is_kept(&self, value: &str) -> bool {
        self.keep.iter().any(|keep| keep == value)
    }
}

pub(crate) fn mark(kind: &str, counts: &mut Counts) -> String {
    *counts.entry(kind.to_owned()).or_default() += 1;
    format!("{OPENING}{kind}]")
}

fn may_precede(rule: Before, byte: Option<u8>) -> bool {
    let Some(byte) = byte else { return true };
    match rule {
        Before::Anything => true,
        Before::NoWord => !byte.is_ascii_alphanumeric(),
        Before::NoToken => !byte.is_ascii_alphanumeric() && byte != b'-' && byte != b'_',
    }
}

/// A full line of base64 as PEM (RFC 7468: 64 characters) and older tools (76) break it, mixed as random bytes are.
fn is_key_line(line: &str) -> bool {
    let line = line.trim();
    (60..=80).contains(&line.len())
        && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
        && strength::is_random_token(line)
}
