//! The format of a catalogue file and of the rules in the plugin's config. The build script uses these types to read the files and to write
//! them in the postcard format. The plugin uses the same types to read the result and its config.

use super::expression;
use super::text::Text;
use super::words::Words;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// A group of rules.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct Catalogue {
    /// `SOURCE/STACK`, such as `hookhost/git`.
    pub id: String,
    /// The stack, such as `rust`, that must be in use for the rules to apply. Without a stack, the rules always apply.
    #[serde(default)]
    pub stack: Option<String>,
    /// The version of the rules, such as `0.1.0`.
    #[serde(default)]
    pub version: String,
    /// The author of the rules.
    #[serde(default)]
    pub source: String,
    /// The priority of the catalogue. Among rules of equal priority, the rules of the catalogue with the higher number come first.
    #[serde(default)]
    pub priority: i64,
    /// The rules. For an embedded catalogue, this list is empty, because its rules are read one by one.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// A rule: a kind of mistake and the action on it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct Rule {
    /// `STACK.TOOL.SHORT`, unique.
    pub id: Text,
    /// The severity, which is shown in lists. It has no effect on the action.
    #[serde(default)]
    pub severity: Severity,
    /// One of [`ACTIONS`]. A rule without an action applies its rewrite. If the rule has no rewrite either, it only reports the command.
    #[serde(default)]
    pub action: Option<Text>,
    /// The priority. Rules with a higher number are checked first.
    #[serde(default)]
    pub priority: i64,
    /// The kinds of harm, such as `network`. `answers` can refer to rules by label.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The stacks to which the rule applies, or an empty list for all stacks.
    #[serde(default, alias = "stacks")]
    pub applies_to: Vec<Text>,
    /// One sentence that the model reads.
    #[serde(default)]
    pub explanation: Text,
    /// Links.
    #[serde(default)]
    pub references: Vec<Text>,
    /// An environment variable of the host. If the value of the variable is `1` or `true`, the rule has no effect.
    #[serde(default)]
    pub unless_env: Option<Text>,
    /// A regular expression over the whole command, in place of `match`.
    #[serde(default)]
    pub pattern: Option<Box<Expression>>,
    /// The matches. The rule applies if one of them matches.
    #[serde(default, rename = "match")]
    pub matches: Matches,
    /// The correct command.
    #[serde(default)]
    pub rewrite: Option<Box<Rewrite>>,
    /// Examples of commands that the rule catches.
    #[serde(default)]
    pub catches: Vec<String>,
    /// Examples of similar commands that the rule leaves alone.
    #[serde(default)]
    pub leaves: Vec<String>,
}

/// The actions of rules. `audit` only reports, `hint` reports a rewrite without making it, and `allow` prevents other rules from having an
/// effect.
pub(crate) const ACTIONS: [&str; 6] = ["deny", "ask", "rewrite", "hint", "audit", "allow"];

/// The matches of a rule. Each match is boxed, because a growing list of matches would leave unused space in a guest's memory.
type Matches = Vec<Box<Match>>;

/// The severity of a mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// Irreversible, or against a policy.
    Error,
    /// Likely a mistake.
    #[default]
    Warning,
    /// A hint.
    Info,
}

/// Conditions on a command, which must all be met. A command that has `--help` and no operands after its subcommand does not meet
/// conditions on the program's effect.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default, bound(deserialize = "'de: 'static"))]
pub(crate) struct Match {
    /// The programs, by file name. The command must run one of them.
    pub program: Words,
    /// The subcommands, as first operands: `"push"`, `"system prune"`. The command must have one of them.
    pub subcommand: Words,
    /// Excluded programs: a name, a pattern such as `remove-i*`, or a program with its first operands, `"npm remove"`.
    pub no_program: Words,
    /// Restricts the match to programs that no other rule in the plugin's own catalogues names.
    pub unnamed: bool,
    /// The verbs. One of the command's first words must be one of the verbs, or must begin or end with one of them: `delete`, `delete-all`,
    /// `apps:destroy`, `removeUser`. Words that are paths, files or possible values of options are skipped.
    pub verbs: Words,
    /// Flags that must all be present. `"-f|--force"` accepts either spelling, and `"--x=value"` requires this value.
    pub flags: Vec<String>,
    /// Flags. At least one of them must be present.
    pub any_flags: Vec<String>,
    /// Flags. None of them may be present.
    pub no_flags: Vec<String>,
    /// A regular expression for an operand after the subcommand.
    pub operand: Option<Expression>,
    /// A regular expression for the last operand, which is the target of `cp` and `ln`.
    pub target: Option<Expression>,
    /// A regular expression that a word must match. A flag with a value is one word, `NAME=VALUE`.
    pub word: Option<Expression>,
    /// A regular expression that no word may match.
    pub no_word: Option<Expression>,
    /// A regular expression for the program and its words, separated by spaces, without the rest of the text.
    pub line: Option<Expression>,
    /// A regular expression that the program and its words must not match.
    pub no_line: Option<Expression>,
    /// A regular expression for a SQL statement in a word or in the input. The content of strings is removed from the statement first.
    pub statement: Option<Expression>,
    /// A regular expression that the same statement must not match.
    pub no_statement: Option<Expression>,
    /// Classes of paths. An operand must have one of these classes: `root`, `home`, `host` (hookhost's own directories), `workspace`, …
    pub paths: Vec<String>,
    /// Restricts `paths`: a path in a home directory or in the system matches only if it is a large part, such as `~/Documents` or
    /// `/usr/lib`, or if the path is unknown.
    pub whole: bool,
    /// Minimum number of operands after the subcommand.
    pub min_operands: usize,
    /// Maximum number of operands after the subcommand.
    pub max_operands: Option<usize>,
    /// A regular expression for the source of a redirection from a file.
    pub reads: Option<Expression>,
    /// A regular expression for the target of a redirection to a file. If `program` is given, the expression is also compared with the
    /// files that the command writes, removes or moves because of its words: `tee x`.
    pub writes: Option<Expression>,
    /// Classes of paths. The target of a redirection to a file must have one of these classes.
    pub writes_paths: Vec<String>,
    /// Classes of paths. A file that the command writes, removes, moves or links because of its words must have one of these classes. An
    /// example of such a word is `of=x` of `dd`.
    pub touches: Vec<String>,
    /// The owners of guarded files. The command must write, remove, move or link a file of one of these owners, or pass the file to a
    /// program that is not known to be read-only. The owners are:
    /// - `hookhost`: hookhost's own files
    /// - `agents`: the files in which agents name their hooks and proxies
    /// - `keys`: hookhost's keys, even if the command only reads them
    pub changes: Vec<String>,
    /// Excludes commands whose input is a here-document, because `cat > x <<EOF` writes a whole file.
    pub no_document: bool,
    /// The ways in which the command gets the content of a secret file:
    /// - `file`: a word names the file
    /// - `input`: the file is the command's input
    /// - `value`: a word contains the content, as in `"$(cat .env)"`
    /// - `shown`: like `value`, and people see the output
    /// - `place`: the command runs in a directory of secret files or in a home directory
    pub secret: Vec<String>,
    /// Excludes commands whose output goes into a variable, or into a header that carries credentials: `TOKEN="$(pass show x)"`.
    pub shown: bool,
    /// The programs whose output the command must read.
    pub reads_from: Words,
    /// The programs that must read the command's output.
    pub feeds: Words,
    /// The programs that must run the command.
    pub wrapped_by: Words,
    /// A regular expression for a variable that is set for the command, in the form `NAME=VALUE`.
    pub environment: Option<Expression>,
    /// A regular expression that no such variable may match.
    pub no_environment: Option<Expression>,
    /// Texts. The command line must contain one of them, in upper or lower case. This is checked before any pattern, because the check is
    /// fast.
    pub contains: Vec<String>,
    /// Texts. The command line must contain none of them.
    pub lacks: Vec<String>,
    /// A regular expression that the whole text must match.
    pub text: Option<Expression>,
    /// A regular expression that the whole text must not match.
    pub no_text: Option<Expression>,
    /// A property of the command or the text that does not depend on single words: `unreadable`, `runs-unknown`, `runs-fetched`,
    /// `fork-bomb`, `control-characters`, `look-alike`, `unknown-program`.
    pub construct: Option<Construct>,
}

/// A property of a command or a text that does not depend on single words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Construct {
    /// The text cannot be parsed, or is too expensive to read.
    Unreadable,
    /// The text runs a command that only the shell can determine.
    RunsUnknown,
    /// The text runs a file that it has downloaded.
    RunsFetched,
    /// A function is a fork bomb, because it starts itself twice at the same time, or in the background.
    ForkBomb,
    /// The text has characters that a terminal hides or obeys.
    ControlCharacters,
    /// The program's name has letters outside of ASCII.
    LookAlike,
    /// The command's program is unknown before the command runs.
    UnknownProgram,
}

impl Construct {
    /// The constructs with their names in rules.
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

/// The replacement for a matching command. The command is replaced only if the rest of the text provably does the same as before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default, bound(deserialize = "'de: 'static"))]
pub(crate) struct Rewrite {
    /// Words to insert after the program's name.
    pub after_program: Vec<String>,
    /// Words to add at the end, or before a `--` if there is one.
    pub append: Vec<String>,
    /// Words to add after a `--`. A missing `--` is added, too.
    pub after_dashes: Vec<String>,
    /// The replacement for the whole command. The text must contain no other command, and the words of the command must be in `of`.
    pub replace: Option<String>,
    /// The commands that `replace` can replace. Each entry has the words after the program's name, joined by spaces.
    pub of: Vec<String>,
    /// Excludes commands with operands, because the words after an operand may belong to another program.
    pub no_operands: bool,
    /// Excludes commands with one of these flags.
    pub no_flags: Vec<String>,
    /// Excludes texts in which one of these names is a word or a component of a path, because the rest of the text may depend on the part
    /// that would change.
    pub unless_named: Vec<String>,
    /// Restricts the rewrite to commands whose output a person sees. Output that goes to a program or a file is excluded.
    pub only_shown: bool,
    /// Restricts the rewrite to commands that run in the workspace's root. In another directory, a path in the new words would mean another
    /// file.
    pub only_at_workspace: bool,
}

impl Severity {
    /// The severities with their names.
    pub(crate) const NAMES: [(&'static str, Self); 3] =
        [("error", Self::Error), ("warning", Self::Warning), ("info", Self::Info)];
}

/// A regular expression, as a list of alternatives. It matches if one of the alternatives matches. The build script divides and analyses
/// the expressions of the embedded catalogues. An expression of the config is a single search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Expression(pub(crate) Vec<Alternative>);

/// One alternative of a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(crate) enum Alternative {
    /// An expression for which comparing texts is enough: `^(one|other)$`, `^word`, `\.(one|other)$`.
    Texts { texts: Words, place: TextPosition, any_case: bool },
    /// A search. Each match contains one text of each list in `needed`, in upper or lower case.
    Search { source: Text, needed: Vec<Words> },
}

/// The position in a text at which another text must occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TextPosition {
    Whole,
    Begin,
    End,
    #[default]
    Anywhere,
}

/// Reads the text of the expression from a catalogue file or the config, and its alternatives from an embedded catalogue.
impl<'de: 'static> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            Text::deserialize(deserializer).map(expression)
        } else {
            Deserialize::deserialize(deserializer).map(Self)
        }
    }
}

/// The number of rules and of their matches in all embedded catalogues.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) rules: usize,
    pub(crate) matches: usize,
}

/// The file of known programs.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(crate) struct ProgramFile {
    pub(crate) program: Vec<Program>,
}

/// A program, or several programs with the same options.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default, bound(deserialize = "'de: 'static"))]
pub(crate) struct Program {
    pub(crate) names: Vec<Text>,
    pub(crate) style: Style,
    /// Options that take a value. They apply before a subcommand, and also after it unless `separate` is set.
    pub(crate) values: Words,
    /// True if the options before a subcommand have no meaning after it.
    pub(crate) separate: bool,
    /// True if long options may be abbreviated.
    pub(crate) abbreviations: bool,
    /// All long options of the program; `options_of` has the options of each subcommand. An abbreviation is valid if exactly one option
    /// begins with the abbreviation.
    pub(crate) options: Words,
    pub(crate) options_of: BTreeMap<Text, Words>,
    /// True if a first word like `+nightly` chooses a toolchain.
    pub(crate) toolchain: bool,
    /// For each subcommand, the options of the subcommand that take a value.
    pub(crate) subcommands: BTreeMap<Text, Words>,
}

/// The spelling of a program's options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Style {
    /// `-rf`, `--recursive`.
    #[default]
    Gnu,
    /// `-auto-approve`, `-delete`.
    SingleDash,
    /// `/s`, in either case.
    Slash,
}
