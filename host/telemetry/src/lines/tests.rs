use super::{BEGINNINGS, LineFormat, LinesFile};
use crate::sink::{Entry, Sent, Sink as _};
use hookhost::audit::Line;
use hookhost::config::Digest;
use std::path::Path;

fn entries(numbers: std::ops::RangeInclusive<u64>) -> Vec<Entry> {
    let zeros = "0".repeat(64);
    let entry = |seq: u64| {
        let text =
            format!(r#"{{"seq":{seq},"previous":"{zeros}","kind":"session-ended","session":"codex:s","time":1000}}"#);
        let line = Line::parse(&text).unwrap();
        let record = line.entry().unwrap();
        Entry { line, record, agent: "codex".into(), log: Digest::of_bytes(b"log") }
    };
    numbers.map(entry).collect()
}

fn file(path: &Path, format: LineFormat, size: u64) -> LinesFile {
    let mut file = LinesFile::new(path.to_owned(), format, false, size, 3);
    file.begin(None);
    file
}

/// Returns the numbers in the files, the oldest first.
fn written(path: &Path) -> Vec<u64> {
    let mut numbers = Vec::new();
    for number in [3, 2, 1, 0] {
        let path = if number == 0 { path.to_owned() } else { path.with_extension(format!("jsonl.{number}")) };
        let text = std::fs::read_to_string(path).unwrap_or_default();
        assert!(text.is_empty() || text.ends_with('\n'), "an incomplete line: {text}");
        numbers.extend(text.lines().map(|line| Line::parse(line).unwrap().seq()));
    }
    numbers
}

#[tokio::test]
async fn a_line_that_was_cut_at_any_byte_is_written_once_and_whole() {
    let whole = entries(1..=2)[1].line.text().len();
    for kept in 0..=whole {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("events.jsonl");
        assert_eq!(file(&path, LineFormat::Record, 1 << 20).send(&entries(1..=2)).await, Sent::All);
        let text = std::fs::read_to_string(&path).unwrap();
        // The process was killed in the middle of the second line, before the position was saved.
        std::fs::write(&path, &text[..text.len() - 1 - whole + kept]).unwrap();
        assert_eq!(file(&path, LineFormat::Record, 1 << 20).send(&entries(1..=3)).await, Sent::All);
        assert_eq!(written(&path), [1, 2, 3], "{kept} bytes");
    }
}

#[tokio::test]
async fn a_full_file_is_renamed_and_the_newest_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.jsonl");
    let line = entries(1..=1)[0].line.text().len() as u64 + 1;
    let mut lines = file(&path, LineFormat::Record, 2 * line);
    for number in 1..=9 {
        lines.send(&entries(number..=number)).await;
    }
    assert_eq!(written(&path), [3, 4, 5, 6, 7, 8, 9]);
    // What was written before the position was saved is not written again, also if the file was renamed meanwhile.
    let mut lines = file(&path, LineFormat::Record, 2 * line);
    lines.send(&entries(8..=9)).await;
    assert_eq!(written(&path), [3, 4, 5, 6, 7, 8, 9]);
}

#[tokio::test]
async fn a_file_that_cannot_be_written_waits_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.jsonl");
    std::fs::create_dir(&path).unwrap();
    let mut lines = file(&path, LineFormat::Record, 1 << 20);
    assert!(matches!(lines.send(&entries(1..=1)).await, Sent::Later { .. }));
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(lines.send(&entries(1..=1)).await, Sent::All);
    assert_eq!(written(&path), [1]);
}

#[tokio::test]
async fn the_last_line_of_another_program_stays_although_it_has_no_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.jsonl");
    std::fs::write(&path, "theirs\nand the last line").unwrap();
    assert_eq!(file(&path, LineFormat::Record, 1 << 20).send(&entries(1..=1)).await, Sent::All);
    let text = std::fs::read_to_string(&path).unwrap();
    let expected = format!("theirs\nand the last line\n{}\n", entries(1..=1)[0].line.text());
    assert_eq!(text, expected);
}

#[test]
fn a_test_changes_nothing_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.jsonl");
    for text in [r#"{"seq":1,"pre"#, "theirs"] {
        std::fs::write(&path, text).unwrap();
        file(&path, LineFormat::Record, 1 << 20).test().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn the_lines_of_each_format_begin_as_one_of_ours() {
    for format in [LineFormat::Metadata, LineFormat::Record, LineFormat::Ocsf] {
        let text = LinesFile::new("x".into(), format, false, 1, 1).text(&entries(1..=1)[0]);
        assert!(BEGINNINGS.iter().any(|begins| text.as_bytes().starts_with(begins)), "{text}");
    }
}
