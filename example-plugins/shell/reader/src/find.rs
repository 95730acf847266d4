//! Reads the actions of `find` and `fd` on the files that they find, such as `-delete` and `-exec`.

use super::ascii::Ascii as _;
use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word};
use super::{Command, Redirect, RedirectKind};

/// The part of an expression between two brackets.
#[derive(Clone, Copy, Default)]
struct FindGroup {
    /// True if a test before the group already selects certain files.
    inherited: bool,
    /// True if a test of the current alternative selects certain files.
    chosen: bool,
    /// True if an earlier alternative has no such test, and therefore finds all files.
    open: bool,
    negated: bool,
}

/// Reads an expression from left to right, because `find . -delete -name x` deletes before it tests names.
#[derive(Default)]
struct FindExpression {
    group: FindGroup,
    outer: Vec<FindGroup>,
    negated: bool,
}

impl FindExpression {
    fn says_which(&self) -> bool {
        self.group.inherited || self.group.chosen
    }

    /// Reads one word. Returns true if the next word is the value of this word.
    fn read(&mut self, word: &str, next: Option<&Word>) -> bool {
        let negated = std::mem::take(&mut self.negated);
        match word {
            "!" | "-not" => self.negated = !negated,
            "(" => {
                let inherited = self.says_which();
                self.outer.push(self.group);
                self.group = FindGroup { inherited, negated, ..FindGroup::default() };
            }
            ")" => {
                let inner = std::mem::take(&mut self.group);
                self.group = self.outer.pop().unwrap_or_default();
                self.group.chosen |= inner.chosen && !inner.open && !inner.negated;
            }
            "-o" | "-or" | "," => {
                self.group.open |= !self.group.chosen;
                self.group.chosen = false;
            }
            "-empty" => self.group.chosen |= !negated,
            "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-regex" | "-iregex" | "-inum"
            | "-samefile" | "-xtype" => {
                self.group.chosen |= !negated && next.is_some_and(|word| chooses(&word.text));
                return true;
            }
            _ => {}
        }
        false
    }
}

impl Reader<'_> {
    pub(super) fn find(&mut self, name: &str, args: &[Word], inner: &Command) -> Result<(), Unreadable> {
        if name.starts_with("fd") {
            return self.fd(name, args, inner);
        }
        let starts = |word: &Word| word.text.starts_with('-') || matches!(word.text.as_str(), "(" | "!");
        let options = args.iter().take_while(|word| matches!(word.text.as_str(), "-H" | "-L" | "-P")).count();
        let args = &args[options..];
        let mut roots: Vec<Word> = args.iter().take_while(|word| !starts(word)).cloned().collect();
        let mut at = roots.len();
        if roots.is_empty() {
            roots.push(Word::literal("."));
        }
        let mut expression = FindExpression::default();
        while let Some(word) = args.get(at) {
            let text = word.text.as_str();
            at += 1;
            if expression.read(text, args.get(at)) {
                at += 1;
                continue;
            }
            if matches!(text, "-fprintf" | "-fprint" | "-fprint0" | "-fls") {
                let redirects =
                    args.get(at).map(|target| Redirect { kind: RedirectKind::Write, target: target.clone() });
                let redirects = redirects.into_iter().collect();
                self.record(Command { redirects, place: inner.place.clone(), ..Command::default() })?;
                at += 1;
                continue;
            }
            if !matches!(text, "-delete" | "-exec" | "-execdir" | "-ok" | "-okdir") {
                continue;
            }
            self.spend(roots.iter().map(|root| root.text.len() + 40).sum())?;
            let found = found(&roots, expression.says_which());
            if text == "-delete" {
                let options = if expression.says_which() { "-f" } else { "-rf" };
                let words: Vec<Word> = ["rm", options].into_iter().map(Word::literal).chain(found).collect();
                self.wrapped(name, &words, Command { exact: false, ..inner.clone() })?;
                continue;
            }
            let length = args[at..].iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
            let words = &args[at..length.map_or(args.len(), |length| at + length)];
            self.each_found(name, words, &found, inner)?;
            // If the command of an action has no end, the words after the action are also read as part of the expression.
            at += length.map_or(0, |length| length + 1);
        }
        Ok(())
    }

    fn fd(&mut self, name: &str, args: &[Word], inner: &Command) -> Result<(), Unreadable> {
        let mut words: Vec<Word> = Vec::new();
        let mut roots: Vec<Word> = Vec::new();
        let (mut pattern, mut says_which, mut is_action, mut at) = (None, false, false, 0);
        while let Some(word) = args.get(at).filter(|_| !is_action) {
            at += 1;
            let Some(option) = word.text.strip_prefix('-').filter(|option| !option.is_empty()) else {
                if pattern.is_some() {
                    roots.push(word.clone());
                } else {
                    pattern = Some(word);
                }
                continue;
            };
            let (name, mut value) = option_of_fd(option);
            is_action = matches!(name, "x" | "X" | "exec" | "exec-batch");
            if is_action {
                words.extend(value.map(Word::marked));
            } else if takes_value(name) {
                if value.is_none() {
                    value = args.get(at).map(|word| word.text.as_str());
                    at += 1;
                }
                let value = value.unwrap_or_default();
                match name {
                    "e" | "extension" => says_which |= !value.is_empty(),
                    "C" | "base-directory" | "search-path" => roots.push(Word::marked(value)),
                    _ => {}
                }
            }
        }
        if !is_action {
            return Ok(());
        }
        says_which |= pattern.is_some_and(|word| chooses(&word.text));
        if roots.is_empty() {
            roots.push(Word::literal("."));
        }
        let found = found(&roots, says_which);
        words.extend_from_slice(args.get(at..).unwrap_or_default());
        words.retain(|word| word.text != ";");
        if !words.iter().any(|word| word.text.contains("{}")) {
            words.push(Word::literal("{}"));
        }
        self.each_found(name, &words, &found, inner)
    }

    /// Reads the command that runs on the found files.
    fn each_found(&mut self, name: &str, words: &[Word], found: &[Word], inner: &Command) -> Result<(), Unreadable> {
        // An action whose command has no end takes all following words, so several such actions read the same words again and again.
        // Therefore the words are counted many times.
        self.spend(words.len() * 40)?;
        let mut filled = Vec::new();
        for word in words {
            match word.text.as_str() {
                "{}" => {
                    self.spend(found.len() * 40)?;
                    filled.extend(found.iter().cloned());
                }
                text if text.contains("{}") => {
                    filled.push(Word { text: text.replace("{}", &UNKNOWN.to_string()), ..word.clone() });
                }
                _ => filled.push(word.clone()),
            }
        }
        self.wrapped(name, &filled, Command { exact: false, ..inner.clone() })
    }
}

/// Returns the last option of a word, without dashes, and the value of this option if the value is in the same word.
fn option_of_fd(word: &str) -> (&str, Option<&str>) {
    if let Some(long) = word.strip_prefix('-') {
        return long.halves(b'=').map_or((long, None), |(name, value)| (name, Some(value)));
    }
    let last = word.char_indices().find(|(_, c)| "xXdEteScjoC".contains(*c)).or_else(|| word.char_indices().last());
    let (at, end) = last.map_or((0, 0), |(at, c)| (at, at + c.len_utf8()));
    (&word[at..end], Some(&word[end..]).filter(|value| !value.is_empty()))
}

/// Returns true if an option of `fd` takes a value.
fn takes_value(option: &str) -> bool {
    const LONG_OPTIONS: &str = " and base-directory batch-size changed-before changed-within color exact-depth exclude extension format \
        ignore-file max-depth max-results min-depth owner path-separator search-path size threads type ";
    LONG_OPTIONS.split(' ').any(|long| long == option) || (option.len() == 1 && "dEteScjoC".contains(option))
}

/// Returns true if a pattern selects certain files, and false if it matches most files. A class of a few letters is treated as a selection.
fn chooses(pattern: &str) -> bool {
    let is_open = |c: char| matches!(c, '*' | '?' | '.' | '/' | '+' | '^' | '$' | '\\' | '(' | ')' | '|');
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let tail = &rest[c.len_utf8()..];
        // In `[]x]` and `[!]x]`, the first `]` belongs to the class.
        let first = tail.len() - tail.trim_start_matches(['!', '^']).len() + 1;
        let close = tail.get(first..).and_then(|text| text.find(']')).map(|at| at + first);
        match close.filter(|_| c == '[') {
            Some(close) => {
                let letters = &tail[..close];
                if letters.len() <= 4 && letters.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                    return !pattern.has(UNKNOWN as u8);
                }
                rest = &tail[close + 1..];
            }
            None if is_open(c) => rest = tail,
            None => return !pattern.has(UNKNOWN as u8),
        }
    }
    false
}

/// Returns the paths that may be found. If a test selects certain files, this is an unknown entry of each directory, otherwise all entries.
fn found(roots: &[Word], says_which: bool) -> Vec<Word> {
    let (end, glob) = if says_which { ("found", false) } else { ("*", true) };
    let below = |root: &Word| {
        let directory = root.text.trim_end_matches('/');
        Word { text: format!("{directory}/{end}"), span: None, glob: root.glob || glob, ..root.clone() }
    };
    roots.iter().map(below).collect()
}
