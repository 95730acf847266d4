//! Cuts a stream of text into whole lines, so that a plugin sees no secret in two halves. A line without an end is cut
//! every 4 KiB.

/// Longest piece, in bytes of UTF-8, unless a single line ends sooner.
const MAX_PIECE_BYTES: usize = 4096;

/// Collects text until a line, or 4 KiB of one, is complete.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    pending: String,
}

impl LineBuffer {
    /// Adds text; the pieces that are complete by now.
    pub(super) fn push(&mut self, text: &str) -> Vec<String> {
        self.pending.push_str(text);
        let mut pieces = Vec::new();
        while let Some(end) = self.end_of_piece() {
            let rest = self.pending.split_off(end);
            pieces.push(std::mem::replace(&mut self.pending, rest));
        }
        pieces
    }

    /// What is left when the stream has ended.
    pub(super) fn finish(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.pending)).filter(|rest| !rest.is_empty())
    }

    fn end_of_piece(&self) -> Option<usize> {
        let line = self.pending.find('\n').map(|newline| newline + 1);
        match line {
            Some(end) if end <= MAX_PIECE_BYTES => Some(end),
            _ if self.pending.len() >= MAX_PIECE_BYTES => Some(self.pending.floor_char_boundary(MAX_PIECE_BYTES)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&str]) -> Vec<String> {
        let mut lines = LineBuffer::default();
        let mut cut: Vec<String> = pieces.iter().flat_map(|piece| lines.push(piece)).collect();
        cut.extend(lines.finish());
        cut
    }

    #[test]
    fn pieces_are_whole_lines_however_the_text_comes() {
        let expected = ["one\n", "\n", "two\n", "thr"];
        assert_eq!(cut(&["one\n\ntwo\nthr"]), expected);
        assert_eq!(cut(&["o", "ne", "\n", "\ntw", "o\nth", "r"]), expected);
        assert!(cut(&[""]).is_empty());
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let long = "ä".repeat(MAX_PIECE_BYTES);
        let cut = cut(&["x", &long, "\nend"]);
        assert_eq!(cut.concat(), format!("x{long}\nend"));
        assert!(cut.iter().all(|piece| piece.len() <= MAX_PIECE_BYTES));
        assert_eq!(cut.len(), 4);
    }
}
