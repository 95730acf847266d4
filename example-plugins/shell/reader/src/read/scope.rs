//! The state that each subshell copies: directory, variables and arguments.

use super::{Reader, Unreadable, WORK_OF_COMMAND, WORK_OF_VARIABLE, WORK_OF_WORD};
use crate::guarded::directory_of_variable;
use crate::path_context::MADE_UP;
use crate::word::Word;
use litemap::LiteMap;
use std::rc::Rc;

impl Reader<'_> {
    /// Runs `act` on a copy of the scope. The copy is dropped afterwards.
    pub(crate) fn subshell<T>(&mut self, act: &mut dyn FnMut(&mut Self) -> T) -> T {
        let scope = self.scope.clone();
        // The maximum is not checked here. If the work exceeds the maximum, the next command that is recorded fails.
        self.script.work += scope.work();
        let result = act(self);
        self.leave(scope);
        result
    }

    /// Restores an earlier scope.
    #[inline(never)]
    pub(crate) fn leave(&mut self, before: Scope) {
        let inner = std::mem::replace(&mut self.scope, before);
        if self.likely.is_some() {
            self.scope.variables = inner.variables;
        } else if self.scope.assignments != inner.assignments {
            self.script.leaves_open = true;
        }
    }

    /// Reads commands that may or may not run. Afterwards, every value that they changed is unknown. Returns true if they changed a value
    /// that was known before.
    pub(super) fn perhaps(
        &mut self,
        act: &mut dyn FnMut(&mut Self) -> Result<(), Unreadable>,
    ) -> Result<bool, Unreadable> {
        let before = self.scope.clone();
        self.spend(WORK_OF_COMMAND + before.work())?;
        act(self)?;
        Ok(self.unsettle(&before, false))
    }

    /// Marks everything that differs from `before` as unknown. With `keeps_new`, new variables keep their value but are marked as doubtful.
    /// Returns true if a value that was known before is now unknown.
    pub(super) fn unsettle(&mut self, before: &Scope, keeps_new: bool) -> bool {
        let mut unsettles = false;
        if self.scope.cwd != before.cwd {
            self.script.leaves_open |= self.scope.cwd.is_some();
            if self.likely.is_none() {
                self.scope.perhaps = self.scope.cwd.take();
            }
            unsettles |= before.cwd.is_some();
        }
        if self.scope.positional != before.positional {
            self.scope.positional = None;
            unsettles = true;
        }
        if self.likely.is_some() {
            return unsettles;
        }
        for (name, value) in &mut self.scope.variables {
            let known = before.variables.get(name);
            if let Some(value) = value.as_mut().filter(|_| keeps_new && known.is_none()) {
                value.doubt = Some(0);
                self.script.leaves_open = true;
            } else if known != Some(value) && !value.as_ref().is_some_and(|value| value.secret) {
                self.script.leaves_open |= value.is_some();
                *value = None;
                unsettles |= known.is_some_and(Option::is_some);
            }
        }
        unsettles
    }

    /// Reads the body of a loop. If the body changed a value that was known before the loop, reads the body a second time, because the next
    /// round starts with another value.
    pub(super) fn repeatedly(
        &mut self,
        act: &mut dyn FnMut(&mut Self) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        if self.perhaps(act)? { self.perhaps(act).map(drop) } else { Ok(()) }
    }

    pub(crate) fn set(&mut self, name: &str, value: Option<Word>) {
        let value = value.filter(|_| !self.declarations.references.contains_key(name));
        if value.is_none() && self.scope.variables.get(name).is_some_and(Option::is_some) {
            self.script.leaves_open = true;
            if self.likely.is_some() {
                return;
            }
        }
        self.scope.assignments += 1;
        self.scope.variables.insert(name.to_owned(), value);
    }

    /// Stores the elements of an array. As a variable, the array gets one word that contains all elements.
    pub(crate) fn set_elements(&mut self, name: &str, words: &[Word]) -> Result<(), Unreadable> {
        words.iter().for_each(|word| self.remember(name, &word.text));
        self.spend(
            self.declarations.arrays.len() + words.iter().map(|word| WORK_OF_WORD + word.text.len()).sum::<usize>(),
        )?;
        self.declarations.arrays.retain(|(other, _)| other != name);
        self.declarations.arrays.push((name.to_owned(), words.to_vec()));
        Ok(())
    }

    /// Returns the elements of an array, unless its value has changed since they were stored.
    pub(crate) fn elements(&self, name: &str) -> Option<Vec<Word>> {
        let (_, words) = self.declarations.arrays.iter().find(|(other, _)| other == name)?;
        (self.variable(name)? == Word::of_all(words)).then(|| words.clone())
    }

    /// Declares `name` as a second name of `target`. From then on, the values of both names are unknown, because an assignment to either
    /// name changes both.
    pub(crate) fn refer(&mut self, name: &str, target: &str) {
        self.remember(name, target);
        for name in [name, target] {
            self.declarations.references.insert(name.to_owned(), None);
            self.set(name, None);
        }
    }

    /// Returns the value of a variable that the text or the shell sets, if known.
    pub(crate) fn variable(&self, name: &str) -> Option<Word> {
        if let Some(value) = self.scope.variables.get(name) {
            return value.clone();
        }
        let in_home = |text| Word { home: true, ..Word::literal(text) };
        match name {
            "HOME" | "USERPROFILE" => Some(in_home("~")),
            "PWD" => self.scope.cwd.clone().map(Word::literal),
            "XDG_CONFIG_HOME" => Some(in_home("~/.config")),
            "XDG_STATE_HOME" => Some(in_home("~/.local/state")),
            "XDG_CACHE_HOME" => Some(in_home("~/.cache")),
            "HOOKHOST_CONFIG_DIR" => Some(in_home("~/.config/hookhost")),
            "HOOKHOST_STATE_DIR" => Some(in_home("~/.local/state/hookhost")),
            "HOOKHOST_CACHE_DIR" => Some(in_home("~/.cache/hookhost")),
            "CLAUDE_PROJECT_DIR" | "GEMINI_PROJECT_DIR" | "QWEN_PROJECT_DIR" | "FACTORY_PROJECT_DIR" => {
                Some(Word::literal(self.context.workspace()))
            }
            "TMPDIR" => Some(Word::literal(MADE_UP[0])),
            "IFS" => Some(Word::literal(" \t\n")),
            name => directory_of_variable(name).map(in_home),
        }
    }

    /// Returns true if each variable in `text` is not set yet and is set exactly once in the whole script. If `text` names a function, the
    /// variables in the body of the function are checked.
    pub(crate) fn is_set_later(&mut self, text: &str) -> Result<bool, Unreadable> {
        /// Maximum number of variables to search for.
        const MAX_NAMES: usize = 8;
        self.spend(self.source.text.len() * MAX_NAMES)?;
        let whole = self.source.text;
        let function = || {
            let begin = whole.find(&format!("{text}()"))?;
            let end = whole[begin..].find("trap ")?;
            whole.get(begin..begin + end)
        };
        let body = if self.defines(text) { function().unwrap_or_default() } else { text };
        let mut names = body.split('$').skip(1).map(|rest| {
            let rest = rest.trim_start_matches('{');
            &rest[..rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len())]
        });
        let is_later = |name: &str| {
            let set = format!("{name}=");
            !name.is_empty() && !self.is_set(name) && whole.matches(&set).count() == 1
        };
        let count = names.clone().take(MAX_NAMES + 1).count();
        Ok((1..=MAX_NAMES).contains(&count) && names.all(is_later))
    }

    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.scope.variables.contains_key(name)
    }

    pub(crate) fn set_positional(&mut self, words: &[Word]) {
        self.remember_arguments(words);
        self.scope.positional = Some(Rc::new(words.to_vec()));
    }

    /// Drops the first `count` arguments. If `count` is `None`, the arguments become unknown.
    pub(crate) fn shift(&mut self, count: Option<usize>) {
        let words = self.scope.positional.take().zip(count);
        self.scope.positional = words.map(|(words, count)| Rc::new(words.iter().skip(count).cloned().collect()));
    }

    pub(crate) fn positional(&self, number: u32) -> Option<Word> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.scope.positional.as_ref()?.get(at).cloned()
    }

    /// Returns all arguments, if known.
    pub(crate) fn all_positional(&self) -> Option<Rc<Vec<Word>>> {
        self.scope.positional.clone()
    }
}

/// Variables by name; `None` for an unknown value.
pub(super) type Variables = LiteMap<String, Option<Word>>;

/// The state of which each subshell has its own copy.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    pub(crate) cwd: Option<String>,
    /// The target of a `cd` that perhaps did not run: `x && cd y; z`.
    pub(super) perhaps: Option<String>,
    pub(super) variables: Variables,
    /// Number of assignments so far. Repeated assignments are counted each time.
    pub(super) assignments: usize,
    /// The value of `$0`, if the caller of the text sets it.
    pub(crate) zeroth: Option<Word>,
    pub(super) positional: Option<Rc<Vec<Word>>>,
}

impl Scope {
    /// Returns the units of work for a copy.
    pub(super) fn work(&self) -> usize {
        self.variables.len() * WORK_OF_VARIABLE
    }
}
