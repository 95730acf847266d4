//! Follows the output of commands and the content of files that a text writes, if the text itself contains this output
//! or content.

use super::{Reader, Unreadable};
use crate::ascii::Ascii as _;
use crate::copied_files::listed;
use crate::path_context::MADE_UP;
use crate::secret_access::hands_on;
use crate::simple_command::printed_by;
use crate::word::Word;
use crate::writes::writes_or_runs;
use crate::{Class, Command, wrappers};
use brush_parser::ast;

impl Reader<'_> {
    /// Records the text that a command writes to a file.
    pub(crate) fn write(&mut self, file: &Word, text: &str, append: bool) -> Result<(), Unreadable> {
        let Some(path) = self.context.path(file, self.scope.cwd.as_deref()).filter(|_| !file.glob) else {
            return Ok(());
        };
        self.spend(path.len() + text.len())?;
        let before = self.files.contents.get(&path).cloned().flatten().filter(|_| append);
        let before = before.map(|before| before.text).unwrap_or_default();
        self.spend(before.len())?;
        let is_hook = ["/.git/hooks/", "/.husky/"].iter().any(|directory| path.contains(directory));
        self.files.contents.insert(path, Some(Word::literal(format!("{before}{text}"))));
        // Git runs this file.
        let hook = if is_hook { self.written_in(file) } else { None };
        hook.map_or(Ok(()), |text| self.text("sh", &text))
    }

    /// Returns the text that the script wrote to a file.
    pub(crate) fn text_in(&self, file: &Word) -> Option<String> {
        if self.files.contents.is_empty() {
            return None;
        }
        let text = self.files.contents.get(&self.context.path(file, self.scope.cwd.as_deref())?)?.as_ref()?;
        Some(text.text.clone())
    }

    /// Returns the text of a file that the script wrote, unless the first line names an interpreter other than a shell.
    pub(crate) fn written_in(&self, file: &Word) -> Option<String> {
        let text = self.text_in(file)?;
        let names_another = text.starts_with("#!") && !text.lines().next().is_some_and(|line| line.contains("sh"));
        (!names_another).then_some(text)
    }

    /// Reads the commands of `$(…)`. Returns their output, if known.
    pub(crate) fn output_of(&mut self, text: &str) -> Result<Option<Word>, Unreadable> {
        let begin = self.script.commands.len();
        self.subshell(&mut |reader| reader.nested(text))?;
        Ok(self.output_since(begin).or_else(|| self.secret_since(begin)))
    }

    /// Reads the commands of `<(…)`. Returns the name of the file that contains their output.
    pub(crate) fn substitute(&mut self, list: &ast::CompoundList) -> Result<Word, Unreadable> {
        let begin = self.script.commands.len();
        let output = self.output_of_list(list)?;
        let secret = self.secret_since(begin).is_some();
        self.files.substitutions.push(output);
        Ok(Word { secret, ..Word::literal(format!("/dev/fd/{}", 62 + self.files.substitutions.len())) })
    }

    pub(crate) fn output_of_list(&mut self, list: &ast::CompoundList) -> Result<Option<Word>, Unreadable> {
        let begin = self.script.commands.len();
        self.subshell(&mut |reader| reader.list(list))?;
        Ok(self.output_since(begin))
    }

    /// Returns the content of the file of a `<(…)`, if known.
    pub(crate) fn substitution_at(&self, file: &str) -> Option<Word> {
        let number: usize = file.rsplit('/').next()?.parse().ok()?;
        self.files.substitutions.get(number.checked_sub(63)?)?.clone()
    }

    /// Returns the output of the command that was recorded since `begin`, if there is only one such command and its
    /// output is known.
    pub(super) fn output_since(&self, begin: usize) -> Option<Word> {
        let [command] = &self.script.commands[begin..] else { return None };
        let words: Vec<&str> = command.args.iter().map(|word| word.text.as_str()).collect();
        match (command.program.as_str(), words.as_slice()) {
            ("pwd", _) => command.cwd.clone().map(Word::literal),
            ("git", ["rev-parse", "--show-toplevel"]) => Some(Word::literal(self.context.workspace())),
            ("cat", _) => self.copied_out(&command.args, command).filter(Word::is_known),
            ("ls", _) => listed(&command.args),
            ("dirname", [path]) if command.args[0].is_known() => {
                let parent = path.trim_end_matches('/').rsplit_once('/').map_or(".", |(parent, _)| parent);
                Some(command.args[0].with_text(if parent.is_empty() { "/" } else { parent }))
            }
            ("realpath", [path]) | ("readlink", ["-f" | "-e" | "-m", path]) => {
                let word = command.args.last().filter(|word| word.is_known() && !path.starts_with('-'))?;
                let absolute = || self.context.path(word, command.cwd.as_deref()).map(Word::literal);
                if word.home { Some(word.clone()) } else { absolute() }
            }
            ("mktemp", _) => Some(Word::literal(MADE_UP[1])),
            ("echo" | "printf", _) if command.redirects.is_empty() => printed_by(&command.program, &command.args),
            ("which", [name]) | ("command", ["-v", name]) | ("type", ["-p" | "-P", name]) => {
                let is_itself = name.has(b'/') || self.defines(name) || self.definitions.aliases.contains_key(*name);
                Some(Word::literal(if is_itself { (*name).to_owned() } else { format!("/usr/bin/{name}") }))
            }
            // No rule matches anything in the shell setup that an installed program prints.
            (program, _)
                if (wrappers::is_hook(program, &command.args)
                    || (wrappers::is_setup(program, &command.args)
                        && !writes_or_runs(program)
                        && !hands_on(program)))
                    && self.is_installed(command) =>
            {
                Some(Word::literal(":"))
            }
            _ => None,
        }
    }

    /// Returns true if a program is found in the search path or lies in a directory for installed programs.
    fn is_installed(&self, command: &Command) -> bool {
        let class = self.context.class(&command.program_word, command.cwd.as_deref());
        !command.program_word.text.has(b'/') || matches!(class, Class::System | Class::Home)
    }
}
