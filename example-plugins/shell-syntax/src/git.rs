//! What git runs by its settings: aliases that begin with `!`, and those that name a program.

use super::read::{Reader, Unreadable};
use super::word::Word;
use super::wrappers;

impl Reader<'_> {
    /// Reads the commands in the settings that a git command is given, or that it makes.
    pub(super) fn git(&mut self, args: &[Word]) -> Result<(), Unreadable> {
        let mut rest = args;
        while let [option, tail @ ..] = rest
            && option.text.starts_with('-')
        {
            let takes_value = matches!(option.text.as_str(), "-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace");
            if option.text == "-c"
                && let Some((name, value)) = tail.first().and_then(|word| word.text.split_once('='))
            {
                self.setting(name, value)?;
            }
            rest = tail.get(usize::from(takes_value)..).unwrap_or_default();
        }
        let Some((subcommand, args)) = rest.split_first() else { return Ok(()) };
        if subcommand.text == "clone" {
            for words in args.windows(2) {
                if matches!(words[0].text.as_str(), "-c" | "--config")
                    && let Some((name, value)) = words[1].text.split_once('=')
                {
                    self.setting(name, value)?;
                }
            }
            return Ok(());
        }
        if subcommand.text != "config" {
            return Ok(());
        }
        let mut values = args.iter().filter(|word| !word.text.starts_with('-')).map(|word| word.text.as_str());
        while let Some(name) = values.next() {
            if name.contains('.') {
                return values.next().map_or(Ok(()), |value| self.setting(name, value));
            }
        }
        Ok(())
    }

    fn setting(&mut self, name: &str, value: &str) -> Result<(), Unreadable> {
        let text = match value.strip_prefix('!') {
            Some(text) => text.to_owned(),
            None if starts_with(name, "alias.") => format!("git {value}"),
            None if wrappers::is_setting(name) => value.to_owned(),
            None => return Ok(()),
        };
        if text.trim().is_empty() { Ok(()) } else { self.text("git", &text) }
    }
}

fn starts_with(name: &str, begin: &str) -> bool {
    name.get(..begin.len()).is_some_and(|name| name.eq_ignore_ascii_case(begin))
}
