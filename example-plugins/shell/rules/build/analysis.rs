//! Finds string comparisons that can replace a regular expression, or that fail for most texts that the expression does not match. Because
//! of these comparisons, most texts need no search, and most expressions are never compiled.

use super::schema::{Alternative, Expression, Match, TextPosition};
use super::text::Text;
use super::words::Words;
use regex_syntax::ParserBuilder;
use regex_syntax::ast::Ast;
use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::hir::{Hir, HirKind, Look};

/// Maximum number of texts that replace an expression, and maximum number of texts in a list of needed texts. A match must contain one text
/// of such a list.
const MAX_TEXTS: usize = 64;
const MAX_NEEDED: usize = 32;
/// Maximum number of lists of needed texts.
const MAX_LISTS: usize = 2;
/// Maximum length of a needed text, in bytes. A longer text would rule out hardly more than a short one.
const MAX_NEEDED_LENGTH: usize = 6;
/// Maximum number of characters in a class that a needed text may contain. For example, one text that ends before `\s` rules out more than
/// six texts that include the white space.
const MAX_CLASS: usize = 4;
/// Maximum length of an expression that is not divided, in bytes. It costs little to compile such a short expression.
const MAX_UNDIVIDED: usize = 60;
/// Maximum length of an alternative whose groups are not divided, if it needs known texts.
const MAX_GROUP: usize = 300;

/// Analyses an expression. An invalid expression is not reported here, because the build script reports it when it compiles the expression.
pub(crate) fn expression(source: Text) -> Expression {
    let (flags, rest) = flags(&source);
    let mut alternatives = Vec::new();
    // Alternatives that need no known text are joined into one search.
    let mut unknown = Vec::new();
    for part in divided(flags, rest) {
        match alternative(flags, &part) {
            nothing if is_unknown(&nothing) => unknown.push(part),
            known => alternatives.push(known),
        }
    }
    if !unknown.is_empty() {
        alternatives.push(Alternative::Search { source: spelt(flags, &unknown.join("|")), needed: Vec::new() });
    }
    Expression(alternatives)
}

/// Splits an expression into the flags at its beginning and the rest.
fn flags(source: &str) -> (&str, &str) {
    let flags = source.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    let is_all = |flags: &str| flags.bytes().all(|byte| byte.is_ascii_lowercase());
    flags.filter(|(flags, _)| is_all(flags)).unwrap_or(("", source))
}

fn spelt(flags: &str, rest: &str) -> Text {
    if flags.is_empty() { Text::new(rest) } else { Text::new(&format!("(?{flags}){rest}")) }
}

/// Divides a long expression into its alternatives. An alternative that is mostly a group is divided further if it is very long or needs no
/// known text. For example, `\b(one|other)x` is divided into `\bonex` and `\botherx`.
fn divided(flags: &str, source: &str) -> Vec<String> {
    let ast = regex_syntax::ast::parse::Parser::new().parse(source);
    match ast.ok().filter(|_| source.len() > MAX_UNDIVIDED && !source.contains("(?")) {
        Some(ast) => alternatives(&ast, flags, source),
        None => vec![source.to_owned()],
    }
}

fn alternatives(ast: &Ast, flags: &str, source: &str) -> Vec<String> {
    let text = |ast: &Ast| &source[ast.span().start.offset..ast.span().end.offset];
    let whole = text(ast);
    let parts = match ast {
        Ast::Alternation(all) => return all.asts.iter().flat_map(|ast| alternatives(ast, flags, source)).collect(),
        Ast::Group(group) => return alternatives(&group.ast, flags, source),
        Ast::Concat(all) if whole.len() > MAX_GROUP => &all.asts,
        Ast::Concat(all) if whole.len() > MAX_UNDIVIDED && is_unknown(&alternative(flags, whole)) => &all.asts,
        _ => return vec![whole.to_owned()],
    };
    let most = parts.iter().find_map(|part| match part {
        Ast::Group(group) if text(part).len() * 2 > whole.len() => Some(group),
        _ => None,
    });
    let Some(group) = most else { return vec![whole.to_owned()] };
    let before = &source[ast.span().start.offset..group.span.start.offset];
    let after = &source[group.span.end.offset..ast.span().end.offset];
    alternatives(&group.ast, flags, source).iter().map(|inner| format!("{before}{inner}{after}")).collect()
}

fn is_unknown(alternative: &Alternative) -> bool {
    matches!(alternative, Alternative::Search { needed, .. } if needed.is_empty())
}

/// Analyses one alternative of an expression with these flags.
fn alternative(flags: &str, source: &str) -> Alternative {
    let searched = |needed| Alternative::Search { source: spelt(flags, source), needed };
    // Texts are compared in any case, so the texts that the expression needs without the flag `i` are also needed with this flag.
    let folded = spelt(&flags.replace('i', ""), source);
    // As in `regex-lite`, only ASCII letters have a case. An escape beyond ASCII would mean a byte here, but means a character in
    // `regex-lite`.
    let is_ascii = source.split("\\x").skip(1).all(|rest| rest.starts_with(|c: char| c.is_digit(8)));
    let any_case = flags.contains('i');
    let parser = || ParserBuilder::new().unicode(false).utf8(false).build();
    let Some(hir) = parser().parse(&folded).ok().filter(|_| is_ascii) else { return searched(Vec::new()) };
    let has_flags = source.contains("(?i") || source.contains("(?-");
    if let Some((texts, place)) = replacement(&hir).filter(|_| !has_flags)
        && let Ok(texts) = Words::new(&texts)
    {
        return Alternative::Texts { texts, place, any_case };
    }
    searched(needed(&hir).iter().filter_map(|texts| Words::new(texts).ok()).collect())
}

/// Returns the text of an expression that was not analysed.
#[cfg(test)]
pub(crate) fn source(Expression(alternatives): &Expression) -> Text {
    match alternatives.as_slice() {
        [Alternative::Search { source, needed }] if needed.is_empty() => *source,
        other => panic!("{other:?} is analysed"),
    }
}

/// Returns the texts that an expression matches, and the position at which they must occur. Returns `None` if there are many texts, or if
/// the expression has other conditions.
fn replacement(hir: &Hir) -> Option<(Vec<String>, TextPosition)> {
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        _ => std::slice::from_ref(hir),
    };
    let is = |part: Option<&Hir>, look: Look| part.is_some_and(|part| *part.kind() == HirKind::Look(look));
    let (begins, ends) = (is(parts.first(), Look::Start), is(parts.last(), Look::End));
    let inner = parts.get(usize::from(begins)..parts.len() - usize::from(ends))?;
    let place = match (begins, ends) {
        (true, true) => TextPosition::Whole,
        (true, false) => TextPosition::Begin,
        (false, true) => TextPosition::End,
        (false, false) => TextPosition::Anywhere,
    };
    let inner = Hir::concat(inner.to_vec());
    let seq = Extractor::new().limit_total(MAX_TEXTS).limit_literal_len(usize::MAX).extract(&inner);
    let has_looks = !inner.properties().look_set().is_empty();
    texts(&seq).filter(|_| seq.is_exact() && !has_looks).map(|texts| (texts, place))
}

/// Returns lists of texts. Each match contains a text of each list. The first list is the list that rules out the most texts.
fn needed(hir: &Hir) -> Vec<Vec<String>> {
    let mut lists = candidates(hir);
    lists.sort_by_key(|list| std::cmp::Reverse(worth(list)));
    let mut few: Vec<Vec<String>> = Vec::new();
    for list in lists {
        // If each text of an earlier list contains a text of this list, this list rules out no further texts.
        let implies = |other: &Vec<String>| other.iter().all(|text| list.iter().any(|part| text.contains(part)));
        if !few.iter().any(implies) {
            few.push(list);
        }
    }
    few.truncate(MAX_LISTS);
    few
}

/// Returns all lists of texts that can be found, in any order. Each match contains a text of each list.
fn candidates(hir: &Hir) -> Vec<Vec<String>> {
    let mut lists: Vec<_> =
        [ExtractKind::Prefix, ExtractKind::Suffix].map(|kind| end(hir, kind)).into_iter().flatten().collect();
    match hir.kind() {
        HirKind::Capture(group) => lists.extend(candidates(&group.sub)),
        HirKind::Repetition(times) if times.min > 0 => lists.extend(candidates(&times.sub)),
        HirKind::Concat(parts) => {
            for (at, part) in parts.iter().enumerate() {
                lists.extend(end(&Hir::concat(parts[at..].to_vec()), ExtractKind::Prefix));
                lists.extend(candidates(part));
            }
        }
        HirKind::Alternation(parts) => {
            let best = |part: &Hir| needed(part).into_iter().next();
            lists.extend(parts.iter().map(best).collect::<Option<Vec<_>>>().and_then(|all| useful(&all.concat())));
        }
        _ => {}
    }
    lists
}

/// Returns the texts with which an expression begins or ends.
fn end(hir: &Hir, kind: ExtractKind) -> Option<Vec<String>> {
    let mut extractor = Extractor::new();
    extractor.kind(kind).limit_class(MAX_CLASS).limit_total(MAX_TEXTS).limit_literal_len(MAX_NEEDED_LENGTH);
    useful(&texts(&extractor.extract(hir))?)
}

/// Returns the texts of a sequence, or `None` if the sequence is not finite, or if a text ends within a character.
fn texts(seq: &Seq) -> Option<Vec<String>> {
    seq.literals()?.iter().map(|literal| String::from_utf8(literal.as_bytes().to_vec()).ok()).collect()
}

/// Returns a list for comparisons in any case. The texts in the list are in lower case, and a text that contains another text of the list
/// is left out.
fn useful(texts: &[String]) -> Option<Vec<String>> {
    let mut few: Vec<String> = Vec::new();
    for text in texts.iter().map(|text| text.to_ascii_lowercase()) {
        if !few.iter().any(|other| text.contains(other.as_str())) {
            few.retain(|other| !other.contains(text.as_str()));
            few.push(text);
        }
    }
    (few.len() <= MAX_NEEDED && !few.iter().any(String::is_empty)).then_some(few)
}

/// Returns a value that is greater for a list that rules out more texts, because the texts in the list are longer or fewer.
fn worth(list: &[String]) -> (Option<usize>, std::cmp::Reverse<usize>) {
    (list.iter().map(String::len).min(), std::cmp::Reverse(list.len()))
}

/// Returns the regular expressions of a match.
pub(crate) fn patterns(wanted: &mut Match) -> impl Iterator<Item = &mut Expression> {
    let all = [
        &mut wanted.operand,
        &mut wanted.target,
        &mut wanted.word,
        &mut wanted.no_word,
        &mut wanted.line,
        &mut wanted.no_line,
        &mut wanted.statement,
        &mut wanted.no_statement,
        &mut wanted.reads,
        &mut wanted.writes,
        &mut wanted.environment,
        &mut wanted.no_environment,
        &mut wanted.text,
        &mut wanted.no_text,
    ];
    all.into_iter().flatten()
}
