//! Says whether the result of a command line tells how one of its commands ended.

use call_paths::{CommandLine, is_and_list};
use shell_reader::Command;

/// Words after which a failed or skipped command does not make the line fail.
const KEYWORDS: [&str; 9] = ["!", "if", "elif", "then", "else", "while", "until", "do", "case"];

/// Returns true if the line can succeed although the command failed or did not run: `a || true`, `a; b`, `a | b`, `! a`, `echo $(a)`. What
/// stands in quotes is not told from what the shell reads, so the answer may also be true for other lines.
pub(crate) fn is_hidden(line: &CommandLine, command: &Command) -> bool {
    let place = &command.place;
    // What a wrapper such as `sh -c` runs is somewhere within its place.
    let end = if command.exact { place.end } else { place.start };
    let (Some(head), Some(tail)) = (line.text.get(..place.start), line.text.get(end..)) else { return true };
    let is_pipefail = |other: &Command| {
        other.program == "set" && other.place.end <= place.start && other.args.iter().any(|word| word.text == "pipefail")
    };
    let piped = line.commands().any(is_pipefail).then(|| pipes_removed(tail));
    let is_joined = is_and_list(piped.as_deref().unwrap_or(tail));
    let opens = |text: &str| text.matches("$(").count() > text.matches(')').count() || text.matches('`').count() % 2 == 1;
    let is_substituted = if command.exact { opens(head) } else { line.text.contains("$(") || line.text.contains('`') };
    let is_conditional = || {
        let mut words = head.split(|c: char| c.is_whitespace() || matches!(c, ';' | '(' | '{' | '&' | '|'));
        words.any(|word| KEYWORDS.contains(&word))
    };
    command.resolved || is_substituted || head.contains("||") || !is_joined || is_conditional()
}

/// Removes each `|` that is not a part of `||`.
fn pipes_removed(text: &str) -> String {
    text.split("||").map(|part| part.replace('|', "")).collect::<Vec<_>>().join("||")
}
