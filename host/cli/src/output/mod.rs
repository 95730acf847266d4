//! The command's output: results on standard output, everything else on standard error.
//!
//! Colour is used only on terminals, and not if `NO_COLOR` is set. Control characters in texts of plugins and files are replaced before the
//! texts are shown, so that these texts cannot control the terminal.

pub(crate) mod difference;
pub(crate) mod entry;
pub(crate) mod interfaces;
pub(crate) mod keyboard;
pub(crate) mod markdown;
pub(crate) mod progress;
pub(crate) mod question;
pub(crate) mod record;
pub(crate) mod screen;
pub(crate) mod style;
pub(crate) mod time;
pub(crate) mod truncate;
pub(crate) mod wrap;

use crate::exit::CliError;
use anyhow::anyhow;
use serde::Serialize;
use std::io::{self, ErrorKind, IsTerminal as _};
use style::{ADVICE, DIM, WARNING};

/// Maximum number of lines of a notice after its first line.
const NOTICE_LINES: usize = 12;

/// The state of the program or terminal that reads the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Reader {
    Reads,
    HasGone,
}

/// Writes a result. It is not an error if the reader has closed the pipe.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    print_on(text).map(drop)
}

/// Writes one of several results. The returned state of the reader tells whether the next result should be written.
pub(crate) fn print_on(text: &str) -> Result<Reader, CliError> {
    written(screen::print(text))
}

/// Writes JSON byte for byte. For a terminal, control characters are replaced.
pub(crate) fn print_exactly(text: &str) -> Result<Reader, CliError> {
    let is_seen = io::stdout().is_terminal();
    written(if is_seen { screen::print_exactly(&printable(text)) } else { screen::print_exactly(text) })
}

/// Returns false if the reader has closed standard output. A pipe reports this even if nothing is written.
pub(crate) fn is_read() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let out = io::stdout();
    let mut streams = [PollFd::new(&out, PollFlags::empty())];
    let polled = poll(&mut streams, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.is_err() || !streams[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

fn written(ended: io::Result<()>) -> Result<Reader, CliError> {
    match ended {
        Ok(()) => Ok(Reader::Reads),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::HasGone),
        Err(error) => Err(anyhow!("the result cannot be written: {error}").into()),
    }
}

/// Writes a result as JSON: indented for a terminal, otherwise on one line.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    let pretty = io::stdout().is_terminal();
    let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    print_exactly(&(text.map_err(anyhow::Error::new)? + "\n")).map(drop)
}

/// Writes one of several results as JSON, on its own line.
pub(crate) fn print_json_line(value: &impl Serialize) -> Result<Reader, CliError> {
    print_exactly(&(serde_json::to_string(value).map_err(anyhow::Error::new)? + "\n"))
}

/// Writes a message for a person, which is not part of the result. If nobody can see the message, this is not an error.
pub(crate) fn note(text: &str) {
    let _ = screen::note(text);
}

/// Formats a notice for the user. A notice can have further lines, such as the part of a file that contains a mistake. These lines are
/// indented, so that none of them can look like a separate message of hookhost.
pub(crate) fn notice(text: &str) -> String {
    let mut lines = text.lines();
    let mut shown = format!("{WARNING}note:{WARNING:#} {}\n", one_line(lines.next().unwrap_or_default()));
    for line in lines.by_ref().take(NOTICE_LINES) {
        shown.push_str(format!("  {}", one_line(line)).trim_end());
        shown.push('\n');
    }
    if lines.next().is_some() {
        shown.push_str("  …\n");
    }
    shown
}

/// The character that joins several emoji into one, such as the emoji of a family. Between other characters, it is invisible.
const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Returns the text with `�` in place of characters that control a terminal or are invisible, except line breaks, tabs, and the
/// joiners within an emoji.
pub(crate) fn printable(text: &str) -> String {
    let mut before = None;
    let mut rest = text.chars().peekable();
    let mut shown = String::with_capacity(text.len());
    while let Some(character) = rest.next() {
        let joins = character == ZERO_WIDTH_JOINER
            && before.is_some_and(is_part_of_emoji)
            && rest.peek().copied().is_some_and(is_part_of_emoji);
        let steers = !matches!(character, '\n' | '\t') && hookhost::is_unseen(character) && !joins;
        shown.push(if steers { char::REPLACEMENT_CHARACTER } else { character });
        before = Some(character);
    }
    shown
}

/// Returns true for pictographs, skin tones, the signs that join emoji, and the selector of the emoji form.
fn is_part_of_emoji(character: char) -> bool {
    matches!(character, '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Returns the text with a capital letter at its beginning.
pub(crate) fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

/// Like [`printable`], but on one line.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// Returns the text as one word of a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,~".contains(c);
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('~') {
        word.to_owned()
    } else if word.contains(hookhost::is_unseen) {
        // bash, zsh and ksh accept invisible characters in this form.
        let escaped = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            c if hookhost::is_unseen(c) => {
                c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03o}")).collect()
            }
            c => c.to_string(),
        };
        format!("$'{}'", word.chars().map(escaped).collect::<String>())
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Adds a line with a label and a value to a text. Labels are `width` characters wide. An empty value gets no line.
pub(crate) fn row(text: &mut String, width: usize, label: &str, value: &str) {
    if !value.is_empty() {
        let value = wrap::wrapped(value, width + 3);
        text.push_str(&format!("  {DIM}{label:width$}{DIM:#} {value}\n"));
    }
}

/// Adds a sentence on lines of its own to a text, indented by two columns.
pub(crate) fn sentence(text: &mut String, sentence: &str) {
    text.push_str(&format!("  {}\n", wrap::wrapped(&one_line(sentence), 2)));
}

/// Adds the next step to a text.
pub(crate) fn next_step(text: &mut String, next: &str) {
    text.push_str(&format!("  {ADVICE}next:{ADVICE:#} {}\n", one_line(next)));
}

/// Returns the command line of this process followed by `more`, as a person would type it.
pub(crate) fn this_command_and(more: &str) -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy()));
    let words = std::iter::once("hookhost".to_owned()).chain(arguments).chain([more.to_owned()]);
    words.collect::<Vec<_>>().join(" ")
}

/// Asks a person on the terminal.
///
/// A plain `y` is enough as an answer. No agent runs in this process, so no program that a model has chosen can use this terminal. Text
/// that was typed before the question is discarded, because it was meant for something else, such as a command that ended early.
///
/// # Errors
/// Returns an error if there is no terminal. The message ends with `whether`, which says what the user would have been asked.
pub(crate) fn confirm(question: &str, whether: &str) -> Result<bool, CliError> {
    let mut answer = String::new();
    let is_asked = io::stdin().is_terminal() && io::stderr().is_terminal() && {
        forget_typed();
        note(&format!("{question} [y/N] "));
        io::stdin().read_line(&mut answer).is_ok()
    };
    if is_asked {
        return Ok(is_yes(&answer));
    }
    let error = CliError::usage(format!("there is no terminal on which to ask you{whether}"));
    Err(error.advise(this_command_and("--yes")))
}

/// Discards text that was typed at the terminal but not read yet.
pub(crate) fn forget_typed() {
    // Nothing else can be done if the terminal refuses.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Returns true if the answer is `y` or `yes`. Every other answer means no.
fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::{NOTICE_LINES, notice, one_line, printable, quoted};

    #[test]
    fn nothing_that_steers_a_terminal_is_printed() {
        assert_eq!(printable("a\u{1b}[2Jb\nc\u{7}\u{202e}"), "a\u{fffd}[2Jb\nc\u{fffd}\u{fffd}");
        assert_eq!(one_line("a\nb\tc"), "a b c");
    }

    #[test]
    fn an_emoji_that_is_joined_of_others_stays_whole_and_a_joiner_elsewhere_is_shown() {
        for emoji in [
            "👩\u{200d}👩\u{200d}👧\u{200d}👦",
            "❤\u{fe0f}\u{200d}🔥",
            "🧑🏽\u{200d}🚀",
            "🏳\u{fe0f}\u{200d}🌈",
            "🤷\u{200d}♂\u{fe0f}",
        ] {
            assert_eq!(printable(emoji), emoji);
        }
        assert_eq!(printable("rm\u{200d} 👩\u{200d}"), "rm\u{fffd} 👩\u{fffd}");
    }

    #[test]
    fn a_notice_of_several_lines_keeps_them_and_none_looks_like_another_notice() {
        let shown = anstream::adapter::strip_str(&notice("wrong:\n  |\nnote: \u{1b}[2Jforged\n")).to_string();
        assert_eq!(shown, "note: wrong:\n    |\n  note: \u{fffd}[2Jforged\n");
        assert_eq!(notice(&"line\n".repeat(100)).lines().count(), 1 + NOTICE_LINES + 1);
    }

    #[test]
    fn a_command_that_is_advised_can_be_pasted() {
        assert_eq!(quoted("/a/b-c_1.wasm"), "/a/b-c_1.wasm");
        assert_eq!(quoted("my plugins/it's.wasm"), r"'my plugins/it'\''s.wasm'");
        assert_eq!(quoted("a\u{1b}[2J'\n\u{202e}"), r"$'a\033[2J\'\012\342\200\256'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a;rm -rf ."), "'a;rm -rf .'");
    }
}
