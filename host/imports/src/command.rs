//! The beginning of a command as `program`, `flags` and `args`. Commands are read as the plugin `rules` reads them.

use crate::draft::{ANY, Draft, list};
use hookhost_contract::rule::{OneOrMany, RuleOn};
use hookhost_guest::prelude::ShellDialect;
use shell_guard_rules::arguments::Programs;
use shell_reader::{Command, PathContext, UNKNOWN, read};
use std::sync::LazyLock;

/// The directory in which the commands of rules are read. It is the directory of examples.
const WORKSPACE: &str = "/work/project";

static PROGRAMS: LazyLock<Option<Programs>> = LazyLock::new(|| Programs::embedded().ok());

/// The part of a command that rows compare.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandShape {
    /// The program and its subcommand: `git push`.
    pub program: String,
    /// The options, each with its value if the value is a word of its own: `--force`, `--context=prod`.
    pub flags: Vec<String>,
    /// The operands after the subcommand.
    pub operands: Vec<String>,
    /// The program and its words, as conditions see the command.
    pub text: String,
}

/// How the text of a rule ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The command has no further words.
    Whole,
    /// Further words may follow.
    Words,
    /// The last word may go on, and further words may follow.
    Letters,
}

/// Returns the shape of each simple command that a text runs, or `None` if a part of the text cannot be read.
#[must_use]
pub fn shapes(text: &str) -> Option<Vec<CommandShape>> {
    let script = read(text, ShellDialect::Posix, WORKSPACE, &PathContext::new(WORKSPACE));
    let programs = PROGRAMS.as_ref().filter(|_| script.unreadable.is_none())?;
    Some(script.commands.iter().filter_map(|command| shape_of(command, programs)).collect())
}

/// Returns the shape of the only simple command of a text.
///
/// # Errors
/// Returns the reason why a row cannot be about this text.
pub(crate) fn shape(text: &str) -> Result<CommandShape, String> {
    let script = read(text, ShellDialect::Posix, WORKSPACE, &PathContext::new(WORKSPACE));
    if let Some(why) = &script.unreadable {
        return Err(format!("it is no command: {why}"));
    }
    if !script.is_single {
        return Err("it is more than one simple command, and a rule is about one".to_owned());
    }
    if script.commands.iter().any(|command| !command.redirects.is_empty() || !command.environment.is_empty()) {
        return Err("a rule compares neither redirections nor variables of a command".to_owned());
    }
    let first = text.split_whitespace().next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or_default();
    let own = script.commands.iter().find(|command| command.program.eq_ignore_ascii_case(name));
    let command = own.ok_or_else(|| format!("a rule sees the program that `{name}` runs, and not `{name}` itself"))?;
    let programs = PROGRAMS.as_ref().ok_or("the table of programs cannot be read")?;
    shape_of(command, programs).ok_or_else(|| "it contains a part that only the shell knows".to_owned())
}

fn shape_of(command: &Command, programs: &Programs) -> Option<CommandShape> {
    let arguments = programs.arguments(command);
    let is_known = |text: &str| !text.contains(UNKNOWN);
    if !command.args.iter().all(|word| is_known(&word.text)) || command.program.is_empty() {
        return None;
    }
    let is_operand = |at: usize| arguments.operands.iter().any(|word| std::ptr::eq(*word, &raw const command.args[at]));
    let first_flag = command.args.iter().position(|word| word.text.starts_with('-')).unwrap_or(command.args.len());
    let subcommand: Vec<&str> =
        command.args[..first_flag].iter().map(|word| word.text.as_str()).take_while(|word| is_name(word)).collect();
    let flags = command.args.iter().enumerate().filter_map(|(at, word)| {
        let flag = word.text.as_str();
        if !arguments.has_one_of(std::iter::once(flag)) {
            return None;
        }
        let next = command.args.get(at + 1).filter(|next| !next.text.starts_with('-') && !is_operand(at + 1));
        Some(next.map_or_else(|| flag.to_owned(), |next| format!("{flag}={}", next.text)))
    });
    let program = std::iter::once(command.program.as_str()).chain(subcommand.iter().copied());
    let words = command.args.iter().map(|word| word.text.as_str());
    let words: Vec<&str> = std::iter::once(command.program.as_str()).chain(words).collect();
    Some(CommandShape {
        program: program.collect::<Vec<_>>().join(" "),
        flags: flags.collect(),
        operands: arguments.operands.iter().skip(subcommand.len()).map(|word| word.text.clone()).collect(),
        text: words.join(" "),
    })
}

/// Returns true for a word that may be the name of a subcommand.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | ':'))
}

/// Makes a row about the commands that begin with a text.
///
/// # Errors
/// Returns the reason why no row stops at least these commands.
pub(crate) fn draft(text: &str, ending: Ending) -> Result<Draft, String> {
    let text = text.trim();
    let mut draft = Draft::about([RuleOn::Shell]);
    if text.is_empty() {
        return Ok(draft);
    }
    if text.contains(['$', '`']) {
        return Err("it contains a part that only the shell knows".to_owned());
    }
    if text.contains(['?', '[', '~']) {
        return Err("a rule compares the words of a command, and not the shell's patterns".to_owned());
    }
    if text.contains('*') {
        return with_wildcards(text, ending);
    }
    let (whole, part) = match (ending, text.rsplit_once(' ')) {
        (Ending::Letters, Some((whole, part))) => (whole, Some(part)),
        _ => (text, None),
    };
    let shape = shape(whole)?;
    let mut args = shape.operands.last().cloned();
    match part {
        Some(part) if part.starts_with('-') => {
            draft.differs(format!("stricter: it also stops the command without `{part}`"));
        }
        Some(part) => args = Some(format!("{part}*")),
        None => {}
    }
    let is_program_open = ending == Ending::Letters && part.is_none();
    draft.row.program =
        OneOrMany(vec![if is_program_open { format!("{}*", shape.program) } else { shape.program.clone() }]);
    draft.row.flags = list(shape.flags.first().map(String::as_str));
    draft.row.args = list(args.as_deref());
    if ending == Ending::Whole {
        draft.differs("stricter: it also stops the command with further words");
    }
    name_looseness(&mut draft, &shape);
    if whole.split_whitespace().next().is_some_and(|program| program.contains('/')) {
        draft.differs("stricter: it also stops a program of this name in another directory");
    }
    add_examples(&mut draft, text, ending, &shape);
    Ok(draft)
}

/// Names the words that a row finds anywhere in a command, and those that it does not compare.
fn name_looseness(draft: &mut Draft, shape: &CommandShape) {
    let listed = |words: &[&String]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" and ");
    let compared: Vec<&String> = draft.row.flags.iter().chain(draft.row.args.iter()).collect();
    let is_left = |word: &&String| !compared.contains(word);
    let left: Vec<&String> = shape.flags.iter().chain(&shape.operands).filter(is_left).collect();
    let (anywhere, left) = (listed(&compared), listed(&left));
    if !anywhere.is_empty() {
        draft.differs(format!("stricter: it finds {anywhere} anywhere in the command"));
    }
    if !left.is_empty() {
        draft.differs(format!("stricter: it does not compare {left}"));
    }
}

/// Makes a row about the commands that match a text in which `*` stands for any text: `git * main`.
fn with_wildcards(text: &str, ending: Ending) -> Result<Draft, String> {
    let example = text.replace('*', ANY);
    let shape = shape(&example)?;
    let mut draft = Draft::about([RuleOn::Shell]);
    let program = text.split(' ').next().filter(|program| !program.contains('*'));
    draft.row.program = list(program.and(shape.program.split(' ').next()));
    let parts: Vec<String> = text.split('*').map(escaped).collect();
    let end = if ending == Ending::Whole { "$" } else { "" };
    let pattern = serde_json::json!(format!("^{}{end}", parts.join(".*")));
    draft.row.when = Some(format!("command.matches({pattern})"));
    draft.differs("stricter: it compares the words of the command without their quotes");
    draft.stops([example.clone(), format!("cd src && {example}")]);
    let other = program.map(|program| format!("{program} another"));
    draft.passes(other.into_iter().chain([format!("echo '{example}'"), "true".to_owned()]));
    Ok(draft)
}

/// Returns a text as a part of a regular expression.
fn escaped(text: &str) -> String {
    let escape = |c: char| if ".+*?()|[]{}^$\\".contains(c) { vec!['\\', c] } else { vec![c] };
    text.chars().flat_map(escape).collect()
}

fn add_examples(draft: &mut Draft, text: &str, ending: Ending, shape: &CommandShape) {
    let going_on = if ending == Ending::Letters { format!("{text}{ANY}") } else { text.to_owned() };
    draft.stops([going_on.clone(), format!("cd src && {going_on}")]);
    let mut words: Vec<&str> = shape.program.split(' ').collect();
    let mut passes = Vec::new();
    if !draft.row.flags.is_empty() || !draft.row.args.is_empty() {
        passes.push(shape.program.clone());
    }
    if words.len() > 1 {
        words.pop();
        passes.push(format!("{} another", words.join(" ")));
    }
    if !text.contains('\'') {
        passes.push(format!("echo '{text}'"));
    }
    passes.push("true".to_owned());
    draft.passes(passes);
}

/// Joins rows that differ in one matcher alone, and that answer together as each of them does. Returns `None` if they differ in more.
pub(crate) fn joined(drafts: Vec<Draft>) -> Option<Draft> {
    let mut drafts = drafts.into_iter();
    let first = drafts.next()?;
    drafts.try_fold(first, |mut all, next| {
        let (one, other) = (&all.row, &next.row);
        let is_same = [one.program == other.program, one.flags == other.flags, one.args == other.args];
        let (values, more) = match is_same {
            [_, true, true] => (&mut all.row.program, next.row.program),
            [true, false, true] if !all.row.flags.is_empty() && !next.row.flags.is_empty() => {
                (&mut all.row.flags, next.row.flags)
            }
            [true, true, false] if !all.row.args.is_empty() && !next.row.args.is_empty() => {
                (&mut all.row.args, next.row.args)
            }
            _ => return None,
        };
        values.0.extend(more.0);
        values.0.dedup();
        all.row.stops.extend(next.row.stops);
        all.row.passes.splice(0..0, next.row.passes);
        next.differences.into_iter().for_each(|difference| all.differs(difference));
        Some(all)
    })
}

#[cfg(test)]
mod tests {
    use super::{Ending, draft, shape};

    #[test]
    fn the_beginning_of_a_command_becomes_the_keys_of_a_row() {
        for (text, ending, program, flags, args, differences) in [
            ("git push", Ending::Words, "git push", None, None, 0),
            ("git push", Ending::Whole, "git push", None, None, 1),
            ("git push --force", Ending::Words, "git push", Some("--force"), None, 1),
            ("rm -rf", Ending::Words, "rm", Some("-rf"), None, 1),
            ("npm run test:unit", Ending::Words, "npm run test:unit", None, None, 0),
            ("npm", Ending::Letters, "npm*", None, None, 0),
            ("git pu", Ending::Letters, "git", None, Some("pu*"), 1),
            ("rm -r", Ending::Letters, "rm", None, None, 1),
            ("cat /etc/passwd", Ending::Words, "cat", None, Some("/etc/passwd"), 1),
            ("./deploy.sh prod", Ending::Words, "deploy.sh prod", None, None, 1),
            ("kubectl --context prod delete", Ending::Words, "kubectl", Some("--context=prod"), Some("delete"), 1),
            ("docker run --rm -v a b", Ending::Whole, "docker run", Some("--rm"), Some("b"), 3),
        ] {
            let draft = draft(text, ending).unwrap();
            let first = |values: &[String]| values.first().cloned();
            let found = (first(&draft.row.program).unwrap(), first(&draft.row.flags), first(&draft.row.args));
            let expected = (program.to_owned(), flags.map(str::to_owned), args.map(str::to_owned));
            assert_eq!(found, expected, "{text}");
            assert_eq!(draft.differences.len(), differences, "{text}: {:?}", draft.differences);
        }
    }

    #[test]
    fn a_wildcard_in_the_middle_becomes_a_condition() {
        for (text, ending, program, condition) in [
            ("git * main", Ending::Whole, Some("git"), r#"command.matches("^git .* main$")"#),
            ("* install", Ending::Words, None, r#"command.matches("^.* install")"#),
            ("npm * --a.b", Ending::Whole, Some("npm"), r#"command.matches("^npm .* --a\\.b$")"#),
        ] {
            let draft = draft(text, ending).unwrap();
            assert_eq!(draft.row.program.first().map(String::as_str), program, "{text}");
            assert_eq!(draft.row.when.as_deref(), Some(condition), "{text}");
        }
    }

    #[test]
    fn a_text_that_no_row_can_be_about_has_a_reason() {
        for (text, part) in [
            ("cd a && ls", "more than one"),
            ("ls a?", "shell's patterns"),
            ("echo $HOME", "only the shell knows"),
            ("A=1 make", "variables"),
            ("make > log", "redirections"),
            ("echo 'a", "is no command"),
        ] {
            let why = draft(text, Ending::Words).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        assert!(shape("git push").is_ok());
    }
}
