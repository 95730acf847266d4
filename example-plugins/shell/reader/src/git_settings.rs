//! Reads the commands that Git runs because of its settings: aliases that begin with `!`, and settings that name a program.

use super::ascii::Ascii as _;
use super::read::{Reader, Unreadable};
use super::unwrap::FILE;
use super::word::Word;
use super::{Class, Command, wrappers};

impl Reader<'_> {
    /// Returns the words `git push …` for Git's own program `git-push …`. The program must lie in `$(git --exec-path)`, because a script of
    /// the project may have such a name, too.
    pub(super) fn of_git(&self, words: &[Word], command: &Command) -> Option<Vec<Word>> {
        let (program, args) = words.split_first()?;
        let subcommand = command.program.strip_prefix("git-").filter(|name| !name.is_empty())?;
        let is_script =
            program.text.has(b'/') && self.context.class(program, self.scope.cwd.as_deref()) == Class::Inside;
        let is_other =
            is_script || self.defines(&program.text) || self.definitions.aliases.contains_key(program.text.as_str());
        let words = [Word::literal("git"), Word::literal(subcommand)];
        (!is_other).then(|| words.into_iter().chain(args.iter().cloned()).collect())
    }

    /// Reads the commands in the settings that a Git command uses or changes.
    pub(super) fn git(&mut self, args: &[Word]) -> Result<(), Unreadable> {
        // Git starts a helper that the address names: `ext::sh -c x`. In the address, `% ` stands for a space in a word.
        for word in args.iter().filter(|word| word.text.starts_with("ext::")) {
            self.text("git", &word.text["ext::".len()..].replace("% ", "\\ ").replace("%S", "x"))?;
        }
        let mut rest = args;
        while let [option, tail @ ..] = rest
            && option.text.starts_with('-')
        {
            let takes_value = matches!(
                option.text.as_str(),
                "-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env"
            );
            // The value of this setting comes from an environment variable.
            let from = option.text.strip_prefix("--config-env=").or_else(|| {
                (option.text == "--config-env").then(|| tail.first().map(|word| word.text.as_str())).flatten()
            });
            if let Some((name, variable)) = from.and_then(|text| text.halves(b'=')) {
                let value = self.variable(variable).unwrap_or_else(Word::unknown);
                self.setting(name, &value.text)?;
            }

            if option.text == "-c"
                && let Some((name, value)) = tail.first().and_then(|word| word.text.halves(b'='))
            {
                self.setting(name, value)?;
            }
            rest = tail.get(usize::from(takes_value)..).unwrap_or_default();
        }
        let Some((subcommand, args)) = rest.split_first() else { return Ok(()) };
        if subcommand.text == "clone" {
            for words in args.windows(2) {
                if matches!(words[0].text.as_str(), "-c" | "--config")
                    && let Some((name, value)) = words[1].text.halves(b'=')
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
            if name.has(b'.') {
                return values.next().map_or(Ok(()), |value| self.setting(name, value));
            }
        }
        Ok(())
    }

    /// Reads the settings that variables give to Git: `GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=…`.
    pub(super) fn settings_in(&mut self, environment: &[(String, Word)]) -> Result<(), Unreadable> {
        for (name, key) in environment {
            if let Some(number) = name.strip_prefix("GIT_CONFIG_KEY_") {
                let value =
                    environment.iter().find(|(other, _)| other.strip_prefix("GIT_CONFIG_VALUE_") == Some(number));
                if let Some((_, value)) = value {
                    self.setting(&key.text, &value.text)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn setting(&mut self, name: &str, value: &str) -> Result<(), Unreadable> {
        let text = match value.strip_prefix('!') {
            Some(text) => text.to_owned(),
            None if starts_with(name, "alias.") => format!("git {value}"),
            None if value.is_empty() => return Ok(()),
            None if starts_with(name, "core.editor") || starts_with(name, "sequence.editor") => {
                format!("{value}{FILE}")
            }
            None if wrappers::is_setting(name) => value.to_owned(),
            None => return Ok(()),
        };
        if text.trim().is_empty() { Ok(()) } else { self.text("git", &text) }
    }
}

fn starts_with(name: &str, begin: &str) -> bool {
    name.get(..begin.len()).is_some_and(|name| name.eq_ignore_ascii_case(begin))
}
