//! Programs that run other commands. This module contains the tables of `wrappers.toml`, and reads command lines with these tables.

use super::ascii::Ascii as _;
use super::word::{UNKNOWN, Word};

/// How a program runs the command in its words. Each list contains options, except `after`, `escapes`, `brackets`, `asks` and `separators`.
/// If an option matters only with values that begin with a certain name, this name follows the option in the list: `-o ProxyCommand`.
#[derive(Debug)]
pub(super) struct Wrapper {
    /// The subcommands that run a command. If the list is empty, the program runs a command even without a subcommand.
    after: List,
    /// Options that take a value and come before a subcommand.
    before: List,
    /// Options that take a value.
    values: List,
    /// Options without a value. The word after any other option may be its value.
    flags: List,
    /// Options that take two values.
    pairs: List,
    /// Options whose value is the text of a command.
    pub(super) texts: List,
    /// Options whose value is the text of a command that runs in addition. The text is read as if it ran on this machine, even if another
    /// machine runs it.
    pub(super) beside: List,
    /// Prefixes of a word or of an option's value, after which the rest is the text of a command: `!`, `.shell `.
    pub(super) escapes: List,
    /// Texts in a word or a value after which a command follows in brackets: `execute(…)`.
    pub(super) brackets: List,
    /// Options whose value is the directory in which the command runs.
    pub(super) directories: List,
    /// Options whose value is the program. Its arguments follow.
    pub(super) entry: List,
    /// Prefixes of the first word. If the first word begins with such a prefix, the program runs no command.
    pub(super) asks: List,
    /// Words after which the command begins, in any position.
    pub(super) separators: List,
    /// Number of the program's own operands before the command.
    operands: usize,
    pub(super) runs: Runs,
    /// True if `NAME=value` may precede the command.
    pub(super) assigns: bool,
    /// True if the program reads the text of a command from its input when its words contain no command.
    pub(super) reads: bool,
    pub(super) location: Location,
}

/// The meaning of the words after a wrapper's options and operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// The words are a command.
    Words,
    /// All words together are the text of a command.
    Text,
    /// Each word is the text of a command.
    Texts,
    /// The first word is the text of a command.
    First,
    /// The words are keys to press.
    Keys,
    Nothing,
}

/// The machine or container in which a command runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Location {
    #[default]
    Here,
    /// Another machine. Its root and home directories need the same care as the root and home directories of this machine. The path of the
    /// workspace there is unknown.
    Machine,
    /// A container. The content of its directories is unknown, except for the root directory.
    Container,
    /// A new container that is removed afterwards. Nothing of this machine is mounted in it, except perhaps the workspace.
    Disposable,
}

/// Returns true if a file is run or obeyed without a further word: when a shell starts, at a commit, or at a set time. For
/// most of these files, the path must also lie in a home directory.
pub fn is_startup_file(path: &str, is_in_home: impl Fn() -> bool) -> bool {
    let ends_with = |path: &str, names: &str| path.strip_suffix(names).is_some_and(|before| before.ends_with('/'));
    STARTUP.iter().any(|at| match at.strip_suffix('/') {
        Some(directory) => path.rsplit_once('/').is_some_and(|(above, _)| ends_with(above, directory)),
        None => ends_with(path, at) && is_in_home(),
    })
}

/// A list of words in one string, one word per line. A table of such lists contains few pointers.
#[derive(Clone, Copy, Debug)]
pub(super) struct List(pub(super) &'static str);

impl List {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the items. The line ends are searched byte by byte, because the items are short and this code runs for every command.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let end = end_of_line(rest.as_bytes(), 0);
            let item = rest.get(..end).filter(|item| !item.is_empty())?;
            rest = rest.get(end + 1..).unwrap_or_default();
            Some(item)
        })
    }

    /// Returns the rest of each item that begins with the word `first`. The items are sorted by their first words.
    pub(super) fn of_first_word<'a>(self, first: &'a str) -> impl Iterator<Item = &'static str> + use<'a> {
        let text = self.0.as_bytes();
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let mut begin = usize::midpoint(low, high);
            while begin > low && text[begin - 1] != b'\n' {
                begin -= 1;
            }
            if is_before(&text[begin..], first.as_bytes()) {
                low = end_of_line(text, begin) + 1;
            } else {
                high = begin;
            }
        }
        Self(self.0.get(low..).unwrap_or_default()).iter().map_while(move |line| {
            let rest = line.strip_prefix(first)?;
            if rest.is_empty() { Some(rest) } else { rest.strip_prefix(' ') }
        })
    }

    pub(super) fn contains(self, word: &str) -> bool {
        let (text, word) = (self.0.as_bytes(), word.as_bytes());
        let Some(first) = word.first() else { return false };
        let mut begin = 0;
        while let Some(byte) = text.get(begin) {
            let end = end_of_line(text, begin);
            if byte == first && text[begin..end] == *word {
                return true;
            }
            begin = end + 1;
        }
        false
    }
}

/// Returns the end of the line that contains index `begin`.
#[inline]
fn end_of_line(text: &[u8], begin: usize) -> usize {
    let mut end = begin;
    while end < text.len() && text[end] != b'\n' {
        end += 1;
    }
    end
}

/// Returns true if the first word of a line sorts before `first`, byte by byte.
fn is_before(line: &[u8], first: &[u8]) -> bool {
    for (at, wanted) in first.iter().enumerate() {
        match line.get(at) {
            None | Some(b' ' | b'\n') => return true,
            Some(byte) if byte == wanted => {}
            Some(byte) => return byte < wanted,
        }
    }
    false
}

const NOTHING: Wrapper = Wrapper {
    after: List(""),
    before: List(""),
    values: List(""),
    flags: List(""),
    pairs: List(""),
    texts: List(""),
    beside: List(""),
    escapes: List(""),
    brackets: List(""),
    directories: List(""),
    entry: List(""),
    asks: List(""),
    separators: List(""),
    operands: 0,
    runs: Runs::Words,
    assigns: false,
    reads: false,
    location: Location::Here,
};

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));

/// The entry for `xargs`. This entry is not in the tables, because no other program has the options of `xargs`.
pub(super) static XARGS: Wrapper = Wrapper {
    values: List("-I\n-n\n-P\n-d\n-E\n-L\n-s\n-a\n--arg-file\n-j\n--max-args\n--max-procs\n--delimiter\n--jobs"),
    flags: List("-0\n-r\n-t\n-p\n-x\n-o\n--null\n--no-run-if-empty\n--verbose\n--interactive\n--exit\n--open-tty"),
    ..NOTHING
};

/// Returns the entry for the program `name`, if it is called with the words `args`, and the words after the subcommand.
pub(super) fn of<'a>(name: &str, args: &'a [Word]) -> Option<(&'static Wrapper, &'a [Word])> {
    let at = NAMES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    let wrappers = NAMES[at].1.iter().map(|at| &WRAPPERS[usize::from(*at)]);
    wrappers.into_iter().find_map(|wrapper| Some((wrapper, wrapper.after_subcommand(args)?)))
}

/// Returns true if there are words with which `name` runs other programs.
pub(super) fn is_known(name: &str) -> bool {
    NAMES.binary_search_by_key(&name, |(name, _)| name).is_ok()
}

/// Returns the options of the shell keyword `time`.
pub(super) fn time() -> &'static Wrapper {
    of("time", &[]).map_or(&XARGS, |(wrapper, _)| wrapper)
}

/// Returns true if the command is a call of a known tool that prints text for a shell to evaluate.
pub(super) fn is_hook(program: &str, args: &[Word]) -> bool {
    args.iter().all(Word::is_known)
        && HOOKS.of_first_word(program).any(|words| {
            let mut words = words.split_terminator(' ').enumerate();
            words.all(|(at, word)| args.get(at).is_some_and(|arg| arg.text == word))
        })
}

/// Returns true if the words ask a program for its shell setup: `tool init fish`. Such output is as trustworthy as the program itself.
/// Programs that print or fetch texts of other authors are excluded.
pub(super) fn is_setup(program: &str, args: &[Word]) -> bool {
    let verb = args.first().map_or("", |word| word.text.as_str());
    let asks = matches!(verb, "init" | "hook" | "activate" | "completion" | "completions" | "shell-init" | "shellenv");
    let is_shell = |word: &Word| matches!(word.text.as_str(), "bash" | "zsh" | "fish" | "sh" | "posix");
    let prints = matches!(program, "echo" | "printf" | "curl" | "wget" | "nc" | "ncat" | "http" | "fetch" | "");
    let options = |words: &[Word]| words.iter().all(|word| word.text.starts_with('-') && word.is_known());
    asks && !prints && args.get(1).is_some_and(is_shell) && args.get(2..).is_some_and(options) && !is_known(program)
}

/// Returns true if the program with these words downloads data from a server, or decodes data.
pub(super) fn is_fetcher(program: &str, args: &[Word]) -> bool {
    FETCHERS.of_first_word(program).any(|words| {
        let mut rest = args.iter();
        words.split_terminator(' ').all(|word| match word.strip_suffix('*') {
            Some(begin) => rest.any(|arg| arg.text.starts_with(begin)),
            // `:` in the list stands for any path on another machine.
            None if word == ":" => rest.any(|arg| arg.text.has(b':') && !arg.text.starts_with(['-', '/', '.'])),
            None => rest.any(|arg| arg.text == word),
        })
    })
}

/// Returns true if programs run the value of this variable as a command.
pub(super) fn is_command(variable: &str) -> bool {
    VARIABLES.contains(variable)
}

/// Returns true if Git runs the value of this setting as a command.
pub(super) fn is_setting(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SETTINGS.iter().any(|setting| match setting.halves(b'*') {
        Some((begin, end)) => name.len() > begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end),
        None => setting == name,
    })
}

impl Wrapper {
    /// Returns true if the wrapper creates a container from an image.
    pub(super) fn makes_new(&self) -> bool {
        self.location == Location::Container && self.values.contains("--mount")
    }

    fn after_subcommand<'a>(&self, args: &'a [Word]) -> Option<&'a [Word]> {
        if self.after.is_empty() {
            return Some(args);
        }
        let first = args.first().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-'));
        self.after.iter().filter(|path| first.is_none_or(|first| path.starts_with(first))).find_map(|path| {
            let mut rest = args;
            for part in path.split(' ') {
                rest = self.after_word(rest, part)?;
            }
            Some(rest)
        })
    }

    /// Returns the words after `part`, which is a word of a subcommand. Options may precede `part`, and the word after an unknown option
    /// may be the value of that option.
    fn after_word<'a>(&self, args: &'a [Word], part: &str) -> Option<&'a [Word]> {
        let (mut at, mut may_be_value) = (0, false);
        loop {
            let text = args.get(at)?.text.as_str();
            at += 1;
            if text == part {
                return args.get(at..);
            }
            if text.starts_with('-') && text.len() > 1 {
                let takes = self.before.contains(text);
                at += usize::from(takes);
                may_be_value = !takes && text != "--" && !text.has(b'=');
            } else if !std::mem::take(&mut may_be_value) {
                return None;
            }
        }
    }

    /// Returns the number of words after an option that are its values.
    fn taken_by(&self, option: &str) -> usize {
        let lists = [self.values, self.texts, self.beside, self.directories, self.entry];
        let is_short = |other: &str| other.starts_with("--") && !option.has(b'=') && attached(option, other).is_some();
        let is_same = |other: &str| other == option || is_short(other);
        let is_listed = lists.iter().any(|list| list.iter().any(|other| is_same(named(other).0)));
        if self.pairs.contains(option) { 2 } else { usize::from(is_listed) }
    }

    /// Returns true if an option has no value: `-i`, `-0r`, `-10`, `--foreground`.
    fn is_flag(&self, option: &str) -> bool {
        let is_letter = |byte: u8| self.flags.iter().any(|flag| flag.as_bytes() == [b'-', byte]);
        let letters = option.trim_start_matches('-');
        let is_short = letters.len() + 1 == option.len();
        self.flags.contains(option) || (is_short && (letters.bytes().all(is_letter) || is_amount(letters)))
    }

    /// Returns the words after the program's own options and `operands` operands.
    fn skip<'a>(&self, args: &'a [Word], operands: usize) -> &'a [Word] {
        let mut at = 0;
        while let Some(word) = args.get(at) {
            let text = word.text.as_str();
            if text == "--" {
                at += 1;
                break;
            }
            if !text.starts_with('-') || text == "-" {
                break;
            }
            at += 1 + self.taken_by(text);
        }
        args.get(at + operands..).unwrap_or_default()
    }

    /// Returns the words after the program's own options and operands.
    pub(super) fn words<'a>(&self, args: &'a [Word]) -> &'a [Word] {
        undashed(self.skip(args, self.operands))
    }

    /// Returns every possible way to read the words, the usual way first. There are several ways because an unknown or combined option may
    /// take the next word as its value. A word that looks like an operand may be such a value, and the command then begins at a later word.
    pub(super) fn readings<'a>(&self, args: &'a [Word]) -> Vec<&'a [Word]> {
        /// Maximum number of words that are tried as values.
        const MAX_VALUES: usize = 8;
        let usual = self.words(args);
        let mut found: Vec<&[Word]> = Vec::new();
        let mut from = 0;
        for _ in 0..MAX_VALUES {
            let Some(rest) = args.get(from..) else { break };
            let tail = self.skip(rest, 0);
            for operands in 0..=self.operands {
                let words = undashed(tail.get(operands..).unwrap_or_default());
                // An unknown word is treated as an operand, as in the usual reading, and not as a program.
                let begins =
                    words.first().is_some_and(|word| !word.text.starts_with(['-', UNKNOWN]) && !is_amount(&word.text));
                if (begins || words.len() == usual.len())
                    && !words.is_empty()
                    && !found.iter().any(|other| other.len() == words.len())
                {
                    let at = found.iter().position(|other| other.len() < words.len()).unwrap_or(found.len());
                    found.insert(at, words);
                }
            }
            let at = args.len() - tail.len();
            let may_be_a_value = at.checked_sub(1).and_then(|before| args.get(before)).is_some_and(|word| {
                let text = word.text.as_str();
                let attached =
                    self.values.iter().any(|option| option.len() == 2 && text.len() > 2 && text.starts_with(option));
                text.starts_with('-') && text != "--" && !text.has(b'=') && !attached && !self.is_flag(text)
            });
            if !may_be_a_value {
                break;
            }
            from = at + 1;
        }
        // The usual reading comes first, because only the first reading may be rewritten.
        if let Some(usual) = found.iter().position(|words| words.len() == usual.len()) {
            let usual = found.remove(usual);
            found.insert(0, usual);
        }
        found
    }

    /// Returns the command texts in a text of the program's own language: `:!ls`, `.shell ls`, `execute(ls)`.
    pub(super) fn escaped<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut found = Vec::new();
        let lines = text.lines().filter(|_| !self.escapes.is_empty());
        for line in lines {
            let value = line.halves(b'=').filter(|(option, _)| option.starts_with("--"));
            let mut begin = value.map_or(line, |(_, value)| value);
            loop {
                let next = begin.trim_start_matches(['+', ':', ' ', '\t', '%']);
                let next = next.strip_prefix("silent").map_or(next, |rest| rest.strip_prefix("! ").unwrap_or(rest));
                if next.len() == begin.len() {
                    break;
                }
                begin = next;
            }
            found.extend(self.escapes.iter().find_map(|escape| match escape.strip_prefix('*') {
                // The escape may be anywhere in the line.
                Some(escape) => line.split_once(escape).map(|(_, rest)| rest),
                None => begin.strip_prefix(escape),
            }));
        }
        for bracket in self.brackets.iter() {
            let mut rest = text;
            while let Some((_, inner)) = rest.split_once(bracket) {
                let close = match bracket.chars().last() {
                    Some('(' | ' ') => ')',
                    Some('"') => '"',
                    _ => '\'',
                };
                let end =
                    inner.rfind(close).filter(|_| close == ')').or_else(|| inner.find(close)).unwrap_or(inner.len());
                found.push(&inner[..end]);
                rest = &inner[end..];
            }
        }
        found
    }

    /// Returns the values of the given options. A value is in the same word as its option or in the next word.
    pub(super) fn values_of(&self, args: &[Word], options: List) -> Vec<Word> {
        let mut found = Vec::new();
        if options.is_empty() {
            return found;
        }
        let (mut at, mut operands) = (0, 0);
        while let Some(word) = args.get(at) {
            let text = word.text.as_str();
            at += 1;
            // The words after `--` belong to the program that is run.
            if text == "--" {
                break;
            }
            if !text.starts_with('-') || text == "-" {
                operands += 1;
                if self.runs == Runs::Words && operands > self.operands {
                    break;
                }
                continue;
            }
            found.extend(options.iter().find_map(|option| {
                let (option, name) = named(option);
                let value = match attached(text, option)? {
                    "" => args.get(at)?.clone(),
                    rest => Word::marked(rest),
                };
                value_of(value, name)
            }));
            at += self.taken_by(text);
        }
        found
    }
}

/// Minimum length of an abbreviated long option.
const MIN_ABBREVIATION: usize = 5;

/// Returns true if a word is a number or a duration: `10`, `0.5`, `2m`. No program has such a name.
fn is_amount(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text).as_bytes();
    number.first().is_some_and(u8::is_ascii_digit) && number.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// Splits an entry of a list into the option and the name with which the option's value must begin.
fn named(option: &str) -> (&str, &str) {
    option.halves(b' ').unwrap_or((option, ""))
}

/// Returns the value after `NAME=` or `NAME `, or the whole word if `name` is empty.
fn value_of(word: Word, name: &str) -> Option<Word> {
    if name.is_empty() {
        return Some(word);
    }
    let begin = word.text.get(..name.len()).filter(|begin| begin.eq_ignore_ascii_case(name))?;
    let value = word.text[begin.len()..].trim_start();
    let is_whole = value.len() < word.text.len() - begin.len() || value.starts_with('=');
    is_whole.then(|| Word::marked(value.strip_prefix('=').unwrap_or(value).trim_start()))
}

/// Removes a `--` before the command: `kubectl exec pod -- ls`.
fn undashed(words: &[Word]) -> &[Word] {
    match words {
        [dashes, words @ ..] if dashes.text == "--" => words,
        words => words,
    }
}

/// Returns the value of an option in the option's own word: `-xVALUE`, `-abxVALUE`, `--long=VALUE`. An empty value means that the next word
/// is the value. `None` means that the word is a different option.
pub(super) fn attached<'a>(text: &'a str, option: &str) -> Option<&'a str> {
    if text == option {
        return Some("");
    }
    if option.starts_with("--") {
        let (given, value) = text.halves(b'=').unwrap_or((text, ""));
        // GNU programs accept an unambiguous abbreviation of a long option.
        let is_short = given.len() >= MIN_ABBREVIATION && given != "--checkpoint" && option.starts_with(given);
        return (given == option || is_short).then_some(value);
    }
    let cluster = text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'))?;
    let (flags, rest) = cluster.split_once(option.chars().nth(1)?)?;
    flags.chars().all(|flag| flag.is_ascii_alphabetic()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::{FETCHERS, HOOKS, List, is_fetcher, is_hook};
    use crate::Word;

    #[test]
    fn items_are_found_by_their_first_word() {
        let list = List("a\nb c\nb d e\nbb\nz y");
        let of = |word| list.of_first_word(word).collect::<Vec<_>>();
        assert_eq!((of("a"), of("b"), of("bb"), of("z")), (vec![""], vec!["c", "d e"], vec![""], vec!["y"]));
        assert!(["", "aa", "b c", "c", "zz"].iter().all(|word| of(word).is_empty()));
        assert_eq!(List("").of_first_word("a").count(), 0);
    }

    #[test]
    fn each_fetcher_is_found_by_its_words_in_their_order() {
        for fetcher in FETCHERS.iter() {
            let words = fetcher.replace('*', "x").replace(" :", " h:x");
            let (program, words) = words.split_once(' ').unwrap_or((&words, ""));
            let args: Vec<Word> =
                words.split_terminator(' ').flat_map(|word| ["-v", word]).map(Word::literal).collect();
            assert!(is_fetcher(program, &args), "{fetcher}");
            assert_eq!(is_fetcher(program, &[]), args.is_empty(), "{fetcher}");
        }
        let args = |text: &str| text.split(' ').map(Word::literal).collect::<Vec<_>>();
        assert!(!is_fetcher("aws", &args("cp s3 s3://b/x")) && !is_fetcher("git", &args("clone ../x")));
    }

    #[test]
    fn each_hook_is_found() {
        for hook in HOOKS.iter() {
            let (program, words) = hook.split_once(' ').unwrap_or((hook, ""));
            let args: Vec<Word> = words.split_terminator(' ').map(Word::literal).collect();
            assert!(is_hook(program, &args), "{hook}");
        }
    }
}
