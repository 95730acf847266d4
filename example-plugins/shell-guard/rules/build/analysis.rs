//! Finds the comparisons that can replace a regular expression, or that most texts fail. So most texts need no search, and most
//! patterns are never compiled.

use super::schema::{Expression, Match, Place};
use super::text::Text;
use super::words::Words;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::hir::{Hir, HirKind, Look};

/// Maximum number of texts that replace an expression, and of texts of which one is needed.
const MAX_TEXTS: usize = 64;
const MAX_NEEDED: usize = 16;
/// Maximum length of a needed text, in bytes. Longer ones rule out little more.
const MAX_NEEDED_LENGTH: usize = 12;
/// Maximum number of characters in a class that a needed text goes through. One text that ends before `\s` rules out more than six that
/// include it.
const MAX_CLASS: usize = 4;

/// Analyses an expression. An invalid one is found when the build script compiles it.
pub(crate) fn expression(source: Text) -> Expression {
    let searched = Expression { source, ..Expression::default() };
    // Texts are compared in any case. So those of the expression without this flag are needed with it, too.
    let folded = source.strip_prefix("(?i)").unwrap_or(&source);
    // As in `regex-lite`, letters are ASCII. An escape beyond ASCII would be a byte here but is a character there.
    let is_ascii = source.split("\\x").skip(1).all(|rest| rest.starts_with(|c: char| c.is_digit(8)));
    let any_case = folded.len() < source.len();
    let parser = || ParserBuilder::new().unicode(false).utf8(false).build();
    let Some(hir) = parser().parse(folded).ok().filter(|_| is_ascii) else { return searched };
    let has_flags = folded.contains("(?i") || folded.contains("(?-");
    if let Some((texts, place)) = replacement(&hir).filter(|_| !has_flags) {
        return Expression { texts: Words::new(&texts).ok(), place, any_case, ..searched };
    }
    let needed = needed(&hir).map(|texts| Words::new(&texts)).and_then(Result::ok);
    Expression { needed: needed.unwrap_or_default(), ..searched }
}

/// Returns the texts that an expression matches and the place where they must occur, if there are few and there is no other condition.
fn replacement(hir: &Hir) -> Option<(Vec<String>, Place)> {
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        _ => std::slice::from_ref(hir),
    };
    let is = |part: Option<&Hir>, look: Look| part.is_some_and(|part| *part.kind() == HirKind::Look(look));
    let (begins, ends) = (is(parts.first(), Look::Start), is(parts.last(), Look::End));
    let inner = parts.get(usize::from(begins)..parts.len() - usize::from(ends))?;
    let place = match (begins, ends) {
        (true, true) => Place::Whole,
        (true, false) => Place::Begin,
        (false, true) => Place::End,
        (false, false) => Place::Anywhere,
    };
    let inner = Hir::concat(inner.to_vec());
    let seq = Extractor::new().limit_total(MAX_TEXTS).limit_literal_len(usize::MAX).extract(&inner);
    let has_looks = !inner.properties().look_set().is_empty();
    texts(&seq).filter(|_| seq.is_exact() && !has_looks).map(|texts| (texts, place))
}

/// Returns texts of which each match contains one: those that rule out most.
fn needed(hir: &Hir) -> Option<Vec<String>> {
    let of_ends = |hir: &Hir| {
        let of = |kind: ExtractKind| {
            let mut extractor = Extractor::new();
            extractor.kind(kind).limit_class(MAX_CLASS).limit_total(MAX_TEXTS).limit_literal_len(MAX_NEEDED_LENGTH);
            useful(texts(&extractor.extract(hir))?)
        };
        better(of(ExtractKind::Prefix), of(ExtractKind::Suffix))
    };
    let inner = match hir.kind() {
        HirKind::Capture(group) => needed(&group.sub),
        HirKind::Repetition(times) if times.min > 0 => needed(&times.sub),
        HirKind::Concat(parts) => (0..parts.len())
            .map(|at| better(of_ends(&Hir::concat(parts[at..].to_vec())), needed(&parts[at])))
            .fold(None, better),
        HirKind::Alternation(parts) => parts.iter().map(needed).collect::<Option<Vec<_>>>().map(|all| all.concat()),
        _ => None,
    };
    better(of_ends(hir), inner.and_then(useful))
}

/// Returns the texts of a list; `None` if there is no finite list, or if it has a part of a character.
fn texts(seq: &Seq) -> Option<Vec<String>> {
    seq.literals()?.iter().map(|literal| String::from_utf8(literal.as_bytes().to_vec()).ok()).collect()
}

/// Returns a list for comparisons in any case: in lower case, and without texts that contain another one.
fn useful(texts: Vec<String>) -> Option<Vec<String>> {
    let mut few: Vec<String> = Vec::new();
    for text in texts.iter().map(|text| text.to_ascii_lowercase()) {
        if !few.iter().any(|other| text.contains(other.as_str())) {
            few.retain(|other| !other.contains(text.as_str()));
            few.push(text);
        }
    }
    (few.len() <= MAX_NEEDED && !few.iter().any(String::is_empty)).then_some(few)
}

/// Returns the list that rules out more: the one with longer texts, or with fewer.
fn better(one: Option<Vec<String>>, other: Option<Vec<String>>) -> Option<Vec<String>> {
    let worth = |list: &[String]| (list.iter().map(String::len).min(), std::cmp::Reverse(list.len()));
    match (one, other) {
        (Some(one), Some(other)) => Some(if worth(&one) >= worth(&other) { one } else { other }),
        (one, other) => one.or(other),
    }
}

/// Returns the regular expressions of a match.
pub(crate) fn patterns(wanted: &Match) -> impl Iterator<Item = &Expression> {
    let all = [
        &wanted.operand,
        &wanted.target,
        &wanted.word,
        &wanted.no_word,
        &wanted.line,
        &wanted.no_line,
        &wanted.statement,
        &wanted.no_statement,
        &wanted.reads,
        &wanted.writes,
        &wanted.environment,
        &wanted.no_environment,
        &wanted.text,
        &wanted.no_text,
    ];
    all.into_iter().flatten()
}
