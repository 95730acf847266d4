//! Says whether a command failed, as far as the result of its line tells.

use call_paths::{CommandLine, is_and_list};
use shell_reader::Command;

/// Agents that report the exit code of a command only in the text of the result.
const IN_TEXT: [&str; 4] = ["codex", "copilot-cli", "gemini-cli", "qwen-code"];

/// Agents whose results need not say whether a command failed.
const UNTOLD: [&str; 2] = ["codex", "windsurf"];

/// Returns whether a command line failed that is not reported as an error, or `None` if this is unknown.
pub(crate) fn has_failed(agent: &str, text: &str) -> Option<bool> {
    let code = IN_TEXT.contains(&agent).then(|| exit_code(text)).flatten();
    code.map(|code| code != 0).or_else(|| (!UNTOLD.contains(&agent)).then_some(false))
}

/// Returns the exit code that a text ends with: `Exit Code: 1`, `<shellId: 0 completed with exit code 0>`, `exited with code 2`.
fn exit_code(text: &str) -> Option<u32> {
    let text = text.to_ascii_lowercase();
    let ends = ["exit code", "exited with code"].into_iter().filter_map(|name| Some(text.rfind(name)? + name.len()));
    let rest = text[ends.max()?..].trim_start_matches([':', ' ']);
    rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
}

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
        other.program == "set"
            && other.place.end <= place.start
            && other.args.iter().any(|word| word.text == "pipefail")
    };
    let piped = line.commands().any(is_pipefail).then(|| pipes_removed(tail));
    let is_joined = is_and_list(piped.as_deref().unwrap_or(tail));
    let opens =
        |text: &str| text.matches("$(").count() > text.matches(')').count() || text.matches('`').count() % 2 == 1;
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

#[cfg(test)]
mod tests {
    use super::has_failed;

    #[test]
    fn an_exit_code_in_the_text_counts_for_agents_that_write_it_there() {
        for (agent, text, failed) in [
            ("claude-code", "exit code 1", Some(false)),
            ("copilot-cli", "\n<shellId: 0 completed with exit code 0>", Some(false)),
            ("copilot-cli", "exit code 0\n<shellId: 0 completed with exit code 101>", Some(true)),
            ("qwen-code", "Output: a\nExit Code: 2\nSignal: (none)", Some(true)),
            ("gemini-cli", "Output: a\nProcess Group PGID: 1", Some(false)),
            ("codex", "Process exited with code 0\nFinal output:", Some(false)),
            ("codex", "test result: ok", None),
            ("windsurf", "exit code: 0", None),
        ] {
            assert_eq!(has_failed(agent, text), failed, "{agent}: {text}");
        }
    }
}
