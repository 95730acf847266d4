//! A rule's conditions, compiled, and asked of one command.

use super::programs::Arguments;
use super::schema::{Construct, Match};
use crate::shell::{Class, Command, LENGTH, Places, RedirectKind, Script, Word};
use regex_lite::Regex;
use std::cell::RefCell;

/// A [`Match`] with its patterns compiled and its names looked up.
#[derive(Debug)]
pub(crate) struct Matcher {
    /// Of all matchers, this one.
    pub(super) number: usize,
    wanted: Match,
    subcommands: Vec<Vec<String>>,
    operand: Option<Regex>,
    target: Option<Regex>,
    word: Option<Regex>,
    no_word: Option<Regex>,
    paths: Vec<Class>,
    reads: Option<Regex>,
    writes: Option<Regex>,
    writes_paths: Vec<Class>,
    environment: Option<Regex>,
    text: Option<Regex>,
    no_text: Option<Regex>,
}

/// A text, and what is in it.
pub(crate) struct Subject<'a> {
    pub(crate) text: &'a str,
    pub(crate) script: &'a Script,
    pub(crate) places: &'a Places,
    /// What has other pairs of bytes than the text cannot stand in it.
    pairs: Pairs,
    /// What is known of matchers that look at the whole text, by their number: each looks once, however many commands there
    /// are.
    whole: RefCell<Vec<Option<bool>>>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(text: &'a str, script: &'a Script, places: &'a Places) -> Self {
        Self { text, script, places, pairs: Pairs::of(text), whole: RefCell::default() }
    }

    /// Whether `part` stands in the text, in any case.
    fn contains(&self, part: &str) -> bool {
        self.pairs.may_have_all_of(part) && contains(self.text, part)
    }
}

/// The pairs of neighbouring bytes of a text, ASCII in lower case: a set that may hold more than was put into it.
struct Pairs([u64; 16]);

impl Pairs {
    fn of(text: &str) -> Self {
        let mut pairs = Self([0; 16]);
        for pair in text.as_bytes().windows(2) {
            let (word, bit) = Self::place(pair);
            pairs.0[word] |= bit;
        }
        pairs
    }

    fn may_have_all_of(&self, part: &str) -> bool {
        part.as_bytes().windows(2).all(|pair| {
            let (word, bit) = Self::place(pair);
            self.0[word] & bit != 0
        })
    }

    /// Where a pair stands in the set: which word, and which bit of it.
    fn place(pair: &[u8]) -> (usize, u64) {
        let [first, second] = [pair[0], pair[1]].map(|byte| usize::from(byte.to_ascii_lowercase()));
        let hash = first * 37 + second;
        (hash / 64 % 16, 1 << (hash % 64))
    }
}

impl Matcher {
    pub(crate) fn new(wanted: Match) -> Result<Self, String> {
        let pattern = |pattern: &Option<String>| match pattern {
            Some(pattern) => {
                Regex::new(pattern).map(Some).map_err(|error| format!("`{pattern}` is no pattern: {error}"))
            }
            None => Ok(None),
        };
        let classes = |names: &[String]| {
            let class = |name: &String| Class::named(name).ok_or_else(|| format!("`{name}` is no kind of path"));
            names.iter().map(class).collect::<Result<Vec<_>, _>>()
        };
        if wanted.program.is_empty()
            && wanted.text.is_none()
            && !is_of_any_command(&wanted)
            && wanted.construct.is_none()
        {
            return Err(
                "a match needs `program`, `construct`, `word`, `environment`, `reads`, `writes` or `text`: else it \
                        would fit every command"
                    .into(),
            );
        }
        let words = |subcommand: &String| subcommand.split(' ').map(str::to_owned).collect();
        Ok(Self {
            number: 0,
            subcommands: wanted.subcommand.iter().map(words).collect(),
            operand: pattern(&wanted.operand)?,
            target: pattern(&wanted.target)?,
            word: pattern(&wanted.word)?,
            no_word: pattern(&wanted.no_word)?,
            paths: classes(&wanted.paths)?,
            reads: pattern(&wanted.reads)?,
            writes: pattern(&wanted.writes)?,
            writes_paths: classes(&wanted.writes_paths)?,
            environment: pattern(&wanted.environment)?,
            text: pattern(&wanted.text)?,
            no_text: pattern(&wanted.no_text)?,
            wanted,
        })
    }

    /// The programs that it is about; none for what may be about any.
    pub(crate) fn programs(&self) -> &[String] {
        &self.wanted.program
    }

    /// Whether it leaves alone what writes a file whole.
    pub(crate) fn spares_whole_files(&self) -> bool {
        self.wanted.no_document
    }

    /// Whether it is about the text as a whole, and not about one command of it.
    pub(crate) fn is_of_text(&self) -> bool {
        use Construct::{ControlCharacters, ForkBomb, RunsFetched, RunsUnknown, Unreadable};
        let whole = matches!(
            self.wanted.construct,
            Some(ControlCharacters | ForkBomb | RunsFetched | RunsUnknown | Unreadable)
        );
        whole || (self.wanted.program.is_empty() && self.wanted.construct.is_none() && !is_of_any_command(&self.wanted))
    }

    /// Asks about the whole text.
    pub(crate) fn fits_text(&self, subject: &Subject<'_>) -> bool {
        // What is too long to be read is not searched either: it is unreadable, and asked about.
        if subject.text.len() > LENGTH {
            return self.wanted.construct == Some(Construct::Unreadable);
        }
        let construct = match self.wanted.construct {
            Some(Construct::Unreadable) => subject.script.unreadable.is_some(),
            Some(Construct::RunsUnknown) => subject.script.runs_unknown,
            Some(Construct::RunsFetched) => subject.script.runs_fetched,
            Some(Construct::ForkBomb) => subject.script.fork_bomb,
            Some(Construct::ControlCharacters) => subject.text.chars().any(is_control),
            _ => true,
        };
        construct && self.fits_whole(subject)
    }

    fn fits_whole(&self, subject: &Subject<'_>) -> bool {
        let Match { contains, lacks, text, no_text, .. } = &self.wanted;
        if contains.is_empty() && lacks.is_empty() && text.is_none() && no_text.is_none() {
            return true;
        }
        let known = subject.whole.borrow().get(self.number).copied().flatten();
        known.unwrap_or_else(|| {
            let fits = (contains.is_empty() || contains.iter().any(|part| subject.contains(part)))
                && !lacks.iter().any(|part| subject.contains(part))
                && self.text.as_ref().is_none_or(|pattern| pattern.is_match(subject.text))
                && self.no_text.as_ref().is_none_or(|pattern| !pattern.is_match(subject.text));
            let mut whole = subject.whole.borrow_mut();
            if whole.len() <= self.number {
                whole.resize(self.number + 1, None);
            }
            whole[self.number] = Some(fits);
            fits
        })
    }

    /// Asks about one command, cheapest things first.
    pub(crate) fn fits(&self, command: &Command, arguments: &Arguments<'_>, subject: &Subject<'_>) -> bool {
        let wanted = &self.wanted;
        if !wanted.program.is_empty() && !wanted.program.iter().any(|name| is_program(name, command)) {
            return false;
        }
        let about_files = self.writes.is_some() || !self.writes_paths.is_empty() || self.reads.is_some();
        if command.redirects.is_empty() && about_files {
            return false;
        }
        if command.environment.is_empty() && self.environment.is_some() {
            return false;
        }
        let construct = match wanted.construct {
            Some(Construct::LookAlike) => !command.program.is_ascii(),
            Some(Construct::UnknownProgram) => command.program.is_empty() && !command.program_word.is_known(),
            _ => true,
        };
        if !construct {
            return false;
        }
        let named = |path: &Vec<String>| {
            path.len() <= arguments.operands.len()
                && path.iter().zip(&arguments.operands).all(|(name, word)| *name == word.text)
        };
        let operands = match self.subcommands.iter().find(|path| named(path)) {
            Some(path) => &arguments.operands[path.len()..],
            None if self.subcommands.is_empty() => &arguments.operands[..],
            None => return false,
        };
        if operands.is_empty() && arguments.asks_for_help() && self.acts() {
            return false;
        }
        let any =
            |names: &[String], others: &[String]| names.is_empty() || names.iter().any(|name| others.contains(name));
        self.fits_whole(subject)
            && wanted.flags.iter().all(|flag| arguments.has(flag))
            && (wanted.any_flags.is_empty() || wanted.any_flags.iter().any(|flag| arguments.has(flag)))
            && !wanted.no_flags.iter().any(|flag| arguments.has(flag))
            && operands.len() >= wanted.min_operands
            && wanted.max_operands.is_none_or(|most| operands.len() <= most)
            && self.fits_paths(arguments, arguments.operands.len() - operands.len(), command, subject.places)
            && self.operand.as_ref().is_none_or(|pattern| operands.iter().any(|word| pattern.is_match(&word.text)))
            && self
                .target
                .as_ref()
                .is_none_or(|pattern| operands.last().is_some_and(|word| pattern.is_match(&word.text)))
            && self.word.as_ref().is_none_or(|pattern| command.args.iter().any(|word| pattern.is_match(&word.text)))
            && !self
                .no_word
                .as_ref()
                .is_some_and(|pattern| command.args.iter().any(|word| pattern.is_match(&word.text)))
            && any(&wanted.reads_from, &command.upstream)
            && any(&wanted.feeds, &command.downstream)
            && any(&wanted.wrapped_by, &command.wrappers)
            && !(wanted.no_document && command.input.as_ref().is_some_and(Word::is_known))
            && self.fits_environment(command)
            && self.fits_reads(command)
            && self.fits_writes(command, subject.places)
    }

    /// Whether it is about what the program does, which with `--help` is nothing: and not about the shell's redirections, about
    /// what only the shell will know, or about a text that the program reads.
    fn acts(&self) -> bool {
        let Match { construct, reads_from, writes_paths, .. } = &self.wanted;
        construct.is_none() && reads_from.is_empty() && writes_paths.is_empty() && self.writes.is_none()
    }

    fn fits_environment(&self, command: &Command) -> bool {
        let fits = |pattern: &Regex| {
            command.environment.iter().any(|(name, value)| pattern.is_match(&format!("{name}={}", value.text)))
        };
        self.environment.as_ref().is_none_or(fits)
    }

    /// Of the operands from `first` on.
    fn fits_paths(&self, arguments: &Arguments<'_>, first: usize, command: &Command, places: &Places) -> bool {
        if self.paths.is_empty() {
            return true;
        }
        let classes = arguments.classes(|word| command.class(word, places));
        classes.iter().skip(first).any(|class| self.paths.contains(class))
    }

    fn fits_reads(&self, command: &Command) -> bool {
        let mut sources = command.redirects.iter().filter(|redirect| redirect.kind == RedirectKind::Read);
        self.reads.as_ref().is_none_or(|pattern| sources.any(|redirect| pattern.is_match(&redirect.target.text)))
    }

    fn fits_writes(&self, command: &Command, places: &Places) -> bool {
        if self.writes.is_none() && self.writes_paths.is_empty() {
            return true;
        }
        command.redirects.iter().filter(|redirect| redirect.kind != RedirectKind::Read).any(|redirect| {
            let target = &redirect.target;
            self.writes.as_ref().is_none_or(|pattern| pattern.is_match(&target.text))
                && (self.writes_paths.is_empty() || self.writes_paths.contains(&command.class(target, places)))
        })
    }
}

/// Whether it says something of a command that need not be of a certain program.
fn is_of_any_command(wanted: &Match) -> bool {
    let Match { word, environment, reads, writes, .. } = wanted;
    [word, environment, reads, writes].iter().any(|pattern| pattern.is_some())
}

/// Whether `part` stands in `text`, in any case.
fn contains(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let Some(first) = part.first() else { return true };
    let begins = |at: usize| text[at..].get(..part.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(part));
    (0..text.len()).any(|at| text[at].eq_ignore_ascii_case(first) && begins(at))
}

/// `mkfs.*` stands for any ending.
fn is_program(name: &str, command: &Command) -> bool {
    let same = |one: &str, other: &str| if command.windows { one.eq_ignore_ascii_case(other) } else { one == other };
    match name.strip_suffix('*') {
        Some(begin) => command.program.starts_with(begin),
        None => same(name, &command.program),
    }
}

/// What a terminal obeys or hides, and what turns text around.
fn is_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}
