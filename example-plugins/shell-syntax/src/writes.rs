//! The files that a command writes, as far as its words tell.

use super::ascii::Ascii as _;
use super::known::{GIT, Kind, kind};
use super::path::{is_absolute, slashed};
use super::unwrap::runs_others;
use super::word::Word;
use super::{Command, RedirectKind, lower, program_name};

/// Maximum length of a path on Linux, in bytes. A longer text is not a path, except instance a script within the command.
const MAX_PATH: usize = 4096;

/// A path that a command writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub path: Word,
    /// Whether all below it goes with it, as with `rm -r` and `mv`.
    pub whole: bool,
    /// Whether it supposes that a target is a directory: that of `cp a b` may be the file itself.
    pub supposed: bool,
}

impl Command {
    /// The files that its output is led into.
    pub fn outputs(&self) -> impl Iterator<Item = &Word> {
        self.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read).map(|redirect| &redirect.target)
    }

    /// All that it obviously writes, removes and moves: what its output is led into, and what its words name to a program that
    /// is known to write. Of a program that runs another, the other is a command of its own.
    #[must_use]
    pub fn writes(&self) -> Vec<Write> {
        let mut writing = Writing::default();
        self.outputs().for_each(|target| writing.write(target, false));
        if let Some(kind) = kind(&lower(&self.program)) {
            writing.program(kind, &self.args);
        }
        self.told_to_write().for_each(|target| writing.write(&target, false));
        writing.found
    }
}

/// Whether a program is known to write what its words name, or to run another.
pub(crate) fn writes_or_runs(program: &str) -> bool {
    kind(program).is_some() || runs_others(program)
}

#[derive(Default)]
struct Writing {
    found: Vec<Write>,
}

impl Writing {
    fn write(&mut self, path: &Word, whole: bool) {
        if path.text.len() <= MAX_PATH {
            self.found.push(Write { path: path.clone(), whole, supposed: false });
        }
    }

    /// The same of what would be in a target that is a directory.
    fn suppose(&mut self, path: Word, whole: bool) {
        if path.text.len() <= MAX_PATH {
            self.found.push(Write { path, whole, supposed: true });
        }
    }

    fn program(&mut self, kind: Kind, words: &[Word]) {
        match kind {
            Kind::All => arguments(words).for_each(|word| self.write(word, false)),
            Kind::Remove => arguments(words).for_each(|word| self.write(word, true)),
            Kind::Copy | Kind::Sync => self.copy(words, kind),
            Kind::Move => self.copy(words, kind),
            Kind::InPlace(options) => {
                if words.iter().any(|word| options.iter().any(|option| word.text.starts_with(option))) {
                    arguments(words).for_each(|word| self.write(word, false));
                }
            }
            Kind::InPlaceLetter => {
                if words.iter().any(|word| is_in_place(&word.text)) {
                    arguments(words).for_each(|word| self.write(word, false));
                }
            }
            Kind::Option(options) => values(words, options).iter().for_each(|word| self.write(word, false)),
            Kind::Assignment(key) => {
                for word in words {
                    if let Some(value) = word.text.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
                        self.write(&Word { home: value.starts_with('~'), ..word.with_text(value) }, false);
                    }
                }
            }
            Kind::Find => self.find(words),
            Kind::Git => self.git(words),
        }
    }

    fn git(&mut self, words: &[Word]) {
        let Some(at) = words.iter().position(|word| GIT.contains(&word.text.as_str())) else { return };
        // Each further directory is relative to the one before.
        let directories = values(&words[..at], &["-C", "--work-tree"]);
        let directory = directories.into_iter().reduce(|directory, next| within(&directory, &next));
        // What a patch changes there, nobody knows.
        values(&words[at + 1..], &["--directory"]).iter().for_each(|word| self.write(word, word.text != "."));
        for word in arguments(&words[at + 1..]) {
            self.write(word, true);
            if let Some(directory) = &directory {
                self.write(&within(directory, word), true);
            }
        }
    }

    /// What is done to what is found may be done to all of it.
    fn find(&mut self, words: &[Word]) {
        let options = words.iter().position(|word| word.text.starts_with('-')).unwrap_or(words.len());
        let (roots, options) = words.split_at(options);
        let execute = options
            .iter()
            .position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "--exec"));
        let writes_found = execute
            .and_then(|at| options.get(at + 1))
            .is_some_and(|word| writes_or_runs(&lower(program_name(&word.text))));
        if options.iter().any(|word| word.text == "-delete") || writes_found {
            for root in roots {
                self.write(root, true);
            }
            if roots.is_empty() {
                self.write(&Word::literal("."), true);
            }
        }
    }

    fn copy(&mut self, words: &[Word], kind: Kind) {
        let moves = kind == Kind::Move;
        let mut sources: Vec<&Word> = arguments(words).collect();
        let mut targets = values(words, &["-t", "--target-directory", "-Destination"]);
        if targets.is_empty() {
            targets.extend(sources.pop().cloned());
        } else {
            sources.retain(|word| !targets.contains(word));
        }
        // What is in a directory comes with it, and takes the place of what is there.
        let whole = moves || words.iter().any(|word| is_recursive(&word.text));
        // With a slash at its end, `rsync` and the `cp` of macOS copy what is in it.
        let contents = whole && !moves && sources.iter().any(|source| source.text.ends_with('/'));
        for target in &targets {
            self.write(target, contents);
            for source in &sources {
                let name = source.text.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
                let name = Word { glob: source.glob, ..Word::literal(name) };
                let is_there = kind != Kind::Sync || !source.text.ends_with('/');
                self.suppose(within(target, &name), whole && is_there);
            }
        }
        if moves {
            sources.into_iter().for_each(|source| self.write(source, true));
        }
    }
}

/// Whether an option of sed, perl or ruby has them write where they read: after letters that take no value comes an `i`.
fn is_in_place(word: &str) -> bool {
    let Some(letters) = word.strip_prefix('-') else { return false };
    word.starts_with("--in-place")
        || word.starts_with("--inplace")
        || letters.trim_start_matches(|c: char| c.is_ascii_digit() || "nErsuzplawS".contains(c)).starts_with('i')
}

/// Whether an option has directories copied with what is in them.
fn is_recursive(word: &str) -> bool {
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    (is_cluster && word.has_one_of(b"rRa")) || matches!(word, "--recursive" | "--archive")
}

/// A path that is relative to a directory.
fn within(directory: &Word, path: &Word) -> Word {
    if path.home || is_absolute(&slashed(&path.text)) {
        return path.clone();
    }
    let text = format!("{}/{}", directory.text.trim_end_matches('/'), path.text);
    Word { text, glob: directory.glob || path.glob, span: None, ..directory.clone() }
}

/// The words that are no options; after `--`, all.
fn arguments(words: &[Word]) -> impl Iterator<Item = &Word> {
    let mut all = false;
    words.iter().filter(move |word| {
        if word.text == "--" && !all {
            all = true;
            return false;
        }
        all || !word.text.starts_with('-') || word.text == "-"
    })
}

/// The values of such options, written `-o x`, `-ox`, `--output x` or `--output=x`.
fn values(words: &[Word], options: &[&str]) -> Vec<Word> {
    let mut values = Vec::new();
    for (at, word) in words.iter().enumerate() {
        for option in options {
            match word.text.strip_prefix(option) {
                Some("") => values.extend(words.get(at + 1).cloned()),
                Some(value) => {
                    let value = if option.starts_with("--") { value.strip_prefix('=') } else { Some(value) };
                    values.extend(value.map(|value| Word { home: value.starts_with('~'), ..word.with_text(value) }));
                }
                None => {}
            }
        }
    }
    values
}
