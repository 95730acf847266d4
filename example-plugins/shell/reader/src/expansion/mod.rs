//! Expands words as the shell does: removes quotes, fills in known values, and marks the rest as unknown.

use super::ascii::Ascii as _;
use super::bounds;
use super::read::{Reader, Unreadable, WORK_OF_PARSE};
use super::word::{HOME, UNKNOWN, Word};
use brush_parser::word::{TildeExpr, WordPiece, WordPieceWithSource};
use std::ops::Range;

mod braces;
mod parameters;

use braces::{brace_work, braces};

/// Maximum number of expansions that a here-document may leave open.
const MAX_UNCLOSED: usize = 3;
/// Maximum length of a word that is split into pieces, in bytes.
const MAX_WORD_BYTES: usize = 8 * 1024;
/// Maximum length of a value that is filled in, in bytes. A longer value is treated as unknown.
pub(super) const MAX_VALUE: usize = 4096;

/// [`HOME`] as a byte. The character is one byte long.
const HOME_BYTE: u8 = HOME as u8;

/// The words that an expansion has produced so far.
#[derive(Default)]
struct ExpandedWords {
    done: Vec<Word>,
    current: Option<Word>,
}

impl ExpandedWords {
    fn word(&mut self) -> &mut Word {
        self.current.get_or_insert_default()
    }

    fn known(&mut self, text: &str) {
        let word = self.word();
        match text.strip_prefix(HOME).filter(|_| word.text.is_empty()) {
            Some(rest) => {
                word.home = true;
                word.text.push('~');
                word.text.push_str(rest);
            }
            None => word.text.push_str(text),
        }
    }

    fn unquoted(&mut self, text: &str) {
        // `x@(a|b)` is a pattern, too. `@(a|b)` alone is a list of names.
        if let Some((begin, rest)) = text.find(')').and_then(|_| text.halves(b'('))
            && let Some((_, end)) = rest.rsplit_once(')')
            && !(begin == "@" && end.is_empty())
            && let Some(begin) = begin.strip_suffix(['@', '+', '?', '!', '*'])
        {
            self.known(&format!("{begin}*{end}"));
            self.word().glob = true;
            return;
        }
        self.known(text);
        self.word().glob |= text.has_one_of(b"*?[");
    }

    fn unknown(&mut self, quoted: bool) {
        let word = self.word();
        word.text.push(UNKNOWN);
        word.splits |= !quoted;
    }

    /// Adds the value of an expansion. If it is not quoted, the value is split at the separators.
    fn value(&mut self, value: &Word, quoted: bool, separators: &[char]) {
        if quoted || !value.text.contains(separators) {
            let word = self.word();
            // The value is not split here. Instead, the flag `splits` records that the shell may split the value. An unquoted pattern stays
            // a pattern.
            word.append(&Word { splits: !quoted && !value.is_known(), ..value.clone() });
            word.glob |= !quoted && value.text.has_one_of(b"*?[");
            return;
        }
        for (at, part) in value.with_mark().split(separators).enumerate() {
            if at > 0 {
                self.end();
            }
            if !part.is_empty() {
                let word = self.word();
                word.doubt = word.doubt.or(value.doubt.map(|_| word.text.len()));
                word.secret |= value.secret;
                self.unquoted(part);
            }
        }
    }

    /// Ends the current word.
    fn end(&mut self) {
        self.done.extend(self.current.take());
    }

    /// Joins all words to one word.
    fn whole(self) -> Word {
        match (self.current, self.done.as_slice()) {
            (current, []) => current.unwrap_or_default(),
            (current, done) => Word::of_all(done.iter().chain(&current)),
        }
    }
}

impl Reader<'_> {
    /// Adds the words to which the shell expands one word of a command. Each of these words gets the byte range of the original word.
    pub(super) fn words(
        &mut self,
        raw: &str,
        span: Option<Range<usize>>,
        words: &mut Vec<Word>,
    ) -> Result<(), Unreadable> {
        if is_plain(raw) {
            words.push(Word { text: raw.to_owned(), span, ..Word::default() });
            return Ok(());
        }
        let begin = words.len();
        if raw.has(b'{') {
            self.spend(WORK_OF_PARSE + brace_work(raw).unwrap_or_default())?;
        }
        for raw in braces(raw) {
            let mut making = ExpandedWords::default();
            let pieces = self.pieces(&raw)?;
            self.expand(&pieces, false, &mut making)?;
            words.extend(making.done);
            words.extend(making.current);
        }
        if let [word] = &mut words[begin..] {
            word.span = span;
        }
        Ok(())
    }

    /// Returns a value or a file name as one word, without splitting.
    pub(super) fn word(&mut self, raw: &str, span: Option<Range<usize>>) -> Result<Word, Unreadable> {
        if is_plain(raw) {
            return Ok(Word { text: raw.to_owned(), span, ..Word::default() });
        }
        let mut word = self.value(raw)?;
        word.span = span;
        word.glob |= !raw.has_one_of(b"\"'") && raw.has_one_of(b"*?[");
        Ok(word)
    }

    /// Returns the value of an assignment, in which the shell does not expand patterns.
    pub(super) fn value(&mut self, raw: &str) -> Result<Word, Unreadable> {
        if is_plain(raw) {
            return Ok(Word::literal(raw));
        }
        let pieces = self.pieces(raw)?;
        let mut making = ExpandedWords::default();
        self.expand(&pieces, true, &mut making)?;
        Ok(making.whole())
    }

    /// Reads the commands in a part of a word, such as an index.
    pub(super) fn within_word(&mut self, text: &str) -> Result<(), Unreadable> {
        if text.has_one_of(b"$`") { self.value(text).map(drop) } else { Ok(()) }
    }

    /// Reads the commands in a text that was quoted until now. A text that cannot be parsed is ignored, because the shell does not run it
    /// either.
    pub(super) fn within_quoted(&mut self, text: &str) {
        let is_read = bounds::check(text).is_ok() && unclosed(text) <= MAX_UNCLOSED;
        if is_read && self.spend(text.len()).is_ok() {
            let _ = self.within_word(text);
        }
    }

    /// Reads the commands in a here-document that the shell expands. Returns the text of the here-document, in which unknown parts are
    /// marked.
    pub(super) fn document(&mut self, text: &str) -> Result<Word, Unreadable> {
        if !text.has_one_of(b"$`") {
            return Ok(Word::marked(text));
        }
        if unclosed(text) > MAX_UNCLOSED {
            return Err(Unreadable("a here-document opens more expansions than it closes".into()));
        }
        bounds::check_document(text).map_err(Unreadable)?;
        // The shell joins such a line with the next line before it searches for `$(`, but the parser does not.
        if text.contains("$\\\n") {
            return Err(Unreadable(bounds::CONTINUED.into()));
        }
        let pieces =
            brush_parser::word::parse_heredoc(text, &self.options).map_err(|error| Unreadable(error.to_string()))?;
        let mut making = ExpandedWords::default();
        self.expand(&pieces, true, &mut making)?;
        Ok(making.whole())
    }

    fn pieces(&mut self, raw: &str) -> Result<Vec<WordPieceWithSource>, Unreadable> {
        if let Some(text) = plainly_quoted(raw) {
            let piece = WordPiece::SingleQuotedText(text.to_owned());
            return Ok(vec![WordPieceWithSource { piece, start_index: 0, end_index: raw.len() }]);
        }
        if raw.len() > MAX_WORD_BYTES {
            return Err(Unreadable(format!("a word of it is longer than {MAX_WORD_BYTES} bytes")));
        }
        if raw.contains("${(") {
            self.flagged(raw);
        }
        // The text is checked here again, because brace expansion can have produced the `~`.
        bounds::check_tildes(raw).map_err(Unreadable)?;
        self.spend(WORK_OF_PARSE)?;
        brush_parser::word::parse(raw, &self.options).map_err(|error| Unreadable(error.to_string()))
    }

    fn expand(
        &mut self,
        pieces: &[WordPieceWithSource],
        quoted: bool,
        making: &mut ExpandedWords,
    ) -> Result<(), Unreadable> {
        let mut after_dollar = false;
        for piece in pieces {
            self.spend(1)?;
            check_text(&piece.piece, &mut after_dollar)?;
            match &piece.piece {
                WordPiece::Text(text) if quoted => making.known(text),
                WordPiece::Text(text) => making.unquoted(text),
                WordPiece::SingleQuotedText(text) => making.known(text),
                WordPiece::AnsiCQuotedText(text) => making.known(&ansi(text)),
                WordPiece::EscapeSequence(text) => making.known(&unescaped(text)),
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    making.known("");
                    self.expand(inner, true, making)?;
                }
                WordPiece::TildeExpansion(tilde) => match tilde {
                    TildeExpr::Home => match self.variable("HOME") {
                        Some(home) => making.value(&home, true, &[]),
                        None => making.unknown(false),
                    },
                    TildeExpr::UserHome(user) => {
                        let word = making.word();
                        word.home = true;
                        word.text.push_str(&format!("~{user}"));
                    }
                    TildeExpr::WorkingDir => self.fill(making, "PWD", quoted)?,
                    _ => making.unknown(false),
                },
                WordPiece::ParameterExpansion(expression) => self.parameter(expression, quoted, making)?,
                WordPiece::CommandSubstitution(text) => self.substitution(text, quoted, making)?,
                WordPiece::BackquotedCommandSubstitution(text) => {
                    self.substitution(&text.replace("\\`", "`").replace("\\\\", "\\"), quoted, making)?;
                }
                WordPiece::ArithmeticExpression(expression) => {
                    // The value is a number, but computing it may run commands.
                    self.arithmetic(&expression.value)?;
                    making.known("0");
                }
            }
        }
        Ok(())
    }

    fn fill(&mut self, making: &mut ExpandedWords, name: &str, quoted: bool) -> Result<(), Unreadable> {
        let value = self.variable(name);
        self.fill_value(making, value, quoted)
    }

    /// Fills in a known value that is not too long.
    fn fill_value(&mut self, making: &mut ExpandedWords, value: Option<Word>, quoted: bool) -> Result<(), Unreadable> {
        match value.filter(|value| value.text.len() <= MAX_VALUE) {
            Some(value) => {
                // The work is counted four times, because patterns compare each byte many times.
                self.spend(value.text.len() * 4)?;
                let is_usual = quoted || !self.is_set("IFS");
                match self.variable("IFS").filter(Word::is_known) {
                    _ if is_usual => making.value(&value, quoted, &[' ', '\t', '\n']),
                    Some(separators) => making.value(&value, quoted, &separators.text.chars().collect::<Vec<_>>()),
                    None => making.unknown(quoted),
                }
            }
            None => making.unknown(quoted),
        }
        Ok(())
    }

    /// Reads the commands of `$(…)`, and fills in their output if known.
    fn substitution(&mut self, text: &str, quoted: bool, making: &mut ExpandedWords) -> Result<(), Unreadable> {
        let value = self.output_of(text)?;
        self.fill_value(making, value, quoted)
    }
}

/// Returns true if the shell takes a word literally.
fn is_plain(raw: &str) -> bool {
    !raw.bytes().any(|byte| {
        matches!(byte, b'$' | b'`' | b'"' | b'\'' | b'\\' | b'~' | b'*' | b'?' | b'[' | b'{' | b'(' | HOME_BYTE)
    })
}

/// Counts the expansions that a here-document opens and does not close, and the indices in these expansions. For each of them, the parser
/// reads the rest of the text several times. For the parser, a `}` in an index closes nothing.
fn unclosed(text: &str) -> usize {
    let mut open: Vec<char> = Vec::new();
    let mut before = ' ';
    for c in text.chars() {
        match (std::mem::replace(&mut before, c), c) {
            ('\\', _) => before = ' ',
            (_, c) if open.last() == Some(&c) => drop(open.pop()),
            ('$', '(') => open.push(')'),
            ('$', '{') => open.push('}'),
            (_, '(') if !open.is_empty() => open.push(')'),
            (before, '[') if open.last() == Some(&'}') && (before.is_ascii_alphanumeric() || before == '_') => {
                open.push(']');
            }
            (_, '`') => open.push('`'),
            _ => {}
        }
    }
    open.len()
}

/// Returns the text of a word that is fully quoted and has no special characters. The parser is not used for such words, because it reads
/// them slowly.
fn plainly_quoted(raw: &str) -> Option<&str> {
    let single = raw.strip_prefix('\'').and_then(|raw| raw.strip_suffix('\'')).filter(|text| !text.has(b'\''));
    let double = || raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    single.or_else(|| double().filter(|text| !text.has_one_of(b"\"\\$`")))
}

/// Removes the backslash of `\x`.
fn unescaped(text: &str) -> String {
    match text.strip_prefix('\\') {
        Some("\n") => String::new(),
        Some(rest) => rest.to_owned(),
        None => text.to_owned(),
    }
}

/// Refuses a command substitution that the parser read as plain text because it did not find the substitution's end. `after_dollar` is true
/// if the previous piece was text that ends with `$`. The function updates this flag for the next piece.
fn check_text(piece: &WordPiece, after_dollar: &mut bool) -> Result<(), Unreadable> {
    let WordPiece::Text(text) = piece else {
        *after_dollar = false;
        return Ok(());
    };
    let begins = std::mem::replace(after_dollar, text.ends_with('$')) && text.starts_with('(');
    if begins || text.contains("$(") || text.has(b'`') {
        return Err(Unreadable("a substitution in a word has no end".into()));
    }
    Ok(())
}

/// Decodes the text of `$'…'`.
pub(super) fn ansi(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let (radix, most) = match chars.next() {
            Some('n') => {
                out.push('\n');
                continue;
            }
            Some('t') => {
                out.push('\t');
                continue;
            }
            Some('x') => (16, 2),
            Some('u') => (16, 4),
            Some('U') => (16, 8),
            Some(c) if c.is_digit(8) => {
                let mut value = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    chars.next();
                }
                out.extend(char::from_u32(value));
                continue;
            }
            Some(c) => {
                out.push(c);
                continue;
            }
            None => break,
        };
        let mut value = 0;
        for _ in 0..most {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
            value = value * radix + digit;
            chars.next();
        }
        out.push(char::from_u32(value).unwrap_or(UNKNOWN));
    }
    out
}
