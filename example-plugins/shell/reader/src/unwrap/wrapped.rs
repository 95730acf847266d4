//! For a wrapper that is listed in `wrappers.toml`, reads the command that the wrapper runs.

use super::FILE;
use crate::Command;
use crate::ascii::Ascii as _;
use crate::read::{Reader, Unreadable};
use crate::word::{UNKNOWN, Word, joined};
use crate::wrappers::{Location, Runs, Wrapper};

impl Reader<'_> {
    /// Reads the command that a listed wrapper runs. `args` are the words after the subcommand.
    pub(super) fn unwrap(
        &mut self,
        name: &str,
        wrapper: &'static Wrapper,
        args: &[Word],
        mut inner: Command,
    ) -> Result<(), Unreadable> {
        if args.first().is_some_and(|word| wrapper.asks.iter().any(|ask| word.text.starts_with(ask))) {
            return Ok(());
        }
        for text in wrapper.values_of(args, wrapper.beside) {
            self.option(name, &text)?;
        }
        if !wrapper.escapes.is_empty() || !wrapper.brackets.is_empty() {
            for word in args.iter().chain(&inner.input) {
                self.spend(word.text.len())?;
                for text in wrapper.escaped(&word.text) {
                    self.option(name, &Word::marked(text.trim_start_matches('!').trim()))?;
                }
            }
        }
        let directory = wrapper.values_of(args, wrapper.directories).pop();
        let is_elsewhere = wrapper.location != Location::Here;
        if directory.is_none() && !is_elsewhere {
            return self.unwrapped(name, wrapper, args, inner);
        }
        let before = (self.scope.cwd.clone(), self.surroundings.location);
        if let Some(directory) = directory {
            self.scope.cwd = self.context.directory(&directory, self.scope.cwd.as_deref());
        }
        let outer = is_elsewhere.then(|| std::mem::take(&mut self.surroundings.mounts));
        if is_elsewhere {
            self.scope.cwd = None;
            self.surroundings.location = wrapper.location;
            inner.exact = false;
            if before.1 == Location::Here {
                self.enter_disposable(wrapper, args, before.0.as_deref());
            }
        }
        let result = self.unwrapped(name, wrapper, args, inner);
        (self.scope.cwd, self.surroundings.location) = before;
        if let Some(outer) = outer {
            self.surroundings.mounts = outer;
        }
        result
    }

    fn unwrapped(
        &mut self,
        name: &str,
        wrapper: &'static Wrapper,
        args: &[Word],
        inner: Command,
    ) -> Result<(), Unreadable> {
        let texts = wrapper.values_of(args, wrapper.texts);
        // `env -S 'bash -c' 'ls'`: the split text and the words after it form one command.
        if let [text] = texts.as_slice()
            && wrapper.assigns
        {
            let at =
                args.iter().position(|word| word.text.ends_with(text.text.as_str())).map_or(args.len(), |at| at + 1);
            let split = text.text.split_whitespace().map(Word::marked);
            let words: Vec<Word> = split.chain(args[at..].iter().cloned()).collect();
            if at < args.len() {
                self.wrapped(name, &words, Command { exact: false, ..inner.clone() })?;
            }
        }
        if !texts.is_empty() {
            // The text is a program that opens files, so the names of the files are added.
            let files = if name == "git" && wrapper.texts.contains("-O") { FILE } else { "" };
            // The split words are arguments of `env` itself.
            let begin = if wrapper.assigns && name == "env" { "env " } else { "" };
            return texts.iter().try_for_each(|text| self.text(name, &format!("{begin}{}{files}", text.text)));
        }
        let words = wrapper.words(args);
        if let Some(at) = args.iter().position(|word| wrapper.separators.contains(&word.text)) {
            let command = &args[at + 1..];
            if wrapper.runs != Runs::Words || command.len() != words.len() {
                self.wrapped(name, command, inner.clone())?;
            }
        }
        if let Some(program) = wrapper.values_of(args, wrapper.entry).pop() {
            let words: Vec<Word> = [program].into_iter().chain(words.iter().cloned()).collect();
            return self.wrapped(name, &words, Command { exact: false, ..inner });
        }
        let stdin = if inner.input.is_some() {
            std::mem::replace(&mut self.surroundings.input, inner.input.clone())
        } else {
            None
        };
        let result = match wrapper.runs {
            Runs::Words => self.wrapped_any(name, wrapper, args, &inner),
            Runs::Text => wrapper.readings(args).into_iter().try_for_each(|words| self.text(name, &joined(words))),
            Runs::Texts => words.iter().try_for_each(|word| self.text(name, &word.text)),
            Runs::First => self.trapped(name, words),
            Runs::Keys => self.text(name, &pressed(words)),
            Runs::Nothing => Ok(()),
        };
        if inner.input.is_some() {
            self.surroundings.input = stdin;
        }
        result?;
        match inner.input {
            Some(input) if wrapper.reads && (words.is_empty() || wrapper.runs == Runs::Nothing) => {
                self.text(name, &input.text)
            }
            _ => Ok(()),
        }
    }

    /// Reads the command of a `trap`. If all its variables are set later, the command is read at the end of the text.
    fn trapped(&mut self, name: &str, words: &[Word]) -> Result<(), Unreadable> {
        let Some((text, signals)) = words.split_first() else { return Ok(()) };
        let is_end = |word: &Word| matches!(word.text.as_str(), "EXIT" | "0" | "INT" | "TERM" | "HUP" | "QUIT");
        let is_last = self.surroundings.wrappers.is_empty() && !signals.is_empty() && signals.iter().all(is_end);
        if is_last && self.is_set_later(&text.text)? {
            self.definitions.traps.push(text.text.clone());
            return Ok(());
        }
        self.text(name, &text.text)
    }

    pub(crate) fn wrapped(&mut self, wrapper: &str, words: &[Word], inner: Command) -> Result<(), Unreadable> {
        if words.is_empty() {
            return Ok(());
        }
        self.within(wrapper, |reader| {
            if reader.surroundings.wrappers.len() > MAX_WRAPPERS {
                return Err(Unreadable("it is wrapped more than 8 times".into()));
            }
            reader.run(words.to_vec(), inner)
        })
    }

    /// Reads the command after a wrapper's options. If the options can be understood in several ways, the command is read in each of them.
    pub(super) fn wrapped_any(
        &mut self,
        name: &str,
        wrapper: &Wrapper,
        args: &[Word],
        inner: &Command,
    ) -> Result<(), Unreadable> {
        for mut words in wrapper.readings(args) {
            let mut inner = inner.clone();
            // `env - x` runs `x` with an empty environment.
            if let [first, rest @ ..] = words
                && wrapper.assigns
                && first.text == "-"
            {
                words = rest;
            }
            while let [first, rest @ ..] = words
                && wrapper.assigns
            {
                if let Some((variable, value)) = first.text.halves(b'=') {
                    let value = Word::marked(value);
                    self.commands_in(variable, &value)?;
                    inner.environment.push((variable.to_owned(), value));
                } else if !self.is_from_secrets(first) {
                    break;
                }
                words = rest;
            }
            // If the next word is an option, there is no command: in `docker run IMAGE -x`, the image's default command gets `-x`.
            if words.first().is_some_and(|word| !word.text.starts_with('-')) {
                self.wrapped(name, words, inner)?;
            }
        }
        Ok(())
    }

    /// Reads a command in an option. An unknown part is assumed to be a number or a file, as in `ssh -p $PORT`. This is not assumed if the
    /// text begins with the unknown part.
    pub(super) fn option(&mut self, wrapper: &str, text: &Word) -> Result<(), Unreadable> {
        if text.text.trim().is_empty() {
            return Ok(());
        }
        self.script.runs_unknown |= text.text.starts_with(UNKNOWN);
        self.text(wrapper, &text.text.replace(UNKNOWN, "$_"))
    }
}

/// Maximum number of wrappers in a chain such as `sudo nice env …`. The error message in `wrapped` repeats this number.
const MAX_WRAPPERS: usize = 8;

/// Returns the text that the keys type. `Enter` gives a line end, and other keys with a name give no text.
fn pressed(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        match word.text.as_str() {
            "Enter" | "C-m" | "KPEnter" => text.push('\n'),
            "Space" => text.push(' '),
            key if key.len() == 3 && (key.starts_with("C-") || key.starts_with("M-")) => {}
            typed => text.push_str(typed),
        }
    }
    text.replace("\\n", "\n").replace("^M", "\n")
}
