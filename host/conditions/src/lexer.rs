//! Splits an expression into tokens.

use crate::parser::Parsed;
use crate::{ConditionError, Span};

/// A part of an expression that the parser does not split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    End,
    /// A name, or a word of CEL such as `true` and `in`.
    Word,
    /// A number without a sign.
    Number,
    /// A string, with its quotes and the prefix `r`.
    Text,
    /// An operator or a bracket.
    Symbol(&'static str),
}

/// All symbols. A symbol comes before those that are its beginning.
const SYMBOLS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")", "[", "]",
    "{", "}",
];

/// Returns the first token at or after the byte `from`, without white space and comments.
///
/// # Errors
/// Returns an error for a character that begins no token, and for a string without an end.
pub(crate) fn next(text: &str, from: usize) -> Parsed<Token> {
    let start = skip_blanks(text, from);
    let rest = &text[start..];
    let token = |kind, length| Ok(Token { kind, span: Span::new(start, start + length) });
    let Some(first) = rest.chars().next() else { return token(Kind::End, 0) };
    if let Some(length) = quoted(rest) {
        let length = length.map_err(|quote| {
            ConditionError::boxed(Span::new(start, text.len()), format!("this string has no closing `{quote}`"))
        })?;
        return token(Kind::Text, length);
    }
    if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit())) {
        return token(Kind::Number, number(rest));
    }
    if is_of_word(first) {
        return token(Kind::Word, rest.find(|next| !is_of_word(next)).unwrap_or(rest.len()));
    }
    if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
        return token(Kind::Symbol(symbol), symbol.len());
    }
    let message = match first {
        '=' => "`=` is no operator: `==` compares".to_owned(),
        '&' | '|' => format!("`{first}` is no operator: write `{first}{first}`"),
        other => format!("the character `{}` has no meaning here", other.escape_debug()),
    };
    Err(ConditionError::boxed(Span::new(start, start + first.len_utf8()), message))
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn skip_blanks(text: &str, from: usize) -> usize {
    let mut rest = text[from..].trim_start();
    while let Some(comment) = rest.strip_prefix("//") {
        rest = comment.split_once('\n').map_or("", |(_, next)| next).trim_start();
    }
    text.len() - rest.len()
}

/// Returns the length of the number at the beginning of `text`.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let is_part = match byte {
            b'.' => bytes.get(at + 1).is_some_and(u8::is_ascii_digit),
            b'+' | b'-' => !is_hexadecimal && at > 0 && matches!(bytes[at - 1], b'e' | b'E'),
            byte => byte.is_ascii_alphanumeric(),
        };
        if !is_part {
            break;
        }
        at += 1;
    }
    at
}

/// Returns the length of the string at the beginning of `text`, if there is one. Without a closing quote, it returns the quote.
fn quoted(text: &str) -> Option<Result<usize, char>> {
    let (is_raw, body) = match text.strip_prefix('r') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let quote = body.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let mut is_escaped = false;
    for (at, character) in body.char_indices().skip(1) {
        if character == quote && !is_escaped {
            return Some(Ok(text.len() - body.len() + at + 1));
        }
        is_escaped = character == '\\' && !is_escaped && !is_raw;
    }
    Some(Err(quote))
}

/// Returns the value of a token of the kind [`Kind::Text`].
///
/// # Errors
/// Returns an error with the range of an escape sequence that CEL does not have.
pub(crate) fn unquoted(text: &str, span: Span) -> Parsed<String> {
    let token = &text[span.range()];
    if let Some(raw) = token.strip_prefix('r') {
        return Ok(raw[1..raw.len() - 1].to_owned());
    }
    let body = &token[1..token.len() - 1];
    let mut value = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let start = span.end() - 1 - escape.len() - 1;
        let (character, length) = unescaped(escape).ok_or_else(|| {
            let length = 1 + escape.chars().next().map_or(0, char::len_utf8);
            let end = start + length;
            let message =
                format!("`{}` is no escape sequence of CEL: `\\\\` stands for a backslash", &text[start..end]);
            ConditionError::boxed(Span::new(start, end), message)
        })?;
        value.push(character);
        rest = &escape[length..];
    }
    value.push_str(rest);
    Ok(value)
}

/// Reads an escape sequence after its backslash. Returns its character and its length in bytes.
fn unescaped(escape: &str) -> Option<(char, usize)> {
    let coded = |from: usize, digits: usize, radix: u32| {
        let code = escape.get(from..from + digits)?;
        let is_plain = code.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let code = u32::from_str_radix(code, radix).ok().filter(|_| is_plain)?;
        Some((char::from_u32(code)?, from + digits))
    };
    let simple = match escape.bytes().next()? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'v' => '\u{b}',
        quoted @ (b'"' | b'\'' | b'`' | b'\\' | b'?') => char::from(quoted),
        b'x' | b'X' => return coded(1, 2, 16),
        b'u' => return coded(1, 4, 16),
        b'U' => return coded(1, 8, 16),
        b'0'..=b'3' => return coded(0, 3, 8),
        _ => return None,
    };
    Some((simple, 1))
}
