//! Reads commands that take words from their input: `xargs` and `parallel`.

use super::ascii::Ascii as _;
use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word, joined};
use super::wrappers::{self, List};
use super::{Command, program_name};

impl Reader<'_> {
    pub(super) fn xargs(&mut self, name: &str, args: &[Word], inner: &Command) -> Result<(), Unreadable> {
        // With this option, the program reads a file instead of its input.
        let input = match wrappers::XARGS.values_of(args, List("-a\n--arg-file")).pop() {
            Some(file) => self.substitution_at(&file.text),
            None => inner.input.clone(),
        };
        let input = input.filter(Word::is_known);
        let text = input.as_ref().map_or_else(|| UNKNOWN.to_string(), |input| input.with_mark().into_owned());
        let placeholder = placeholder(args);
        let by_nul = args.iter().take_while(|word| word.text.starts_with('-')).any(|word| word.text.starts_with("-0"));
        for words in wrappers::XARGS.readings(args) {
            self.spend(words.len() + text.len() * if placeholder.is_some() { words.len() } else { 1 })?;
            let mut words = words.to_vec();
            match &placeholder {
                Some(placeholder) => {
                    // In a shell command that does not begin with the placeholder, an unknown name stands for one unknown word.
                    let is_shell = words.first().is_some_and(|word| is_shell(program_name(&word.text)));
                    let is_within =
                        |text: &str| is_shell && text.has(b' ') && !text.trim_start().starts_with(placeholder.as_str());
                    for word in &mut words {
                        let text = if input.is_none() && is_within(&word.text) { "$_" } else { text.trim() };
                        *word = word.with_text(word.text.replace(placeholder.as_str(), text));
                    }
                }
                None if input.is_none() => words.push(Word::unknown()),
                None if by_nul => words.extend(text.split('\0').map(Word::marked)),
                None => {
                    let glob = input.as_ref().is_some_and(|input| input.glob);
                    words.extend(text.split_whitespace().map(|text| Word { glob, ..Word::marked(text) }));
                }
            }
            self.wrapped(name, &words, Command { exact: false, ..inner.clone() })?;
        }
        Ok(())
    }

    pub(super) fn parallel(&mut self, name: &str, args: &[Word], mut inner: Command) -> Result<(), Unreadable> {
        inner.exact = false;
        let end = args.iter().position(|word| word.text.starts_with(":::")).unwrap_or(args.len());
        let mut values: Vec<Word> = args[end..].iter().filter(|word| !word.text.starts_with(":::")).cloned().collect();
        if end == args.len() || args[end].text.starts_with("::::") {
            values = match inner.input.take().filter(Word::is_known) {
                Some(input) => input.with_mark().lines().map(Word::marked).collect(),
                None => vec![Word::unknown()],
            };
        }
        let readings = wrappers::XARGS.readings(&args[..end]);
        if readings.is_empty() {
            return values.iter().try_for_each(|text| self.text(name, &text.text));
        }
        for words in readings {
            let is_placed = words.iter().any(|word| word.text.contains("{}"));
            let all = joined(&values);
            self.spend(all.len() * words.len())?;
            if words.iter().any(|word| word.text.contains(char::is_whitespace)) {
                let text = joined(words);
                let text = if is_placed { text.replace("{}", &all) } else { format!("{text} {all}") };
                self.text(name, &text)?;
                continue;
            }
            let mut filled = Vec::new();
            for word in words {
                match word.text.as_str() {
                    "{}" => filled.extend(values.iter().cloned()),
                    text => filled.push(Word { text: text.replace("{}", &UNKNOWN.to_string()), ..word.clone() }),
                }
            }
            if !is_placed {
                filled.extend(values.iter().cloned());
            }
            self.wrapped(name, &filled, inner.clone())?;
        }
        Ok(())
    }
}

fn is_shell(program: &str) -> bool {
    matches!(program, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash")
}

/// Returns the placeholder that `xargs` replaces with its input, or `None` if it appends the input.
fn placeholder(args: &[Word]) -> Option<String> {
    let usual = || "{}".to_owned();
    let mut words = args.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next().filter(|word| word.starts_with('-')) {
        match word {
            "-I" => return words.next().map(str::to_owned),
            "-i" | "--replace" => return Some(usual()),
            "-n" | "-P" | "-d" | "-E" | "-L" | "-s" | "-a" | "--arg-file" => drop(words.next()),
            _ => match word.strip_prefix("-I").or_else(|| word.strip_prefix("--replace=")) {
                Some(text) => return Some(text.to_owned()),
                None if word.starts_with("-i") => return Some(word[2..].to_owned()),
                None => {}
            },
        }
    }
    None
}
