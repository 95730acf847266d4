//! Walks the parser's syntax tree of a text in the order of execution and records every command.

use super::ascii::Ascii as _;
use super::container_mounts::Mount;
use super::copied_files::listed;
use super::guarded::directory_of_variable;
use super::path_class::{MADE_UP, Places};
use super::reevaluation::Evaluated;
use super::repair::repaired;
use super::secret_access::hands_on;
use super::simple_command::printed_by;
use super::word::{HOME, UNKNOWN, Word};
use super::wrappers::{self, Location};
use super::writes::writes_or_runs;
use super::{Class, Command, bounds, leave, lower};
use super::{arithmetic, fast_parser, windows};
use brush_parser::{Token, ast};
use hookhost_guest::prelude::ShellDialect;
use litemap::LiteMap;
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

/// Maximum nesting of commands: `sh -c`, `$(…)`, calls of functions.
const MAX_NESTING: usize = 8;
/// Maximum nesting of compound commands, counted across nested texts and called functions. Each level uses stack.
const MAX_LEVELS: usize = 32;
/// Maximum number of commands. Commands in loops and functions count each time.
const MAX_COMMANDS: usize = 2000;
/// Maximum number of values that a `for` loop is read with. With more, the value is unknown.
const MAX_ROUNDS: usize = 16;
/// Units of work for a command, for a word in addition to its bytes, and for each variable that a subshell copies.
const WORK_OF_COMMAND: usize = 32;
const WORK_OF_WORD: usize = 8;
const WORK_OF_VARIABLE: usize = 40;
/// Bytes of a command's input per unit of work. Input is only copied, so it costs less than parsed text.
const INPUT_BYTES_PER_UNIT: usize = 4;
/// Units of work for one call of the parser, in addition to the bytes of its text.
pub(super) const WORK_OF_PARSE: usize = 200;

/// Programs that run the program which their words name. After one of them, an unknown program may do the same.
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
    /// True if the text runs a command that only the shell can know: `eval "$X"`.
    pub runs_unknown: bool,
    /// True if the text runs a file that it fetched.
    pub runs_fetched: bool,
    /// True if a function is a fork bomb: it starts itself twice at once, or in the background.
    pub fork_bomb: bool,
    /// True if the text is exactly one simple command.
    pub is_single: bool,
    /// The names of the functions that the text defines.
    pub functions: Vec<String>,
    /// True if [`read_likely`] may find more.
    pub leaves_open: bool,
    /// Units of work spent on the text. The limit is `bounds::MAX_WORK`.
    pub work: usize,
}

/// Returns the index at which a command begins among the words of an unknown program. A function pointer, so that the linker drops the code
/// from a component that never calls [`read_likely`].
type Likely = fn(&str, &[Word]) -> Option<usize>;

/// Reads `text` as a script that starts in the directory `cwd`.
pub fn read(text: &str, dialect: ShellDialect, cwd: &str, places: &Places) -> Script {
    read_as(None, text, dialect, cwd, places)
}

/// Reads `text` again with likely assumptions, if [`read`] left something open in `script`. It assumes that a variable or directory that
/// may be set is set, and that an unknown program after a wrapper runs the command in its words. Returns `None` if `script` leaves nothing
/// open.
#[must_use]
pub fn read_likely(script: &Script, text: &str, dialect: ShellDialect, cwd: &str, places: &Places) -> Option<Script> {
    let begins = |program: &str, words: &[Word]| {
        let is_known = |name: &str| writes_or_runs(&lower(name));
        if is_known(program) { None } else { words.iter().position(|word| is_known(super::program_name(&word.text))) }
    };
    script.leaves_open.then(|| read_as(Some(begins), text, dialect, cwd, places))
}

fn read_as(likely: Option<Likely>, text: &str, dialect: ShellDialect, cwd: &str, places: &Places) -> Script {
    let mut reader = Reader {
        places,
        likely,
        options: brush_parser::ParserOptions::default(),
        script: Script::default(),
        scope: Scope { cwd: places.directory(&Word::literal(cwd), Some(places.workspace())), ..Scope::default() },
        functions: Vec::new(),
        text,
        offsets: None,
        place: 0..text.len(),
        exact: true,
        depth: 0,
        levels: 0,
        wrappers: Vec::new(),
        location: Location::Here,
        mounts: Vec::new(),
        traps: Vec::new(),
        aliases: LiteMap::new(),
        kept: false,
        stdin: None,
        substituted: Vec::new(),
        files: LiteMap::new(),
        fetched: Vec::new(),
        addresses: String::new(),
        unpacked: Vec::new(),
        copied: LiteMap::new(),
        made_of: LiteMap::new(),
        cases: Vec::new(),
        expression: None,
        references: LiteMap::new(),
        arrays: Vec::new(),
        evaluated: Evaluated::default(),
        has_dotglob: false,
    };
    let is_windows = matches!(dialect, ShellDialect::Powershell | ShellDialect::Cmd);
    let mut result = if is_windows { windows::read(&mut reader, text) } else { reader.top(text) };
    // `$x = Get-Date; $x.Year`: a POSIX shell would take the variable for an unknown program. The other commands count in both readings.
    let is_assigned = !is_windows && windows::is_assigned(text);
    if is_assigned {
        reader.script.commands.retain(|command| !windows::is_expression(text, command));
    }
    // `rd /s C:\x`: a command that exists only on Windows is read as Windows reads it, whatever shell the event names.
    let is_there = |reader: &Reader<'_>| reader.script.commands.iter().any(windows::is_only_there);
    if is_assigned || (result.is_ok() && !is_windows && is_there(&reader)) {
        reader.scope =
            Scope { cwd: reader.places.directory(&Word::literal(cwd), Some(places.workspace())), ..Scope::default() };
        result = windows::read(&mut reader, text);
    }
    // `cmd /c "rd /s C:\"`: the text may be invalid for a POSIX shell and valid for the shell that it names.
    if result.is_err() && windows::is_named_in(text) {
        result = windows::read(&mut reader, text);
    }
    for text in std::mem::take(&mut reader.traps) {
        result = result.and_then(|()| reader.text("trap", &text));
    }
    reader.uncalled();
    result = result.and_then(|()| reader.read_evaluated()).and_then(|()| reader.suppose_guarded());
    let mut script = std::mem::take(&mut reader.script);
    leave(reader);
    script.unreadable = result.err().map(|why| why.0).or(script.unreadable);
    script
}

/// Refuses redirections whose file descriptor the parser cannot read. At a number that is too large it panics, and the shell refuses it,
/// too. In `{fd}>x` it takes the name for the program.
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

/// Terminates the last line of `text` if a here-document may begin on it. The parser never returns if the delimiter is empty and the text
/// ends before the body. Returns `None` if a backslash removes the end of the line.
pub(crate) fn ended(text: &str) -> Option<Cow<'_, str>> {
    match (text.contains("<<"), text.ends_with('\\')) {
        (false, _) => Some(text.into()),
        (true, false) => Some(format!("{text}\n\n").into()),
        (true, true) => None,
    }
}

/// Variables by name; `None` for an unknown value.
type Variables = LiteMap<String, Option<Word>>;

/// The state that each subshell has for itself.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) cwd: Option<String>,
    /// The directory of a `cd` that may not have run: `x && cd y; z`.
    perhaps: Option<String>,
    variables: Variables,
    /// Number of assignments so far. Repeated ones count again.
    assignments: usize,
    /// `$0`, if the text is called with one.
    pub(super) zeroth: Option<Word>,
    positional: Option<Rc<Vec<Word>>>,
}

impl Scope {
    /// Returns the units of work for a copy.
    fn work(&self) -> usize {
        self.variables.len() * WORK_OF_VARIABLE
    }
}

struct Function {
    body: ast::FunctionBody,
    called: bool,
}

pub(super) struct Reader<'a> {
    pub(super) places: &'a Places,
    /// Set during a second reading ([`read_likely`]). Assignments and changes of directory then hold for all that follows, except changes
    /// of directory in subshells. After a wrapper, a command begins at the index that this function returns.
    likely: Option<Likely>,
    pub(super) options: brush_parser::ParserOptions,
    pub(super) script: Script,
    pub(super) scope: Scope,
    /// The functions that the text defines. A list is enough, because few texts define any.
    functions: Vec<(String, Rc<Function>)>,
    pub(super) text: &'a str,
    /// The byte offset of each character; `None` for ASCII text.
    offsets: Option<Vec<usize>>,
    /// The bytes of the agent's text that are being read.
    pub(super) place: Range<usize>,
    pub(super) exact: bool,
    pub(super) depth: usize,
    /// Number of open compound commands, including those of calling functions.
    levels: usize,
    pub(super) wrappers: Vec<String>,
    pub(super) location: Location,
    /// The mounts of this machine in the container that is being read.
    pub(super) mounts: Vec<Mount>,
    /// The texts of `trap`, which run at the end.
    pub(super) traps: Vec<String>,
    /// The texts of aliases by name.
    pub(super) aliases: Variables,
    /// True if the output goes into a variable, or into a header that carries credentials.
    pub(super) kept: bool,
    /// The input of commands without an input of their own.
    pub(super) stdin: Option<Word>,
    /// The output of each `<(…)`, if known.
    substituted: Vec<Option<Word>>,
    /// The contents of files that the text writes, by path.
    files: Variables,
    /// The paths of files that the text fetches.
    pub(super) fetched: Vec<String>,
    /// The addresses of the fetched files, in lower case.
    pub(super) addresses: String,
    /// The directories into which fetched files are unpacked. The flag is true if the text names the directory.
    pub(super) unpacked: Vec<(String, bool)>,
    /// The original names of programs that the text copies or renames, by new path.
    pub(super) copied: Variables,
    /// The secret files of which the text makes other files, by the path of the new file.
    pub(super) made_of: Variables,
    /// The letter case that `declare` sets for a variable: `l` or `u`.
    pub(super) cases: Vec<(String, char)>,
    /// The nesting depth at which commands are parts of an arithmetic expression.
    expression: Option<usize>,
    /// Variables with a second name (`declare -n`).
    references: Variables,
    /// The elements of arrays after their last assignment.
    arrays: Vec<(String, Vec<Word>)>,
    /// The values that the shell will evaluate.
    pub(super) evaluated: Evaluated,
    /// True if patterns also match names with a leading dot: `shopt -s dotglob`.
    has_dotglob: bool,
}

impl Reader<'_> {
    fn top(&mut self, text: &str) -> Result<(), Unreadable> {
        if !text.is_ascii() {
            self.offsets = Some(text.char_indices().map(|(at, _)| at).chain([text.len()]).collect());
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
        // In quotes, the parser silently takes the bracket of a `case` pattern for the end of the substitution.
        let is_misread = text.contains("$(") && text.contains("case ");
        if is_misread && let Some(program) = self.parse_repaired(text) {
            return Ok(program);
        }
        let result = self.parse_as(text);
        let repaired = if result.is_err() && !is_misread { self.parse_repaired(text) } else { None };
        repaired.map_or(result, Ok)
    }

    /// Parses a repaired spelling of a text that the parser misreads. Its positions do not apply to the original text.
    fn parse_repaired(&mut self, text: &str) -> Option<ast::Program> {
        let repaired = if text.len() <= bounds::MAX_LENGTH { repaired(text) } else { None };
        let program = self.parse_as(&repaired?).ok()?;
        self.exact = false;
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

    /// Adds units of work. Returns an error above the maximum, which nested loops would reach otherwise without limit.
    pub(super) fn spend(&mut self, units: usize) -> Result<(), Unreadable> {
        let work = self.script.work.saturating_add(units);
        let result = bounds::check_work(work).map_err(Unreadable);
        // The refused work is not done, so it does not count in full.
        self.script.work = if result.is_ok() { work } else { self.script.work.max(bounds::MAX_WORK + 1) };
        result
    }

    fn program(&mut self, program: &ast::Program) -> Result<(), Unreadable> {
        program.complete_commands.iter().try_for_each(|list| self.list(list))
    }

    /// Reads a text that is itself a script, such as that of `sh -c`.
    pub(super) fn nested(&mut self, text: &str) -> Result<(), Unreadable> {
        if text.has(UNKNOWN as u8) {
            self.script.runs_unknown = true;
            // The known part still counts.
        }
        let text = text.replace(UNKNOWN, "$_");
        let program = self.deeper(|reader| reader.parse(&text))?;
        let exact = std::mem::replace(&mut self.exact, false);
        let result = self.deeper(|reader| reader.program(&program));
        self.exact = exact;
        result
    }

    /// Reads a text that is itself a script of a Windows shell.
    pub(super) fn nested_windows(&mut self, text: &str) -> Result<(), Unreadable> {
        let exact = std::mem::replace(&mut self.exact, false);
        let text = text.replace(HOME, "~");
        let result = self.deeper(|reader| windows::read(reader, &text));
        self.exact = exact;
        result
    }

    pub(super) fn deeper<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, Unreadable>) -> Result<T, Unreadable> {
        self.enter()?;
        let result = act(self);
        self.depth -= 1;
        result
    }

    fn enter(&mut self) -> Result<(), Unreadable> {
        if self.depth >= MAX_NESTING {
            return Err(Unreadable(format!("it has more than {MAX_NESTING} levels of commands")));
        }
        self.depth += 1;
        Ok(())
    }

    /// Runs `act` with a copy of the scope, which is dropped afterwards.
    pub(super) fn subshell<T>(&mut self, act: &mut dyn FnMut(&mut Self) -> T) -> T {
        let scope = self.scope.clone();
        // The next recorded command fails if this exceeds the maximum.
        self.script.work += scope.work();
        let result = act(self);
        self.leave(scope);
        result
    }

    /// Restores an earlier scope.
    #[inline(never)]
    pub(super) fn leave(&mut self, before: Scope) {
        let inner = std::mem::replace(&mut self.scope, before);
        if self.likely.is_some() {
            self.scope.variables = inner.variables;
        } else if self.scope.assignments != inner.assignments {
            self.script.leaves_open = true;
        }
    }

    /// Reads commands that may or may not run. Afterwards, whatever they changed is unknown. Returns true if they changed something that
    /// was known before.
    fn perhaps(&mut self, act: &mut dyn FnMut(&mut Self) -> Result<(), Unreadable>) -> Result<bool, Unreadable> {
        let before = self.scope.clone();
        self.spend(WORK_OF_COMMAND + before.work())?;
        act(self)?;
        Ok(self.unsettle(&before, false))
    }

    /// Marks everything that differs from `before` as unknown. With `keeps_new`, new variables keep their value but are marked as doubtful.
    /// Returns true if a value was known before.
    fn unsettle(&mut self, before: &Scope, keeps_new: bool) -> bool {
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

    /// Reads the body of a loop. Reads it a second time if the first round changed something that the next round starts with.
    fn repeatedly(&mut self, act: &mut dyn FnMut(&mut Self) -> Result<(), Unreadable>) -> Result<(), Unreadable> {
        if self.perhaps(act)? { self.perhaps(act).map(drop) } else { Ok(()) }
    }

    pub(super) fn list(&mut self, list: &ast::CompoundList) -> Result<(), Unreadable> {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            if matches!(separator, ast::SeparatorOperator::Async) {
                self.subshell(&mut |reader| reader.and_or(and_or))?;
            } else {
                self.and_or(and_or)?;
            }
        }
        Ok(())
    }

    fn and_or(&mut self, list: &ast::AndOrList) -> Result<(), Unreadable> {
        self.pipeline(&list.first)?;
        let (mut last, mut rest) = (&list.first, list.additional.as_slice());
        // If a command cannot fail, the next one always runs.
        while let [ast::AndOr::And(next), more @ ..] = rest
            && self.succeeds(last)
        {
            self.pipeline(next)?;
            (last, rest) = (next, more);
        }
        if rest.is_empty() {
            return Ok(());
        }
        let before = self.scope.clone();
        self.spend(before.work())?;
        for next in rest {
            match next {
                // The commands after `&&` only run if this one ran, so its assignments hold for them.
                ast::AndOr::And(pipeline) => self.pipeline(pipeline)?,
                ast::AndOr::Or(pipeline) => drop(self.perhaps(&mut |reader| reader.pipeline(pipeline))?),
            }
        }
        // `false && X=y`: it is unknown how many of the commands ran.
        self.unsettle(&before, true);
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Result<(), Unreadable> {
        let [first, rest @ ..] = pipeline.seq.as_slice() else { return Ok(()) };
        if rest.is_empty() {
            return self.command(first, None).map(drop);
        }
        let begin = self.script.commands.len();
        let mut stages: Vec<usize> = Vec::new();
        let mut output = None;
        for stage in &pipeline.seq {
            stages.push(self.script.commands.len());
            // The next stage still reads the output of an unknown stage.
            output = self.subshell(&mut |reader| reader.command(stage, output.take()))?;
            output = output.or_else(|| self.output_since(stages[stages.len() - 1])).or_else(|| Some(Word::unknown()));
            let upstream = self.names(begin..stages[stages.len() - 1]);
            self.spend(upstream.len() * (self.script.commands.len() - stages[stages.len() - 1]) * WORK_OF_WORD)?;
            for command in &mut self.script.commands[stages[stages.len() - 1]..] {
                command.upstream.extend(upstream.iter().cloned());
            }
            self.keeps(begin, stages[stages.len() - 1])?;
        }
        self.piped_secrets(begin)?;
        stages.push(self.script.commands.len());
        for at in 0..stages.len() - 1 {
            let downstream = self.names(stages[at + 1]..stages[stages.len() - 1]);
            self.spend(downstream.len() * (stages[at + 1] - stages[at]) * WORK_OF_WORD)?;
            for command in &mut self.script.commands[stages[at]..stages[at + 1]] {
                command.downstream.extend(downstream.iter().cloned());
            }
        }
        Ok(())
    }

    fn names(&self, range: Range<usize>) -> Vec<String> {
        self.script.commands[range].iter().map(|command| command.program.clone()).collect()
    }

    /// Returns the names of the programs recorded since `begin`.
    pub(super) fn programs_since(&self, begin: usize) -> Vec<String> {
        self.names(begin..self.script.commands.len())
    }

    /// Reads a command with `input` and returns its output, if known.
    fn command(&mut self, command: &ast::Command, input: Option<Word>) -> Result<Option<Word>, Unreadable> {
        self.spend(WORK_OF_COMMAND)?;
        match command {
            ast::Command::Simple(simple) => return self.simple(simple, input),
            ast::Command::Compound(compound, redirects) => self.redirected(compound, redirects.as_ref(), input)?,
            ast::Command::Function(function) => self.define(function)?,
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref())?;
                self.test(&test.expr)?;
            }
        }
        Ok(None)
    }

    /// Reads a compound command with its redirections. It may also be the body of a function.
    fn redirected(
        &mut self,
        compound: &ast::CompoundCommand,
        redirects: Option<&ast::RedirectList>,
        input: Option<Word>,
    ) -> Result<(), Unreadable> {
        let input = self.redirects(redirects)?.1.or(input);
        let begin = self.script.commands.len();
        self.compound(compound, input)?;
        if redirects.is_some()
            && let Some(Command { redirects, upstream, .. }) = self.script.commands[..begin].last().cloned()
        {
            // `{ …; } < <(…)`: any of the commands may read the input.
            self.spend(upstream.len() * (self.script.commands.len() - begin) * WORK_OF_WORD)?;
            for command in &mut self.script.commands[begin..] {
                command.upstream.extend(upstream.iter().cloned());
            }
            self.printed_since(begin, redirects)?;
        }
        Ok(())
    }

    /// Reads a compound command; the commands in it read `input`.
    fn compound(&mut self, compound: &ast::CompoundCommand, input: Option<Word>) -> Result<(), Unreadable> {
        if self.levels >= MAX_LEVELS {
            return Err(Unreadable(format!("it has more than {MAX_LEVELS} levels of compound commands")));
        }
        self.levels += 1;
        let before = input.map(|input| self.stdin.replace(input));
        let result = self.parts(compound);
        if let Some(before) = before {
            self.stdin = before;
        }
        self.levels -= 1;
        result
    }

    fn parts(&mut self, compound: &ast::CompoundCommand) -> Result<(), Unreadable> {
        match compound {
            ast::CompoundCommand::Arithmetic(arithmetic) => self.arithmetic(&arithmetic.expr.value),
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                for expression in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.within_word(&expression.value)?;
                    self.evaluates(&expression.value)?;
                }
                self.repeatedly(&mut |reader| reader.list(&clause.body.list))
            }
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => self.subshell(&mut |reader| reader.list(&subshell.list)),
            ast::CompoundCommand::ForClause(clause) => self.each(clause),
            ast::CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value, None)?;
                for case in &clause.cases {
                    case.patterns.iter().try_for_each(|pattern| self.word(&pattern.value, None).map(drop))?;
                    if let Some(list) = &case.cmd {
                        self.perhaps(&mut |reader| reader.list(list))?;
                    }
                }
                Ok(())
            }
            ast::CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition)?;
                self.perhaps(&mut |reader| reader.list(&clause.then))?;
                for branch in clause.elses.iter().flatten() {
                    self.perhaps(&mut |reader| {
                        branch.condition.iter().try_for_each(|condition| reader.list(condition))?;
                        reader.list(&branch.body)
                    })?;
                }
                Ok(())
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.repeatedly(&mut |reader| {
                    reader.list(&clause.0)?;
                    reader.list(&clause.1.list)
                })
            }
            ast::CompoundCommand::Coprocess(coprocess) => {
                self.subshell(&mut |reader| reader.command(&coprocess.body, None)).map(drop)
            }
        }
    }

    /// Reads the text between `((` and `))`. The parser also takes `( (reboot) )` for arithmetic, which is a command, so both readings
    /// count.
    pub(super) fn arithmetic(&mut self, text: &str) -> Result<(), Unreadable> {
        self.evaluates(text)?;
        let is_arithmetic = arithmetic::is_expression(text);
        let outer = self.expression.replace(self.depth + 1);
        let result = self.subshell(&mut |reader| reader.nested(text));
        self.expression = outer;
        // Read as a command, `1 << $(x)` is a here-document.
        if result.is_err() || text.contains("<<") {
            self.within_word(text)?;
        }
        if is_arithmetic { Ok(()) } else { result }
    }

    fn each(&mut self, clause: &ast::ForClauseCommand) -> Result<(), Unreadable> {
        let mut values = Vec::new();
        for value in clause.values.iter().flatten() {
            self.words(&value.value, None, &mut values)?;
            self.remember_written(&clause.variable_name, &value.value);
        }
        if clause.values.is_none() {
            self.remember_written(&clause.variable_name, "$@");
            values = self.all_positional().map_or_else(|| vec![Word::unknown()], |words| words.to_vec());
        }
        if values.len() > MAX_ROUNDS {
            values = vec![Word::unknown()];
        }
        for value in values {
            self.commands_in(&clause.variable_name, &value)?;
            self.repeatedly(&mut |reader| {
                reader.set(&clause.variable_name, Some(value.clone()));
                reader.list(&clause.body.list)
            })?;
        }
        Ok(())
    }

    fn define(&mut self, function: &ast::FunctionDefinition) -> Result<(), Unreadable> {
        let name = function.fname.value.clone();
        self.script.fork_bomb |= bombs(&function.body.0, &name);
        self.script.functions.push(name.clone());
        self.spend(self.functions.len())?;
        self.keep_function(name, Function { body: function.body.clone(), called: false });
        Ok(())
    }

    /// Stores a function and replaces one of the same name.
    fn keep_function(&mut self, name: String, function: Function) {
        self.functions.retain(|(other, _)| *other != name);
        self.functions.push((name, Rc::new(function)));
    }

    /// Returns true if the text has defined a function of that name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.functions.iter().any(|(other, _)| other == name)
    }

    /// Calls the function `name`. Returns false if the text has not defined it.
    pub(super) fn call(&mut self, name: &str, args: &[Word], input: Option<Word>) -> Result<bool, Unreadable> {
        let known = self.functions.iter().find(|(other, _)| other == name);
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
    fn uncalled(&mut self) {
        for (_, function) in std::mem::take(&mut self.functions) {
            if !function.called && !self.script.fork_bomb {
                let result = self.redirected(&function.body.0, function.body.1.as_ref(), None);
                self.script.unreadable = self.script.unreadable.take().or(result.err().map(|why| why.0));
            }
        }
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr) -> Result<(), Unreadable> {
        match test {
            ast::ExtendedTestExpr::And(one, other) | ast::ExtendedTestExpr::Or(one, other) => {
                self.test(one)?;
                self.test(other)
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(_, word) => {
                self.evaluates_index(&word.value)?;
                self.tested(word)
            }
            ast::ExtendedTestExpr::BinaryTest(operator, one, other) => {
                if is_of_numbers(operator) {
                    self.evaluates(&one.value)?;
                    self.evaluates(&other.value)?;
                }
                self.tested(one)?;
                self.tested(other)
            }
        }
    }

    fn tested(&mut self, word: &ast::Word) -> Result<(), Unreadable> {
        let word = self.word(&word.value, None)?;
        self.indexed(&word);
        Ok(())
    }

    /// Reads the commands in the index of an array element. The shell runs them even if the element is quoted: `[[ -v 'a[$(x)]' ]]`.
    pub(super) fn indexed(&mut self, word: &Word) {
        let begin = word.text.find('[').filter(|_| word.text.has_one_of(b"$`"));
        if let Some(begin) = begin {
            self.within_quoted(&word.text[begin..]);
        }
    }

    /// Returns the words of the command that an unknown program after a wrapper probably runs. They begin at the first word that names a
    /// program which writes files or runs others.
    pub(super) fn likely(&mut self, program: &str, args: &[Word]) -> Option<Vec<Word>> {
        self.wrappers.last().filter(|wrapper| PASSING_ON.contains(&wrapper.as_str()))?;
        self.script.leaves_open |= !args.is_empty();
        let at = self.likely?(program, args)?;
        Some(args[at..].to_vec())
    }

    /// Records a command and its effects on the commands that follow.
    pub(super) fn note(&mut self, mut command: Command) -> Result<(), Unreadable> {
        let input = command.input.as_ref().map_or(0, |input| input.text.len() / INPUT_BYTES_PER_UNIT);
        self.spend(
            WORK_OF_COMMAND + input + command.args.iter().map(|word| WORK_OF_WORD + word.text.len()).sum::<usize>(),
        )?;
        // `x[0 + 1]=1 a`: the parser splits the index into words, but the shell assigns and runs `a`.
        if command.program.halves(b'[').is_some_and(|(name, index)| !name.is_empty() && !index.has(b']')) {
            return Err(Unreadable("an index has a blank in it".into()));
        }
        // A variable in an expression is a number, not a program.
        if command.program.is_empty() && self.expression == Some(self.depth) {
            return Ok(());
        }
        command.cwd = self.scope.cwd.clone();
        command.perhaps = if command.cwd.is_none() { self.scope.perhaps.clone() } else { None };
        command.wrappers = self.wrappers.clone();
        command.location = self.location;
        // Output to stderr is not captured.
        command.kept = self.kept && !command.kept;
        self.fetches(&command)?;
        self.copies(&command)?;
        self.copies_texts(&command)?;
        self.secrets(&command)?;
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

    /// Converts a location of the parser, which counts characters, to bytes of the text.
    pub(super) fn span(&self, location: Option<&brush_parser::SourceSpan>) -> Option<Range<usize>> {
        let location = location.filter(|_| self.exact)?;
        let byte = |at: usize| match &self.offsets {
            Some(offsets) => offsets.get(at).copied(),
            None => Some(at),
        };
        let span = byte(location.start.index)?..byte(location.end.index)?;
        self.text.get(span.clone()).map(|_| span)
    }

    pub(super) fn set(&mut self, name: &str, value: Option<Word>) {
        let value = value.filter(|_| !self.references.contains_key(name));
        if value.is_none() && self.scope.variables.get(name).is_some_and(Option::is_some) {
            self.script.leaves_open = true;
            if self.likely.is_some() {
                return;
            }
        }
        self.scope.assignments += 1;
        self.scope.variables.insert(name.to_owned(), value);
    }

    /// Stores the elements of an array. The array's value is all of them as one word.
    pub(super) fn set_elements(&mut self, name: &str, words: &[Word]) -> Result<(), Unreadable> {
        words.iter().for_each(|word| self.remember(name, &word.text));
        self.spend(self.arrays.len() + words.iter().map(|word| WORK_OF_WORD + word.text.len()).sum::<usize>())?;
        self.arrays.retain(|(other, _)| other != name);
        self.arrays.push((name.to_owned(), words.to_vec()));
        Ok(())
    }

    /// Returns the elements of an array, unless its value has changed since they were stored.
    pub(super) fn elements(&self, name: &str) -> Option<Vec<Word>> {
        let (_, words) = self.arrays.iter().find(|(other, _)| other == name)?;
        (self.variable(name)? == Word::of_all(words)).then(|| words.clone())
    }

    /// Declares `name` as a second name of `target`. Neither has a known value from then on, because each assignment changes both.
    pub(super) fn refer(&mut self, name: &str, target: &str) {
        self.remember(name, target);
        for name in [name, target] {
            self.references.insert(name.to_owned(), None);
            self.set(name, None);
        }
    }

    /// Returns the value of a variable that the text or the shell sets, if known.
    pub(super) fn variable(&self, name: &str) -> Option<Word> {
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
                Some(Word::literal(self.places.workspace()))
            }
            "TMPDIR" => Some(Word::literal(MADE_UP[0])),
            "IFS" => Some(Word::literal(" \t\n")),
            name => directory_of_variable(name).map(in_home),
        }
    }

    /// Returns true if each variable in `text`, or in the body of the function that it names, is not set yet and is set exactly once in the
    /// whole script.
    pub(super) fn is_set_later(&mut self, text: &str) -> Result<bool, Unreadable> {
        /// Maximum number of variables to search for.
        const MAX_NAMES: usize = 8;
        self.spend(self.text.len() * MAX_NAMES)?;
        let whole = self.text;
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

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.scope.variables.contains_key(name)
    }

    pub(super) fn set_positional(&mut self, words: &[Word]) {
        self.remember_arguments(words);
        self.scope.positional = Some(Rc::new(words.to_vec()));
    }

    /// Drops the first `count` arguments; with `None`, the arguments become unknown.
    pub(super) fn shift(&mut self, count: Option<usize>) {
        let words = self.scope.positional.take().zip(count);
        self.scope.positional = words.map(|(words, count)| Rc::new(words.iter().skip(count).cloned().collect()));
    }

    /// Records the text that a command writes to a file.
    pub(super) fn write(&mut self, file: &Word, text: &str, append: bool) -> Result<(), Unreadable> {
        let Some(path) = self.places.path(file, self.scope.cwd.as_deref()).filter(|_| !file.glob) else {
            return Ok(());
        };
        self.spend(path.len() + text.len())?;
        let before = self.files.get(&path).cloned().flatten().filter(|_| append);
        let before = before.map(|before| before.text).unwrap_or_default();
        self.spend(before.len())?;
        let is_hook = ["/.git/hooks/", "/.husky/"].iter().any(|directory| path.contains(directory));
        self.files.insert(path, Some(Word::literal(format!("{before}{text}"))));
        // Git runs this file.
        let hook = if is_hook { self.written_in(file) } else { None };
        hook.map_or(Ok(()), |text| self.text("sh", &text))
    }

    /// Returns the text that the script wrote to a file.
    pub(super) fn text_in(&self, file: &Word) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let text = self.files.get(&self.places.path(file, self.scope.cwd.as_deref())?)?.as_ref()?;
        Some(text.text.clone())
    }

    /// Returns the text of a file that the script wrote, unless its first line names another interpreter than a shell.
    pub(super) fn written_in(&self, file: &Word) -> Option<String> {
        let text = self.text_in(file)?;
        let names_another = text.starts_with("#!") && !text.lines().next().is_some_and(|line| line.contains("sh"));
        (!names_another).then_some(text)
    }

    pub(super) fn positional(&self, number: u32) -> Option<Word> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.scope.positional.as_ref()?.get(at).cloned()
    }

    /// Returns all arguments, if known.
    pub(super) fn all_positional(&self) -> Option<Rc<Vec<Word>>> {
        self.scope.positional.clone()
    }

    /// Reads the commands of `$(…)`. Returns their output, if known.
    pub(super) fn output_of(&mut self, text: &str) -> Result<Option<Word>, Unreadable> {
        let begin = self.script.commands.len();
        self.subshell(&mut |reader| reader.nested(text))?;
        Ok(self.output_since(begin).or_else(|| self.secret_since(begin)))
    }

    /// Reads the commands of `<(…)`. Returns the name of the file that contains their output.
    pub(super) fn substitute(&mut self, list: &ast::CompoundList) -> Result<Word, Unreadable> {
        let begin = self.script.commands.len();
        let output = self.output_of_list(list)?;
        let secret = self.secret_since(begin).is_some();
        self.substituted.push(output);
        Ok(Word { secret, ..Word::literal(format!("/dev/fd/{}", 62 + self.substituted.len())) })
    }

    pub(super) fn output_of_list(&mut self, list: &ast::CompoundList) -> Result<Option<Word>, Unreadable> {
        let begin = self.script.commands.len();
        self.subshell(&mut |reader| reader.list(list))?;
        Ok(self.output_since(begin))
    }

    /// Returns the content of the file of a `<(…)`, if known.
    pub(super) fn substitution_at(&self, file: &str) -> Option<Word> {
        let number: usize = file.rsplit('/').next()?.parse().ok()?;
        self.substituted.get(number.checked_sub(63)?)?.clone()
    }

    /// Returns the output of the command recorded since `begin`, if it is a single one with known output.
    fn output_since(&self, begin: usize) -> Option<Word> {
        let [command] = &self.script.commands[begin..] else { return None };
        let words: Vec<&str> = command.args.iter().map(|word| word.text.as_str()).collect();
        match (command.program.as_str(), words.as_slice()) {
            ("pwd", _) => command.cwd.clone().map(Word::literal),
            ("git", ["rev-parse", "--show-toplevel"]) => Some(Word::literal(self.places.workspace())),
            ("cat", _) => self.copied_out(&command.args, command).filter(Word::is_known),
            ("ls", _) => listed(&command.args),
            ("dirname", [path]) if command.args[0].is_known() => {
                let parent = path.trim_end_matches('/').rsplit_once('/').map_or(".", |(parent, _)| parent);
                Some(command.args[0].with_text(if parent.is_empty() { "/" } else { parent }))
            }
            ("realpath", [path]) | ("readlink", ["-f" | "-e" | "-m", path]) => {
                let word = command.args.last().filter(|word| word.is_known() && !path.starts_with('-'))?;
                let absolute = || self.places.path(word, command.cwd.as_deref()).map(Word::literal);
                if word.home { Some(word.clone()) } else { absolute() }
            }
            ("mktemp", _) => Some(Word::literal(MADE_UP[1])),
            ("echo" | "printf", _) if command.redirects.is_empty() => printed_by(&command.program, &command.args),
            ("which", [name]) | ("command", ["-v", name]) | ("type", ["-p" | "-P", name]) => {
                let is_itself = name.has(b'/') || self.defines(name) || self.aliases.contains_key(*name);
                Some(Word::literal(if is_itself { (*name).to_owned() } else { format!("/usr/bin/{name}") }))
            }
            // Setup text of an installed program contains nothing for a rule.
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

    /// Returns true if a pipeline only sets variables or prints, which cannot fail while the output is open.
    fn succeeds(&self, pipeline: &ast::Pipeline) -> bool {
        let [ast::Command::Simple(simple)] = pipeline.seq.as_slice() else { return false };
        for item in
            simple.prefix.iter().flat_map(|prefix| &prefix.0).chain(simple.suffix.iter().flat_map(|suffix| &suffix.0))
        {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word)
                | ast::CommandPrefixOrSuffixItem::Word(word)
                    if !word.value.contains("$(") && !word.value.has(b'`') => {}
                _ => return false,
            }
        }
        let is_usual = |name: &str| !self.defines(name) && !self.aliases.contains_key(name);
        let program = simple.word_or_name.as_ref().map(|word| word.value.as_str());
        !pipeline.bang && program.is_none_or(|name| matches!(name, ":" | "true" | "echo") && is_usual(name))
    }

    /// Returns true if a program is found in the search path or lies in a directory for installed programs.
    fn is_installed(&self, command: &Command) -> bool {
        let class = self.places.class(&command.program_word, command.cwd.as_deref());
        !command.program_word.text.has(b'/') || matches!(class, Class::System | Class::Home)
    }
}

/// Returns true if a test compares numbers. Each operand is then an arithmetic expression: `[[ x -eq 0 ]]`.
fn is_of_numbers(operator: &ast::BinaryPredicate) -> bool {
    use ast::BinaryPredicate as Operator;
    matches!(
        operator,
        Operator::ArithmeticEqualTo
            | Operator::ArithmeticNotEqualTo
            | Operator::ArithmeticLessThan
            | Operator::ArithmeticLessThanOrEqualTo
            | Operator::ArithmeticGreaterThan
            | Operator::ArithmeticGreaterThanOrEqualTo
    )
}

/// Returns true if the body of a function calls it twice in one pipeline, or in the background.
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
