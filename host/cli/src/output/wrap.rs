//! Wraps sentences for a terminal.

use super::screen;
use std::io::{self, IsTerminal as _};
use unicode_width::UnicodeWidthStr as _;

/// Number of spaces before an aside on the same line.
const ASIDE_GAP: usize = 5;

/// Returns a sentence, which may have styles, with line breaks between its words, so that no line is longer than the terminal. The sentence
/// begins in column `indent`, and so do its further lines. If standard output is not a terminal, the sentence stays on one line.
pub(crate) fn wrapped(sentence: &str, indent: usize) -> String {
    wrapped_to(sentence, indent, columns())
}

/// Returns a sentence as [`wrapped`] does, and an aside after it: on the same line if there is room, or else on the next one.
pub(crate) fn wrapped_with_aside(sentence: &str, aside: &str, indent: usize) -> String {
    with_aside_to(sentence, aside, indent, columns())
}

/// Returns the number of columns of standard output. There is no limit if it is not a terminal.
fn columns() -> usize {
    if io::stdout().is_terminal() { screen::columns() } else { usize::MAX }
}

fn with_aside_to(sentence: &str, aside: &str, indent: usize, columns: usize) -> String {
    let text = wrapped_to(sentence, indent, columns);
    // Only the first line begins without its indent.
    let last = text.rsplit_once('\n').map_or(indent + width(&text), |(_, last)| width(last));
    if last.saturating_add(ASIDE_GAP + width(aside)) <= columns {
        format!("{text}{:ASIDE_GAP$}{aside}", "")
    } else {
        format!("{text}\n{:indent$}{}", "", wrapped_to(aside, indent, columns))
    }
}

/// Returns the width of a text without its styles, in columns.
pub(crate) fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().width()
}

fn wrapped_to(sentence: &str, indent: usize, columns: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for word in sentence.split(' ') {
        let width = width(word);
        if column > indent && column + 1 + width > columns {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += width;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{with_aside_to, wrapped_to};

    #[test]
    fn a_sentence_is_wrapped_between_words_and_a_long_word_stays_whole() {
        assert_eq!(wrapped_to("one two three", 2, 10), "one two\n  three");
        assert_eq!(wrapped_to("one two", 2, 80), "one two");
        assert_eq!(wrapped_to("a /a/path/that/is/long b", 4, 10), "a\n    /a/path/that/is/long\n    b");
        assert_eq!(wrapped_to("✓ 漢字 漢字", 0, 8), "✓ 漢字\n漢字");
        assert_eq!(wrapped_to("\u{1b}[1mone\u{1b}[0m two", 0, 7), "\u{1b}[1mone\u{1b}[0m two");
    }

    #[test]
    fn an_aside_stands_on_the_same_line_if_there_is_room() {
        assert_eq!(with_aside_to("one two", "(three)", 2, 21), "one two     (three)");
        assert_eq!(with_aside_to("one two", "(three)", 2, 20), "one two\n  (three)");
        assert_eq!(with_aside_to("one two four", "(three)", 2, 18), "one two four\n  (three)");
        assert_eq!(with_aside_to("one two four", "(three)", 2, 12), "one two\n  four\n  (three)");
        assert_eq!(with_aside_to("one two", "(three)", 2, usize::MAX), "one two     (three)");
    }
}
