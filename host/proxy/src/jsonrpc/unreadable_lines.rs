//! Handles unreadable lines of a program. Limits how many such lines are reported to the user, because a program that writes its
//! log to its output produces many of them. Recognises lines that a program may have meant as the answer to a request.

use crate::jsonrpc::message::Members;
use std::time::{Duration, Instant};

/// The first unreadable lines, up to this number, are all reported. After that, at most one line is reported in each interval of
/// this length.
const REPORT_LIMIT: (u32, Duration) = (20, Duration::from_secs(10));

/// Maximum number of characters that are shown of a line.
const MAX_SHOWN: usize = 80;

/// Returns the beginning of a line in quotes, for display.
pub fn beginning(line: &[u8]) -> String {
    let text: String = text_of(line).trim().chars().take(MAX_SHOWN).collect();
    format!("{text:?}")
}

/// Returns the readable text of a line. For a line in UTF-16, only its ASCII characters are returned.
fn text_of(line: &[u8]) -> String {
    String::from_utf8_lossy(line).replace(['\0', '\u{feff}', '\u{fffd}'], "")
}

/// Returns the reason why this line may leave a request without an answer, as the end of a sentence. Returns `None` if the line
/// cannot be meant as an answer.
pub fn lost_answer(line: &[u8]) -> Option<String> {
    let text = text_of(line);
    let shown = beginning(line);
    // In the framing of a language server, a message does not end with a line break, so the header of the next message can be on
    // the same line.
    let end = text.rsplit('}').next().unwrap_or_default().trim_start().to_ascii_lowercase();
    if end.starts_with("content-length:") {
        let framing = "what it wrote is in the framing of a language server, and not one JSON message a line";
        return Some(format!("{framing}; it began {shown}"));
    }
    let is_asking = Members::of(&text).is_ok_and(|members| members.get("method").is_some());
    let has = |key: &str| text.contains(key);
    let is_of_an_answer = has("jsonrpc") && (has("result") || has("error") || !has("method"));
    (is_of_an_answer && !is_asking).then(|| format!("what it wrote is not one JSON message a line; it began {shown}"))
}

/// Counts the unreadable lines that were reported and the unreadable lines that were not reported.
#[derive(Debug, Default)]
pub struct UnreadableLineCounter {
    told: u32,
    untold: u64,
    last: Option<Instant>,
}

impl UnreadableLineCounter {
    /// Counts a line. If the line must be reported, returns the number of lines that were not reported since the last report.
    /// Otherwise returns `None`.
    pub fn next(&mut self, now: Instant) -> Option<u64> {
        let (max, interval) = REPORT_LIMIT;
        if self.told >= max && self.last.is_some_and(|last| now < last + interval) {
            self.untold += 1;
            return None;
        }
        self.told = self.told.saturating_add(1);
        self.last = Some(now);
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::{REPORT_LIMIT, UnreadableLineCounter, beginning, lost_answer};
    use std::time::{Duration, Instant};

    #[test]
    fn a_line_is_perhaps_an_answer_if_it_has_the_words_of_one() {
        let utf_16: Vec<u8> =
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for line in [
            &b"debug: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"method\":1}}"[..],
            b"  \"jsonrpc\": \"2.0\",",
            b"{'jsonrpc': '2.0', 'id': 1, 'result': {}}",
            b"{\"jsonrpc\":\"2.0\",\"id\":[1],\"result\":{}}",
            &utf_16,
        ] {
            let why = lost_answer(line).unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(line)));
            assert!(why.contains("jsonrpc"), "{why}");
        }
        for line in [&b"Content-Length: 120\r"[..], b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}content-length: 5\r"]
        {
            assert!(lost_answer(line).is_some_and(|why| why.contains("framing of a language server")));
        }
        for line in [
            &b"> server@1.0.0 start"[..],
            b"{\"level\":30,\"msg\":\"listening\",\"error\":null}",
            b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"error\":1,\"a\":1}}",
            b"sent {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}",
            b"{",
        ] {
            assert_eq!(lost_answer(line), None, "{}", String::from_utf8_lossy(line));
        }
        assert_eq!(beginning(&[b'x'; 200]).len(), 82);
    }

    #[test]
    fn of_many_unreadable_lines_some_are_told_and_the_rest_are_counted() {
        let (mut lines, start) = (UnreadableLineCounter::default(), Instant::now());
        for _ in 0..REPORT_LIMIT.0 {
            assert_eq!(lines.next(start), Some(0));
        }
        for _ in 0..500 {
            assert_eq!(lines.next(start), None);
        }
        assert_eq!(lines.next(start + Duration::from_secs(11)), Some(500));
        assert_eq!(lines.next(start + Duration::from_secs(12)), None);
    }
}
