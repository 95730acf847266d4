//! Bounds on the texts that are parsed. The parser recurses once per nesting level and needs microseconds per word. Therefore a pass
//! without recursion counts the levels and words of a text before it is parsed.

mod scan;
#[cfg(test)]
mod tests;

pub(super) use scan::CONTINUED;
use scan::{OpenConstruct, Scan};

/// Maximum length of a command, in bytes.
pub const MAX_LENGTH: usize = 64 * 1024;
/// Maximum length without the bodies of here-documents, in bytes. The limit is lower because the parser needs more time for each character
/// outside of them.
const MAX_TEXT: usize = 32 * 1024;
/// Maximum number of words and operators, without the bodies of here-documents.
const MAX_WORDS: usize = 3000;
/// Maximum nesting of brackets, quotes and substitutions.
const MAX_DEPTH: usize = 24;
/// Maximum nesting of subshells, and of brackets in a here-document that is part of a quoted substitution. The limit is low because the
/// parser tries several ways to read the content of each bracket.
const MAX_SUBSHELLS: usize = 8;
/// Maximum nesting of indices, such as `${a[${b[1]}]}`. Each index may be an assignment, so the parser reads it twice.
const MAX_INDICES: usize = 2;
/// Maximum number of indices inside other indices.
const MAX_INNER_INDICES: usize = 16;
/// Maximum number of indices that have no `]` before the next `}`. The shell ends such an index at the `}`, but the parser reads the `}` as
/// part of the index.
const MAX_UNCLOSED_INDICES: usize = 2;
/// Maximum number of round brackets that are open at one position. Brackets in quotes and in here-documents are included. This bound
/// applies to a text with a substitution and a here-document. The parser may read the here-document as part of a word, and then tries
/// several ways to read each bracket in it.
const MAX_OPEN_BRACKETS: usize = 10;
/// A substitution is counted as this number of words, because reading it takes as much work.
const WORDS_OF_A_SUBSTITUTION: usize = 5;
/// The end of a command is counted as this number of words, because the rules check each command.
const WORDS_OF_A_COMMAND: usize = 4;
/// Maximum number of words that open a compound command, in any position.
const MAX_COMPOUNDS: usize = 64;
/// Maximum work for one text, in units. A parsed or substituted byte is one unit. Loops, function calls and nested texts are counted each
/// time they are read. A text within the bounds above needs far less work, unless it expands itself repeatedly.
pub const MAX_WORK: usize = 256 * 1024;

const OPENING: [&str; 9] = ["if", "while", "until", "for", "case", "select", "function", "[[", "!"];

/// Returns an error if `work` exceeds [`MAX_WORK`].
pub(super) fn check_work(work: usize) -> Result<(), String> {
    if work > MAX_WORK { Err("what it runs multiplies itself".into()) } else { Ok(()) }
}

/// Refuses an entry of the shell's directory stack, such as `~12`, if its number is too large. The parser would panic at such a number.
pub(super) fn check_tildes(text: &str) -> Result<(), String> {
    /// Maximum number of digits. The largest 32-bit number has more digits, so every accepted number fits into 32 bits.
    const MAX_DIGITS: usize = 9;
    let is_long = |rest: &str| {
        let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        rest.bytes().take_while(u8::is_ascii_digit).count() > MAX_DIGITS
    };
    if text.split('~').skip(1).any(is_long) {
        return Err(format!("a number after `~` has more than {MAX_DIGITS} digits"));
    }
    Ok(())
}

/// Returns the number of indices, `${a[`, that have no `]` before the next `}`. Indices in here-documents are counted too, because the
/// parser reads a here-document in a quoted substitution as a word.
fn unclosed_indices(text: &[u8]) -> usize {
    let mut count = 0;
    // The number of indices that are open at the current position.
    let mut open = 0;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'$' if text.get(at) == Some(&b'{') => {
                at += 1;
                let name =
                    text.iter().skip(at).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
                at += name;
                open += usize::from(name > 0 && text.get(at) == Some(&b'['));
            }
            b']' => open = 0,
            b'}' => count += std::mem::take(&mut open),
            _ => {}
        }
    }
    count + open
}

/// Returns the maximum number of round brackets that are open at one position. Brackets in quotes are included.
fn open_brackets(text: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in text {
        match byte {
            b'(' => open += 1,
            b')' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Checks that `text` is within the bounds for the parser. If `text` is not within the bounds, the error contains the reason.
pub(crate) fn check(text: &str) -> Result<(), String> {
    at_most(text.len(), MAX_LENGTH, "bytes")?;
    check_tildes(text)?;
    let bytes = text.as_bytes();
    if text.contains("${") {
        at_most(unclosed_indices(bytes), MAX_UNCLOSED_INDICES, "indices that are not closed")?;
    }
    if text.contains("<<") && (text.contains("$(") || text.contains('`')) {
        at_most(open_brackets(bytes), MAX_OPEN_BRACKETS, "open brackets")?;
    }
    let mut scan = Scan::new(bytes);
    scan.check()?;
    at_most(text.len() - scan.skipped.min(text.len()), MAX_TEXT, "bytes beside its here-documents")
}

const NESTING: &str = "levels of nesting";

/// Returns an error if there are more than `most` of something.
fn at_most(count: usize, most: usize, what: &str) -> Result<(), String> {
    if count > most { Err(format!("it has more than {most} {what}")) } else { Ok(()) }
}

/// Checks that the parser ends each substitution in the body of a here-document at the same position as the shell. If the parser does not,
/// the error contains the reason.
pub(super) fn check_document(body: &str) -> Result<(), String> {
    let mut scan = Scan::new(body.as_bytes());
    scan.open.push(OpenConstruct::Document);
    while scan.at < scan.bytes.len() && scan.refused.is_none() && scan.open.len() <= MAX_DEPTH {
        scan.step();
    }
    at_most(scan.open.len(), MAX_DEPTH, NESTING)?;
    scan.refused.map_or(Ok(()), |why| Err(why.into()))
}
