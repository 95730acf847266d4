//! The names and functions that a condition can use, in one table each.

use Capability::{Facts, None as Event};

/// What a value can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Known only when the condition is evaluated: an argument of a tool.
    Dynamic,
    /// `true` or `false`.
    Bool,
    /// A whole number of 64 bits.
    Int,
    /// A number of 64 bits with a fraction.
    Double,
    /// A text in Unicode.
    String,
    /// Strings.
    Strings,
    /// Values that are not known to be strings.
    List,
    /// Values with names, such as the arguments of a tool.
    Map,
}

impl Type {
    /// Returns the type for a sentence, such as "a string".
    #[must_use]
    pub const fn described(self) -> &'static str {
        match self {
            Self::Dynamic => "a value of any type",
            Self::Bool => "a boolean",
            Self::Int => "a number",
            Self::Double => "a number with a fraction",
            Self::String => "a string",
            Self::Strings => "a list of strings",
            Self::List => "a list",
            Self::Map => "a map",
        }
    }
}

/// What a plugin needs to know a name or to answer a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    /// Nothing: the event contains it.
    None,
    /// The host reads it from files, the kernel, the agent's environment, or the settings of an MCP server.
    Facts,
    /// The labels of the session and its sub-agents.
    Labels,
    /// What the plugin remembers of the session.
    State,
}

/// A name of the vocabulary.
#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    /// The name in an expression, such as `git.branch`.
    pub name: &'static str,
    /// What its value is, if it has one.
    pub kind: Type,
    /// What is needed to know it.
    pub needs: Capability,
    /// All values that it can have, if they are few.
    pub values: &'static [&'static str],
    /// One line for the documentation.
    pub doc: &'static str,
}

const fn name(name: &'static str, kind: Type, needs: Capability, doc: &'static str) -> Name {
    Name { name, kind, needs, values: &[], doc }
}

/// The prefix of the names of variables of the environment: `env.CI`.
pub const VARIABLES: &str = "env.";

/// The days of the week, as `time.weekday` has them.
pub const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Returns the weekday of a number of days since the Unix epoch, which was a Thursday.
#[must_use]
pub fn weekday(days: u64) -> &'static str {
    usize::try_from((days + 3) % 7).map_or(WEEKDAYS[0], |day| WEEKDAYS[day])
}

/// A variable of the environment, for its type and capability.
pub static VARIABLE: Name = name("env.NAME", Type::String, Facts, "the variable NAME of the agent's environment");

/// All names besides `env.NAME`, in the order of the documentation.
pub static NAMES: [Name; 47] = [
    name("command", Type::String, Event, "the text of one simple command"),
    name("program", Type::String, Event, "the name of its program, without its directory"),
    name("args", Type::Strings, Event, "its arguments, without its program"),
    name("flags", Type::Strings, Event, "its options"),
    name("redirects", Type::Strings, Event, "the files of its redirections"),
    name("variables", Type::Map, Event, "the variables that are set in front of it"),
    name("wrappers", Type::Strings, Event, "the programs that run it, such as `sudo` and `xargs`"),
    name("upstream", Type::Strings, Event, "the programs whose output it reads through a pipe"),
    name("downstream", Type::Strings, Event, "the programs that read its output through a pipe"),
    name("paths.read", Type::Strings, Event, "the files that it reads"),
    name("paths.written", Type::Strings, Event, "the files that it writes"),
    name("paths.deleted", Type::Strings, Event, "the files that it deletes"),
    name("path", Type::String, Event, "the file that a tool, a patch or a command uses"),
    name("path.in_workspace", Type::Bool, Event, "true if the file is in the workspace"),
    name("path.exists", Type::Bool, Facts, "true if there is a file or a directory at the path"),
    name("path.is_tracked", Type::Bool, Facts, "true if git tracks the file"),
    name("url", Type::String, Event, "the address of a request"),
    name("host", Type::String, Event, "the host of the address"),
    name("server", Type::String, Event, "the name of the MCP server"),
    name("tool", Type::String, Event, "the name of the tool"),
    name("tool.read_only", Type::Bool, Facts, "true if the tool's approved annotations say that it only reads"),
    name("tool.destructive", Type::Bool, Facts, "true if the tool's approved annotations say that it can destroy"),
    name("tool.open_world", Type::Bool, Facts, "true if the tool's approved annotations say that it reaches others"),
    name("arguments", Type::Map, Event, "the arguments of the tool"),
    name("text", Type::String, Event, "the prompt, text or result; of a call, what it writes or sends"),
    name("failed", Type::Bool, Event, "true if the result of the call is an error"),
    name("agent", Type::String, Event, "the name of the agent"),
    name("agent.version", Type::String, Facts, "the version of the agent"),
    Name {
        values: &["plan", "default", "accept-edits", "bypass", "auto"],
        ..name("session.mode", Type::String, Facts, "the agent's mode of permission")
    },
    name("session.depth", Type::Int, Event, "the number of sub-agents that the call is in"),
    name("session.headless", Type::Bool, Event, "true if nobody can answer a question"),
    name("session.sandboxed", Type::Bool, Facts, "true if the agent runs in `hookhost exec`"),
    name("cwd", Type::String, Event, "the working directory"),
    name("workspace", Type::String, Event, "the root of the workspace"),
    name("user", Type::String, Facts, "the user that the agent runs as"),
    name("git.branch", Type::String, Facts, "the branch that is checked out"),
    name("git.remote", Type::String, Facts, "the address of the remote repository"),
    name("kube.context", Type::String, Facts, "the context of kubectl"),
    name("kube.namespace", Type::String, Facts, "the namespace of kubectl"),
    name("aws.profile", Type::String, Facts, "the profile of the AWS command line"),
    name("aws.account", Type::String, Facts, "the account of this profile"),
    name("gcloud.project", Type::String, Facts, "the project of gcloud"),
    name("terraform.workspace", Type::String, Facts, "the workspace of Terraform"),
    name("docker.context", Type::String, Facts, "the context of Docker"),
    name("time.hour", Type::Int, Event, "the hour of the event, 0 to 23, in its own time zone"),
    name("time.minute", Type::Int, Event, "the minute of the event, 0 to 59"),
    Name { values: &WEEKDAYS, ..name("time.weekday", Type::String, Event, "the day of the event") },
];

/// What a function takes as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// A string literal: a label or the name of a rule.
    Word,
    /// A string literal that is an option of a command, such as `"--force"`.
    Flag,
    /// A literal such as `"10m"`. The function gets it as seconds.
    Window,
    /// A number literal from 1 to [`MAX_TIMES`].
    Times,
    /// An expression of type string.
    String,
}

/// Maximum number of times that a plugin remembers.
pub const MAX_TIMES: usize = 500;

/// Returns true if a plugin remembers so many times.
pub(crate) fn is_remembered(times: i64) -> bool {
    usize::try_from(times).is_ok_and(|times| times <= MAX_TIMES)
}

/// A function that the plugin answers, with what it remembers.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// The name in an expression.
    pub name: &'static str,
    /// Its arguments.
    pub parameters: &'static [Parameter],
    /// What it returns.
    pub returns: Type,
    /// What is needed to answer it.
    pub needs: Capability,
    /// The call, for the documentation and for messages.
    pub call: &'static str,
    /// One line for the documentation.
    pub doc: &'static str,
}

/// All functions that the plugin answers.
pub static FUNCTIONS: [Function; 7] = [
    Function {
        name: "flag",
        parameters: &[Parameter::Flag],
        returns: Type::Bool,
        needs: Capability::None,
        call: "flag(\"--force\")",
        doc: "true if the command has this option, in any spelling",
    },
    Function {
        name: "has",
        parameters: &[Parameter::Word],
        returns: Type::Bool,
        needs: Capability::Labels,
        call: "has(\"label\")",
        doc: "true if the session has this label",
    },
    Function {
        name: "since",
        parameters: &[Parameter::Word],
        returns: Type::Double,
        needs: Capability::State,
        call: "since(\"name\")",
        doc: "the seconds since this rule last matched, or since the session got this label; absent if never",
    },
    Function {
        name: "count",
        parameters: &[Parameter::Word, Parameter::Window],
        returns: Type::Int,
        needs: Capability::State,
        call: "count(\"rule\", \"10m\")",
        doc: "how often this rule matched in this time",
    },
    Function {
        name: "same_call",
        parameters: &[Parameter::Times, Parameter::Window],
        returns: Type::Bool,
        needs: Capability::State,
        call: "same_call(5, \"1m\")",
        doc: "true if the same call came this often in this time",
    },
    Function {
        name: "written_by_agent",
        parameters: &[Parameter::String],
        returns: Type::Bool,
        needs: Capability::State,
        call: "written_by_agent(path)",
        doc: "true if a call of this session created or changed the file",
    },
    Function {
        name: "created_by_agent",
        parameters: &[Parameter::String],
        returns: Type::Bool,
        needs: Capability::State,
        call: "created_by_agent(path)",
        doc: "true if a call of this session created the file or directory, and it is there since",
    },
];

/// Returns the name of the vocabulary that is written so. For `env.CI`, it returns [`VARIABLE`].
#[must_use]
pub fn find(written: &str) -> Option<&'static Name> {
    match written.strip_prefix(VARIABLES) {
        Some(variable) if !variable.contains('.') => Some(&VARIABLE),
        _ => NAMES.iter().find(|name| name.name == written),
    }
}

/// Returns the sentence about a name that the vocabulary does not have, with the one that is probably meant.
#[must_use]
pub fn unknown(written: &str) -> String {
    let names = || NAMES.iter().map(|name| name.name);
    let meant = names().find(|name| is_below(name, written)).or_else(|| nearest(written, names()));
    let hint = match meant {
        _ if written == "env" => ": write `env.NAME`".to_owned(),
        _ if FUNCTIONS.iter().any(|function| function.name == written) => ": it is a function".to_owned(),
        Some(name) => format!(": did you mean `{name}`?"),
        None => String::new(),
    };
    format!("unknown name `{written}`{hint}")
}

/// Returns true if names of the vocabulary begin with this one and a dot.
pub(crate) fn has_names_below(written: &str) -> bool {
    NAMES.iter().any(|name| is_below(name.name, written))
}

fn is_below(name: &str, written: &str) -> bool {
    name.strip_prefix(written).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns the candidate that is written most like `unknown`, if it is alike enough to be meant.
#[must_use]
pub fn nearest<'a>(unknown: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A typo changes few letters.
    let limit = (unknown.len() / 3).max(1);
    candidates
        .map(|candidate| (strsim::osa_distance(unknown, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Reads a time such as `10m` as seconds. It is at most 366 days.
#[must_use]
pub fn seconds(window: &str) -> Option<i64> {
    const MAXIMUM: i64 = 366 * 24 * 60 * 60;
    let (number, unit) = window.split_at_checked(window.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    let number: i64 = number.parse().ok().filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    number.checked_mul(unit).filter(|seconds| (1..=MAXIMUM).contains(seconds))
}
