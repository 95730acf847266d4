//! Reads assignments, and the commands in variables whose values programs run, such as `GIT_SSH_COMMAND`, `BASH_ENV` and `PS1`.

use super::FILE;
use crate::ascii::Ascii as _;
use crate::path_class::Class;
use crate::read::{Reader, Unreadable};
use crate::word::Word;
use crate::wrappers;

impl Reader<'_> {
    /// Sets a variable, and reads the command that a program will run from its value.
    pub(crate) fn assign(&mut self, name: &str, mut value: Option<Word>) -> Result<(), Unreadable> {
        let case = self.declarations.letter_cases.iter().rev().find(|(other, _)| other == name);
        if let (Some((_, case)), Some(value)) = (case, &mut value) {
            value.text = cased(&value.text, Some(*case));
        }
        if let Some(value) = &value {
            self.commands_in(name, value)?;
        }
        self.set(name, value);
        Ok(())
    }

    /// Reads the value of a variable that a program runs as a command.
    pub(crate) fn commands_in(&mut self, variable: &str, value: &Word) -> Result<(), Unreadable> {
        let is_setting = variable.starts_with("GIT_CONFIG_VALUE_") && value.text.starts_with('!');
        self.preloads(variable, value);
        self.remember(variable, &value.text);
        // A shell defines a function from its environment: `BASH_FUNC_ls%%=() { …; }`.
        if let Some(body) = value.text.strip_prefix("() {") {
            return self.text("bash", &format!("{{{body}"));
        }
        // Each new shell runs the file that this variable names.
        if matches!(variable, "BASH_ENV" | "ENV") && !value.text.is_empty() {
            let class = self.context.class(value, self.scope.cwd.as_deref());
            let is_path = variable == "BASH_ENV" && !matches!(class, Class::Inside | Class::Device);
            self.script.runs_unknown |= is_path && self.text_in(value).is_none();
            return self.file("source", std::slice::from_ref(value), None);
        }
        if variable == "ZDOTDIR" {
            let file = Word { text: format!("{}/.zshenv", value.text), ..value.clone() };
            return self.file("source", &[file], None);
        }
        // A prompt runs its command substitutions.
        if matches!(variable, "PS0" | "PS1" | "PS2" | "PS4") {
            return self.within_word(&value.text);
        }
        if variable == "GIT_CONFIG_PARAMETERS" {
            let settings = value.text.split('\'').filter_map(|setting| setting.halves(b'='));
            return settings
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect::<Vec<_>>()
                .iter()
                .try_for_each(|(name, value)| self.setting(name, value));
        }
        if value.is_known() && !value.text.is_empty() && (is_setting || wrappers::is_command(variable)) {
            let is_editor = matches!(variable, "EDITOR" | "VISUAL" | "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR");
            let file = if is_editor { FILE } else { "" };
            return self.text("env", &format!("{}{file}", value.text.trim_start_matches(['!', '|', '-'])));
        }
        Ok(())
    }
}

pub(crate) fn cased(value: &str, case: Option<char>) -> String {
    match case {
        Some('l') => value.to_ascii_lowercase(),
        Some('u') => value.to_ascii_uppercase(),
        _ => value.to_owned(),
    }
}
