//! Programs that a text gives another name, and then runs by that: `cp /bin/rm x; ./x`.

use super::Command;
use super::places::Class;
use super::read::{Reader, Unreadable};
use super::word::Word;

impl Reader<'_> {
    /// Notes which program of the system a command copies, moves or links.
    pub(super) fn copies(&mut self, command: &Command) -> Result<(), Unreadable> {
        if !matches!(command.program.as_str(), "cp" | "mv" | "ln" | "link" | "install") {
            return Ok(());
        }
        self.spend(command.args.len())?;
        let mut operands = command.args.iter().rev().filter(|word| !word.text.starts_with('-'));
        let (Some(to), Some(from)) = (operands.next(), operands.next()) else { return Ok(()) };
        let cwd = command.cwd.as_deref();
        let Some((to, path)) = self.places.path(to, cwd).zip(self.places.path(from, cwd)) else {
            return Ok(());
        };
        self.spend(to.len() + path.len())?;
        let is_program = from.text.contains('/') && self.places.class(from, cwd) == Class::System;
        let original = self.copied.get(&path).cloned().flatten().or_else(|| is_program.then(|| Word::literal(path)));
        if let Some(original) = original.filter(|original| original.text != to) {
            self.copied.insert(to, Some(original));
        }
        Ok(())
    }

    /// The program that has got the name of this one: at its path, or wherever a program is looked for.
    pub(super) fn copied(&mut self, program: &Word) -> Result<Option<Word>, Unreadable> {
        if self.copied.is_empty() {
            return Ok(None);
        }
        if program.text.contains('/') {
            let path = self.places.path(program, self.scope.cwd.as_deref());
            return Ok(path.and_then(|path| self.copied.get(&path)?.clone()));
        }
        self.spend(self.copied.keys().map(String::len).sum())?;
        let found = self.copied.iter().find(|(path, _)| path.rsplit('/').next() == Some(&program.text));
        Ok(found.and_then(|(_, original)| original.clone()))
    }
}
