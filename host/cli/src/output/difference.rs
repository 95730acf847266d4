//! Describes the differences between two JSON values. Each old part and each new part gets a line.

use super::truncate::cut;
use super::{one_line, printable};
use serde_json::Value;
use similar::{Algorithm, DiffTag, TextDiff, capture_diff_slices_deadline};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Time after which the search for the shortest difference ends. The result may then be longer than necessary, but the user does not have
/// to wait for the difference of a large file.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Returns the differences as lines of the form `- path: old` and `+ path: new`, indented by four blanks. Of texts with several lines, only
/// the lines that differ are returned. Lines of more than `most` characters are cut.
pub(crate) fn lines(before: &Value, after: &Value, most: usize) -> String {
    let mut parts = Vec::new();
    collect("", before, after, &mut parts);
    let mut text = String::new();
    for Part { path, before, after } in parts {
        match (before, after) {
            (Some(Value::String(old)), Some(Value::String(new))) if old.contains('\n') || new.contains('\n') => {
                let _ = writeln!(text, "      {}:", one_line(&path));
                differing_lines(&mut text, old, new, most);
            }
            (before, after) => {
                for (sign, value) in [('-', before), ('+', after)] {
                    if let Some(value) = value {
                        line(&mut text, sign, &format!("{path}: {}", shown(value)), most);
                    }
                }
            }
        }
    }
    text
}

/// Returns the lines that differ between two texts, in the form of [`lines`].
pub(crate) fn of_texts(before: &str, after: &str, most: usize) -> String {
    let mut text = String::new();
    if before != after {
        differing_lines(&mut text, before, after, most);
    }
    text
}

/// Returns the difference of a file in the form of `diff -u`. A missing file is `/dev/null`.
pub(crate) fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(before.unwrap_or_default(), after.unwrap_or_default());
    let name = |text: Option<&str>| if text.is_some() { path } else { "/dev/null" };
    let (old, new) = (name(before), name(after));
    printable(&diff.unified_diff().header(&one_line(old), &one_line(new)).to_string())
}

struct Part<'a> {
    path: String,
    before: Option<&'a Value>,
    after: Option<&'a Value>,
}

fn collect<'a>(path: &str, before: &'a Value, after: &'a Value, parts: &mut Vec<Part<'a>>) {
    if before == after {
        return;
    }
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        let path = if path.is_empty() { "value" } else { path };
        parts.push(Part { path: path.to_owned(), before: Some(before), after: Some(after) });
        return;
    };
    // Skips the action of a call. It is derived from the call's arguments, so it would repeat their difference.
    let derived = |key: &str| key == "action" && old.get("arguments") != new.get("arguments");
    let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    for key in keys.filter(|key| !derived(key)) {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (old.get(key), new.get(key)) {
            (Some(before), Some(after)) => collect(&path, before, after, parts),
            (before, after) => parts.push(Part { path, before, after }),
        }
    }
}

/// Adds the lines that differ. Equal lines between these lines are replaced with `…`.
fn differing_lines(text: &mut String, old: &str, new: &str, most: usize) {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let changes = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + TIMEOUT));
    if changes.iter().all(|change| change.tag() == DiffTag::Equal) {
        return line(text, '+', "(the line break at its end)", most);
    }
    let last = changes.len() - 1;
    for (index, change) in changes.into_iter().enumerate() {
        match change.tag() {
            DiffTag::Equal if (1..last).contains(&index) => text.push_str("      …\n"),
            DiffTag::Equal => {}
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                old[change.old_range()].iter().for_each(|old| line(text, '-', old, most));
                new[change.new_range()].iter().for_each(|new| line(text, '+', new, most));
            }
        }
    }
}

fn line(text: &mut String, sign: char, content: &str, most: usize) {
    let content = printable(content).replace('\n', "\n      ");
    let _ = writeln!(text, "    {sign} {}", cut(&content, most));
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{lines, unified};
    use serde_json::json;

    #[test]
    fn the_parts_that_differ_are_shown_as_they_were_and_as_they_are() {
        let before = json!({ "name": "bash", "arguments": { "command": "make", "wait": 5, "old": true }, "action": 1 });
        let after = json!({ "name": "bash", "arguments": { "command": "timeout 60 make", "wait": 5, "new": null }, "action": 2 });
        assert_eq!(
            lines(&before, &after, 100),
            "    - arguments.command: make\n    + arguments.command: timeout 60 make\n    - arguments.old: true\n    \
             + arguments.new: null\n"
        );
        assert_eq!(lines(&before, &before, 100), "");
        assert_eq!(lines(&json!("a"), &json!("b\u{1b}[2J"), 100), "    - value: a\n    + value: b\u{fffd}[2J\n");
        assert_eq!(lines(&json!({ "action": 1 }), &json!({ "action": 2 }), 100), "    - action: 1\n    + action: 2\n");
    }

    #[test]
    fn of_long_texts_the_lines_that_differ_are_shown() {
        let before = json!({ "content": "same\nold\nsame too" });
        let after = json!({ "content": "same\nnew\nnewer\nsame too" });
        assert_eq!(lines(&before, &after, 100), "      content:\n    - old\n    + new\n    + newer\n");
        let ended = json!({ "content": "same\nold\nsame too\n" });
        assert_eq!(lines(&before, &ended, 100), "      content:\n    + (the line break at its end)\n");
        assert_eq!(lines(&json!("a\nb"), &json!("a\na\nb"), 100), "      value:\n    + a\n");
        let (before, after) = (json!("a\nb\nc\nd\ne"), json!("x\nb\nc\ny\ne"));
        assert_eq!(lines(&before, &after, 100), "      value:\n    - a\n    + x\n      …\n    - d\n    + y\n");
    }

    #[test]
    fn the_difference_of_a_file_can_be_read_by_patch() {
        let text = unified("/a/b.json", Some("one\ntwo\n"), Some("one\nnew\ntwo\n"));
        assert_eq!(text, "--- /a/b.json\n+++ /a/b.json\n@@ -1,2 +1,3 @@\n one\n+new\n two\n");
        assert!(
            unified("/a", None, Some("x\u{1b}[2J")).starts_with("--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+x\u{fffd}[2J")
        );
        assert!(unified("/a", Some("x\n"), None).starts_with("--- /a\n+++ /dev/null\n"));
    }

    #[test]
    fn a_long_line_is_cut() {
        assert_eq!(lines(&json!("aaaa"), &json!("bb"), 9), "    - value: aa…\n    + value: bb\n");
    }
}
