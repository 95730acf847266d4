//! Changing a command in its place, and only where the rest provably stays as it is.

use crate::rules::Registry;
use crate::rules::schema::Rewrite;
use crate::shell::{Command, Script, UNKNOWN};
use std::ops::Range;

/// The text with `rewrite` made in each of `commands`, or why it is not made.
pub(crate) fn rewrite(
    text: &str,
    script: &Script,
    commands: &[&Command],
    rewrite: &Rewrite,
    registry: &Registry,
) -> Result<String, &'static str> {
    if script.unreadable.is_some() {
        return Err("some of the command cannot be read");
    }
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    for command in commands {
        change(text, script, command, rewrite, registry, &mut changes)?;
    }
    // A loop runs one command many times.
    changes.sort_by_key(|(place, _)| (place.start, place.end));
    changes.dedup();
    let mut rewritten = text.to_owned();
    for (place, words) in changes.iter().rev() {
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
    changes: &mut Vec<(Range<usize>, String)>,
) -> Result<(), &'static str> {
    if !command.exact {
        return Err("it is run by another command");
    }
    if script.functions.contains(&command.program) {
        return Err("the command defines a function of that name");
    }
    let spans =
        command.args.iter().chain([&command.program_word]).map(|word| word.span.clone()).collect::<Option<Vec<_>>>();
    let Some(spans) = spans else { return Err("its words do not stand there as they are") };
    if let Some(replacement) = &rewrite.replace {
        let is_all = text.trim() == text.get(command.place.clone()).unwrap_or_default();
        if !script.is_single || !is_all || !command.redirects.is_empty() || !command.wrappers.is_empty() {
            return Err("it is a part of a larger command");
        }
        changes.push((command.place.clone(), replacement.clone()));
        return Ok(());
    }
    let arguments = registry.arguments(command);
    // What is unknown may be a `--`, after which words go to another program.
    let before = &command.args[..arguments.dashes.unwrap_or(command.args.len())];
    if before.iter().any(|word| word.splits || word.text.starts_with(UNKNOWN)) {
        return Err("its words are not known before it runs");
    }
    if rewrite.no_operands && !arguments.operands.is_empty() {
        return Err("what follows an operand is another program's");
    }
    let end = spans.iter().map(|span| span.end).max().unwrap_or(command.place.end);
    let after = |at: usize, words: &[String]| (at..at, format!(" {}", words.join(" ")));
    if !rewrite.after_program.is_empty() {
        let at = command.program_word.span.as_ref().map_or(end, |span| span.end);
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

/// Whether `after` runs what `before` runs, but for words that were put into the commands at `changed`.
pub(crate) fn keeps_the_rest(before: &Script, after: &Script, changed: &[usize]) -> bool {
    before.commands.len() == after.commands.len()
        && before.commands.iter().zip(&after.commands).enumerate().all(|(at, (before, after))| {
            let mut rest = after.args.iter().map(|word| &word.text);
            let same_words = if changed.contains(&at) {
                // In their order, with others between them.
                before.args.iter().all(|word| rest.any(|other| *other == word.text))
            } else {
                before.args.len() == after.args.len()
                    && before.args.iter().zip(rest).all(|(word, other)| word.text == *other)
            };
            same_words
                && before.program == after.program
                && before.cwd == after.cwd
                && before.wrappers == after.wrappers
        })
}
