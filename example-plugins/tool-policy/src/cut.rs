//! Shortening a result, with a last line that says how much is missing.

const BEFORE: &str = "[";
const AFTER: &str = " bytes dropped]";

/// `text` in at most `most` bytes, its note left out of the count, and how many bytes were dropped now. Nothing where it
/// is short enough. What an earlier note says is added to this one's.
pub(crate) fn cut(text: &str, most: usize) -> Option<(String, usize)> {
    let (body, before) = noted(text);
    if body.len() <= most {
        return None;
    }
    let kept = body.floor_char_boundary(most);
    let dropped = body.len() - kept;
    let total = before.saturating_add(dropped);
    Some((format!("{}\n{BEFORE}{total}{AFTER}", &body[..kept]), dropped))
}

/// A text without the note that ends it, and the number that the note says.
fn noted(text: &str) -> (&str, usize) {
    let Some((body, line)) = text.trim_end_matches('\n').rsplit_once('\n') else { return (text, 0) };
    let number = line.strip_prefix(BEFORE).and_then(|line| line.strip_suffix(AFTER));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => (body, number),
        None => (text, 0),
    }
}
