//! Reads commands of `cmd.exe` and PowerShell from their words.

use super::ascii::Ascii as _;
use super::code::language;
use super::path::slashed;
use super::read::{Reader, Unreadable};
use super::unwrap::runs_others;
use super::word::{UNKNOWN, Word, joined};
use super::{Command, MAX_LENGTH, program_name, program_names};

mod cmd;
mod detection;
mod expression;
mod pipelines;
mod powershell;

use cmd::{condition, position, switches};
pub(super) use detection::{is_assigned, is_expression, is_named_in, is_only_there};
use pipelines::{PipelineSplitter, Stage, expanded, split};
pub(super) use powershell::powershell_text;
use powershell::{found, is_arguments, splatted, started};

/// Maximum number of commands in one text.
const MAX_COMMANDS: usize = 2000;

/// Reads every command of `text`.
pub(super) fn read(reader: &mut Reader<'_>, text: &str) -> Result<(), Unreadable> {
    if text.len() > MAX_LENGTH {
        return Err(Unreadable(format!("it is {} bytes long, and no more than {MAX_LENGTH} are read", text.len())));
    }
    reader.spend(text.len())?;
    let PipelineSplitter { pipelines, nested, builds, evaluated, .. } = split(text);
    reader.spend(evaluated)?;
    reader.script.runs_unknown |= builds;
    if pipelines.iter().flat_map(|pipeline| &pipeline.stages).filter(|stage| !stage.words.is_empty()).count()
        > MAX_COMMANDS
    {
        return Err(Unreadable(format!("it runs more than {MAX_COMMANDS} commands")));
    }
    for (number, pipeline) in pipelines.iter().enumerate() {
        let stages = &pipeline.stages;
        reader.spend(stages.len() * stages.len())?;
        let names: Vec<String> = stages.iter().map(|stage| stage.words.first().map(name).unwrap_or_default()).collect();
        for (at, Stage { words, redirects }) in stages.iter().enumerate() {
            if words.is_empty() && redirects.is_empty() {
                continue;
            }
            let mut upstream = names[..at].to_vec();
            // The command also reads the output of the commands in brackets.
            for inner in pipelines.iter().skip(number + 1).take_while(|inner| inner.depth > pipeline.depth) {
                reader.spend(1)?;
                if inner.stage == Some((number, at)) {
                    upstream.extend(inner.stages.iter().filter_map(|stage| stage.words.first().map(name)));
                }
            }
            let place = reader.source.place.clone();
            let downstream = names[at + 1..].to_vec();
            let redirects = redirects.clone();
            let command = Command { windows: true, place, upstream, downstream, redirects, ..Command::default() };
            let piped = at.checked_sub(1).map(|before| &stages[before].words);
            match words.split_first() {
                Some((program, args)) => stage(reader, program, args, piped, command)?,
                None => reader.record(command)?,
            }
        }
    }
    nested.iter().try_for_each(|text| reader.nested_windows(text))
}

/// Reads one command. `piped` is the command before this command in the pipeline.
fn stage(
    reader: &mut Reader<'_>,
    program: &Word,
    args: &[Word],
    piped: Option<&Vec<Word>>,
    mut command: Command,
) -> Result<(), Unreadable> {
    // `@rd`: a command that is not echoed still runs.
    if let Some(shown) = program.text.strip_prefix('@').filter(|shown| !shown.is_empty()) {
        return stage(reader, &expanded(Word::literal(shown)), args, piped, command);
    }
    let is_posix = |word: &Word| word.text.starts_with("-rf") || word.text.starts_with("-fr");
    match name(program).as_str() {
        name if matches!(name, "wsl" | "bash" | "sh") || (name == "rm" && args.iter().any(is_posix)) => {
            let words = [Word::literal(name)].into_iter().chain(args.iter().cloned()).collect();
            reader.run(words, Command { windows: false, ..command })
        }
        "cmd" | "powershell" | "pwsh" => {
            let words = [program].into_iter().chain(args).cloned().collect();
            reader.run(words, command)
        }
        // Aliases.
        "set-alias" | "new-alias" | "sal" | "nal" => {
            let mut operands = args.iter().filter(|word| !word.text.starts_with('-'));
            if let (Some(alias), Some(of)) = (operands.next(), operands.next()) {
                reader.spend(args.len())?;
                reader.definitions.aliases.insert(alias.text.to_ascii_lowercase(), Some(of.clone()));
            }
            noted(reader, program, args, command)
        }
        name if !reader.definitions.aliases.is_empty() && reader.definitions.aliases.contains_key(name) => {
            let of = reader.definitions.aliases.get(name).cloned().flatten().unwrap_or_default();
            reader.deeper(|reader| stage(reader, &of, args, piped, command))
        }
        "start-process" | "saps" | "start" if args.iter().any(is_arguments) => {
            noted(reader, program, args, command.clone())?;
            let words = started(args);
            match words.split_first() {
                Some((inner, args)) => reader.deeper(|reader| stage(reader, inner, args, None, command)),
                None => Ok(()),
            }
        }
        // The argument is a text to run.
        "iex" | "invoke-expression" => {
            let text = joined(args);
            reader.script.runs_unknown |= text.has_one_of(&[UNKNOWN as u8, b'$']) || args.is_empty();
            noted(reader, program, args, command)?;
            reader.nested_windows(&text)
        }
        "&" | "." | "call" | "start" | "start-process" | "saps" | "do" | "else" => {
            command_after(reader, program, args, switches(args), piped, command)
        }
        "if" => {
            let branch = position(args, "else");
            command_after(reader, program, &args[..branch], condition(args), piped, command.clone())?;
            command_after(reader, program, &args[branch..], 1, piped, command)
        }
        "for" => command_after(reader, program, args, position(args, "do") + 1, piped, command),
        _ if !program.is_known() && args.first().is_some_and(|word| word.text == "=") => {
            command_after(reader, program, args, 1, piped, command)
        }
        "cd" | "chdir" | "set-location" | "sl" | "pushd" => {
            noted(reader, program, args, command)?;
            let to = args.iter().find(|word| !word.text.starts_with('/') || word.text.len() != 2);
            let to = to.map(|word| Word { text: slashed(&word.text).into_owned(), ..word.clone() });
            reader.scope.cwd = to.and_then(|word| reader.context.directory(&word, reader.scope.cwd.as_deref()));
            Ok(())
        }
        verb if removes(verb) => {
            // `Remove-Item @x`: the content of the table is unknown.
            let mut args: Vec<Word> = args.iter().flat_map(splatted).collect();
            if let Some(piped) = piped.filter(|_| !args.iter().any(|word| !word.text.starts_with('-'))) {
                args.extend(found(piped));
            }
            command.input = None;
            noted(reader, program, &args, command)
        }
        // These programs do the same in any shell. The only exception is `find`, which searches text on Windows.
        name if name != "find" && (runs_others(name) || language(program_names::usual(name)).is_some()) => {
            let words = [program].into_iter().chain(args).cloned().collect();
            reader.run(words, command)
        }
        _ => {
            // In `%x% rd`, the unknown word decides whether `rd` is run.
            reader.script.runs_unknown |=
                !program.is_known() && (args.iter().any(|word| removes(&name(word))) || has_switches_of_removal(args));
            noted(reader, program, args, command)
        }
    }
}

/// Returns true if the words are the switches of a command that removes a directory.
fn has_switches_of_removal(args: &[Word]) -> bool {
    let has = |begins: &[&str]| {
        args.iter().any(|word| begins.iter().any(|begin| word.text.to_ascii_lowercase().starts_with(begin)))
    };
    (has(&["/s"]) && has(&["/q", "/f"])) || (has(&["-rec"]) && has(&["-fo"]))
}

/// Reads the command that begins at index `begin` of `args`.
fn command_after(
    reader: &mut Reader<'_>,
    program: &Word,
    args: &[Word],
    begin: usize,
    piped: Option<&Vec<Word>>,
    command: Command,
) -> Result<(), Unreadable> {
    match args.get(begin..).and_then(<[Word]>::split_first) {
        Some((inner, args)) => reader.deeper(|reader| stage(reader, inner, args, piped, command)),
        None => noted(reader, program, args, command),
    }
}

fn removes(program: &str) -> bool {
    matches!(program, "remove-item" | "ri" | "rm" | "del" | "erase" | "rd" | "rmdir")
}

fn noted(reader: &mut Reader<'_>, program: &Word, args: &[Word], command: Command) -> Result<(), Unreadable> {
    reader.record(Command { program: name(program), program_word: program.clone(), args: args.to_vec(), ..command })
}

fn name(word: &Word) -> String {
    program_name(&word.text).to_ascii_lowercase()
}
