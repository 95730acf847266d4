//! Reads the text that a shell runs. The text is an argument, the shell's input, or a file that the same script wrote.

use super::ascii::Ascii as _;
use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word};
use super::wrappers;
use super::{Command, RedirectKind};

impl Reader<'_> {
    pub(super) fn shell(&mut self, name: &str, args: &[Word], inner: Command) -> Result<(), Unreadable> {
        let (mut at, mut is_text, mut reads_input) = (0, false, false);
        let (mut is_checked, mut is_interactive) = (false, false);
        while let Some(word) = args.get(at).map(|word| word.text.as_str()).filter(|word| word.starts_with(['-', '+'])) {
            if let Some(text) = word.strip_prefix("--command=").or_else(|| word.strip_prefix("--commands=")) {
                return self.text(name, text);
            }
            // `fish` runs the value of this option before everything else.
            if let Some(begin) = ["-C", "--init-command"].iter().find_map(|option| wrappers::attached(word, option))
                && name == "fish"
            {
                let next = if begin.is_empty() { args.get(at + 1).map(|word| word.text.as_str()) } else { None };
                self.text(name, next.unwrap_or(begin))?;
                at += if next.is_some() { 2 } else { 1 };
                continue;
            }
            let is_cluster = !word.starts_with("--");
            if is_cluster && word.has(b'n') && !word.has_one_of(b"oO") {
                is_checked = word.starts_with('-');
            }
            is_interactive |= is_cluster && word.has(b'i');
            is_text |= (is_cluster && word.has(b'c')) || matches!(word, "--command" | "--commands");
            reads_input |= is_cluster && word.has(b's');
            let is_first = matches!(word, "--rcfile" | "--init-file");
            if let Some(file) = args.get(at + 1..at + 2).filter(|_| is_first) {
                self.file(name, file, None)?;
            }
            let takes_value = is_first || (is_cluster && word.has_one_of(b"oO"));
            at += if takes_value { 2 } else { 1 };
        }
        // The shell only checks the syntax and runs nothing.
        if is_checked && !is_interactive && !matches!(name, "nu" | "xonsh" | "elvish") {
            return Ok(());
        }
        match args.get(at) {
            Some(script) if is_text => {
                let before = self.scope.clone();
                // The words after the script are its arguments, starting with `$0`.
                self.scope.zeroth = args.get(at + 1).cloned();
                self.remember_arguments(args.get(at + 1..).unwrap_or_default());
                self.set_positional(args.get(at + 2..).unwrap_or_default());
                let stdin = std::mem::replace(&mut self.surroundings.input, inner.input);
                let result = self.text(name, &script.text.clone());
                self.surroundings.input = stdin;
                self.leave(before);
                return result;
            }
            Some(script) if script.text.starts_with(UNKNOWN) && script.splits => self.script.runs_unknown = true,
            Some(_) if !reads_input => return self.file(name, &args[at..], inner.input),
            _ => {}
        }
        match inner.input {
            Some(input) if reads_input => self.script(name, &input.text, args.get(at..).unwrap_or_default()),
            Some(input) => self.text(name, &input.text),
            None => {
                let sources = inner.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
                for source in sources.map(|redirect| &redirect.target).collect::<Vec<_>>() {
                    if is_socket(&source.text) {
                        self.script.runs_unknown = true;
                    } else if let Some(text) = self.written_in(source) {
                        self.text(name, &text)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Reads a script in a file. The content of the file is known only if another command in the text writes the file: `bash <(…)`,
    /// `echo … > x; sh x`.
    pub(super) fn file(&mut self, name: &str, words: &[Word], input: Option<Word>) -> Result<(), Unreadable> {
        // In fish, `source` without a file reads its input.
        let Some((file, args)) = words.split_first() else {
            return input.map_or(Ok(()), |input| self.text(name, &input.text));
        };
        let text = match file.text.as_str() {
            "/dev/stdin" | "/dev/fd/0" | "-" => input,
            text if text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/") => self.substitution_at(text),
            text if is_socket(text) => None,
            _ => match self.written_in(file) {
                Some(text) => return self.script(name, &text, args),
                None => return Ok(()),
            },
        };
        match text {
            Some(text) => self.text(name, &text.text),
            None => {
                self.script.runs_unknown = true;
                Ok(())
            }
        }
    }

    /// Reads a script with its arguments. A script that runs itself counts as a nested script.
    pub(super) fn script(&mut self, name: &str, text: &str, args: &[Word]) -> Result<(), Unreadable> {
        let before = self.scope.clone();
        self.set_positional(args);
        let result = self.text(name, text);
        self.leave(before);
        result
    }
}

/// Returns true if a shell treats a path as a network connection.
fn is_socket(path: &str) -> bool {
    path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")
}
