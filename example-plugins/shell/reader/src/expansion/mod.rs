//! Expands words as the shell does: removes quotes, fills in known values, and marks the rest as unknown.

use super::ascii::Ascii as _;
use super::bounds;
use super::read::{Reader, Unreadable, WORK_OF_PARSE};
use super::word::{HOME, UNKNOWN, Word};
use brush_parser::word::{
    BraceExpressionMember, BraceExpressionOrText, Parameter, ParameterExpr, ParameterTransformOp, SpecialParameter,
    TildeExpr, WordPiece, WordPieceWithSource,
};
use std::ops::Range;

/// Maximum number of words from one brace expansion.
const MAX_BRACES: usize = 32;
/// Maximum number of expansions that a here-document may leave open.
const MAX_UNCLOSED: usize = 3;
/// Maximum number of digits in a word with braces, including the text before them.
const MAX_DIGITS: usize = 19;
/// Maximum work for the braces of one word.
const MAX_BRACE_WORK: usize = 8 * 1024;
/// Maximum length of a word that is split into pieces, in bytes.
const MAX_WORD_BYTES: usize = 8 * 1024;
/// Maximum length of a value that is filled in, in bytes. A longer one is unknown.
pub(super) const MAX_VALUE: usize = 4096;

/// [`HOME`], which is one byte long.
const HOME_BYTE: u8 = HOME as u8;

/// The words that an expansion has produced so far.
#[derive(Default)]
struct Making {
    done: Vec<Word>,
    current: Option<Word>,
}

impl Making {
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

    /// Adds the value of an expansion. Without quotes, splits it at the separators.
    fn value(&mut self, value: &Word, quoted: bool, separators: &[char]) {
        if quoted || !value.text.contains(separators) {
            let word = self.word();
            // The value is not split here, so `splits` tells if the shell may split it. An unquoted pattern stays a pattern.
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

    /// Returns everything as one word.
    fn whole(self) -> Word {
        match (self.current, self.done.as_slice()) {
            (current, []) => current.unwrap_or_default(),
            (current, done) => Word::of_all(done.iter().chain(&current)),
        }
    }
}

impl Reader<'_> {
    /// Adds the words that the shell makes of one word in a command, with the bytes of its origin.
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
            let mut making = Making::default();
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
        let mut making = Making::default();
        self.expand(&pieces, true, &mut making)?;
        Ok(making.whole())
    }

    /// Reads the commands in a part of a word, such as an index.
    pub(super) fn within_word(&mut self, text: &str) -> Result<(), Unreadable> {
        if text.has_one_of(b"$`") { self.value(text).map(drop) } else { Ok(()) }
    }

    /// Reads the commands in a text that was quoted until now. If it cannot be read, the shell does not run it either.
    pub(super) fn within_quoted(&mut self, text: &str) {
        let is_read = bounds::check(text).is_ok() && unclosed(text) <= MAX_UNCLOSED;
        if is_read && self.spend(text.len()).is_ok() {
            let _ = self.within_word(text);
        }
    }

    /// Reads the commands in a here-document that the shell expands. Returns its text as far as known.
    pub(super) fn document(&mut self, text: &str) -> Result<Word, Unreadable> {
        if !text.has_one_of(b"$`") {
            return Ok(Word::marked(text));
        }
        if unclosed(text) > MAX_UNCLOSED {
            return Err(Unreadable("a here-document opens more expansions than it closes".into()));
        }
        bounds::check_document(text).map_err(Unreadable)?;
        // The shell joins such a line with the next before it searches for `$(`; the parser does not.
        if text.contains("$\\\n") {
            return Err(Unreadable(bounds::CONTINUED.into()));
        }
        let pieces =
            brush_parser::word::parse_heredoc(text, &self.options).map_err(|error| Unreadable(error.to_string()))?;
        let mut making = Making::default();
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
        // Brace expansion can have produced it.
        bounds::check_tildes(raw).map_err(Unreadable)?;
        self.spend(WORK_OF_PARSE)?;
        brush_parser::word::parse(raw, &self.options).map_err(|error| Unreadable(error.to_string()))
    }

    fn expand(&mut self, pieces: &[WordPieceWithSource], quoted: bool, making: &mut Making) -> Result<(), Unreadable> {
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

    fn fill(&mut self, making: &mut Making, name: &str, quoted: bool) -> Result<(), Unreadable> {
        let value = self.variable(name);
        self.fill_value(making, value, quoted)
    }

    /// Fills in a known value that is not too long.
    fn fill_value(&mut self, making: &mut Making, value: Option<Word>, quoted: bool) -> Result<(), Unreadable> {
        match value.filter(|value| value.text.len() <= MAX_VALUE) {
            Some(value) => {
                // Patterns compare each byte many times.
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

    fn parameter(&mut self, expression: &ParameterExpr, quoted: bool, making: &mut Making) -> Result<(), Unreadable> {
        match expression {
            ParameterExpr::Parameter { parameter, indirect: false } => match parameter {
                Parameter::Named(name) => self.fill(making, name, quoted)?,
                Parameter::Positional(number) => {
                    let value = self.positional(*number);
                    self.fill_value(making, value, quoted)?;
                }
                Parameter::Special(SpecialParameter::ShellName) => {
                    let value = self.scope.zeroth.clone();
                    self.fill_value(making, value, quoted)?;
                }
                Parameter::Special(SpecialParameter::AllPositionalParameters { concatenate }) => {
                    let words = self.all_positional();
                    self.all(words.as_deref().map(Vec::as_slice), *concatenate, quoted, making)?;
                }
                Parameter::NamedWithAllIndices { name, concatenate } => {
                    let words = self.elements(name);
                    self.all(words.as_deref(), *concatenate, quoted, making)?;
                    if words.is_none() {
                        making.word().secret |= self.has_secret(parameter);
                    }
                }
                Parameter::NamedWithIndex { name, index } => {
                    self.within_word(index)?;
                    self.evaluates(index)?;
                    let value = self.element(name, index);
                    self.fill_value(making, value, quoted)?;
                    if self.has_secret(parameter) {
                        making.word().secret = true;
                    }
                }
                Parameter::Special(_) => making.unknown(false),
            },
            ParameterExpr::UseDefaultValues { parameter, indirect: false, default_value, .. }
            | ParameterExpr::AssignDefaultValues { parameter, indirect: false, default_value, .. }
                if matches!(parameter, Parameter::Named(_) | Parameter::Positional(_)) =>
            {
                let value = match parameter {
                    Parameter::Named(name) => self.variable(name),
                    Parameter::Positional(number) => self.positional(*number),
                    _ => None,
                };
                match (value.filter(|value| !value.text.is_empty()), default_value) {
                    (None, Some(default)) => {
                        let value = self.value(default)?;
                        if let (ParameterExpr::AssignDefaultValues { .. }, Parameter::Named(name)) =
                            (expression, parameter)
                        {
                            self.remember(name, &value.text);
                        }
                        self.fill_value(making, Some(value), quoted)?;
                    }
                    (value, _) => self.fill_value(making, value, quoted)?,
                }
            }
            ParameterExpr::IndicateErrorIfNullOrUnset {
                parameter: Parameter::Named(name),
                indirect: false,
                error_message,
                ..
            } => {
                self.within_word(error_message.as_deref().unwrap_or_default())?;
                self.fill(making, name, quoted)?;
            }
            _ => {
                let value = self.computed(expression)?;
                self.fill_value(making, value, quoted)?;
                let Some(Parts { parameter, is_indirect, texts }) = parts(expression) else { return Ok(()) };
                for (at, text) in texts.into_iter().enumerate() {
                    let Some(text) = text else { continue };
                    self.within_word(text)?;
                    if at == 0 || matches!(expression, ParameterExpr::Substring { .. }) {
                        self.evaluates(text)?;
                    }
                }
                let name = name_of(parameter);
                if is_indirect {
                    self.evaluates(name.unwrap_or("$@"))?;
                }
                if matches!(expression, ParameterExpr::Transform { op: ParameterTransformOp::PromptExpand, .. }) {
                    self.prompts(name);
                }
                let has_value = !matches!(
                    expression,
                    ParameterExpr::UseAlternativeValue { .. } | ParameterExpr::ParameterLength { .. }
                );
                if has_value && self.has_secret(parameter) {
                    making.word().secret = true;
                }
            }
        }
        Ok(())
    }

    /// Applies the operator of an expansion to a known value, if all operands are literal: `${x%.txt}`.
    fn computed(&mut self, expression: &ParameterExpr) -> Result<Option<Word>, Unreadable> {
        use ParameterExpr as Expr;
        let Some(Parts { parameter, is_indirect, texts }) = parts(expression) else { return Ok(None) };
        let is_read_later = |text: &&str| text.contains("$(") || text.has(b'`');
        let value = match parameter {
            Parameter::Named(name) => self.variable(name),
            Parameter::Positional(number) => self.positional(*number),
            Parameter::NamedWithIndex { name, index } => self.element(name, index),
            _ => None,
        };
        let value = if is_indirect { value.and_then(|name| self.variable(&name.text)) } else { value };
        let Some(value) = value.filter(|value| value.is_known() && value.doubt.is_none() && !value.text.is_empty())
        else {
            return Ok(None);
        };
        if texts.iter().flatten().any(is_read_later) {
            return Ok(None);
        }
        if let Expr::UseAlternativeValue { alternative_value: Some(other), .. } = expression {
            return self.value(other).map(Some);
        }
        let mut literal = |text: Option<&str>| {
            let word = self.value(text.unwrap_or_default())?;
            Ok(Some(word).filter(|word| word.is_known() && !word.home && !word.text.has_one_of(b"*?[\\")))
        };
        let (Some(first), Some(second)) = (literal(texts[1])?, literal(texts[2])?) else { return Ok(None) };
        Ok(operated(expression, &value.with_mark(), &first.text, &second.text).map(|text| value.with_text(text)))
    }

    /// Returns an element of an array by its number.
    fn element(&self, name: &str, index: &str) -> Option<Word> {
        self.elements(name)?.into_iter().nth(index.parse().ok()?)
    }

    /// Returns true if a variable contains the content of a secret file.
    fn has_secret(&self, parameter: &Parameter) -> bool {
        name_of(parameter).and_then(|name| self.variable(name)).is_some_and(|value| value.secret)
    }

    /// Fills in all arguments, or all elements of an array.
    fn all(
        &mut self,
        words: Option<&[Word]>,
        concatenate: bool,
        quoted: bool,
        making: &mut Making,
    ) -> Result<(), Unreadable> {
        match words {
            // `"$*"` is one word, with separators between its parts.
            Some(words) if concatenate && quoted => {
                let all = Word::of_all(words);
                self.fill_value(making, Some(all).filter(|_| !self.is_set("IFS")), true)?;
            }
            // Each part of `"$@"` is a word of its own.
            Some(words) => {
                for (at, word) in words.iter().enumerate() {
                    if at > 0 {
                        making.end();
                    }
                    self.fill_value(making, Some(word.clone()), quoted)?;
                }
            }
            // The number of words is unknown, quoted or not.
            None => making.unknown(false),
        }
        Ok(())
    }

    /// Reads the commands of `$(…)`, and fills in their output if known.
    fn substitution(&mut self, text: &str, quoted: bool, making: &mut Making) -> Result<(), Unreadable> {
        let value = self.output_of(text)?;
        self.fill_value(making, value, quoted)
    }
}

/// Applies the operator of an expansion to a value.
fn operated(expression: &ParameterExpr, value: &str, first: &str, second: &str) -> Option<String> {
    use ParameterExpr as Expr;
    use brush_parser::word::SubstringMatchKind as Match;
    // The beginning of a home's path is unknown.
    let from_begin = || (!value.starts_with(HOME)).then_some(value);
    Some(match expression {
        Expr::Parameter { .. } => value.to_owned(),
        Expr::RemoveSmallestSuffixPattern { .. } | Expr::RemoveLargestSuffixPattern { .. } => {
            value.strip_suffix(first).unwrap_or(value).to_owned()
        }
        Expr::RemoveSmallestPrefixPattern { .. } | Expr::RemoveLargestPrefixPattern { .. } => {
            from_begin()?.strip_prefix(first).unwrap_or(value).to_owned()
        }
        Expr::UppercasePattern { .. } | Expr::Transform { op: ParameterTransformOp::ToUpperCase, .. } => {
            value.to_ascii_uppercase()
        }
        Expr::LowercasePattern { .. } | Expr::Transform { op: ParameterTransformOp::ToLowerCase, .. } => {
            value.to_ascii_lowercase()
        }
        Expr::Transform { op: ParameterTransformOp::ExpandEscapeSequences, .. } => ansi(value),
        Expr::Substring { length: None, .. } if first == "0" => value.to_owned(),
        Expr::Substring { length, .. } => {
            let length = length.as_ref().map_or(Some(usize::MAX), |_| second.parse().ok())?;
            from_begin()?.chars().skip(first.parse().ok()?).take(length).collect()
        }
        Expr::ReplaceSubstring { match_kind, .. } => match match_kind {
            Match::Prefix => {
                from_begin()?.strip_prefix(first).map_or(value.to_owned(), |rest| format!("{second}{rest}"))
            }
            Match::Suffix => value.strip_suffix(first).map_or(value.to_owned(), |rest| format!("{rest}{second}")),
            Match::FirstOccurrence => value.replacen(first, second, 1),
            Match::Anywhere => value.replace(first, second),
        },
        _ => return None,
    })
}

/// Returns the name of a parameter's variable.
fn name_of(parameter: &Parameter) -> Option<&str> {
    match parameter {
        Parameter::Named(name)
        | Parameter::NamedWithIndex { name, .. }
        | Parameter::NamedWithAllIndices { name, .. } => Some(name),
        Parameter::Positional(_) | Parameter::Special(_) => None,
    }
}

/// The parts of an expansion.
struct Parts<'a> {
    parameter: &'a Parameter,
    /// True if the value names the parameter to expand: `${!x}`.
    is_indirect: bool,
    /// The texts in the expansion, which may contain commands. The first may be an index.
    texts: [Option<&'a str>; 3],
}

/// Returns the parts of an expansion, if it has a parameter.
fn parts(expression: &ParameterExpr) -> Option<Parts<'_>> {
    use ParameterExpr as Expr;
    let (parameter, indirect, texts) = match expression {
        Expr::UseDefaultValues { parameter, indirect, default_value: text, .. }
        | Expr::AssignDefaultValues { parameter, indirect, default_value: text, .. }
        | Expr::IndicateErrorIfNullOrUnset { parameter, indirect, error_message: text, .. }
        | Expr::UseAlternativeValue { parameter, indirect, alternative_value: text, .. }
        | Expr::RemoveSmallestSuffixPattern { parameter, indirect, pattern: text, .. }
        | Expr::RemoveLargestSuffixPattern { parameter, indirect, pattern: text, .. }
        | Expr::RemoveSmallestPrefixPattern { parameter, indirect, pattern: text, .. }
        | Expr::RemoveLargestPrefixPattern { parameter, indirect, pattern: text, .. }
        | Expr::UppercaseFirstChar { parameter, indirect, pattern: text, .. }
        | Expr::UppercasePattern { parameter, indirect, pattern: text, .. }
        | Expr::LowercaseFirstChar { parameter, indirect, pattern: text, .. }
        | Expr::LowercasePattern { parameter, indirect, pattern: text, .. } => {
            (parameter, indirect, [text.as_deref(), None])
        }
        Expr::Substring { parameter, indirect, offset, length, .. } => {
            (parameter, indirect, [Some(offset.value.as_str()), length.as_ref().map(|length| length.value.as_str())])
        }
        Expr::ReplaceSubstring { parameter, indirect, pattern, replacement, .. } => {
            (parameter, indirect, [Some(pattern.as_str()), replacement.as_deref()])
        }
        Expr::Parameter { parameter, indirect, .. }
        | Expr::ParameterLength { parameter, indirect, .. }
        | Expr::Transform { parameter, indirect, .. } => (parameter, indirect, [None, None]),
        Expr::VariableNames { .. } | Expr::MemberKeys { .. } => return None,
    };
    let index = match parameter {
        Parameter::NamedWithIndex { index, .. } => Some(index.as_str()),
        _ => None,
    };
    Some(Parts { parameter, is_indirect: *indirect, texts: [index, texts[0], texts[1]] })
}

/// Returns true if the shell takes a word literally.
fn is_plain(raw: &str) -> bool {
    !raw.bytes().any(|byte| {
        matches!(byte, b'$' | b'`' | b'"' | b'\'' | b'\\' | b'~' | b'*' | b'?' | b'[' | b'{' | b'(' | HOME_BYTE)
    })
}

/// Expands the braces of a word. Each result keeps its quotes. If there are too many results, one stands for the unknown rest.
fn braces(raw: &str) -> Vec<String> {
    let Some(open) = opening_brace(raw) else { return vec![raw.to_owned()] };
    let options = brush_parser::ParserOptions::default();
    // The parser panics at a number of more than 64 bits.
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

/// Counts the expansions that a here-document opens and does not close, and the indices in them. For the parser, a `}` in an index closes
/// nothing. It reads the rest several times for each of these.
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

/// Returns the units of work for the braces of a word, or `None` above [`MAX_BRACE_WORK`]. The parser starts again at each nested brace
/// that opens no choice, so its work grows exponentially with the depth.
fn brace_work(raw: &str) -> Option<usize> {
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

/// Returns the words that the parts produce. The flag is true if these are all.
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

/// Returns the text in the quotes of a fully quoted word without special characters, because the parser reads those slowly.
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

/// Refuses a command substitution that the parser took for plain text because it did not find its end. `after_dollar` is true if the
/// previous piece was text that ends with `$`; it is updated for the next piece.
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
