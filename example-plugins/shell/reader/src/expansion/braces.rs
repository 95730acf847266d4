//! Expands braces: `{a,b}` and `{1..3}`.

use brush_parser::word::{BraceExpressionMember, BraceExpressionOrText};

/// Maximum number of words from one brace expansion.
const MAX_BRACES: usize = 32;

/// Maximum number of digits in a word with braces, including the text before them.
const MAX_DIGITS: usize = 19;

/// Maximum work for the braces of one word.
const MAX_BRACE_WORK: usize = 8 * 1024;

/// Expands the braces of a word. Quotes are not removed. If there are too many results, one unknown result stands for the rest.
pub(super) fn braces(raw: &str) -> Vec<String> {
    let Some(open) = opening_brace(raw) else { return vec![raw.to_owned()] };
    let options = brush_parser::ParserOptions::default();
    // The parser panics at a number that does not fit into 64 bits.
    let has_long_number = raw.as_bytes().chunk_by(|_, next| next.is_ascii_digit()).any(|run| run.len() > MAX_DIGITS);
    let is_usual = !raw.contains("${") && raw.len() < 1024 && !has_long_number && brace_work(raw).is_some();
    let pieces = if is_usual { brush_parser::word::parse_brace_expansions(raw, &options).ok() } else { None };
    let (mut words, is_whole) = match &pieces {
        Some(Some(pieces)) => product(pieces),
        other => (vec![raw.to_owned()], other.is_some()),
    };
    if !is_whole {
        words.push(format!("{}$_", &raw[..open]));
    }
    words
}

/// Returns the units of work for the braces of a word, or `None` if they exceed [`MAX_BRACE_WORK`]. At each nested brace that contains no
/// choice, the parser starts again, so its work grows exponentially with the depth.
pub(super) fn brace_work(raw: &str) -> Option<usize> {
    let (mut depth, mut deepest) = (0_u32, 0);
    for byte in raw.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    raw.len().checked_mul(4_usize.checked_pow(deepest)?).filter(|work| *work <= MAX_BRACE_WORK)
}

/// Returns the index of the first brace that may produce several words: unquoted, outside of any expansion, and followed by a choice.
fn opening_brace(raw: &str) -> Option<usize> {
    let (mut quote, mut before, mut is_escaped) = (None, ' ', false);
    let mut inner = 0_usize;
    let mut open = None;
    for (at, c) in raw.char_indices() {
        let last = std::mem::replace(&mut before, c);
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match c {
            '\\' if quote != Some('\'') => is_escaped = true,
            '\'' | '"' if quote.is_none() => quote = Some(c),
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => {}
            '{' | '(' if inner > 0 || last == '$' => inner += 1,
            '}' | ')' if inner > 0 => inner -= 1,
            _ if inner > 0 => {}
            '{' => open = open.or(Some(at)),
            ',' if open.is_some() => return open,
            '.' if open.is_some() && last == '.' => return open,
            _ => {}
        }
    }
    None
}

/// Returns the words that the parts produce. The flag is true if the list is complete.
fn product(pieces: &[BraceExpressionOrText]) -> (Vec<String>, bool) {
    let (mut words, mut is_whole) = (vec![String::new()], true);
    for piece in pieces {
        let mut choices = Vec::new();
        match piece {
            BraceExpressionOrText::Text(text) => choices.push(text.clone()),
            BraceExpressionOrText::Expr(members) => {
                for member in members {
                    match member {
                        BraceExpressionMember::NumberSequence { start, end, .. } => {
                            choices.extend([start.to_string(), end.to_string()]);
                        }
                        BraceExpressionMember::CharSequence { start, end, .. } => {
                            choices.extend([start.to_string(), end.to_string()]);
                        }
                        BraceExpressionMember::Child(pieces) => {
                            let (inner, whole) = product(pieces);
                            choices.extend(inner);
                            is_whole &= whole;
                        }
                    }
                    if choices.len() > MAX_BRACES {
                        break;
                    }
                }
            }
        }
        is_whole &= words.len() * choices.len() <= MAX_BRACES;
        words = words
            .iter()
            .flat_map(|word| choices.iter().map(move |choice| format!("{word}{choice}")))
            .take(MAX_BRACES)
            .collect();
    }
    (words, is_whole)
}
