//! Finds the files that a command writes, judging by its words.

use super::ascii::Ascii as _;
use super::path::{is_absolute, slashed};
use super::unwrap::runs_others;
use super::word::{UNKNOWN, Word};
use super::writing_programs::{GIT, WritingKind, kind};
use super::{Command, RedirectKind, lower, program_name};

/// Maximum length of a path on Linux, in bytes. A longer text is not a path. It may be a script in the command, for example.
const MAX_PATH: usize = 4096;

/// The extent of a write to a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// The file itself.
    #[default]
    File,
    /// The file or directory and everything below it, as by `rm -r`.
    Whole,
    /// Like `Whole`, but the tree gets another name, as by `mv`.
    Moved,
    /// Unknown files below the directory, from an archive or a patch, as by `tar -C`.
    Filled,
}

impl Extent {
    /// Returns true if everything below the path is affected.
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Whole | Self::Moved)
    }
}

impl From<bool> for Extent {
    /// Returns `Whole` for true and `File` for false.
    fn from(is_whole: bool) -> Self {
        if is_whole { Self::Whole } else { Self::File }
    }
}

/// A path that a command writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub path: Word,
    pub extent: Extent,
    /// True if the path rests on the assumption that the target is a directory. In `cp a b`, for example, the target may also be the new
    /// file itself.
    pub supposed: bool,
}

impl Command {
    /// Returns the files to which the output is redirected.
    pub fn outputs(&self) -> impl Iterator<Item = &Word> {
        self.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read).map(|redirect| &redirect.target)
    }

    /// Returns the paths that the command is known to write, remove or move. These are the targets of redirections, and the words of a
    /// program that is known to write. A program that another program runs is a separate command.
    #[must_use]
    pub fn writes(&self) -> Vec<Write> {
        let mut writing = WriteCollector::default();
        writing.all(self.outputs(), Extent::File);
        if let Some(kind) = kind(&lower(&self.program)) {
            writing.program(kind, &self.args);
        }
        self.told_to_write().for_each(|target| writing.write(&target, Extent::File));
        writing.found
    }

    /// Returns true if all that the command does is to take rights on files from everybody but their owner: `chmod 600 x`,
    /// `chmod go-rwx x`.
    #[must_use]
    pub fn makes_private(&self) -> bool {
        let is_plain = self.redirects.is_empty() && !self.args.iter().any(|word| word.text.starts_with("--"));
        let mode = || arguments(&self.args).next().is_some_and(|mode| is_private(&mode.text));
        is_plain && kind(&lower(&self.program)) == Some(WritingKind::Mode) && mode()
    }
}

/// Returns true if a program is known to write the files that its words name, or to run another program.
pub(crate) fn writes_or_runs(program: &str) -> bool {
    kind(program).is_some() || runs_others(program)
}

/// Returns true if a text that begins with this name, and is perhaps not a command, should be treated as a command. The name must be the
/// name of a program that writes files, runs other programs, or often precedes a redirection.
#[must_use]
pub fn is_known_program(program: &str) -> bool {
    const EVERYDAY: [&str; 16] = [
        "awk", "cat", "cd", "curl", "cut", "echo", "git", "grep", "head", "jq", "ls", "printf", "pwd", "sort", "tail",
        "wget",
    ];
    EVERYDAY.contains(&program) || writes_or_runs(program)
}

#[derive(Default)]
struct WriteCollector {
    found: Vec<Write>,
}

impl WriteCollector {
    fn write(&mut self, path: &Word, extent: Extent) {
        self.add(path.clone(), extent, false);
    }

    fn add(&mut self, path: Word, extent: Extent, supposed: bool) {
        if path.text.len() <= MAX_PATH {
            self.found.push(Write { path, extent, supposed });
        }
    }

    fn all<'a>(&mut self, words: impl IntoIterator<Item = &'a Word>, extent: Extent) {
        words.into_iter().for_each(|word| self.write(word, extent));
    }

    fn program(&mut self, kind: WritingKind, words: &[Word]) {
        match kind {
            WritingKind::All => self.all(arguments(words), Extent::File),
            WritingKind::Remove => self.all(arguments(words), Extent::Whole),
            WritingKind::Rename => self.all(arguments(words), Extent::Moved),
            WritingKind::Mode => {
                let takes = words.iter().find(|word| is_mode(&word.text)).is_none_or(|mode| takes_away(&mode.text));
                self.all(arguments(words), takes.into());
            }
            WritingKind::Copy | WritingKind::Link | WritingKind::Sync | WritingKind::Move => self.copy(words, kind),
            WritingKind::Second => {
                // A number is the value of an option and not a path.
                let is_number = |word: &&Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
                self.all(arguments(words).filter(|word| !is_number(word)).nth(1), Extent::File);
            }
            WritingKind::InPlace(options) => {
                if words.iter().any(|word| options.iter().any(|option| word.text.starts_with(option))) {
                    self.all(arguments(words), Extent::File);
                }
            }
            WritingKind::InPlaceLetter => {
                if words.iter().any(|word| is_in_place(&word.text)) {
                    self.all(arguments(words), Extent::File);
                }
            }
            WritingKind::Option(options) => self.all(&values(words, options), Extent::File),
            WritingKind::Fetch(files, directories, letters) => {
                let files = values(words, files);
                let mut directories = values(words, directories);
                directories.iter().for_each(|directory| {
                    files.iter().for_each(|file| self.write(&within(directory, file), Extent::File));
                });
                self.all(&files, Extent::File);
                let has_letter = letters.is_empty()
                    || words.iter().any(|word| word.text.starts_with('-') && word.text.contains(letters));
                if directories.is_empty() && has_letter {
                    directories.push(Word::literal("."));
                }
                for address in arguments(words).filter(|word| word.text.has(b'/')) {
                    let name = Word::literal(address.text.rsplit('/').next().unwrap_or_default());
                    directories.iter().for_each(|directory| self.write(&within(directory, &name), Extent::File));
                }
            }
            WritingKind::Assignment(key) => {
                for word in words {
                    if let Some(value) = word.text.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')) {
                        self.write(&Word { home: value.starts_with('~'), ..word.with_text(value) }, Extent::File);
                    }
                }
            }
            WritingKind::Patch => {
                self.all(arguments(words), Extent::File);
                self.all(&values(words, &["-d", "--directory"]), Extent::Filled);
            }
            WritingKind::Unpack(into, says, denies) => self.unpack(words, into, says, denies),
            WritingKind::Find => self.find(words),
            WritingKind::Git => self.git(words),
        }
    }

    fn unpack(&mut self, words: &[Word], into: &[&str], says: &[u8], denies: &[u8]) {
        // In `tar xf x` and `7z x x`, the option letters have no dash.
        let letters = words.iter().enumerate().filter_map(|(at, word)| match word.text.strip_prefix('-') {
            Some(letters) => Some(letters).filter(|letters| !letters.starts_with('-')),
            None => Some(word.text.as_str()).filter(|_| at == 0),
        });
        let has = |wanted: &[u8]| {
            letters
                .clone()
                .any(|word| word.bytes().take_while(u8::is_ascii_alphabetic).any(|byte| wanted.contains(&byte)))
        };
        if words.iter().any(|word| word.text == "--remove-files") {
            let from = values(words, into).pop().unwrap_or_else(|| Word::literal("."));
            let packed = arguments(words).filter(|word| word.text != from.text);
            packed.for_each(|word| self.write(&within(&from, word), Extent::Moved));
        }
        let is_long = |word: &Word| matches!(word.text.as_str(), "--extract" | "--get" | "--pass-through");
        if if says.is_empty() { has(denies) } else { !has(says) && !words.iter().any(is_long) } {
            return self.all(&values(words, &["-f", "--file"]), Extent::File);
        }
        let mut directories = values(words, into);
        if directories.is_empty() {
            directories.push(Word::literal("."));
        }
        self.all(&directories, Extent::Filled);
    }

    fn git(&mut self, words: &[Word]) {
        self.all(&values(words, &["--output"]), Extent::File);
        match words.iter().position(|word| matches!(word.text.as_str(), "archive" | "bundle" | "clone" | "worktree")) {
            Some(at) if words[at].text == "archive" => self.all(&values(&words[at..], &["-o"]), Extent::File),
            Some(at) if words[at].text == "bundle" => self.all(arguments(&words[at..]).nth(2), Extent::File),
            Some(at) if words[at].text == "worktree" => self.all(arguments(&words[at..]).nth(2), Extent::Filled),
            Some(at) => {
                let target = arguments(&words[at + 1..]).skip(1).last().filter(|word| !word.text.has(b':'));
                self.all(target, Extent::Filled);
            }
            None => {}
        }
        let is_writer = |word: &Word| word.text == "config" || GIT.contains(&word.text.as_str());
        let Some(at) = words.iter().position(is_writer) else { return };
        if words[at].text == "config" {
            return self.configure(&words[at + 1..]);
        }
        // Each further directory is relative to the previous one.
        let directories = values(&words[..at], &["-C", "--work-tree"]);
        let directory = directories.into_iter().reduce(|directory, next| within(&directory, &next));
        // The files that a patch changes in this directory are unknown.
        for word in values(&words[at + 1..], &["--directory"]) {
            self.write(&word, if word.text == "." { Extent::File } else { Extent::Filled });
        }
        for word in arguments(&words[at + 1..]) {
            self.write(word, Extent::Whole);
            if let Some(directory) = &directory {
                self.write(&within(directory, word), Extent::Whole);
            }
        }
    }

    /// Handles `git config`, which writes the given file unless the call only reads settings.
    fn configure(&mut self, words: &[Word]) {
        let asks = |word: &Word| {
            word.text.starts_with("--get") || matches!(word.text.as_str(), "get" | "list" | "-l" | "--list")
        };
        if !words.iter().any(asks) {
            self.all(&values(words, &["-f", "--file"]), Extent::File);
        }
    }

    /// Handles `find`, whose action may affect every file that it finds.
    fn find(&mut self, words: &[Word]) {
        let options = words.iter().position(|word| word.text.starts_with('-')).unwrap_or(words.len());
        let (roots, options) = words.split_at(options);
        let execute = options
            .iter()
            .position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "--exec"));
        let writes_found = execute
            .and_then(|at| options.get(at + 1))
            .is_some_and(|word| writes_or_runs(&lower(program_name(&word.text))));
        if !options.iter().any(|word| word.text == "-delete") && !writes_found {
            return;
        }
        let here = [Word::literal(".")];
        let roots = if roots.is_empty() { &here } else { roots };
        self.all(roots, Extent::Whole);
        // The file may lie anywhere below the directory.
        for name in values(options, &["-name", "-iname", "-path", "-ipath"]) {
            // In `find`, a star also matches dots and slashes.
            let name = name.text.trim_start_matches("*/").replace('*', &UNKNOWN.to_string());
            let name = Word { glob: true, ..Word::literal(format!("{UNKNOWN}/{name}")) };
            roots.iter().for_each(|root| self.write(&within(root, &name), Extent::Whole));
        }
    }

    fn copy(&mut self, words: &[Word], kind: WritingKind) {
        let moves = kind == WritingKind::Move;
        let mut sources: Vec<&Word> = arguments(words).collect();
        let mut targets = values(words, &["-t", "--target-directory", "-Destination"]);
        if targets.is_empty() {
            targets.extend(sources.pop().cloned());
        } else {
            sources.retain(|word| !targets.contains(word));
        }
        // A recursive copy writes the content of a directory and overwrites existing files.
        let whole = moves || words.iter().any(|word| is_recursive(&word.text));
        // With a slash at the end, `rsync` and the `cp` of macOS copy the content of the directory.
        let contents = whole && !moves && sources.iter().any(|source| source.text.ends_with('/'));
        // With these options, the target is the new name of the source and not a directory for it.
        let letters: &[u8] = if kind == WritingKind::Link { b"Tn" } else { b"T" };
        let is_itself = kind != WritingKind::Sync && words.iter().any(|word| is_target_itself(&word.text, letters));
        for target in &targets {
            self.write(target, (contents || is_itself).into());
            for source in sources.iter().filter(|_| !is_itself) {
                let name = source.text.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
                let name = Word { glob: source.glob, ..Word::literal(name) };
                let is_there = kind != WritingKind::Sync || !source.text.ends_with('/');
                self.add(within(target, &name), (whole && is_there).into(), true);
            }
        }
        if moves {
            self.all(sources, Extent::Moved);
        }
    }
}

/// Returns true if a word is a mode of `chmod`: `644`, `u=rw,go-x`.
fn is_mode(word: &str) -> bool {
    !word.is_empty()
        && (word.bytes().all(|byte| byte.is_ascii_digit())
            || (word.has_one_of(b"+-=") && word.bytes().all(|byte| b"ugoarwxXst+-=,01234567".contains(&byte))))
}

/// Returns true if a mode removes, or may remove, a right of the owner.
fn takes_away(mode: &str) -> bool {
    match mode.as_bytes() {
        [.., owner, _, _] if mode.bytes().all(|byte| byte.is_ascii_digit()) => *owner != b'7',
        bytes => !bytes.contains(&b'+') || bytes.contains(&b'-') || bytes.contains(&b'='),
    }
}

/// Returns true if a mode lets the owner read, and takes rights from everybody else: `600`, `go-rwx`, `go=`.
fn is_private(mode: &str) -> bool {
    let is_clause = |clause: &str| {
        let rights = clause.trim_start_matches(['g', 'o']);
        let taken = if rights == "=" { Some("") } else { rights.strip_prefix('-') };
        rights.len() < clause.len() && taken.is_some_and(|taken| taken.bytes().all(|right| b"rwxXst".contains(&right)))
    };
    matches!(mode.strip_prefix('0').unwrap_or(mode), "400" | "500" | "600" | "700") || mode.split(',').all(is_clause)
}

/// Returns true if an option of `cp`, `mv` or `ln` treats the target as the new file and not as a directory for it.
fn is_target_itself(option: &str, letters: &[u8]) -> bool {
    let is_cluster = option.starts_with('-') && !option.starts_with("--");
    (is_cluster && option.has_one_of(letters)) || matches!(option, "--no-target-directory" | "--no-dereference")
}

/// Returns true if an option makes sed, perl or ruby write the file that they read. This is the letter `i`, perhaps after other letters
/// that take no value.
fn is_in_place(word: &str) -> bool {
    let Some(letters) = word.strip_prefix('-') else { return false };
    word.starts_with("--in-place")
        || word.starts_with("--inplace")
        || letters.trim_start_matches(|c: char| c.is_ascii_digit() || "nErsuzplawS".contains(c)).starts_with('i')
}

/// Returns true if an option makes the copy recursive.
fn is_recursive(word: &str) -> bool {
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    (is_cluster && word.has_one_of(b"rRa")) || matches!(word, "--recursive" | "--archive")
}

/// Returns a path relative to a directory.
pub(super) fn within(directory: &Word, path: &Word) -> Word {
    if path.home || is_absolute(&slashed(&path.text)) {
        return path.clone();
    }
    let text = format!("{}/{}", directory.text.trim_end_matches('/'), path.text);
    Word { text, glob: directory.glob || path.glob, span: None, ..directory.clone() }
}

/// Returns the words that are not options. After `--`, all words are returned.
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

/// Returns the values of the given options, written `-o x`, `-ox`, `--output x` or `--output=x`.
pub(super) fn values(words: &[Word], options: &[&str]) -> Vec<Word> {
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
