//! Shortens a result and adds a last line (a note) that says how many bytes are missing.
//!
//! The output of a tool can contain such a line, too. Therefore a line is recognised as a note only if it has the mark of the event. All
//! plugins of one chain know this mark, but a tool does not. A model that reads the session's own files could compute the mark. With a
//! forged note, the model could only make the reported number too high, because the bytes that are cut now are added to the number in the
//! note.

use sha2::{Digest, Sha256};

const BEFORE: &str = "[";
const AFTER: &str = " bytes dropped #";

/// Cuts `text` to `most` bytes, not counting the note. Returns the new text and the number of bytes that were cut now, or `None` if the
/// text is short enough. If another plugin has already added a note, its number is added to the number in the new note.
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

/// Returns eight digits with which the plugins that subscribe to one event recognise each other's notes. Another event has other digits. So
/// if an old result is read again later, the note in it is ordinary text.
fn mark(event: &str) -> String {
    let digest = Sha256::new().chain_update("tool-policy.cut ").chain_update(event).finalize();
    digest[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a text without the note at its end, and the number in this note.
fn noted<'a>(text: &'a str, mark: &str) -> (&'a str, u64) {
    let Some((body, line)) = text.rsplit_once('\n') else { return (text, 0) };
    let number = line.strip_prefix(BEFORE).and_then(|line| line.strip_suffix(&format!("{AFTER}{mark}]")));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => (body, number),
        None => (text, 0),
    }
}
