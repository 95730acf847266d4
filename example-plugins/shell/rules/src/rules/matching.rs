//! Compiles the conditions of a rule and checks them against one command.

use super::depth;
use super::pattern::{Compile, Pattern};
use super::programs::Arguments;
use super::schema::{Construct, Expression, Match};
use super::verbs;
use super::words::{Pairs, Part, Words};
use shell_reader::Ascii as _;
use shell_reader::guarded::Changes;
use shell_reader::{Class, Command, MAX_LENGTH, PathContext, RedirectKind, Script, SecretAccess, Word};
use std::cell::RefCell;

/// A compiled [`Match`].
#[derive(Debug)]
pub(crate) struct Matcher {
    /// The number of this matcher among the matchers with conditions on the whole text.
    pub(super) number: u32,
    /// The index of the matcher's rule.
    pub(super) rule: u32,
    programs: Words,
    /// The accepted subcommands, with spaces between their words.
    subcommands: Words,
    construct: Option<Construct>,
    /// True if the match is about the effect of the program. In that case, a command with `--help` does not match, because it has no
    /// effect. False if the match is about redirections, unknown text or text that the program reads.
    acts: bool,
    /// True if the match depends on the command's redirections. The next field, `environment`, is true if it depends on variables that are
    /// set for the command.
    redirects: bool,
    environment: bool,
    /// True if the match applies only to programs that no other rule names.
    pub(super) unnamed: bool,
    whole: Option<Box<Whole>>,
    /// Conditions that must all be met. The slowest condition is last.
    conditions: Box<[Condition]>,
}

/// Conditions on the whole text.
#[derive(Debug)]
struct Whole {
    contains: Box<[Part]>,
    lacks: Box<[Part]>,
    text: Option<Pattern>,
    no_text: Option<Pattern>,
}

/// A condition on one command, named as in [`Match`].
#[derive(Debug)]
enum Condition {
    /// One of the first words must be one of these verbs.
    Verbs(Words),
    /// Neither the program's name nor the name with its first operands may be in this list.
    NoProgram(Words),
    /// One of these flags must be present.
    Flag(Words),
    NoFlag(Words),
    MinOperands(usize),
    MaxOperands(usize),
    /// An operand must be a path of one of these classes. If the flag is true, paths in a home directory or in the system match only if
    /// they are large parts of this directory or of the system.
    Paths(Box<[Class]>, bool),
    Operand(Pattern),
    Target(Pattern),
    Word(Pattern),
    NoWord(Pattern),
    ReadsFrom(Words),
    Feeds(Words),
    WrappedBy(Words),
    NoDocument,
    Shown,
    /// The command must get a secret in one of these ways.
    Secret(Box<[SecretAccess]>),
    Line(Pattern),
    NoLine(Pattern),
    Environment(Pattern),
    NoEnvironment(Pattern),
    Reads(Pattern),
    Writes(Box<WriteCondition>),
    Touches(Box<[Class]>),
    /// One statement must match the first pattern and not the second.
    Statement(Box<(Pattern, Option<Pattern>)>),
    /// The command must change files of one of these owners.
    Changes(Changes),
}

/// Conditions on the files that a command writes.
#[derive(Debug)]
struct WriteCondition {
    pattern: Option<Pattern>,
    paths: Box<[Class]>,
    /// True if the conditions also apply to files that the command's words name, and not only to redirections. This is possible only if the
    /// rule names its programs.
    by_words: bool,
}

/// A text and its commands.
pub(crate) struct Subject<'a> {
    pub(crate) text: &'a str,
    pub(crate) script: &'a Script,
    pub(crate) context: &'a PathContext,
    /// The pairs of adjacent bytes in the text. A text that has any other pair cannot occur in this text.
    pairs: Pairs,
    /// Results of the conditions on the whole text, by the number of the matcher. The results are stored, so that each matcher searches the
    /// text only once, even if the text contains many commands.
    whole: RefCell<Vec<Option<bool>>>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(text: &'a str, script: &'a Script, context: &'a PathContext) -> Self {
        Self { text, script, context, pairs: Pairs::of(text), whole: RefCell::default() }
    }
}

impl Matcher {
    pub(crate) fn new(mut wanted: Match, compile: Compile) -> Result<Self, String> {
        if !is_of_some(&wanted) {
            return Err(
                "a match needs `program`, `verbs`, `construct`, `word`, `environment`, `reads`, `writes`, `changes` or `text`: \
                        otherwise it would fit every command"
                    .into(),
            );
        }
        if wanted.program.iter().chain(wanted.subcommand.iter()).any(|name| name.has(b'\0')) {
            return Err("a name in `program` or `subcommand` has a zero byte, which no command can have".into());
        }
        let acts = wanted.construct.is_none()
            && wanted.reads_from.is_empty()
            && wanted.statement.is_none()
            && wanted.writes_paths.is_empty()
            && wanted.writes.is_none()
            && wanted.changes.is_empty();
        let by_words = !wanted.program.is_empty();
        let Match { contains, lacks, text, no_text, .. } = &wanted;
        let has_whole = !contains.is_empty() || !lacks.is_empty() || text.is_some() || no_text.is_some();
        Ok(Self {
            number: 0,
            rule: 0,
            programs: std::mem::take(&mut wanted.program),
            subcommands: std::mem::take(&mut wanted.subcommand),
            construct: wanted.construct,
            acts,
            unnamed: wanted.unnamed,
            environment: wanted.environment.is_some(),
            redirects: wanted.reads.is_some()
                || (!by_words && (wanted.writes.is_some() || !wanted.writes_paths.is_empty())),
            whole: if has_whole { Some(Box::new(Whole::new(&mut wanted, compile)?)) } else { None },
            conditions: conditions(wanted, by_words, compile)?,
        })
    }

    /// Returns the programs that the matcher names. If the matcher applies to any program, there are none.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.programs.iter()
    }

    /// Returns the first word of each subcommand that the matcher names, or a single `None` if it applies to all subcommands.
    pub(crate) fn first_words(&self) -> impl Iterator<Item = Option<&'static str>> + use<> {
        let all = if self.subcommands.is_empty() { Some(None) } else { None };
        self.subcommands.iter().map(|path| path.split(' ').next()).chain(all)
    }

    /// Returns true if the matcher also has conditions on the whole text.
    pub(crate) fn looks_at_text(&self) -> bool {
        self.whole.is_some()
    }

    /// Returns true if the matcher depends on redirections.
    pub(crate) fn is_of_redirects(&self) -> bool {
        self.redirects
    }

    /// Returns true if the matcher depends on variables that are set for the command.
    pub(crate) fn is_of_environment(&self) -> bool {
        self.environment
    }

    /// Returns true if the matcher names subcommands.
    pub(crate) fn is_of_subcommands(&self) -> bool {
        !self.subcommands.is_empty()
    }

    /// Returns true if the matcher ignores commands that write a whole file from a here-document.
    pub(crate) fn spares_whole_files(&self) -> bool {
        self.conditions.iter().any(|condition| matches!(condition, Condition::NoDocument))
    }

    /// Returns true if the matcher is about the text as a whole and not about one of its commands.
    pub(crate) fn is_of_text(&self) -> bool {
        use Construct::{ControlCharacters, ForkBomb, RunsFetched, RunsUnknown, Unreadable};
        match self.construct {
            Some(construct) => {
                matches!(construct, ControlCharacters | ForkBomb | RunsFetched | RunsUnknown | Unreadable)
            }
            None => self.programs.is_empty() && !self.conditions.iter().any(Condition::is_of_any_command),
        }
    }

    /// Returns true if the whole text matches.
    pub(crate) fn fits_text(&self, subject: &Subject<'_>) -> bool {
        // A text that is too long to be read is treated as unreadable, and it is not searched for patterns either.
        if subject.text.len() > MAX_LENGTH {
            return self.construct == Some(Construct::Unreadable);
        }
        let construct = match self.construct {
            Some(Construct::Unreadable) => subject.script.unreadable.is_some(),
            Some(Construct::RunsUnknown) => subject.script.runs_unknown,
            Some(Construct::RunsFetched) => subject.script.runs_fetched,
            Some(Construct::ForkBomb) => subject.script.fork_bomb,
            Some(Construct::ControlCharacters) => subject.text.chars().any(is_control),
            _ => true,
        };
        construct && self.whole.as_ref().is_none_or(|wanted| wanted.fits(subject))
    }

    fn fits_whole(&self, subject: &Subject<'_>) -> bool {
        let Some(wanted) = &self.whole else { return true };
        let known = subject.whole.borrow().get(self.number as usize).copied().flatten();
        known.unwrap_or_else(|| {
            let fits = wanted.fits(subject);
            let mut whole = subject.whole.borrow_mut();
            let number = self.number as usize;
            if whole.len() <= number {
                whole.resize(number + 1, None);
            }
            whole[number] = Some(fits);
            fits
        })
    }

    /// Returns the bits of the first bytes of the matcher's program names, or all bits if it applies to any program.
    pub(crate) fn initials(&self) -> u32 {
        if self.programs.is_empty() {
            return u32::MAX;
        }
        self.programs.iter().map(initials).fold(0, |all, one| all | one)
    }

    /// Returns true if the matcher may apply to the command's program.
    pub(crate) fn is_about(&self, command: &Command) -> bool {
        self.programs.is_empty() || is_one_of_programs(&self.programs, command)
    }

    /// Returns true if a command matches. The caller has checked that the matcher names the command's program.
    pub(crate) fn fits(&self, command: &Command, arguments: &Arguments<'_>, subject: &Subject<'_>) -> bool {
        // Fast check that most commands fail.
        if (self.redirects && command.redirects.is_empty()) || (self.environment && command.environment.is_empty()) {
            return false;
        }
        let construct = match self.construct {
            Some(Construct::LookAlike) => !command.program.is_ascii(),
            Some(Construct::UnknownProgram) => command.program.is_empty() && !command.program_word.is_known(),
            _ => true,
        };
        let Some(first) = self.first_operand(arguments).filter(|_| construct) else { return false };
        let operands = &arguments.operands[first..];
        if operands.is_empty() && self.acts && arguments.asks_for_help() {
            return false;
        }
        let candidate = Candidate { command, arguments, first, context: subject.context };
        self.fits_whole(subject) && self.conditions.iter().all(|condition| condition.holds(&candidate))
    }

    /// Returns the index of the first operand after the subcommand. Returns `None` if the command has none of the wanted subcommands.
    fn first_operand(&self, arguments: &Arguments<'_>) -> Option<usize> {
        if self.subcommands.is_empty() {
            return Some(0);
        }
        self.subcommands.iter().find_map(|subcommand| arguments.first_after(subcommand))
    }
}

impl Whole {
    fn new(wanted: &mut Match, compile: Compile) -> Result<Self, String> {
        let parts = |texts: &[String]| texts.iter().map(|text| Part::new(text)).collect();
        let pattern = |expression: &mut Option<Expression>| expression.take().map(compile).transpose();
        Ok(Self {
            contains: parts(&wanted.contains),
            lacks: parts(&wanted.lacks),
            text: pattern(&mut wanted.text)?,
            no_text: pattern(&mut wanted.no_text)?,
        })
    }

    fn fits(&self, subject: &Subject<'_>) -> bool {
        let occurs = |part: &Part| part.is_in(subject.text, &subject.pairs);
        (self.contains.is_empty() || self.contains.iter().any(occurs))
            && !self.lacks.iter().any(occurs)
            && self.text.as_ref().is_none_or(|pattern| pattern.is_match_of(subject.text, &subject.pairs))
            && self.no_text.as_ref().is_none_or(|pattern| !pattern.is_match_of(subject.text, &subject.pairs))
    }
}

fn conditions(wanted: Match, by_words: bool, compile: Compile) -> Result<Box<[Condition]>, String> {
    type Of<T> = fn(T) -> Condition;
    let mut conditions = Vec::new();
    let lists: [(_, Of<Words>); 2] = [(wanted.verbs, Condition::Verbs), (wanted.no_program, Condition::NoProgram)];
    conditions.extend(lists.into_iter().filter(|(words, _)| !words.is_empty()).map(|(words, of)| of(words)));
    for flag in &wanted.flags {
        conditions.push(Condition::Flag(spellings(std::slice::from_ref(flag))?));
    }
    for (flags, condition) in [(wanted.any_flags, Condition::Flag as Of<Words>), (wanted.no_flags, Condition::NoFlag)] {
        if !flags.is_empty() {
            conditions.push(condition(spellings(&flags)?));
        }
    }
    let lists: [(_, Of<Words>); 3] = [
        (wanted.reads_from, Condition::ReadsFrom),
        (wanted.feeds, Condition::Feeds),
        (wanted.wrapped_by, Condition::WrappedBy),
    ];
    conditions.extend(lists.into_iter().filter(|(words, _)| !words.is_empty()).map(|(words, of)| of(words)));
    if wanted.min_operands > 0 {
        conditions.push(Condition::MinOperands(wanted.min_operands));
    }
    conditions.extend(wanted.max_operands.map(Condition::MaxOperands));
    if wanted.shown {
        conditions.push(Condition::Shown);
    }
    if wanted.no_document {
        conditions.push(Condition::NoDocument);
    }
    let paths = Some(classes(&wanted.paths)?).filter(|paths| !paths.is_empty());
    let paths = paths.map(|paths| Condition::Paths(paths, wanted.whole));
    // A rule that names its programs applies to few commands, so classifying their paths costs little. A rule that names no program
    // searches for its word first, because few commands have this word.
    let (paths, paths_last) = if wanted.word.is_none() { (paths, None) } else { (None, paths) };
    conditions.extend(paths);
    let patterns: [(_, Of<Pattern>); 9] = [
        (wanted.operand, Condition::Operand),
        (wanted.target, Condition::Target),
        (wanted.word, Condition::Word),
        (wanted.no_word, Condition::NoWord),
        (wanted.line, Condition::Line),
        (wanted.no_line, Condition::NoLine),
        (wanted.environment, Condition::Environment),
        (wanted.no_environment, Condition::NoEnvironment),
        (wanted.reads, Condition::Reads),
    ];
    for (source, condition) in patterns {
        conditions.extend(source.map(|source| compile(source).map(condition)).transpose()?);
    }
    if wanted.writes.is_some() || !wanted.writes_paths.is_empty() {
        let target = wanted.writes.map(compile).transpose()?;
        let paths = classes(&wanted.writes_paths)?;
        conditions.push(Condition::Writes(Box::new(WriteCondition { pattern: target, paths, by_words })));
    }
    conditions.extend(paths_last);
    if !wanted.secret.is_empty() {
        let named =
            |name: &String| SecretAccess::named(name).ok_or_else(|| format!("`{name}` is no way to get a secret"));
        conditions.push(Condition::Secret(wanted.secret.iter().map(named).collect::<Result<_, _>>()?));
    }
    if let Some(statement) = wanted.statement {
        let no_statement = wanted.no_statement.map(compile).transpose()?;
        conditions.push(Condition::Statement(Box::new((compile(statement)?, no_statement))));
    }
    conditions.extend(Some(classes(&wanted.touches)?).filter(|paths| !paths.is_empty()).map(Condition::Touches));
    if !wanted.changes.is_empty() {
        conditions.push(Condition::Changes(owners(&wanted.changes)?));
    }
    Ok(conditions.into())
}

/// Returns all spellings of flags such as `"-f|--force"`.
fn spellings(flags: &[String]) -> Result<Words, String> {
    Words::new(&flags.iter().flat_map(|flag| flag.split('|')).map(str::to_owned).collect::<Vec<_>>())
}

/// Returns true if a path of this class may be a small part of a home directory or of the system.
fn is_deep_place(class: Class) -> bool {
    matches!(class, Class::System | Class::Home | Class::Host)
}

/// Returns true if a rule about `paths` applies to `class`.
fn is_one_of(paths: &[Class], class: Class) -> bool {
    paths.contains(&class) || (class == Class::Host && paths.contains(&Class::Home))
}

fn classes(names: &[String]) -> Result<Box<[Class]>, String> {
    names.iter().map(|name| Class::named(name).ok_or_else(|| format!("`{name}` is no kind of path"))).collect()
}

/// Parses the owners of files that `changes` names.
fn owners(names: &[String]) -> Result<Changes, String> {
    let mut changes = Changes::default();
    for name in names {
        match name.as_str() {
            "hookhost" => changes.hookhost = true,
            "agents" => changes.agents = true,
            "keys" => changes.keys = true,
            _ => {
                return Err(format!(
                    "`{name}` in `changes` owns no files: the words are `hookhost`, `agents` and `keys`"
                ));
            }
        }
    }
    Ok(changes)
}

/// A command with the data that conditions need.
struct Candidate<'a> {
    command: &'a Command,
    arguments: &'a Arguments<'a>,
    /// Index of the first operand after the subcommand.
    first: usize,
    context: &'a PathContext,
}

impl Condition {
    fn holds(&self, candidate: &Candidate<'_>) -> bool {
        let Candidate { command, arguments, first, context } = *candidate;
        let operands = &arguments.operands[first..];
        let names_one_of =
            |names: &Words, others: &[String]| names.iter().any(|name| others.iter().any(|other| other == name));
        match self {
            Self::Verbs(verbs) => verbs::is_said(verbs, &command.args),
            Self::NoProgram(names) => {
                !verbs::is_one_of(names, &command.program, &arguments.operands) && !is_one_of_programs(names, command)
            }
            Self::Flag(spellings) => arguments.has_one_of(spellings.iter()),
            Self::NoFlag(spellings) => !arguments.has_one_of(spellings.iter()),
            Self::MinOperands(least) => operands.len() >= *least,
            Self::MaxOperands(most) => operands.len() <= *most,
            Self::Paths(paths, whole) => {
                let classes = arguments.classes(|word| command.class(word, context));
                let large =
                    |word: &Word| !whole || depth::is_large(context.path(word, command.cwd.as_deref()).as_deref());
                let mut operands = classes.iter().zip(&arguments.operands).skip(first);
                operands.any(|(class, word)| is_one_of(paths, *class) && (!is_deep_place(*class) || large(word)))
            }
            Self::Operand(pattern) => operands.iter().any(|word| pattern.is_match(&word.text)),
            Self::Target(pattern) => operands.last().is_some_and(|word| pattern.is_match(&word.text)),
            Self::Word(pattern) => has_word(command, pattern),
            Self::NoWord(pattern) => !has_word(command, pattern),
            Self::ReadsFrom(programs) => names_one_of(programs, &command.upstream),
            Self::Feeds(programs) => names_one_of(programs, &command.downstream),
            Self::WrappedBy(programs) => names_one_of(programs, &command.wrappers),
            Self::NoDocument => !command.input.as_ref().is_some_and(Word::is_known),
            Self::Shown => {
                let is_seen = |target: &Word| target.text.ends_with("/tty") || target.text.ends_with("/stderr");
                !command.kept
                    || command.downstream.iter().any(|program| program == "tee")
                    || command.outputs().any(is_seen)
            }
            Self::Secret(ways) => ways.iter().any(|how| match how {
                SecretAccess::File => arguments.names_secret(|| command.is_given(SecretAccess::File, context)),
                how => command.is_given(*how, context),
            }),
            Self::Line(pattern) => pattern.is_match(&line(command)),
            Self::NoLine(pattern) => !pattern.is_match(&line(command)),
            Self::Environment(pattern) => has_variable(command, pattern),
            Self::NoEnvironment(pattern) => !has_variable(command, pattern),
            Self::Reads(pattern) => {
                let mut sources = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
                sources.any(|redirect| pattern.is_match(&redirect.target.text))
            }
            Self::Writes(wanted) => {
                let WriteCondition { pattern, paths, by_words } = &**wanted;
                let leads = |target: &Word| paths.is_empty() || is_one_of(paths, command.class(target, context));
                let is_named = |target: &Word| pattern.as_ref().is_none_or(|pattern| pattern.is_match(&target.text));
                // An example is `cd .git; tee config`.
                let is_there = |target: &Word| {
                    let path = context.path(target, command.cwd.as_deref());
                    path.is_some_and(|path| is_named(&Word::literal(path)))
                };
                if *by_words {
                    let writes = command.writes();
                    let mut targets = writes.iter().map(|write| &write.path);
                    targets.any(|target| leads(target) && (is_named(target) || is_there(target)))
                } else {
                    command.outputs().any(|target| leads(target) && is_named(target))
                }
            }
            Self::Touches(paths) => {
                command.writes().iter().any(|write| is_one_of(paths, command.class(&write.path, context)))
            }
            Self::Statement(wanted) => arguments.statements(command).have(&wanted.0, wanted.1.as_ref()),
            Self::Changes(wanted) => {
                let changes = arguments.changes(|| command.changes(context));
                (wanted.hookhost && changes.hookhost)
                    || (wanted.agents && changes.agents)
                    || (wanted.keys && changes.keys)
            }
        }
    }

    /// Returns true if the condition is specific enough for a rule without programs.
    fn is_of_any_command(&self) -> bool {
        match self {
            Self::Verbs(_) | Self::Word(_) | Self::Environment(_) | Self::Reads(_) | Self::Changes(_) => true,
            Self::Writes(wanted) => wanted.pattern.is_some(),
            _ => false,
        }
    }
}

/// Returns a command's program and words as one line.
fn line(command: &Command) -> String {
    let words = command.args.iter().map(|word| word.text.as_str());
    [command.program.as_str()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// Returns true if a pattern matches a word of a command, or an option with the value after it, written `NAME=VALUE`.
fn has_word(command: &Command, pattern: &Pattern) -> bool {
    let may_have_value = |option: &str| option.starts_with('-') && option.len() > 1 && !option.has(b'=');
    let has_value = |pair: &[Word]| {
        let [Word { text: option, .. }, Word { text: value, .. }] = pair else { return false };
        may_have_value(option) && !value.starts_with('-') && pattern.is_match(&format!("{option}={value}"))
    };
    command.args.iter().any(|word| pattern.is_match(&word.text)) || command.args.windows(2).any(has_value)
}

/// Returns true if a pattern matches a variable that is set for a command.
fn has_variable(command: &Command, pattern: &Pattern) -> bool {
    command.environment.iter().any(|(name, value)| pattern.is_match(&format!("{name}={}", value.text)))
}

/// Returns true if the match has at least one condition that excludes commands.
fn is_of_some(wanted: &Match) -> bool {
    let Match { program, verbs, construct, text, word, environment, reads, writes, changes, .. } = wanted;
    let patterns = [text, word, environment, reads, writes];
    !program.is_empty()
        || !verbs.is_empty()
        || !changes.is_empty()
        || construct.is_some()
        || patterns.iter().any(|pattern| pattern.is_some())
}

/// Returns the bit of a name's first byte in upper or lower case, or all bits if the first byte may be any byte.
pub(crate) fn initials(name: &str) -> u32 {
    match name.bytes().next() {
        None | Some(b'*') => u32::MAX,
        Some(byte) => initial(byte),
    }
}

/// Returns the bit of a first byte in upper or lower case.
pub(crate) fn initial(byte: u8) -> u32 {
    1 << (byte.to_ascii_lowercase() % 32)
}

/// Returns true if the command's program is one of these names.
fn is_one_of_programs(names: &Words, command: &Command) -> bool {
    let initial = command.program.bytes().next().map(|byte| byte.to_ascii_lowercase());
    // Fast check that is false for nearly all names.
    let may_be = |name: &[u8]| {
        let first = name.first().map(u8::to_ascii_lowercase);
        first == initial || first == Some(b'*')
    };
    names.any(|name| may_be(name) && is_program(name, command))
}

/// Returns true if a name in a rule matches the command's program. `mkfs.*` matches any ending.
pub fn is_program(name: &[u8], command: &Command) -> bool {
    let program = command.program.as_bytes();
    match name.strip_suffix(b"*") {
        // A cmdlet's name has no dot: `remove-*` does not match `remove-old.sh`.
        Some(begin) => program.starts_with(begin) && !(begin.ends_with(b"-") && program.contains(&b'.')),
        None if command.windows => name.eq_ignore_ascii_case(program),
        None => name == program,
    }
}

/// Returns true for characters that a terminal obeys or hides, or that reverse text.
fn is_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}
