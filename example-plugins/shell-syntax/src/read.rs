//! Walks what the parser made of a text, in the order in which the shell would run it, and notes every command.

use super::ascii::Ascii as _;
use super::copies::listed;
use super::evaluated::Evaluated;
use super::guarded::directory_of_variable;
use super::mounts::Mount;
use super::places::{MADE_UP, Places};
use super::repair::repaired;
use super::secrets::hands_on;
use super::simple::printed_by;
use super::word::{HOME, UNKNOWN, Word};
use super::wrappers::{self, Location};
use super::writes::writes_or_runs;
use super::{Class, Command, bounds, leave, lower};
use super::{arithmetic, plain, windows};
use brush_parser::{Token, ast};
use hookhost_guest::prelude::ShellDialect;
use litemap::LiteMap;
use peg_runtime::steps;
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

/// Maximum nesting of commands: `sh -c`, `$(…)`, calls of functions.
const MAX_NESTING: usize = 8;
/// Maximum nesting of compound commands: of one in another, whether that is in the same text, in a nested one, or in a function that is
/// called there. Each takes a part of the stack.
const MAX_LEVELS: usize = 32;
/// Maximum number of commands; those of loops and functions count each time.
const MAX_COMMANDS: usize = 2000;
/// Maximum number of a loop's values that are tried.
const MAX_ROUNDS: usize = 16;
/// The work of a command, of a word of it beside its bytes, and of a variable that a subshell has a copy of.
const WORK_OF_COMMAND: usize = 32;
const WORK_OF_WORD: usize = 8;
const WORK_OF_VARIABLE: usize = 40;
/// Bytes of a command's input per unit of work: they are only copied.
const INPUT_BYTES_PER_UNIT: usize = 4;
/// The work of setting the parser to a text or a word, beside its bytes.
pub(super) const WORK_OF_PARSE: usize = 200;

/// Programs that run whatever their words name. After one of them, an unknown program may do the same.
const PASSING_ON: [&str; 19] = [
    "sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "gtimeout", "command", "builtin", "exec",
    "stdbuf", "xargs", "busybox", "setsid", "watch", "chroot", "flock",
];

/// Why a text cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) String);

/// What a text runs.
#[derive(Debug, Default)]
pub struct Script {
    pub commands: Vec<Command>,
    /// Why some of it could not be read.
    pub unreadable: Option<String>,
    /// Whether text that only the shell will know is run as a command: `eval "$X"`.
    pub runs_unknown: bool,
    /// Whether a file is run that the same text has fetched.
    pub runs_fetched: bool,
    /// A function that starts itself again and again.
    pub fork_bomb: bool,
    /// Whether it is one command and nothing else.
    pub is_single: bool,
    /// The functions that it defines.
    pub functions: Vec<String>,
    /// Whether [`read_likely`] may find more.
    pub leaves_open: bool,
    /// Units of work that reading it took: see `bounds::MAX_WORK`.
    pub work: usize,
}

/// Where a command begins among the words of a program that nothing is known of. It is no part of a component that never reads
/// what is likely.
type Likely = fn(&str, &[Word]) -> Option<usize>;

/// Reads `text`, which would run in `cwd`.
pub fn read(text: &str, dialect: ShellDialect, cwd: &str, places: &Places) -> Script {
    read_as(None, text, dialect, cwd, places)
}

/// Reads `text` a second time where that finds what [`read`] left open in `script`: it takes a variable or a directory that was perhaps set
/// for set, and what an unknown program after a wrapper is given as a command. Nothing where `script` left none of it open.
#[must_use]
pub fn read_likely(script: &Script, text: &str, dialect: ShellDialect, cwd: &str, places: &Places) -> Option<Script> {
    let begins = |program: &str, words: &[Word]| {
        let is_known = |name: &str| writes_or_runs(&lower(name));
        if is_known(program) { None } else { words.iter().position(|word| is_known(super::program_name(&word.text))) }
    };
    script.leaves_open.then(|| read_as(Some(begins), text, dialect, cwd, places))
}

fn read_as(likely: Option<Likely>, text: &str, dialect: ShellDialect, cwd: &str, places: &Places) -> Script {
    steps::allow(bounds::steps_for(text));
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
    // `$x = Get-Date; $x.Year`: what a POSIX shell takes for a program that it does not know. The rest counts by both readings.
    let is_assigned = !is_windows && windows::is_assigned(text);
    if is_assigned {
        reader.script.commands.retain(|command| !windows::is_expression(text, command));
    }
    // `rd /s C:\x`: what only Windows has is read as its shells do, whatever shell is said to run it.
    let is_there = |reader: &Reader<'_>| reader.script.commands.iter().any(windows::is_only_there);
    if is_assigned || (result.is_ok() && !is_windows && is_there(&reader)) {
        reader.scope =
            Scope { cwd: reader.places.directory(&Word::literal(cwd), Some(places.workspace())), ..Scope::default() };
        result = windows::read(&mut reader, text);
    }
    // `cmd /c "rd /s C:\"`: what is no text for a POSIX shell may well be one for the shell that it names.
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
    // Without steps left the parser takes a text for another one, or for none.
    let steps = bounds::check_steps(steps::left());
    script.unreadable = result.err().map(|why| why.0).or(script.unreadable).or(steps.err());
    script
}

/// Refuses descriptors of redirections that the parser cannot read: a number that is too great, which the shell refuses as well and at
/// which the parser panics; and `{fd}>x`, whose name the parser takes for the program.
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

/// `text` with its last line ended, where a here-document may begin on it: the parser looks for ever for the end of one whose delimiter
/// is empty if the text ends before its body begins. Nothing where a backslash takes the end of the line away.
pub(crate) fn ended(text: &str) -> Option<Cow<'_, str>> {
    match (text.contains("<<"), text.ends_with('\\')) {
        (false, _) => Some(text.into()),
        (true, false) => Some(format!("{text}\n\n").into()),
        (true, true) => None,
    }
}

/// The values of names, where known.
type Variables = LiteMap<String, Option<Word>>;

/// What a subshell has of its own.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) cwd: Option<String>,
    /// The directory that a command has perhaps changed to last, where nobody knows whether it did: `x && cd y; z`.
    perhaps: Option<String>,
    variables: Variables,
    /// How many variables were set so far, some of them several times.
    assignments: usize,
    /// `$0`, where a text is given it.
    pub(super) zeroth: Option<Word>,
    positional: Option<Rc<Vec<Word>>>,
}

impl Scope {
    /// Units of work to copy it.
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
    /// Given where every assignment is made, and holds for all that follows; so does every change of the directory but those of
    /// subshells; and after a wrapper a command begins where this says.
    likely: Option<Likely>,
    pub(super) options: brush_parser::ParserOptions,
    pub(super) script: Script,
    pub(super) scope: Scope,
    /// Those that the text defines; few do.
    functions: Vec<(String, Rc<Function>)>,
    pub(super) text: &'a str,
    /// The byte of each character, where they differ.
    offsets: Option<Vec<usize>>,
    /// Of what is being read, in the agent's text.
    pub(super) place: Range<usize>,
    pub(super) exact: bool,
    pub(super) depth: usize,
    /// How many compound commands are open, those of functions that call each other among them.
    levels: usize,
    pub(super) wrappers: Vec<String>,
    pub(super) location: Location,
    /// What of this machine the container sees that is being read.
    pub(super) mounts: Vec<Mount>,
    /// What is run at the end.
    pub(super) traps: Vec<String>,
    /// The texts of aliases by their names.
    pub(super) aliases: Variables,
    /// Whether what is printed is put into a variable, or into a header that says who asks.
    pub(super) kept: bool,
    /// What a command reads that is given nothing of its own.
    pub(super) stdin: Option<Word>,
    /// What `<(…)` prints, where that is known.
    substituted: Vec<Option<Word>>,
    /// What the text writes into files, by their paths.
    files: Variables,
    /// The paths of files that it fetches.
    pub(super) fetched: Vec<String>,
    /// The addresses that it fetches them from, in small letters.
    pub(super) addresses: String,
    /// The directories into which it unpacks them, and whether it names them.
    pub(super) unpacked: Vec<(String, bool)>,
    /// The programs that it gives other names, by their new paths.
    pub(super) copied: Variables,
    /// The secrets of which it makes other files, by the paths of these.
    pub(super) made_of: Variables,
    /// The case of the letters of variables that `declare` gives one: `l` or `u`.
    pub(super) cases: Vec<(String, char)>,
    /// How deep the commands lie that are the parts of an expression.
    expression: Option<usize>,
    /// Variables that have two names.
    references: Variables,
    /// The elements of arrays, as they were set last.
    arrays: Vec<(String, Vec<Word>)>,
    /// The values that it is set to evaluate.
    pub(super) evaluated: Evaluated,
    /// Whether a pattern stands for names that begin with a dot, too: `shopt -s dotglob`.
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
        // Within quotes the parser takes the bracket of a pattern for the end, and says nothing.
        let is_misread = text.contains("$(") && text.contains("case ");
        if is_misread && let Some(program) = self.parse_repaired(text) {
            return Ok(program);
        }
        let result = self.parse_as(text);
        let repaired = if result.is_err() && !is_misread { self.parse_repaired(text) } else { None };
        repaired.map_or(result, Ok)
    }

    /// The same of a text in a spelling that the parser reads. Its places are not those of the text.
    fn parse_repaired(&mut self, text: &str) -> Option<ast::Program> {
        let repaired = if text.len() <= bounds::MAX_LENGTH { repaired(text) } else { None };
        let program = self.parse_as(&repaired?).ok()?;
        self.exact = false;
        Some(program)
    }

    fn parse_as(&mut self, text: &str) -> Result<ast::Program, Unreadable> {
        bounds::check(text).map_err(Unreadable)?;
        self.spend(WORK_OF_PARSE + text.len())?;
        if let Some(program) = plain::program(text) {
            return Ok(program);
        }
        let ended = ended(text).ok_or_else(|| Unreadable("it ends in the middle of a line".into()))?;
        let tokens = brush_parser::uncached_tokenize_str(&ended, &self.options.tokenizer_options())
            .map_err(|error| Unreadable(error.to_string()))?;
        check_descriptors(&tokens)?;
        brush_parser::parse_tokens(&tokens, &self.options).map_err(|error| Unreadable(error.to_string()))
    }

    /// Counts work, and gives up where it is too much: a loop in a loop does as much as it likes otherwise.
    pub(super) fn spend(&mut self, units: usize) -> Result<(), Unreadable> {
        let work = self.script.work.saturating_add(units);
        let result = bounds::check_work(work).map_err(Unreadable);
        // What is too much is not done.
        self.script.work = if result.is_ok() { work } else { self.script.work.max(bounds::MAX_WORK + 1) };
        result
    }

    fn program(&mut self, program: &ast::Program) -> Result<(), Unreadable> {
        program.complete_commands.iter().try_for_each(|list| self.list(list))
    }

    /// A text that is itself a command, such as that of `sh -c`.
    pub(super) fn nested(&mut self, text: &str) -> Result<(), Unreadable> {
        if text.has(UNKNOWN as u8) {
            self.script.runs_unknown = true;
            // What is known of it still counts.
        }
        let text = text.replace(UNKNOWN, "$_");
        let program = self.deeper(|reader| reader.parse(&text))?;
        let exact = std::mem::replace(&mut self.exact, false);
        let result = self.deeper(|reader| reader.program(&program));
        self.exact = exact;
        result
    }

    /// The same for a text of Windows.
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

    /// What `act` sets is gone afterwards.
    pub(super) fn subshell<T>(&mut self, act: &mut dyn FnMut(&mut Self) -> T) -> T {
        let scope = self.scope.clone();
        // The next command that is noted fails if this is too much.
        self.script.work += scope.work();
        let result = act(self);
        self.leave(scope);
        result
    }

    /// Goes back to the scope before.
    #[inline(never)]
    pub(super) fn leave(&mut self, before: Scope) {
        let inner = std::mem::replace(&mut self.scope, before);
        if self.likely.is_some() {
            self.scope.variables = inner.variables;
        } else if self.scope.assignments != inner.assignments {
            self.script.leaves_open = true;
        }
    }

    /// What `act` sets may hold afterwards or not. Whether it sets what was known before.
    fn perhaps(&mut self, act: &mut dyn FnMut(&mut Self) -> Result<(), Unreadable>) -> Result<bool, Unreadable> {
        let before = self.scope.clone();
        self.spend(WORK_OF_COMMAND + before.work())?;
        act(self)?;
        Ok(self.unsettle(&before, false))
    }

    /// Forgets what is set in another way than `before`, but doubts variables that are new where these are kept. Whether it was
    /// known.
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

    /// The same, again and again: what one round sets, the next begins with.
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
        // What cannot fail lets the next run in any case.
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
                // What is set holds for what is only run then.
                ast::AndOr::And(pipeline) => self.pipeline(pipeline)?,
                ast::AndOr::Or(pipeline) => drop(self.perhaps(&mut |reader| reader.pipeline(pipeline))?),
            }
        }
        // `false && X=y`: nobody knows how far it came.
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
            // What an unknown stage prints is still read.
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

    /// The names of the programs that are noted since.
    pub(super) fn programs_since(&self, begin: usize) -> Vec<String> {
        self.names(begin..self.script.commands.len())
    }

    /// Reads a command that is given `input`, and returns what it prints where that is known.
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

    /// A compound command with its redirections, which may also be the body of a function.
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
            // `{ …; } < <(…)`: each of them may read it.
            self.spend(upstream.len() * (self.script.commands.len() - begin) * WORK_OF_WORD)?;
            for command in &mut self.script.commands[begin..] {
                command.upstream.extend(upstream.iter().cloned());
            }
            self.printed_since(begin, redirects)?;
        }
        Ok(())
    }

    /// What a compound command is given, the commands in it read.
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

    /// The text between `((` and `))`. The parser takes `( (reboot) )` for it as well, which is a command: so both count.
    pub(super) fn arithmetic(&mut self, text: &str) -> Result<(), Unreadable> {
        self.evaluates(text)?;
        let is_arithmetic = arithmetic::is_expression(text);
        let outer = self.expression.replace(self.depth + 1);
        let result = self.subshell(&mut |reader| reader.nested(text));
        self.expression = outer;
        // `1 << $(x)` is a here-document if it is taken for a command.
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

    /// Keeps a function, in the place of one of its name.
    fn keep_function(&mut self, name: String, function: Function) {
        self.functions.retain(|(other, _)| *other != name);
        self.functions.push((name, Rc::new(function)));
    }

    /// Whether the text has defined a function of that name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.functions.iter().any(|(other, _)| other == name)
    }

    /// Calls `name` where the text has defined it.
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

    /// Functions that nothing calls are read once, with arguments that are not known.
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

    /// Reads the commands in the index of an array's element, which the shell runs also where quotes keep them from it at first:
    /// `[[ -v 'a[$(x)]' ]]`.
    pub(super) fn indexed(&mut self, word: &Word) {
        let begin = word.text.find('[').filter(|_| word.text.has_one_of(b"$`"));
        if let Some(begin) = begin {
            self.within_quoted(&word.text[begin..]);
        }
    }

    /// What a program that nothing is known of is likely to run where it is started by another: its words, from the first on that
    /// names a program which writes or runs others.
    pub(super) fn likely(&mut self, program: &str, args: &[Word]) -> Option<Vec<Word>> {
        self.wrappers.last().filter(|wrapper| PASSING_ON.contains(&wrapper.as_str()))?;
        self.script.leaves_open |= !args.is_empty();
        let at = self.likely?(program, args)?;
        Some(args[at..].to_vec())
    }

    /// Notes a command, and what it does to the commands that follow.
    pub(super) fn note(&mut self, mut command: Command) -> Result<(), Unreadable> {
        let input = command.input.as_ref().map_or(0, |input| input.text.len() / INPUT_BYTES_PER_UNIT);
        self.spend(
            WORK_OF_COMMAND + input + command.args.iter().map(|word| WORK_OF_WORD + word.text.len()).sum::<usize>(),
        )?;
        // `x[0 + 1]=1 a`: the parser takes the index for words, where the shell assigns and runs `a`.
        if command.program.halves(b'[').is_some_and(|(name, index)| !name.is_empty() && !index.has(b']')) {
            return Err(Unreadable("an index has a blank in it".into()));
        }
        // A variable is a number there, and no program.
        if command.program.is_empty() && self.expression == Some(self.depth) {
            return Ok(());
        }
        command.cwd = self.scope.cwd.clone();
        command.perhaps = if command.cwd.is_none() { self.scope.perhaps.clone() } else { None };
        command.wrappers = self.wrappers.clone();
        command.location = self.location;
        // What `>&2` prints is seen.
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

    /// The bytes that the parser means by a place, which it counts in characters.
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

    /// Keeps the elements of an array. Its value is all of them as one word.
    pub(super) fn set_elements(&mut self, name: &str, words: &[Word]) -> Result<(), Unreadable> {
        words.iter().for_each(|word| self.remember(name, &word.text));
        self.spend(self.arrays.len() + words.iter().map(|word| WORK_OF_WORD + word.text.len()).sum::<usize>())?;
        self.arrays.retain(|(other, _)| other != name);
        self.arrays.push((name.to_owned(), words.to_vec()));
        Ok(())
    }

    /// The elements of an array, where its value is still what they made.
    pub(super) fn elements(&self, name: &str) -> Option<Vec<Word>> {
        let (_, words) = self.arrays.iter().find(|(other, _)| other == name)?;
        (self.variable(name)? == Word::of_all(words)).then(|| words.clone())
    }

    /// Gives a variable another name, so that what is set by one is not known by the other.
    pub(super) fn refer(&mut self, name: &str, target: &str) {
        self.remember(name, target);
        for name in [name, target] {
            self.references.insert(name.to_owned(), None);
            self.set(name, None);
        }
    }

    /// The value of a variable, where the text or the shell itself gives it one.
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

    /// Whether each variable of a text, or of the function that it calls, is set afterwards, once, and is not set yet.
    pub(super) fn is_set_later(&mut self, text: &str) -> Result<bool, Unreadable> {
        /// Maximum number of variables that are looked for.
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

    /// Drops the first arguments.
    pub(super) fn shift(&mut self, count: Option<usize>) {
        let words = self.scope.positional.take().zip(count);
        self.scope.positional = words.map(|(words, count)| Rc::new(words.iter().skip(count).cloned().collect()));
    }

    /// Notes what is written into a file.
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
        // git runs it.
        let hook = if is_hook { self.written_in(file) } else { None };
        hook.map_or(Ok(()), |text| self.text("sh", &text))
    }

    /// What the text has written into a file.
    pub(super) fn text_in(&self, file: &Word) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let text = self.files.get(&self.places.path(file, self.scope.cwd.as_deref())?)?.as_ref()?;
        Some(text.text.clone())
    }

    /// The shell script that the text has written into a file.
    pub(super) fn written_in(&self, file: &Word) -> Option<String> {
        let text = self.text_in(file)?;
        let names_another = text.starts_with("#!") && !text.lines().next().is_some_and(|line| line.contains("sh"));
        (!names_another).then_some(text)
    }

    pub(super) fn positional(&self, number: u32) -> Option<Word> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        self.scope.positional.as_ref()?.get(at).cloned()
    }

    /// All arguments, where they are known.
    pub(super) fn all_positional(&self) -> Option<Rc<Vec<Word>>> {
        self.scope.positional.clone()
    }

    /// Reads the commands of `$(…)`; what they print, where that is known.
    pub(super) fn output_of(&mut self, text: &str) -> Result<Option<Word>, Unreadable> {
        let begin = self.script.commands.len();
        self.subshell(&mut |reader| reader.nested(text))?;
        Ok(self.output_since(begin).or_else(|| self.secret_since(begin)))
    }

    /// Reads the commands of `<(…)`; the name of the file that holds what they print.
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

    /// What such a file holds, where that is known.
    pub(super) fn substitution_at(&self, file: &str) -> Option<Word> {
        let number: usize = file.rsplit('/').next()?.parse().ok()?;
        self.substituted.get(number.checked_sub(63)?)?.clone()
    }

    /// What the command prints that is noted since, where it is one and that is known.
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
            // Nothing that a rule would know.
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

    /// Whether a pipeline only sets variables or prints, which does not fail as long as there is somewhere to print to.
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

    /// Whether a program is found by its name, or lies where programs are installed.
    fn is_installed(&self, command: &Command) -> bool {
        let class = self.places.class(&command.program_word, command.cwd.as_deref());
        !command.program_word.text.has(b'/') || matches!(class, Class::System | Class::Home)
    }
}

/// Returns whether a test compares numbers, each of which is an expression: `[[ x -eq 0 ]]`.
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

/// Whether a function's body starts it twice at once, or in the background.
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
