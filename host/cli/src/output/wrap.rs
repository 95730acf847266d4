//! Wraps sentences for a terminal.

use super::screen;
use std::io::{self, IsTerminal as _};
use unicode_width::UnicodeWidthStr as _;

/// Returns a sentence, which may have styles, with line breaks between its words, so that no line is longer than the terminal. The sentence begins in column
/// `indent`, and so do its further lines. If standard output is not a terminal, the sentence stays on one line.
pub(crate) fn wrapped(sentence: &str, indent: usize) -> String {
    if io::stdout().is_terminal() { wrapped_to(sentence, indent, screen::columns()) } else { sentence.to_owned() }
}

fn wrapped_to(sentence: &str, indent: usize, columns: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for word in sentence.split(' ') {
        let width = anstream::adapter::strip_str(word).to_string().width();
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
    use super::wrapped_to;

    #[test]
    fn a_sentence_is_wrapped_between_words_and_a_long_word_stays_whole() {
        assert_eq!(wrapped_to("one two three", 2, 10), "one two\n  three");
        assert_eq!(wrapped_to("one two", 2, 80), "one two");
        assert_eq!(wrapped_to("a /a/path/that/is/long b", 4, 10), "a\n    /a/path/that/is/long\n    b");
        assert_eq!(wrapped_to("✓ 漢字 漢字", 0, 8), "✓ 漢字\n漢字");
        assert_eq!(wrapped_to("\u{1b}[1mone\u{1b}[0m two", 0, 7), "\u{1b}[1mone\u{1b}[0m two");
    }
}
