//! Walks the syntax tree of a shell text in the order of execution, and records every command.

use super::ascii::Ascii as _;
use super::downloads::Downloads;
use super::path_context::PathContext;
use super::reevaluation::EvaluatedValues;
use super::repair::repaired;
use super::word::{HOME, UNKNOWN, Word};
use super::writes::writes_or_runs;
use super::{Command, bounds, leave, lower};
use super::{fast_parser, windows};
use brush_parser::{Token, ast};
use hookhost_guest::prelude::ShellDialect;
use std::borrow::Cow;
use std::ops::Range;

mod functions;
mod output;
mod scope;
mod state;
mod walk;

pub(super) use scope::Scope;
use state::{Declarations, Definitions, Files, Nesting, Source, Surroundings};

/// Maximum nesting of commands: `sh -c`, `$(…)`, calls of functions.
const MAX_NESTING: usize = 8;
/// Maximum nesting of compound commands, counted across nested texts and called functions. Each level uses stack.
const MAX_LEVELS: usize = 32;
/// Maximum number of commands. A command in a loop or a function counts each time it is read.
const MAX_COMMANDS: usize = 2000;
/// Maximum number of values with which a `for` loop is read. If there are more values, the loop is read once with an unknown value.
const MAX_ROUNDS: usize = 16;
/// Units of work for each command, for each word (in addition to the bytes of the word), and for each variable that a subshell copies.
const WORK_OF_COMMAND: usize = 32;
const WORK_OF_WORD: usize = 8;
const WORK_OF_VARIABLE: usize = 40;
/// Number of bytes of a command's input that count as one unit of work. Input is only copied, so it costs less than parsed text.
const INPUT_BYTES_PER_UNIT: usize = 4;
/// Units of work for one call of the parser, in addition to the bytes of its text.
pub(super) const WORK_OF_PARSE: usize = 200;

/// Programs that run another program, which their words name. If such a program runs an unknown program, the unknown program may run yet
/// another program.
const PASSING_ON: [&str; 19] = [
    "sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "gtimeout", "command", "builtin", "exec",
    "stdbuf", "xargs", "busybox", "setsid", "watch", "chroot", "flock",
];

/// The reason why a text cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) String);

/// The commands of a text and further findings about it.
#[derive(Debug, Default)]
pub struct Script {
    pub commands: Vec<Command>,
    /// The reason why a part of the text could not be read.
    pub unreadable: Option<String>,
    /// True if the text runs a command that only the shell can determine: `eval "$X"`.
    pub runs_unknown: bool,
    /// True if the text runs a file that it has downloaded.
    pub runs_fetched: bool,
    /// True if a function is a fork bomb, because it starts itself twice at the same time, or in the background.
    pub fork_bomb: bool,
    /// True if the text is exactly one simple command.
    pub is_single: bool,
    /// The names of the functions that the text defines.
    pub functions: Vec<String>,
    /// True if [`read_likely`] may find more commands.
    pub leaves_open: bool,
    /// Units of work spent on the text. The limit is `bounds::MAX_WORK`.
    pub work: usize,
}

/// A function that returns the index at which a command begins among the words of an unknown program. The type is a function pointer, so
/// that the linker can remove the function's code from a component that never calls [`read_likely`].
type Likely = fn(&str, &[Word]) -> Option<usize>;

/// Maximum number of beginnings that [`beginnings`] returns.
const MAX_BEGINNINGS: usize = 8;

/// Returns the beginnings of a text that end before one of its last lines, the longest first. They matter because a shell runs the lines
/// that precede a line that it cannot read.
pub fn beginnings(text: &str) -> impl Iterator<Item = &str> {
    text.rmatch_indices('\n').take(MAX_BEGINNINGS).map(|(at, _)| &text[..at])
}

/// Reads `text` as a script that starts in the directory `cwd`.
pub fn read(text: &str, dialect: ShellDialect, cwd: &str, context: &PathContext) -> Script {
    read_as(None, text, dialect, cwd, context)
}

/// Reads `text` again with likely assumptions, if `script` has `leaves_open` set. The first assumption is that a variable or directory that
/// may be set is set. The second assumption is that an unknown program after a wrapper runs the command in its words. Returns `None` if
/// `leaves_open` is not set.
#[must_use]
pub fn read_likely(
    script: &Script,
    text: &str,
    dialect: ShellDialect,
    cwd: &str,
    context: &PathContext,
) -> Option<Script> {
    let begins = |program: &str, words: &[Word]| {
        let is_known = |name: &str| writes_or_runs(&lower(name));
        if is_known(program) { None } else { words.iter().position(|word| is_known(super::program_name(&word.text))) }
    };
    script.leaves_open.then(|| read_as(Some(begins), text, dialect, cwd, context))
}

fn read_as(likely: Option<Likely>, text: &str, dialect: ShellDialect, cwd: &str, context: &PathContext) -> Script {
    let mut reader = Reader {
        context,
        likely,
        options: brush_parser::ParserOptions::default(),
        script: Script::default(),
        scope: Scope { cwd: context.directory(&Word::literal(cwd), Some(context.workspace())), ..Scope::default() },
        source: Source { text, offsets: None, place: 0..text.len(), exact: true },
        nesting: Nesting::default(),
        surroundings: Surroundings::default(),
        definitions: Definitions::default(),
        declarations: Declarations::default(),
        files: Files::default(),
        downloads: Downloads::default(),
        evaluated: EvaluatedValues::default(),
        has_dotglob: false,
    };
    let is_windows = matches!(dialect, ShellDialect::Powershell | ShellDialect::Cmd);
    let mut result = if is_windows { windows::read(&mut reader, text) } else { reader.top(text) };
    // In `$x = Get-Date; $x.Year`, a POSIX shell would take the variable for an unknown program, so the text is also read as a text for
    // Windows. The script gets all other commands of both readings.
    let is_assigned = !is_windows && windows::is_assigned(text);
    if is_assigned {
        reader.script.commands.retain(|command| !windows::is_expression(text, command));
    }
    // A text with a command that exists only on Windows, such as `rd /s C:\x`, is read as a text for Windows, no matter which shell the
    // event names.
    let is_there = |reader: &Reader<'_>| reader.script.commands.iter().any(windows::is_only_there);
    if is_assigned || (result.is_ok() && !is_windows && is_there(&reader)) {
        reader.scope =
            Scope { cwd: reader.context.directory(&Word::literal(cwd), Some(context.workspace())), ..Scope::default() };
        result = windows::read(&mut reader, text);
    }
    // A text that is invalid for a POSIX shell, such as `cmd /c "rd /s C:\"`, may be valid for the shell that it names.
    if result.is_err() && windows::is_named_in(text) {
        result = windows::read(&mut reader, text);
    }
    for text in std::mem::take(&mut reader.definitions.traps) {
        result = result.and_then(|()| reader.text("trap", &text));
    }
    reader.read_uncalled_functions();
    result = result.and_then(|()| reader.read_evaluated()).and_then(|()| reader.suppose_guarded());
    let mut script = std::mem::take(&mut reader.script);
    leave(reader);
    script.unreadable = result.err().map(|why| why.0).or(script.unreadable);
    script
}

/// Refuses redirections whose file descriptor the parser cannot read. If the number is too large, the parser panics, but the shell also
/// refuses such a number. In `{fd}>x`, the parser takes the name for the program.
fn check_descriptors(tokens: &[Token]) -> Result<(), Unreadable> {
    let is_one = |pair: &[Token]| match pair {
        [Token::Word(word, left), Token::Operator(operator, right)] => {
            !operator.starts_with(['<', '>'])
                || left.end.index != right.start.index
                || if word.bytes().all(|byte| byte.is_ascii_digit()) {
                    word.parse::<ast::IoFd>().is_ok()
                } else {
                    let name = word.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or_default();
                    name.is_empty() || name.has_one_of(b",.")
                }
        }
        _ => true,
    };
    if tokens.windows(2).all(is_one) {
        Ok(())
    } else {
        Err(Unreadable("the descriptor of a redirection cannot be read".into()))
    }
}

/// Adds a line end to `text` if a here-document may begin on its last line. Without this line end, the parser would never return if the
/// delimiter is empty and the text ends before the body. Returns `None` if a backslash at the end of `text` would remove the line end.
pub(crate) fn ended(text: &str) -> Option<Cow<'_, str>> {
    match (text.contains("<<"), text.ends_with('\\')) {
        (false, _) => Some(text.into()),
        (true, false) => Some(format!("{text}\n\n").into()),
        (true, true) => None,
    }
}

/// Walks a text and collects its commands.
pub(super) struct Reader<'a> {
    pub(super) context: &'a PathContext,
    /// Set during a second reading ([`read_likely`]). Assignments and changes of directory then apply to all following commands, except
    /// changes of directory in subshells. The function returns the index at which a command begins after a wrapper.
    likely: Option<Likely>,
    pub(super) options: brush_parser::ParserOptions,
    pub(super) script: Script,
    pub(super) scope: Scope,
    pub(super) source: Source<'a>,
    pub(super) nesting: Nesting,
    pub(super) surroundings: Surroundings,
    pub(super) definitions: Definitions,
    pub(super) declarations: Declarations,
    pub(super) files: Files,
    pub(super) downloads: Downloads,
    /// The values that the shell will evaluate once more.
    pub(super) evaluated: EvaluatedValues,
    /// True if patterns also match names with a leading dot: `shopt -s dotglob`.
    has_dotglob: bool,
}

impl Reader<'_> {
    fn top(&mut self, text: &str) -> Result<(), Unreadable> {
        if !text.is_ascii() {
            self.source.offsets = Some(text.char_indices().map(|(at, _)| at).chain([text.len()]).collect());
        }
        let program = self.parse(text)?;
        self.script.is_single = match program.complete_commands.as_slice() {
            [list] => match list.0.as_slice() {
                [ast::CompoundListItem(list, ast::SeparatorOperator::Sequence)] => {
                    let pipeline = &list.first;
                    list.additional.is_empty()
                        && matches!(pipeline.seq.as_slice(), [ast::Command::Simple(_)])
                        && pipeline.timed.is_none()
                        && !pipeline.bang
                }
                _ => false,
            },
            _ => false,
        };
        let result = self.program(&program);
        leave(program);
        result
    }

    fn parse(&mut self, text: &str) -> Result<ast::Program, Unreadable> {
        // In a quoted substitution, the parser takes the bracket of a `case` pattern for the end of the substitution, and reports no error.
        let is_misread = text.contains("$(") && text.contains("case ");
        if is_misread && let Some(program) = self.parse_repaired(text) {
            return Ok(program);
        }
        let result = self.parse_as(text);
        let repaired = if result.is_err() && !is_misread { self.parse_repaired(text) } else { None };
        repaired.map_or(result, Ok)
    }

    /// Parses a repaired spelling of a text that the parser misreads. Positions in the result do not apply to the original text.
    fn parse_repaired(&mut self, text: &str) -> Option<ast::Program> {
        let repaired = if text.len() <= bounds::MAX_LENGTH { repaired(text) } else { None };
        let program = self.parse_as(&repaired?).ok()?;
        self.source.exact = false;
        Some(program)
    }

    fn parse_as(&mut self, text: &str) -> Result<ast::Program, Unreadable> {
        bounds::check(text).map_err(Unreadable)?;
        self.spend(WORK_OF_PARSE + text.len())?;
        if let Some(program) = fast_parser::program(text) {
            return Ok(program);
        }
        let ended = ended(text).ok_or_else(|| Unreadable("it ends in the middle of a line".into()))?;
        let tokens = brush_parser::uncached_tokenize_str(&ended, &self.options.tokenizer_options())
            .map_err(|error| Unreadable(error.to_string()))?;
        check_descriptors(&tokens)?;
        brush_parser::parse_tokens(&tokens, &self.options).map_err(|error| Unreadable(error.to_string()))
    }

    /// Adds units of work. Returns an error if the sum exceeds the maximum. Without this limit, nested loops could take any amount of time.
    pub(super) fn spend(&mut self, units: usize) -> Result<(), Unreadable> {
        let work = self.script.work.saturating_add(units);
        let result = bounds::check_work(work).map_err(Unreadable);
        // Work that is refused is not done, so it is not added in full.
        self.script.work = if result.is_ok() { work } else { self.script.work.max(bounds::MAX_WORK + 1) };
        result
    }

    fn program(&mut self, program: &ast::Program) -> Result<(), Unreadable> {
        program.complete_commands.iter().try_for_each(|list| self.list(list))
    }

    /// Reads a text that is itself a script, such as the text after `sh -c`.
    pub(super) fn nested(&mut self, text: &str) -> Result<(), Unreadable> {
        if text.has(UNKNOWN as u8) {
            self.script.runs_unknown = true;
            // The commands that could be read stay in the script.
        }
        let text = text.replace(UNKNOWN, "$_");
        let program = self.deeper(|reader| reader.parse(&text))?;
        let exact = std::mem::replace(&mut self.source.exact, false);
        let result = self.deeper(|reader| reader.program(&program));
        self.source.exact = exact;
        result
    }

    /// Reads a text that is itself a script of a Windows shell.
    pub(super) fn nested_windows(&mut self, text: &str) -> Result<(), Unreadable> {
        let exact = std::mem::replace(&mut self.source.exact, false);
        let text = text.replace(HOME, "~");
        let result = self.deeper(|reader| windows::read(reader, &text));
        self.source.exact = exact;
        result
    }

    pub(super) fn deeper<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, Unreadable>) -> Result<T, Unreadable> {
        self.enter()?;
        let result = act(self);
        self.nesting.commands -= 1;
        result
    }

    fn enter(&mut self) -> Result<(), Unreadable> {
        if self.nesting.commands >= MAX_NESTING {
            return Err(Unreadable(format!("it has more than {MAX_NESTING} levels of commands")));
        }
        self.nesting.commands += 1;
        Ok(())
    }

    /// Returns the words of the command that an unknown program after a wrapper probably runs. The command begins at the first word that
    /// names a program that writes files or runs other programs.
    pub(super) fn likely(&mut self, program: &str, args: &[Word]) -> Option<Vec<Word>> {
        self.surroundings.wrappers.last().filter(|wrapper| PASSING_ON.contains(&wrapper.as_str()))?;
        self.script.leaves_open |= !args.is_empty();
        let at = self.likely?(program, args)?;
        Some(args[at..].to_vec())
    }

    /// Records a command and its effects on the commands that follow.
    pub(super) fn record(&mut self, mut command: Command) -> Result<(), Unreadable> {
        let input = command.input.as_ref().map_or(0, |input| input.text.len() / INPUT_BYTES_PER_UNIT);
        self.spend(
            WORK_OF_COMMAND + input + command.args.iter().map(|word| WORK_OF_WORD + word.text.len()).sum::<usize>(),
        )?;
        // In `x[0 + 1]=1 a`, the parser splits the index into words, but the shell makes the assignment and runs `a`.
        if command.program.halves(b'[').is_some_and(|(name, index)| !name.is_empty() && !index.has(b']')) {
            return Err(Unreadable("an index has a blank in it".into()));
        }
        // In an arithmetic expression, a variable is a number and not a program.
        if command.program.is_empty() && self.nesting.arithmetic == Some(self.nesting.commands) {
            return Ok(());
        }
        command.cwd = self.scope.cwd.clone();
        command.perhaps = if command.cwd.is_none() { self.scope.perhaps.clone() } else { None };
        command.wrappers = self.surroundings.wrappers.clone();
        command.location = self.surroundings.location;
        // Output to stderr is not captured.
        command.kept = self.surroundings.captured && !command.kept;
        self.note_downloads(&command)?;
        self.note_program_copy(&command)?;
        self.note_copied_texts(&command)?;
        self.note_secrets(&command)?;
        self.has_dotglob |=
            command.args.iter().any(|word| matches!(word.text.as_str(), "dotglob" | "globdots" | "glob_dots"));
        let dotted = if self.has_dotglob { command.dotted() } else { None };
        self.push(command)?;
        dotted.map_or(Ok(()), |dotted| self.push(dotted))
    }

    /// Adds a command to the script.
    pub(super) fn push(&mut self, mut command: Command) -> Result<(), Unreadable> {
        if self.script.commands.len() >= MAX_COMMANDS {
            return Err(Unreadable(format!("it runs more than {MAX_COMMANDS} commands")));
        }
        let targets = command.redirects.iter_mut().map(|redirect| &mut redirect.target);
        let values = command.environment.iter_mut().map(|(_, value)| value);
        command.args.iter_mut().chain(targets).chain(values).chain([&mut command.program_word]).for_each(Word::unmark);
        self.script.commands.push(command);
        Ok(())
    }

    /// Converts a location from the parser to a byte range of the text. The parser's locations count characters.
    pub(super) fn span(&self, location: Option<&brush_parser::SourceSpan>) -> Option<Range<usize>> {
        let location = location.filter(|_| self.source.exact)?;
        let byte = |at: usize| match &self.source.offsets {
            Some(offsets) => offsets.get(at).copied(),
            None => Some(at),
        };
        let span = byte(location.start.index)?..byte(location.end.index)?;
        self.source.text.get(span.clone()).map(|_| span)
    }
}
