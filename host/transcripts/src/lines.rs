//! Reads a file by lines of a limited length.

use std::io::{self, BufRead};

/// The next line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextLine {
    /// A part of a line that is too long. The line goes on.
    PartOfLine,
    /// A line, without its line break.
    Line,
    /// The last line, which has no line break.
    Unfinished,
    /// A line that is too long. It was skipped.
    TooLong,
    /// There is no further line.
    End,
}

/// Number of bytes of a line that are read at once, so that reading can stop in time: 256 MiB.
const MAX_READ: u64 = 256 << 20;

/// Reads the next line into `line`. Of a longer line than `most` bytes, only `most` bytes are ever in memory. Adds the number of bytes
/// that were read to `position`. `is_too_long` says whether the last call ended within a line that is too long.
pub(crate) fn next_line(
    file: &mut impl BufRead,
    line: &mut Vec<u8>,
    most: usize,
    position: &mut u64,
    is_too_long: &mut bool,
) -> io::Result<NextLine> {
    line.clear();
    let mut has_begun = *is_too_long;
    let end_position = position.saturating_add(MAX_READ);
    loop {
        let chunk = match file.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if chunk.is_empty() {
            return Ok(match (has_begun, std::mem::take(is_too_long)) {
                (false, _) => NextLine::End,
                (true, false) => NextLine::Unfinished,
                (true, true) => NextLine::TooLong,
            });
        }
        has_begun = true;
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        *is_too_long |= line.len() + part.len() > most;
        if *is_too_long {
            // Gives the memory back, because the other lines are short.
            *line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let read = part.len() + usize::from(end.is_some());
        file.consume(read);
        *position += read as u64;
        if end.is_some() {
            return Ok(if std::mem::take(is_too_long) { NextLine::TooLong } else { NextLine::Line });
        }
        if *position >= end_position {
            return Ok(NextLine::PartOfLine);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_READ, NextLine, next_line};
    use std::io::{self, BufReader, Read as _};

    #[test]
    fn lines_are_read_one_by_one_and_a_longer_one_is_skipped() {
        let mut file = BufReader::with_capacity(3, &b"one\n\nlonger than ten\ntwo\nend"[..]);
        let (mut line, mut position, mut is_too_long, mut found) = (Vec::new(), 0, false, Vec::new());
        loop {
            let next = next_line(&mut file, &mut line, 10, &mut position, &mut is_too_long).unwrap();
            found.push((next, String::from_utf8(line.clone()).unwrap()));
            if next == NextLine::End {
                break;
            }
        }
        let text = |next, text: &str| (next, text.to_owned());
        assert_eq!(
            found,
            [
                text(NextLine::Line, "one"),
                text(NextLine::Line, ""),
                text(NextLine::TooLong, ""),
                text(NextLine::Line, "two"),
                text(NextLine::Unfinished, "end"),
                text(NextLine::End, ""),
            ]
        );
        assert_eq!(position, 28);
    }

    #[test]
    fn a_line_that_does_not_end_is_read_in_parts_between_which_reading_can_stop() {
        let mut file = BufReader::with_capacity(1 << 20, io::repeat(b'x').take(MAX_READ + 5));
        let (mut line, mut position, mut is_too_long) = (Vec::new(), 0, false);
        let mut next = || next_line(&mut file, &mut line, 10, &mut position, &mut is_too_long).unwrap();
        assert_eq!([next(), next(), next()], [NextLine::PartOfLine, NextLine::TooLong, NextLine::End]);
    }
}
