//! Splits a text of a Windows shell into pipelines and words. The same code handles `cmd.exe` and PowerShell, because they differ little
//! here.

use super::expression::{Values, evaluated};
use super::powershell::{cmdlet_of, command_of, is_built};
use crate::ascii::Ascii as _;
use crate::word::{UNKNOWN, Word};
use crate::{Redirect, RedirectKind};
use std::iter::Peekable;
use std::str::Chars;

/// Maximum length of a word that calls a method of a class, in bytes, and maximum number of words in a value of `set`.
const MAX_METHOD: usize = 128;

const MAX_VALUE: usize = 16;

/// Maximum length of an expression that is evaluated, in bytes.
const MAX_EXPRESSION: usize = 1024;

/// A command with its redirections.
#[derive(Default)]
pub(super) struct Stage {
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
}

/// Commands, each of which passes its output to the next command.
#[derive(Default)]
pub(super) struct Pipeline {
    pub(super) stages: Vec<Stage>,
    /// The pipeline and the stage whose words contain this pipeline in brackets.
    pub(super) stage: Option<(usize, usize)>,
    pub(super) depth: usize,
}

/// The state while a text is split into commands.
#[derive(Default)]
pub(super) struct PipelineSplitter {
    pub(super) pipelines: Vec<Pipeline>,
    /// The index of the pipeline to which words are added.
    current: usize,
    /// The pipelines that continue after a closing bracket.
    outer: Vec<usize>,
    word: Option<Word>,
    /// The direction of a redirection whose target is the next word.
    redirect: Option<RedirectKind>,
    /// The texts of `"$(…)"`.
    pub(super) nested: Vec<String>,
    values: Values,
    /// The variable that the current stage begins with. The stage may set this variable.
    variable: Option<String>,
    /// True if the name of a command is built in a way that cannot be followed.
    pub(super) builds: bool,
    /// The pipeline that begins directly after a single `&`, which may be the call operator.
    invoked: Option<usize>,
    /// Bytes of expressions that were evaluated.
    pub(super) evaluated: usize,
}

impl PipelineSplitter {
    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else { return };
        let is_many = self.fill(&mut word);
        self.assign(&word.text);
        let stages = &mut self.pipelines[self.current].stages;
        if stages.is_empty() {
            stages.push(Stage::default());
        }
        let Some(Stage { words, redirects }) = stages.last_mut() else { return };
        match self.redirect.take() {
            Some(kind) => redirects.push(Redirect { kind, target: expanded(word) }),
            // `cmd.exe` splits the value of a variable into words.
            None if is_many => {
                words.extend(word.text.split_whitespace().map(|part| expanded(Word::literal(part))));
            }
            // The word is a text for another shell, which sets its own variables.
            None if word.text.has(b' ') && word.text.has_one_of(b"&;") => words.push(word),
            None => words.extend(parted(&word.text).unwrap_or_else(|| vec![expanded(word)])),
        }
    }

    /// Fills in the known values in a word. If the word begins an assignment, records the variable. Returns true if the word must now be
    /// split.
    fn fill(&mut self, word: &mut Word) -> bool {
        let Some(Stage { words, .. }) = self.pipelines[self.current].stages.last_mut() else { return false };
        if word.text == "=" && words.len() == 1 && self.variable.is_some() {
            words[0] = Word::unknown();
            return false;
        }
        let is_batch = word.text.has_one_of(b"%!");
        let begin = if words.is_empty() { word.text.strip_prefix('$') } else { None };
        let named = begin.map(|name| name.split('=').next().unwrap_or_default());
        self.variable = named.map(str::to_owned);
        let set = named.filter(|_| word.text.has(b'=')).map_or(0, |name| name.len() + 2);
        if let Some(text) = self.values.filled(&word.text[set..]) {
            let is_changed = text != word.text[set..];
            word.text.truncate(set);
            word.text.push_str(&text);
            return is_batch && is_changed && word.text.has(b' ');
        }
        false
    }

    /// Records the variable that `set x=y` of `cmd.exe` sets.
    fn assign(&mut self, text: &str) {
        let Some(Stage { words, .. }) = self.pipelines[self.current].stages.last() else { return };
        match words.as_slice() {
            [set] if set.text.eq_ignore_ascii_case("set") => {
                if let Some((name, value)) = text.halves(b'=') {
                    self.values.set(name, Some(value.to_owned()));
                }
            }
            [set, first, ..] if set.text.eq_ignore_ascii_case("set") && words.len() < MAX_VALUE => {
                if let Some((name, _)) = first.text.halves(b'=') {
                    let whole =
                        words[1..].iter().map(|word| word.text.as_str()).chain([text]).collect::<Vec<_>>().join(" ");
                    self.values.set(name, whole.halves(b'=').map(|(_, value)| value.to_owned()));
                }
            }
            _ => {}
        }
    }

    /// Returns the text up to the closing bracket, or `None` if it is longer than [`MAX_EXPRESSION`].
    fn bracketed(&mut self, chars: &Peekable<Chars<'_>>) -> Option<String> {
        let (mut text, mut depth, mut quote) = (String::new(), 0, None);
        for c in chars.clone().take(MAX_EXPRESSION) {
            self.evaluated += 1;
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') if depth == 0 => return Some(text),
                (None, ')') => depth -= 1,
                _ => {}
            }
            text.push(c);
        }
        None
    }

    /// Replaces an expression in brackets with its value, if the value is known: `('Remove'+'-Item')`, `(gcm Remove-Item)`. Returns true if
    /// the expression was replaced.
    fn evaluate(&mut self, chars: &mut Peekable<Chars<'_>>, most: usize) -> bool {
        let invokes = |word: &Word| word.text == ".";
        let words = self.pipelines[self.current].stages.last().map_or(&[][..], |stage| &stage.words);
        let is_invoked = match (words, &self.word) {
            ([], None) => self.invoked == Some(self.current),
            ([], Some(word)) | ([word], None) => invokes(word),
            _ => false,
        };
        // `$x=[IO.File]::ReadAllText`
        let written = self.word.as_ref().filter(|word| word.text.len() < MAX_METHOD).map_or("", |word| &word.text);
        let (set, method) = written.split_at(written.find('=').map_or(0, |at| at + 1));
        let (set, method) = (set.to_owned(), cmdlet_of(method));
        let mut ahead = chars.clone();
        while ahead.next_if(|c| c.is_whitespace()).is_some() {
            self.evaluated += 1;
        }
        // If the word is a method, the brackets contain its arguments.
        let begins = self.word.as_ref().is_none_or(|word| word.text.ends_with(['$', '=', '+', ',']));
        let may_be = begins && matches!(ahead.peek(), Some('\'' | '"' | '$' | '[' | '-' | '(' | '@' | 'j' | 'J'));
        if !(may_be || is_invoked || method.is_some()) {
            return false;
        }
        if self.evaluated > most {
            self.builds |= is_invoked;
            return false;
        }
        let Some(text) = self.bracketed(chars) else { return false };
        let found = evaluated(&text, &mut self.values).or_else(|| if is_invoked { command_of(&text) } else { None });
        let taken = text.chars().count();
        let is_followed = matches!(chars.clone().nth(taken + 1), Some('.' | '['));
        let texts = match (found, method) {
            (found, Some(cmdlet)) => {
                let cmdlet_word = format!("{set}{cmdlet}");
                let given = found.unwrap_or_else(|| vec![UNKNOWN.to_string()]);
                let recursive = if cmdlet == "remove-item" { Some("-Recurse") } else { None };
                for text in [cmdlet_word.as_str()].into_iter().chain(recursive).chain(given.iter().map(String::as_str))
                {
                    self.word = Some(Word::literal(text));
                    self.end_word();
                }
                // If the value is unknown, read the commands in the brackets.
                if given.iter().any(|text| text.has(UNKNOWN as u8)) {
                    self.nested.push(text);
                }
                chars.nth(taken);
                return true;
            }
            (Some(texts), None) if !is_followed => texts,
            _ => {
                self.builds |= is_invoked && is_built(&text);
                return false;
            }
        };
        chars.nth(taken);
        if self.word.as_ref().is_some_and(invokes) {
            self.end_word();
        }
        let word = self.word.get_or_insert_default();
        // `$('x')`
        if word.text.ends_with('$') {
            word.text.pop();
        }
        word.text.push_str(&texts.join(" "));
        true
    }

    /// Records the value that `$x = …` of PowerShell sets, if known.
    fn assigned(&mut self, chars: &Peekable<Chars<'_>>) {
        let stages = &self.pipelines[self.current].stages;
        let name = match (stages.last().map(|stage| stage.words.as_slice()), &self.word, &self.variable) {
            (Some([]), Some(word), _) => {
                let is_name =
                    |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte));
                word.text.strip_prefix('$').filter(is_name).map(str::to_owned)
            }
            (Some([_]), None, Some(name)) => Some(name.clone()),
            _ => None,
        };
        let Some(name) = name else { return };
        let (mut text, mut quote) = (String::new(), None);
        for c in chars.clone().take(MAX_EXPRESSION) {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, ';' | '\n' | '|' | '&' | '}') => break,
                _ => {}
            }
            text.push(c);
        }
        let value = evaluated(text.trim_end(), &mut self.values).map(|texts| texts.join(" "));
        self.values.set(&name, value);
    }

    /// Handles `>`, `2>>`, `*>` and `<`. `2>&1` has no file as its target.
    fn redirect(&mut self, chars: &mut Peekable<Chars<'_>>, mut kind: RedirectKind) {
        let is_stream = |word: &Word| word.text == "*" || word.text.bytes().all(|byte| byte.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_stream) {
            self.word = None;
        }
        self.end_word();
        if kind == RedirectKind::Write && chars.next_if_eq(&'>').is_some() {
            kind = RedirectKind::Append;
        }
        let duplicates = chars.next_if(|c| matches!(c, '&' | '|')) == Some('&');
        if duplicates && chars.peek().is_some_and(char::is_ascii_digit) {
            chars.next();
        } else {
            self.redirect = Some(kind);
        }
    }

    /// Stores the text of a `$(…)` in quotes. In the word, the text becomes an unknown part.
    fn expression(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let (mut text, mut depth) = (String::new(), 1);
        for c in chars.by_ref().skip(1) {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            text.push(c);
        }
        self.word.get_or_insert_default().text.push(UNKNOWN);
        self.nested.push(text);
    }

    fn begin(&mut self, stage: Option<(usize, usize)>) {
        self.redirect = None;
        self.current = self.pipelines.len();
        self.pipelines.push(Pipeline { stages: vec![Stage::default()], stage, depth: self.outer.len() });
    }

    /// Starts a pipeline for the text in brackets. For the command around the brackets, their content is an unknown word.
    fn open(&mut self) {
        self.end_word();
        let at = self.current;
        let stage = self.pipelines[at].stages.len().saturating_sub(1);
        if let Some(Stage { words, redirects }) = self.pipelines[at].stages.last_mut() {
            match self.redirect.take() {
                Some(kind) => redirects.push(Redirect { kind, target: Word::unknown() }),
                None if !words.is_empty() => words.push(Word::unknown()),
                None => {}
            }
        }
        self.outer.push(at);
        self.begin(Some((at, stage)));
    }

    fn close(&mut self) {
        self.end_word();
        match self.outer.pop() {
            Some(outer) => self.current = outer,
            None => self.begin(None),
        }
    }
}

/// Splits a text into pipelines, and collects the commands in its quotes.
pub(super) fn split(text: &str) -> PipelineSplitter {
    let mut splitting = PipelineSplitter::default();
    splitting.begin(None);
    let most = text.len() * 4;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                joins(&mut chars);
            }
            (Some('"'), '$') if chars.peek() == Some(&'(') => splitting.expression(&mut chars),
            (Some(_), c) => splitting.word.get_or_insert_default().text.push(c),
            (None, '"' | '\'') => {
                splitting.word.get_or_insert_default();
                quote = Some(c);
            }
            (None, '^' | '`') => {
                if let Some(next) = chars.next() {
                    splitting.word.get_or_insert_default().text.push(next);
                }
            }
            (None, '>') => splitting.redirect(&mut chars, RedirectKind::Write),
            (None, '<') => splitting.redirect(&mut chars, RedirectKind::Read),
            (None, '|') if chars.peek() != Some(&'|') => {
                splitting.end_word();
                splitting.redirect = None;
                let at = splitting.current;
                splitting.pipelines[at].stages.push(Stage::default());
            }
            (None, '(') if splitting.evaluate(&mut chars, most) => {}
            (None, '(' | '{') => splitting.open(),
            (None, ')' | '}') => {
                splitting.close();
                // `(Get-Location)/x`: the path begins with an unknown part.
                if matches!(chars.peek(), Some('/' | '\\')) {
                    splitting.word = Some(Word::unknown());
                }
            }
            (None, ';' | '&' | '|' | '\n') => {
                splitting.end_word();
                let stage = splitting.pipelines[splitting.current].stage;
                splitting.begin(stage);
                splitting.invoked = (c == '&').then_some(splitting.current);
            }
            (None, c) if c.is_whitespace() => splitting.end_word(),
            (None, c) => {
                if c == '=' {
                    splitting.assigned(&chars);
                }
                splitting.word.get_or_insert_default().text.push(c);
            }
        }
    }
    splitting.end_word();
    splitting
}

/// Skips a `+` between two quoted texts, so that both become one word.
pub(super) fn joins(chars: &mut Peekable<Chars<'_>>) {
    let mut ahead = chars.clone();
    while ahead.next_if(|c| c.is_whitespace()).is_some() {}
    if ahead.next_if_eq(&'+').is_none() {
        return;
    }
    while ahead.next_if(|c| c.is_whitespace()).is_some() {}
    if matches!(ahead.peek(), Some('\'' | '"' | '$')) {
        *chars = ahead;
    }
}

/// Splits a word that contains several words: `/s/q`, `-Path:C:\\`.
fn parted(text: &str) -> Option<Vec<Word>> {
    if let Some((option, value)) = text.halves(b':')
        && ["-path", "-literalpath", "-lp"].iter().any(|name| name.eq_ignore_ascii_case(option))
    {
        return Some(vec![Word::literal(option), expanded(Word::literal(value))]);
    }
    if let Some((_, value)) =
        text.halves(b'=').filter(|(name, value)| name.starts_with(['$', UNKNOWN]) && !value.is_empty())
    {
        return Some(vec![Word::unknown(), Word::literal("="), expanded(Word::literal(value))]);
    }
    let letters: Vec<&str> = text.strip_prefix('/')?.split('/').collect();
    let is_switch = |part: &&str| part.len() == 1 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    (letters.len() > 1 && letters.iter().all(is_switch))
        .then(|| letters.iter().map(|letter| Word::literal(format!("/{letter}"))).collect())
}

/// Replaces variables for a home and for known directories. Other variables become unknown.
pub(super) fn expanded(mut word: Word) -> Word {
    let lower = word.text.to_ascii_lowercase();
    for home in ["$home", "$env:userprofile", "%userprofile%", "~"] {
        if let Some(rest) = lower.strip_prefix(home)
            && (rest.is_empty() || rest.starts_with(['\\', '/']))
        {
            word.text = format!("~{}", &word.text[home.len()..]);
            word.home = true;
            return word;
        }
    }
    for (variable, path) in [
        ("%systemdrive%", "C:"),
        ("$env:systemdrive", "C:"),
        ("%systemroot%", "C:\\Windows"),
        ("$env:systemroot", "C:\\Windows"),
        ("%comspec%", "cmd"),
        ("$env:comspec", "cmd"),
        ("%temp%", "/tmp/session"),
        ("$env:temp", "/tmp/session"),
    ] {
        if lower.starts_with(variable) {
            word.text = format!("{path}{}", &word.text[variable.len()..]);
            return word;
        }
    }
    if word.text.has(b'$') || (word.text.matches('%').count() > 1) {
        word.text = unfilled(&word.text);
    }
    word.glob = word.text.has_one_of(b"*?");
    word
}

/// Replaces `$x`, `${x}`, `$env:x` and `%x%` with [`UNKNOWN`].
fn unfilled(text: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '%']) {
        let (known, variable) = rest.split_at(at);
        made.push_str(known);
        made.push(UNKNOWN);
        let after = &variable[1..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        let length = match (after.strip_prefix('{'), after.find('%').filter(|_| variable.starts_with('%'))) {
            (Some(name), _) => name.find('}').map_or(after.len(), |end| end + 2),
            (None, Some(end)) => end + 1,
            (None, None) => after.find(|c| !is_part(c)).unwrap_or(after.len()),
        };
        rest = &after[length..];
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::unfilled;

    #[test]
    fn the_text_around_a_variable_is_kept() {
        for (text, expected) in [
            ("$DIR/infra/x", "?/infra/x"),
            ("a/${b c}/d", "a/?/d"),
            ("$env:TEMP\\x", "?\\x"),
            ("%A%\\x%B%", "?\\x?"),
            ("${a", "?"),
            ("$", "?"),
            ("a$(", "a?("),
        ] {
            assert_eq!(unfilled(text).replace('\u{1A}', "?"), expected, "{text}");
        }
    }
}
