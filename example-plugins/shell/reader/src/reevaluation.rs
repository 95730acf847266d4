//! Finds the commands in values that the shell evaluates once more after all other expansions. In arithmetic, the index of an array element
//! is expanded again (`x='a[$(ls)]'; ((x))`). A value that is shown as a prompt is also expanded again (`"${x@P}"`).

use super::ascii::Ascii as _;
use super::expansion::ansi;
use super::read::{Reader, Unreadable};
use super::word::{UNKNOWN, Word};
use super::{Command, wrappers};

/// The name under which all arguments are stored.
const ARGUMENTS: &str = "@";
/// Variables whose values the shell itself computes. These values are always numbers.
const NUMBERS: [&str; 6] = ["RANDOM", "SRANDOM", "OPTIND", "HISTCMD", "SECONDS", "LINENO"];
/// Variables that are prompts.
const PROMPTS: [&str; 4] = ["PS0", "PS1", "PS2", "PS4"];

/// A way in which the shell evaluates a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// The value is evaluated as an arithmetic expression, whose indices may contain commands.
    Number,
    Prompt,
}

/// The values of all variables, and the names of the variables that the shell evaluates again. The order of assignments and evaluations in
/// the text is ignored, because a loop or a function may evaluate a value that is set later in the text.
#[derive(Debug, Default)]
pub(super) struct EvaluatedValues {
    values: Vec<Value>,
    names: Vec<(String, ValueKind)>,
}

/// A value of a variable.
#[derive(Debug)]
struct Value {
    name: String,
    /// The value, or [`UNKNOWN`] if another machine sends it.
    text: String,
    /// The kinds of evaluation for which the commands in the value were already read.
    read_as: Vec<ValueKind>,
}

impl EvaluatedValues {
    fn name(&mut self, name: &str, kind: ValueKind) {
        if !self.names.iter().any(|(other, of)| other == name && *of == kind) {
            self.names.push((name.to_owned(), kind));
        }
    }

    fn value(&mut self, name: &str, text: &str) {
        self.values.push(Value { name: name.to_owned(), text: text.to_owned(), read_as: Vec::new() });
    }

    fn size(&self) -> (usize, usize) {
        (self.values.len(), self.names.len())
    }
}

impl Reader<'_> {
    /// Records a value of a variable.
    pub(super) fn remember(&mut self, name: &str, text: &str) {
        if text.bytes().any(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
            self.evaluated.value(name, text);
        }
    }

    /// Records the unexpanded value of a variable, if the value refers to other variables. The values of these variables may be known from
    /// other parts of the text.
    pub(super) fn remember_written(&mut self, name: &str, raw: &str) {
        if raw.has(b'$') && !raw.contains("$(") && !raw.has(b'`') {
            self.evaluated.value(name, raw);
        }
    }

    /// Records arguments.
    pub(super) fn remember_arguments(&mut self, words: &[Word]) {
        words.iter().for_each(|word| self.remember(ARGUMENTS, &word.text));
    }

    /// Records that a variable contains text that the commands since `begin` have downloaded, unless these commands reduce the text to a
    /// number.
    pub(super) fn remember_fetched(&mut self, name: &str, begin: usize) {
        let commands = &self.script.commands[begin..];
        let is_number = commands.last().is_none_or(prints_number);
        if !is_number && commands.iter().any(|command| self.brings_fetched(command)) {
            self.evaluated.value(name, &UNKNOWN.to_string());
        }
    }

    /// Records the variables in an arithmetic expression.
    pub(super) fn evaluates(&mut self, expression: &str) -> Result<(), Unreadable> {
        for name in names(expression) {
            self.spend(1 + self.evaluated.names.len())?;
            self.evaluated.name(name, ValueKind::Number);
        }
        // In `((a$x))`, the expression is `a[…]` if the value of `x` is `[…]`.
        let is_made = |at: usize| matches!(expression.as_bytes()[at], b'_' | b'}' | b']' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
        let mut joints = expression.match_indices('$').filter(|(at, _)| *at > 0 && is_made(at - 1));
        if joints.next().is_some()
            && let Ok(value) = self.value(expression)
        {
            self.indexed(&value);
        }
        Ok(())
    }

    /// Records the variables that zsh expands again because of flags: `${(e)x}` is evaluated once more, and `${(%)x}` is expanded as a
    /// prompt.
    pub(super) fn flagged(&mut self, raw: &str) {
        for rest in raw.split("${(").skip(1) {
            let Some((flags, rest)) = rest.halves(b')') else { continue };
            if flags.has_one_of(b"e%P")
                && let Some(name) = names(rest).next()
            {
                self.prompts(Some(name));
            }
        }
    }

    /// Records the variables in the index of an element: `unset 'a[x]'`.
    pub(super) fn evaluates_index(&mut self, element: &str) -> Result<(), Unreadable> {
        element.halves(b'[').map_or(Ok(()), |(_, index)| self.evaluates(index))
    }

    /// Records that a variable or an argument is shown as a prompt. If the text does not set the variable, its value may run any command,
    /// except for the shell's own prompts.
    pub(super) fn prompts(&mut self, variable: Option<&str>) {
        let is_set = |name: &str| PROMPTS.contains(&name) || self.is_set(name);
        let is_known = variable.map_or_else(|| self.all_positional().is_some(), is_set);
        self.script.runs_unknown |= !is_known;
        self.evaluated.name(variable.unwrap_or(ARGUMENTS), ValueKind::Prompt);
    }

    /// Reads the commands in the values that the shell evaluates.
    pub(super) fn read_evaluated(&mut self) -> Result<(), Unreadable> {
        self.remember_read();
        if !self.evaluated.values.iter().any(|value| is_expanded_again(&value.text)) {
            return Ok(());
        }
        NUMBERS.iter().for_each(|name| self.evaluated.name(name, ValueKind::Number));
        PROMPTS.iter().for_each(|name| self.evaluated.name(name, ValueKind::Prompt));
        // Reading a value may set and evaluate further variables.
        let mut before = (0, 0);
        while before != self.evaluated.size() {
            before = self.evaluated.size();
            let mut at = 0;
            while let Some((name, kind)) = self.evaluated.names.get(at).cloned() {
                at += 1;
                self.spend(self.evaluated.values.len())?;
                let mut texts = Vec::new();
                for value in self.evaluated.values.iter_mut().filter(|value| value.name == name) {
                    if !value.read_as.contains(&kind) {
                        value.read_as.push(kind);
                        texts.push(value.text.clone());
                    }
                }
                for text in texts {
                    // The value is an expression that may contain other variables. If the value applies an operator to another value, the
                    // result is unknown, so the whole value is read.
                    let is_operated = text.contains("${") && !is_name(&text);
                    if kind == ValueKind::Number || is_name(&text) || is_operated {
                        let kind = if is_operated { ValueKind::Prompt } else { kind };
                        names(&text).for_each(|name| self.evaluated.name(name, kind));
                    }
                    match kind {
                        _ if text.starts_with(UNKNOWN) => self.script.runs_unknown = true,
                        ValueKind::Number => self.indexed(&Word::literal(text)),
                        // In a prompt, escapes are decoded first.
                        ValueKind::Prompt if has_escape(&text) => self.within_quoted(&ansi(&text)),
                        ValueKind::Prompt => self.within_quoted(&text),
                    }
                }
            }
        }
        Ok(())
    }

    /// Records the variables that `read` and similar commands set to text from another machine: `curl … | while read -r n`.
    fn remember_read(&mut self) {
        let mut names: Vec<String> = Vec::new();
        for (at, command) in self.script.commands.iter().enumerate() {
            let is_read = matches!(command.program.as_str(), "read" | "mapfile" | "readarray");
            if !is_read || !self.brings_fetched(command) {
                continue;
            }
            let last = command.upstream.last();
            let mut before = self.script.commands[..at].iter().rev();
            if !last.and_then(|last| before.find(|other| other.program == *last)).is_some_and(prints_number) {
                let given = command.args.iter().map(|word| word.text.as_str()).filter(|text| !text.starts_with('-'));
                names.extend(given.chain(["REPLY", "MAPFILE"]).map(str::to_owned));
            }
        }
        names.iter().for_each(|name| self.evaluated.value(name, &UNKNOWN.to_string()));
    }

    /// Returns true if a command prints text from another machine.
    fn brings_fetched(&self, command: &Command) -> bool {
        wrappers::is_fetcher(&command.program, &command.args)
            || command.upstream.iter().any(|program| wrappers::is_fetcher(program, &[]))
            || self.reads_fetched(command)
    }
}

/// Returns the names of variables in an expression. Variables of which only the length is used (`${#x}`) are left out.
fn names(expression: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = expression;
    std::iter::from_fn(move || {
        loop {
            let begin = rest.find(|c: char| is_of_name(c) || matches!(c, '@' | '*'))?;
            let (before, from) = rest.split_at(begin);
            let length = from.find(|c: char| !is_of_name(c)).unwrap_or(from.len()).max(1);
            let name = &from[..length];
            rest = &from[length..];
            let is_argument = name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'));
            if is_argument && (before.ends_with('$') || before.ends_with("${")) {
                return Some(ARGUMENTS);
            }
            if !is_argument && !before.ends_with("${#") {
                return Some(name);
            }
        }
    })
}

/// Returns true if a value is a name or the expansion of a name.
fn is_name(text: &str) -> bool {
    let text = text.trim_matches(['"', '$', '{', '}']);
    text == ARGUMENTS || names(text).next() == Some(text)
}

/// Returns true if the shell would expand a part of the value once more.
fn is_expanded_again(text: &str) -> bool {
    text.has_one_of(b"$`") || text.has(UNKNOWN as u8) || has_escape(text)
}

/// Returns true if a value may contain an escaped `$` or backquote: `\044`, `\140`.
fn has_escape(text: &str) -> bool {
    ["\\04", "\\14", "\\x24", "\\x60"].iter().any(|escape| text.contains(escape))
}

/// Returns true if a command prints a number: `wc -l`, `grep -o '[0-9]*'`, `jq .size`, `curl -o x -w '%{http_code}'`.
fn prints_number(command: &Command) -> bool {
    let has = |texts: &[&str]| texts.iter().any(|text| command.args.iter().any(|word| word.text.contains(text)));
    match command.program.as_str() {
        "wc" | "date" | "expr" | "bc" => true,
        // These programs print strings in quotes, unless an option turns the quotes off.
        "jq" | "gh" | "glab" => !has(&["-r", "-j", "--jq"]) || has(&["length", "count", "total", "size", "number"]),
        "curl" => has(&["%{"]) && has(&["-o", "-so", "-sSo", "--output", "/dev/null"]),
        "grep" | "egrep" | "rg" | "sed" | "tr" => has(&["0-9", "\\d", "[:digit:]", "-c"]),
        "awk" => has(&["+0", "+ 0", "int(", "NR"]),
        _ => false,
    }
}
