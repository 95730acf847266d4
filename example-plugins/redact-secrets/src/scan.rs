//! Finds secrets in a text in one pass. A rule is tested only at positions where the next two bytes can begin a match of the rule. After
//! that pass, the configured patterns are applied to the whole text.

use crate::patterns::{Configured, Pattern};
use crate::rules::{ASSIGNED, Before, RULES, Rule, is_secret_name};
use crate::strength;
use crate::values::{self, KIND, OnValue};
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
    values: OnValue,
}

/// The beginning of a mark. The kind and a bracket follow.
pub(crate) const OPENING: &str = "[redacted: ";

/// Number of masked secrets by kind.
pub(crate) type Counts = BTreeMap<String, usize>;

/// All rules and patterns that are searched for.
#[derive(Debug)]
pub(crate) struct Scanner {
    rules: Vec<Rule>,
    beginnings: Beginnings,
    patterns: Vec<Pattern>,
    keep: Vec<String>,
    /// The answer to a call that contains the value of a secret.
    pub(crate) on_value: OnValue,
}

/// The possible beginnings of matches. A test of two bytes excludes most positions of a text.
#[derive(Debug)]
struct Beginnings {
    /// A bit for each pair of bytes that can begin a match.
    pairs: Vec<u64>,
    /// The beginnings. Each entry has the first two bytes of the beginning, the index of the rule, and the beginning itself. The entries
    /// are sorted by these bytes, then by rule.
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

    /// Returns the first position from `at` on where a match can begin.
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
    /// Returns an error if a kind is unknown, or if a pattern is invalid because it has no name, does not compile or matches the empty
    /// text.
    pub(crate) fn new(config: Config) -> Result<Self, String> {
        if let Some(unknown) = config.disable.iter().find(|kind| !RULES.iter().any(|rule| rule.kind == *kind)) {
            let mut kinds: Vec<_> = RULES.iter().map(|rule| rule.kind).collect();
            kinds.dedup();
            return Err(format!(
                "`disable` names `{unknown}`, which is not a kind of secret; the kinds are {}",
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
        Ok(Self { rules, beginnings, patterns, keep: config.keep, on_value: config.values })
    }

    /// Returns the text with its secrets masked, or `None` if the text contains no secrets.
    pub(crate) fn mask(&self, text: &str, counts: &mut Counts) -> Option<String> {
        let values = values::mask(text, counts);
        let known = self.mask_known(values.as_deref().unwrap_or(text), counts);
        let mut masked = known.or(values).unwrap_or_default();
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

    /// Masks a value of any format if its name shows that the value is a secret.
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

    /// Masks the body of a private key in streamed text. There, the first and the last line of the key are in different pieces.
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

    /// Returns the length of the mark at this position. Marks are skipped, so that `[redacted: github-token]=` is not taken for an
    /// assignment to a token.
    fn mark_at(&self, text: &str, at: usize) -> Option<usize> {
        if !text.as_bytes()[at..].starts_with(OPENING.as_bytes()) {
            return None;
        }
        let (kind, _) = text[at + OPENING.len()..].split_once(']')?;
        let is_kind = RULES.iter().any(|rule| rule.kind == kind)
            || kind.starts_with(KIND)
            || self.patterns.iter().any(|pattern| pattern.name() == kind);
        is_kind.then_some(OPENING.len() + kind.len() + 1)
    }

    /// Returns the secret that begins at `at`. If a name begins at `at`, returns the secret that is assigned to this name.
    fn find(&self, text: &str, at: usize) -> Option<Found<'_>> {
        let found = self.first(text, at)?;
        // The value in `token=ghp_…` is a GitHub token, although the name would only make it an assigned secret.
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
            // Unlike `eq_ignore_ascii_case`, this stops at the first byte that differs.
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

/// Returns true if a line consists of random base64 and has the full length: 64 characters in PEM (RFC 7468), or 76 in files of older
/// tools.
fn is_key_line(line: &str) -> bool {
    let line = line.trim();
    (60..=80).contains(&line.len())
        && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
        && strength::is_random_token(line)
}
