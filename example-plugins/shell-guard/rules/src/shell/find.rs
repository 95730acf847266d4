//! What `find` and `fd` do with what they find: `-delete` and `-exec`.

use super::Command;
use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word};

/// The parts of an expression that stand between its brackets.
#[derive(Clone, Copy, Default)]
struct Group {
    /// Whether what leads to it already says which files are meant.
    inherited: bool,
    /// Whether the alternative that is being read does.
    chosen: bool,
    /// Whether an alternative before it does not.
    open: bool,
    negated: bool,
}

/// Reads an expression from left to right, since `find . -delete -name x` deletes before it looks at names.
#[derive(Default)]
struct Expression {
    group: Group,
    outer: Vec<Group>,
    negated: bool,
}

impl Expression {
    fn says_which(&self) -> bool {
        self.group.inherited || self.group.chosen
    }

    /// Reads one word; whether the next is its value.
    fn read(&mut self, word: &str, next: Option<&Word>) -> bool {
        let negated = std::mem::take(&mut self.negated);
        match word {
            "!" | "-not" => self.negated = !negated,
            "(" => {
                let inherited = self.says_which();
                self.outer.push(self.group);
                self.group = Group { inherited, negated, ..Group::default() };
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
                let fits_all = |text: &str| text.chars().all(|c| matches!(c, '*' | '?' | '.' | '/'));
                self.group.chosen |= !negated && next.is_some_and(|word| word.is_known() && !fits_all(&word.text));
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
        let mut expression = Expression::default();
        while let Some(word) = args.get(at) {
            let text = word.text.as_str();
            at += 1;
            if expression.read(text, args.get(at)) {
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
            // One that has no end is read on as if it had none of these words.
            at += length.map_or(0, |length| length + 1);
        }
        Ok(())
    }

    fn fd(&mut self, name: &str, args: &[Word], inner: &Command) -> Result<(), Unreadable> {
        let is_action = |word: &Word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
        let Some(at) = args.iter().position(is_action) else { return Ok(()) };
        let by_ending = args[..at].iter().any(|word| word.text.starts_with("-e") || word.text.starts_with("--ext"));
        let mut operands = args[..at].iter().filter(|word| !word.text.starts_with('-'));
        let pattern = operands.next();
        let says_which = by_ending || pattern.is_some_and(|word| !matches!(word.text.as_str(), "" | "." | ".*" | "*"));
        let mut roots: Vec<Word> = operands.cloned().collect();
        if roots.is_empty() {
            roots.push(Word::literal("."));
        }
        let found = found(&roots, says_which);
        let mut words = args[at + 1..].to_vec();
        words.retain(|word| word.text != ";");
        if !words.iter().any(|word| word.text.contains("{}")) {
            words.push(Word::literal("{}"));
        }
        self.each_found(name, &words, &found, inner)
    }

    /// Reads the command that is run with what is found.
    fn each_found(&mut self, name: &str, words: &[Word], found: &[Word], inner: &Command) -> Result<(), Unreadable> {
        // Each of many that have no end takes all that follow.
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

/// What may be found: something in each folder, or else all of it.
fn found(roots: &[Word], says_which: bool) -> Vec<Word> {
    let (end, glob) = if says_which { ("found", false) } else { ("*", true) };
    let below = |root: &Word| {
        let folder = root.text.trim_end_matches('/');
        Word { text: format!("{folder}/{end}"), span: None, glob: root.glob || glob, ..root.clone() }
    };
    roots.iter().map(below).collect()
}
