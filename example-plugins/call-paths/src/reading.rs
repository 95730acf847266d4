//! Finds the files that a simple command may read, judging by its words.

use shell_reader::{Command, Extent, RedirectKind, UNKNOWN, Word, Write};

/// Maximum length of a path, in bytes. A longer text is not a path.
const MAX_PATH: usize = 4096;

/// Characters that end a name within a word: `f=@.env;type=x`, `--env-file=.env`, `HEAD:.env`.
const ENDS: [char; 8] = ['@', '=', '<', ',', ';', '{', '}', ':'];

/// Characters that end a name within the code of an interpreter: `open('.env')`.
const ENDS_IN_CODE: [char; 8] = ['\'', '"', '`', '(', ')', ' ', '\n', ';'];

/// Interpreters, which may read the files that their code names.
const INTERPRETERS: [&str; 9] = ["python", "python2", "python3", "node", "deno", "bun", "perl", "ruby", "php"];

/// Programs that fetch what their operands name, and show it.
pub const FETCHERS: [&str; 16] = [
    "curl",
    "wget",
    "http",
    "https",
    "xh",
    "aria2c",
    "axel",
    "lynx",
    "w3m",
    "elinks",
    "links",
    "iwr",
    "irm",
    "invoke-webrequest",
    "invoke-restmethod",
    "httpie",
];

/// Options whose value is a text for people.
const MESSAGES: [&str; 8] = ["-m", "--message", "--body", "--title", "--notes", "--subject", "-b", "-t"];

/// Returns the files that a command may read: the sources of redirections, and the words and parts of words that may name files. A word
/// that the command only writes, prints or searches for is left out.
pub(crate) fn read(command: &Command) -> Vec<Write> {
    let sources = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
    let mut found: Vec<Word> = sources.map(|redirect| redirect.target.clone()).collect();
    let written = written(command);
    let words = file_words(command).filter(|word| word.text.len() <= MAX_PATH && !written.contains(word));
    found.extend(words.flat_map(|word| names(command, word)));
    found.extend(sought(command));
    found.into_iter().map(|path| Write { path, extent: Extent::File, supposed: false }).collect()
}

/// Returns the names that `find` and `fd` look for, if they pass the files to another program.
fn sought(command: &Command) -> Vec<Word> {
    const TESTS: [&str; 8] = ["-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"];
    const ACTIONS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let args = &command.args;
    let is_reader = |word: &Word| !only_prints(&word.text) && word.text != "rm";
    let runs = args.windows(2).any(|pair| ACTIONS.contains(&pair[0].text.as_str()) && is_reader(&pair[1]));
    let feeds = |program: &String| matches!(program.as_str(), "xargs" | "parallel" | "read");
    let is_passed = runs || command.downstream.iter().any(feeds);
    let below = |word: &Word, text: &str| {
        let glob = text.find(['*', '?', '[']).is_some_and(|known| known >= 2);
        Word { text: format!("{UNKNOWN}/{}", text.trim_start_matches("*/")), glob, home: false, ..word.clone() }
    };
    let is_negated = |at: usize| at > 0 && matches!(args[at - 1].text.as_str(), "!" | "-not");
    match command.program.as_str() {
        "find" if is_passed => {
            let tests = args.windows(2).enumerate();
            let tests = tests.filter(|(at, pair)| TESTS.contains(&pair[0].text.as_str()) && !is_negated(*at));
            let name = |pair: &[Word]| match pair[0].text.ends_with("regex") {
                true => pair[1].text.rsplit('/').next().unwrap_or_default().replace('\\', ""),
                false => pair[1].text.clone(),
            };
            tests.map(|(_, pair)| below(&pair[1], &name(pair))).collect()
        }
        "fd" | "fdfind" if is_passed => {
            let pattern = fd_pattern(args);
            let name = |word: &Word| word.text.trim_matches(['^', '$']).replace('\\', "");
            pattern.map(|word| below(word, &name(word))).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the pattern of `fd`: its first word that is no option, no value of one, and no part of the program that it runs.
fn fd_pattern(args: &[Word]) -> Option<&Word> {
    const VALUED: &str = " --type --extension --exclude --max-depth --min-depth --exact-depth --size --color --threads --owner \
        --changed-within --changed-before --max-results --ignore-file --base-directory \
        --search-path --path-separator --batch-size --format --and ";
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if !text.starts_with('-') {
            return Some(word);
        }
        if matches!(text, "-x" | "-X" | "--exec" | "--exec-batch") {
            words.find(|word| word.text == ";");
        } else if value_of(text, "teEdScjoC", |name| VALUED.contains(&format!(" {name} ")))
            .is_some_and(|(_, next)| next)
        {
            words.next();
        }
    }
    None
}

/// Returns the letter of the option in a word that takes a value, and true if the value is the next word. Of a long option, returns the
/// first letter.
pub(crate) fn value_of(text: &str, letters: &str, is_long: impl Fn(&str) -> bool) -> Option<(char, bool)> {
    if text.starts_with("--") {
        let name = text.split('=').next().filter(|name| is_long(name))?;
        return Some((text.chars().nth(2)?, name.len() == text.len()));
    }
    let (at, letter) = text.strip_prefix('-')?.char_indices().find(|(_, c)| letters.contains(*c))?;
    Some((letter, at + 1 + letter.len_utf8() == text.len()))
}

/// Returns true if a program does nothing with its words but print, test or remember them, or look for files of these names.
fn only_prints(program: &str) -> bool {
    const PRINTING: [&str; 23] = [
        "echo",
        "printf",
        "print",
        "true",
        "false",
        ":",
        "test",
        "[",
        "[[",
        "exit",
        "return",
        "alias",
        "cd",
        "export",
        "write-output",
        "write-host",
        "ls",
        "find",
        "fd",
        "basename",
        "dirname",
        "realpath",
        "which",
    ];
    PRINTING.contains(&program)
}

/// Returns the words of a command that may name files or addresses. A word that the command only prints or searches for, a script, and a
/// message for people are left out.
pub fn file_words(command: &Command) -> impl Iterator<Item = &Word> {
    let code = command.code().map_or_else(|| codes(command), |word| vec![word]);
    let speaks = has_messages(command);
    let is_spoken = move |before: &str| (speaks && MESSAGES.contains(&before)) || before.starts_with("--exclude");
    let args = if only_prints(&command.program) { &[] } else { command.args.as_slice() };
    args.iter().enumerate().filter_map(move |(at, word)| {
        let is_code = code.iter().any(|code| std::ptr::eq(*code, word));
        let is_spoken = at.checked_sub(1).is_some_and(|before| is_spoken(&args[before].text));
        let is_left_out = word.text.starts_with("--exclude=");
        (!(is_code || is_spoken || is_left_out)).then_some(word)
    })
}

/// Returns the words that a program such as `grep` searches for or runs: the values of `-e`, or else its first operand, unless `-f` names a
/// file with the code.
fn codes(command: &Command) -> Vec<&Word> {
    const LONG: &str = " --regexp --expression --source --file --exec --glob --iglob --type --max-count --context --after-context \
        --before-context --field-separator --assign ";
    let letters = match command.program.as_str() {
        "grep" | "egrep" | "fgrep" => "ABCDdefm",
        "rg" => "ABCdeEfgjmMrtT",
        "ag" => "ABCGm",
        // The value of `-i` is in the same word.
        "sed" | "gsed" => "efil",
        "awk" | "gawk" => "feFvEil",
        _ => return Vec::new(),
    };
    let (mut codes, mut first, mut is_given) = (Vec::new(), None, false);
    let mut words = command.args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let is_option = text.starts_with('-') && text.len() > 1 && first != Some(word);
        if text == "--" {
            first = first.or_else(|| words.next());
            break;
        }
        if !is_option {
            first = first.or(Some(word));
            continue;
        }
        let Some((letter, is_next)) = value_of(text, letters, |name| LONG.contains(&format!(" {name} "))) else {
            continue;
        };
        let is_in_place = letter == 'i' && command.program.ends_with("sed");
        let value = if is_next && !is_in_place { words.next() } else { None };
        let is_long = |names: &[&str]| names.iter().any(|name| text.starts_with(name));
        let is_code = if text.starts_with("--") { is_long(&["--re", "--expr", "--so"]) } else { letter == 'e' };
        is_given |= is_code
            || if text.starts_with("--") { is_long(&["--file", "--exec"]) } else { matches!(letter, 'f' | 'E') };
        codes.extend(value.filter(|_| is_code));
    }
    if is_given { codes } else { first.into_iter().collect() }
}

/// Returns true if the options in [`MESSAGES`] are texts for people. In `git show -m`, the option has no value.
fn has_messages(command: &Command) -> bool {
    match command.program.as_str() {
        "gh" | "glab" => true,
        "git" | "hg" | "jj" => {
            matches!(subcommand(command), Some("commit" | "ci" | "tag" | "stash" | "merge" | "notes" | "describe"))
        }
        _ => false,
    }
}

/// Returns the subcommand of Git or a program like it.
pub(crate) fn subcommand(command: &Command) -> Option<&str> {
    command.args.get(before_subcommand(command)).map(|word| word.text.as_str())
}

/// Returns the number of words before the subcommand of Git or a program like it: its own options, with their values.
#[must_use]
pub fn before_subcommand(command: &Command) -> usize {
    const WITH_VALUE: [&str; 7] =
        ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];
    let mut at = 0;
    while let Some(word) = command.args.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(WITH_VALUE.contains(&&*word.text));
    }
    at
}

/// Returns the words that a command writes without showing or keeping their content. A file that gets another name can be read under that
/// name.
fn written(command: &Command) -> Vec<Word> {
    const SHOWING: [&str; 16] = [
        "vi", "vim", "nvim", "nano", "emacs", "pico", "joe", "micro", "hx", "kak", "ed", "ex", "gzip", "gunzip",
        "bzip2", "xz",
    ];
    if SHOWING.contains(&command.program.as_str()) {
        return Vec::new();
    }
    let is_only_written = |write: &Write| write.extent != Extent::Moved;
    command.writes().into_iter().filter(is_only_written).map(|write| write.path).collect()
}

/// Returns the names that a word may contain: the word itself, and its parts.
fn names(command: &Command, word: &Word) -> Vec<Word> {
    let text = word.text.as_str();
    let is_address = text.contains("://") && !text.starts_with("file:");
    if is_address || is_of_another_machine(command, text) {
        return Vec::new();
    }
    let has_code = INTERPRETERS.contains(&command.program.as_str());
    let is_end = |c: char| ENDS.contains(&c) || (has_code && ENDS_IN_CODE.contains(&c));
    let parts = text.split(is_end).filter(|part| !part.is_empty() && part.len() < text.len());
    // `-T.env`
    let attached = text.get(2..).filter(|_| text.starts_with('-') && !text.starts_with("--"));
    let parts = parts.chain(attached.filter(|value| !value.is_empty()));
    let part = |part: &str| Word { home: part.starts_with('~'), ..word.with_text(part) };
    std::iter::once(word.clone()).chain(parts.map(part)).collect()
}

/// Returns true for a path on another machine or in a container: `host:/x`.
fn is_of_another_machine(command: &Command, text: &str) -> bool {
    const REMOTE: [&str; 8] = ["scp", "rsync", "sftp", "rclone", "docker", "podman", "kubectl", "oc"];
    REMOTE.contains(&command.program.as_str())
        && text.find(':').is_some_and(|at| at > 1 && !text[..at].contains(['/', '=']))
}
