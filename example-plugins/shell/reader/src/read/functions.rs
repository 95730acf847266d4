//! The functions that a text defines.

use super::{Reader, Unreadable};
use crate::word::Word;
use brush_parser::ast;
use std::rc::Rc;

impl Reader<'_> {
    pub(super) fn define(&mut self, function: &ast::FunctionDefinition) -> Result<(), Unreadable> {
        let name = function.fname.value.clone();
        self.script.fork_bomb |= bombs(&function.body.0, &name);
        self.script.functions.push(name.clone());
        self.spend(self.definitions.functions.len())?;
        self.keep_function(name, Function { body: function.body.clone(), called: false });
        Ok(())
    }

    /// Stores a function. The function replaces an earlier function of the same name.
    fn keep_function(&mut self, name: String, function: Function) {
        self.definitions.functions.retain(|(other, _)| *other != name);
        self.definitions.functions.push((name, Rc::new(function)));
    }

    /// Returns true if the text has defined a function with this name.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.definitions.functions.iter().any(|(other, _)| other == name)
    }

    /// Reads the body of the function `name` for a call. Returns false if the text has not defined this function.
    pub(crate) fn call(&mut self, name: &str, args: &[Word], input: Option<Word>) -> Result<bool, Unreadable> {
        let known = self.definitions.functions.iter().find(|(other, _)| other == name);
        let Some(function) = known.map(|(_, function)| function.clone()) else { return Ok(false) };
        let called = Function { body: function.body.clone(), called: true };
        self.keep_function(name.to_owned(), called);
        if self.script.fork_bomb {
            return Ok(true);
        }
        self.remember_arguments(args);
        let before = self.scope.positional.replace(Rc::new(args.to_vec()));
        let result = self.deeper(|reader| reader.redirected(&function.body.0, function.body.1.as_ref(), input));
        self.scope.positional = before;
        result.map(|()| true)
    }

    /// Reads each function that was never called, with unknown arguments.
    pub(super) fn read_uncalled_functions(&mut self) {
        for (_, function) in std::mem::take(&mut self.definitions.functions) {
            if !function.called && !self.script.fork_bomb {
                let result = self.redirected(&function.body.0, function.body.1.as_ref(), None);
                self.script.unreadable = self.script.unreadable.take().or(result.err().map(|why| why.0));
            }
        }
    }
}

pub(super) struct Function {
    body: ast::FunctionBody,
    called: bool,
}

/// Returns true if a function calls itself twice in one pipeline, or calls itself in the background.
fn bombs(body: &ast::CompoundCommand, name: &str) -> bool {
    let list = match body {
        ast::CompoundCommand::BraceGroup(group) => &group.list,
        ast::CompoundCommand::Subshell(subshell) => &subshell.list,
        _ => return false,
    };
    let calls = |command: &ast::Command| match command {
        ast::Command::Simple(simple) => simple.word_or_name.as_ref().is_some_and(|word| word.value == name),
        _ => false,
    };
    list.0.iter().any(|ast::CompoundListItem(list, separator)| {
        let in_background = matches!(separator, ast::SeparatorOperator::Async);
        list.into_iter().any(|(_, pipeline)| {
            let count = pipeline.seq.iter().filter(|command| calls(command)).count();
            count > 1 || (count == 1 && in_background)
        })
    })
}
