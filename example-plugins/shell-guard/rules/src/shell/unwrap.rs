//! What a command really runs: through `sudo`, `env`, `xargs`, `find -exec`, `sh -c` and their kin.

use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word, joined};
use super::{Command, program_name, windows};
use crate::rules::lower;

/// How a program runs the command that its words hold.
enum Wrapper {
    /// The words after its subcommand.
    Runner,
    /// The words after its own options and so many operands; such options take a value.
    Prefix {
        values: &'static [&'static str],
        operands: usize,
    },
    /// The same, after assignments.
    Env,
    /// The same, with further words from its input.
    Xargs,
    /// The text after `-c`, or its input.
    Shell,
    /// All words together are a text.
    Eval,
    /// The text that is the value of such an option.
    Option(&'static [&'static str]),
    /// Its first word, as a text.
    Text,
    /// Another machine runs it.
    Remote,
    Find,
    Directory,
    /// Sets variables that the following commands see.
    Declare,
    Cmd,
    Powershell,
}

fn wrapper(program: &str) -> Option<Wrapper> {
    let prefix = |values, operands| Wrapper::Prefix { values, operands };
    Some(match program {
        "sudo" => prefix(&["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U", "--user", "--group"], 0),
        "doas" => prefix(&["-u", "-C"], 0),
        "nice" => prefix(&["-n", "--adjustment"], 0),
        "ionice" => prefix(&["-c", "-n", "-p"], 0),
        "time" => prefix(&["-f", "-o", "--format", "--output"], 0),
        "timeout" | "gtimeout" => prefix(&["-s", "-k", "--signal", "--kill-after"], 1),
        "stdbuf" => prefix(&["-i", "-o", "-e"], 0),
        "exec" => prefix(&["-a"], 0),
        "command" | "builtin" | "nohup" | "setsid" | "busybox" | "unbuffer" | "caffeinate" | "noglob" | "then"
        | "do" | "proxychains" | "fakeroot" | "dbus-run-session" | "xvfb-run" | "catchsegv" | "coproc" => {
            prefix(&[], 0)
        }
        "chroot" | "taskset" | "setarch" | "linux64" | "chrt" | "flock" => prefix(&["-c"], 1),
        "strace" | "ltrace" => prefix(&["-e", "-o", "-p", "-s"], 0),
        "unshare" | "nsenter" | "firejail" | "bwrap" => prefix(&[], 0),
        "env" | "genv" => Wrapper::Env,
        "xargs" | "gxargs" | "parallel" => Wrapper::Xargs,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "fish" | "mksh" | "rbash" => Wrapper::Shell,
        "eval" => Wrapper::Eval,
        "su" | "runuser" | "script" => Wrapper::Option(&["-c", "--command"]),
        "trap" | "watch" => Wrapper::Text,
        "ssh" => Wrapper::Remote,
        "find" | "gfind" | "fd" | "fdfind" => Wrapper::Find,
        "cd" | "pushd" => Wrapper::Directory,
        "export" | "declare" | "local" | "readonly" | "typeset" => Wrapper::Declare,
        "cmd" => Wrapper::Cmd,
        "powershell" | "pwsh" => Wrapper::Powershell,
        _ => return None,
    })
}

/// Programs that run another from their own surroundings: `uv run pytest`.
const RUNNERS: [(&str, &str); 8] = [
    ("uv", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("pipenv", "run"),
    ("rye", "run"),
    ("hatch", "run"),
    ("bundle", "exec"),
    ("direnv", "exec"),
];

impl Reader<'_> {
    /// Notes the command of `words`, and those that it runs in turn.
    pub(super) fn run(&mut self, words: Vec<Word>, mut command: Command) -> Result<(), Unreadable> {
        let Some((program, args)) = words.split_first() else { return self.note(command) };
        // The options of the shell's own word `time`: no program is called so.
        if program.text.starts_with('-') && program.text.len() > 1 {
            return self.wrapped_any("time", &words, &["-f", "-o", "--format", "--output"], 0, &command);
        }
        let name = program_name(&program.text);
        command.program = if name.contains(UNKNOWN) { String::new() } else { name.to_owned() };
        command.program_word = program.clone();
        let runner = args.first().is_some_and(|word| RUNNERS.contains(&(name, word.text.as_str())));
        let wrapper = if runner { Some(Wrapper::Runner) } else { wrapper(&lower(&command.program)) };
        let Some(wrapper) = wrapper else {
            if !self.defines(&program.text) {
                let mut words = words;
                command.args = words.split_off(1);
                return self.note(command);
            }
            command.args = args.to_vec();
            self.note(command)?;
            return self.call(&program.text, args).map(drop);
        };
        let inner = command.clone();
        let name = command.program.clone();
        command.args = args.to_vec();
        self.note(command)?;
        if self.call(&program.text, args)? {
            return Ok(());
        }
        match wrapper {
            Wrapper::Runner => self.wrapped_any(&name, &args[1..], &[], 0, &inner),
            Wrapper::Prefix { values, operands } => {
                // `command -v x` only asks.
                if name == "command"
                    && args.first().is_some_and(|word| word.text.starts_with("-v") || word.text.starts_with("-V"))
                {
                    return Ok(());
                }
                self.wrapped_any(&name, args, values, operands, &inner)
            }
            Wrapper::Env => self.env(args, &inner),
            Wrapper::Xargs => {
                let values =
                    ["-I", "-n", "-P", "-d", "-E", "-L", "-s", "-a", "-j", "--max-args", "--max-procs", "--delimiter"];
                let input =
                    inner.input.clone().filter(Word::is_known).map_or_else(|| UNKNOWN.to_string(), |input| input.text);
                let placeholder = placeholder(args);
                for words in readings(args, &values, 0) {
                    let mut words = words.to_vec();
                    match &placeholder {
                        Some(placeholder) => words
                            .iter_mut()
                            .for_each(|word| word.text = word.text.replace(placeholder.as_str(), input.trim())),
                        None if input.contains(UNKNOWN) => words.push(Word::unknown()),
                        None => words.extend(input.split_whitespace().map(Word::literal)),
                    }
                    self.wrapped(&name, &words, Command { exact: false, ..inner.clone() })?;
                }
                Ok(())
            }
            Wrapper::Shell => self.shell(&name, args, inner),
            Wrapper::Eval => self.text(&name, &joined(args)),
            Wrapper::Option(options) => match value(args, options) {
                Some(text) => self.text(&name, &text),
                None => {
                    if let Some(input) = &inner.input {
                        self.text(&name, &input.text.clone())?;
                    }
                    let users = ["-u", "-g", "-G", "--user", "--group", "--supp-group"];
                    let runs = name == "runuser";
                    if runs { self.wrapped_any(&name, args, &users, 0, &inner) } else { Ok(()) }
                }
            },
            Wrapper::Text => match skip(args, &["-n", "--interval"], 0) {
                [] => Ok(()),
                words if name == "watch" => self.text(&name, &joined(words)),
                [text, ..] => self.text(&name, &text.text.clone()),
            },
            Wrapper::Remote => {
                let values = ["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-E", "-m", "-S", "-W"];
                let words = match skip(args, &values, 1) {
                    [dashes, words @ ..] if dashes.text == "--" => words,
                    words => words,
                };
                let cwd = self.scope.cwd.take();
                let result = if words.is_empty() { Ok(()) } else { self.text(&name, &joined(words)) };
                self.scope.cwd = cwd;
                result
            }
            Wrapper::Find => self.find(&name, args, &inner),
            Wrapper::Directory => {
                let to = skip(args, &[], 0).first().cloned();
                self.scope.cwd = match to {
                    None => self.places.directory(&Word { home: true, ..Word::literal("~") }, None),
                    Some(word) if word.text == "-" => None,
                    Some(word) => self.places.directory(&word, self.scope.cwd.as_deref()),
                };
                Ok(())
            }
            Wrapper::Declare => {
                for word in args {
                    if let Some((name, value)) = word.text.split_once('=') {
                        let home = value.starts_with('~');
                        self.set(name, Some(Word { home, ..Word::literal(value) }));
                    }
                }
                Ok(())
            }
            Wrapper::Cmd => {
                let at = args
                    .iter()
                    .position(|word| matches!(word.text.to_ascii_lowercase().as_str(), "/c" | "/k" | "//c" | "//k"));
                let Some(at) = at else { return Ok(()) };
                self.windows_text(&name, &joined(&args[at + 1..]))
            }
            Wrapper::Powershell => match windows::powershell_text(args)? {
                Some(text) => self.windows_text(&name, &text),
                None => Ok(()),
            },
        }
    }

    fn wrapped(&mut self, wrapper: &str, words: &[Word], inner: Command) -> Result<(), Unreadable> {
        if words.is_empty() {
            return Ok(());
        }
        self.within(wrapper, |reader| {
            if reader.wrappers.len() > 8 {
                return Err(Unreadable("it is wrapped more than 8 times".into()));
            }
            reader.run(words.to_vec(), inner)
        })
    }

    /// The command behind a wrapper's options, by each way to read them.
    fn wrapped_any(
        &mut self,
        wrapper: &str,
        args: &[Word],
        values: &[&str],
        operands: usize,
        inner: &Command,
    ) -> Result<(), Unreadable> {
        for words in readings(args, values, operands) {
            // `sudo NAME=value program`, which other wrappers do not have, and no program is called so.
            let assigned = words.iter().take_while(|word| word.text.contains('=')).count();
            self.wrapped(wrapper, words.get(assigned..).unwrap_or_default(), inner.clone())?;
        }
        Ok(())
    }

    fn text(&mut self, wrapper: &str, text: &str) -> Result<(), Unreadable> {
        self.within(wrapper, |reader| match wrapper {
            // These run in the shell itself.
            "eval" => reader.nested(text),
            _ => {
                let scope = reader.scope.clone();
                let result = reader.nested(text);
                reader.scope = scope;
                result
            }
        })
    }

    fn windows_text(&mut self, wrapper: &str, text: &str) -> Result<(), Unreadable> {
        self.within(wrapper, |reader| reader.nested_windows(text))
    }

    fn within<T>(&mut self, wrapper: &str, act: impl FnOnce(&mut Self) -> T) -> T {
        self.wrappers.push(wrapper.to_owned());
        let result = act(self);
        self.wrappers.pop();
        result
    }

    fn env(&mut self, args: &[Word], inner: &Command) -> Result<(), Unreadable> {
        if let Some(text) = value(args, &["-S", "--split-string"]) {
            return self.text("env", &text);
        }
        for mut words in readings(args, &["-u", "-C", "--unset", "--chdir"], 0) {
            let mut inner = inner.clone();
            while let [first, rest @ ..] = words
                && let Some((name, value)) = first.text.split_once('=')
            {
                inner.environment.push((name.to_owned(), Word::literal(value)));
                words = rest;
            }
            self.wrapped("env", words, inner)?;
        }
        Ok(())
    }

    fn shell(&mut self, name: &str, args: &[Word], inner: Command) -> Result<(), Unreadable> {
        let (mut at, mut is_text, mut reads_input) = (0, false, false);
        while let Some(word) = args.get(at).map(|word| word.text.as_str()).filter(|word| word.starts_with(['-', '+'])) {
            let is_cluster = !word.starts_with("--");
            is_text |= is_cluster && word.contains('c');
            reads_input |= is_cluster && word.contains('s');
            let takes_value = (is_cluster && word.contains(['o', 'O'])) || matches!(word, "--rcfile" | "--init-file");
            at += if takes_value { 2 } else { 1 };
        }
        match args.get(at) {
            Some(script) if is_text => {
                let before = self.scope.clone();
                // The words after the script are its arguments, from `$0` on.
                self.set_positional(args.get(at + 2..).unwrap_or_default());
                let result = self.text(name, &script.text.clone());
                self.scope = before;
                return result;
            }
            Some(script) if script.text.starts_with(UNKNOWN) && script.splits => self.script.runs_unknown = true,
            // What another command writes: `bash <(…)`.
            Some(script) if script.text.starts_with("/dev/fd/") => self.script.runs_unknown = true,
            // A script in a file: what it does is not seen.
            Some(_) if !reads_input => return Ok(()),
            _ => {}
        }
        match inner.input {
            Some(input) => self.text(name, &input.text),
            None => Ok(()),
        }
    }

    fn find(&mut self, name: &str, args: &[Word], inner: &Command) -> Result<(), Unreadable> {
        let starts = |word: &Word| word.text.starts_with('-') || word.text == "(" || word.text == "!";
        let roots: Vec<&Word> = args.iter().take_while(|word| !starts(word)).collect();
        let root = if name.starts_with("fd") { None } else { roots.first() };
        let found = match root {
            Some(root) => Word { text: format!("{}/found", root.text), span: None, ..(*root).clone() },
            None => Word::literal("./found"),
        };
        for (at, word) in args.iter().enumerate() {
            if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec") {
                continue;
            }
            let end = args[at + 1..].iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
            let words = &args[at + 1..end.map_or(args.len(), |end| at + 1 + end)];
            // Each of many that have no end takes all that follow.
            self.spend(words.len() * 40)?;
            let filled = words.iter().map(|word| match word.text.as_str() {
                "{}" => found.clone(),
                text if text.contains("{}") => Word { text: text.replace("{}", &UNKNOWN.to_string()), ..word.clone() },
                _ => word.clone(),
            });
            let filled: Vec<Word> = filled.collect();
            self.wrapped(name, &filled, Command { exact: false, ..inner.clone() })?;
        }
        Ok(())
    }
}

/// The words after a wrapper's own options and operands, by each way to read these. Whether an option that is not known, or
/// that stands with others behind one dash, takes the next word is not known either; and an operand may be the value of an
/// option, so that the program comes sooner.
fn readings<'a>(args: &'a [Word], values: &[&str], operands: usize) -> Vec<&'a [Word]> {
    /// Most words that are looked at as values.
    const MOST: usize = 8;
    let mut found: Vec<&[Word]> = Vec::new();
    let mut from = 0;
    for _ in 0..MOST {
        let Some(rest) = args.get(from..) else { break };
        let behind = skip(rest, values, 0);
        for operands in 0..=operands {
            let words = behind.get(operands..).unwrap_or_default();
            if !words.is_empty() && !found.iter().any(|other| other.len() == words.len()) {
                found.push(words);
            }
        }
        let at = args.len() - behind.len();
        let may_be_a_value = at.checked_sub(1).and_then(|before| args.get(before)).is_some_and(|word| {
            let text = word.text.as_str();
            let attached = values.iter().any(|option| option.len() == 2 && text.len() > 2 && text.starts_with(option));
            text.starts_with('-') && text != "--" && !text.contains('=') && !attached
        });
        if !may_be_a_value {
            break;
        }
        from = at + 1;
    }
    // The usual reading comes first: it is the one that may be changed.
    found.sort_by_key(|words| std::cmp::Reverse(words.len()));
    if let Some(usual) = found.iter().position(|words| words.len() == skip(args, values, operands).len()) {
        let usual = found.remove(usual);
        found.insert(0, usual);
    }
    found
}

/// What `xargs` puts its input in the place of; nothing where it adds it at the end.
fn placeholder(args: &[Word]) -> Option<String> {
    let usual = || "{}".to_owned();
    let mut words = args.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next().filter(|word| word.starts_with('-')) {
        match word {
            "-I" => return words.next().map(str::to_owned),
            "-i" | "--replace" => return Some(usual()),
            "-n" | "-P" | "-d" | "-E" | "-L" | "-s" | "-a" => drop(words.next()),
            _ => match word.strip_prefix("-I").or_else(|| word.strip_prefix("--replace=")) {
                Some(text) => return Some(text.to_owned()),
                None if word.starts_with("-i") => return Some(word[2..].to_owned()),
                None => {}
            },
        }
    }
    None
}

/// The words after a wrapper's own options and operands.
fn skip<'a>(args: &'a [Word], values: &[&str], operands: usize) -> &'a [Word] {
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
        at += if values.contains(&text) { 2 } else { 1 };
    }
    args.get(at + operands..).unwrap_or_default()
}

/// The value of such an option, behind it or in the same word.
fn value(args: &[Word], options: &[&str]) -> Option<String> {
    for (at, word) in args.iter().enumerate() {
        let text = word.text.as_str();
        let next = || args.get(at + 1).map(|word| word.text.clone());
        for option in options {
            if text == *option {
                return next();
            }
            let attached = match option.strip_prefix("--") {
                Some(_) => text.strip_prefix(option).and_then(|rest| rest.strip_prefix('=')),
                None => text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-')).and_then(|cluster| {
                    let letter = option.chars().nth(1)?;
                    let (flags, rest) = cluster.split_once(letter)?;
                    flags.chars().all(|flag| flag.is_ascii_alphabetic()).then_some(rest)
                }),
            };
            match attached {
                Some("") => return next(),
                Some(rest) => return Some(rest.to_owned()),
                None => {}
            }
        }
        // What follows is the program's own.
        if text == "--" {
            break;
        }
    }
    None
}
