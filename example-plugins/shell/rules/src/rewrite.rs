//! Rewrites a command in its text. A rewrite is made only if the result provably runs the same as before, except for the rewritten command.

use crate::rules::Registry;
use crate::rules::schema::Rewrite;
use shell_reader::{Class, Command, PathContext, Script, UNKNOWN, Word};
use std::ops::Range;

const NOT_SHOWN: &str = "its output goes to another program or to a file";

/// Returns the text with `rewrite` applied to each of `commands`, or the reason why the rewrite cannot be applied.
pub(crate) fn rewrite(
    text: &str,
    script: &Script,
    commands: &[&Command],
    rewrite: &Rewrite,
    registry: &Registry,
    context: &PathContext,
) -> Result<String, &'static str> {
    if script.unreadable.is_some() {
        return Err("a part of the command cannot be read");
    }
    // This is checked once for all commands.
    if names_one_of(script, &rewrite.unless_named) {
        return Err("the rest of the command may depend on the part that would change");
    }
    if rewrite.only_shown && keeps_output(script) {
        return Err(NOT_SHOWN);
    }
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    for command in commands {
        change(text, script, command, rewrite, registry, context, &mut changes)?;
    }
    // A loop runs one command many times, so the same change can occur more than once.
    let mut sorted: Vec<(Range<usize>, String)> = Vec::with_capacity(changes.len());
    for change in changes {
        let key = |(place, _): &(Range<usize>, String)| (place.start, place.end);
        let at = sorted.partition_point(|other| key(other) <= key(&change));
        if !sorted[..at].contains(&change) {
            sorted.insert(at, change);
        }
    }
    let mut rewritten = text.to_owned();
    for (place, words) in sorted.iter().rev() {
        rewritten.replace_range(place.clone(), words);
    }
    if rewritten == text { Err("nothing would change") } else { Ok(rewritten) }
}

fn change(
    text: &str,
    script: &Script,
    command: &Command,
    rewrite: &Rewrite,
    registry: &Registry,
    context: &PathContext,
    changes: &mut Vec<(Range<usize>, String)>,
) -> Result<(), &'static str> {
    if !command.exact {
        return Err("another command runs it");
    }
    if script.functions.contains(&command.program) {
        return Err("the command defines a function of that name");
    }
    if rewrite.only_shown && (writes(command) || !command.downstream.is_empty()) {
        return Err(NOT_SHOWN);
    }
    if rewrite.only_at_workspace && !is_at_workspace(command, context) {
        return Err("it does not run in the workspace, so a path would mean another file");
    }
    let spans =
        command.args.iter().chain([&command.program_word]).map(|word| word.span.clone()).collect::<Option<Vec<_>>>();
    let Some(spans) = spans else { return Err("its words do not appear literally in the text") };
    if let Some(replacement) = &rewrite.replace {
        let is_all = text.trim() == text.get(command.place.clone()).unwrap_or_default();
        if !script.is_single || !is_all || !command.redirects.is_empty() || !command.wrappers.is_empty() {
            return Err("it is a part of a larger command");
        }
        let words: Vec<&str> = command.args.iter().map(|word| word.text.as_str()).collect();
        if !rewrite.of.contains(&words.join(" ")) {
            return Err("the new command does not do the same with these words");
        }
        changes.push((command.place.clone(), replacement.clone()));
        return Ok(());
    }
    let arguments = registry.arguments(command);
    // An unknown word may turn out to be `--`, and the words after `--` belong to another program.
    let before = &command.args[..arguments.dashes.unwrap_or(command.args.len())];
    if before.iter().any(|word| word.splits || word.text.starts_with(UNKNOWN)) {
        return Err("its words are not known before it runs");
    }
    if rewrite.no_operands && !arguments.operands.is_empty() {
        return Err("the words after an operand may belong to another program");
    }
    if arguments.has_one_of(rewrite.no_flags.iter().flat_map(|flag| flag.split('|'))) {
        return Err("the effect would differ with the options that it has");
    }
    let end = spans.iter().map(|span| span.end).max().unwrap_or(command.place.end);
    let after = |at: usize, words: &[String]| (at..at, format!(" {}", words.join(" ")));
    if !rewrite.after_program.is_empty() {
        // In `cargo +nightly`, the first word chooses the program to which the other words are passed.
        let toolchain = command.args.first().filter(|word| word.text.starts_with('+'));
        let at = toolchain.unwrap_or(&command.program_word).span.as_ref().map_or(end, |span| span.end);
        changes.push(after(at, &rewrite.after_program));
    }
    let dashes = arguments.dashes.and_then(|at| command.args[at].span.clone());
    if !rewrite.append.is_empty() {
        changes.push(match &dashes {
            Some(dashes) => (dashes.start..dashes.start, format!("{} ", rewrite.append.join(" "))),
            None => after(end, &rewrite.append),
        });
    }
    if !rewrite.after_dashes.is_empty() {
        let words = &rewrite.after_dashes;
        changes.push(match dashes {
            Some(_) => after(end, words),
            None => (end..end, format!(" -- {}", words.join(" "))),
        });
    }
    Ok(())
}

fn is_at_workspace(command: &Command, context: &PathContext) -> bool {
    let here = Word { text: ".".to_owned(), ..Word::default() };
    command.class(&here, context) == Class::Workspace
}

/// Returns true if the output of several commands goes to a file. In the script, the redirections of `{ a; b; } > x` and `exec > x` are
/// separate commands.
fn keeps_output(script: &Script) -> bool {
    let of_others = |command: &&Command| command.program.is_empty() || command.program == "exec";
    script.commands.iter().filter(of_others).any(writes)
}

fn writes(command: &Command) -> bool {
    command.outputs().next().is_some()
}

/// Returns true if one of `names` is a word of the script or a component of a path in it.
fn names_one_of(script: &Script, names: &[String]) -> bool {
    let is_one = |word: &Word| {
        let mut parts = word.text.split(['/', '\\', '=', ':', ' ', '\n']);
        parts.any(|part| names.iter().any(|name| name == part))
    };
    !names.is_empty()
        && script.commands.iter().any(|command| {
            let targets = command.redirects.iter().map(|redirect| &redirect.target);
            command.args.iter().chain([&command.program_word]).chain(targets).any(is_one)
        })
}

/// Returns true if `after` runs the same commands as `before`, except for words that were inserted into the commands at `changed`.
/// `changed` must be sorted.
pub(crate) fn keeps_the_rest(before: &Script, after: &Script, changed: &[usize]) -> bool {
    let place = |at: usize| before.commands.get(at).map(|command| &command.place);
    // In `nice cargo build`, the words of `cargo` are also words of `nice`, and `nice` is a separate command with the same range.
    let runs_changed = |at: usize| {
        let next = changed.partition_point(|other| *other < at);
        let beside = changed[next.saturating_sub(1)..].iter().take(2);
        beside.map(|other| place(*other)).any(|other| other == place(at))
    };
    before.commands.len() == after.commands.len()
        && before.commands.iter().zip(&after.commands).enumerate().all(|(at, (before, after))| {
            let mut rest = after.args.iter().map(|word| &word.text);
            let is_changed = changed.binary_search(&at).is_ok() || (before.exact && runs_changed(at));
            let same_words = if is_changed {
                // All old words must occur in the same order. New words may stand between them.
                before.args.iter().all(|word| rest.any(|other| *other == word.text))
            } else {
                same_texts(&before.args, &after.args)
            };
            same_words
                && before.program == after.program
                && before.cwd == after.cwd
                && before.wrappers == after.wrappers
                && (&before.upstream, &before.downstream) == (&after.upstream, &after.downstream)
                && before.input.as_ref().map(|word| &word.text) == after.input.as_ref().map(|word| &word.text)
                && same_surroundings(before, after)
        })
}

/// Returns true if both commands have the same redirections and variables.
fn same_surroundings(before: &Command, after: &Command) -> bool {
    let redirects = before.redirects.len() == after.redirects.len()
        && before
            .redirects
            .iter()
            .zip(&after.redirects)
            .all(|(one, other)| (one.kind, &one.target.text) == (other.kind, &other.target.text));
    let environment = before.environment.len() == after.environment.len()
        && before
            .environment
            .iter()
            .zip(&after.environment)
            .all(|((name, value), (other_name, other))| (name, &value.text) == (other_name, &other.text));
    redirects && environment
}

fn same_texts(before: &[Word], after: &[Word]) -> bool {
    before.len() == after.len() && before.iter().zip(after).all(|(word, other)| word.text == other.text)
}
