//! The operands of writing programs that name no file to write: scripts, modes, owners, patches and new branches.

use crate::reading::{before_subcommand, value_of};
use shell_reader::{Command, Extent, Word, Write, lower};

/// A program whose first operand is no file, unless one of its options takes its place.
struct Program {
    names: &'static [&'static str],
    /// The letters of the options that take the place of the first operand. Each has a value.
    instead: &'static str,
    /// The long options that do the same.
    instead_long: &'static [&'static str],
    /// The letters of other options whose value may be the next word.
    valued: &'static str,
    /// The letters of options whose value can only be in the same word.
    attached: &'static str,
}

/// Options of programs whose value may be the next word, which is then no operand.
const VALUES: [(&str, &[&str]); 4] =
    [("git", &["--source"]), ("truncate", &["-s", "-r"]), ("touch", &["-d", "-t", "-r"]), ("mkdir", &["-m"])];

const PROGRAMS: [Program; 5] = [
    Program {
        names: &["sed", "gsed"],
        instead: "ef",
        instead_long: &["--expression", "--file"],
        valued: "l",
        attached: "i",
    },
    Program { names: &["perl"], instead: "eE", instead_long: &[], valued: "", attached: "iFMmI" },
    Program { names: &["ruby"], instead: "e", instead_long: &[], valued: "rI", attached: "iF" },
    Program {
        names: &["awk", "gawk"],
        instead: "feE",
        instead_long: &["--file", "--source", "--exec"],
        valued: "vFil",
        attached: "",
    },
    Program {
        names: &["chown", "chgrp", "gchown"],
        instead: "",
        instead_long: &["--reference"],
        valued: "",
        attached: "",
    },
];

/// Returns the files that a command writes, without the words that are no files. Of a patch in a file, it is unknown what it writes.
#[must_use]
pub fn written(command: &Command) -> Vec<Write> {
    let mut writes = command.writes();
    let program = lower(&command.program);
    let args = &command.args;
    let has_input = command.input.as_ref().is_some_and(Word::is_known);
    let mut others: Vec<&Word> = Vec::new();
    if let Some((_, options)) = VALUES.iter().find(|(name, _)| *name == program) {
        let mut words = args.iter().take_while(|word| word.text != "--");
        while let Some(word) = words.next() {
            others.extend(options.contains(&&*word.text).then(|| words.next()).flatten());
        }
    }
    let mut is_patched = false;
    match &*program {
        "git" => {
            let (subcommand, rest) = args
                .get(before_subcommand(command)..)
                .and_then(<[Word]>::split_first)
                .map_or(("", &[][..]), |(first, rest)| (&*first.text, rest));
            let end = rest.iter().position(|word| word.text == "--").unwrap_or(rest.len());
            let has = |options: &[&str]| rest[..end].iter().any(|word| options.contains(&word.text.as_str()));
            let applies = matches!(subcommand, "apply" | "am");
            if applies || (subcommand == "checkout" && has(&["-b", "-B", "--orphan"])) {
                writes.retain(|write| write.extent != Extent::Whole);
            }
            // What precedes `--` in `git checkout HEAD~1 -- x` is a commit.
            if subcommand == "checkout" && end < rest.len() {
                others.extend(&rest[..end]);
            }
            let is_named = || end + 1 < rest.len() || rest[..end].iter().any(|word| !word.text.starts_with('-'));
            is_patched = applies && (!has_input || is_named()) && !only_lists(&rest[..end]);
        }
        "patch" | "gpatch" => {
            const LONG: &str = " --directory --strip --input --output --reject-file --prefix --basename-prefix --suffix --fuzz \
                --version-control --ifdef --get --debug --quoting-style --reject-format --read-only";
            // Options can be abbreviated.
            let is_long = |name: &str| LONG.contains(&format!(" {name}"));
            let (mut operands, mut names_patch, mut output) = (Vec::new(), false, None);
            let mut words = args.iter();
            while let Some(word) = words.next() {
                match value_of(&word.text, "BdDFgioprVYzx", is_long) {
                    _ if word.text == "--" => operands.extend(words.by_ref()),
                    Some((letter, is_next)) => {
                        let value = if is_next { words.next() } else { None };
                        names_patch |= letter == 'i';
                        output = if letter == 'o' { Some(value) } else { output };
                        others.extend(value.filter(|_| letter == 'i'));
                    }
                    None if !word.text.starts_with('-') => operands.push(word),
                    None => {}
                }
            }
            is_patched = match output {
                // The file is among those that are written if it is a word of its own.
                Some(file) => file.is_none(),
                None => operands.is_empty() && (names_patch || !has_input),
            };
            others.extend(operands.into_iter().skip(1));
        }
        "chmod" | "gchmod" => {
            let is_mode = |text: &str| {
                text.bytes().all(|byte| b"ugoarwxXst+-=,01234567".contains(&byte))
                    && text.contains(|c: char| c.is_ascii_digit() || "+-=".contains(c))
            };
            others.extend(args.iter().find(|word| is_mode(&word.text)));
        }
        program => {
            let known = PROGRAMS.iter().find(|known| known.names.contains(&program));
            others.extend(known.map(|known| known.other_operands(args)).unwrap_or_default());
        }
    }
    // A file may be spelt like a script, so one word takes one file away.
    for word in others {
        if let Some(at) = writes.iter().rposition(|write| write.path == *word) {
            writes.remove(at);
        }
    }
    let write = |path: Word| Write { path, extent: Extent::File, supposed: false };
    writes.extend(command.outputs().cloned().map(write));
    writes.extend(is_patched.then(|| write(Word::unknown())));
    writes
}

/// Returns true if `git apply` or `git am` with these words applies nothing.
fn only_lists(words: &[Word]) -> bool {
    const LISTING: [&str; 7] = ["--check", "--stat", "--numstat", "--summary", "--abort", "--skip", "--quit"];
    let is_value = |at: usize| {
        let is_long = |name: &str| ["--e", "--inc", "--d", "--w", "--bu"].iter().any(|begin| name.starts_with(begin));
        let before = at.checked_sub(1).and_then(|before| value_of(&words[before].text, "pC", is_long));
        before.is_some_and(|(_, is_next)| is_next)
    };
    let mut options = words.iter().enumerate().filter(|(at, _)| !is_value(*at)).map(|(_, word)| &*word.text);
    let applies = words.iter().any(|word| word.text.starts_with("--ap") || word.text.starts_with("--no-"));
    !applies && options.any(|text| LISTING.contains(&text))
}

impl Program {
    /// Returns the words of a command that look like files and are none.
    fn other_operands<'a>(&self, args: &'a [Word]) -> Vec<&'a Word> {
        let (mut others, mut first, mut has_script) = (Vec::new(), None, false);
        let mut words = args.iter();
        let mut are_operands = false;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if are_operands || !text.starts_with('-') || text == "-" {
                // The value of `sed -i ''` of macOS
                if text.is_empty() {
                    others.push(word);
                } else {
                    first = first.or(Some(word));
                }
            } else if text == "--" {
                are_operands = true;
            } else if let Some(long) = text.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                // Options can be abbreviated.
                if !name.is_empty() && self.instead_long.iter().any(|option| option[2..].starts_with(name)) {
                    has_script = true;
                    others.extend(value.is_none().then(|| words.next()).flatten());
                }
            } else {
                let is_last = |c: &(usize, char)| [self.instead, self.valued, self.attached].concat().contains(c.1);
                let Some((at, letter)) = text.char_indices().skip(1).find(is_last) else { continue };
                has_script |= self.instead.contains(letter);
                if !self.attached.contains(letter) && at + letter.len_utf8() == text.len() {
                    others.extend(words.next());
                }
            }
        }
        others.extend(first.filter(|_| !has_script));
        others
    }
}
