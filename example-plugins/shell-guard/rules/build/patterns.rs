//! Finds the texts that any match of a regular expression must contain. So most texts need no search, and most patterns are never compiled.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use serde_json::{Value, json};

use super::members::PATTERNS;

/// Maximum number of texts that represent a part of an expression, and of characters in a class.
const MAX_TEXTS: usize = 64;
const CHOICE: usize = 4;

/// Replaces each pattern of a rule by its analysis.
///
/// # Errors
/// If one of them is not a valid pattern, because nothing would check it later.
pub(crate) fn told(rule: &mut Value) -> Result<(), String> {
    tell(rule)?;
    rule.get_mut("match").and_then(Value::as_array_mut).into_iter().flatten().try_for_each(tell)
}

fn tell(table: &mut Value) -> Result<(), String> {
    for member in PATTERNS {
        if let Some(pattern) = table.get_mut(member)
            && let Some(source) = pattern.as_str()
        {
            if let Err(error) = regex_lite::Regex::new(source) {
                return Err(format!("`{source}` is no pattern: {error}"));
            }
            *pattern = known(source);
        }
    }
    Ok(())
}

/// Returns `{ "texts": […], "at": "end", "any-case": true }` if comparing texts is enough, else `{ "search": …, "needed": […] }`. Each
/// match then contains one of the needed texts, if there are any, in upper or lower case.
pub(crate) fn known(source: &str) -> Value {
    // As in `regex-lite`, letters are ASCII. An escape beyond ASCII would be a byte here but is a character there.
    let is_ascii = source.split("\\x").skip(1).all(|rest| rest.starts_with(|c: char| c.is_digit(8)));
    let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(source).ok().filter(|_| is_ascii);
    let known = parsed.map(|hir| Known::of(&hir)).unwrap_or_default();
    let at = match (known.begins, known.ends) {
        (true, true) => "whole",
        (true, false) => "begin",
        (false, true) => "end",
        (false, false) => "anywhere",
    };
    // A mix of letters in any case and in one case would need a comparison for each letter.
    let is_more = known.more || (known.folded && known.strict);
    match known.all {
        Some(texts) if !is_more => {
            json!({ "texts": texts, "at": at, "any-case": known.folded })
        }
        _ => json!({ "search": source, "needed": shortened(&known.needed) }),
    }
}

/// The texts that an expression, or a part of one, matches.
#[derive(Clone, Default)]
struct Known {
    /// Texts of which each match contains one. If empty, nothing is known.
    needed: Vec<String>,
    /// The complete list of matching texts, subject to the following fields. `None` if unknown.
    all: Option<Vec<String>>,
    /// True if it matches only at the start of the text; `ends` is for the end.
    begins: bool,
    ends: bool,
    /// True if it has letters in either case, which are in lower case here; `strict` is true if it has letters in one case.
    folded: bool,
    strict: bool,
    /// True if it has other conditions, such as word boundaries.
    more: bool,
}

impl Known {
    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty => Self::text(String::new()),
            HirKind::Literal(literal) => String::from_utf8(literal.0.to_vec()).map(Self::text).unwrap_or_default(),
            HirKind::Class(class) => Self::class(class).unwrap_or_default(),
            HirKind::Look(Look::Start) => Self { begins: true, ..Self::text(String::new()) },
            HirKind::Look(Look::End) => Self { ends: true, ..Self::text(String::new()) },
            HirKind::Look(_) => Self { more: true, ..Self::text(String::new()) },
            HirKind::Repetition(times) => match (times.min, times.max) {
                (0, Some(1)) => Self::of(&times.sub).perhaps(),
                (0, _) => Self::default(),
                _ => Self { needed: Self::of(&times.sub).needed, ..Self::default() },
            },
            HirKind::Capture(group) => Self::of(&group.sub),
            HirKind::Concat(parts) => Self::sequence(parts),
            HirKind::Alternation(parts) => parts.iter().map(Self::of).reduce(Self::or).unwrap_or_default(),
        }
    }

    fn text(text: String) -> Self {
        let strict = text.contains(|c: char| c.is_ascii_alphabetic());
        let all = vec![text];
        Self { needed: useful(&all), all: Some(all), strict, ..Self::default() }
    }

    /// Returns the texts of a class with a few ASCII characters, such as a letter in either case.
    fn class(class: &Class) -> Option<Self> {
        let class = match class {
            Class::Bytes(class) => class.clone(),
            Class::Unicode(class) => class.to_byte_class()?,
        };
        let bytes: Vec<u8> = class.iter().flat_map(|range| range.start()..=range.end()).collect();
        let has = |byte: &u8| bytes.contains(byte);
        if bytes.len() > CHOICE || !bytes.is_ascii() {
            return None;
        }
        let is_pair = |byte: &u8| has(&byte.to_ascii_lowercase()) && has(&byte.to_ascii_uppercase());
        let (pairs, single): (Vec<u8>, Vec<u8>) =
            bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).partition(|byte| is_pair(byte));
        let mut all: Vec<String> = bytes
            .iter()
            .map(|byte| char::from(if is_pair(byte) { byte.to_ascii_lowercase() } else { *byte }).into())
            .collect();
        all.sort();
        all.dedup();
        let (folded, strict) = (!pairs.is_empty(), !single.is_empty());
        Some(Self { needed: all.clone(), all: Some(all), folded, strict, ..Self::default() })
    }

    fn perhaps(mut self) -> Self {
        self.all.iter_mut().for_each(|all| all.push(String::new()));
        Self { more: self.more || self.begins || self.ends, needed: Vec::new(), begins: false, ends: false, ..self }
    }

    fn sequence(parts: &[Hir]) -> Self {
        let mut whole = Self::text(String::new());
        // The texts since the last unknown part. Longer texts rule out more.
        let mut run = whole.clone();
        for part in parts {
            let part = Self::of(part);
            run = run.then(&part);
            if run.all.is_none() {
                run = part.clone();
            }
            whole = Self { needed: better(whole.needed.clone(), run.needed.clone()), ..whole.then(&part) };
            if run.all.is_none() {
                run = Self::text(String::new());
            }
        }
        whole
    }

    /// Returns the texts of two parts in sequence.
    fn then(&self, next: &Self) -> Self {
        let is_empty = self.all.as_ref().is_some_and(|all| all.iter().all(String::is_empty));
        let all = match (&self.all, &next.all) {
            (Some(first), Some(second)) if first.len() * second.len() <= MAX_TEXTS => Some(
                first.iter().flat_map(|one| second.iter().map(move |two| format!("{one}{two}"))).collect::<Vec<_>>(),
            ),
            _ => None,
        };
        let needed = better(self.needed.clone(), next.needed.clone());
        Self {
            // Nothing can precede an anchor of the start or follow an anchor of the end.
            more: self.more || next.more || self.ends || (next.begins && !is_empty),
            begins: self.begins || next.begins,
            ends: next.ends,
            folded: self.folded || next.folded,
            strict: self.strict || next.strict,
            needed: better(needed, all.as_deref().map(useful).unwrap_or_default()),
            all,
        }
    }

    fn or(self, other: Self) -> Self {
        let is_known = !self.needed.is_empty() && !other.needed.is_empty();
        Self {
            needed: if is_known { either(&self.needed, &other.needed).unwrap_or_default() } else { Vec::new() },
            all: self.all.zip(other.all).and_then(|(one, other)| either(&one, &other)),
            more: self.more || other.more || (self.begins, self.ends) != (other.begins, other.ends),
            begins: self.begins && other.begins,
            ends: self.ends && other.ends,
            folded: self.folded || other.folded,
            strict: self.strict || other.strict,
        }
    }
}

/// Returns the union of both lists, unless it is too long.
fn either(one: &[String], other: &[String]) -> Option<Vec<String>> {
    let mut both = one.to_vec();
    both.extend(other.iter().filter(|text| !one.contains(text)).cloned());
    Some(both).filter(|both| both.len() <= MAX_TEXTS)
}

/// Returns texts that are worth searching for. An empty text occurs everywhere, so a list with one is useless.
fn useful(texts: &[String]) -> Vec<String> {
    if texts.iter().any(String::is_empty) { Vec::new() } else { texts.to_vec() }
}

/// Returns the texts of a long list cut short and without duplicates. They rule out nearly as much with less memory and a smaller
/// component.
fn shortened(needed: &[String]) -> Vec<String> {
    const MANY: usize = 6;
    const MAX_CHARS: usize = 6;
    if needed.len() <= MANY {
        return needed.to_vec();
    }
    let mut short: Vec<String> = Vec::new();
    for text in needed {
        let text: String = text.chars().take(MAX_CHARS).collect();
        if !short.iter().any(|other| text.contains(other.as_str())) {
            short.retain(|other: &String| !other.contains(text.as_str()));
            short.push(text);
        }
    }
    short
}

/// Returns the list that rules out more: the one with longer texts, or with fewer.
fn better(one: Vec<String>, other: Vec<String>) -> Vec<String> {
    let worth = |list: &[String]| (list.iter().map(String::len).min(), std::cmp::Reverse(list.len()));
    if worth(&one) >= worth(&other) { one } else { other }
}
