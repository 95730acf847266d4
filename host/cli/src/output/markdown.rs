//! Renders a model's Markdown for a terminal. The text is rendered block by block while it streams in, and long lines are wrapped between
//! words.

use super::printable;
use super::style::{ADVICE, CODE, DIM, NAME};
use anstyle::Style;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::fmt::Write as _;
use unicode_width::UnicodeWidthStr as _;

/// Indentation of code, and of a list within a list.
const INDENT: &str = "  ";

/// Streamed text. A block is returned when the next block begins. In a code block, each line is returned when the line ends.
#[derive(Debug)]
pub(crate) struct MarkdownStream {
    columns: usize,
    /// Text that is not returned yet.
    pending: String,
    /// The fence that ends the open code block.
    fence: Option<String>,
    /// True if blocks were returned since the last [`Self::finish`].
    has_blocks: bool,
}

impl MarkdownStream {
    /// Creates a stream for a terminal that has this number of columns.
    pub(crate) fn new(columns: usize) -> Self {
        Self { columns, pending: String::new(), fence: None, has_blocks: false }
    }

    /// Adds text, and returns the blocks that are complete now.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.pending.push_str(text);
        let mut shown = String::new();
        while let Some(block) = self.next_block() {
            self.show(&block, &mut shown);
        }
        shown
    }

    /// Returns the rest, and resets the stream.
    pub(crate) fn finish(&mut self) -> String {
        let mut shown = String::new();
        let rest = std::mem::take(&mut self.pending);
        if self.fence.is_some() {
            rest.lines().for_each(|line| self.show_code(line, &mut shown));
        } else if !rest.trim().is_empty() {
            self.show(&Block::Text(rest), &mut shown);
        }
        (self.fence, self.has_blocks) = (None, false);
        shown
    }

    /// Removes the next complete block from the pending text.
    fn next_block(&mut self) -> Option<Block> {
        if let Some(fence) = &self.fence {
            let end = self.pending.find('\n')?;
            let line: String = self.pending.drain(..=end).collect();
            let is_end =
                line.trim().strip_prefix(fence.as_str()).is_some_and(|rest| rest.trim_matches(['`', '~']).is_empty());
            return Some(if is_end { Block::CodeEnd } else { Block::CodeLine(line) });
        }
        let mut at = 0;
        let mut blank = None;
        for line in self.pending.split_inclusive('\n') {
            let is_complete = line.ends_with('\n');
            if let Some(fence) = fence_of(line).filter(|_| is_complete) {
                if at > 0 {
                    // The text before the fence is returned first. The next call finds the fence again.
                    let text = self.pending.drain(..at).collect();
                    return Some(Block::Text(text));
                }
                self.pending.drain(..line.len());
                return Some(Block::CodeStart(fence));
            }
            if line.trim().is_empty() {
                blank = is_complete.then_some(at + line.len()).or(blank);
            } else if let Some(end) = blank
                && !line.starts_with([' ', '\t'])
            {
                // An indented line would still belong to the list above.
                return Some(Block::Text(self.pending.drain(..end).collect()));
            }
            at += line.len();
        }
        None
    }

    fn show(&mut self, block: &Block, shown: &mut String) {
        match block {
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => {
                self.separate(shown);
                shown.push_str(&render(text, self.columns));
            }
            Block::CodeStart(fence) => {
                self.separate(shown);
                self.fence = Some(fence.clone());
            }
            Block::CodeLine(line) => self.show_code(line, shown),
            Block::CodeEnd => self.fence = None,
        }
    }

    fn show_code(&self, line: &str, shown: &mut String) {
        // A line of code is not wrapped, so that a person can copy it.
        let _ = writeln!(shown, "{INDENT}{CODE}{}{CODE:#}", printable(line.trim_end_matches('\n')));
    }

    /// Adds a blank line between two blocks.
    fn separate(&mut self, shown: &mut String) {
        if std::mem::replace(&mut self.has_blocks, true) {
            shown.push('\n');
        }
    }
}

/// A part of the text that can be shown.
enum Block {
    Text(String),
    CodeStart(String),
    CodeLine(String),
    CodeEnd,
}

/// Returns the fence if this line opens a code block. The same characters end the block.
fn fence_of(line: &str) -> Option<String> {
    let start = line.trim_start_matches(' ');
    let mark = start.chars().next().filter(|mark| matches!(mark, '`' | '~') && line.len() - start.len() < 4)?;
    let fence: String = start.chars().take_while(|character| *character == mark).collect();
    (fence.len() >= 3 && !start[fence.len()..].contains('`')).then_some(fence)
}

/// Renders one block as lines of at most `columns` columns.
fn render(text: &str, columns: usize) -> String {
    let mut page = Page { columns, ..Page::default() };
    for event in
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
    {
        page.take(event);
    }
    page.end_line();
    page.text
}

/// The lines of one block while it is rendered.
#[derive(Debug, Default)]
struct Page {
    columns: usize,
    text: String,
    /// Number of columns that the last line has so far.
    column: usize,
    /// The open styles. The last style is in force.
    styles: Vec<Style>,
    /// The beginning of each line, one part for each open list or quote.
    margins: Vec<String>,
    /// The next numbers of the open lists; `None` for a list with dots.
    numbers: Vec<Option<u64>>,
    /// The mark of a list's item, for its first line.
    mark: Option<String>,
    table: Option<Vec<Vec<String>>>,
    link: Option<String>,
    /// True if a blank must be written before the next word.
    is_apart: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        if let Some(rows) = &mut self.table {
            let cell = rows.last_mut().and_then(|row| row.last_mut());
            match (event, cell) {
                (Event::Text(text) | Event::Code(text), Some(cell)) => cell.push_str(&printable(&text)),
                (Event::Start(Tag::TableHead | Tag::TableRow), _) => rows.push(Vec::new()),
                (Event::Start(Tag::TableCell), _) => {
                    rows.last_mut().into_iter().for_each(|row| row.push(String::new()));
                }
                (Event::End(TagEnd::Table), _) => self.end_table(),
                _ => {}
            }
            return;
        }
        match event {
            Event::Text(text) => self.words(&text),
            Event::Code(text) => self.styled(CODE, &text),
            Event::SoftBreak => self.is_apart = true,
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                let rule = "─".repeat(self.columns.min(40));
                self.styled(DIM, &rule);
                self.end_line();
            }
            Event::TaskListMarker(is_done) => self.words(if is_done { "[x] " } else { "[ ] " }),
            Event::InlineHtml(text) | Event::Html(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.words(&text);
            }
            Event::FootnoteReference(text) => self.words(&format!("[{text}]")),
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { level: HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6, .. } => {
                self.new_line();
            }
            Tag::Heading { .. } => {
                self.new_line();
                self.styles.push(NAME);
            }
            Tag::Emphasis => self.styles.push(Style::new().italic()),
            Tag::Strong => self.styles.push(NAME),
            Tag::Strikethrough => self.styles.push(Style::new().strikethrough()),
            Tag::BlockQuote(_) => self.margins.push(format!("{DIM}│{DIM:#} ")),
            Tag::CodeBlock(CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) => {
                self.new_line();
                self.styles.push(CODE);
            }
            Tag::List(first) => {
                self.new_line();
                self.numbers.push(first);
            }
            Tag::Item => {
                self.new_line();
                let mark = match self.numbers.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.margins.push(" ".repeat(mark.width()));
                self.mark = Some(mark);
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link = Some(dest_url.into_string()),
            Tag::Table(_) => {
                self.new_line();
                self.table = Some(Vec::new());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_line(),
            TagEnd::Heading(level) => {
                if level < HeadingLevel::H4 {
                    self.styles.pop();
                }
                self.end_line();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::CodeBlock => {
                self.styles.pop();
                self.end_line();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.margins.pop();
            }
            TagEnd::List(_) => {
                self.numbers.pop();
            }
            TagEnd::Item => {
                self.end_line();
                self.margins.pop();
                self.mark = None;
            }
            TagEnd::Link | TagEnd::Image => {
                // If the text of a link is its address, the address is shown only once.
                if let Some(address) = self.link.take().filter(|address| !self.text.ends_with(address.as_str())) {
                    self.is_apart = true;
                    self.styled(ADVICE, &format!("({address})"));
                }
            }
            _ => {}
        }
    }

    fn styled(&mut self, style: Style, text: &str) {
        self.styles.push(style);
        self.words(text);
        self.styles.pop();
    }

    /// Writes words, and begins a new line for a word that does not fit.
    fn words(&mut self, text: &str) {
        // Control characters are removed here and not before the parser, because the parser turns `&#27;` into a control character.
        for (index, line) in printable(text).split('\n').enumerate() {
            if index > 0 && self.column > 0 {
                self.end_line();
            }
            for (index, word) in line.split(' ').enumerate() {
                self.is_apart |= index > 0;
                if !word.is_empty() {
                    self.word(word);
                }
            }
        }
    }

    fn word(&mut self, word: &str) {
        let width = word.width();
        let is_apart = std::mem::take(&mut self.is_apart) && self.column > 0;
        if self.column > 0 && is_apart && self.column + 1 + width > self.columns {
            self.end_line();
        } else if is_apart {
            self.text.push(' ');
            self.column += 1;
        }
        if self.column == 0 {
            let (last, outer) = self.margins.split_last().map_or(("", &[][..]), |(last, outer)| (last.as_str(), outer));
            let first = self.mark.take().unwrap_or_else(|| last.to_owned());
            let margin = format!("{}{first}", outer.concat());
            self.column = anstream::adapter::strip_str(&margin).to_string().width();
            self.text.push_str(&margin);
        }
        let style = self.styles.last().copied().unwrap_or_default();
        let _ = write!(self.text, "{style}{word}{style:#}");
        self.column += width;
    }

    /// Begins a new line if the last line has text.
    fn new_line(&mut self) {
        if self.column > 0 {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        if self.column > 0 {
            self.text.push('\n');
        }
        (self.column, self.is_apart) = (0, false);
    }

    /// Writes a table. Each column is as wide as its widest cell.
    fn end_table(&mut self) {
        let rows = self.table.take().unwrap_or_default();
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or_default()
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        for (index, row) in rows.iter().enumerate() {
            let style = if index == 0 { NAME } else { Style::new() };
            let cells = row.iter().zip(&widths).map(|(cell, width)| {
                let fill = " ".repeat(width.saturating_sub(cell.width()));
                format!("{style}{cell}{style:#}{fill}")
            });
            let line = cells.collect::<Vec<_>>().join(&format!(" {DIM}│{DIM:#} "));
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MarkdownStream;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn shown(text: &str, columns: usize) -> String {
        let mut stream = MarkdownStream::new(columns);
        let shown = stream.push(text) + &stream.finish();
        plain(&shown)
    }

    #[test]
    fn markup_is_shown_as_what_it_means_and_lines_break_between_words() {
        let text = "# The *plan*\n\nOne **two** three `four` [five](https://six.example) seven.\n";
        assert_eq!(shown(text, 30), "The plan\n\nOne two three four five\n(https://six.example) seven.\n");
        assert_eq!(
            shown("1. one\n2. two that is long\n   - deeper\n\n> a quote\n", 12),
            "1. one\n2. two that\n   is long\n   • deeper\n\n│ a quote\n"
        );
        assert_eq!(shown("| a | b |\n|---|---|\n| long | x |\n", 40), "a    │ b\nlong │ x\n");
        assert_eq!(shown("äöü 世界 日本語です x", 8), "äöü 世界\n日本語です\nx\n");
    }

    #[test]
    fn a_code_block_keeps_its_lines_and_its_spaces() {
        let text = "So:\n\n```rust\nfn main() {\n    let x = \"**no**\";\n\n}\n```\nDone.";
        assert_eq!(shown(text, 20), "So:\n\n  fn main() {\n      let x = \"**no**\";\n  \n  }\n\nDone.\n");
    }

    #[test]
    fn a_text_in_pieces_is_shown_as_the_whole_and_a_block_as_soon_as_the_next_one_begins() {
        let text = "# Head\n\nOne two.\n\n1. a\n\n   more\n\n2. b\n\n```sh\nls\npwd\n```\n\nThe end: a | b.\n";
        let whole = shown(text, 60);
        for size in [1, 2, 3, 7, 100] {
            let mut stream = MarkdownStream::new(60);
            let pieces: Vec<char> = text.chars().collect();
            let mut out: String =
                pieces.chunks(size).map(|piece| stream.push(&piece.iter().collect::<String>())).collect();
            out.push_str(&stream.finish());
            assert_eq!(plain(&out), whole, "in pieces of {size}");
        }
        let mut stream = MarkdownStream::new(60);
        assert_eq!(stream.push("One.\n\n"), "");
        assert_eq!(plain(&stream.push("T")), "One.\n");
        assert_eq!(plain(&stream.push("wo.\n```\nls\n")), "\nTwo.\n\n  ls\n");
        assert_eq!(plain(&stream.finish()), "");
    }

    #[test]
    fn nothing_that_steers_a_terminal_comes_through() {
        let shown =
            shown("a\u{1b}[2J **b\u{202e}** &#27;[2J &#x202e;\n\n[x](<a&#27;b>)\n\n```\n\u{1b}]0;x\u{7}\n```\n", 40);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    }
}
