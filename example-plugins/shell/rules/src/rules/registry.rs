//! The rules in force, in the order in which they are checked.

use super::answers::Answers;
use super::matching::{Matcher, Subject, initial, initials};
use super::pattern::{Compile, Pattern};
use super::programs::{Arguments, Programs};
use super::words::{Index, Numbers, first};
use super::{CUSTOM, Catalogue, Embedded, FLOOR, READS, Rule, Text, Texts};
use hookhost_guest::prelude::ShellDialect;
use litemap::LiteMap;
use serde::Deserialize;
use shell_reader::{Command, MAX_LENGTH, PathContext, Script, Word, is_lower, leave, lower, read};
use std::borrow::Cow;

/// The effect of rules that match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Rewrites are made and reported.
    #[default]
    RewriteWithAudit,
    /// Rewrites are made. Only refusals and questions are reported.
    Rewrite,
    /// Every match is refused.
    Deny,
    /// Matches are only reported, but rules that deny still deny.
    Audit,
}

impl Mode {
    const ALL: [(&'static str, Self); 4] = [
        ("rewrite-with-audit", Self::RewriteWithAudit),
        ("rewrite", Self::Rewrite),
        ("deny", Self::Deny),
        ("audit", Self::Audit),
    ];

    /// Returns true if, in this mode, a rule takes the action that it names.
    pub(crate) fn acts(self) -> bool {
        matches!(self, Self::RewriteWithAudit | Self::Rewrite)
    }
}

/// Does the same as the derived implementation, but gives a better error if the word is a prefix or an extension of a valid word.
impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Cow::<str>::deserialize(deserializer)?;
        if let Some((_, mode)) = Self::ALL.iter().find(|(word, _)| *word == given) {
            return Ok(*mode);
        }
        let near = |word: &str| given.len() > 2 && (word.starts_with(&*given) || given.starts_with(word));
        let advice = match Self::ALL.iter().find(|(word, _)| near(word)) {
            Some((word, _)) => format!("did you mean `{word}`?"),
            None => format!("the words here are `{}`", Self::ALL.map(|(word, _)| word).join("`, `")),
        };
        Err(serde::de::Error::custom(format!("unknown variant `{given}` of `mode`: {advice}")))
    }
}

/// The answer to a command that no rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Unknown {
    /// The command runs.
    #[default]
    Allow,
    /// A person is asked, unless the command is known to only read.
    Ask,
}

/// The part of the config that concerns rules.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    /// Modes of catalogues and rules, by id.
    pub(crate) modes: LiteMap<String, Mode>,
    /// Answers that replace the actions of rules, by `KIND:NAME`.
    pub(crate) answers: LiteMap<String, String>,
    /// Ids of catalogues and rules to leave out.
    pub(crate) remove: Vec<String>,
    pub(crate) unknown: Unknown,
    /// Rules that are checked before all other rules, no matter which stacks are in use.
    pub(crate) custom_rules: Vec<Rule>,
    /// Additional catalogues. A catalogue with the id of an embedded catalogue replaces the embedded catalogue.
    pub(crate) catalogues: Vec<Catalogue>,
}

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    /// The rule without its pattern and its matches, which are compiled separately.
    pub(crate) rule: Rule,
    pub(crate) catalogue: Text,
    pub(crate) mode: Mode,
    /// True if the rule comes from the config and not from the plugin.
    given: bool,
    stack: Option<Text>,
    pattern: Option<Pattern>,
    /// True if the rule ignores commands that write a whole file.
    pub(crate) spares_whole_files: bool,
}

impl CompiledRule {
    /// Returns true if the rule only says that a command reads. Such a rule has no effect of its own.
    pub(crate) fn is_about_reading(&self) -> bool {
        self.catalogue.as_str() == READS
    }

    pub(crate) fn is_floor(&self) -> bool {
        FLOOR.contains(&self.catalogue.as_str())
    }

    /// Returns true if the stacks that the rule needs are in use.
    pub(crate) fn holds_in(&self, has: &dyn Fn(&str) -> bool) -> bool {
        self.stack.as_deref().is_none_or(has)
            && (self.rule.applies_to.is_empty() || self.rule.applies_to.iter().any(|stack| has(stack_name(stack))))
    }

    /// Returns the stacks to which the rule applies.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = &str> {
        self.stack.as_deref().into_iter().chain(self.rule.applies_to.iter().map(|stack| stack_name(stack)))
    }
}

/// A rule that matches.
#[derive(Debug)]
pub(crate) struct RuleMatch<'a> {
    pub(crate) rule: &'a CompiledRule,
    /// Indices of the commands in the script that the rule matches. Empty if the rule is about the whole text.
    pub(crate) commands: Vec<usize>,
}

/// The rules. Each rule is boxed, because a growing list would move the rules, and a guest's memory never returns the space that they
/// leave.
type Rules = Vec<Box<CompiledRule>>;

/// Matchers that cannot be found by the exact name of a program.
#[derive(Debug, Default)]
struct General {
    /// Matchers for name patterns and for names with capital letters. Each matcher has a bit for each possible first byte, as in
    /// [`initials`].
    named: Vec<(u32, usize)>,
    /// Matchers for commands of any program.
    any: Vec<usize>,
    /// Matchers for commands that have a redirection from or to a file, of any program.
    redirecting: Vec<usize>,
    /// Matchers for commands for which a variable is set, of any program.
    setting: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Registry {
    rules: Rules,
    programs: Programs,
    /// Indices of the rules with a pattern.
    patterns: Vec<usize>,
    /// The matchers of all rules, in the order of the rules.
    matchers: Vec<Matcher>,
    /// Matchers by exact program name in lower case. A matcher for subcommands is listed with the first word of each subcommand.
    by_program: Index,
    /// All other matchers, except for the matchers about the whole text, which are in `of_text`.
    general: General,
    of_text: Vec<usize>,
    /// One line for each loaded catalogue.
    listing: Vec<String>,
    pub(crate) unknown: Unknown,
}

impl Registry {
    pub(crate) fn new(settings: Settings) -> Result<Self, String> {
        let Settings { mode, modes, answers, mut remove, unknown, custom_rules, catalogues: mut given } = settings;
        if unknown == Unknown::Allow {
            remove.push(READS.to_owned());
        }
        if let Some((at, _)) =
            given.iter().enumerate().find(|(at, one)| given[..*at].iter().any(|two| two.id == one.id))
        {
            return Err(format!("two catalogues have the id `{}`: give one of them another", given[at].id));
        }
        let programs = Programs::embedded()?;
        let mut embedded = Embedded::read()?;
        let answers = Answers::new(&answers)?;
        let matchers = Vec::with_capacity(embedded.totals.matches + matches_of(&custom_rules, &given));
        let rules = Vec::with_capacity(embedded.totals.rules);
        let mut loading =
            CatalogueLoader { mode, modes, answers, remove, rules, matchers, ..CatalogueLoader::default() };
        loading.take_given(Catalogue { id: CUSTOM.into(), rules: custom_rules, ..Catalogue::default() })?;
        while let Some(catalogue) = embedded.next().transpose()? {
            match given.iter().position(|other| other.id == catalogue.id) {
                Some(at) => loading.take_given(given.remove(at))?,
                None => loading.take(catalogue, &mut std::iter::from_fn(|| embedded.rule()), false)?,
            }
        }
        given.into_iter().try_for_each(|catalogue| loading.take_given(catalogue))?;
        // Dropping this frees memory that the compiled rules can use.
        let (rules, matchers, listing) = loading.finished()?;
        Self {
            rules,
            matchers,
            programs,
            patterns: Vec::new(),
            by_program: Index::default(),
            general: General::default(),
            of_text: Vec::new(),
            listing,
            unknown,
        }
        .indexed()
        .checked()
    }

    fn indexed(mut self) -> Self {
        self.patterns = (0..self.rules.len()).filter(|at| self.rules[*at].pattern.is_some()).collect();
        let mut named = Vec::with_capacity(self.matchers.len());
        for (number, matcher) in self.matchers.iter().enumerate() {
            let is_plain = |name: &str| !name.ends_with('*') && is_lower(name);
            if matcher.is_of_text() {
                self.of_text.push(number);
            } else if matcher.programs().next().is_some() && matcher.programs().all(is_plain) {
                named.push((matcher.initials(), u32::try_from(number).unwrap_or(u32::MAX), matcher));
            } else if matcher.programs().next().is_some() {
                self.general.named.push((matcher.initials(), number));
            } else if matcher.is_of_redirects() {
                self.general.redirecting.push(number);
            } else if matcher.is_of_environment() {
                self.general.setting.push(number);
            } else {
                self.general.any.push(number);
            }
        }
        let firsts = named.iter().flat_map(|(.., matcher)| matcher.programs()).map(first);
        self.by_program = Index::new(firsts, |byte| {
            let initial = initial(byte);
            let about = named.iter().filter(move |(initials, ..)| initials & initial != 0);
            about.flat_map(move |&(_, number, matcher)| {
                let names = matcher.programs().filter(move |name| first(name) == byte);
                names.flat_map(move |name| matcher.first_words().map(move |word| (name, word, number)))
            })
        });
        self
    }

    /// Returns one line for each loaded catalogue.
    pub(crate) fn listing(&self) -> &[String] {
        &self.listing
    }

    /// Checks that the rules from the config catch the commands in their `catches`, and do not catch the commands in their `leaves`.
    fn checked(self) -> Result<Self, String> {
        for rule in self.rules.iter().filter(|rule| rule.given) {
            let id = &rule.rule.id;
            if let Some(command) = rule.rule.catches.iter().find(|command| !self.catches(id, command)) {
                return Err(format!("rule `{id}` does not catch `{command}`, which is in its `catches`"));
            }
            if let Some(command) = rule.rule.leaves.iter().find(|command| self.catches(id, command)) {
                return Err(format!("rule `{id}` catches `{command}`, which is in its `leaves`"));
            }
        }
        Ok(self)
    }

    /// Returns true if a rule matches the example `command`. The command is checked as if all stacks were in use in its project.
    pub(crate) fn catches(&self, rule: &str, command: &str) -> bool {
        const DIRECTORY: &str = "/work/project";
        let context = PathContext::new(DIRECTORY);
        let script = read(command, ShellDialect::Posix, DIRECTORY, &context);
        let subject = Subject::new(command, &script, &context);
        self.matching(&subject).iter().any(|hit| *hit.rule.rule.id == *rule)
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn rules(&self) -> &[Box<CompiledRule>] {
        &self.rules
    }

    pub(crate) fn arguments<'a>(&'a self, command: &'a Command) -> Arguments<'a> {
        self.programs.arguments(command)
    }

    /// Returns true if the part of a script that could be read runs a program that a rule or the reader knows.
    pub(crate) fn knows_a_program_of(&self, script: &Script) -> bool {
        let is_known = |command: &Command| {
            let arguments = self.arguments(command);
            shell_reader::is_known_program(&command.program)
                || self.programs.get(&command.program).is_some()
                || self.naming(command, &arguments).next().is_some()
        };
        script.commands.iter().any(is_known)
    }

    /// Returns the matchers that name the program of `command`. A matcher with subcommands is returned only if one of these subcommands
    /// begins with the command's first operand.
    fn naming(&self, command: &Command, arguments: &Arguments<'_>) -> impl Iterator<Item = &Matcher> {
        let program = lower(&command.program);
        let is_named = command.windows || is_lower(&command.program);
        let numbers = if is_named { self.by_program.get(&program) } else { Numbers::default() };
        let of_subcommand = arguments.operands.first().map(|word| numbers.of(Some(&word.text)));
        // The matcher itself checks the whole subcommand.
        numbers.of(None).chain(of_subcommand.into_iter().flatten()).map(|number| &self.matchers[number as usize])
    }

    /// Returns the matchers for name patterns that match the command's program.
    fn named_alike<'a>(&'a self, command: &'a Command) -> impl Iterator<Item = &'a Matcher> {
        let initial = initials(&command.program);
        let alike = self.general.named.iter().filter(move |(initials, _)| initials & initial != 0);
        alike.map(|(_, number)| &self.matchers[*number]).filter(|matcher| matcher.is_about(command))
    }

    /// Returns the matchers without an exact program name that may apply to the command.
    fn general_about<'a>(&'a self, command: &'a Command) -> impl Iterator<Item = &'a Matcher> {
        let General { any, redirecting, setting, .. } = &self.general;
        let redirecting = if command.redirects.is_empty() { &[] } else { redirecting.as_slice() };
        let setting = if command.environment.is_empty() { &[] } else { setting.as_slice() };
        let of_any = any.iter().chain(redirecting).chain(setting).map(|number| &self.matchers[*number]);
        of_any.chain(self.named_alike(command))
    }

    /// Returns true if none of the plugin's own rules names the program. Returns false for a function of the script, and for a wrapper of
    /// another command in the script.
    fn is_unnamed(&self, command: &Command, script: &Script) -> bool {
        let is_own = |matcher: &Matcher| !matcher.unnamed && !self.rules[matcher.rule as usize].given;
        let program = lower(&command.program);
        let is_named = self.by_program.get(&program).all().any(|number| is_own(&self.matchers[number as usize]))
            || self.named_alike(command).any(is_own);
        // `docker exec web rm` may run `web` or, as the reader knows, `rm`.
        let runs = |other: &Command| {
            let (inner, outer) = (&other.place, &command.place);
            let is_among = |word: &Word| other.wrappers == command.wrappers && word.text == other.program;
            outer.start <= inner.start
                && inner.end <= outer.end
                && !std::ptr::eq(other, command)
                && (other.wrappers.contains(&command.program) || command.args.iter().any(is_among))
        };
        !is_named && !script.functions.contains(&command.program) && !script.commands.iter().any(runs)
    }

    /// Returns every rule that matches, in order.
    pub(crate) fn matching(&self, subject: &Subject<'_>) -> Vec<RuleMatch<'_>> {
        let mut found: LiteMap<usize, Vec<usize>> = LiteMap::new();
        for at in self.patterns.iter().filter(|_| subject.text.len() <= MAX_LENGTH) {
            if self.rules[*at].pattern.as_ref().is_some_and(|pattern| pattern.is_match(subject.text)) {
                found.entry(*at).or_default();
            }
        }
        for matcher in self.of_text.iter().map(|number| &self.matchers[*number]) {
            if matcher.fits_text(subject) {
                found.entry(matcher.rule as usize).or_default();
            }
        }
        for (number, command) in subject.script.commands.iter().enumerate() {
            let arguments = self.arguments(command);
            if let Some(other) = self.programs.likely_arguments(command, &arguments) {
                for matcher in self.naming(command, &other).filter(|matcher| matcher.is_of_subcommands()) {
                    if matcher.fits(command, &other, subject) {
                        note(&mut found, matcher.rule as usize, number);
                    }
                }
            }
            let general = self.general_about(command);
            for matcher in self.naming(command, &arguments).chain(general) {
                if matcher.fits(command, &arguments, subject)
                    && (!matcher.unnamed || self.is_unnamed(command, subject.script))
                {
                    note(&mut found, matcher.rule as usize, number);
                }
            }
            leave(arguments);
        }
        found.into_iter().map(|(at, commands)| RuleMatch { rule: &self.rules[at], commands }).collect()
    }
}

/// Records once that a rule matches a command.
fn note(found: &mut LiteMap<usize, Vec<usize>>, rule: usize, command: usize) {
    let commands = found.entry(rule).or_default();
    if commands.last() != Some(&command) {
        commands.push(command);
    }
}

/// A rule with its sort key. The first part of the key is false for the rules of the first catalogue, so these rules come before all
/// others.
struct OrderedRule {
    order: (bool, i64, i64),
    rule: Box<CompiledRule>,
    /// The rule's index in the order of loading. The rule's matchers contain this index.
    place: usize,
}

/// The state while catalogues are loaded.
#[derive(Default)]
struct CatalogueLoader {
    mode: Mode,
    modes: LiteMap<String, Mode>,
    answers: Answers,
    remove: Vec<String>,
    rules: Vec<OrderedRule>,
    /// The matchers, in one block of memory that does not grow.
    matchers: Vec<Matcher>,
    catalogues: Vec<String>,
    ids: Texts,
    /// Ids of the rules in catalogues that are left out.
    removed: Texts,
    /// Ids of rules and catalogues that deny in every mode.
    floor: Texts,
    listing: Vec<String>,
}

impl CatalogueLoader {
    /// Loads a catalogue from the config.
    fn take_given(&mut self, mut catalogue: Catalogue) -> Result<(), String> {
        let mut rules = std::mem::take(&mut catalogue.rules).into_iter().map(Ok);
        self.take(catalogue, &mut rules, true)
    }

    fn take(
        &mut self,
        catalogue: Catalogue,
        rules: &mut dyn Iterator<Item = Result<Rule, String>>,
        given: bool,
    ) -> Result<(), String> {
        let Catalogue { id, stack, version, source, priority, .. } = catalogue;
        self.catalogues.push(id.clone());
        if self.remove.contains(&id) {
            for rule in rules {
                self.removed.insert(rule?.id.to_string(), ());
            }
            return Ok(());
        }
        let is_floor = FLOOR.contains(&id.as_str());
        let named = Text::new(&id);
        let mut count = 0;
        for rule in rules {
            let mut rule = rule?;
            count += 1;
            if self.ids.insert(rule.id.to_string(), ()).is_some() {
                return Err(format!("two rules have the id `{}`: each needs one of its own", rule.id));
            }
            if self.remove.iter().any(|id| *id == *rule.id) {
                continue;
            }
            let mut mode = self.modes.get(&*rule.id).or_else(|| self.modes.get(&id)).copied().unwrap_or(self.mode);
            if is_floor {
                self.floor.insert(rule.id.to_string(), ());
                self.floor.insert(id.clone(), ());
            }
            if let Some(answer) = self.answers.of(&rule, &id).filter(|_| !is_floor) {
                if !answer.is_made(&mut rule) {
                    continue;
                }
                mode = if mode == Mode::Rewrite { mode } else { Mode::RewriteWithAudit };
            }
            rule.labels = Vec::new();
            let place = self.rules.len();
            let compiled = compile(rule, named, stack.as_deref(), mode, given, place, &mut self.matchers)?;
            let rule = Box::new(compiled);
            let order = (self.catalogues.len() > 1, -rule.rule.priority, -priority);
            // Each rule is inserted at its position in the order. This is fast enough for few rules, and sorting would add more code to the
            // component.
            let at = self.rules.partition_point(|other| other.order <= order);
            self.rules.insert(at, OrderedRule { order, rule, place });
        }
        // If there are no custom rules, they get no line. Custom rules have no version and no source.
        if id != CUSTOM || count > 0 {
            let version = if version.is_empty() { String::new() } else { format!(" {version}") };
            let source = if source.is_empty() { String::new() } else { format!(" of {source}") };
            let rules = if count == 1 { "rule" } else { "rules" };
            self.listing.push(format!("catalogue {id}{version}{source}: {count} {rules}"));
        }
        Ok(())
    }

    /// Returns the rules in order, their matchers, and a line for each catalogue.
    fn finished(mut self) -> Result<(Rules, Vec<Matcher>, Vec<String>), String> {
        self.catalogues.retain(|id| id != CUSTOM);
        let is_known =
            |id: &&String| self.ids.contains_key(*id) || self.removed.contains_key(*id) || self.catalogues.contains(id);
        if let Some(id) = self.remove.iter().chain(self.modes.keys()).find(|id| !is_known(id)) {
            return Err(format!(
                "there is no rule or catalogue `{id}`; the catalogues are {}",
                self.catalogues.join(", ")
            ));
        }
        self.answers.checked(&self.ids, &self.catalogues, &self.floor)?;
        // The final size is allocated at once, because freed memory stays part of the guest's memory.
        let mut rules = Vec::with_capacity(self.rules.len());
        let mut places = vec![0; self.rules.len()];
        for taken in self.rules {
            places[taken.place] = small(rules.len());
            rules.push(taken.rule);
        }
        let mut of_text_too = 0;
        for matcher in &mut self.matchers {
            (matcher.number, matcher.rule) = (of_text_too, places[matcher.rule as usize]);
            of_text_too += u32::from(matcher.looks_at_text());
        }
        Ok((rules, self.matchers, self.listing))
    }
}

fn compile(
    mut rule: Rule,
    catalogue: Text,
    stack: Option<&str>,
    mode: Mode,
    given: bool,
    place: usize,
    matchers: &mut Vec<Matcher>,
) -> Result<CompiledRule, String> {
    let making: Compile = if given { Pattern::written } else { Pattern::embedded };
    let id = rule.id;
    let wrong = |why: String| format!("rule `{id}`: {why}");
    if rule.id.is_empty() {
        return Err("a rule has an empty `id`".into());
    }
    if rule.pattern.is_none() && rule.matches.is_empty() {
        return Err(wrong("it needs a `pattern` or a `match`".into()));
    }
    if rule.rewrite.as_ref().is_some_and(|rewrite| rewrite.replace.is_some() && rewrite.of.is_empty()) {
        return Err(wrong(
            "its `replace` needs `of`: all words after the program's name, for which it does the same".into(),
        ));
    }
    if let Some(action @ ("rewrite" | "hint")) = rule.action.as_deref()
        && rule.rewrite.is_none()
    {
        return Err(wrong(format!("its action is `{action}`, and it has no `rewrite`")));
    }
    let pattern = rule.pattern.take().map(|pattern| making(*pattern)).transpose().map_err(wrong)?;
    let begin = matchers.len();
    for wanted in std::mem::take(&mut rule.matches) {
        let mut matcher = Matcher::new(*wanted, making).map_err(wrong)?;
        matcher.rule = small(place);
        matchers.push(matcher);
    }
    let stack = stack.map(|stack| Text::new(stack_name(stack)));
    let spares_whole_files = matchers[begin..].iter().any(Matcher::spares_whole_files);
    Ok(CompiledRule { given, catalogue, mode, stack, pattern, spares_whole_files, rule })
}

/// Converts a number to 32 bits. The number fits, because a guest's memory cannot hold more items.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Returns the number of matches in the rules of the config.
fn matches_of(rules: &[Rule], catalogues: &[Catalogue]) -> usize {
    rules.iter().chain(catalogues.iter().flat_map(|catalogue| &catalogue.rules)).map(|rule| rule.matches.len()).sum()
}

/// Returns the main name of a stack that has several names.
pub(crate) fn stack_name(name: &str) -> &str {
    match name {
        "ts" | "javascript" | "js" | "node" => "typescript",
        "py" => "python",
        name => name,
    }
}
