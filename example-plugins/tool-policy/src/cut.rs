//! Shortens a result and adds a last line that says how many bytes are missing.
//!
//! A tool's own output can contain such a line. Therefore a line is recognised only by the mark of the event, which the plugins of one
//! chain can compute and a tool cannot. A model that reads the session's own files could compute the mark as well. It could only make the
//! number too high, because the plugin itself counts the bytes that it cuts and adds them.

use sha2::{Digest, Sha256};

const BEFORE: &str = "[";
const AFTER: &str = " bytes dropped #";

/// Cuts `text` to `most` bytes and adds a note. Returns the new text with the number of bytes dropped now, or `None` if `text` is short
/// enough. If `text` ends with the note of another plugin, the numbers of both notes are added.
pub(crate) fn cut(text: &str, most: usize, event: &str) -> Option<(String, usize)> {
    let mark = mark(event);
    let (body, before) = noted(text, &mark);
    if body.len() <= most {
        return None;
    }
    let kept = body.floor_char_boundary(most);
    let dropped = body.len() - kept;
    let total = before.saturating_add(dropped as u64);
    Some((format!("{}\n{BEFORE}{total}{AFTER}{mark}]", &body[..kept]), dropped))
}

/// Returns eight digits by which the plugins that subscribe to one event recognise each other's notes. Other events have other digits, so
/// a note in a result that is read again later is not recognised.
fn mark(event: &str) -> String {
    let digest = Sha256::new().chain_update("tool-policy.cut ").chain_update(event).finalize();
    digest[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a text without the note at its end, and the number in the note.
fn noted<'a>(text: &'a str, mark: &str) -> (&'a str, u64) {
    let Some((body, line)) = text.rsplit_once('\n') else { return (text, 0) };
    let number = line.strip_prefix(BEFORE).and_then(|line| line.strip_suffix(&format!("{AFTER}{mark}]")));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => (body, number),
        None => (text, 0),
    }
}
