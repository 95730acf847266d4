//! Finding secrets in a text, in one pass: at each byte that may begin a known one, its regex is asked there and only
//! there. Then the configured patterns, over the whole.

use crate::rules::{ASSIGNED, Before, RULES, Rule, is_secret_name};
use crate::{strength, value};
use regex_lite::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// The `[plugin.config]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Config {
    disable: Vec<String>,
    keep: Vec<String>,
    patterns: Vec<Pattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Pattern {
    name: String,
    regex: String,
}

/// How a mark begins; the kind and a bracket follow.
const OPENING: &str = "[redacted: ";

/// How many secrets of each kind were masked.
pub(crate) type Counts = BTreeMap<String, usize>;

/// All that is looked for.
#[derive(Debug)]
pub(crate) struct Scanner {
    rules: Vec<(Rule, Regex)>,
    beginnings: Beginnings,
    patterns: Vec<(String, Regex)>,
    keep: Vec<String>,
}

/// The pairs of bytes with which anything begins that is looked for: most places of a text are done with that.
#[derive(Debug)]
struct Beginnings(Vec<u64>);

impl Default for Beginnings {
    fn default() -> Self {
        Self(vec![0; (1 << 16) / 64])
    }
}

impl Beginnings {
    fn add(&mut self, start: &str, fold: bool) {
        let &[one, two, ..] = start.as_bytes() else { return };
        let cases = |byte: u8| [byte, if fold { byte.to_ascii_uppercase() } else { byte }];
        for (one, two) in cases(one).into_iter().flat_map(|one| cases(two).map(|two| (one, two))) {
            let (word, bit) = Self::place(one, two);
            self.0[word] |= bit;
        }
    }

    fn holds(&self, one: u8, two: u8) -> bool {
        let (word, bit) = Self::place(one, two);
        self.0[word] & bit != 0
    }

    fn place(one: u8, two: u8) -> (usize, u64) {
        (usize::from(one) << 2 | usize::from(two >> 6), 1 << (two & 63))
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
        let mut rules = Vec::new();
        for rule in RULES.iter().filter(|rule| !config.disable.iter().any(|kind| kind == rule.kind)) {
            // Anchored at the start of what it is asked about.
            let regex = Regex::new(&format!("^(?:{})", rule.pattern)).map_err(|error| error.to_string())?;
            rules.push((*rule, regex));
        }
        let mut beginnings = Beginnings::default();
        beginnings.add(OPENING, false);
        rules.iter().for_each(|(rule, _)| rule.starts.iter().for_each(|start| beginnings.add(start, rule.fold)));
        let patterns = config.patterns.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { rules, beginnings, patterns, keep: config.keep })
    }

    /// The text with its secrets masked, or nothing where it holds none.
    pub(crate) fn mask(&self, text: &str, counts: &mut Counts) -> Option<String> {
        let known = self.mask_known(text, counts);
        let mut masked = known.unwrap_or_default();
        let mut changed = !masked.is_empty();
        for (name, regex) in &self.patterns {
            if let Some(next) = self.mask_pattern(name, regex, if changed { &masked } else { text }, counts) {
                masked = next;
                changed = true;
            }
        }
        changed.then_some(masked)
    }

    /// A value whose name says that it is a secret, whatever it looks like otherwise.
    pub(crate) fn mask_member(&self, name: &str, value: &str, counts: &mut Counts) -> Option<String> {
        let is_looked_for = self.rules.iter().any(|(rule, _)| rule.kind == ASSIGNED);
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

    /// For streamed text, where the frame of a private key stands in other lines than its body.
    pub(crate) fn mask_key_lines(&self, text: &str) -> Option<String> {
        if !self.rules.iter().any(|(rule, _)| rule.kind == "private-key") || !text.lines().any(is_key_line) {
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
        while let [one, two, ..] = bytes[at..] {
            if !self.beginnings.holds(one, two) {
                at += 1;
                continue;
            }
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

    /// The length of the mark that stands there: `[redacted: github-token]=` assigns nothing to a token.
    fn mark_at(&self, text: &str, at: usize) -> Option<usize> {
        if !text.as_bytes()[at..].starts_with(OPENING.as_bytes()) {
            return None;
        }
        let (kind, _) = text[at + OPENING.len()..].split_once(']')?;
        let is_kind = RULES.iter().any(|rule| rule.kind == kind) || self.patterns.iter().any(|(name, _)| name == kind);
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
        self.rules.iter().find_map(|(rule, regex)| self.try_rule(rule, regex, text, at))
    }

    fn try_rule(&self, rule: &Rule, regex: &Regex, text: &str, at: usize) -> Option<Found<'_>> {
        let bytes = text.as_bytes();
        let begins = |start: &str| {
            let there = bytes.get(at..at + start.len());
            there.is_some_and(|there| match rule.fold {
                true => there.eq_ignore_ascii_case(start.as_bytes()),
                false => there == start.as_bytes(),
            })
        };
        let before = at.checked_sub(1).and_then(|before| bytes.get(before)).copied();
        if !rule.starts.iter().any(|start| begins(start)) || !may_stand_before(rule.before, before) {
            return None;
        }
        let captures = regex.captures(&text[at..])?;
        let all = captures.get(0)?;
        let place = if rule.kind == ASSIGNED {
            value::place(text, at + all.end(), rule.check)?
        } else {
            let secret = captures.get(1).unwrap_or(all);
            (rule.check)(secret.as_str()).then_some(at + secret.start()..at + secret.end())?
        };
        (!self.is_kept(&text[place.clone()])).then_some(Found { kind: rule.kind, place, prefix: rule.prefix })
    }

    fn mask_pattern(&self, name: &str, regex: &Regex, text: &str, counts: &mut Counts) -> Option<String> {
        let mut masked = String::new();
        let mut copied = 0;
        for captures in regex.captures_iter(text) {
            let Some(secret) = captures.name("secret").or_else(|| captures.get(0)) else { continue };
            if secret.is_empty() || self.is_kept(secret.as_str()) {
                continue;
            }
            masked.push_str(&text[copied..secret.start()]);
            masked.push_str(&mark(name, counts));
            copied = secret.end();
        }
        if copied == 0 {
            return None;
        }
        masked.push_str(&text[copied..]);
        Some(masked)
    }

    fn is_kept(&self, value: &str) -> bool {
        self.keep.iter().any(|keep| keep == value)
    }
}

fn compile(pattern: &Pattern) -> Result<(String, Regex), String> {
    let Pattern { name, regex } = pattern;
    if name.is_empty() || name.contains(['[', ']', '\n']) {
        return Err(format!("the pattern `{regex}` is called `{name}`: give it a name without brackets, for the mark"));
    }
    let compiled =
        Regex::new(regex).map_err(|error| format!("the pattern `{name}` is no regular expression: {error}"))?;
    if compiled.is_match("") {
        return Err(format!("the pattern `{name}` matches the empty text, and so every place of every text"));
    }
    Ok((name.clone(), compiled))
}

fn mark(kind: &str, counts: &mut Counts) -> String {
    *counts.entry(kind.to_owned()).or_default() += 1;
    format!("{OPENING}{kind}]")
}

fn may_stand_before(rule: Before, byte: Option<u8>) -> bool {
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
