//! Splits code into tokens: names, literal texts, and marks.

use super::Language;
use crate::ascii::Ascii as _;
use crate::expansion::ansi;
use crate::word::{UNKNOWN, Word};
use std::iter::Peekable;
use std::str::CharIndices;

/// A token of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name with everything joined to it by dots: `os.path.join`, `.read`.
    Name(&'a str),
    /// A literal text. Interpolated parts are unknown.
    Text(Word),
    /// The text of a command in backquotes.
    Run(Word),
    Mark(char),
}

type Chars<'a> = Peekable<CharIndices<'a>>;

/// Returns the tokens of `code`.
pub(super) fn of(code: &str, language: Language) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut chars = code.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' | '\'' => {
                let text = quoted(code, at, c, &mut chars);
                let prefix = prefix(&mut tokens);
                tokens.push(Token::Text(filled(text, c, &prefix, language)));
            }
            '`' if language != Language::Python => {
                let text = filled(quoted(code, at, c, &mut chars), '`', "", language);
                let runs = matches!(language, Language::Perl | Language::Ruby | Language::Php | Language::Other);
                tokens.push(if runs { Token::Run(text) } else { Token::Text(text) });
            }
            '#' if !matches!(language, Language::Script | Language::Lua) => skip_line(&mut chars),
            '/' if matches!(language, Language::Script | Language::Php) && peek(&mut chars) == Some('/') => {
                skip_line(&mut chars);
            }
            '-' if language == Language::Lua && peek(&mut chars) == Some('-') => skip_line(&mut chars),
            // A pattern of awk. Quotes in it open nothing.
            '/' if language == Language::Awk && !matches!(tokens.last(), Some(Token::Name(_) | Token::Mark(')'))) => {
                quoted(code, at, '/', &mut chars);
            }
            '%' if language == Language::Ruby && peek(&mut chars) == Some('x') => {
                chars.next();
                if let Some((at, open)) = chars.next() {
                    let text = quoted(code, at, closing(open), &mut chars);
                    tokens.push(Token::Run(filled(text, '`', "", language)));
                }
            }
            // Files that match: `</srv/*>`.
            '<' if language == Language::Perl && matches!(peek(&mut chars), Some('/' | '~' | '*')) => {
                let text = quoted(code, at, '>', &mut chars);
                tokens.push(Token::Text(Word { glob: true, home: text.starts_with('~'), ..Word::literal(text) }));
            }
            ';' if language == Language::Lisp => skip_line(&mut chars),
            // `~c"…"`
            '~' if language == Language::Other && matches!(peek(&mut chars), Some('c' | 's' | 'w')) => {
                chars.next();
            }
            c if begins_name(c) || (language == Language::Lisp && matches!(c, '*' | '+')) => {
                let name = match language {
                    Language::Lisp => lisp_name(code, at, &mut chars),
                    _ => name(code, at, &mut chars),
                };
                // `File.rm_rf!(…)`
                if matches!(language, Language::Ruby | Language::Other) && peek(&mut chars) == Some('!') {
                    chars.next();
                }
                match delimited(name, language, &mut chars, code) {
                    Some(token) => tokens.push(token),
                    None => tokens.push(Token::Name(name)),
                }
            }
            c if c.is_whitespace() => {}
            c => tokens.push(Token::Mark(c)),
        }
    }
    if language == Language::Lisp { called(tokens) } else { tokens }
}

/// Rewrites Lisp lists as calls: `f(a, b)` for `(f a b)`.
fn called(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut made = Vec::with_capacity(tokens.len() * 2);
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Mark('(') => {
                made.extend(tokens.next_if(|token| matches!(token, Token::Name(_))));
                made.push(Token::Mark('('));
            }
            Token::Mark('\'' | '#') => {}
            token => {
                made.push(token);
                if !matches!(tokens.peek(), Some(Token::Mark(')')) | None) {
                    made.push(Token::Mark(','));
                }
            }
        }
    }
    made
}

/// Reads a Lisp name, and returns it without its package.
fn lisp_name<'a>(code: &'a str, from: usize, chars: &mut Chars<'_>) -> &'a str {
    let mut end = from + 1;
    while let Some((at, c)) = chars.next_if(|(_, c)| begins_name(*c) || "-*+/:!?<>=".contains(*c)) {
        end = at + c.len_utf8();
    }
    let name = &code[from..end];
    let begin = if name == "delete-directory/files" { 0 } else { name.rfind(['/', ':']).map_or(0, |at| at + 1) };
    &name[begin..]
}

fn peek(chars: &mut Chars<'_>) -> Option<char> {
    chars.peek().map(|(_, c)| *c)
}

fn skip_line(chars: &mut Chars<'_>) {
    while chars.next_if(|(_, c)| *c != '\n').is_some() {}
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '@' | '.')
}

/// Reads a name that begins at `from`.
fn name<'a>(code: &'a str, from: usize, chars: &mut Chars<'_>) -> &'a str {
    let mut end = from + 1;
    while let Some((at, c)) = chars.peek().copied() {
        let joins = c == ':' && code[at..].starts_with("::") || c == '-' && code[at..].starts_with("->");
        if joins {
            chars.next();
            chars.next();
            end = at + 2;
        } else if begins_name(c) {
            chars.next();
            end = at + c.len_utf8();
        } else {
            break;
        }
    }
    &code[from..end]
}

/// Returns the text after an opening quote. If three quotes open the text, three quotes close it.
fn quoted<'a>(code: &'a str, at: usize, close: char, chars: &mut Chars<'_>) -> &'a str {
    let is_triple = matches!(close, '"' | '\'') && code[at + 1..].bytes().take(2).eq([close as u8; 2]);
    if is_triple {
        chars.next();
        chars.next();
    }
    let begin = chars.peek().map_or(code.len(), |(at, _)| *at);
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == close {
            let rest = &code[at..];
            if !is_triple {
                return &code[begin..at];
            }
            if rest.bytes().take(3).eq([close as u8; 3]) {
                chars.next();
                chars.next();
                return &code[begin..at];
            }
        }
    }
    &code[begin..]
}

/// Takes the letters directly before a Python quote: `f`, `r`, `b`.
fn prefix(tokens: &mut Vec<Token<'_>>) -> String {
    let is_prefix = |name: &str| name.len() <= 2 && name.bytes().all(|byte| b"fFrRbBuU".contains(&byte));
    match tokens.pop_if(|token| matches!(token, Token::Name(name) if is_prefix(name))) {
        Some(Token::Name(name)) => name.to_ascii_lowercase(),
        _ => String::new(),
    }
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        open => open,
    }
}

/// Reads `qx{…}`, `q(…)` or `qq|…|` of Perl.
fn delimited<'a>(name: &str, language: Language, chars: &mut Chars<'_>, code: &'a str) -> Option<Token<'a>> {
    if language != Language::Perl || !matches!(name, "q" | "qq" | "qx") {
        return None;
    }
    let (at, open) = chars.next_if(|(_, c)| matches!(c, '{' | '(' | '[' | '<' | '/' | '|' | '!' | '~'))?;
    let text = filled(quoted(code, at, closing(open), chars), if name == "q" { '\'' } else { '"' }, "", language);
    Some(if name == "qx" { Token::Run(text) } else { Token::Text(text) })
}

/// Returns a literal with its escapes decoded and interpolated parts marked as unknown.
fn filled(raw: &str, quote: char, prefix: &str, language: Language) -> Word {
    let text = if prefix.has(b'r') { raw.to_owned() } else { ansi(raw) };
    let opens = match language {
        Language::Python if prefix.has(b'f') => "{",
        Language::Ruby if quote != '\'' => "#{",
        Language::Script if quote == '`' => "${",
        Language::Perl | Language::Php if quote != '\'' => "$",
        _ => return Word::literal(text),
    };
    let (mut made, mut rest) = (String::new(), text.as_str());
    while let Some((before, after)) = rest.split_once(opens) {
        made.push_str(before);
        made.push(UNKNOWN);
        rest = if opens == "$" {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '}' | '[' | ']');
            after.trim_start_matches(is_part)
        } else {
            after.halves(b'}').map_or("", |(_, rest)| rest)
        };
    }
    made.push_str(rest);
    Word::literal(made)
}
