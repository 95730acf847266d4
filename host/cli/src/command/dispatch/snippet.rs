//! Shows a part of a command: the lines that contain it, each with a line of carets below it.

use crate::output::one_line;
use crate::output::style::{ERROR, NAME};
use hookhost::command::MarkedLine;
use std::fmt::Write as _;
use std::ops::Range;

/// Maximum number of lines of a part that are shown.
const MAX_LINES: usize = 8;

/// Returns the lines of `text` that contain `part`, indented by two blanks. `part` begins and ends at character boundaries of
/// `text`.
pub(super) fn snippet(text: &str, part: &Range<usize>) -> String {
    let mut shown = String::new();
    let mut begin = 0;
    let mut count = 0;
    for line in text.split('\n') {
        let end = begin + line.len();
        let (from, to) = (part.start.max(begin), part.end.min(end));
        // A blank line within the part has nothing to underline. An empty part is shown as one caret at its position.
        if from < to || (part.is_empty() && (begin..=end).contains(&part.start)) {
            count += 1;
            if count > MAX_LINES {
                shown.push_str("  …\n");
                break;
            }
            let piece = |range: Range<usize>| one_line(line.get(range).unwrap_or_default());
            let pieces = [piece(0..from - begin), piece(from - begin..to - begin), piece(to - begin..line.len())];
            let line = MarkedLine::new(pieces);
            let MarkedLine { before, part, after } = &line;
            let _ = writeln!(shown, "  {before}{NAME}{part}{NAME:#}{after}");
            let _ = writeln!(shown, "  {}{ERROR}{}{ERROR:#}", line.indent(), line.carets());
        }
        begin = end + 1;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::snippet;

    fn plain(text: &str, part: &str) -> String {
        let begin = text.find(part).unwrap();
        anstream::adapter::strip_str(&snippet(text, &(begin..begin + part.len()))).to_string()
    }

    #[test]
    fn carets_are_below_the_part() {
        assert_eq!(plain("cd x && rm -rf /", "rm -rf /"), "  cd x && rm -rf /\n          ^^^^^^^^\n");
    }

    #[test]
    fn wide_characters_take_two_columns_and_combining_ones_none() {
        assert_eq!(plain("echo 日本 && rm x", "rm x"), "  echo 日本 && rm x\n               ^^^^\n");
        assert_eq!(plain("echo 日本", "日本"), "  echo 日本\n       ^^^^\n");
        assert_eq!(plain("e\u{301}cho; rm", "rm"), "  e\u{301}cho; rm\n        ^^\n");
    }

    #[test]
    fn what_steers_a_terminal_is_shown_as_a_mark_of_one_column() {
        assert_eq!(plain("a\u{1b}[2J\t\u{202e}b rm", "rm"), "  a\u{fffd}[2J \u{fffd}b rm\n           ^^\n");
        assert_eq!(plain("a \u{200b} b", "\u{200b}"), "  a \u{fffd} b\n    ^\n");
    }

    #[test]
    fn of_several_lines_those_of_the_part_are_shown() {
        let text = "cd x\nrm -rf / \\\n\n  /usr\necho";
        assert_eq!(plain(text, "rm -rf / \\\n\n  /usr"), "  rm -rf / \\\n  ^^^^^^^^^^\n    /usr\n  ^^^^^^\n");
        let long = "x\n".repeat(20);
        assert_eq!(plain(&long, &long), "  x\n  ^\n".repeat(8) + "  …\n");
    }

    #[test]
    fn of_a_long_line_the_part_and_its_surroundings_are_shown() {
        let text = format!("{} rm -rf / {}", "a".repeat(500), "b".repeat(500));
        let shown = plain(&text, "rm -rf /");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].starts_with("  …a") && lines[0].ends_with("b…") && lines[0].chars().count() <= 112, "{shown}");
        let (at, begin) = (lines[1].find('^').unwrap(), lines[0].chars().position(|c| c == 'r').unwrap());
        assert_eq!((at, lines[1].matches('^').count()), (begin, 8), "{shown}");
        // If the part itself is long, it is cut, too.
        let shown = plain(&"日".repeat(300), &"日".repeat(300));
        assert!(shown.lines().all(|line| line.chars().count() <= 112) && shown.contains('…'), "{shown}");
    }

    #[test]
    fn a_part_that_is_nothing_has_its_place() {
        assert_eq!(anstream::adapter::strip_str(&snippet("ab", &(1..1))).to_string(), "  ab\n   ^\n");
    }
}
