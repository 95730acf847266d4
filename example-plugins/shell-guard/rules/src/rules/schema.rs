//! The format of a catalogue's file and of the plugin's config.

use super::compact::{Compact, Input, compact_table, members};
use super::pattern::Analysed;
use super::text::Text;
use super::words::Words;

/// Rules that belong together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    /// `SOURCE/STACK`, such as `hookhost/git`.
    pub id: String,
    /// The rules apply only if this stack is used; without a stack they always apply.
    pub stack: Option<String>,
    /// Of the rules, such as `0.1.0`.
    pub version: String,
    /// Who made them.
    pub source: String,
    /// Sorts between rules of equal priority; higher comes first.
    pub priority: i64,
    /// The rules; those of embedded catalogues come one by one.
    pub rules: Vec<Rule>,
}

/// One kind of mistake, and what to do about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rule {
    /// `STACK.TOOL.SHORT`, unique.
    pub id: Text,
    /// For people who read lists; it decides nothing.
    pub severity: Severity,
    /// One of [`ACTIONS`]. Without one, a rule makes its rewrite, or reports.
    pub action: Option<Text>,
    /// Higher is looked at first.
    pub priority: i64,
    /// What kind of harm it is about, such as `network`: `answers` names rules by it.
    pub labels: Vec<String>,
    /// The stacks that it is about; all if there is none.
    pub applies_to: Vec<Text>,
    /// One sentence that the model reads.
    pub explanation: Text,
    /// Links.
    pub references: Vec<Text>,
    /// The rule is silent where this variable of the host is `1` or `true`.
    pub unless_env: Option<Text>,
    /// A regular expression over the whole command, in place of `match`.
    pub pattern: Option<Box<Analysed>>,
    /// Any of these.
    pub matches: Matches,
    /// What would be right.
    pub rewrite: Option<Box<Rewrite>>,
    /// Commands that it catches.
    pub catches: Vec<String>,
    /// Commands that look alike and are left alone.
    pub leaves: Vec<String>,
}

/// Actions of rules. `audit` only reports, `hint` tells of a rewrite and does not make it, `allow` silences other rules.
pub(crate) const ACTIONS: [&str; 6] = ["deny", "ask", "rewrite", "hint", "audit", "allow"];

/// Each where it was made: a list of them grows by more than a guest's memory has left over.
type Matches = Vec<Box<Match>>;

/// How bad it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Severity {
    /// Irreversible, or against a policy.
    Error,
    /// Likely a mistake.
    #[default]
    Warning,
    /// A hint.
    Info,
}

/// What a command must be, all of it. A command that has `--help`, and no operands beside its subcommand, does not match a matcher
/// that is about what a program does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Match {
    /// File names of programs.
    pub program: Words,
    /// Its first operands: `"push"`, `"system prune"`. One of these.
    pub subcommand: Words,
    /// None of these: a program, `remove-i*`, or a program with its first operands, `"npm remove"`.
    pub no_program: Words,
    /// Only programs that no other rule of the plugin's own catalogues names.
    pub unnamed: bool,
    /// One of its first words is one of these, or begins or ends with it: `delete`, `delete-all`, `apps:destroy`, `removeUser`. Not a
    /// path, a file, or what may be an option's value.
    pub verbs: Words,
    /// Each of these, `"-f|--force"` in any spelling, `"--x=value"` with its value.
    pub flags: Vec<String>,
    /// At least one of these.
    pub any_flags: Vec<String>,
    /// None of these.
    pub no_flags: Vec<String>,
    /// A regular expression that an operand fits, those of the subcommand left out.
    pub operand: Option<Analysed>,
    /// The same, of the last operand alone: where `cp` and `ln` write.
    pub target: Option<Analysed>,
    /// A regular expression that any word fits; a flag's value is written `NAME=VALUE`.
    pub word: Option<Analysed>,
    /// A regular expression that no word fits.
    pub no_word: Option<Analysed>,
    /// A regular expression over the program and its words, with a blank between them, and over nothing else of the text.
    pub line: Option<Analysed>,
    /// A regular expression that these do not fit.
    pub no_line: Option<Analysed>,
    /// A regular expression that a statement of SQL fits, in any of its words or in what it reads. Strings are empty in it.
    pub statement: Option<Analysed>,
    /// A regular expression that the same statement does not fit.
    pub no_statement: Option<Analysed>,
    /// Where an operand leads: `root`, `home`, `host` (hookhost's own directories), `workspace`, …
    pub paths: Vec<String>,
    /// Of `paths` in a home or in the system, only those that are a large part of it, such as `~/Documents` and `/usr/lib`, and what
    /// cannot be said.
    pub whole: bool,
    /// At least so many operands, those of the subcommand left out.
    pub min_operands: usize,
    /// At most so many.
    pub max_operands: Option<usize>,
    /// A regular expression that the source of a redirection from a file fits.
    pub reads: Option<Analysed>,
    /// A regular expression that the target of a redirection into a file fits. With `program`, so does any file that it writes, removes or
    /// moves by its words: `tee x`.
    pub writes: Option<Analysed>,
    /// Where such a target leads.
    pub writes_paths: Vec<String>,
    /// Where anything leads that it writes, removes, moves or links by any of its words, such as `of=x` of `dd`.
    pub touches: Vec<String>,
    /// What it writes, removes, moves or links by any of its words: `hookhost` (hookhost's own files), `agents` (the files in which
    /// agents name their hooks).
    pub changes: Vec<String>,
    /// Not where its input is a here-document: `cat > x <<EOF` writes a file whole.
    pub no_document: bool,
    /// How it gets what a file of secrets holds, in one of these ways: `file` (a word names it), `input`, `value` (a word has it, as
    /// `"$(cat .env)"` does), `shown` (the same of what people see), `place` (it runs in a directory of such files, or in a
    /// home).
    pub secret: Vec<String>,
    /// Not where what it prints is put into a variable, or into a header that says who asks: `TOKEN="$(pass show x)"`.
    pub shown: bool,
    /// A program whose output it reads.
    pub reads_from: Words,
    /// A program that reads its output.
    pub feeds: Words,
    /// A program that runs it.
    pub wrapped_by: Words,
    /// A regular expression over `NAME=VALUE` of what is set for it.
    pub environment: Option<Analysed>,
    /// A regular expression over the same that none of it fits.
    pub no_environment: Option<Analysed>,
    /// The text contains one of these, in upper or lower case: a fast check before any pattern.
    pub contains: Vec<String>,
    /// The text contains none of these.
    pub lacks: Vec<String>,
    /// A regular expression over the whole text.
    pub text: Option<Analysed>,
    /// A regular expression that the whole text does not fit.
    pub no_text: Option<Analysed>,
    /// What is no matter of words: `unreadable`, `runs-unknown`, `runs-fetched`, `fork-bomb`, `control-characters`, `look-alike`,
    /// `unknown-program`.
    pub construct: Option<Construct>,
}

/// What a command is beside its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Construct {
    /// It cannot be parsed, or is too much to be read.
    Unreadable,
    /// Text that only the shell will know is run as a command.
    RunsUnknown,
    /// A file is run that the same text has fetched.
    RunsFetched,
    /// A function that starts itself again and again.
    ForkBomb,
    /// Characters that a terminal hides or obeys.
    ControlCharacters,
    /// A program's name with letters that are not ASCII.
    LookAlike,
    /// The program is only known when it runs.
    UnknownProgram,
}

impl Construct {
    /// Each by its word.
    pub(crate) const NAMES: [(&'static str, Self); 7] = [
        ("unreadable", Self::Unreadable),
        ("runs-unknown", Self::RunsUnknown),
        ("runs-fetched", Self::RunsFetched),
        ("fork-bomb", Self::ForkBomb),
        ("control-characters", Self::ControlCharacters),
        ("look-alike", Self::LookAlike),
        ("unknown-program", Self::UnknownProgram),
    ];
}

/// What is put in a matching command's place. Made only where it provably keeps the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rewrite {
    /// Words after the program's name.
    pub after_program: Vec<String>,
    /// Words at the end, but before a `--`.
    pub append: Vec<String>,
    /// Words after a `--`, which is added if it is missing.
    pub after_dashes: Vec<String>,
    /// In place of the whole command, which must then be alone, and one of `of`.
    pub replace: Option<String>,
    /// All words after the program's name, with a blank between them: what `replace` is known to replace.
    pub of: Vec<String>,
    /// Not where the command has operands: what follows them may be another program's.
    pub no_operands: bool,
    /// Not where it has one of these.
    pub no_flags: Vec<String>,
    /// Not where a word of the text, or a part of a path in it, is one of these: the rest may count on what would change.
    pub unless_named: Vec<String>,
    /// Only where people see what it prints, and no program and no file gets it.
    pub only_shown: bool,
    /// Only where it runs in the workspace itself: elsewhere, a path in the new words would lead elsewhere.
    pub only_at_workspace: bool,
}

compact_table!(
    Catalogue,
    members::CATALOGUE,
    "id" => id,
    "stack" => stack,
    "version" => version,
    "source" => source,
    "priority" => priority,
    "rule" => rules,
);
compact_table!(
    Rule,
    members::RULE,
    "id" => id,
    "severity" => severity,
    "action" => action,
    "priority" => priority,
    "labels" => labels,
    "applies-to" => applies_to,
    "stacks" => applies_to,
    "explanation" => explanation,
    "references" => references,
    "unless-env" => unless_env,
    "pattern" => pattern,
    "match" => matches,
    "rewrite" => rewrite,
    "catches" => catches,
    "leaves" => leaves,
);
compact_table!(
    Match,
    members::MATCH,
    "program" => program,
    "subcommand" => subcommand,
    "no-program" => no_program,
    "unnamed" => unnamed,
    "verbs" => verbs,
    "flags" => flags,
    "any-flags" => any_flags,
    "no-flags" => no_flags,
    "operand" => operand,
    "target" => target,
    "word" => word,
    "no-word" => no_word,
    "line" => line,
    "no-line" => no_line,
    "statement" => statement,
    "no-statement" => no_statement,
    "paths" => paths,
    "whole" => whole,
    "min-operands" => min_operands,
    "max-operands" => max_operands,
    "reads" => reads,
    "writes" => writes,
    "writes-paths" => writes_paths,
    "touches" => touches,
    "changes" => changes,
    "no-document" => no_document,
    "secret" => secret,
    "shown" => shown,
    "reads-from" => reads_from,
    "feeds" => feeds,
    "wrapped-by" => wrapped_by,
    "environment" => environment,
    "no-environment" => no_environment,
    "contains" => contains,
    "lacks" => lacks,
    "text" => text,
    "no-text" => no_text,
    "construct" => construct,
);
compact_table!(
    Rewrite,
    members::REWRITE,
    "after-program" => after_program,
    "append" => append,
    "after-dashes" => after_dashes,
    "replace" => replace,
    "of" => of,
    "no-operands" => no_operands,
    "no-flags" => no_flags,
    "unless-named" => unless_named,
    "only-shown" => only_shown,
    "only-at-workspace" => only_at_workspace,
);

impl Severity {
    /// Each by its word.
    pub(crate) const NAMES: [(&'static str, Self); 3] =
        [("error", Self::Error), ("warning", Self::Warning), ("info", Self::Info)];
}

/// What one of several words stands for.
fn named<T: Copy>(names: &[(&str, T)], input: &mut Input) -> Option<T> {
    let given = input.text()?;
    names.iter().find(|(word, _)| *word == given).map(|(_, named)| *named)
}

impl Compact for Severity {
    fn read(input: &mut Input) -> Option<Self> {
        named(&Self::NAMES, input)
    }
}

impl Compact for Construct {
    fn read(input: &mut Input) -> Option<Self> {
        named(&Self::NAMES, input)
    }
}
